// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// withHeader puts an extension header with these octets behind next header and
// length before whatever follows the IPv6 header of b. len(octets)+2 is a
// multiple of 8.
func withHeader(b []byte, proto uint8, octets []byte) []byte {
	out := append([]byte{}, b[:ipv6Len]...)
	out = append(out, b[6], byte((len(octets)+2)/8-1))
	out = append(append(out, octets...), b[ipv6Len:]...)
	out[6] = proto
	setLength(out)
	return out
}

// withOptions puts options into a header of their own, padded to 8 octets, in a
// packet that carries nothing else.
func withOptions(t *testing.T, proto uint8, options []byte) []byte {
	t.Helper()
	s := sampleOf(t, "pfcm-hop-by-hop")
	b := packetOf(t, s)[:ipv6Len]
	b[6] = protoNone
	switch pad := (8 - (len(options)+2)%8) % 8; pad {
	case 0:
	case 1:
		options = append(options, optionPad1)
	default:
		options = append(append(options, optionPadN, byte(pad-2)), make([]byte, pad-2)...)
	}
	return withHeader(b, proto, options)
}

// option is the PFCM option of the hop-by-hop sample, type and length included.
func option(t *testing.T) []byte {
	return packetOf(t, sampleOf(t, "pfcm-hop-by-hop"))[ipv6Len+4:]
}

// TestOptionAtAnyAlignment puts n octets of other options before Sluice's.
//
//conformance:draft-yang/option
func TestOptionAtAnyAlignment(t *testing.T) {
	want := sampleOf(t, "pfcm-hop-by-hop").message
	var p Packet
	for n := range 20 {
		var before []byte
		switch {
		case n < 3:
			before = make([]byte, n) // Pad1
		default:
			before = append([]byte{0x3e, byte(n - 2)}, make([]byte, n-2)...) // unknown
		}
		for name, after := range map[string][]byte{"": nil, "router alert": {5, 2, 0, 0}} {
			options := append(append(before[:n:n], option(t)...), after...)
			if err := p.ParseIP(withOptions(t, protoHopByHop, options), DefaultCodePoints()); err != nil {
				t.Errorf("behind %d octets, before %q: %v", n, name, err)
			} else if diff := cmp.Diff(want, p.Message(), compareAddr); diff != "" {
				t.Errorf("behind %d octets, before %q: %s", n, name, diff)
			}
		}
	}
}

// TestHeadersBeforeTheMessage: extension headers without our option are passed.
func TestHeadersBeforeTheMessage(t *testing.T) {
	padding := []byte{optionPadN, 4, 0, 0, 0, 0}
	var p Packet
	for _, name := range []string{"pfcm-icmpv6-pause", "ppfc-icmpv6-qps", "ppfc-udp6-all", "pfcm-destination-options", "rate-advice-v6", "cnp-v6"} {
		s := sampleOf(t, name)
		b := withHeader(packetOf(t, s), protoDestOptions, padding)
		b = withHeader(b, protoRouting, []byte{4, 0, 0, 0, 0, 0})
		b = withHeader(b, protoHopByHop, padding)
		if err := p.ParseIP(b, DefaultCodePoints()); err != nil || p.Kind != s.message.Kind() {
			t.Errorf("%s: %v, read as %v", name, err, p.Kind)
		}
	}
}

// TestFirstOptionCounts: draft-yang says nothing of two options in a packet.
func TestFirstOptionCounts(t *testing.T) {
	second := append([]byte{}, option(t)...)
	second[7] = byte(Reduce(1))
	var p Packet
	if err := p.ParseIP(withOptions(t, protoDestOptions, append(option(t), second...)), DefaultCodePoints()); err != nil {
		t.Fatal(err)
	}
	if p.PFCM.Action != Pause || p.PFCM.Encapsulation != DestinationOptions {
		t.Errorf("read %v by %v", p.PFCM.Action, p.PFCM.Encapsulation)
	}
}

func TestBrokenHeaders(t *testing.T) {
	padding := []byte{optionPadN, 4, 0, 0, 0, 0}
	broken := withHeader(packetOf(t, sampleOf(t, "pfcm-icmpv6-pause")), protoHopByHop, []byte{0x3e, 9, 0, 0, 0, 0})
	behind := withHeader(packetOf(t, sampleOf(t, "pfcm-icmpv6-pause")), protoHopByHop, padding)
	behind[ipv6Len+1] = 200
	many := packetOf(t, sampleOf(t, "pfcm-icmpv6-pause"))
	for range maxExtensions {
		many = withHeader(many, protoDestOptions, padding)
	}
	for name, tt := range map[string]struct {
		b    []byte
		want error
	}{
		"option behind its header": {broken, &errs[KindNone][BadLength]},
		"header behind the packet": {behind, &errs[KindNone][Short]},
		"too many headers":         {many, ErrNotNotification},
	} {
		var p Packet
		if err := p.ParseIP(tt.b, DefaultCodePoints()); err != tt.want {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}

// An unknown option whose type begins with 01, 10 or 11 demands to discard the packet (RFC 8200 section
// 4.2): in the header of a PFCM before and after it, in a header of its own, and before any other message.
//
//conformance:draft-yang/option-type
func TestUnknownOptionDemandsToDiscard(t *testing.T) {
	for _, unknown := range []uint8{0x5e, 0x9e, 0xde, 0xc2} {
		other := []byte{unknown, 2, 0, 0}
		for name, b := range map[string][]byte{
			"before":      withOptions(t, protoHopByHop, append(append([]byte{}, other...), option(t)...)),
			"after":       withOptions(t, protoDestOptions, append(append([]byte{}, option(t)...), other...)),
			"in another":  withHeader(withOptions(t, protoDestOptions, option(t)), protoHopByHop, append([]byte{optionPadN, 0}, other...)),
			"of ICMPv6":   withHeader(packetOf(t, sampleOf(t, "pfcm-icmpv6-pause")), protoHopByHop, append([]byte{optionPadN, 0}, other...)),
			"of PPFC":     withHeader(packetOf(t, sampleOf(t, "ppfc-udp6-all")), protoDestOptions, append([]byte{optionPadN, 0}, other...)),
			"of advice":   withHeader(packetOf(t, sampleOf(t, "rate-advice-v6")), protoDestOptions, append([]byte{optionPadN, 0}, other...)),
			"of a CNP":    withHeader(packetOf(t, sampleOf(t, "cnp-v6")), protoDestOptions, append([]byte{optionPadN, 0}, other...)),
			"behind PFCM": headerAfter(withOptions(t, protoHopByHop, option(t)), other),
		} {
			var p Packet
			err := p.ParseIP(b, DefaultCodePoints())
			var bad *Error
			if !errors.As(err, &bad) || bad.Reason != UnknownOption || bad.Kind != p.Kind || p.Kind == KindNone {
				t.Errorf("option %#x %s: %v of %v", unknown, name, err, p.Kind)
			}
		}
		c := DefaultCodePoints()
		c.PFCMOption = unknown
		renamed := append([]byte{}, option(t)...)
		renamed[0] = unknown
		var p Packet
		if err := p.ParseIP(withOptions(t, protoHopByHop, renamed), c); err != nil || p.Kind != KindPFCM {
			t.Errorf("option %#x as that of PFCM: %v", unknown, err)
		}
	}
	// Nothing else of the packet is read: it is no notification.
	var p Packet
	none := withOptions(t, protoHopByHop, []byte{0x9e, 2, 0, 0})
	if err := p.ParseIP(none, DefaultCodePoints()); err != ErrNotNotification {
		t.Errorf("a packet without message: %v", err)
	}
}

// headerAfter adds a header of destination options after the one that a packet ends with.
func headerAfter(b, options []byte) []byte {
	b[ipv6Len] = protoDestOptions
	b = append(b, protoNone, 0)
	b = append(append(b, options...), optionPadN, 0)
	setLength(b)
	return b
}
