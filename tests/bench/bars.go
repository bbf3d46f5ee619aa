// SPDX-License-Identifier: Apache-2.0

package main

import "slices"

// bars are the figures to measure, in the order of the report.
var bars = []bar{
	{pkg: "orchagent-ext/wire/roce", benchmark: "BenchmarkParse", unit: "ns/op", limit: atMost(40)},
	{pkg: "orchagent-ext/wire/roce", benchmark: "BenchmarkParse", unit: "allocs/op", limit: atMost(0)},
	{pkg: "orchagent-ext/wire/roce", benchmark: "BenchmarkICRC", unit: "ns/op"},
	{pkg: "orchagent-ext/flows/flow", benchmark: "BenchmarkObserve64kFlows", unit: "ns/op", limit: atMost(150)},
	{pkg: "orchagent-ext/flows/flow", benchmark: "BenchmarkObserve64kFlows", unit: "allocs/op", limit: atMost(0)},
	{pkg: "orchagent-ext/flows/flow", benchmark: "BenchmarkObserve64kFlowsFromPSNZero", unit: "ns/op", limit: atMost(150)},
	{pkg: "orchagent-ext/flows/flow", benchmark: "BenchmarkMillionFlows", unit: "MiB/Mflow", limit: atMost(256)},
	{pkg: "orchagent-ext/flows/health", benchmark: "BenchmarkObserve64kFlowsWithHealth", unit: "ns/op", limit: atMost(90), bound: inCache}, // 60 on a fast machine
	{pkg: "orchagent-ext/flows/health", benchmark: "BenchmarkObserve64kFlowsWithTimes", unit: "ns/op"},
	{pkg: "orchagent-ext/flows/health", benchmark: "BenchmarkObserve128FlowsWithHealth", unit: "ns/op"}, // without waiting for memory
	{pkg: "orchagent-ext/flows/health", benchmark: "BenchmarkObserve64kFlowsWithHealth", unit: "allocs/op", limit: atMost(0)},
	{pkg: "orchagent-ext/cpu/packetio", benchmark: "BenchmarkMillionFlowsWithHealth", unit: "MiB/Mflow", limit: atMost(300)},
	{pkg: "orchagent-ext/flows/flow", benchmark: "BenchmarkLabelDraftLiteral", unit: "ns/op"},
	{pkg: "orchagent-ext/flows/flow", benchmark: "BenchmarkLabelCRC32", unit: "ns/op"},
	{pkg: "orchagent-ext/wire/notify", benchmark: "BenchmarkEncode/*", unit: "ns/op", limit: atMost(100)},
	{pkg: "orchagent-ext/wire/notify", benchmark: "BenchmarkEncode/*", unit: "allocs/op", limit: atMost(0)},
	{pkg: "orchagent-ext/wire/notify", benchmark: "BenchmarkDecode/*", unit: "ns/op", limit: atMost(100)},
	{pkg: "orchagent-ext/wire/notify", benchmark: "BenchmarkDecode/*", unit: "allocs/op", limit: atMost(0)},
	{pkg: "orchagent-ext/cpu/packetio", benchmark: "BenchmarkBurst", unit: "ns/packet", limit: atMost(150)},
	{pkg: "orchagent-ext/spread/ecmp", benchmark: "BenchmarkPredict/*", unit: "ns/op"},
	{pkg: "orchagent-ext/spread/placement", benchmark: "BenchmarkPlace/*", unit: "ns/op", limit: atMost(50_000)}, // 4, 16 and 64 members
	{pkg: "orchagent-ext/spread/placement", benchmark: "BenchmarkPlace/*", unit: "allocs/op", limit: atMost(0)},
	{pkg: "orchagent-ext/spread/placement", benchmark: "BenchmarkMove", unit: "ns/move", limit: atMost(1_000_000)},
	{pkg: "orchagent-ext/spread/plan", benchmark: "BenchmarkPlan/*", unit: "ns/op"},                   // 62,000 flows between 32 leaves over 16 and 12 spines
	{pkg: "orchagent-ext/spread/plan", benchmark: "BenchmarkPlan1024/*", unit: "s", limit: atMost(1)}, // each leaf sends to 32, and to 128 others
	{pkg: "orchagent-ext/spread/plan", benchmark: "BenchmarkPlanAllToAll", unit: "s"},
	{pkg: "orchagent-ext/spread/placement", benchmark: "BenchmarkLookTenThousandFlows", unit: "ns/op", limit: atMost(100_000_000)},
	{pkg: "tests/e2e", benchmark: "BenchmarkIngress/compute", unit: "ns/packet", limit: atMost(60), with: "an empty program, subtracted"},
	{pkg: "tests/e2e", benchmark: "BenchmarkIngress/flow", unit: "ns/packet", limit: atMost(60), with: "an empty program, subtracted"},
	{pkg: "tests/e2e", benchmark: "BenchmarkIngress/not_roce", unit: "ns/packet", with: "an empty program, subtracted"},
	{pkg: "tests/e2e", benchmark: "BenchmarkForwarding", unit: "ratio", limit: atLeast(0.85), with: "plain kernel forwarding"},
	{pkg: "tests/e2e", benchmark: "BenchmarkForwarding", unit: "packets/s"},
	{pkg: "tests/e2e", benchmark: "BenchmarkQueues", unit: "ratio", limit: atLeast(0.95), with: "the software switch without queues", why: queuesCost},
	{pkg: "tests/e2e", benchmark: "BenchmarkQueues", unit: "packets/s"},
	{pkg: "sai-shim/softsai", benchmark: "BenchmarkFlowMarks", unit: "ratio", limit: atLeast(0.95), with: "plain kernel forwarding", why: marksCost},
	{pkg: "sai-shim/softsai", benchmark: "BenchmarkFlowMarks", unit: "ratio-tbf", with: "plain kernel forwarding"},    // the kernel's plainest qdisc with a rate
	{pkg: "sai-shim/softsai", benchmark: "BenchmarkFlowMarks", unit: "ratio-qdiscs", with: "plain kernel forwarding"}, // the kernel's qdiscs alone
	{pkg: "sai-shim/softsai", benchmark: "BenchmarkFlowMarks", unit: "ratio-empty", with: "plain kernel forwarding"},  // the switch, whose programs do nothing
	{pkg: "sai-shim/softsai", benchmark: "BenchmarkFlowMarks", unit: "ratio-to-qdiscs", limit: atLeast(0.95), with: "the kernel with the same qdiscs", why: marksCost},
	{pkg: "sai-shim/softsai", benchmark: "BenchmarkFlowMarks", unit: "ratio-to-empty", with: "the switch, whose programs do nothing"},
	{pkg: "sai-shim/softsai", benchmark: "BenchmarkFlowMarks", unit: "packets/s"},
	{pkg: "tests/e2e", benchmark: "BenchmarkSpoofStorm", unit: "cpu-percent", limit: atMost(25), why: sysmon}, // 100,000 a second
	{pkg: "tests/e2e", benchmark: "BenchmarkSpoofStorm", unit: "us-p50", limit: atMost(300)},                  // of genuine ones, received to held
	{pkg: "tests/e2e", benchmark: "BenchmarkSpoofStorm", unit: "us-p99", limit: atMost(1000)},
	{pkg: "tests/e2e", benchmark: "BenchmarkPacketsToCPU", unit: "cpu-percent", limit: atMost(15)}, // 8,000 a second, one after the other
	{pkg: "tests/e2e", benchmark: "BenchmarkRowToSwitch", unit: "ms-p50", limit: atMost(3), why: rowTakes},
	{pkg: "tests/e2e", benchmark: "BenchmarkRowToSwitch", unit: "ms-p99", limit: atMost(50)},
	{pkg: "tests/e2e", benchmark: "BenchmarkProgram/*", unit: "s", limit: atMost(1)}, // 1000, and 10,000 flows
	{pkg: "tests/e2e", benchmark: "BenchmarkKillSwitch/*", unit: "s-silent", limit: atMost(0.3)},
	{pkg: "tests/e2e", benchmark: "BenchmarkKillSwitch/*", unit: "s-gone", limit: atMost(3)},
	{pkg: "tests/e2e", benchmark: "BenchmarkResync", unit: "s", limit: atMost(1)},
	{pkg: "tests/e2e", benchmark: "BenchmarkRestart", unit: "s", limit: atMost(2)},
	{pkg: "tests/e2e", benchmark: "BenchmarkRestartManyFlows", unit: "s", limit: atMost(2), why: "it is CPU time (s-CPU): in its profile a third reads the 50,000 rows of the ledger from Redis and packs them, a third is softsai, which reads its maps in the kernel, and a quarter adopts the entries, one after the other; 1.5 s were measured on a faster machine"}, // 50,000 flows with an entry
	{pkg: "tests/e2e", benchmark: "BenchmarkRestartManyFlows", unit: "s-CPU"},
	{pkg: "tests/e2e", benchmark: "BenchmarkRestartManyFlows", unit: "MiB", limit: atMost(300)},
	{pkg: "tests/e2e", benchmark: "BenchmarkRewriteUnderAFlood", unit: "flows", limit: atLeast(32)}, // new ones, of 32
	{pkg: "tests/e2e", benchmark: "BenchmarkRewriteUnderAFlood", unit: "s", limit: atMost(1)},       // until the last has its label
	{pkg: "tests/e2e", benchmark: "BenchmarkRewriteUnderAFlood", unit: "cpu-percent", limit: atMost(60)},
	{pkg: "tests/e2e", benchmark: "BenchmarkRewriteUnderAFlood", unit: "MiB", limit: atMost(250)},
	{pkg: "tests/e2e", benchmark: "BenchmarkLeafAtRest", unit: "cpu-percent", limit: atMost(30), why: "in its profile the hypervisor (pvm_irq_enable) takes 17 % and the collector of garbage 12 %"}, // 512 ports with queues, 64,000 flows, 128 subscribers, 10 collectors
	{pkg: "tests/e2e", benchmark: "BenchmarkLeafAtRest", unit: "MiB", limit: atMost(400)},
	{pkg: "tests/e2e", benchmark: "BenchmarkLeafAtRest", unit: "s-start", limit: atMost(3)},
	{pkg: "tests/e2e", benchmark: "BenchmarkBadRowsAtRest", unit: "cpu-percent", limit: atMost(5)}, // 50,000
	{pkg: "tests/e2e", benchmark: "BenchmarkBadRowsAtRest", unit: "s-start", limit: atMost(3), why: atItsBar},
	{pkg: "orchagent-ext/export/ipfix", benchmark: "BenchmarkEncode/*", unit: "ns/op"},
	{pkg: "orchagent-ext/export/ipfix", benchmark: "BenchmarkEncode/*", unit: "allocs/op", limit: atMost(0)},
	{pkg: "orchagent-ext/export/ipfix", benchmark: "BenchmarkSendUDP", unit: "ns/op", limit: atMost(1000)}, // 1,000,000 records/s
	{pkg: "orchagent-ext/export/ipfix", benchmark: "BenchmarkSendUDP", unit: "records/s", bound: "Encode is the part of Sluice; the kernel's send takes the rest"},
	{pkg: "orchagent-ext/export/ipfix", benchmark: "BenchmarkSendUDP", unit: "allocs/op", limit: atMost(0)},
	{pkg: "orchagent-ext/export/ipfix", benchmark: "BenchmarkMeter64kFlows", unit: "ns/op", limit: atMost(150), why: "the ICRC of each whole packet is checked, so that forged ones are counted: 65 ns"},
	{pkg: "orchagent-ext/export/ipfix", benchmark: "BenchmarkMeter64kFlows", unit: "allocs/op", limit: atMost(0)},
	{pkg: "tests/bench/capture", benchmark: "BenchmarkFlows/flows", unit: "ratio", limit: atMost(1), with: "softflowd", optional: true},
	{pkg: "tests/bench/capture", benchmark: "BenchmarkFlows/ports", unit: "ratio", limit: atMost(1), with: "softflowd", optional: true}, // to which each queue pair is a flow, too
	{pkg: "tests/bench/capture", benchmark: "BenchmarkFlows/health", unit: "ratio", limit: atMost(1), with: "softflowd", optional: true, why: healthTakes},
	{pkg: "tests/bench/capture", benchmark: "BenchmarkFlows/health_ports", unit: "ratio", limit: atMost(1), with: "softflowd", optional: true},
	{pkg: "tests/bench/capture", benchmark: "BenchmarkTshark/*", unit: "ratio", limit: atLeast(5), with: "tshark's time, over sluice's", optional: true, why: "decode writes 17 columns a line, and computes the ICRC of each packet; the other commands hold it"},
	{pkg: "tests/bench/capture", benchmark: "BenchmarkObserve/*", unit: "ms-p50"}, // from a packet that comes, by a pipe and on a device, to its line
	{pkg: "tests/bench/capture", benchmark: "BenchmarkObserve/*", unit: "ms-p99", limit: atMost(100)},
	{pkg: "orchagent-ext/cli/targets", benchmark: "BenchmarkRead128", unit: "s", limit: atMost(2)},              // of which 8 hang
	{pkg: "orchagent-ext/view/keep", benchmark: "BenchmarkHistory128", unit: "cpu-percent", limit: atMost(100)}, // 128 switches at a frame a second
	{pkg: "orchagent-ext/view/keep", benchmark: "BenchmarkHistory128", unit: "MiB"},
	{pkg: "orchagent-ext/view/keep", benchmark: "BenchmarkHistory128", unit: "s-kept", limit: atLeast(200)}, // of a run of 240 s
	{pkg: "orchagent-ext/view/keep", benchmark: "BenchmarkHistory128", unit: "s-all"},                       // of these, with each frame
	{pkg: "gnmi-server/subscribe", benchmark: "BenchmarkFanOut", unit: "leaves/s/stream"},
	{pkg: "tests/gnmi", benchmark: "BenchmarkStreams", unit: "leaves/s", limit: atLeast(5000)}, // to each of 100 clients, on the same cores
	{pkg: "tests/gnmi", benchmark: "BenchmarkStreams", unit: "MiB", limit: atMost(256)},
	{pkg: "tests/gnmi", benchmark: "BenchmarkSetToStream", unit: "ms-p50"},
	{pkg: "tests/gnmi", benchmark: "BenchmarkSetToStream", unit: "ms-p99", limit: atMost(100)},
	{pkg: "tests/e2e", benchmark: "BenchmarkSetToSwitch", unit: "ms-p50", limit: atMost(15), why: atItsBar},
	{pkg: "tests/e2e", benchmark: "BenchmarkSetToSwitch", unit: "ms-p99", limit: atMost(100), why: "the slowest of 100 Sets, 76 to 189 ms in five runs on a shared machine"}, // by way of the switch
	{pkg: "tests/bench/goipfix", benchmark: "BenchmarkSendUDP/*", unit: "ns/op", optional: true},
	{pkg: "tests/bench/goipfix", benchmark: "BenchmarkSendUDP/*", unit: "allocs/op", optional: true},
	{pkg: "tests/bench/goipfix", benchmark: "BenchmarkRatio", unit: "ratio", limit: atLeast(2.2), with: "vmware/go-ipfix", optional: true},
}

// marksCost is why marks of flows cost more than their bar.
const marksCost = "no program can hold it here: of the kernel's own, one token bucket without queues leaves ratio-tbf, HTB and FIFOs ratio-qdiscs, and with calls of programs that do nothing ratio-empty; ratio-to-empty is the part of the programs"

// healthTakes is where the time of flows with health goes, which softflowd does not judge.
const healthTakes = "in its profile the kernel copies the file for 12 %, the ICRC over each octet takes 13 %, which softflowd does not check, and 14 % wait for the memory of flows; the rest is spread over 60 functions of 4 % and less"

// queuesCost is why queues cost more than their bar.
const queuesCost = "the kernel's HTB and FIFOs, which the queues are, cost more than the bar allows: ratio-qdiscs of FlowMarks"

// atItsBar is why a bar is missed in one run, and held in the next.
const atItsBar = "it lies at its bar on this machine: the spread of the runs reaches to both sides"

// inCache is where the memory's part of a packet is to be seen.
const inCache = "Observe128FlowsWithHealth is the same with all flows in the CPU's caches; the difference is waiting for memory"

// rowTakes is where the time of a row on its way to the switch goes.
const rowTakes = "0.2 ms are the reading of the row, 0.5 its judgment with a question to Redis, 0.2 the ports, 0.2 the programming beside the file of the rows in force, 0.4 the ledger in Redis; the benchmark's own commands take the rest"

// sysmon is why a flood of messages takes more than its bar.
const sysmon = "in its profile the reader of messages takes 45 %, most of it in recvmmsg(2), the thread of holds 11 %, and Go's scheduler with its sysmon 24 %: each return from a sleep costs a trip to the hypervisor (pvm_irq_enable: 32 % of all samples)"

// A bar names one figure of one benchmark and what it must hold.
type bar struct {
	pkg       string // folder of the package, from the root of the module; it may be a module of its own
	benchmark string // BenchmarkX; BenchmarkX/* is every sub-benchmark of it
	unit      string // as the benchmark prints it: ns/op, allocs/op, or its own
	limit     limit  // the zero limit: reported only
	with      string // peer of the figure, in the same run
	optional  bool   // optional: its needs are unmet on some machines
	bound     string // limit that is known of the figure, and how far that is, as the page has it
	why       string // reason where it is missed, as the page has it
}

// optional reports whether every bar of the package is.
func optional(bars []bar, pkg string) bool {
	return !slices.ContainsFunc(bars, func(b bar) bool { return b.pkg == pkg && !b.optional })
}

// A limit is the value that a figure must not pass, if it has one.
type limit struct {
	value float64
	sign  string // "<=", ">=", or empty
}

func atMost(v float64) limit  { return limit{v, "<="} }
func atLeast(v float64) limit { return limit{v, ">="} }

func (l limit) holds(v float64) bool {
	if l.sign == ">=" {
		return v >= l.value
	}
	return v <= l.value
}
