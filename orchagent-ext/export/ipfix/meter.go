// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"cmp"
	"time"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/roce"
)

// MeterConfig of a [Meter].
type MeterConfig struct {
	Capacity   int           // flows, as of the flow table
	Active     time.Duration // a flow that lasts so long is reported; 0: 60 s
	PerPacket, // a record of each packet, none of flows
	OrFlags bool // flags of all packets OR-ed, not of the last one
	// packets that a receiver would refuse (see [roce.Packet.Valid]) are left out of records, in which
	// they are counted otherwise
	OmitInvalid bool
}

// account is a meter's state of a flow beside the flow table. It is one cache
// line; the counts by class are in a slice of their own.
type account struct {
	packets, octets uint64 // of the flow, at its last record
	start, end      int64  // earliest and latest time of a packet since, or 0
	ceOctets        uint64
	cePackets       uint32
	psn             uint32
	ingress, egress uint32
	opcode          uint8
	flags           [3]uint8
	trafficClass    uint8
}

// Meter makes records of the flows in a table. It belongs to the goroutine that
// the table belongs to; it neither waits nor allocates. The caller passes each
// packet to both:
//
//	meter := ipfix.NewMeter(config, exporter.Export)
//	table := flow.NewTable(flow.Config{Removed: meter.Removed})
//	meter.Follow(table)
//
// A flow's record counts from the record before on (delta counters). It is made
// when the flow leaves the table, and with its first packet that is Active after
// the first one counted. Elements of one packet (opcode, PSN, flags, traffic
// class, interfaces) are those of the last packet. Addresses, flow label, traffic
// class and octets are those of the outermost IP header as it was seen; where
// another header carries UDP, the addresses of the session are elements beside
// them.
type Meter struct {
	config   MeterConfig
	table    *flow.Table
	accounts []account
	classes  []counts
	batch    []Record
	export   func([]Record)
	omitted  uint64 // packets since the last call of Omitted
	octets   uint64 // of those
}

// counts are the packets of a flow by class, and of none, since the last record; and at invalidAt those that
// a receiver would refuse.
type counts [numClasses + 2]uint32

const invalidAt = numClasses + 1

// Defaults of a Meter, and the number of records that it passes on at once.
const (
	defaultActive   = time.Minute
	defaultCapacity = 65536
	batchSize       = 64
)

// NewMeter returns a meter that hands its records to export, in batches that are
// valid during the call.
func NewMeter(c MeterConfig, export func([]Record)) *Meter {
	if c.Active == 0 {
		c.Active = defaultActive
	}
	if c.Capacity == 0 {
		c.Capacity = defaultCapacity
	}
	m := &Meter{config: c, batch: make([]Record, 0, batchSize), export: export}
	if !c.PerPacket {
		m.accounts = make([]account, c.Capacity)
		m.classes = make([]counts, c.Capacity)
	}
	return m
}

// Follow sets the table whose flows are accounted for: of MeterConfig.Capacity. It is
// called once, before Observe, Skip and Flush: the slot of a flow is the index of its
// account.
func (m *Meter) Follow(t *flow.Table) { m.table = t }

// Observe accounts for a packet of a flow that the table has just observed, at
// time now (ns since 1970, or flow.NoTime). ingress and egress are interface indexes, 0 where
// they are not known.
func (m *Meter) Observe(p *roce.Packet, f *flow.Flow, ingress, egress uint32, now int64) {
	valid := p.Valid()
	if !valid && m.config.OmitInvalid {
		m.omitted++
		m.octets += uint64(p.Len())
		m.Skip(p, f)
		return
	}
	if m.config.PerPacket {
		m.packet(p, f, ingress, egress, now, valid)
		return
	}
	a := &m.accounts[f.Slot()]
	timed := now != flow.NoTime
	if timed && (a.start == 0 || a.start > now) { // or the clock was set back
		a.start = now
	}
	if timed && (a.end == 0 || a.end < now) {
		a.end = now
	}
	a.observe(p, m.config.OrFlags)
	m.classes[f.Slot()][classOf[a.opcode]]++
	if !valid {
		m.classes[f.Slot()][invalidAt]++
	}
	a.ingress, a.egress = ingress, egress
	if timed && now-a.start >= int64(m.config.Active) {
		m.report(f, a, ActiveTimeout)
	}
}

// Skip leaves a packet, that the table has just observed, out of its flow's
// records: it was seen, but lies outside of the sample.
func (m *Meter) Skip(p *roce.Packet, f *flow.Flow) {
	if m.config.PerPacket {
		return
	}
	a := &m.accounts[f.Slot()]
	a.packets++
	a.octets += uint64(p.Len())
}

// Omitted returns the packets and their octets that were left out as invalid since the last call.
func (m *Meter) Omitted() (packets, octets uint64) {
	packets, octets = m.omitted, m.octets
	m.omitted, m.octets = 0, 0
	return packets, octets
}

// Offsets into the base transport header in octets, and masks of the flags there.
const (
	flags1At, flags2At, flags3At = 1, 4, 8
	flags1Or                     = 0xc0 // SE, M; Pad and TVer are numbers
	flags2Mask                   = 0xc0 // FECN, BECN
	flags3Mask                   = 0x80 // acknowledge request
)

// ecnMask has the two ECN bits of the traffic class, which are both set in CE (RFC 3168
// section 5).
const ecnMask, ecnCE = 3, 3

//conformance:draft-lin/flags1 draft-lin/flags2 draft-lin/flags3
func (a *account) observe(p *roce.Packet, or bool) {
	b := p.BTHBytes()
	flags := [3]uint8{b[flags1At], b[flags2At] & flags2Mask, b[flags3At] & flags3Mask}
	if or {
		flags[0] |= a.flags[0] & flags1Or
		flags[1] |= a.flags[1]
		flags[2] |= a.flags[2]
	}
	a.flags, a.opcode, a.psn, a.trafficClass = flags, uint8(p.Opcode()), p.PSN(), p.TrafficClass()
	if a.trafficClass&ecnMask == ecnCE {
		a.cePackets++
		a.ceOctets += uint64(p.Len())
	}
}

// Removed is for [flow.Config]: it reports a flow that leaves the table. The slot is free
// for another flow then, so its account is cleared.
func (m *Meter) Removed(f *flow.Flow, why flow.Reason) {
	if m.config.PerPacket {
		return
	}
	reason := IdleTimeout
	if why == flow.Evicted {
		reason = LackOfResources
	}
	a := &m.accounts[f.Slot()]
	m.report(f, a, reason)
	*a = account{}
	m.classes[f.Slot()] = counts{}
}

// Flush reports every flow that had packets since its last record, as when the
// exporter ends, and hands all records over.
func (m *Meter) Flush() {
	if !m.config.PerPacket {
		for f := range m.table.All() {
			m.report(f, &m.accounts[f.Slot()], ForcedEnd)
		}
	}
	m.Tick()
}

// Tick exports the batch of records: call it after each burst of packets, and
// when a receive timed out.
func (m *Meter) Tick() {
	if len(m.batch) > 0 {
		m.export(m.batch)
		m.batch = m.batch[:0]
	}
}

// report adds the record of a flow's packets since its record before, if it had
// any.
func (m *Meter) report(f *flow.Flow, a *account, why EndReason) {
	if f.Packets == a.packets {
		return
	}
	start, end := cmp.Or(a.start, f.Last), cmp.Or(a.end, f.Last)
	// nothing was reported; the flow may be older than the account
	if a.packets == 0 {
		start = f.First
	}
	r := m.record(f, a)
	r.EndReason = why
	r.Octets, r.Packets = f.Bytes-a.octets, f.Packets-a.packets
	r.Start, r.End = min(start, end), end
	c := &m.classes[f.Slot()]
	r.Classes, r.Invalid = [numClasses]uint32(c[:numClasses]), c[invalidAt]
	*c = counts{}
	*a = account{packets: f.Packets, octets: f.Bytes}
}

// packet adds the record of a single packet.
func (m *Meter) packet(p *roce.Packet, f *flow.Flow, ingress, egress uint32, now int64, valid bool) {
	a := account{ingress: ingress, egress: egress}
	a.observe(p, false)
	r := m.record(f, &a)
	r.Packet = true
	r.Octets, r.Packets = uint64(p.Len()), 1
	if !valid {
		r.Invalid = 1
	}
	r.Start, r.End = now, now
}

// record begins the next record of the batch, with the elements that flow and
// packet records share.
func (m *Meter) record(f *flow.Flow, a *account) *Record {
	if len(m.batch) == cap(m.batch) {
		m.Tick()
	}
	m.batch = m.batch[:len(m.batch)+1]
	r := &m.batch[len(m.batch)-1]
	qp, from := m.table.SrcQP(f)
	*r = Record{
		Src: f.Src, Dst: f.Dst, FlowLabel: f.FlowLabel, DestQP: f.DestQP, SrcQP: qp, SrcQPFrom: from, SrcPort: f.SrcPort, PKey: f.PKey,
		PSN: a.psn, Opcode: a.opcode, Flags1: a.flags[0], Flags2: a.flags[1], Flags3: a.flags[2], TrafficClass: a.trafficClass,
		Ingress: a.ingress, Egress: a.egress, CEOctets: a.ceOctets, CEPackets: uint64(a.cePackets),
	}
	if f.InnerDst != [16]byte{} {
		r.Elsewhere = true
		r.SessionSrc, r.SessionDst = f.Session()
	}
	return r
}
