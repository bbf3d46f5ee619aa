// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"encoding/binary"
	"slices"
)

// be is the byte order of all numbers (RFC 7011 section 6.1.1).
var be = binary.BigEndian

// A field is a place in data records: which records have it, and how it is
// written.
type field struct {
	element Element
	with    variant // all of these
	without variant // none of these
	put     func(b []byte, r *Record) []byte
}

// Values that are equal in all flows.
const (
	udp            = 17
	rocePort       = 4791
	selectorNumber = 1 // the only selector there is
)

// fields is every field of every template, in the order of the wire.
var fields = append(slices.Concat(fixedFields, classFields()), field{rdmaInvalidPackets, invalid, 0, func(b []byte, r *Record) []byte { return be.AppendUint32(b, r.Invalid) }})

// classFields are the counts by class of opcode.
func classFields() (all []field) {
	for c := range numClasses {
		all = append(all, field{packetsOf[c], 0, packet, func(b []byte, r *Record) []byte { return be.AppendUint32(b, r.Classes[c]) }})
	}
	return all
}

// keys are the elements that identify a flow. The source queue pair of a datagram
// does, too; that of a connection is only an attribute, and both have the same
// element.
var keys = []string{
	"sourceIPv4Address", "destinationIPv4Address", "sourceIPv6Address", "destinationIPv6Address", "flowLabelIPv6",
	"protocolIdentifier", "sourceTransportPort", "destinationTransportPort",
	rdmaPartitionKey.Name, rdmaDestinationQP.Name, rdmaSourceAddress.Name, rdmaDestinationAddress.Name,
}

// fixedFields are the fields of templates that are independent of settings, in their
// order. A field is in the variants that have the first bits, and lack the second.
var fixedFields = []field{
	{ianaElement("sourceIPv4Address", 8, IPv4Address), 0, ipv6, func(b []byte, r *Record) []byte { return append(b, r.Src[12:]...) }},
	{ianaElement("destinationIPv4Address", 12, IPv4Address), 0, ipv6, func(b []byte, r *Record) []byte { return append(b, r.Dst[12:]...) }},
	{ianaElement("sourceIPv6Address", 27, IPv6Address), ipv6, 0, func(b []byte, r *Record) []byte { return append(b, r.Src[:]...) }},
	{ianaElement("destinationIPv6Address", 28, IPv6Address), ipv6, 0, func(b []byte, r *Record) []byte { return append(b, r.Dst[:]...) }},
	{ianaElement("flowLabelIPv6", 31, Unsigned32), ipv6, 0, func(b []byte, r *Record) []byte { return be.AppendUint32(b, r.FlowLabel) }},
	{ianaElement("protocolIdentifier", 4, Unsigned8), 0, 0, func(b []byte, _ *Record) []byte { return append(b, udp) }},
	{sourceTransportPort, 0, 0, func(b []byte, r *Record) []byte { return be.AppendUint16(b, r.SrcPort) }},
	{ianaElement("destinationTransportPort", 11, Unsigned16), 0, 0, func(b []byte, _ *Record) []byte { return be.AppendUint16(b, rocePort) }},
	{ianaElement("ipClassOfService", 5, Unsigned8), 0, 0, func(b []byte, r *Record) []byte { return append(b, r.TrafficClass) }},
	{ianaElement("ingressInterface", 10, Unsigned32), interfaces, 0, func(b []byte, r *Record) []byte { return be.AppendUint32(b, r.Ingress) }},
	{ianaElement("egressInterface", 14, Unsigned32), interfaces, 0, func(b []byte, r *Record) []byte { return be.AppendUint32(b, r.Egress) }},

	{rdmaOpCode, 0, 0, func(b []byte, r *Record) []byte { return append(b, r.Opcode) }},
	{rdmaPartitionKey, 0, 0, func(b []byte, r *Record) []byte { return be.AppendUint16(b, r.PKey) }},
	{rdmaDestinationQP, 0, 0, func(b []byte, r *Record) []byte { return be.AppendUint32(b, r.DestQP) }},
	{rdmaSourceQP, srcQP, 0, func(b []byte, r *Record) []byte { return be.AppendUint32(b, r.SrcQP) }},
	{rdmaSourceQPProvenance, srcQP, 0, func(b []byte, r *Record) []byte { return append(b, uint8(r.SrcQPFrom)) }},
	{rdmaSourceAddress, inside, 0, func(b []byte, r *Record) []byte { return append(b, r.SessionSrc[:]...) }},
	{rdmaDestinationAddress, inside, 0, func(b []byte, r *Record) []byte { return append(b, r.SessionDst[:]...) }},
	{rdmaPacketSequenceNumber, 0, 0, func(b []byte, r *Record) []byte { return be.AppendUint32(b, r.PSN) }},
	{rdmaBTHFlags1, 0, 0, func(b []byte, r *Record) []byte { return append(b, r.Flags1) }},
	{rdmaBTHFlags2, 0, 0, func(b []byte, r *Record) []byte { return append(b, r.Flags2) }},
	{rdmaBTHFlags3, 0, 0, func(b []byte, r *Record) []byte { return append(b, r.Flags3) }},

	{octetDeltaCount, 0, packet, func(b []byte, r *Record) []byte { return be.AppendUint64(b, r.Octets) }},
	{packetDeltaCount, 0, packet, func(b []byte, r *Record) []byte { return be.AppendUint64(b, r.Packets) }},
	{ceOctetDeltaCount, 0, packet, func(b []byte, r *Record) []byte { return be.AppendUint64(b, r.CEOctets) }},
	{cePacketDeltaCount, 0, packet, func(b []byte, r *Record) []byte { return be.AppendUint64(b, r.CEPackets) }},
	{flowStartMilliseconds, 0, packet, func(b []byte, r *Record) []byte { return appendMilliseconds(b, r.Start) }},
	{flowEndMilliseconds, 0, packet, func(b []byte, r *Record) []byte { return appendMilliseconds(b, r.End) }},
	{ianaElement("flowEndReason", 136, Unsigned8), 0, packet, func(b []byte, r *Record) []byte { return append(b, byte(r.EndReason)) }},

	{ianaElement("observationTimeMicroseconds", 324, DateTimeMicroseconds), packet, 0, func(b []byte, r *Record) []byte { return appendMicroseconds(b, r.End) }},
	{ianaElement("ipTotalLength", 224, Unsigned64), packet, 0, func(b []byte, r *Record) []byte { return be.AppendUint64(b, r.Octets) }},
	{selectorID, sampled, 0, func(b []byte, _ *Record) []byte { return be.AppendUint64(b, selectorNumber) }},

	{ianaElement("biflowDirection", 239, Unsigned8), biflow, 0, func(b []byte, _ *Record) []byte { return append(b, initiator) }},
	{reversed(sourceTransportPort), biflow, 0, func(b []byte, r *Record) []byte { return be.AppendUint16(b, r.Reverse.SrcPort) }},
	{reversed(octetDeltaCount), biflow, 0, func(b []byte, r *Record) []byte { return be.AppendUint64(b, r.Reverse.Octets) }},
	{reversed(packetDeltaCount), biflow, 0, func(b []byte, r *Record) []byte { return be.AppendUint64(b, r.Reverse.Packets) }},
	{reversed(flowStartMilliseconds), biflow, 0, func(b []byte, r *Record) []byte { return appendMilliseconds(b, r.Reverse.Start) }},
	{reversed(flowEndMilliseconds), biflow, 0, func(b []byte, r *Record) []byte { return appendMilliseconds(b, r.Reverse.End) }},
}

// Elements that several templates use, by their numbers in IANA's registry.
var (
	sourceTransportPort   = ianaElement("sourceTransportPort", 7, Unsigned16)
	octetDeltaCount       = ianaElement("octetDeltaCount", 1, Unsigned64)
	packetDeltaCount      = ianaElement("packetDeltaCount", 2, Unsigned64)
	flowStartMilliseconds = ianaElement("flowStartMilliseconds", 152, DateTimeMilliseconds)
	flowEndMilliseconds   = ianaElement("flowEndMilliseconds", 153, DateTimeMilliseconds)
	selectorID            = ianaElement("selectorId", 302, Unsigned64)
)

// initiator is the biflowDirection of a record whose forward direction is the
// one that was seen first (RFC 5103 section 6.3).
const initiator = 1

// appendMilliseconds appends a time in ns since 1970 as milliseconds (RFC 7011
// section 6.1.8), which cannot say a time before 1970; that is 0, as no time is.
func appendMilliseconds(b []byte, ns int64) []byte { return be.AppendUint64(b, milliseconds(ns)) }

// milliseconds is the value of appendMilliseconds.
func milliseconds(ns int64) uint64 { return uint64(max(ns, 0) / 1e6) }

// appendMicroseconds appends the time in NTP's format: seconds since 1900 and
// their fraction, of which the low 11 bits are 0 (RFC 7011 section 6.1.9). A time before 1970
// is 0, as no time is.
func appendMicroseconds(b []byte, ns int64) []byte {
	if ns < 0 {
		return be.AppendUint64(b, 0)
	}
	const from1900 = 2208988800
	us := uint64(ns / 1e3)
	// upwards, so that it reads back as it was
	fraction := ((us%1e6)<<32 + 1e6 - 1) / 1e6
	return be.AppendUint32(be.AppendUint32(b, uint32(us/1e6+from1900)), (uint32(fraction)+1<<11-1)&^(1<<11-1))
}

// A template is the form of records under one template id.
type template struct {
	id      uint16
	options bool
	// keys: of a flow's: which fields tell flows apart, the first one is the lowest bit
	keys       uint64
	definition []byte // its record in a template set
	// length: octets of a data record; of options those of health only
	length int
	puts   []func(b []byte, r *Record) []byte
	whole  bool // it has all fields of its variant
}

// Template ids below 256 are set ids (RFC 7011 section 3.4.1).
const (
	firstTemplate = 256
	firstOptions  = firstTemplate + numVariants

	firstHealthTemplate = firstOptions + numOptions
	lastTemplate        = firstHealthTemplate + numHealthVariants - 1
)

// templates makes the templates of all variants; short ones where messages are short.
func templates(r Registry, short bool) [numVariants]template {
	var all [numVariants]template
	for v := range variant(numVariants) {
		t := template{id: firstTemplate + uint16(v), whole: true}
		var elements []Element
		for _, f := range fields {
			if v&f.with != f.with || v&f.without != 0 {
				continue
			}
			if _, _, ok := r.ID(&f.element); !ok || short && f.element.space == own && f.element.number >= counted {
				t.whole = false
				continue
			}
			if v&packet == 0 && slices.Contains(keys, f.element.Name) {
				t.keys |= 1 << len(elements)
			}
			elements = append(elements, f.element)
			t.length += int(types[f.element.Type].length)
			t.puts = append(t.puts, f.put)
		}
		t.definition = appendSpecifiers(be.AppendUint16(be.AppendUint16(nil, t.id), uint16(len(elements))), r, elements)
		all[v] = t
	}
	return all
}

// appendSpecifiers appends field specifiers (RFC 7011 section 3.2).
func appendSpecifiers(b []byte, r Registry, elements []Element) []byte {
	for i := range elements {
		pen, id, _ := r.ID(&elements[i])
		if pen != 0 {
			id |= 1 << 15
		}
		b = be.AppendUint16(be.AppendUint16(b, id), types[elements[i].Type].length)
		if pen != 0 {
			b = be.AppendUint32(b, pen)
		}
	}
	return b
}
