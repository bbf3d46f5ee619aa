// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/roce"
)

// flowLabels are the labels that arrived, by queue pair.
func flowLabels(t testing.TB, arrived []fabric.Frame) map[uint32]uint32 {
	t.Helper()
	found := map[uint32]uint32{}
	var p roce.Packet
	for _, f := range arrived {
		if err := p.Parse(f.Data, len(f.Data)); err != nil {
			t.Fatal(err)
		}
		if was, ok := found[p.DestQP()]; ok && was != p.FlowLabel() {
			t.Errorf("queue pair %#x has labels %#x and %#x", p.DestQP(), was, p.FlowLabel())
		}
		found[p.DestQP()] = p.FlowLabel()
	}
	return found
}

// onlyLabels fails where packets, one of each queue pair, changed in more than their label and
// what each router changes: the Ethernet header and the hop limit.
func onlyLabels(t *testing.T, sent [][]byte, arrived []fabric.Frame) {
	t.Helper()
	unlabelled := func(frame []byte) (qp uint32, b []byte) {
		const ip, hopLimit = 14, 7
		var p roce.Packet
		if err := p.Parse(frame, len(frame)); err != nil {
			t.Fatal(err)
		}
		b = bytes.Clone(frame[ip:])
		b[1], b[2], b[3], b[hopLimit] = b[1]&0xf0, 0, 0, 0
		return p.DestQP(), b
	}
	was := map[uint32][]byte{}
	for _, frame := range sent {
		qp, b := unlabelled(frame)
		was[qp] = b
	}
	for _, f := range arrived {
		if qp, b := unlabelled(f.Data); !bytes.Equal(b, was[qp]) {
			t.Errorf("queue pair %#x: sent\n%x, arrived\n%x", qp, was[qp], b)
		}
	}
}

// TestRewriteKeepsLabels: where the CPU computes the labels, each flow gets an
// entry, its label is that of the formula and fixed from then on, nothing else of a packet
// changes, and labels survive a kill.
//
//conformance:draft-hu/write draft-hu/qp-pair draft-hu/entropy draft-hu/input draft-hu/crc-init draft-hu/crc-loop
//conformance:draft-hu/crc-result draft-hu/low-20 draft-hu/only-label
func TestRewriteKeepsLabels(t *testing.T) {
	t.Parallel()
	l := newLeaf(t)
	hide := []string{"--sai-profile", "SLUICE_HIDE=compute"}
	l.start(hide...)
	l.enable()
	l.awaitFields("SLUICE_CAPABILITY", "switch", "flow_label_method", "rewrite")
	l.send(l.sessions(2)) // the CPU learns of the flows
	l.awaitFields("SLUICE_STATE", "global", "flows", "64")
	before := flowLabels(t, l.send(l.sessions(2)))
	for qp, label := range before {
		if want := flow.DraftLiteral.Label(0, qp, fabric.HostA.Addr().As16(), fabric.HostB.Addr().As16()); label != want {
			t.Errorf("queue pair %#x has label %#x, want %#x", qp, label, want)
		}
	}
	id := flowID(0x100)
	row := l.await("SLUICE_FLOW", id, func(f map[string]string) bool { return f["packets"] == "2" })
	if row["flow_label"] != fmt.Sprint(before[0x100]) || row["dest_qp"] != "256" || row["ingress_port"] != l.LeafA.Name {
		t.Errorf("flow row %v, label %d", row, before[0x100])
	}

	objects := l.objects()
	l.sluiced.Kill()
	arrived := l.send(l.sessions(1))
	if now := flowLabels(t, arrived); !maps.Equal(now, before) {
		t.Error("labels moved when sluiced was killed")
	}
	onlyLabels(t, l.sessions(1), arrived)
	l.launch(hide...)
	l.awaitFields("SLUICE_STATE", "global", "state", "running", "flows", "64")
	if now := l.objects(); !maps.Equal(now, objects) {
		t.Errorf("%d objects, and then %d", len(objects), len(now))
	}
	if now := flowLabels(t, l.send(l.sessions(1))); !maps.Equal(now, before) {
		t.Error("labels moved when sluiced was started again")
	}
	l.await("SLUICE_FLOW", id, func(f map[string]string) bool { return f["packets"] == "4" && f["ingress_port"] == l.LeafA.Name })
	labelled := l.frame(packet{qp: 0x999, label: 7})
	if now := flowLabels(t, l.send([][]byte{labelled, labelled})); now[0x999] != 7 {
		t.Errorf("zero-only wrote %#x over 7", now[0x999])
	}
}

// TestCPURate: what may go to the CPU changes without a restart, and what may not is
// counted.
//
//conformance:draft-lin/dos
func TestCPURate(t *testing.T) {
	l := newLeaf(t)
	l.start("--sai-profile", "SLUICE_HIDE=compute")
	l.set("SLUICE", "global", "cpu_rate", "1", "cpu_burst", "10")
	l.enable()
	l.awaitFields("SLUICE_CAPABILITY", "switch", "flow_label_method", "rewrite")
	l.send(l.sessions(1))
	policed := func() (n int) {
		all, _ := l.countersDB.Read(t.Context(), "SLUICE_STATS")
		for _, r := range all {
			n, _ = strconv.Atoi(r.Fields["cpu_policed"])
			if dropped, _ := strconv.Atoi(r.Fields["cpu_discarded"]); dropped < n {
				n = dropped // the switch counts it, too
			}
		}
		return n
	}
	for deadline := time.Now().Add(patience); policed() < 30; time.Sleep(poll) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of 64 packets were policed at a burst of 10", policed())
		}
	}
	if flows, _ := strconv.Atoi(l.row("SLUICE_STATE", "global")["flows"]); flows > 34 {
		t.Errorf("the CPU has seen %d flows", flows)
	}
	policer := l.objects()["cpu/policer"]
	l.set("SLUICE", "global", "cpu_rate", "100000", "cpu_burst", "1000")
	l.await("SLUICE_ASIC_OBJECT", policer, func(f map[string]string) bool { // the same object
		return strings.Contains(f["attributes"], "SAI_POLICER_ATTR_CIR=100000 SAI_POLICER_ATTR_CBS=1000 ")
	})
	for deadline := time.Now().Add(patience); l.row("SLUICE_STATE", "global")["flows"] != "64"; {
		if time.Now().After(deadline) {
			t.Fatalf("flows: %v", l.row("SLUICE_STATE", "global"))
		}
		l.send(l.sessions(1))
	}
}

// TestMissingRights: who lacks a capability is told which, and what it is for.
func TestMissingRights(t *testing.T) {
	t.Parallel()
	l := newLeaf(t)
	l.launchWith([]string{"setpriv", "--bounding-set=-net_admin"})
	l.await("SLUICE_STATE", "global", func(f map[string]string) bool {
		return f["state"] == "starting" && strings.Contains(f["last_error"], "CAP_NET_ADMIN to attach programs to ports")
	})
}

// TestHashWarning: labels that ECMP does not hash are said to be no use.
//
//conformance:draft-hu/hash-label
func TestHashWarning(t *testing.T) {
	t.Parallel()
	l := newLeaf(t)
	l.start()
	l.set("SLUICE_FLOW_LABEL", "global", "admin_state", "enabled")
	l.await("SLUICE_STATE", "global", func(f map[string]string) bool {
		return f["state"] == "degraded" && f["flow_label"] == "active" && strings.Contains(f["warnings"], "ECMP does not hash the flow label")
	})
	l.allLabelled()
	l.set("SWITCH_HASH", "GLOBAL", "ecmp_hash@", "SRC_IP,DST_IP,IPV6_FLOW_LABEL")
	l.awaitFields("SLUICE_STATE", "global", "state", "running")
}

// TestPortsStayHashedBesideLabels: beside a label the kernel hashes the 5-tuple (bits 0x37) and the label
// (0x08), also where it hashed no ports before; without ports where the row says so.
//
//conformance:draft-hu/hash-label draft-hu/legacy
func TestPortsStayHashedBesideLabels(t *testing.T) {
	t.Parallel()
	l := newLeaf(t)
	fields := func() string {
		return strings.TrimSpace(l.in("cat", "/proc/sys/net/ipv6/fib_multipath_hash_policy", "/proc/sys/net/ipv6/fib_multipath_hash_fields"))
	}
	l.in("sh", "-c", "echo 0 >/proc/sys/net/ipv6/fib_multipath_hash_policy") // addresses, protocol and label
	l.start()
	for _, c := range []struct{ ports, want string }{{"true", "3\n63"}, {"false", "3\n15"}, {"true", "3\n63"}} {
		l.enable("hash_ports", c.ports)
		l.until("hash_ports="+c.ports+" is in force", func() bool { return fields() == c.want })
	}
	const connections, first, label = 32, 1000, 5
	host, uplinks := l.sender(l.A), []*fabric.Capture{l.capture(l.Uplinks[0].Peer()), l.capture(l.Uplinks[1].Peer())}
	l.until("connections of one label take both uplinks", func() bool {
		for port := range uint16(connections) {
			b := l.segment(unix.IPPROTO_TCP, first+port)
			b[15], b[16], b[17] = b[15]&0xf0, 0, label
			l.put(host, b)
		}
		var carried [2]int
		for i, c := range uplinks {
			for port := range uint16(connections) {
				carried[i] += segmentsOf(c, unix.IPPROTO_TCP, first+port)
			}
		}
		return carried[0] > 0 && carried[1] > 0
	})
}

// TestLeastRights: the capabilities that docs/linux.md names are enough.
func TestLeastRights(t *testing.T) {
	t.Parallel()
	l := newLeaf(t)
	l.launchWith([]string{"setpriv", "--bounding-set=-all,+net_admin,+bpf,+perfmon"})
	l.enable()
	l.allLabelled()
}

// TestSkippedCounts: labels of the sender's own are counted as kept; IPv4, which
// has none, is not.
func TestSkippedCounts(t *testing.T) {
	t.Parallel()
	l := newLeaf(t)
	l.start()
	l.enable()
	var frames [][]byte
	for psn := range uint32(10) {
		frames = append(frames, l.frame(packet{qp: 1, psn: psn}), l.frame(packet{qp: 2, psn: psn, label: 5}), l.frame4(packet{qp: 3, psn: psn}))
	}
	l.send(frames)
	for deadline := time.Now().Add(patience); ; time.Sleep(poll) {
		all, err := l.countersDB.Read(t.Context(), "SLUICE_STATS")
		if err == nil && len(all) == 1 {
			f := all[0].Fields
			if f["label_written"] == "10" && f["label_skipped"] == "10" && f["label_skipped_percent"] == "50.0" {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%v", f)
			}
		}
	}
}
