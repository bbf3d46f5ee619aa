// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/testbed/ipfixtest"
	"sluice/orchagent-ext/wire/roce"
)

// TestExportSendsRecordsOfFlowsAndPackets: the daemon exports the flows that its switch sees, with labels and
// without, how their connections fare where that is wanted, and what its tables hold when it
// ends. Datagrams to another port than RoCEv2's are no flows of it.
//
//conformance:draft-lin/port draft-lin/opcode draft-lin/pkey draft-lin/dest-qp draft-lin/src-qp draft-lin/psn draft-lin/flags1
//conformance:draft-lin/flags2 draft-lin/flags3 draft-lin/other
func TestExportSendsRecordsOfFlowsAndPackets(t *testing.T) {
	t.Parallel()
	for _, labels := range []bool{false, true} {
		t.Run(map[bool]string{false: "alone", true: "beside labels"}[labels], func(t *testing.T) {
			t.Parallel()
			l := newLeaf(t)
			var collector *ipfixtest.Collector
			err := l.Leaf.Do(func() error {
				collector = ipfixtest.Listen(t, "udp", "127.0.0.1:0", nil)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			host, port, err := net.SplitHostPort(collector.Addr)
			if err != nil {
				t.Fatal(err)
			}
			l.start()
			if labels {
				l.enable()
			}
			l.set("SLUICE_IPFIX", "global", "admin_state", "enabled", "observation_domain", "7", "health", map[bool]string{true: "enabled", false: "disabled"}[labels])
			l.await("SLUICE_STATE", "global", func(f map[string]string) bool { return strings.Contains(f["warnings"], "has no collector") })
			l.set("SLUICE_IPFIX_COLLECTOR", "c1", "address", host, "port", port)
			l.awaitCounters("SLUICE_IPFIX_STATS", "c1", "dropped", "0") // the exporter runs
			l.awaitFields("SLUICE_STATE", "global", "state", "running")
			if !l.exporting() {
				t.Fatal("no object samples packets")
			}

			frames := l.sessions(5)
			for psn := range uint32(5) {
				frames = append(frames, l.frame4(packet{qp: 0x900, psn: psn}))
			}
			other := l.frame(packet{qp: 0xa00})
			other[14+40+3]++ // port 4792
			l.send([][]byte{other})
			l.send(frames)
			l.awaitCounters("SLUICE_IPFIX_STATS", "c1", "connected", "true")
			l.awaitCounters("SLUICE_STATS", "global", "cpu_roce", fmt.Sprint(len(frames)))
			l.stop()
			flows := map[uint64]ipfixtest.Record{}
			packets := uint64(0)
			for _, r := range collector.WaitRecords(t, 65) {
				flows[r["rdmaDestinationQP"].(uint64)] = r
				packets += r["packetDeltaCount"].(uint64)
			}
			if len(flows) != 65 || packets != uint64(len(frames)) {
				t.Errorf("%d flows of %d packets, want 65 of %d", len(flows), packets, len(frames))
			}
			r := flows[0x100]
			if r["sourceIPv6Address"] != fabric.HostA.Addr() || r["destinationTransportPort"] != uint64(4791) ||
				r["ingressInterface"] != uint64(l.LeafA.Index) || r["flowEndReason"] != uint64(4) || r["rdmaPacketSequenceNumber"] != uint64(4) {
				t.Errorf("%v", r)
			}
			for name, want := range map[string]uint64{"rdmaOpCode": uint64(roce.RCSendMiddle), "rdmaPartitionKey": 0xffff, "rdmaDestinationQP": 0x100,
				"rdmaBTHFlags1": 0, "rdmaBTHFlags2": 0, "rdmaBTHFlags3": 0} {
				if r[name] != want {
					t.Errorf("%s is %v, want %d", name, r[name], want)
				}
			}
			if qp, known := r["rdmaSourceQP"]; known { // which no packet shows
				t.Errorf("source queue pair %v", qp)
			}
			if r := flows[0x900]; r["sourceIPv4Address"] != netip.MustParseAddr(fabric.HostA4.Addr().String()) {
				t.Errorf("%v", r)
			}
			fares := map[uint64]ipfixtest.Record{} // by queue pair, when all of its packets have come
			collector.Wait(t, "how the connections fare", func(sessions []*ipfixtest.Decoder) bool {
				for _, s := range sessions {
					for _, o := range s.Options {
						if o["packetTotalCount"] == uint64(5) {
							fares[o["rdmaDestinationQP"].(uint64)] = o
						}
					}
				}
				return len(fares) == 65 || !labels
			})
			if !labels && len(fares) > 0 {
				t.Errorf("%d connections fare, which was not asked for", len(fares))
			}
			for qp, o := range fares {
				if o["rdmaGapTotalCount"] != uint64(0) || o["rdmaSourceAddress"].(netip.Addr).Unmap() != flowSource(flows[qp]) {
					t.Errorf("%x: %v", qp, o)
				}
			}
			collector.Look(func(sessions []*ipfixtest.Decoder) {
				for _, s := range sessions {
					if len(s.Gaps)+s.Unknown > 0 {
						t.Errorf("gaps %v, %d sets without template", s.Gaps, s.Unknown)
					}
				}
			})
		})
	}
}

func flowSource(r ipfixtest.Record) netip.Addr {
	if a, ok := r["sourceIPv6Address"].(netip.Addr); ok {
		return a
	}
	return r["sourceIPv4Address"].(netip.Addr)
}

// TestCopiesAreNoSamples: what comes to the CPU to be labelled is not exported as if
// it were one of so many packets.
func TestCopiesAreNoSamples(t *testing.T) {
	l := newLeaf(t)
	var collector *ipfixtest.Collector
	err := l.Leaf.Do(func() error {
		collector = ipfixtest.Listen(t, "udp", "127.0.0.1:0", nil)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(collector.Addr)
	if err != nil {
		t.Fatal(err)
	}
	l.start("--sai-profile", "SLUICE_HIDE=compute")
	l.set("SLUICE_IPFIX_COLLECTOR", "c1", "address", host, "port", port)
	const rate = 100_000_000 // hardly any packet is sampled
	l.set("SLUICE_IPFIX", "global", "admin_state", "enabled", "sampling_rate", fmt.Sprint(rate))
	l.enable()
	if !l.exporting() {
		t.Fatal("no object samples packets")
	}
	l.send(l.sessions(2))
	l.awaitFields("SLUICE_STATE", "global", "flows", "64") // the CPU has seen each
	l.awaitCounters("SLUICE_IPFIX_STATS", "c1", "connected", "true")
	sample := l.objects()["export/sample"]
	l.set("SLUICE_IPFIX", "global", "admin_state", "enabled", "sampling_rate", "1") // what came is given out, and what comes counts
	l.await("SLUICE_ASIC_OBJECT", sample, func(f map[string]string) bool {          // the same object
		return f["attributes"] == "SAI_SAMPLEPACKET_ATTR_SAMPLE_RATE=1"
	})
	for deadline := time.Now().Add(patience); l.row("SLUICE_STATE", "global")["flows"] != "65"; {
		if time.Now().After(deadline) {
			t.Fatalf("flows: %v", l.row("SLUICE_STATE", "global"))
		}
		l.send([][]byte{l.frame(packet{qp: 0x999})}) // the first ones may come while the reader is changed
	}
	l.stop()
	packets := map[uint64]uint64{}
	collector.WaitRecords(t, 1)
	collector.Look(func(sessions []*ipfixtest.Decoder) {
		for _, s := range sessions {
			for _, r := range s.Records {
				packets[r["rdmaDestinationQP"].(uint64)] += r["packetDeltaCount"].(uint64)
			}
		}
	})
	if len(packets) != 1 || packets[0x999] == 0 {
		t.Errorf("packets by queue pair: %v, want only those that came when every packet was looked at", packets)
	}
}

// TestExportIsEncryptedAndAuthenticated: collectors that ask for TLS and DTLS get every record, with a
// certificate of the switch; one whose certificate is of another authority gets none, and is named.
//
//conformance:draft-lin/security draft-lin/encryption
func TestExportIsEncryptedAndAuthenticated(t *testing.T) {
	t.Parallel()
	l := newLeaf(t)
	ca, other := ipfixtest.NewAuthority(t), ipfixtest.NewAuthority(t)
	cert, key, _ := ca.Sign(t, "exporter")
	collectors := map[string]*ipfixtest.Collector{}
	for _, c := range []struct {
		name, transport string
		by              *ipfixtest.Authority
	}{{"tls", "tls", ca}, {"dtls", "dtls", ca}, {"stranger", "tls", other}} {
		_, _, pair := c.by.Sign(t, "collector")
		err := l.Leaf.Do(func() error {
			collectors[c.name] = ipfixtest.Listen(t, c.transport, "127.0.0.1:0", &ipfixtest.Security{Certificate: pair, Clients: ca.Pool})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		host, port, err := net.SplitHostPort(collectors[c.name].Addr)
		if err != nil {
			t.Fatal(err)
		}
		l.set("SLUICE_IPFIX_COLLECTOR", c.name, "address", host, "port", port, "transport", c.transport, "ca_file", ca.File, "cert_file", cert, "key_file", key)
	}
	l.set("SLUICE_IPFIX", "global", "admin_state", "enabled")
	l.start("--file-folder", filepath.Dir(ca.File))
	l.awaitFields("SLUICE_STATE", "global", "state", "running")
	if !l.exporting() {
		t.Fatal("no object samples packets")
	}
	for _, name := range []string{"tls", "dtls"} {
		l.awaitCounters("SLUICE_IPFIX_STATS", name, "connected", "true")
	}
	l.awaitCounters("SLUICE_IPFIX_STATS", "stranger", "connected", "false")
	const flows = 64
	l.send(l.sessions(1))
	l.awaitCounters("SLUICE_STATS", "global", "cpu_roce", fmt.Sprint(flows))
	l.stop()
	for _, name := range []string{"tls", "dtls"} {
		if n := len(collectors[name].WaitRecords(t, flows)); n != flows {
			t.Errorf("%s: %d records of %d flows", name, n, flows)
		}
	}
	collectors["stranger"].Look(func(sessions []*ipfixtest.Decoder) {
		for _, s := range sessions {
			if len(s.Records) > 0 {
				t.Errorf("a collector of another authority got %d records", len(s.Records))
			}
		}
	})
}

// TestSamplingRateIsWhatTheCPUBears: left out it is one of 256 packets of an ASIC, as for SONiC's
// sFlow; each of the software switch, see [TestExportSendsRecordsOfFlowsAndPackets]. A row as written wins, and one of more packets
// than the CPU of an ASIC gets is refused with the reason.
//
//conformance:draft-lin/performance
func TestSamplingRateIsWhatTheCPUBears(t *testing.T) {
	l := newLeaf(t)
	var collector *ipfixtest.Collector
	if err := l.Leaf.Do(func() error { collector = ipfixtest.Listen(t, "udp", "127.0.0.1:0", nil); return nil }); err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(collector.Addr)
	if err != nil {
		t.Fatal(err)
	}
	l.set("SLUICE_IPFIX_COLLECTOR", "c1", "address", host, "port", port)
	l.set("SLUICE_IPFIX", "global", "admin_state", "enabled")
	l.start(l.vendorLibrary()...)
	sampled := func(rate string) {
		l.until("the switch samples one of "+rate, func() bool {
			return l.row("SLUICE_ASIC_OBJECT", l.objects()["export/sample"])["attributes"] == "SAI_SAMPLEPACKET_ATTR_SAMPLE_RATE="+rate
		})
	}
	sampled("256")
	const packets = 64 * 64
	l.send(l.sessions(packets / 64))
	l.set("SLUICE_IPFIX", "global", "admin_state", "enabled", "sampling_rate", "1000")
	sampled("1000")
	l.set("SLUICE_IPFIX", "global", "admin_state", "enabled", "sampling_rate", "1")
	l.await("SLUICE_STATE", "global", func(f map[string]string) bool {
		return strings.Contains(f["ipfix_reason"]+f["warnings"]+l.row("SLUICE_CAPABILITY", "switch")["export_reason"], "at least 256")
	})
	l.stop()
	exported := uint64(0)
	for _, r := range collector.WaitRecords(t, 1) {
		exported += r["packetDeltaCount"].(uint64)
	}
	if exported == 0 || exported > packets/8 { // 16 are expected
		t.Errorf("%d of %d packets were exported, want one of 256", exported, packets)
	}
}

// awaitCounters waits until a field of a row of COUNTERS_DB has a value.
func (l *leaf) awaitCounters(table, key, field, value string) {
	l.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(poll) {
		all, _ := l.countersDB.Read(l.t.Context(), table)
		for _, r := range all {
			if r.Key == key && r.Fields[field] == value {
				return
			}
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("%s:%s %s is not %q: %v", table, key, field, value, all)
		}
	}
}

// exporting waits until something samples packets for export.
func (l *leaf) exporting() bool {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(poll) {
		if l.objects()["export/sample"] != "" {
			return true
		}
	}
	return false
}
