// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/notify"
)

// MessageSender is a neighbor whose PFCM comes to the fast lane.
type MessageSender struct {
	Port uint32     // interface index
	Addr netip.Addr // link-local
}

// MessageConfig is which messages are received.
type MessageConfig struct {
	Codes notify.CodePoints

	// Senders are all whose PFCM is looked at in the fast lane. That of others is
	// counted beside it.
	Senders []MessageSender

	// PFCMMark and PPFCMark are the marks that the state of IPsec sets; 0: none is
	// demanded. What has another mark is refused.
	PFCMMark, PPFCMark uint32
}

// Octets of a packet from its IPv6 header on.
const (
	v6At         = -ip // the constants of filter.go count from the start of a frame
	v6Next       = v6NextHeader + v6At
	v6Hops       = v6Next + 1
	v6Source     = v6Hops + 1
	v6Transport  = v6Payload + v6At
	icmpCode     = v6Transport + 1
	hopByHop     = 0
	destOptions  = 60
	protoICMPv6  = 58
	protoICMPv4  = 1
	maxSenders   = 500 // in the kernel's program, which has room for 4,096 instructions
	packetRoom   = 1 << 11
	wholePacket  = 1 << 18
	ignorePacket = 0
)

// fast adds what tells candidates of the fast lane: a PFCM with hop limit 255 from a
// sender. The packet goes to the label candidate or other, which may be far: conditional
// jumps reach 255 instructions.
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
	p.jump(protoICMPv6, "", "no")
	p.add(bpf.LoadAbsolute{Off: v6Transport, Size: 1})
	p.jump(uint32(c.Codes.PFCMType), "", "no")
	p.add(bpf.LoadAbsolute{Off: icmpCode, Size: 1})
	p.jump(uint32(c.Codes.PFCMCode), "sender", "no")
	p.label("no")
	p.always(other)
	p.label("sender")
	if len(c.Senders) > maxSenders { // the fast lane compares the address itself, too
		p.always(candidate)
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
		p.always(candidate)
	}
	p.always(other)
}

// skipUnless skips n instructions unless the accumulator has a value.
func (p *assembly) skipUnless(v uint32, n uint8) {
	p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipFalse: n})
}

// fastProgram lets candidates of the fast lane through.
func (c *MessageConfig) fastProgram() []bpf.Instruction {
	p := newAssembly()
	c.fast(p, "candidate", "reject")
	return p.end("candidate", "reject")
}

// slowProgram lets through what may be a message over IPv6 and is no candidate of the
// fast lane.
func (c *MessageConfig) slowProgram() []bpf.Instruction {
	p := newAssembly()
	c.fast(p, "reject", "slow")
	p.label("slow")
	p.add(bpf.LoadExtension{Num: bpf.ExtType})
	p.jump(unix.PACKET_OTHERHOST, "reject", "")
	p.add(bpf.LoadAbsolute{Off: v6Next, Size: 1})
	p.jump(hopByHop, "candidate", "")
	p.jump(destOptions, "candidate", "")
	p.jump(protocolUDP, "udp", "")
	p.jump(protoICMPv6, "", "reject")
	p.add(bpf.LoadAbsolute{Off: v6Transport, Size: 1})
	p.jump(uint32(c.Codes.PFCMType), "candidate", "")
	p.jump(uint32(c.Codes.PPFCTypeV6), "candidate", "reject")
	p.label("udp")
	p.add(bpf.LoadAbsolute{Off: v6Transport + udpDstPort, Size: 2})
	p.jump(uint32(c.Codes.PPFCPort), "candidate", "reject")
	return p.end("candidate", "reject")
}

// slowProgram4 lets through what may be a message over IPv4.
func (c *MessageConfig) slowProgram4() []bpf.Instruction {
	p := newAssembly()
	p.add(bpf.LoadExtension{Num: bpf.ExtType})
	p.jump(unix.PACKET_OTHERHOST, "reject", "")
	p.add(bpf.LoadAbsolute{Off: v4Fragment + v6At, Size: 2}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0x1fff})
	p.jump(0, "", "reject")
	p.add(bpf.LoadMemShift{Off: 0}, bpf.LoadAbsolute{Off: v4Protocol + v6At, Size: 1})
	p.jump(protocolUDP, "udp", "")
	p.jump(protoICMPv4, "", "reject")
	p.add(bpf.LoadIndirect{Off: 0, Size: 1})
	p.jump(uint32(c.Codes.PPFCTypeV4), "candidate", "reject")
	p.label("udp")
	p.add(bpf.LoadIndirect{Off: udpDstPort, Size: 2})
	p.jump(uint32(c.Codes.PPFCPort), "candidate", "reject")
	return p.end("candidate", "reject")
}

// end ends a program.
func (p *assembly) end(accept, reject string) []bpf.Instruction {
	p.label(reject)
	p.add(bpf.RetConstant{Val: ignorePacket})
	p.label(accept)
	p.add(bpf.RetConstant{Val: wholePacket})
	return p.resolve()
}
