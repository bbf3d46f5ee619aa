// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/wire/notify"
)

// MessageSender is a neighbor whose PFCM comes to flow control.
type MessageSender struct {
	Port uint32     // interface index
	Addr netip.Addr // link-local
}

// MessageConfig is which messages are received.
type MessageConfig struct {
	Codes notify.CodePoints

	// Senders are all whose PFCM flow control reads. That of other senders is only
	// counted.
	Senders []MessageSender

	// PPFCPeers are the senders whose PPFC to one of this switch's router ids (IPv4, IPv6)
	// flow control reads.
	PPFCPeers []netip.Prefix
	PPFCTo    [2]netip.Addr

	// PFCMMark and PPFCMark are the marks that the state of IPsec sets; 0: any mark will do.
	// Messages with another mark are refused.
	PFCMMark, PPFCMark uint32

	// PFCMRate and PPFCRate are how many messages of a kind each port may send.
	PFCMRate, PPFCRate MessageRate

	// PPFCRateBySource is how many PPFC each source address may send, which shares its port
	// with others.
	PPFCRateBySource MessageRate
}

// Octets of a packet from its IPv6 header on.
const (
	v6At         = -ip // the constants of filter.go count from the start of a frame
	v6Next       = v6NextHeader + v6At
	v6Length     = v6Next - 2
	v6Hops       = v6Next + 1
	v6Source     = v6Hops + 1
	v6Transport  = v6Payload + v6At
	icmpCode     = v6Transport + 1
	hopByHop     = 0
	destOptions  = 60
	protoAH      = 51 // RFC 4302
	protoICMPv6  = 58
	protoICMPv4  = 1
	v4Source     = 12
	maxPeers     = 100
	maxSenders   = 500 // in the kernel's program, which has room for 4,096 instructions
	packetRoom   = 1 << 11
	wholePacket  = 1 << 18
	ignorePacket = 0
)

// fast adds the conditions of candidates for flow control: a PFCM with hop limit
// 255 from a sender. The packet goes to the label candidate or other, by long jumps,
// since conditional ones reach 255 instructions only (struct sock_filter has 8-bit
// offsets).
//
//conformance:draft-yang/ipsec
func (c *MessageConfig) fast(p *assembly, candidate, other string) {
	p.add(bpf.LoadExtension{Num: bpf.ExtType})
	p.jump(unix.PACKET_OTHERHOST, "no", "")
	p.add(bpf.LoadAbsolute{Off: v6Hops, Size: 1})
	p.jump(255, "", "no")
	if c.PFCMMark != 0 {
		p.add(bpf.LoadExtension{Num: bpf.ExtMark})
		p.jump(c.PFCMMark, "", "no")
	}
	p.add(bpf.LoadAbsolute{Off: v6Next, Size: 1})
	p.jump(hopByHop, "sender", "")
	p.jump(destOptions, "sender", "")
	p.jump(protoAH, "sender", "") // the rest is read later
	p.jump(protoICMPv6, "", "no")
	p.add(bpf.LoadAbsolute{Off: v6Transport, Size: 1})
	p.jump(uint32(c.Codes.PFCMType), "", "no")
	p.add(bpf.LoadAbsolute{Off: icmpCode, Size: 1})
	p.jump(uint32(c.Codes.PFCMCode), "sender", "no")
	p.label("no")
	p.always(other)
	p.label("sender")
	if len(c.Senders) > maxSenders { // flow control compares the address itself, too
		p.whole(candidate, other)
		return
	}
	for _, s := range c.Senders {
		a := s.Addr.As16()
		p.add(bpf.LoadExtension{Num: bpf.ExtInterfaceIndex})
		p.skipUnless(s.Port, 5)
		p.add(bpf.LoadAbsolute{Off: v6Source + 8, Size: 4})
		p.skipUnless(binary.BigEndian.Uint32(a[8:]), 3)
		p.add(bpf.LoadAbsolute{Off: v6Source + 12, Size: 4})
		p.skipUnless(binary.BigEndian.Uint32(a[12:]), 1)
		p.always("whole")
	}
	p.always(other)
	p.label("whole")
	p.whole(candidate, other)
}

// whole adds the condition that a PFCM by ICMPv6 has its length and a right checksum (RFC
// 4443 section 2.3): others are refused before they wake the flow-control task.
func (p *assembly) whole(candidate, other string) {
	p.add(bpf.LoadAbsolute{Off: v6Next, Size: 1})
	p.jump(protoICMPv6, "", "whole-yes")
	p.add(bpf.LoadAbsolute{Off: v6Length, Size: 2})
	p.jump(notify.PFCMLen, "", "whole-no")
	// of the pseudo-header
	p.add(bpf.LoadConstant{Dst: bpf.RegX, Val: notify.PFCMLen + protoICMPv6})
	for at := uint32(v6Source); at < v6Transport+notify.PFCMLen; at += 2 {
		p.add(bpf.LoadAbsolute{Off: at, Size: 2}, bpf.ALUOpX{Op: bpf.ALUOpAdd}, bpf.TAX{})
	}
	for range 2 { // carries
		p.add(bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 16}, bpf.StoreScratch{Src: bpf.RegA, N: 0},
			bpf.TXA{}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xffff}, bpf.LoadScratch{Dst: bpf.RegX, N: 0}, bpf.ALUOpX{Op: bpf.ALUOpAdd}, bpf.TAX{})
	}
	p.jump(0xffff, "whole-yes", "")
	p.label("whole-no")
	p.always(other)
	p.label("whole-yes")
	p.always(candidate)
}

// skipUnless skips n instructions unless the accumulator has a value.
func (p *assembly) skipUnless(v uint32, n uint8) {
	p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipFalse: n})
}

// The results of a program that parts packets. A packet that ends before an octet that
// the program reads has result 0, the slow socket.
const (
	toSlow = iota
	toFast
)

// partProgram returns the program that selects candidates for the flow-control task among
// packets over IPv6.
func (c *MessageConfig) partProgram() []bpf.Instruction {
	p := newAssembly()
	c.fast(p, "fast", "ppfc")
	p.label("ppfc")
	c.ppfc6(p, "fast", "slow")
	return p.end("fast", toFast, "slow", toSlow)
}

// partProgram4 does for IPv4.
func (c *MessageConfig) partProgram4() []bpf.Instruction {
	p := newAssembly()
	c.ppfc4(p, "fast", "slow")
	return p.end("fast", toFast, "slow", toSlow)
}

// ppfc6 adds the conditions of a PPFC over IPv6 from a peer to this host.
func (c *MessageConfig) ppfc6(p *assembly, candidate, other string) {
	to := c.PPFCTo[1]
	if !to.Is6() || len(c.PPFCPeers) == 0 {
		p.always(other)
		return
	}
	c.forUs(p)
	p.add(bpf.LoadAbsolute{Off: v6Next, Size: 1})
	p.jump(protoAH, "ppfc-to", "")
	p.jump(protocolUDP, "ppfc-udp", "")
	p.jump(protoICMPv6, "", "ppfc-no")
	p.add(bpf.LoadAbsolute{Off: v6Transport, Size: 1})
	p.jump(uint32(c.Codes.PPFCTypeV6), "ppfc-to", "ppfc-no")
	p.label("ppfc-udp")
	p.add(bpf.LoadAbsolute{Off: v6Transport + udpDstPort, Size: 2})
	p.jump(uint32(c.Codes.PPFCPort), "ppfc-to", "ppfc-no")
	p.label("ppfc-no")
	p.always(other)
	p.label("ppfc-to")
	a := to.As16()
	c.fromPeers(p, v6Source, a[:], candidate, other)
}

// ppfc4 adds the conditions of a PPFC over IPv4 from a peer to this host.
func (c *MessageConfig) ppfc4(p *assembly, candidate, other string) {
	to := c.PPFCTo[0]
	if !to.Is4() || len(c.PPFCPeers) == 0 {
		p.always(other)
		return
	}
	c.forUs(p)
	p.add(bpf.LoadAbsolute{Off: v4Fragment + v6At, Size: 2}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0x3fff})
	p.jump(0, "", "ppfc-no")
	p.add(bpf.LoadMemShift{Off: 0}, bpf.LoadAbsolute{Off: v4Protocol + v6At, Size: 1})
	p.jump(protoAH, "ppfc-to", "")
	p.jump(protocolUDP, "ppfc-udp", "")
	p.jump(protoICMPv4, "", "ppfc-no")
	p.add(bpf.LoadIndirect{Off: 0, Size: 1})
	p.jump(uint32(c.Codes.PPFCTypeV4), "ppfc-to", "ppfc-no")
	p.label("ppfc-udp")
	p.add(bpf.LoadIndirect{Off: udpDstPort, Size: 2})
	p.jump(uint32(c.Codes.PPFCPort), "ppfc-to", "ppfc-no")
	p.label("ppfc-no")
	p.always(other)
	p.label("ppfc-to")
	a := to.As4()
	c.fromPeers(p, v4Source, a[:], candidate, other)
}

// forUs adds the conditions that a packet is for this host, and has the mark that PPFC
// requires.
func (c *MessageConfig) forUs(p *assembly) {
	p.add(bpf.LoadExtension{Num: bpf.ExtType})
	p.jump(unix.PACKET_OTHERHOST, "ppfc-no", "")
	if c.PPFCMark != 0 {
		p.add(bpf.LoadExtension{Num: bpf.ExtMark})
		p.jump(c.PPFCMark, "", "ppfc-no")
	}
}

// fromPeers adds that a packet's destination, which follows the source at an
// offset, is an address, and its source in one of the prefixes.
func (c *MessageConfig) fromPeers(p *assembly, source uint32, to []byte, candidate, other string) {
	for i := 0; i < len(to); i += 4 {
		p.add(bpf.LoadAbsolute{Off: source + uint32(len(to)+i), Size: 4})
		p.jump(binary.BigEndian.Uint32(to[i:]), "", "ppfc-elsewhere")
	}
	p.always("ppfc-peers")
	p.label("ppfc-elsewhere")
	p.always(other)
	p.label("ppfc-peers")
	if len(c.PPFCPeers) > maxPeers { // flow control compares the address itself, too
		p.always(candidate)
		return
	}
	for _, peer := range c.PPFCPeers {
		if a := peer.Addr().AsSlice(); len(a) == len(to) {
			p.skipUnlessIn(source, a, peer.Bits())
			p.always(candidate)
		}
	}
	p.always(other)
}

// skipUnlessIn skips the instruction behind it unless an address is in a prefix.
func (p *assembly) skipUnlessIn(at uint32, prefix []byte, bits int) {
	words := (bits + 31) / 32
	for i := range words {
		mask := ^uint32(0)
		if left := bits - 32*i; left < 32 {
			mask <<= 32 - left
		}
		p.add(bpf.LoadAbsolute{Off: at + uint32(4*i), Size: 4}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: mask})
		p.skipUnless(binary.BigEndian.Uint32(prefix[4*i:])&mask, uint8(3*(words-1-i)+1))
	}
}

// slowProgram returns the program that passes packets over IPv6 that may be messages.
func slowProgram(c *notify.CodePoints) []bpf.Instruction {
	p := newAssembly()
	p.add(bpf.LoadExtension{Num: bpf.ExtType})
	p.jump(unix.PACKET_OTHERHOST, "reject", "")
	p.add(bpf.LoadAbsolute{Off: v6Next, Size: 1})
	p.jump(hopByHop, "candidate", "")
	p.jump(destOptions, "candidate", "")
	p.jump(protoAH, "candidate", "")
	p.jump(protocolUDP, "udp", "")
	p.jump(protoICMPv6, "", "reject")
	p.add(bpf.LoadAbsolute{Off: v6Transport, Size: 1})
	p.jump(uint32(c.PFCMType), "candidate", "")
	p.jump(uint32(c.PPFCTypeV6), "candidate", "reject")
	p.label("udp")
	p.add(bpf.LoadAbsolute{Off: v6Transport + udpDstPort, Size: 2})
	p.jump(uint32(c.PPFCPort), "candidate", "reject")
	return p.end("candidate", wholePacket, "reject", ignorePacket)
}

// slowProgram4 returns the program that passes packets over IPv4 that may be messages.
func slowProgram4(c *notify.CodePoints) []bpf.Instruction {
	p := newAssembly()
	p.add(bpf.LoadExtension{Num: bpf.ExtType})
	p.jump(unix.PACKET_OTHERHOST, "reject", "")
	p.add(bpf.LoadAbsolute{Off: v4Fragment + v6At, Size: 2}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0x1fff})
	p.jump(0, "", "reject")
	p.add(bpf.LoadMemShift{Off: 0}, bpf.LoadAbsolute{Off: v4Protocol + v6At, Size: 1})
	p.jump(protoAH, "candidate", "")
	p.jump(protocolUDP, "udp", "")
	p.jump(protoICMPv4, "", "reject")
	p.add(bpf.LoadIndirect{Off: 0, Size: 1})
	p.jump(uint32(c.PPFCTypeV4), "candidate", "reject")
	p.label("udp")
	p.add(bpf.LoadIndirect{Off: udpDstPort, Size: 2})
	p.jump(uint32(c.PPFCPort), "candidate", "reject")
	return p.end("candidate", wholePacket, "reject", ignorePacket)
}

// Programs that pass every packet, and drop every packet.
var (
	all     = []bpf.Instruction{bpf.RetConstant{Val: wholePacket}}
	nothing = []bpf.Instruction{bpf.RetConstant{Val: ignorePacket}}
)

// end ends a program, which returns one value or the other.
func (p *assembly) end(one string, value uint32, other string, otherValue uint32) []bpf.Instruction {
	p.label(other)
	p.add(bpf.RetConstant{Val: otherValue})
	p.label(one)
	p.add(bpf.RetConstant{Val: value})
	return p.resolve()
}
