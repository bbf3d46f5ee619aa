// SPDX-License-Identifier: Apache-2.0

package notify

import "errors"

// ErrNotNotification means that a packet is outside the messages of this package. It is
// for [errors.Is], and the normal case where the packets of a port are read: neither
// logged nor counted as a fault.
var ErrNotNotification = errors.New("notify: not a notification")

// Reason is the rule by which a message must be ignored. The zero value is a message to
// obey.
type Reason uint8

// The reasons.
const (
	Accepted Reason = iota

	// The message cannot be read.

	Short     // it, or a header before it, ends too early
	BadLength // it is too long, or a length field contradicts the packet
	// PPFC: the flow identifier has a length other than 0, 4, 8 or 16 octets
	UnknownFlowLength

	// The message can be read; a receive rule refuses it.

	// PPFC: the flow identifier is the one word of figure 2, which the configuration does not accept
	OneWordFlow
	BadHopLimit    // PFCM: the hop limit is below 255, so it came through a router
	BadChecksum    // of the IPv4 header, ICMP, or UDP; or absent where it is mandatory
	BadICRC        // Rate Advice, CNP
	BadCode        // the ICMP type is Sluice's, the code is foreign
	BadSubtype     // PFCM option: the Type field is above 0
	BadVersion     // Rate Advice: another version than 1
	ReservedAction // PFCM: action type 11
	ZeroStream     // PFCM: Stream ID 0, which stays unallocated
	ZeroRate       // Rate Advice of 0 Mbit/s
	BadQueuePair   // a queue pair number of more than 24 bits
	// addresses that are not all of the family of the packet that carries them
	FamilyMix
	NoBECN // CNP with a BECN bit of 0
	// an IPv6 option of the packet is unknown, and demands that it is discarded
	UnknownOption
	// PFC to another address than 01-80-C2-00-00-01; PFCM neither to a link-local address nor to all nodes
	BadDestination
	// PFCM from an address that is not link-local; PPFC over ICMP from another address than its router identifier
	BadSource
	numReasons
)

// reasonNames are the reasons for people.
var reasonNames = [numReasons]string{
	"accepted",
	"ends too early", "length is wrong", "flow identifier is not of 0, 4, 8 or 16 octets",
	"flow identifier is one word, which figure2=accept takes", "hop limit is not 255", "checksum is wrong", "ICRC is wrong", "code is unknown", "option's type field is not 0",
	"version is not 1", "action is reserved", "stream id is 0", "rate is 0", "queue pair number has more than 24 bits",
	"addresses are not all of the packet's family", "BECN is not set", "an unknown IPv6 option demands to discard the packet", "destination is not one of this message",
	"source is not one of this message",
}

// String returns the reason for people. r is one of the constants; another value panics.
func (r Reason) String() string { return reasonNames[r] }

// reasonLabels are the reasons as labels of metrics and names of counters.
var reasonLabels = [numReasons]string{
	"accepted",
	"short", "length", "flow-length",
	"one-word", "hop-limit", "checksum", "icrc", "code", "subtype",
	"version", "reserved-action", "zero-stream", "zero-rate", "queue-pair",
	"family-mix", "no-becn", "unknown-option", "destination", "source",
}

// Label is the reason as one lower-case word, for counters. Operators' dashboards use it
// as value of a label, so it stays the same between versions.
func (r Reason) Label() string { return reasonLabels[r] }

// Error is the kind of a message that could not be read, or is refused, and the reason.
// Kind is [KindNone] where the packet ended before it was known. The values are shared
// constants, so that a flood of bad messages costs constant memory.
type Error struct {
	Kind   Kind
	Reason Reason
}

// Error implements [error]. It is "KIND: REASON", or "packet: REASON" for KindNone, and
// has no value of the packet.
func (e *Error) Error() string {
	if e.Kind == KindNone {
		return "packet: " + e.Reason.String()
	}
	return e.Kind.String() + ": " + e.Reason.String()
}

// errs has every value of Error, so that a refused message costs no allocation.
var errs = func() (t [numKinds][numReasons]Error) {
	for k := range t {
		for r := range t[k] {
			t[k][r] = Error{Kind(k), Reason(r)}
		}
	}
	return t
}()

// fail returns the error of kind and reason: nil when accepted.
func fail(k Kind, r Reason) error {
	if r == Accepted {
		return nil
	}
	return &errs[k][r]
}
