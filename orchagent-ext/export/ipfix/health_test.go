// SPDX-License-Identifier: Apache-2.0

package ipfix_test

import (
	"bytes"
	"io"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/export/ipfix"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/flows/health"
	"sluice/orchagent-ext/testbed/ipfixtest"
	"sluice/orchagent-ext/wire/roce"
)

const qpA, qpB = 0xa1, 0xb2 // of 10.0.0.1 and of 10.0.0.2, which answers

// connection is a table that follows a connection, with a meter beside it.
type connection struct {
	*ipfix.HealthMeter
	t     *testing.T
	table *health.Table
	seen  health.Seen // of every packet
}

func newConnection(t *testing.T, c ipfix.HealthConfig, of health.Config, export func([]ipfix.Health)) *connection {
	m := ipfix.NewHealthMeter(c, export)
	of.Removed = m.Removed
	table := health.NewTable(of)
	m.Follow(table)
	return &connection{m, t, table, health.Seen{From: flow.Ack, Slot: -1, Part: !c.Whole}}
}

// request is a SEND of one packet with 64 octets, which asks for an acknowledgement.
func (c *connection) request(psn uint32, ecn uint8, now int64) {
	c.t.Helper()
	c.see(packetOf(c.t, roce.BTH{Opcode: roce.RCSendOnly, DestQP: qpB, PSN: psn, AckReq: true}, ecn, 64), qpA, now)
}

// answer is an acknowledgement, or a NAK, or a CNP.
func (c *connection) answer(op roce.Opcode, psn uint32, syndrome uint8, now int64) {
	c.t.Helper()
	ip := roce.IPv4Header{TOS: 2, TTL: 64, Protocol: 17, Src: [4]byte{10, 0, 0, 2}, Dst: [4]byte{10, 0, 0, 1}}
	b := roce.UDPHeader{SrcPort: 0xc000, DstPort: roce.UDPPort}.Append(ip.Append(nil))
	b = roce.BTH{Opcode: op, DestQP: qpA, PSN: psn}.Append(b)
	if op == roce.CNP {
		b = append(b, make([]byte, 16)...)
	} else {
		b = roce.AETH{Syndrome: syndrome}.Append(b)
	}
	b, err := roce.Finish(b, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	var p roce.Packet
	if err := p.ParseIP(b, len(b)); err != nil {
		c.t.Fatal(err)
	}
	c.see(&p, qpB, now)
}

func (c *connection) see(p *roce.Packet, srcQP uint32, now int64) {
	s := c.seen
	s.Time, s.SrcQP = now, srcQP
	c.table.Observe(p, s)
}

// faulty is a connection with faults of every kind.
func (c *connection) faulty(start int64) {
	at := func(us int64) int64 { return start + us*1000 }
	c.request(0, 2, at(0))
	c.answer(roce.RCAck, 0, 0x1f, at(5))
	c.request(1, 3, at(10))
	c.answer(roce.CNP, 0, 0, at(12))
	c.request(3, 2, at(20)) // PSN 2 is lost, and refused
	c.answer(roce.RCAck, 2, 0x60, at(21))
	c.request(2, 3, at(30))
	c.request(3, 2, at(31)) // here before
	c.request(4, 2, at(40))
	c.request(6, 2, at(50)) // 5 was overtaken
	c.request(5, 2, at(51))
	c.request(10, 2, at(60))              // 7, 8 and 9 do not come
	c.answer(roce.RCAck, 6, 0x20, at(70)) // not ready
	c.answer(roce.RCAck, 6, 0x62, at(71)) // access
	c.answer(roce.RCAck, 6, 0x63, at(72)) // operation
	c.answer(roce.RCAck, 6, 0x61, at(73)) // invalid
	c.request(11, 2, at(5000))            // a pause of almost 5 ms
}

// decodeHealth writes what fill makes into a file, and reads it by messages.
func decodeHealth(t *testing.T, p ipfix.Process, fill func(*ipfix.Writer)) *ipfixtest.Decoder {
	t.Helper()
	p.Health = true
	d := ipfixtest.NewDecoder()
	w, err := ipfix.NewWriter(feeder{d}, p)
	if err != nil {
		t.Fatal(err)
	}
	fill(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if len(d.Gaps) > 0 || d.Unknown > 0 {
		t.Errorf("gaps %v, %d sets without template", d.Gaps, d.Unknown)
	}
	return d
}

// healthOf are the health records that were decoded.
func healthOf(d *ipfixtest.Decoder) (all []ipfixtest.Record) {
	for _, o := range d.Options {
		if _, ok := o["packetTotalCount"]; ok {
			all = append(all, o)
		}
	}
	return all
}

// TestHealthRecordsCountEveryFault, and leave out what cannot be told: with samples what PSNs
// say, without the time of packets pauses and times to acknowledgements.
func TestHealthRecordsCountEveryFault(t *testing.T) {
	there := ipfixtest.Record{
		"rdmaSourceAddress": netip.MustParseAddr("::ffff:10.0.0.1"), "rdmaDestinationAddress": netip.MustParseAddr("::ffff:10.0.0.2"),
		"rdmaDestinationQP": uint64(qpB), "rdmaSourceQP": uint64(qpA),
		"flowStartMilliseconds": uint64(testTime / 1_000_000), "flowEndMilliseconds": uint64(testTime/1_000_000 + 5), "packetTotalCount": uint64(10), "octetTotalCount": uint64(10 * 108),
		"cePacketTotalCount": uint64(2), "rdmaAcknowledgeTotalCount": uint64(0), "rdmaNotificationTotalCount": uint64(0),
		"rdmaReceiverNotReadyTotalCount": uint64(0), "rdmaSequenceErrorTotalCount": uint64(0), "rdmaAccessErrorTotalCount": uint64(0), "rdmaOtherErrorTotalCount": uint64(0),
	}
	whole := ipfixtest.Record{
		"rdmaPayloadOctetTotalCount": uint64(9 * 64), "rdmaGapTotalCount": uint64(3), "rdmaMissingPacketTotalCount": uint64(5), "rdmaLostPacketCount": uint64(3),
		"rdmaReorderedPacketCount": uint64(1), "rdmaRecoveredPacketTotalCount": uint64(1), "rdmaDuplicatePacketTotalCount": uint64(1),
		"rdmaRetransmittedOctetTotalCount": uint64(2 * 64), "rdmaMessageTotalCount": uint64(9),
	}
	timed := ipfixtest.Record{"rdmaStallTotalCount": uint64(1), "rdmaStallTotalNanoseconds": uint64(4940_000)}
	rtt := ipfixtest.Record{"rdmaRoundTripMedianNanoseconds": uint64(5000), "rdmaRoundTripP99Nanoseconds": uint64(5000)}
	back := ipfixtest.Record{ // what it refused
		"packetTotalCount": uint64(7), "rdmaAcknowledgeTotalCount": uint64(1), "rdmaNotificationTotalCount": uint64(1),
		"rdmaReceiverNotReadyTotalCount": uint64(1), "rdmaSequenceErrorTotalCount": uint64(1), "rdmaAccessErrorTotalCount": uint64(1), "rdmaOtherErrorTotalCount": uint64(2),
	}
	for _, tt := range []struct {
		name         string
		whole, timed bool
		point        uint32
		more         []ipfixtest.Record
		template     uint16
	}{
		{"samples", false, false, 0, nil, 519 + 1},
		{"whole", true, false, 0, []ipfixtest.Record{whole}, 519 + 1 + 4},
		{"timed", true, true, 0, []ipfixtest.Record{whole, timed, rtt}, 519 + 1 + 4 + 8 + 16},
		{"at a place", true, true, 3, []ipfixtest.Record{whole, timed, rtt, {"observationPointId": uint64(3)}}, 519 + 1 + 2 + 4 + 8 + 16},
	} {
		d := decodeHealth(t, ipfix.Process{}, func(w *ipfix.Writer) {
			c := newConnection(t, ipfix.HealthConfig{Whole: tt.whole, Timed: tt.timed}, health.Config{Untimed: !tt.timed, Stall: int64(time.Millisecond)}, w.ExportHealth)
			c.seen.Point = tt.point
			c.faulty(testTime)
			c.Flush()
		})
		got := healthOf(d)
		if len(got) != 2 || d.Templates[tt.template] != 1 {
			t.Fatalf("%s: %d records, templates %v", tt.name, len(got), d.Templates)
		}
		want := ipfixtest.Record{}
		for _, part := range append(tt.more, there) {
			for name, value := range part {
				want[name] = value
			}
		}
		if diff := cmp.Diff(want, got[0], comparer); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		for name, value := range back {
			if got[1][name] != value {
				t.Errorf("%s: %s back is %v, want %v", tt.name, name, got[1][name], value)
			}
		}
	}
}

// TestHealthIsReportedOnceInTheActiveTimeout: while packets come, when a direction leaves, at
// the end, and after the clock was set back; not while none comes.
func TestHealthIsReportedOnceInTheActiveTimeout(t *testing.T) {
	d := decodeHealth(t, ipfix.Process{}, func(w *ipfix.Writer) {
		c := newConnection(t, ipfix.HealthConfig{Active: 10 * time.Second}, health.Config{Capacity: 1}, w.ExportHealth)
		psn := uint32(0)
		at := func(s int64, packets int) {
			c.Tick(s*second, 1)
			c.Tick(s*second, 1) // to the end of the round
			for range packets {
				c.request(psn, 2, s*second)
				psn++
			}
		}
		at(100, 1)
		at(105, 1)
		at(109, 1) // not yet
		at(110, 1) // the first three
		at(121, 0) // the fourth
		at(140, 0) // none since
		at(150, 1)
		at(60, 1) // the clock was set back
		at(65, 0)
		at(70, 0) // six
		c.request(psn, 2, 71*second)
		c.answer(roce.RCAck, psn, 0x1f, 72*second) // needs the place
		c.Flush()
		c.Flush() // the same again counts nothing twice
	})
	type one struct{ qp, packets uint64 }
	var got []one
	for _, r := range healthOf(d) {
		got = append(got, one{r["rdmaDestinationQP"].(uint64), r["packetTotalCount"].(uint64)})
	}
	want := []one{{qpB, 3}, {qpB, 4}, {qpB, 6}, {qpB, 7}, {qpA, 1}, {qpA, 1}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestHealthMetersAllocateNothing(t *testing.T) {
	w, err := ipfix.NewWriter(discard{}, ipfix.Process{Health: true})
	if err != nil {
		t.Fatal(err)
	}
	c := newConnection(t, ipfix.HealthConfig{Active: 1, Whole: true, Timed: true}, health.Config{}, w.ExportHealth)
	c.faulty(testTime)
	now := int64(math.MaxInt64 / 2)
	if n := testing.AllocsPerRun(10_000, func() {
		now += 2
		c.Tick(now, math.MaxInt)
	}); n != 0 {
		t.Errorf("%v allocations a round", n)
	}
}

// TestHealthReachesCollectors beside records of flows, over every path MTU: where messages are
// short, without what PSNs say. What finds its queue full is counted.
func TestHealthReachesCollectors(t *testing.T) {
	const directions = 300
	for _, mtu := range []int{ipfix.MinPathMTU, 1280} {
		collector := ipfixtest.Listen(t, "udp", "[::1]:0", nil)
		e, _ := start(t, ipfix.Config{Process: ipfix.Process{Health: true}, Collectors: []ipfix.Collector{{Address: collector.Addr, PathMTU: mtu}}})
		c := newConnection(t, ipfix.HealthConfig{Whole: true, Timed: true}, health.Config{}, e.ExportHealth)
		c.faulty(testTime)
		for i := range uint32(directions - 2) {
			c.see(packetOf(t, roce.BTH{Opcode: roce.RCSendOnly, DestQP: 0x1000 + i}, 2, 64), 7, testTime)
		}
		e.Export(numbered(100))
		c.Flush()
		e.Export(numbered(100))
		collector.Wait(t, "all records", func(s []*ipfixtest.Decoder) bool {
			return len(s) == 1 && len(s[0].Records) == 200 && len(healthOf(s[0])) == directions
		})
		collector.Look(func(s []*ipfixtest.Decoder) {
			_, whole := healthOf(s[0])[0]["rdmaGapTotalCount"]
			if longest := slices.Max(s[0].Lengths); len(s[0].Gaps)+s[0].Unknown > 0 || longest > mtu-48 || whole != (mtu == 1280) {
				t.Errorf("path MTU %d: gaps %v, %d without template, messages of up to %d octets, PSNs %v", mtu, s[0].Gaps, s[0].Unknown, longest, whole)
			}
		})
		if s := e.Stats()[0]; s.Health != directions || s.Records != 200 || s.Dropped != 0 {
			t.Errorf("%+v", s)
		}
	}

	e, err := ipfix.New(ipfix.Config{Process: ipfix.Process{Health: true}, Queue: 1, Collectors: []ipfix.Collector{{Address: "192.0.2.1:1"}}})
	if err != nil {
		t.Fatal(err)
	}
	c := newConnection(t, ipfix.HealthConfig{}, health.Config{}, e.ExportHealth)
	c.faulty(testTime)
	c.Flush()
	if s := e.Stats()[0]; s.Waiting != 1 || s.Dropped != 1 {
		t.Errorf("%+v, want one that waits and one dropped", s)
	}
}

// TestHealthChangesNothingElse: without it a file is as long as before, and its elements have
// numbers of their own wherever the first one is.
func TestHealthChangesNothingElse(t *testing.T) {
	if _, err := ipfix.NewWriter(io.Discard, ipfix.Process{Health: true, Registry: ipfix.Registry{IDs: assigned}}); err == nil || !strings.Contains(err.Error(), "enterprise number 0") {
		t.Errorf("PEN 0: %v", err)
	}
	for first := 1; first <= ipfix.MaxFirst; first++ {
		r := ipfix.Registry{PEN: 4242, First: uint16(first)}
		seen := map[uint16]bool{}
		for i, e := range slices.Concat(ipfix.RDMA, ipfix.HealthElements) {
			_, id, ok := r.ID(e)
			if !ok || id == 0 || id > 32767 || seen[id] {
				t.Fatalf("first %d: %s has the id %d, %v", first, e.Name, id, ok)
			}
			if follows := first+len(ipfix.RDMA)-1 <= 32767; i < 20 && follows && int(id) != first+i {
				t.Fatalf("first %d: %s has the id %d", first, e.Name, id)
			}
			seen[id] = true
		}
	}
	off, on := decodeFile(t, ipfix.Process{}, []ipfix.Record{sample(true)}), decodeHealth(t, ipfix.Process{}, func(w *ipfix.Writer) { w.Export([]ipfix.Record{sample(true)}) })
	if len(on.Options)-len(off.Options) != len(ipfix.HealthElements) || len(off.Options) != len(ipfix.RDMA)+1 {
		t.Errorf("%d options records without health, %d with it", len(off.Options), len(on.Options))
	}
	if diff := cmp.Diff(off.Records, on.Records, comparer); diff != "" {
		t.Error(diff)
	}
	var with, without bytes.Buffer
	for health, to := range map[bool]io.Writer{true: &with, false: &without} {
		w, err := ipfix.NewWriter(to, ipfix.Process{Health: health, Now: func() time.Time { return time.Unix(1, 0) }})
		if err != nil {
			t.Fatal(err)
		}
		w.Export([]ipfix.Record{sample(true)})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	const flowSets = 200 // the record of a flow ends the file, in the same octets
	if a, b := with.Bytes(), without.Bytes(); !bytes.Equal(a[len(a)-flowSets:], b[len(b)-flowSets:]) {
		t.Error("health changes the records of flows")
	}
}
