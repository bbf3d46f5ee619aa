// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sluice/orchagent-ext/wire/roce"
)

var compareAddr = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

// frameOf is the sample as Ethernet frame.
func frameOf(tb testing.TB, s sample) []byte {
	tb.Helper()
	b, err := AppendFrame(nil, s.message, &s.envelope, DefaultCodePoints())
	if err != nil {
		tb.Fatalf("%s: %v", s.name, err)
	}
	return b
}

// asRead is the message and envelope as parsing gives them back: a field that
// the form does not carry is 0, the router of a PPFC over UDP is its source.
func asRead(m Message, e Envelope) (Message, Envelope) {
	udp := m.Kind() == KindRateAdvice || m.Kind() == KindCNP
	if ppfc, ok := m.(*PPFC); ok {
		c := *ppfc
		udp = c.Transport == OverUDP
		if udp {
			c.RouterID, c.CongestionPort = e.Src, 0
		} else {
			c.CongestionQID = 0
		}
		m = &c
	}
	if !udp {
		e.SrcPort = 0
	}
	if e.Src.Is4() {
		e.FlowLabel = 0
	}
	return m, e
}

func checkRoundTrip(t interface {
	Helper()
	Fatalf(string, ...any)
}, m Message, e Envelope, c CodePoints) {
	t.Helper()
	prefix := []byte("before")
	b, err := AppendFrame(prefix, m, &e, c)
	if err != nil {
		t.Fatalf("append: %v", err)
	}
	if string(b[:len(prefix)]) != string(prefix) {
		t.Fatalf("the octets before in the buffer changed: %q", b[:len(prefix)])
	}
	var p Packet
	if err := p.Parse(b[len(prefix):], c); err != nil {
		t.Fatalf("parse %x: %v", b[len(prefix):], err)
	}
	want, envelope := asRead(m, e)
	if diff := cmp.Diff(want, p.Message(), compareAddr); diff != "" {
		t.Fatalf("message: %s", diff)
	}
	if diff := cmp.Diff(envelope, p.Envelope, compareAddr); diff != "" {
		t.Fatalf("envelope: %s", diff)
	}
}

func TestSamplesRoundTrip(t *testing.T) {
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) { checkRoundTrip(t, s.message, s.envelope, DefaultCodePoints()) })
	}
}

//conformance:draft-yang/time draft-xz/priority draft-xz/udp-fields draft-zz/dest-qp draft-zz/src-qp draft-xz/flags
func TestRoundTrip(t *testing.T) {
	for kind, draw := range map[Kind]func(*rapid.T, bool) Message{
		KindPFCM:       func(t *rapid.T, _ bool) Message { return drawPFCM(t) },
		KindPPFC:       func(t *rapid.T, v6 bool) Message { return drawPPFC(t, v6) },
		KindRateAdvice: func(t *rapid.T, _ bool) Message { return drawRateAdvice(t) },
		KindCNP: func(t *rapid.T, _ bool) Message {
			return &CNP{PKey: rapid.Uint16().Draw(t, "p_key"), DestQP: drawQP(t, "dest_qp")}
		},
		KindPFC: func(t *rapid.T, _ bool) Message { return drawPFC(t) },
	} {
		t.Run(kind.String(), rapid.MakeCheck(func(t *rapid.T) {
			v6 := kind == KindPFCM || rapid.Bool().Draw(t, "v6")
			m, e := draw(t, v6), drawEnvelope(t, kind, v6)
			c := drawCodePoints(t)
			if p, ok := m.(*PPFC); ok && p.Transport == OverICMP {
				e.Src = p.RouterID
			}
			if p, ok := m.(*PPFC); ok && p.Flow.Form == OneWord {
				c.Figure2 = true
			}
			checkRoundTrip(t, m, e, c)
		}))
	}
}

func drawPFCM(t *rapid.T) *PFCM {
	return &PFCM{
		Encapsulation: rapid.SampledFrom([]Encapsulation{ICMPv6, HopByHop, DestinationOptions}).Draw(t, "encapsulation"),
		StreamID:      rapid.Uint16Min(1).Draw(t, "stream"), QueueID: rapid.Uint8().Draw(t, "queue"),
		Action: Action(rapid.Uint8Max(0xbf).Draw(t, "action")), Time: rapid.Uint16().Draw(t, "time"),
		Destination: drawAddr(t, true, "destination"), Source: drawAddr(t, true, "source"),
	}
}

func drawPPFC(t *rapid.T, v6 bool) *PPFC {
	m := &PPFC{
		Transport: rapid.SampledFrom([]Transport{OverICMP, OverUDP}).Draw(t, "transport"),
		Flags:     rapid.Uint8Max(63).Draw(t, "flags"), PT: PT(rapid.Uint8Max(3).Draw(t, "pt")), Priority: rapid.Uint8().Draw(t, "priority"),
		CongestionPort: rapid.Uint16().Draw(t, "port"), CongestionQID: rapid.Uint16().Draw(t, "qid"), PauseDuration: rapid.Uint16().Draw(t, "duration"),
		Source: drawAddr(t, v6, "source"), Destination: drawAddr(t, v6, "destination"), RouterID: drawAddr(t, v6, "router"),
		Flow: FlowIdentifier{Form: FlowForm(rapid.Uint8Max(3).Draw(t, "form"))},
	}
	switch f := &m.Flow; f.Form {
	case OneWord:
		f.Word = rapid.Uint32().Draw(t, "word")
	case Ports, QPs:
		f.Protocol, f.SrcPort, f.DstPort = rapid.Uint8().Draw(t, "protocol"), rapid.Uint16().Draw(t, "sport"), rapid.Uint16().Draw(t, "dport")
		if f.Form == QPs {
			f.SrcQP, f.DstQP = drawQP(t, "src_qp"), drawQP(t, "dst_qp")
		}
	}
	return m
}

func drawRateAdvice(t *rapid.T) *RateAdvice {
	return &RateAdvice{
		PKey: rapid.Uint16().Draw(t, "p_key"), DestQP: drawQP(t, "dest_qp"),
		Rate: rapid.Uint32Min(1).Draw(t, "rate"), Version: RateAdviceVersion,
		DestinationQP: drawQP(t, "destination_qp"), SourceQP: drawQP(t, "source_qp"),
	}
}

func drawPFC(t *rapid.T) *PFC {
	m := &PFC{Enable: rapid.Uint8().Draw(t, "enable")}
	for i := range m.Quanta {
		m.Quanta[i] = rapid.Uint16().Draw(t, "quanta")
	}
	return m
}

func drawEnvelope(t *rapid.T, k Kind, v6 bool) Envelope {
	if k == KindPFC {
		return Envelope{SrcMAC: drawMAC(t), DstMAC: PFCAddress}
	}
	e := Envelope{
		SrcMAC: drawMAC(t), DstMAC: drawMAC(t),
		Src: drawAddr(t, v6, "ip source"), Dst: drawAddr(t, v6, "ip destination"),
		TrafficClass: rapid.Uint8().Draw(t, "traffic class"), FlowLabel: rapid.Uint32Max(0xfffff).Draw(t, "flow label"),
		HopLimit: rapid.Uint8().Draw(t, "hop limit"), SrcPort: rapid.Uint16().Draw(t, "source port"),
	}
	if k == KindPFCM {
		e.HopLimit = 255
		e.Src, e.Dst = linkLocal(e.Src), linkLocal(e.Dst)
		if rapid.Bool().Draw(t, "to all nodes") {
			e.Dst = allNodes
		}
	}
	return e
}

// linkLocal is the link-local address with the low octets of another.
func linkLocal(a netip.Addr) netip.Addr {
	b := a.As16()
	copy(b[:8], []byte{0xfe, 0x80, 7: 0})
	return netip.AddrFrom16(b)
}

func drawCodePoints(t *rapid.T) CodePoints {
	return rapid.Custom(func(t *rapid.T) CodePoints {
		return CodePoints{
			PFCMType: rapid.Uint8().Draw(t, "pfcm type"), PFCMCode: rapid.Uint8().Draw(t, "pfcm code"),
			PFCMOption: rapid.Uint8Max(0x1f).Draw(t, "pfcm option"),
			PPFCTypeV6: rapid.Uint8().Draw(t, "ppfc v6 type"), PPFCCodeV6: rapid.Uint8().Draw(t, "ppfc v6 code"),
			PPFCTypeV4: rapid.Uint8().Draw(t, "ppfc v4 type"), PPFCCodeV4: rapid.Uint8().Draw(t, "ppfc v4 code"),
			PPFCPort:         rapid.Uint16().Draw(t, "ppfc port"),
			RateAdviceOpcode: roce.Opcode(rapid.Uint8Min(0xc0).Draw(t, "opcode")),
		}
	}).Filter(func(c CodePoints) bool { return c.Validate() == nil }).Draw(t, "code points")
}

// drawAddr draws an address of the family; one mapped into IPv6 is of neither.
func drawAddr(t *rapid.T, v6 bool, label string) netip.Addr {
	n := 4
	if v6 {
		n = 16
	}
	return rapid.Custom(func(t *rapid.T) netip.Addr {
		a, _ := netip.AddrFromSlice(rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "octets"))
		return a
	}).Filter(func(a netip.Addr) bool { return !a.Is4In6() }).Draw(t, label)
}

func drawQP(t *rapid.T, label string) uint32 { return rapid.Uint32Max(maxQP).Draw(t, label) }

func drawMAC(t *rapid.T) roce.MAC {
	return roce.MAC(rapid.SliceOfN(rapid.Byte(), 6, 6).Draw(t, "mac"))
}

// TestSizesAreThoseOfTheFormats compares the octets from the ICMP, UDP or options header on with
// what the formats say.
//
//conformance:draft-yang/length draft-xz/flow-id
func TestSizesAreThoseOfTheFormats(t *testing.T) {
	want := map[string]int{
		"pfcm-icmpv6-pause": 44, "pfcm-hop-by-hop": 48, "pfcm-destination-options": 48,
		"ppfc-icmpv6-all": 60, "ppfc-icmpv6-ports": 68, "ppfc-icmpv6-qps": 76,
		"ppfc-icmpv4-all": 24, "ppfc-icmpv4-ports": 32, "ppfc-icmpv4-qps": 40,
		"ppfc-udp6-all": 48, "ppfc-udp6-ports": 56, "ppfc-udp6-qps": 64,
		"ppfc-udp4-all": 24, "ppfc-udp4-ports": 32, "ppfc-udp4-qps": 40,
		"rate-advice-v6": 8 + 32, "rate-advice-v4": 8 + 32, "cnp-v6": 8 + 32, "cnp-v4": 8 + 32,
	}
	for name, n := range want {
		s := sampleOf(t, name)
		b := packetOf(t, s)
		header := ipv6Len
		if s.envelope.Src.Is4() {
			header = ipv4Len
		}
		if len(b)-header != n {
			t.Errorf("%s: %d octets, want %d", name, len(b)-header, n)
		}
	}
	if n := len(packetOf(t, sampleOf(t, "pfc-pause"))); n != 60 {
		t.Errorf("pfc: %d octets, want 60", n)
	}
}

// TestOctetsAreThoseOfTheDrafts spells two messages out, as an implementer of the drafts would.
//
//conformance:draft-yang/option draft-yang/subtype draft-yang/time draft-xz/icmp draft-xz/port draft-xz/udp draft-zz/bth draft-zz/rate draft-xz/pt draft-yang/pfc-queue draft-yang/length
func TestOctetsAreThoseOfTheDrafts(t *testing.T) {
	addresses := "20010db8000b00000000000000000022" + "20010db8000a00000000000000000011"
	for name, want := range map[string]string{
		"pfcm-icmpv6-reduce": "c8000000" + "00001234" + "03b203e8" + addresses,
		"pfcm-hop-by-hop":    "3b050100" + "1e2a0000" + "12340340" + "ffff0000" + addresses,
		"ppfc-icmpv4-qps": "fd000000" + "031a0011" + "000003e8" + "c000020b" + "c6336416" + "cb007101" +
			"11000000" + "c00112b7" + "00000111" + "00000222",
		"ppfc-udp4-ports": "001a0003" + "000003e8" + "c000020b" + "c6336416" + "11000000" + "c00112b7",
		"rate-advice-v6":  "c500ffff" + "00000111" + "00000000" + "000061a8" + "00000001" + "00000111" + "00000222",
		"cnp-v6":          "8100ffff" + "40000111" + "00000000" + "00000000000000000000000000000000",
		"pfc-pause":       "01010008" + "000000000000" + "07a2" + "0000000000000000",
	} {
		b, err := sampleOf(t, name).message.AppendPayload(nil, DefaultCodePoints())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := hexText(b); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
	advice := RateAdvice{PKey: 0x8123, DestQP: 0x42, Rate: 300, Version: 1, DestinationQP: 0x42, SourceQP: 0x77}
	b, err := advice.AppendPayload(nil, DefaultCodePoints())
	if want := "c5008123" + "00000042" + "00000000" + "0000012c" + "00000001" + "00000042" + "00000077"; err != nil || hexText(b) != want {
		t.Errorf("advice of 300 Mbit/s in partition 0x8123: %x, want %s (%v)", b, want, err)
	}
}
