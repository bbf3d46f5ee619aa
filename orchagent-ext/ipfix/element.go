// SPDX-License-Identifier: Apache-2.0

package ipfix

import "fmt"

// Type is the abstract data type of an element, with the number that RFC 5610
// section 3.1 gives it.
type Type uint8

// The types that are used here.
const (
	Unsigned8            Type = 1
	Unsigned16           Type = 2
	Unsigned32           Type = 3
	Unsigned64           Type = 4
	String               Type = 13
	DateTimeMilliseconds Type = 15
	DateTimeMicroseconds Type = 16
	IPv4Address          Type = 18
	IPv6Address          Type = 19
)

var types = map[Type]struct {
	name   string
	length uint16 // octets
}{
	Unsigned8: {"unsigned8", 1}, Unsigned16: {"unsigned16", 2}, Unsigned32: {"unsigned32", 4}, Unsigned64: {"unsigned64", 8},
	String: {"string", variable}, DateTimeMilliseconds: {"dateTimeMilliseconds", 8}, DateTimeMicroseconds: {"dateTimeMicroseconds", 8},
	IPv4Address: {"ipv4Address", 4}, IPv6Address: {"ipv6Address", 16},
}

// variable is the length of an element that says its length in each record.
const variable = 65535

func (t Type) String() string { return types[t].name }

// Semantics is what the value of an element is, with the number that RFC 5610
// section 3.6 gives it.
type Semantics uint8

// The semantics that are used here.
const (
	Default      Semantics = 0
	TotalCounter Semantics = 2
	DeltaCounter Semantics = 3
	Identifier   Semantics = 4
	Flags        Semantics = 5
)

func (s Semantics) String() string {
	return [...]string{"default", "quantity", "totalCounter", "deltaCounter", "identifier", "flags"}[s]
}

// Units of an element, RFC 5610 section 3.7.
const (
	unitsNone    = 0
	unitsOctets  = 2
	unitsPackets = 3
)

// space says who numbers an element.
type space uint8

const (
	iana    space = iota
	reverse       // RFC 5103: IANA's number, under the PEN for reverse elements
	draft         // draft-lin: an offset from the first element of the registry
	own           // as draft, but not for IANA to number
)

// An Element is an information element.
type Element struct {
	Name        string
	Type        Type
	Semantics   Semantics
	Description string // of those that collectors do not know

	space  space
	number uint16 // of IANA, or offset
	units  uint16
}

// ReversePEN is the enterprise number of reverse elements (RFC 5103 section 6.1).
const ReversePEN = 29305

// The elements. Those of draft-lin come first, in its order, then ours.
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
)

// RDMA is the elements that collectors do not know: the eight of draft-lin in
// its order, then two of our own.
//
//conformance:draft-lin/opcode draft-lin/pkey draft-lin/dest-qp draft-lin/src-qp draft-lin/psn
var RDMA = []*Element{
	&rdmaOpCode, &rdmaPartitionKey, &rdmaDestinationQP, &rdmaSourceQP,
	&rdmaPacketSequenceNumber, &rdmaBTHFlags1, &rdmaBTHFlags2, &rdmaBTHFlags3,
	&ceOctetDeltaCount, &cePacketDeltaCount,
}

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
	PEN   uint32 // private enterprise number; 0: IANA has assigned the eight of draft-lin
	First uint16 // number of rdmaOpCode; the others follow
}

// DocumentationPEN is the enterprise number for examples (RFC 5612). It is the
// default, since the elements have no number of their own yet, and must not be
// used between organizations.
const DocumentationPEN = 32473

// DefaultRegistry is what is used until IANA assigns numbers.
var DefaultRegistry = Registry{PEN: DocumentationPEN, First: 1}

// Warning says what is wrong with the registry outside a laboratory; "" for
// nothing.
func (r Registry) Warning() string {
	if r.PEN != DocumentationPEN {
		return ""
	}
	return "enterprise number 32473 is for documentation (RFC 5612): set your own, or 0 and the element ids that IANA assigned"
}

// maxElement is the largest number of an element: the bit above says that an
// enterprise number follows.
const maxElement = 1<<15 - 1

// lastOfOthers is the last of the numbers that IANA has given to other elements
// (RFC 9487): with them and no enterprise number, an opcode would be read as
// octetDeltaCount.
const lastOfOthers = 502

func (r Registry) check() error {
	if r.PEN == 0 && r.First <= lastOfOthers {
		return fmt.Errorf("first element id %d: without an enterprise number it is one that IANA assigned to rdmaOpCode, and 1 to %d are other elements", r.First, lastOfOthers)
	}
	if last := maxElement + 1 - len(RDMA); r.First < 1 || int(r.First) > last {
		return fmt.Errorf("first element id %d: 1 to %d are allowed, since %d elements follow one another", r.First, last, len(RDMA))
	}
	return nil
}

// ID is the enterprise number of an element, 0 for IANA's, and its number. ok is
// false for what has none: with PEN 0 our own elements, which IANA does not know.
//
//conformance:draft-lin/iana
func (r Registry) ID(e *Element) (pen uint32, id uint16, ok bool) {
	switch e.space {
	case iana:
		return 0, e.number, true
	case reverse:
		return ReversePEN, e.number, true
	default:
		return r.PEN, r.First + e.number, e.space == draft || r.PEN != 0
	}
}
