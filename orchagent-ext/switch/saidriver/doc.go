// SPDX-License-Identifier: Apache-2.0

// Package saidriver is the driver of the engine that calls a SAI library. [Driver] passes each
// call to the part that has the state for it, and no part knows the driver:
//
//   - the kinds of objects (kinds.go) create, change, remove and read the engine's objects as
//     attributes of package saiattr: objects.go those that have ids, bind.go the bindings to
//     ports, which join the ACLs of other owners, hash.go, hashuse.go and hashlist.go the
//     hashes;
//   - adoption (adopt.go, candidates.go) finds the objects of earlier processes, and strays.go
//     those that the ledger lacks;
//   - the prober (probe.go) asks for abilities;
//   - [Ports] and [CPU] have the ports, their queues and counters, and the packets to the CPU.
//
// Policy is decided by [engine.Objects]. The package is for one goroutine, but for
// [Ports.IfIndex], [Ports.PortName] and [CPU.Copies].
package saidriver
