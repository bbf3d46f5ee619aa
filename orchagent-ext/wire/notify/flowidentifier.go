// SPDX-License-Identifier: Apache-2.0

package notify

import "encoding/binary"

// FlowForm is how closely a [FlowIdentifier] identifies the flow.
type FlowForm uint8

// The forms.
const (
	AllFlows FlowForm = iota // every flow between source and destination: 0 octets
	Ports                    // protocol and ports: 8 octets
	QPs                      // these, and the queue pairs: 16 octets
	OneWord                  // the one word that figure 2 of draft-xz draws: 4 octets
)

// flowFormNames are the names of forms in JSON and flags.
var flowFormNames = []string{"all", "ports", "qps", "word"}

// String returns the name of the form. f is one of the four forms; another value panics.
func (f FlowForm) String() string { return flowFormNames[f] }

// MarshalText returns the name. It implements [encoding.TextMarshaler], for JSON and
// flags, and its error is always nil.
func (f FlowForm) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads a name. Another text is an error that lists the names, and sets f
// to AllFlows.
func (f *FlowForm) UnmarshalText(text []byte) error {
	i, err := unmarshalName(text, flowFormNames)
	*f = FlowForm(i)
	return err
}

// FlowIdentifier completes the address pair of a [PPFC].
//
// Decision: draft-xz section 4.1 calls the field variable and lists possible contents
// ("the IP 5 tuples", "source and destination QP") without their layout. The addresses
// are in the message already, so it holds the rest, and the length that the IP header
// leaves decides its form:
//
//	protocol(8) reserved(24) source port(16) destination port(16)
//	then reserved(8) source QP(24) reserved(8) destination QP(24)
//
// Figure 2 draws one word without a layout. A word is read where 4 octets remain; it is
// refused unless [CodePoints.Figure2] is set, since it names no flow that a receiver could
// find: it distinguishes messages about one address pair, no more.
type FlowIdentifier struct {
	Form             FlowForm
	Protocol         uint8 // IP protocol number
	SrcPort, DstPort uint16
	SrcQP            uint32 // 24 bits; 0: unknown
	DstQP            uint32 // 24 bits
	Word             uint32 // of the form OneWord, in host byte order
}

// check returns the rule that the identifier offends, or [Accepted]. Queue pairs have 24
// bits (IBTA volume 1 section 9.2).
func (f FlowIdentifier) check() Reason {
	switch {
	case f.Form > OneWord:
		return UnknownFlowLength
	case f.Form == QPs && (f.SrcQP > maxQP || f.DstQP > maxQP):
		return BadQueuePair
	}
	return Accepted
}

//conformance:draft-xz/flow-id
func (f FlowIdentifier) append(b []byte) []byte {
	switch f.Form {
	case AllFlows:
		return b
	case OneWord:
		return binary.BigEndian.AppendUint32(b, f.Word)
	}
	b = append(b, f.Protocol, 0, 0, 0, byte(f.SrcPort>>8), byte(f.SrcPort), byte(f.DstPort>>8), byte(f.DstPort))
	if f.Form == Ports {
		return b
	}
	b = binary.BigEndian.AppendUint32(b, f.SrcQP)
	return binary.BigEndian.AppendUint32(b, f.DstQP)
}

// read reads the octets that remain of the message.
//
//conformance:draft-xz/flow-id
func (f *FlowIdentifier) read(b []byte) Reason {
	switch len(b) {
	case 0:
		f.Form = AllFlows
		return Accepted
	case 4:
		f.Form, f.Word = OneWord, binary.BigEndian.Uint32(b)
		return Accepted
	case 8:
		f.Form = Ports
	case 16:
		f.Form = QPs
		f.SrcQP, f.DstQP = binary.BigEndian.Uint32(b[8:])&maxQP, binary.BigEndian.Uint32(b[12:])&maxQP
	default:
		return UnknownFlowLength
	}
	f.Protocol, f.SrcPort, f.DstPort = b[0], binary.BigEndian.Uint16(b[4:]), binary.BigEndian.Uint16(b[6:])
	return Accepted
}
