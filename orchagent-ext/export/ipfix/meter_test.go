// SPDX-License-Identifier: Apache-2.0

package ipfix_test

import (
	"math"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/export/ipfix"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/roce"
)

// packetOf is a RoCEv2 packet over IPv4 from 10.0.0.1 to 10.0.0.2, of 48 octets
// and the payload.
func packetOf(tb testing.TB, h roce.BTH, tos uint8, payload int) *roce.Packet {
	tb.Helper()
	b := frameOf(tb, h, tos, payload)
	p := new(roce.Packet)
	if err := p.ParseIP(b, len(b)); err != nil {
		tb.Fatal(err)
	}
	return p
}

func frameOf(tb testing.TB, h roce.BTH, tos uint8, payload int) []byte {
	tb.Helper()
	ip := roce.IPv4Header{TOS: tos, TTL: 64, Protocol: 17, Src: [4]byte{10, 0, 0, 1}, Dst: [4]byte{10, 0, 0, 2}}
	b := roce.UDPHeader{SrcPort: 0xc000, DstPort: roce.UDPPort}.Append(ip.Append(nil))
	b, err := roce.Finish(append(h.Append(b), make([]byte, payload)...), 0)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// metered is a table with a meter beside it, and the records that it made.
type metered struct {
	*ipfix.Meter
	table   *flow.Table
	records []ipfix.Record
}

func newMetered(c ipfix.MeterConfig) *metered {
	m := &metered{}
	m.Meter = ipfix.NewMeter(c, func(r []ipfix.Record) { m.records = append(m.records, r...) })
	m.table = flow.NewTable(flow.Config{Capacity: c.Capacity, Removed: m.Removed})
	m.Follow(m.table)
	return m
}

func (m *metered) observe(p *roce.Packet, now int64) {
	m.Observe(p, m.table.Observe(p, now), 3, 4, now)
}

// taken returns the records so far, once.
func (m *metered) taken() []ipfix.Record {
	m.Tick()
	r := m.records
	m.records = nil
	return r
}

const second = int64(time.Second)

//conformance:draft-lin/opcode draft-lin/src-qp draft-lin/other
func TestFlowRecords(t *testing.T) {
	m := newMetered(ipfix.MeterConfig{Capacity: 16, Active: 10 * time.Second})
	const from = 1000 * second
	first := packetOf(t, roce.BTH{Opcode: roce.RCSendFirst, DestQP: 7, PKey: 0xffff, PSN: 1, Solicited: true, FECN: true, AckReq: true}, 2, 4)
	last := packetOf(t, roce.BTH{Opcode: roce.RCSendLast, DestQP: 7, PKey: 0xffff, PSN: 2, MigReq: true, Pad: 3, BECN: true, Resv6: 1, Resv7: 1}, 3, 8)
	m.observe(first, from)
	m.observe(last, from+4*second)
	base := ipfix.Record{
		Src: netip.MustParseAddr("10.0.0.1").As16(), Dst: netip.MustParseAddr("10.0.0.2").As16(), SrcPort: 0xc000, PKey: 0xffff, DestQP: 7,
		Ingress: 3, Egress: 4,
		PSN: 2, Opcode: uint8(roce.RCSendLast), Flags1: 0x70, Flags2: 0x40, Flags3: 0, TrafficClass: 3,
	}
	if got := m.taken(); got != nil {
		t.Fatalf("records before their time: %+v", got)
	}
	m.observe(last, from+10*second)
	active := base
	active.Octets, active.Packets, active.CEOctets, active.CEPackets = 48+2*52, 3, 2*52, 2
	active.Classes[ipfix.Send] = 3
	active.Start, active.End, active.EndReason = from, from+10*second, ipfix.ActiveTimeout
	if diff := cmp.Diff([]ipfix.Record{active}, m.taken()); diff != "" {
		t.Error("active: ", diff)
	}

	m.observe(last, from+12*second)
	m.table.Expire(from+30*second, 15*second, math.MaxInt)
	idle := base
	idle.Octets, idle.Packets, idle.CEOctets, idle.CEPackets = 52, 1, 52, 1
	idle.Classes[ipfix.Send] = 1
	idle.Start, idle.End, idle.EndReason = from+12*second, from+12*second, ipfix.IdleTimeout
	if diff := cmp.Diff([]ipfix.Record{idle}, m.taken()); diff != "" {
		t.Error("idle: ", diff)
	}

	m.observe(first, from+40*second)
	m.Flush()
	m.Flush() // nothing came since
	forced := base
	forced.Octets, forced.Packets = 48, 1
	forced.PSN, forced.Opcode, forced.Flags1, forced.Flags2, forced.Flags3, forced.TrafficClass = 1, uint8(roce.RCSendFirst), 0x80, 0x80, 0x80, 2
	forced.Classes[ipfix.Send] = 1
	forced.Start, forced.End, forced.EndReason = from+40*second, from+40*second, ipfix.ForcedEnd
	if diff := cmp.Diff([]ipfix.Record{forced}, m.taken()); diff != "" {
		t.Error("forced: ", diff)
	}
}

//conformance:draft-lin/flags1 draft-lin/flags2 draft-lin/flags3
func TestFlagsAreOred(t *testing.T) {
	m := newMetered(ipfix.MeterConfig{Capacity: 4, OrFlags: true})
	m.observe(packetOf(t, roce.BTH{Opcode: roce.RCSendOnly, Solicited: true, Pad: 3, TVer: 5, FECN: true, AckReq: true}, 0, 8), 1)
	m.observe(packetOf(t, roce.BTH{Opcode: roce.RCSendOnly, MigReq: true, Pad: 1, TVer: 2, BECN: true}, 0, 8), 2)
	m.Flush()
	if r := m.taken()[0]; r.Flags1 != 0xd2 || r.Flags2 != 0xc0 || r.Flags3 != 0x80 {
		t.Errorf("flags %#x %#x %#x: SE, M, FECN, BECN, A are of both, Pad and TVer of the last", r.Flags1, r.Flags2, r.Flags3)
	}
	m.observe(packetOf(t, roce.BTH{Opcode: roce.RCSendOnly}, 0, 8), 3)
	m.Flush()
	if r := m.taken()[0]; r.Flags1|r.Flags2|r.Flags3 != 0 {
		t.Errorf("flags %#x %#x %#x of the record before", r.Flags1, r.Flags2, r.Flags3)
	}
}

//conformance:draft-lin/flags1 draft-lin/flags2 draft-lin/flags3
func TestPacketRecords(t *testing.T) {
	m := newMetered(ipfix.MeterConfig{Capacity: 4, PerPacket: true})
	p := packetOf(t, roce.BTH{Opcode: roce.RCSendOnly, Solicited: true, Pad: 2, PKey: 0x8001, BECN: true, Resv6: 0x15, DestQP: 0x123456, AckReq: true, Resv7: 0x2a, PSN: 0xabcdef}, 3, 8)
	for i := range int64(100) {
		m.observe(p, 1000+i)
	}
	m.table.Expire(math.MaxInt64, 0, math.MaxInt)
	m.Flush()
	got := m.taken()
	want := ipfix.Record{
		Src: netip.MustParseAddr("10.0.0.1").As16(), Dst: netip.MustParseAddr("10.0.0.2").As16(), SrcPort: 0xc000, DestQP: 0x123456, PSN: 0xabcdef,
		PKey: 0x8001, Flags1: 0xa0, Flags2: 0x40, Flags3: 0x80,
		Ingress: 3, Egress: 4, Opcode: uint8(roce.RCSendOnly), TrafficClass: 3, Packet: true,
		Octets: 52, Packets: 1, CEOctets: 52, CEPackets: 1, Start: 1099, End: 1099,
	}
	if diff := cmp.Diff(want, got[len(got)-1]); len(got) != 100 || diff != "" {
		t.Errorf("%d records of 100 packets; %s", len(got), diff)
	}
}

func TestFullTableReportsWhatLeaves(t *testing.T) {
	m := newMetered(ipfix.MeterConfig{Capacity: 4})
	const flows = 100
	for qp := range uint32(flows) {
		m.observe(packetOf(t, roce.BTH{Opcode: roce.RCSendOnly, DestQP: qp}, 0, 0), int64(qp+1))
	}
	m.Flush()
	seen := map[uint32]int{}
	for _, r := range m.taken() {
		seen[r.DestQP]++
		if want := r.DestQP < flows-4; r.Packets != 1 || (r.EndReason == ipfix.LackOfResources) != want {
			t.Errorf("QP %d: %d packets, end reason %d", r.DestQP, r.Packets, r.EndReason)
		}
	}
	if len(seen) != flows {
		t.Errorf("%d flows reported, want %d", len(seen), flows)
	}
}

// TestClockJumps: no flow is lost or counted twice, and no record ends before it
// begins, when the clock is set forward or back.
func TestClockJumps(t *testing.T) {
	for name, jump := range map[string]int64{"forward": 3600 * second, "back": -3600 * second} {
		m := newMetered(ipfix.MeterConfig{Capacity: 4, Active: 10 * time.Second})
		p := packetOf(t, roce.BTH{Opcode: roce.RCSendOnly, DestQP: 7}, 0, 0)
		now := 10_000 * second
		for range 5 {
			m.observe(p, now)
			now += second
		}
		now += jump
		for range 5 {
			m.table.Expire(now, 15*second, math.MaxInt)
			m.observe(p, now)
			now += second
		}
		m.table.Expire(now+20*second, 15*second, math.MaxInt)
		packets := uint64(0)
		for _, r := range m.taken() {
			packets += r.Packets
			if r.Start > r.End || r.Start <= 0 {
				t.Errorf("%s: a record from %d to %d", name, r.Start, r.End)
			}
		}
		if packets != 10 {
			t.Errorf("%s: %d packets reported, want 10", name, packets)
		}
	}
}

//conformance:draft-lin/dos
func TestNothingIsAllocated(t *testing.T) {
	p := packetOf(t, roce.BTH{Opcode: roce.RCSendOnly, DestQP: 7}, 0, 0)
	w, err := ipfix.NewWriter(discard{}, ipfix.Process{})
	if err != nil {
		t.Fatal(err)
	}
	for _, perPacket := range []bool{false, true} {
		m := ipfix.NewMeter(ipfix.MeterConfig{Capacity: 4, Active: 2, PerPacket: perPacket}, w.Export)
		table := flow.NewTable(flow.Config{Capacity: 4, Removed: m.Removed})
		m.Follow(table)
		now := int64(0)
		if n := testing.AllocsPerRun(10_000, func() {
			now++
			m.Observe(p, table.Observe(p, now), 1, 2, now)
			m.Tick()
		}); n != 0 {
			t.Errorf("per packet %v: %v allocations a packet", perPacket, n)
		}
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// TestClockSetBack: a flow that lasts is reported Active after the step, not when
// the clock has come to where it was.
func TestClockSetBack(t *testing.T) {
	var got []ipfix.Record
	m := ipfix.NewMeter(ipfix.MeterConfig{Capacity: 16, Active: 10 * time.Second}, func(r []ipfix.Record) { got = append(got, r...) })
	table := flow.NewTable(flow.Config{Capacity: 16, Removed: m.Removed})
	m.Follow(table)
	p := packetOf(t, roce.BTH{Opcode: roce.RCSendOnly}, 0, 0)
	for _, at := range []int64{5000, 1000, 1005, 1010} {
		m.Observe(p, table.Observe(p, at*second), 0, 0, at*second)
	}
	m.Tick()
	if len(got) != 1 || got[0].EndReason != ipfix.ActiveTimeout || got[0].Packets != 4 || got[0].Start > got[0].End {
		t.Errorf("%+v", got)
	}
}

// TestFlowOlderThanTheMeter: its first record begins where it began.
func TestFlowOlderThanTheMeter(t *testing.T) {
	var got []ipfix.Record
	m := ipfix.NewMeter(ipfix.MeterConfig{Capacity: 16}, func(r []ipfix.Record) { got = append(got, r...) })
	table := flow.NewTable(flow.Config{Capacity: 16, Removed: m.Removed})
	m.Follow(table)
	p := packetOf(t, roce.BTH{Opcode: roce.RCSendOnly}, 0, 0)
	table.Observe(p, 1*second)
	m.Observe(p, table.Observe(p, 5*second), 0, 0, 5*second)
	m.Flush()
	if len(got) != 1 || got[0].Packets != 2 || got[0].Start != 1*second || got[0].End != 5*second {
		t.Errorf("%+v", got)
	}
}

// A record counts the packets that a receiver would refuse: TVer above 0, or an ICRC that is wrong where
// the packet was seen whole. With OmitInvalid they are in no record, and counted.
func TestMeterMarksOrOmitsInvalidPackets(t *testing.T) {
	version := func(b []byte) { b[20+8+1] |= 2 } // IPv4, UDP, TVer
	payload := func(b []byte) { b[len(b)-8] ^= 1 }
	observe := func(m *metered, change func([]byte), less int) {
		b := frameOf(t, roce.BTH{Opcode: roce.RCSendOnly, DestQP: 0x77}, 0, 64)
		change(b)
		var p roce.Packet
		if err := p.ParseIP(b[:len(b)-less], len(b)); err != nil {
			t.Fatal(err)
		}
		m.observe(&p, second)
	}
	for _, tt := range []struct {
		perPacket, omit bool
		want            []uint32 // of each record: packets, invalid ones
	}{
		{false, false, []uint32{4, 3}},
		{false, true, []uint32{1, 0}},
		{true, false, []uint32{1, 0, 1, 1, 1, 1, 1, 1}},
		{true, true, []uint32{1, 0}},
	} {
		m := newMetered(ipfix.MeterConfig{Capacity: 4, PerPacket: tt.perPacket, OmitInvalid: tt.omit})
		for _, change := range []func([]byte){func([]byte) {}, version, payload, func(b []byte) { version(b); payload(b) }} {
			observe(m, change, 0)
		}
		// Cut before its end a packet has no ICRC to judge by.
		if !tt.omit && !tt.perPacket {
			observe(m, payload, 4)
			tt.want[0]++
		}
		m.Flush()
		var got []uint32
		for _, r := range m.records {
			got = append(got, uint32(r.Packets), r.Invalid)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("per packet %t, omit %t: packets and invalid ones %v, want %v", tt.perPacket, tt.omit, got, tt.want)
		}
		if n, octets := m.Omitted(); tt.omit && (n != 3 || octets == 0) || !tt.omit && n != 0 {
			t.Errorf("per packet %t, omit %t: %d omitted, %d octets", tt.perPacket, tt.omit, n, octets)
		}
	}
}
