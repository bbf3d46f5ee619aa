// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"

	"pgregory.net/rapid"

	"sluice/orchagent-ext/wire/roce"
)

// made is a packet together with what Parse must find in it.
type made struct {
	frame []byte
	ip    int // offset of the IP header that carries UDP
	udp   int
	want  decoded
	spans []span // the headers in the order of the packet
}

// span says where a header ends.
type span struct {
	header roce.Header
	end    int
}

func (m *made) mark(h roce.Header) { m.spans = append(m.spans, span{h, len(m.frame)}) }

// packets generates packets of one opcode and one shape.
func packets(s spec, sh shape) *rapid.Generator[made] {
	return rapid.Custom(func(t *rapid.T) made { return makePacket(t, s, sh) })
}

// anyPacket generates packets of any opcode and shape.
var anyPacket = rapid.Custom(func(t *rapid.T) made {
	return makePacket(t, rapid.SampledFrom(specs).Draw(t, "opcode"), rapid.SampledFrom(shapes).Draw(t, "shape"))
})

// whole generates packets that carry an ICRC.
var whole = anyPacket.Filter(func(m made) bool { return !m.want.Fragment })

func makePacket(t *rapid.T, s spec, sh shape) made {
	m := made{want: decoded{Is4: sh.v4, Tunnelled: len(sh.tunnel) > 0, Fragment: sh.first, Complete: !sh.first}}
	m.frame = makeEthernet(t, sh).Append(nil)
	m.want.Link = m.frame
	m.spans = []span{{roce.HeaderEthernet, 14}}
	for i := range sh.tags {
		m.spans = append(m.spans, span{roce.HeaderVLAN, 14 + 4*(i+1)})
	}
	outer := len(m.frame)
	var around []int
	for i, h := range sh.tunnel {
		next := uint8(ipv6InIP)
		if i == len(sh.tunnel)-1 && sh.v4 {
			next = ipInIP
		}
		around = append(around, len(m.frame))
		m.appendIPv6(t, h.extensions, next)
	}

	m.ip = len(m.frame)
	if sh.v4 {
		m.appendIPv4(t, sh.options, sh.ah)
	} else {
		m.appendIPv6(t, sh.extensions, udp)
	}
	m.udp = len(m.frame)
	m.want.SrcPort = draw[uint16](t)
	m.frame = roce.UDPHeader{SrcPort: m.want.SrcPort, DstPort: roce.UDPPort}.Append(m.frame)
	m.mark(roce.HeaderUDP)
	m.appendTransport(t, s)
	if sh.first {
		m.cut(s)
	}
	for _, ip := range around {
		binary.BigEndian.PutUint16(m.frame[ip+4:], uint16(len(m.frame)-ip-40))
	}
	m.want.Len = len(m.frame) - outer
	return m
}

func makeEthernet(t *rapid.T, sh shape) roce.Ethernet {
	first := sh.hull
	if len(sh.tunnel) > 0 {
		first = sh.tunnel[0]
	}
	e := roce.Ethernet{Dst: mac(t), Src: mac(t), EtherType: roce.EtherTypeIPv6}
	if first.v4 {
		e.EtherType = roce.EtherTypeIPv4
	}
	for i := range sh.tags {
		tpid := rapid.SampledFrom([]uint16{0x8100, 0x88a8}).Draw(t, "TPID")
		e.Tags[i] = roce.VLANTag{TPID: tpid, TCI: draw[uint16](t)}
	}
	return e
}

func (m *made) appendIPv4(t *rapid.T, options, ah bool) {
	h := roce.IPv4Header{
		TOS: draw[uint8](t), ID: draw[uint16](t), Fragment: rapid.SampledFrom([]uint16{0, 0x4000}).Draw(t, "flags"),
		TTL: draw[uint8](t), Protocol: udp, Src: address4(t), Dst: address4(t),
	}
	if options {
		n := 4 * rapid.IntRange(1, 10).Draw(t, "words of options")
		h.Options = append([]byte{0x5e, byte(n)}, octets(t, n-2)...) // experimental (RFC 4727)
	}
	m.frame = h.Append(m.frame)
	m.mark(roce.HeaderIPv4)
	m.want.Src, m.want.Dst, m.want.Segments = netip.AddrFrom4(h.Src), netip.AddrFrom4(h.Dst), false
	m.path(m.want.Src, m.want.Dst, h.TOS, h.TTL, 0)
	if ah {
		m.frame[m.ip+9] = authentication
		m.frame = appendAH(t, m.frame, udp)
		m.mark(roce.HeaderAH)
	}
}

// path notes what the outermost IP header says.
func (m *made) path(src, dst netip.Addr, trafficClass, hopLimit uint8, label uint32) {
	if w := &m.want; !w.PathSrc.IsValid() {
		w.PathSrc, w.PathDst, w.TrafficClass, w.HopLimit, w.FlowLabel = src, dst, trafficClass, hopLimit, label
	}
}

func (m *made) appendIPv6(t *rapid.T, extensions []uint8, last uint8) {
	next := append(extensions[:len(extensions):len(extensions)], last)
	h := roce.IPv6Header{
		TrafficClass: draw[uint8](t), FlowLabel: draw[uint32](t) & 0xfffff, NextHeader: next[0],
		HopLimit: draw[uint8](t), Src: address6(t), Dst: address6(t),
	}
	final, segments := h.Dst, false
	m.frame = h.Append(m.frame)
	m.mark(roce.HeaderIPv6)
	for i, kind := range extensions {
		switch kind {
		case fragment:
			id := draw[uint32](t)
			m.frame = binary.BigEndian.AppendUint32(append(m.frame, next[i+1], 0, 0, 0), id)
		case routing:
			m.frame, final, segments = appendSRH(t, m.frame, next[i+1], final)
		case authentication:
			m.frame = appendAH(t, m.frame, next[i+1])
		default:
			m.frame = appendOptions(t, m.frame, next[i+1])
		}
		m.mark(extensionHeaders[kind])
	}
	m.want.Src, m.want.Dst, m.want.Segments = netip.AddrFrom16(h.Src), netip.AddrFrom16(final), segments
	m.path(m.want.Src, netip.AddrFrom16(h.Dst), h.TrafficClass, h.HopLimit, h.FlowLabel)
}

// appendAH appends an authentication header (RFC 4302) with a check value of 8 to 24
// octets; a multiple of 8 octets in all, as IPv6 wants it.
func appendAH(t *rapid.T, b []byte, next uint8) []byte {
	words := rapid.SampledFrom([]int{3, 5, 7}).Draw(t, "words of the check value")
	return append(append(b, next, byte(words+1), 0, 0), octets(t, 8+4*words)...)
}

// appendOptions appends an options header that holds one PadN.
func appendOptions(t *rapid.T, b []byte, next uint8) []byte {
	more := rapid.IntRange(0, 3).Draw(t, "longer by 8 octets")
	b = append(b, next, byte(more), 1, byte(4+8*more))
	return append(b, make([]byte, 4+8*more)...)
}

// appendSRH appends a segment routing header and returns the final
// destination, too, and whether segments are left: then it is the first entry of the
// list.
func appendSRH(t *rapid.T, b []byte, next uint8, dst [16]byte) ([]byte, [16]byte, bool) {
	n := rapid.IntRange(1, 3).Draw(t, "segments")
	left := rapid.IntRange(0, n).Draw(t, "segments left")
	list := octets(t, 16*n)
	if left > 0 {
		dst = [16]byte(list)
	}
	b = append(b, next, byte(2*n), 4, byte(left), byte(n-1), 0, 0, 0)
	return append(b, list...), dst, left > 0
}

// cut makes a finished packet the first fragment of several: it ends at the
// first 8-octet boundary behind the extended headers.
func (m *made) cut(s spec) {
	be := binary.BigEndian
	var length int
	if ip := m.frame[m.ip:]; m.want.Is4 {
		length = m.udp + (8+s.payload+7)&^7
		be.PutUint16(ip[2:], uint16(length-m.ip))
		be.PutUint16(ip[6:], 0x2000)
		be.PutUint16(ip[10:], 0)
		be.PutUint16(ip[10:], roce.Checksum(0, ip[:m.udp-m.ip]))
	} else {
		at := m.fragmentHeader()
		length = at + 8 + (m.udp-at-8+8+s.payload+7)&^7
		be.PutUint16(ip[4:], uint16(length-m.ip-40))
		m.frame[at+3] |= 1
	}
	m.frame = m.frame[:length]
	m.want.Payload = m.frame[m.udp+8+s.payload:]
}

// fragmentHeader is the offset of the IPv6 fragment header.
func (m *made) fragmentHeader() int {
	next, at := m.frame[m.ip+6], m.ip+40
	for next != fragment {
		length := 8 + 8*int(m.frame[at+1])
		if next == authentication {
			length = 8 + 4*int(m.frame[at+1])
		}
		next, at = m.frame[at], at+length
	}
	return at
}

func draw[T any](t *rapid.T) T { return rapid.Make[T]().Draw(t, fmt.Sprintf("%T", *new(T))) }

// octets draws n of them as one number: nothing depends on any single one, and
// a draw of each would take most of the time of a test.
func octets(t *rapid.T, n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "octets"), 0))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func address4(t *rapid.T) [4]byte  { return [4]byte(octets(t, 4)) }
func address6(t *rapid.T) [16]byte { return [16]byte(octets(t, 16)) }
func mac(t *rapid.T) roce.MAC      { return roce.MAC(octets(t, 6)) }
