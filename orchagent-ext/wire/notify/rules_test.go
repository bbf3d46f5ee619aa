// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/netip"
	"slices"
	"testing"

	"sluice/orchagent-ext/wire/roce"
)

func hexText(b []byte) string { return hex.EncodeToString(b) }

// resum makes the checksum of the packet right again behind a change.
func resum(b []byte) []byte {
	at, proto := ipv6Len, b[6]
	if b[0]>>4 == 4 {
		at, proto = ipv4Len, b[9]
		b[10], b[11] = 0, 0
		setLength(b)
	}
	switch proto {
	case protoUDP:
		b[at+6], b[at+7] = 0, 0
		setUDP(b)
	case protoICMPv4, protoICMPv6:
		b[at+2], b[at+3] = 0, 0
		setICMPChecksum(b)
	}
	return b
}

// refinish makes ICRC and UDP checksum right again behind a change.
func refinish(b []byte) []byte {
	b, err := roce.Finish(b[:len(b)-roce.ICRCLen], 0)
	if err != nil {
		panic(err)
	}
	return b
}

func set(at int, v byte) func([]byte) []byte {
	return func(b []byte) []byte { b[at] = v; return b }
}

func then(fs ...func([]byte) []byte) func([]byte) []byte {
	return func(b []byte) []byte {
		for _, f := range fs {
			b = f(b)
		}
		return b
	}
}

// longer lets the packet end n octets later (or earlier), with right lengths.
func longer(n int) func([]byte) []byte {
	return func(b []byte) []byte {
		if n < 0 {
			b = b[:len(b)+n]
		} else {
			b = append(b, make([]byte, n)...)
		}
		if b[0]>>4 == 6 {
			setLength(b)
		}
		return resum(b)
	}
}

// mapped puts an IPv4-mapped address at an offset.
func mapped(at int) func([]byte) []byte {
	return func(b []byte) []byte {
		a := netip.AddrFrom4([4]byte{192, 0, 2, 1}).As16()
		copy(b[at:], a[:])
		return b
	}
}

// group makes the destination a group of a scope.
func group(scope, number byte) func([]byte) []byte {
	return func(b []byte) []byte {
		a := [16]byte{0xff, scope, 15: number}
		copy(b[24:], a[:])
		return b
	}
}

// TestReceiveRules changes one thing in a good packet. read says whether the
// message can be told nonetheless.
//
//conformance:draft-yang/subtype draft-yang/reserved draft-yang/length draft-yang/action draft-yang/icmp-type draft-yang/icmp-checksum draft-yang/hop-limit draft-xz/icmp draft-xz/router-id draft-xz/addresses draft-xz/flow-id draft-zz/icrc draft-zz/rate draft-zz/version draft-zz/dest-qp draft-zz/src-qp
func TestReceiveRules(t *testing.T) {
	for _, tt := range []struct {
		name, sample string
		change       func([]byte) []byte
		want         Reason
		read         bool
	}{
		{"hop limit 254", "pfcm-icmpv6-pause", set(7, 254), BadHopLimit, true},
		{"hop limit 64", "pfcm-hop-by-hop", set(7, 64), BadHopLimit, true},
		{"hop limit 0", "pfcm-destination-options", set(7, 0), BadHopLimit, true},
		{"hop limit 1 of PPFC", "ppfc-icmpv6-all", set(7, 1), Accepted, true},
		{"hop limit 1 of advice", "rate-advice-v6", set(7, 1), Accepted, true},
		{"hop limit goes first", "pfcm-icmpv6-pause", then(set(7, 254), set(41, 1)), BadHopLimit, true},

		{"checksum", "pfcm-icmpv6-pause", set(43, 0xff), BadChecksum, true},
		{"queue changed", "pfcm-icmpv6-pause", set(48, 4), BadChecksum, true},
		{"another source", "pfcm-icmpv6-pause", set(23, 9), BadChecksum, true},
		{"checksum", "ppfc-icmpv6-qps", set(42, 0xff), BadChecksum, true},
		{"checksum", "ppfc-icmpv4-qps", set(22, 0xff), BadChecksum, true},
		{"IPv4 header checksum", "ppfc-icmpv4-qps", set(8, 9), BadChecksum, true},
		{"IPv4 header checksum", "cnp-v4", set(8, 9), BadChecksum, true},
		{"UDP checksum", "ppfc-udp4-all", set(26, 0xff), BadChecksum, true},
		{"no UDP checksum over IPv4", "ppfc-udp4-all", then(set(26, 0), set(27, 0)), Accepted, true},
		{"no UDP checksum over IPv6", "ppfc-udp6-all", then(set(46, 0), set(47, 0)), BadChecksum, true},
		{"UDP checksum", "rate-advice-v6", set(46, 0xff), BadChecksum, true},
		{"no UDP checksum", "rate-advice-v6", then(set(46, 0), set(47, 0)), Accepted, true},
		{"no UDP checksum, source port 0", "cnp-v4", then(set(20, 0), set(21, 0), refinish, set(26, 0), set(27, 0)), Accepted, true},

		{"code", "pfcm-icmpv6-pause", then(set(41, 1), resum), BadCode, true},
		{"code", "ppfc-icmpv6-all", then(set(41, 1), resum), BadCode, true},
		{"code", "ppfc-icmpv4-all", then(set(21, 1), resum), BadCode, true},
		{"type field", "pfcm-hop-by-hop", set(46, 1), BadSubtype, true},
		{"type field", "pfcm-destination-options", set(46, 255), BadSubtype, true},
		{"reserved field is ignored", "pfcm-hop-by-hop", set(47, 255), Accepted, true},
		{"reserved field is ignored", "pfcm-icmpv6-pause", then(set(44, 255), resum), Accepted, true},

		{"reserved action", "pfcm-icmpv6-pause", then(set(49, 0xc0), resum), ReservedAction, true},
		{"reserved action", "pfcm-hop-by-hop", set(51, 0xff), ReservedAction, true},
		{"stream 0", "pfcm-hop-by-hop", then(set(48, 0), set(49, 0)), ZeroStream, true},
		{"mapped source", "pfcm-icmpv6-pause", then(mapped(68), resum), FamilyMix, true},
		{"mapped destination", "pfcm-hop-by-hop", mapped(56), FamilyMix, true},
		{"mapped source", "ppfc-icmpv6-all", then(mapped(52), resum), FamilyMix, true},
		{"mapped destination", "ppfc-icmpv6-all", then(mapped(68), resum), FamilyMix, true},
		{"mapped router", "ppfc-icmpv6-all", then(mapped(84), resum), FamilyMix, true},

		{"from a global address", "pfcm-icmpv6-pause", then(set(8, 0x20), set(9, 0x01), resum), BadSource, true},
		{"from a global address", "pfcm-hop-by-hop", then(set(8, 0x20), set(9, 0x01)), BadSource, true},
		{"to a global address", "pfcm-icmpv6-pause", then(set(24, 0x20), set(25, 0x01), resum), BadDestination, true},
		{"to all nodes", "pfcm-icmpv6-pause", then(group(0x02, 1), resum), Accepted, true},
		{"to all nodes", "pfcm-destination-options", group(0x02, 1), Accepted, true},
		{"to all routers", "pfcm-icmpv6-pause", then(group(0x02, 2), resum), BadDestination, true},
		{"to all nodes of the site", "pfcm-hop-by-hop", group(0x05, 1), BadDestination, true},
		{"hop limit before the source", "pfcm-hop-by-hop", then(set(7, 64), set(8, 0x20)), BadHopLimit, true},
		{"another source than the router identifier", "ppfc-icmpv6-all", then(set(23, 9), resum), BadSource, true},
		{"another source than the router identifier", "ppfc-icmpv4-all", then(set(15, 9), resum), BadSource, true},
		{"any source over UDP", "ppfc-udp6-all", then(set(23, 9), resum), Accepted, true},

		{"ICMPv6 in IPv4", "ppfc-icmpv4-all", then(set(9, 58), set(20, 201), resum), FamilyMix, false},
		{"ICMPv4 in IPv6", "ppfc-icmpv6-all", then(set(6, 1), set(40, 253)), FamilyMix, false},
		{"PFCM in IPv4", "ppfc-icmpv4-all", then(set(9, 58), set(20, 200), resum), FamilyMix, false},

		{"version 0", "rate-advice-v6", then(set(67, 0), refinish), BadVersion, true},
		{"version 2", "rate-advice-v4", then(set(47, 2), refinish), BadVersion, true},
		{"rate 0", "rate-advice-v6", then(set(62, 0), set(63, 0), refinish), ZeroRate, true},
		{"destination QP", "rate-advice-v6", then(set(68, 1), refinish), BadQueuePair, true},
		{"source QP", "rate-advice-v6", then(set(72, 1), refinish), BadQueuePair, true},
		{"ICRC", "rate-advice-v6", then(set(62, 7), resum), BadICRC, true},
		{"ICRC", "cnp-v4", then(set(56, 7), resum), BadICRC, true},
		{"no BECN", "cnp-v6", then(set(52, 0), resum), NoBECN, true},
		{"no BECN in advice", "rate-advice-v6", then(set(52, 0x40), resum), Accepted, true},

		{"one octet short", "pfcm-icmpv6-pause", longer(-1), Short, false},
		{"one octet long", "pfcm-icmpv6-pause", longer(1), BadLength, false},
		{"four octets long", "ppfc-icmpv6-qps", longer(4), UnknownFlowLength, false},
		{"flow of 4", "ppfc-icmpv6-all", longer(4), OneWordFlow, true},
		{"flow of 4", "ppfc-udp4-all", longer(4), OneWordFlow, true},
		{"flow of 4, checksum", "ppfc-icmpv4-all", then(longer(4), set(22, 7)), BadChecksum, true},
		{"flow of 12", "ppfc-icmpv4-ports", longer(4), UnknownFlowLength, false},
		{"flow of 7", "ppfc-udp4-ports", longer(-1), UnknownFlowLength, false},
		{"flow of 24", "ppfc-udp6-qps", longer(8), UnknownFlowLength, false},
		{"no router", "ppfc-icmpv4-all", longer(-4), Short, false},
		{"no destination", "ppfc-udp6-all", longer(-1), Short, false},
		{"short", "rate-advice-v6", longer(-4), Short, false},
		{"long", "cnp-v6", longer(4), BadLength, false},
		{"UDP length", "ppfc-udp6-qps", set(45, 56), BadLength, false},
		{"UDP length", "cnp-v4", set(25, 39), BadLength, false},
		{"option data too short", "pfcm-hop-by-hop", set(45, 41), Short, false},
		{"option data behind the header", "pfcm-hop-by-hop", set(45, 43), Short, false},
		{"option length", "pfcm-hop-by-hop", set(43, 200), BadLength, false},
	} {
		t.Run(tt.name+" in "+tt.sample, func(t *testing.T) {
			s := sampleOf(t, tt.sample)
			var p Packet
			err := p.ParseIP(tt.change(packetOf(t, s)), DefaultCodePoints())
			if got := reasonOf(t, err); got != tt.want {
				t.Errorf("%v, want %v", got, tt.want)
			}
			if read := p.Kind != KindNone; read != tt.read {
				t.Errorf("read: %v, want %v", read, tt.read)
			}
			if tt.read && p.Kind != s.message.Kind() {
				t.Errorf("read as %v", p.Kind)
			}
		})
	}
}

func reasonOf(t *testing.T, err error) Reason {
	t.Helper()
	var refused *Error
	switch {
	case err == nil:
		return Accepted
	case errors.As(err, &refused):
		return refused.Reason
	}
	t.Fatalf("%v is no *Error", err)
	return Accepted
}

//conformance:draft-yang/pfc-queue
func TestPFCFrames(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func([]byte) []byte
		want   error
		kind   Kind
	}{
		{"as built", set(14, 1), nil, KindPFC},
		{"to a station", set(0, 2), &errs[KindPFC][BadDestination], KindPFC},
		{"pause of the link", set(14, 0), ErrNotNotification, KindNone},
		{"pause of the link, its opcode alone", func(b []byte) []byte { return set(14, 0)(b)[:16] }, ErrNotNotification, KindNone},
		{"reserved octet of the vector", set(16, 0xff), nil, KindPFC},
		{"cut", func(b []byte) []byte { return b[:33] }, &errs[KindPFC][Short], KindNone},
		{"without padding", func(b []byte) []byte { return b[:34] }, nil, KindPFC},
		{"no opcode", func(b []byte) []byte { return b[:15] }, &errs[KindNone][Short], KindNone},
	} {
		var p Packet
		err := p.Parse(tt.change(packetOf(t, sampleOf(t, "pfc-pause"))), DefaultCodePoints())
		if err != tt.want || p.Kind != tt.kind {
			t.Errorf("%s: %v, read %v; want %v, %v", tt.name, err, p.Kind, tt.want, tt.kind)
		}
	}
}

// TestNothingIsReadOfACut looks at every prefix of every message: as long as
// the IP header announces more, it is too short, whatever else it is.
func TestNothingIsReadOfACut(t *testing.T) {
	var p Packet
	for _, s := range samples() {
		b := frameOf(t, s)
		whole := ethernetLen + pfcLen
		if s.message.Kind() != KindPFC {
			whole = ethernetLen + len(packetOf(t, s))
		}
		for n := range whole {
			if r := reasonOf(t, p.Parse(b[:n], DefaultCodePoints())); r != Short || p.Kind != KindNone {
				t.Errorf("%s: %d of %d octets: %v, read %v", s.name, n, len(b), r, p.Kind)
			}
		}
	}
}

// TestNothingBadIsBuilt: what the receive rules refuse is not sent, and the
// buffer stays as it was.
func TestNothingBadIsBuilt(t *testing.T) {
	mapped := netip.AddrFrom16(hostA4.As16())
	e6, e4 := envelope(KindPPFC, node6, gate6), envelope(KindPPFC, node4, gate4)
	good := sampleOf(t, "ppfc-icmpv6-qps").message.(*PPFC)
	change := func(f func(*PPFC)) *PPFC { m := *good; f(&m); return &m }
	pfcm := PFCM{StreamID: 1, Action: Pause, Destination: hostB6, Source: hostA6}
	advice := RateAdvice{Rate: 1, Version: 1}
	for _, tt := range []struct {
		name string
		m    Message
		e    Envelope
		want Reason
	}{
		{"reserved action", PFCM{StreamID: 1, Action: 0xc0, Destination: hostB6, Source: hostA6}, e6, ReservedAction},
		{"stream 0", PFCM{Destination: hostB6, Source: hostA6}, e6, ZeroStream},
		{"IPv4 flow", PFCM{StreamID: 1, Destination: hostB4, Source: hostA4}, e6, FamilyMix},
		{"no address", PFCM{StreamID: 1, Destination: hostB6}, e6, FamilyMix},
		{"PFCM over IPv4", pfcm, e4, FamilyMix},
		{"IPv6 over IPv4", good, e4, FamilyMix},
		{"mixed", change(func(m *PPFC) { m.Destination = hostB4 }), e6, FamilyMix},
		{"router of the other family", change(func(m *PPFC) { m.RouterID = node4 }), e6, FamilyMix},
		{"mapped", change(func(m *PPFC) { m.Source = mapped }), e6, FamilyMix},
		{"flow form", change(func(m *PPFC) { m.Flow.Form = OneWord + 1 }), e6, UnknownFlowLength},
		{"flow QP", change(func(m *PPFC) { m.Flow.DstQP = 1 << 24 }), e6, BadQueuePair},
		{"envelope without addresses", advice, DefaultEnvelope(KindRateAdvice), FamilyMix},
		{"envelope of two families", advice, envelope(KindRateAdvice, node4, hostA6), FamilyMix},
		{"rate 0", RateAdvice{Version: 1}, e6, ZeroRate},
		{"version", RateAdvice{Rate: 1}, e6, BadVersion},
		{"QP", RateAdvice{Rate: 1, Version: 1, SourceQP: 1 << 24}, e6, BadQueuePair},
		{"QP of CNP", CNP{DestQP: 1 << 24}, e4, BadQueuePair},
		{"CNP without addresses", CNP{}, Envelope{}, FamilyMix},
	} {
		b, err := AppendFrame([]byte("x"), tt.m, &tt.e, DefaultCodePoints())
		if got := reasonOf(t, err); got != tt.want || string(b) != "x" {
			t.Errorf("%s: %v, want %v; buffer %q", tt.name, got, tt.want, b)
		}
	}
}

//conformance:draft-yang/hop-limit
func TestCheckHopLimit(t *testing.T) {
	for hop := range 256 {
		for k := range numKinds {
			want := Accepted
			if k == KindPFCM && hop != 255 {
				want = BadHopLimit
			}
			if got := CheckHopLimit(k, uint8(hop)); got != want {
				t.Errorf("%v, hop limit %d: %v", k, hop, got)
			}
		}
	}
}

// TestOtherPackets: a packet that is not a notification is reported as such, not as bad.
func TestOtherPackets(t *testing.T) {
	c := DefaultCodePoints()
	fragment := packetOf(t, sampleOf(t, "ppfc-icmpv4-all"))
	binary.BigEndian.PutUint16(fragment[6:], 0x2000)
	echo := set(40, 128)(packetOf(t, sampleOf(t, "pfcm-icmpv6-pause")))
	data := set(48, byte(roce.RCWriteOnly))(packetOf(t, sampleOf(t, "rate-advice-v6")))
	port := set(43, 53)(packetOf(t, sampleOf(t, "ppfc-udp6-all")))
	routed := withHeader(packetOf(t, sampleOf(t, "pfcm-icmpv6-pause")), protoRouting, []byte{4, 1, 0, 0, 0, 0})
	tunnel := roce.IPv6Header{NextHeader: 41, HopLimit: 255}.Append(nil)
	tunnel = append(tunnel, packetOf(t, sampleOf(t, "pfcm-icmpv6-pause"))...)
	setLength(tunnel)
	for name, b := range map[string][]byte{
		"fragment": fragment, "echo": echo, "data": data, "port": port, "segments left": routed, "tunnel": tunnel,
		"version": {0x10},
	} {
		var p Packet
		if err := p.ParseIP(b, c); err != ErrNotNotification || p.Kind != KindNone || p.Message() != nil {
			t.Errorf("%s: %v, read %v", name, err, p.Kind)
		}
	}
	var p Packet
	arp := make([]byte, 60)
	arp[12], arp[13] = 8, 6
	if err := p.Parse(arp, c); err != ErrNotNotification {
		t.Errorf("ARP: %v", err)
	}
}

// TestOtherCodePoints: a message with other code points is not a notification.
//
//conformance:draft-yang/icmp-type draft-yang/iana draft-xz/udp-port draft-zz/opcode
func TestOtherCodePoints(t *testing.T) {
	others := CodePoints{
		PFCMType: 100, PFCMOption: 0x1f, PPFCTypeV6: 101, PPFCTypeV4: 254, PPFCPort: 1022, RateAdviceOpcode: roce.RCAtomicWrite,
	}
	if err := others.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, s := range samples() {
		var p Packet
		err := p.Parse(frameOf(t, s), others)
		common := s.message.Kind() == KindCNP || s.message.Kind() == KindPFC
		if common != (err == nil) || !common && err != ErrNotNotification {
			t.Errorf("%s: %v", s.name, err)
		}
		b, err := AppendFrame(nil, s.message, &s.envelope, others)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Parse(b, others); err != nil {
			t.Errorf("%s with other code points: %v", s.name, err)
		}
	}
}

//conformance:draft-yang/option-type draft-xz/iana draft-zz/opcode
func TestCodePointsValidate(t *testing.T) {
	if err := DefaultCodePoints().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func(*CodePoints){
		"one type for two":   func(c *CodePoints) { c.PPFCTypeV6 = c.PFCMType },
		"Pad1":               func(c *CodePoints) { c.PFCMOption = 0 },
		"PadN":               func(c *CodePoints) { c.PFCMOption = 1 },
		"discard if unknown": func(c *CodePoints) { c.PFCMOption = 0x5e },
		"changes on the way": func(c *CodePoints) { c.PFCMOption = 0x3e },
		"tunnel limit":       func(c *CodePoints) { c.PFCMOption = 4 },
		"router alert":       func(c *CodePoints) { c.PFCMOption = 5 },
		"solicitation":       func(c *CodePoints) { c.PFCMType = 135 },
		"solicitation, PPFC": func(c *CodePoints) { c.PPFCTypeV6 = 135 },
		"echo":               func(c *CodePoints) { c.PPFCTypeV4 = 8 },
		"VXLAN":              func(c *CodePoints) { c.PPFCPort = 4789 },
		"no port":            func(c *CodePoints) { c.PPFCPort = 0 },
		"RoCE's port":        func(c *CodePoints) { c.PPFCPort = 4791 },
		"CNP's opcode":       func(c *CodePoints) { c.RateAdviceOpcode = roce.CNP },
		"opcode of a write":  func(c *CodePoints) { c.RateAdviceOpcode = roce.RCWriteOnlyImm },
	} {
		c := DefaultCodePoints()
		f(&c)
		if c.Validate() == nil {
			t.Errorf("%s: valid", name)
		}
	}
}

// The first and the last number of each range, and the numbers beside it.
//
//conformance:draft-yang/iana draft-yang/option-type draft-xz/iana draft-xz/udp-port
func TestCodePointsAtTheEndsOfTheirRanges(t *testing.T) {
	for name, tt := range map[string]struct {
		set          func(c *CodePoints, n uint16)
		taken, wrong []uint16
	}{
		"ICMPv6 type of PFCM": {func(c *CodePoints, n uint16) { c.PFCMType = uint8(n) }, []uint16{5, 126, 162, 254}, []uint16{4, 127, 161, 255}},
		"ICMPv6 type of PPFC": {func(c *CodePoints, n uint16) { c.PPFCTypeV6 = uint8(n) }, []uint16{5, 126, 162, 254}, []uint16{4, 127, 161, 255}},
		"ICMPv4 type":         {func(c *CodePoints, n uint16) { c.PPFCTypeV4 = uint8(n) }, []uint16{44, 255}, []uint16{43}},
		"option type": {func(c *CodePoints, n uint16) { c.PFCMOption = uint8(n) },
			[]uint16{2, 3, 6, 9, 14, 16, 19, 31}, []uint16{1, 4, 5, 7, 8, 15, 17, 18, 32}},
		"UDP port": {func(c *CodePoints, n uint16) { c.PPFCPort = n },
			[]uint16{1, 52, 54, 66, 69, 122, 124, 160, 163, 545, 548, 3783, 3786, 4738, 4741, 4783, 4785, 4788, 4792, 6080, 6082, 6342, 6344, 65535},
			[]uint16{0, 53, 67, 68, 123, 161, 162, 546, 547, 3784, 3785, 4739, 4740, 4784, 4789, 4791, 6081, 6343}},
		"opcode": {func(c *CodePoints, n uint16) { c.RateAdviceOpcode = roce.Opcode(n) }, []uint16{0x1d, 0xc0, 0xff}, []uint16{0x1c, 0x1e, 0xbf}},
	} {
		for i, n := range slices.Concat(tt.taken, tt.wrong) {
			c := DefaultCodePoints()
			if tt.set(&c, n); (c.Validate() == nil) != (i < len(tt.taken)) {
				t.Errorf("%s %d: %v", name, n, c.Validate())
			}
		}
	}
}

// An Ethernet header alone is whole, and of another protocol.
func TestHeaderAloneIsNoNotification(t *testing.T) {
	var p Packet
	frame := make([]byte, ethernetLen)
	frame[12], frame[13] = 0x08, 0x06 // ARP
	if err := p.Parse(frame, DefaultCodePoints()); !errors.Is(err, ErrNotNotification) {
		t.Errorf("14 octets: %v", err)
	}
	if err := p.Parse(frame[:ethernetLen-1], DefaultCodePoints()); errors.Is(err, ErrNotNotification) || err == nil {
		t.Errorf("13 octets: %v", err)
	}
}

// Packets that end with a header are whole, one octet less is short, and a header that claims more than there
// is, too.
func TestPacketsThatEndWithAHeader(t *testing.T) {
	const tcp, ah, options = 6, 51, 60
	four := func(protocol byte, total uint16, rest ...byte) []byte {
		b := make([]byte, ipv4Len)
		b[0], b[9] = 0x45, protocol
		binary.BigEndian.PutUint16(b[2:], total)
		return append(b, rest...)
	}
	six := func(next byte, length uint16, rest ...byte) []byte {
		b := make([]byte, ipv6Len)
		b[0], b[6] = 0x60, next
		binary.BigEndian.PutUint16(b[4:], length)
		return append(b, rest...)
	}
	header := func(octets int, first ...byte) []byte { return append(first, make([]byte, octets-len(first))...) }
	for name, tt := range map[string]struct {
		packet []byte
		want   Reason // Accepted: another packet, and whole
	}{
		"IPv4":                          {four(tcp, 20), Accepted},
		"IPv4, an octet less":           {four(tcp, 20)[:19], Short},
		"IPv4, a length below":          {four(tcp, 19), BadLength},
		"IPv4, a length above":          {four(tcp, 21), Short},
		"IPv4, AH":                      {four(ah, 32, header(12, tcp, 1)...), Accepted},
		"IPv4, AH, an octet less":       {four(ah, 31, header(11, tcp, 1)...), Short},
		"IPv4, AH of 16 octets":         {four(ah, 36, header(16, tcp, 2)...), Accepted},
		"IPv4, AH of 16 octets, cut":    {four(ah, 35, header(15, tcp, 2)...), Short},
		"IPv4, AH of 8 octets":          {four(ah, 32, header(12, tcp, 0)...), Short},
		"IPv4, UDP":                     {four(protoUDP, 28, header(8)...), Accepted},
		"IPv4, UDP, an octet less":      {four(protoUDP, 27, header(7)...), Short},
		"IPv4, UDP of 3 octets":         {four(protoUDP, 23, header(3)...), Short},
		"IPv6":                          {six(tcp, 0), Accepted},
		"IPv6, an octet less":           {six(tcp, 0)[:39], Short},
		"IPv6, options that are absent": {six(options, 0), Short},
		"IPv6, options":                 {six(options, 8, header(8, tcp, 0, 1, 4)...), Accepted},
		"IPv6, options, an octet less":  {six(options, 7, header(7, tcp, 0, 1, 4)...), Short},
		"IPv6, options of 16 octets":    {six(options, 8, header(8, tcp, 1, 1, 4)...), Short},
	} {
		var p Packet
		err := p.ParseIP(tt.packet, DefaultCodePoints())
		var bad *Error
		if whole := errors.Is(err, ErrNotNotification); whole != (tt.want == Accepted) || !whole && (!errors.As(err, &bad) || bad.Reason != tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
