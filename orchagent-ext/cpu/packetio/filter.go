// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"fmt"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/wire/roce"
)

// Octets of a frame, from the start of the header that they are in.
const (
	etherType     = 12 // of Ethernet, from the start of the frame
	tagLength     = 4
	ip            = 14 // from the start of the frame, less tags
	v4Fragment    = ip + 6
	v4Protocol    = ip + 9
	v6NextHeader  = ip + 6
	v6Payload     = ip + 40
	udpDstPort    = 2
	protocolUDP   = 17
	protocolIPv4  = 4 // in IPv6: a tunnel
	protocolIPv6  = 41
	routingHeader = 43 // of IPv6
)

// roceInstructions let RoCEv2 through: UDP port 4791 over IPv4 and IPv6, after up to two
// VLAN tags. IPv6 packets with a routing header or a tunnel pass, too, since the reader
// parses their contents. Later fragments are dropped: they lack the UDP header.
func roceInstructions() []bpf.Instruction {
	const accept, drop = "accept", "drop"
	p := newAssembly()
	p.add(bpf.LoadConstant{Dst: bpf.RegX, Val: 0}, bpf.LoadAbsolute{Off: etherType, Size: 2})
	for _, tag := range []uint32{unix.ETH_P_8021Q, unix.ETH_P_8021AD} {
		p.jump(tag, "tagged", "")
	}
	p.jump(0, "network", "network")
	p.label("tagged")
	p.add(bpf.LoadConstant{Dst: bpf.RegX, Val: tagLength}, bpf.LoadAbsolute{Off: etherType + tagLength, Size: 2})
	p.jump(unix.ETH_P_8021Q, "", "network")
	p.add(bpf.LoadConstant{Dst: bpf.RegX, Val: 2 * tagLength}, bpf.LoadAbsolute{Off: etherType + 2*tagLength, Size: 2})
	p.label("network")
	p.jump(unix.ETH_P_IP, "v4", "")
	p.jump(unix.ETH_P_IPV6, "v6", drop)

	p.label("v4")
	p.add(bpf.LoadIndirect{Off: v4Protocol, Size: 1})
	p.jump(protocolUDP, "", drop)
	p.add(bpf.LoadIndirect{Off: v4Fragment, Size: 2}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0x1fff})
	p.jump(0, "", drop)
	p.add(
		bpf.LoadIndirect{Off: ip, Size: 1}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0x0f}, bpf.ALUOpConstant{Op: bpf.ALUOpShiftLeft, Val: 2},
		bpf.ALUOpX{Op: bpf.ALUOpAdd}, bpf.TAX{},
		bpf.LoadIndirect{Off: ip + udpDstPort, Size: 2})
	p.jump(roce.UDPPort, accept, drop)

	p.label("v6")
	p.add(bpf.LoadIndirect{Off: v6NextHeader, Size: 1})
	for _, inside := range []uint32{routingHeader, protocolIPv6, protocolIPv4} {
		p.jump(inside, accept, "")
	}
	p.jump(protocolUDP, "", drop)
	p.add(bpf.LoadIndirect{Off: v6Payload + udpDstPort, Size: 2})
	p.jump(roce.UDPPort, accept, drop)

	p.label(drop)
	p.add(bpf.RetConstant{Val: 0})
	p.label(accept)
	p.add(bpf.RetConstant{Val: 1 << 18})
	return p.resolve()
}

// assembly is a program whose jumps go to labels; "" is the next instruction.
type assembly struct {
	code  []bpf.Instruction
	jumps []struct {
		at      int
		yes, no string
	}
	far    map[int]string // jumps that may go further than 255 instructions
	labels map[string]int
}

// newAssembly returns an empty program.
func newAssembly() *assembly { return &assembly{far: map[int]string{}, labels: map[string]int{}} }

// always jumps to a label, however far.
func (p *assembly) always(label string) {
	p.far[len(p.code)] = label
	p.code = append(p.code, bpf.Jump{})
}

// add appends instructions.
func (p *assembly) add(i ...bpf.Instruction) { p.code = append(p.code, i...) }

// label names the place of the next instruction.
func (p *assembly) label(name string) { p.labels[name] = len(p.code) }

// jump goes to yes if the accumulator is equal, else to no; "" is the next instruction.
func (p *assembly) jump(equal uint32, yes, no string) {
	p.jumps = append(p.jumps, struct {
		at      int
		yes, no string
	}{len(p.code), yes, no})
	p.code = append(p.code, bpf.JumpIf{Cond: bpf.JumpEqual, Val: equal})
}

// resolve fills in the distances of jumps. They are forward and at most 255 instructions,
// the range of the kernel's struct sock_filter.
func (p *assembly) resolve() []bpf.Instruction {
	for _, j := range p.jumps {
		skip := func(label string) uint8 {
			if label == "" {
				return 0
			}
			return uint8(p.labels[label] - j.at - 1)
		}
		i := p.code[j.at].(bpf.JumpIf)
		i.SkipTrue, i.SkipFalse = skip(j.yes), skip(j.no)
		p.code[j.at] = i
	}
	for at, label := range p.far {
		p.code[at] = bpf.Jump{Skip: uint32(p.labels[label] - at - 1)}
	}
	return p.code
}

// roceFilter returns the filter of RoCEv2 for a socket.
func roceFilter() ([]unix.SockFilter, error) { return assemble("RoCEv2", roceInstructions()) }

// assemble returns a program in the form that the kernel loads; what names it in errors.
func assemble(what string, program []bpf.Instruction) ([]unix.SockFilter, error) {
	raw, err := bpf.Assemble(program)
	if err != nil {
		return nil, fmt.Errorf("make the filter for %s: %w", what, err)
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return filter, nil
}
