// SPDX-License-Identifier: Apache-2.0

// Command sonic runs sluiced beside SONiC's own daemons: Redis as SONiC has it, syncd with the
// virtual switch (libsaivs), orchagent, portsyncd, neighsyncd and the managers. `make sonic
// SONIC=DIR` runs all of it as root. DIR is a root with SONiC's programs in their places; see
// docs/sonic-vs.md.
//
// The programs run in a root that is DIR over this machine's (root.go), in a network namespace with
// a sysfs of its own, beside namespaces with the hosts of its ports (network.go). The virtual switch
// has no ACLs in its data path: the rules of ASIC_DB become rules of the kernel, and samples are
// taken of what the kernel forwards (asic.go, samples.go).
//
// A scenario (scenarios.go) is judged by APPL_DB and STATE_DB as orchagent leaves them, by ASIC_DB, by the
// recording of SAI's calls (recording.go), and by the counters of the receivers. Each check is a
// line of the output and of report.json (report.go).
package main
