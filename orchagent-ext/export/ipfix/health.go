// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"time"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/flows/health"
	"sluice/orchagent-ext/wire/roce"
)

// Health is how one direction of a connection fares since its first packet. It goes out as
// an options record, whose scope is the session.
type Health struct {
	src, dst      [16]byte // of the session; IPv4 as ::ffff:a.b.c.d
	destQP, srcQP uint32
	point         uint32 // where packets pass
	variant       healthVariant
	figures       [numFigures]uint64 // as of figures
}

// healthVariant identifies an options template of health by the groups of figures
// in its records.
type healthVariant uint8

const (
	// healthSrcQP: the source queue pair is known
	healthSrcQP healthVariant = 1 << iota
	// healthPoint: packets are seen at several places
	healthPoint
	// healthWhole: every packet came: what PSNs say
	healthWhole
	healthTimed // and its time is known: pauses
	// healthRTT: and acknowledgements came: times to them
	healthRTT
	numHealthVariants = 1 << iota
)

// figure is a value of a health record.
type figure struct {
	element Element
	with    healthVariant // only such records have it
	of      func(d *health.Direction) uint64
}

// healthElement is an element of Sluice's own that only health records have.
func healthElement(number uint16, name string, s Semantics, units uint16, description string) Element {
	return Element{Name: name, Type: Unsigned64, Semantics: s, Description: description, space: own, number: number, units: units}
}

const (
	numFigures  = 24
	firstHealth = 20 // offset of the first element of health
)

// figures are the values of health records, in the order of the wire. Those that
// can decrease have the semantics quantity: a packet that was lost may still
// come.
var figures = [numFigures]figure{
	{flowStartMilliseconds, 0, func(d *health.Direction) uint64 { return milliseconds(d.First) }},
	{flowEndMilliseconds, 0, func(d *health.Direction) uint64 { return milliseconds(d.End()) }},
	{ianaElement("packetTotalCount", 86, Unsigned64), 0, func(d *health.Direction) uint64 { return d.Packets }},
	{ianaElement("octetTotalCount", 85, Unsigned64), 0, func(d *health.Direction) uint64 { return d.Octets }},
	{healthElement(20, "cePacketTotalCount", TotalCounter, unitsPackets, "packets with ECN CE"), 0, func(d *health.Direction) uint64 { return d.CE }},
	{healthElement(21, "rdmaAcknowledgeTotalCount", TotalCounter, unitsPackets, "positive acknowledgements sent"), 0, func(d *health.Direction) uint64 { return d.Acks }},
	{healthElement(22, "rdmaNotificationTotalCount", TotalCounter, unitsPackets, "CNPs sent"), 0, func(d *health.Direction) uint64 { return d.CNPs }},
	{healthElement(23, "rdmaReceiverNotReadyTotalCount", TotalCounter, unitsPackets, "NAKs sent: receiver not ready"), 0, func(d *health.Direction) uint64 { return d.NAKs[roce.NAKRNR] }},
	{healthElement(24, "rdmaSequenceErrorTotalCount", TotalCounter, unitsPackets, "NAKs sent: a PSN is missing"), 0, func(d *health.Direction) uint64 { return d.NAKs[roce.NAKSequence] }},
	{healthElement(25, "rdmaAccessErrorTotalCount", TotalCounter, unitsPackets, "NAKs sent: the R_Key does not allow it"), 0, func(d *health.Direction) uint64 { return d.NAKs[roce.NAKAccess] }},
	{healthElement(26, "rdmaOtherErrorTotalCount", TotalCounter, unitsPackets, "NAKs sent: other reasons"), 0, func(d *health.Direction) uint64 {
		return d.NAKed() - d.NAKs[roce.NAKRNR] - d.NAKs[roce.NAKSequence] - d.NAKs[roce.NAKAccess]
	}},

	{healthElement(27, "rdmaPayloadOctetTotalCount", TotalCounter, unitsOctets, "octets of the application, each PSN once"), healthWhole, func(d *health.Direction) uint64 { return d.Payload }},
	{healthElement(28, "rdmaGapTotalCount", TotalCounter, unitsNone, "how often PSNs were missing"), healthWhole, func(d *health.Direction) uint64 { return d.Gaps }},
	{healthElement(29, "rdmaMissingPacketTotalCount", TotalCounter, unitsPackets, "PSNs that were missing"), healthWhole, func(d *health.Direction) uint64 { return d.Missing }},
	{healthElement(30, "rdmaLostPacketCount", Quantity, unitsPackets, "missing PSNs that have not come"), healthWhole, func(d *health.Direction) uint64 { return d.Lost() }},
	{healthElement(31, "rdmaReorderedPacketCount", Quantity, unitsPackets, "missing PSNs that came late"), healthWhole, func(d *health.Direction) uint64 { return d.Reordered }},
	{healthElement(32, "rdmaRecoveredPacketTotalCount", TotalCounter, unitsPackets, "missing PSNs that were sent again"), healthWhole, func(d *health.Direction) uint64 { return d.Recovered }},
	{healthElement(33, "rdmaDuplicatePacketTotalCount", TotalCounter, unitsPackets, "packets that were here before"), healthWhole, func(d *health.Direction) uint64 { return d.Duplicates }},
	{healthElement(34, "rdmaRetransmittedOctetTotalCount", TotalCounter, unitsOctets, "octets of the application sent again"), healthWhole, func(d *health.Direction) uint64 { return d.Retransmitted }},
	{healthElement(35, "rdmaMessageTotalCount", TotalCounter, unitsMessages, "messages sent that were seen whole"), healthWhole, func(d *health.Direction) uint64 {
		if sizes := d.Sizes(); sizes != nil {
			return sizes.Count
		}
		return 0
	}},

	{healthElement(36, "rdmaStallTotalCount", TotalCounter, unitsNone, "pauses while something was to be sent"), healthTimed, func(d *health.Direction) uint64 { return d.Stalls }},
	{healthElement(37, "rdmaStallTotalNanoseconds", TotalCounter, unitsNanoseconds, "time of these pauses"), healthTimed, func(d *health.Direction) uint64 { return uint64(d.Stalled) }},
	{healthElement(38, "rdmaRoundTripMedianNanoseconds", Quantity, unitsNanoseconds, "request to acknowledgement, median"), healthRTT, func(d *health.Direction) uint64 { return d.RTT().Quantile(0.5) }},
	{healthElement(39, "rdmaRoundTripP99Nanoseconds", Quantity, unitsNanoseconds, "request to acknowledgement, 99 of 100"), healthRTT, func(d *health.Direction) uint64 { return d.RTT().Quantile(0.99) }},
}

// HealthElements is the elements that only health records have. They follow [RDMA].
var HealthElements = func() (all []*Element) {
	for i := range figures {
		if e := &figures[i].element; e.space == own {
			all = append(all, e)
		}
	}
	return all
}()

// healthScope is the scope of health records.
var healthScope = []struct {
	element Element
	with    healthVariant
	put     func(b []byte, h *Health) []byte
}{
	{rdmaSourceAddress, 0, func(b []byte, h *Health) []byte { return append(b, h.src[:]...) }},
	{rdmaDestinationAddress, 0, func(b []byte, h *Health) []byte { return append(b, h.dst[:]...) }},
	{rdmaDestinationQP, 0, func(b []byte, h *Health) []byte { return be.AppendUint32(b, h.destQP) }},
	{rdmaSourceQP, healthSrcQP, func(b []byte, h *Health) []byte { return be.AppendUint32(b, h.srcQP) }},
	{ianaElement("observationPointId", 138, Unsigned64), healthPoint, func(b []byte, h *Health) []byte { return be.AppendUint64(b, uint64(h.point)) }},
}

// healthTemplates makes the options templates of all variants.
func healthTemplates(r Registry) []template {
	all := make([]template, numHealthVariants)
	for v := range healthVariant(numHealthVariants) {
		t := template{id: firstHealthTemplate + uint16(v), options: true}
		var elements []Element
		for _, s := range healthScope {
			if v&s.with == s.with {
				elements = append(elements, s.element)
			}
		}
		scope := len(elements)
		for _, f := range figures {
			if v&f.with == f.with {
				elements = append(elements, f.element)
			}
		}
		for _, e := range elements {
			t.length += int(types[e.Type].length)
		}
		b := be.AppendUint16(be.AppendUint16(nil, t.id), uint16(len(elements)))
		t.definition = appendSpecifiers(be.AppendUint16(b, uint16(scope)), r, elements)
		all[v] = t
	}
	return all
}

// append appends the record as the template of a variant has it.
func (h *Health) append(b []byte, v healthVariant) []byte {
	for _, s := range healthScope {
		if v&s.with == s.with {
			b = s.put(b, h)
		}
	}
	for i := range figures {
		if with := figures[i].with; v&with == with {
			b = be.AppendUint64(b, h.figures[i])
		}
	}
	return b
}

// HealthConfig of a [HealthMeter].
type HealthConfig struct {
	Active time.Duration // a direction that lasts so long is reported; 0: 60 s
	// Whole: every packet comes to the table, and not one of so many
	Whole bool
	Timed bool // the time of a packet is when it came
}

// HealthMeter makes records of the directions in a [health.Table]: of each that
// had packets, once in Active, when it leaves the table, and at the end. It
// belongs to the goroutine that the table belongs to; it neither waits nor
// allocates:
//
//	meter := ipfix.NewHealthMeter(config, exporter.ExportHealth)
//	table := health.NewTable(health.Config{Removed: meter.Removed})
//	meter.Follow(table)
//
// Figures are totals since the direction's first packet, so that records can be
// lost or repeated on their way to a collector.
type HealthMeter struct {
	active  int64
	variant healthVariant // of every record
	table   *health.Table
	batch   []Health
	export  func([]Health)

	// began: when the last round through the table began, ns; 0: there was none
	began    int64
	reported int64 // ns; packets seen before this time are in records
	next     int   // in the table, of the round; -1: it has ended
}

// NewHealthMeter returns a meter that hands its records to export, in batches that are valid
// during the call.
func NewHealthMeter(c HealthConfig, export func([]Health)) *HealthMeter {
	if c.Active == 0 {
		c.Active = defaultActive
	}
	m := &HealthMeter{active: int64(c.Active), batch: make([]Health, 0, batchSize), export: export, next: -1}
	if c.Whole {
		m.variant |= healthWhole
		if c.Timed {
			m.variant |= healthTimed
		}
	}
	return m
}

// Follow sets the table whose directions are reported. It is called once, before Tick and
// Flush.
func (m *HealthMeter) Follow(t *health.Table) { m.table = t }

// Tick reports up to budget directions, where it is time to, at time now (ns since 1970).
// A round through the table begins once in Active and takes several calls, so that a
// large table holds up packets for budget directions at most. A clock that is set back
// begins the wait for the next round again.
func (m *HealthMeter) Tick(now int64, budget int) {
	if m.began == 0 || now < m.began { // or the clock was set back
		m.began, m.reported, m.next = now, min(m.reported, now), -1
	}
	if m.next < 0 {
		if now-m.began < m.active {
			return
		}
		m.began, m.next = now, 0
	}
	for range budget {
		d := m.table.At(m.next)
		if d == nil {
			m.reported, m.next = m.began, -1
			break
		}
		m.next++
		m.Removed(d)
	}
	m.hand()
}

// Removed is for [health.Config]: it reports a direction that leaves the table, where it
// had packets since it was reported.
func (m *HealthMeter) Removed(d *health.Direction) {
	if d.End() < m.reported && d.Last != flow.NoTime {
		return
	}
	if len(m.batch) == cap(m.batch) {
		m.hand()
	}
	m.batch = m.batch[:len(m.batch)+1]
	h := &m.batch[len(m.batch)-1]
	*h = Health{src: d.Src, dst: d.Dst, destQP: d.DestQP, point: d.Point, variant: m.variant}
	if d.From != flow.None {
		h.variant |= healthSrcQP
		h.srcQP = d.Source
	}
	if d.Point != 0 {
		h.variant |= healthPoint
	}
	if m.variant&healthTimed != 0 && d.RTT() != nil {
		h.variant |= healthRTT
	}
	for i := range figures {
		if f := &figures[i]; h.variant&f.with == f.with {
			h.figures[i] = f.of(d)
		}
	}
}

// Flush reports every direction that had packets since it was reported. It takes as long
// as the table is large, and is for the end.
func (m *HealthMeter) Flush() {
	for d := range m.table.All() {
		m.Removed(d)
	}
	m.hand()
}

// hand exports the batch and empties it.
func (m *HealthMeter) hand() {
	if len(m.batch) > 0 {
		m.export(m.batch)
		m.batch = m.batch[:0]
	}
}
