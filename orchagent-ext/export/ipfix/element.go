// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"fmt"
	"slices"
)

// Type is the abstract data type of an element, with the number that RFC 5610
// section 3.1 gives it.
type Type uint8

// The types that are used here.
const (
	Unsigned8            Type = 1
	Unsigned16           Type = 2
	Unsigned32           Type = 3
	Unsigned64           Type = 4
	Float64              Type = 10
	String               Type = 13
	DateTimeMilliseconds Type = 15
	DateTimeMicroseconds Type = 16
	IPv4Address          Type = 18
	IPv6Address          Type = 19
)

// types are the abstract data types (RFC 7011 section 6.1), with their names in IANA's
// registry and the lengths in octets that Sluice exports.
var types = map[Type]struct {
	name   string
	length uint16 // octets
}{
	Unsigned8: {"unsigned8", 1}, Unsigned16: {"unsigned16", 2}, Unsigned32: {"unsigned32", 4}, Unsigned64: {"unsigned64", 8},
	Float64: {"float64", 8}, String: {"string", variable}, DateTimeMilliseconds: {"dateTimeMilliseconds", 8}, DateTimeMicroseconds: {"dateTimeMicroseconds", 8},
	IPv4Address: {"ipv4Address", 4}, IPv6Address: {"ipv6Address", 16},
}

// variable is the length of an element whose length is in each record (RFC 7011
// section 7).
const variable = 65535

// String returns the name of the type in IANA's registry. It is empty for a type that is
// not used here.
func (t Type) String() string { return types[t].name }

// Semantics is the meaning of an element's value, with the number of RFC 5610
// section 3.6.
type Semantics uint8

// The semantics that are used here.
const (
	Default      Semantics = 0
	Quantity     Semantics = 1
	TotalCounter Semantics = 2
	DeltaCounter Semantics = 3
	Identifier   Semantics = 4
	Flags        Semantics = 5
)

// String returns the name of the semantics in IANA's registry. s is one of the constants;
// another value panics.
func (s Semantics) String() string {
	return [...]string{"default", "quantity", "totalCounter", "deltaCounter", "identifier", "flags"}[s]
}

// Units of an element, RFC 5610 section 3.7.
const (
	unitsNone        = 0
	unitsOctets      = 2
	unitsPackets     = 3
	unitsNanoseconds = 8
	unitsMessages    = 10
)

// space is the authority that numbers an element.
type space uint8

const (
	iana    space = iota
	reverse       // RFC 5103: IANA's number, under the PEN for reverse elements
	draft         // draft-lin: an offset from the first element of the registry
	own           // as draft, but not for IANA to number
)

// An Element is an information element.
type Element struct {
	// Name is that in IANA's registry, or of the draft.
	Name string
	// Type is the abstract data type (RFC 7011 section 6.1).
	Type Type
	// Semantics is the data type's semantics (RFC 5610 section 3.6).
	Semantics   Semantics
	Description string // of those that collectors do not know

	space  space
	number uint16 // of IANA, or offset
	units  uint16
}

// ReversePEN is the enterprise number of reverse elements (RFC 5103 section 6.1).
const ReversePEN = 29305

// The elements. Those of draft-lin come first, in its order, then Sluice's.
var (
	rdmaOpCode               = Element{Name: "rdmaOpCode", Type: Unsigned8, Semantics: Identifier, Description: "RoCEv2 BTH opcode", space: draft, number: 0}
	rdmaPartitionKey         = Element{Name: "rdmaPartitionKey", Type: Unsigned16, Semantics: Identifier, Description: "RoCEv2 BTH partition key", space: draft, number: 1}
	rdmaDestinationQP        = Element{Name: "rdmaDestinationQP", Type: Unsigned32, Semantics: Identifier, Description: "RoCEv2 BTH destination queue pair, 24 bits", space: draft, number: 2}
	rdmaSourceQP             = Element{Name: "rdmaSourceQP", Type: Unsigned32, Semantics: Identifier, Description: "RoCEv2 source queue pair, 24 bits", space: draft, number: 3}
	rdmaPacketSequenceNumber = Element{Name: "rdmaPacketSequenceNumber", Type: Unsigned32, Semantics: Default, Description: "RoCEv2 BTH packet sequence number, 24 bits", space: draft, number: 4}
	rdmaBTHFlags1            = Element{Name: "rdmaBTHFlags1", Type: Unsigned8, Semantics: Default, Description: "RoCEv2 BTH SE, M, Pad, TVer", space: draft, number: 5}
	rdmaBTHFlags2            = Element{Name: "rdmaBTHFlags2", Type: Unsigned8, Semantics: Flags, Description: "RoCEv2 BTH FECN, BECN", space: draft, number: 6}
	rdmaBTHFlags3            = Element{Name: "rdmaBTHFlags3", Type: Unsigned8, Semantics: Flags, Description: "RoCEv2 BTH acknowledge request", space: draft, number: 7}
	ceOctetDeltaCount        = Element{Name: "ceOctetDeltaCount", Type: Unsigned64, Semantics: DeltaCounter, Description: "octets of packets with ECN CE", space: own, number: 8, units: unitsOctets}
	cePacketDeltaCount       = Element{Name: "cePacketDeltaCount", Type: Unsigned64, Semantics: DeltaCounter, Description: "packets with ECN CE", space: own, number: 9, units: unitsPackets}
	rdmaSourceQPProvenance   = Element{Name: "rdmaSourceQPProvenance", Type: Unsigned8, Semantics: Identifier, Description: "how rdmaSourceQP is known: 1 DETH, 2 RDMA-CM, 3 answers", space: own, number: 10}
	rdmaSourceAddress        = Element{Name: "rdmaSourceAddress", Type: IPv6Address, Semantics: Default, Description: "source address of the RDMA session in a tunnel, IPv4 as ::ffff:a.b.c.d", space: own, number: 11}
	rdmaDestinationAddress   = Element{Name: "rdmaDestinationAddress", Type: IPv6Address, Semantics: Default, Description: "final destination address of the RDMA session, IPv4 as ::ffff:a.b.c.d", space: own, number: 12}
)

// firstLater is the offset of the first element that came after those of health.
const firstLater = 40

// rdmaInvalidPackets counts packets that [roce.Packet.Valid] refuses.
var rdmaInvalidPackets = Element{
	Name: "rdmaInvalidPacketDeltaCount", Type: Unsigned32, Semantics: DeltaCounter,
	Description: "packets of another transport header version than 0, or with a wrong ICRC where they were seen whole",
	space:       own, number: firstLater, units: unitsPackets,
}

// packetsOf are the elements that count packets by the class of their opcode.
var packetsOf = func() (all [numClasses]Element) {
	for c := range all {
		all[c] = Element{
			Name: classes[c].element, Type: Unsigned32, Semantics: DeltaCounter, Description: "packets: " + classes[c].what,
			space: own, number: uint16(13 + c), units: unitsPackets,
		}
	}
	return all
}()

// RDMA is the elements that collectors have to learn: the eight of draft-lin in
// its order, then Sluice's own.
//
//conformance:draft-lin/opcode draft-lin/pkey draft-lin/dest-qp draft-lin/src-qp draft-lin/psn
var RDMA = func() []*Element {
	all := []*Element{
		&rdmaOpCode, &rdmaPartitionKey, &rdmaDestinationQP, &rdmaSourceQP,
		&rdmaPacketSequenceNumber, &rdmaBTHFlags1, &rdmaBTHFlags2, &rdmaBTHFlags3,
		&ceOctetDeltaCount, &cePacketDeltaCount, &rdmaSourceQPProvenance, &rdmaSourceAddress, &rdmaDestinationAddress,
	}
	for c := range packetsOf {
		all = append(all, &packetsOf[c])
	}
	return append(all, &rdmaInvalidPackets)
}()

// drafted is how many of RDMA draft-lin defines.
const drafted = 8

// ianaElement returns an element of IANA's registry, with the semantics
// identifier or the default of its type.
func ianaElement(name string, number uint16, t Type) Element {
	return Element{Name: name, Type: t, space: iana, number: number}
}

// reversed is the element of the other direction (RFC 5103 section 6).
func reversed(e Element) Element {
	e.space = reverse
	e.Name = "reverse" + string(e.Name[0]-'a'+'A') + e.Name[1:]
	return e
}

// Registry numbers the elements of [RDMA].
type Registry struct {
	// PEN: private enterprise number; 0: IANA has assigned the eight of draft-lin
	PEN uint32
	// First: with an enterprise number: that of rdmaOpCode; the others follow
	First uint16

	// IDs are the numbers that IANA assigned to the eight elements, in the
	// draft's order, with PEN 0. IANA assigns numbers one by one: they may have
	// gaps.
	IDs [drafted]uint16
}

// DocumentationPEN is the enterprise number for examples (RFC 5612). It is the
// default, since IANA has yet to number the elements, and must not be used
// between organizations.
const DocumentationPEN = 32473

// DefaultRegistry is the registry until IANA assigns numbers.
var DefaultRegistry = Registry{PEN: DocumentationPEN, First: 1}

// Warning returns the reason why the registry is fit for a laboratory only; ""
// for a registry that is fit for production.
func (r Registry) Warning() string {
	if r.PEN != DocumentationPEN {
		return ""
	}
	return "enterprise number 32473 is for documentation (RFC 5612): set your own, or 0 and the element ids that IANA assigned"
}

// maxElement is the largest number of an element: the bit above it means that an
// enterprise number follows (RFC 7011 section 3.2).
const maxElement = 1<<15 - 1

// LastOfOthers is the last number that IANA's registry of 2026 assigns to another
// element: those of draft-lin will be above it.
const LastOfOthers = 533

// MaxFirst is the largest Registry.First: draft-lin's elements and the first two of
// Sluice's follow it.
const MaxFirst = maxElement + 1 - counted

// counted is how many elements follow Registry.First, whatever it is.
const counted = 10

// Check returns an error with the number that is wrong and the range that is
// allowed; nil for a valid registry.
func (r Registry) Check() error {
	if r.PEN != 0 {
		if r.IDs != [drafted]uint16{} {
			return fmt.Errorf("element ids %v: they are those that IANA assigned, and go with enterprise number 0; with %d the first element id says them all", r.IDs, r.PEN)
		}
		if r.First < 1 || r.First > MaxFirst {
			return fmt.Errorf("first element id %d: 1 to %d are allowed, since the elements follow one another", r.First, MaxFirst)
		}
		return nil
	}
	if r.First != 0 {
		return fmt.Errorf("first element id %d: with enterprise number 0 nothing is counted up from it; give the ids that IANA assigned one by one (element_ids, --element-ids)", r.First)
	}
	for i, id := range r.IDs {
		if id <= LastOfOthers || id > maxElement {
			return fmt.Errorf("element id %d of %s: with enterprise number 0 give the eight ids that IANA assigned, in draft-lin's order (element_ids, --element-ids), each %d to %d: IANA has given those below to other elements", id, RDMA[i].Name, LastOfOthers+1, maxElement)
		}
		if at := slices.Index(r.IDs[:i], id); at >= 0 {
			return fmt.Errorf("element id %d is given to %s and to %s", id, RDMA[at].Name, RDMA[i].Name)
		}
	}
	return nil
}

// ID returns the enterprise number of an element, 0 for IANA's, and its number.
// ok is false for an element that lacks a number: with PEN 0 Sluice's own
// elements.
//
//conformance:draft-lin/iana
func (r Registry) ID(e *Element) (pen uint32, id uint16, ok bool) {
	switch e.space {
	case iana:
		return 0, e.number, true
	case reverse:
		return ReversePEN, e.number, true
	}
	if r.PEN == 0 {
		if e.space == own {
			return 0, 0, false
		}
		return 0, r.IDs[e.number], true
	}
	last := firstHealth - 1 // of those that go together
	switch {
	case e.number >= firstLater:
		last = firstLater
	case e.number >= firstHealth:
		last += len(HealthElements)
	}
	// no room above: they go below
	if e.number >= counted && int(r.First)+last > maxElement {
		return r.PEN, r.First - 1 - (e.number - counted), true
	}
	return r.PEN, r.First + e.number, true
}
