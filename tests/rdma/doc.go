// SPDX-License-Identifier: Apache-2.0

// Command rdma puts RDMA stacks of others at the ends of a fabric: guests with Debian's kernel,
// its soft-RoCE (rdma_rxe), libibverbs and perftest, run by QEMU. `make rdma-lab` runs all of it
// as root; no KVM is needed.
//
// The guests are those of tests/guest, of Debian's packages (image.go). In the fabric a guest takes
// the place of a host of the testbed: a bridge in the host's namespace joins its TAP device with
// the link to the leaf or spine (network.go).
//
// A scenario (scenarios.go) starts sluiced, lets the guests' programs run, and compares
// Sluice's rows and the frames that arrive with the counters of the adapters ("rdma statistic",
// hw_counters). Verdicts go by counts: no check depends on the speed of the machine, except those
// of Rate Advice, which have bars of seconds. Each check is a line of the output, and of
// report.json (report.go).
package main
