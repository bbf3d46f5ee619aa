// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/wire/roce"
)

// checkParsed holds what must be true of any octets: one of the three outcomes
// of Parse, and that what is to be obeyed can be said again and means the same.
func checkParsed(t *testing.T, p *Packet, err error) {
	t.Helper()
	var refused *Error
	if err != nil && err != ErrNotNotification && !errors.As(err, &refused) {
		t.Fatalf("error %v of type %T", err, err)
	}
	if (p.Kind == KindNone) != (p.Message() == nil) || err == ErrNotNotification && p.Kind != KindNone {
		t.Fatalf("%v: kind %v, message %v", err, p.Kind, p.Message())
	}
	_, jsonErr := p.Fields().MarshalJSON()
	if jsonErr != nil {
		t.Fatal(jsonErr)
	}
	if err != nil {
		return
	}
	if r := p.Message().Check(); r != Accepted {
		t.Fatalf("accepted, and %v", r)
	}
	said, err := AppendFrame(nil, p.Message(), &p.Envelope, DefaultCodePoints())
	if err != nil {
		t.Fatalf("%v: %v", p.Fields(), err)
	}
	var again Packet
	if err := again.Parse(said, DefaultCodePoints()); err != nil {
		t.Fatalf("%v: %v", p.Fields(), err)
	}
	if diff := cmp.Diff(p.Message(), again.Message(), compareAddr); diff != "" {
		t.Fatal(diff)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range samples() {
		f.Add(frameOf(f, s))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		var p Packet
		checkParsed(t, &p, p.Parse(frame, DefaultCodePoints()))
	})
}

func FuzzParseIP(f *testing.F) {
	for _, s := range samples() {
		f.Add(packetOf(f, s))
	}
	f.Fuzz(func(t *testing.T, packet []byte) {
		var p Packet
		checkParsed(t, &p, p.ParseIP(packet, DefaultCodePoints()))
	})
}

// fuzzPayload fuzzes what follows a good IP header, where a fuzzer that
// has to find lengths and checksums by chance hardly gets.
func fuzzPayload(f *testing.F, kinds ...Kind) {
	for _, s := range samples() {
		for _, k := range kinds {
			if s.message.Kind() != k {
				continue
			}
			b := packetOf(f, s)
			if b[0]>>4 == 6 {
				f.Add(true, b[6], b[7], b[ipv6Len:])
			} else {
				f.Add(false, b[9], b[8], b[ipv4Len:])
			}
		}
	}
	f.Fuzz(func(t *testing.T, v6 bool, proto, hopLimit uint8, payload []byte) {
		if len(payload) > 1500 {
			return
		}
		e := Envelope{Src: node4, Dst: gate4, HopLimit: hopLimit}
		var b []byte
		at := ipv4Len
		if v6 {
			e.Src, e.Dst, at = node6, gate6, ipv6Len
			b = e.appendIPv6(b, proto)
		} else {
			b = e.appendIPv4(b, proto)
		}
		b = append(b, payload...)
		setLength(b)
		switch {
		case proto == protoUDP && len(payload) >= udpLen:
			b[at+6], b[at+7] = 0, 0
			setUDP(b)
			if finished, err := roce.Finish(b[:max(at, len(b)-roce.ICRCLen)], 0); err == nil {
				b = finished
			}
		case (proto == protoICMPv6 || proto == protoICMPv4) && len(payload) >= 4:
			b[at+2], b[at+3] = 0, 0
			setICMPChecksum(b)
		}
		var p Packet
		checkParsed(t, &p, p.ParseIP(b, DefaultCodePoints()))
	})
}

func FuzzPFCM(f *testing.F)   { fuzzPayload(f, KindPFCM) }
func FuzzPPFC(f *testing.F)   { fuzzPayload(f, KindPPFC) }
func FuzzRoCEv2(f *testing.F) { fuzzPayload(f, KindRateAdvice, KindCNP) }

// FuzzOptions fuzzes the inside of a hop-by-hop header.
func FuzzOptions(f *testing.F) {
	b := packetOf(f, sampleOf(f, "pfcm-hop-by-hop"))
	f.Add(b[ipv6Len+2:])
	f.Add(append([]byte{0, 0, 0, 5, 2, 0, 0, optionPad1}, b[ipv6Len+4:]...))
	f.Fuzz(func(t *testing.T, options []byte) {
		if len(options) > 2046 {
			return
		}
		for len(options)%8 != 6 {
			options = append(options, optionPad1)
		}
		e := Envelope{Src: link1, Dst: link2, HopLimit: 255}
		packet := append(e.appendIPv6(nil, protoHopByHop), protoNone, byte((len(options)+2)/8-1))
		packet = append(packet, options...)
		setLength(packet)
		var p Packet
		checkParsed(t, &p, p.ParseIP(packet, DefaultCodePoints()))
	})
}

func FuzzPFC(f *testing.F) {
	for _, s := range samples() {
		if s.message.Kind() == KindPFC {
			f.Add(frameOf(f, s)[ethernetLen:])
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		frame := roce.Ethernet{Dst: PFCAddress, Src: mac1, EtherType: etherTypePause}.Append(nil)
		var p Packet
		checkParsed(t, &p, p.Parse(append(frame, body...), DefaultCodePoints()))
	})
}
