// SPDX-License-Identifier: Apache-2.0

// Package saidriver is the driver of the engine that calls a SAI library. [Driver] creates,
// changes, removes and reads the engine's objects as attributes of package saiattr, finds
// those that an earlier process created (find.go, candidates.go), joins the ACLs and hashes
// of other owners (bind.go, hash.go), and compares each object with its record
// (readback.go). It also reads ports, queues and counters.
//
// Policy is decided by [engine.Objects]. It is for one goroutine, but for
// [Driver.IfIndex] and [Driver.Copies].
package saidriver
