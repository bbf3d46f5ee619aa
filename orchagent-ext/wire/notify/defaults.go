// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"fmt"

	"sluice/orchagent-ext/wire/roce"
)

// The defaults, each with its source or the reason for it.
const (
	// Code points. The drafts leave them unassigned.
	DefaultPFCMType = 200 // ICMPv6; RFC 4443 section 2.1: private experimentation
	DefaultPFCMCode = 0   // draft-yang section 4.2: "0x00 default"
	// RFC 4727; the top bits 00 ask a node that does not know it to skip it, as draft-yang section 4.1 wants
	DefaultPFCMOption = 0x1e

	DefaultPPFCTypeV6 = 201  // ICMPv6; RFC 4443 section 2.1: private experimentation
	DefaultPPFCCodeV6 = 0    // draft-xz section 4.1: TBD2
	DefaultPPFCTypeV4 = 253  // ICMPv4; RFC 4727: experiment 1
	DefaultPPFCCodeV4 = 0    // draft-xz section 4.1: TBD2
	DefaultPPFCPort   = 1021 // UDP destination; RFC 4727: exp1

	// DefaultRateAdviceOpcode is of the manufacturers' range 0xc0 to 0xff. The
	// draft's example 0x1d is RC ATOMIC WRITE since IBTA 1.5, whose RETH is as
	// long as a Rate Advice: a responder would take rate and version for an
	// address.
	DefaultRateAdviceOpcode = roce.Opcode(0xc5)

	// Envelopes.
	DefaultPFCMHopLimit = 255     // draft-yang section 5
	DefaultHopLimit     = 64      // all others pass routers
	DefaultTrafficClass = 48 << 2 // DSCP CS6, network control (RFC 4594 section 3.1); ECN 0
	// first dynamic port (RFC 6335); a switch copies that of the data packet
	DefaultSrcPort = 49152
	// the default partition; a switch copies that of the data packet
	DefaultPKey = 0xffff

	// Bodies.
	RateAdviceVersion = 1      // draft-zz section 6.2
	MaxReduction      = 63     // percent: the range of the 6 bits of draft-yang's Action
	MaxQuanta         = 0xffff // IEEE 802.1Qbb: a time field has 16 bits
)

// manufacturerOpcodes is where the range begins that IBTA leaves to
// manufacturers; below it every opcode has, or may get, a meaning.
const manufacturerOpcodes = 0xc0

// CodePoints are the numbers that identify messages, all of them configuration. The zero
// value is invalid: begin with [DefaultCodePoints]. Both ends of a notification need the
// same, as no message carries them.
type CodePoints struct {
	PFCMType   uint8 // ICMPv6 type
	PFCMCode   uint8
	PFCMOption uint8 // IPv6 option type, the top 3 bits included

	PPFCTypeV6 uint8 // ICMPv6 type
	PPFCCodeV6 uint8
	PPFCTypeV4 uint8 // ICMPv4 type
	PPFCCodeV4 uint8
	PPFCPort   uint16 // UDP destination port
	// a flow identifier of one word is accepted (draft-xz section 4.1, figure 2)
	Figure2 bool

	RateAdviceOpcode roce.Opcode // of the BTH
}

// DefaultCodePoints returns the code points that hold unless configured
// otherwise. They pass [CodePoints.Validate].
//
//conformance:draft-yang/icmp-type draft-yang/iana draft-xz/udp-port draft-xz/iana draft-zz/opcode
func DefaultCodePoints() CodePoints {
	return CodePoints{
		PFCMType: DefaultPFCMType, PFCMCode: DefaultPFCMCode, PFCMOption: DefaultPFCMOption,
		PPFCTypeV6: DefaultPPFCTypeV6, PPFCCodeV6: DefaultPPFCCodeV6,
		PPFCTypeV4: DefaultPPFCTypeV4, PPFCCodeV4: DefaultPPFCCodeV4,
		PPFCPort:         DefaultPPFCPort,
		RateAdviceOpcode: DefaultRateAdviceOpcode,
	}
}

// span is a range of numbers, both ends included.
type span struct{ first, last uint16 }

// The numbers that messages may have: those that IANA gave to nothing that a switch or a
// host sends. CONFIG_DB's fields have the same ranges.
var (
	icmpv6Types = []span{{5, 126}, {162, 254}}
	icmpv4Types = []span{{44, 255}}
	// top 3 bits 0: skipped where unknown, unchanged on the way
	optionTypes = []span{{2, 3}, {6, 6}, {9, 14}, {16, 16}, {19, 31}}
	ppfcPorts   = []span{{1, 52}, {54, 66}, {69, 122}, {124, 160}, {163, 545}, {548, 3783}, {3786, 4738}, {4741, 4783}, {4785, 4788},
		{4792, 6080}, {6082, 6342}, {6344, 65535}}
)

// outside returns an error for a number outside the ranges.
func outside(what string, number uint16, ranges []span) error {
	for _, r := range ranges {
		if number >= r.first && number <= r.last {
			return nil
		}
	}
	return fmt.Errorf("%s %d is one of another message or protocol: it must be in one of the ranges %d", what, number, ranges)
}

// Validate returns an error for code points that make messages ambiguous, that other
// messages have, or that are outside the range of their field.
//
//conformance:draft-yang/option-type
func (c CodePoints) Validate() error {
	for _, one := range []error{
		outside("ICMPv6 type", uint16(c.PFCMType), icmpv6Types), outside("ICMPv6 type", uint16(c.PPFCTypeV6), icmpv6Types),
		outside("ICMPv4 type", uint16(c.PPFCTypeV4), icmpv4Types), outside("option type", uint16(c.PFCMOption), optionTypes),
		outside("UDP port", c.PPFCPort, ppfcPorts),
	} {
		if one != nil {
			return one
		}
	}
	switch {
	case c.PFCMType == c.PPFCTypeV6:
		return fmt.Errorf("ICMPv6 type %d is given to both PFCM and PPFC", c.PFCMType)
	case c.RateAdviceOpcode < manufacturerOpcodes && c.RateAdviceOpcode != roce.RCAtomicWrite:
		return fmt.Errorf("opcode 0x%02x cannot be Rate Advice's: it is one from 0xc0 on, or the draft's example 0x1d", uint8(c.RateAdviceOpcode))
	}
	return nil
}

// DefaultEnvelope returns the envelope that Sluice sends a message of kind k in, without
// addresses. The drafts leave the traffic class open; a message about congestion must
// avoid the queue that it is about, so all go as network control.
func DefaultEnvelope(k Kind) Envelope {
	e := Envelope{TrafficClass: DefaultTrafficClass, HopLimit: DefaultHopLimit, SrcPort: DefaultSrcPort}
	if k == KindPFCM {
		e.HopLimit = DefaultPFCMHopLimit
	}
	return e
}
