// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"testing"

	"sluice/orchagent-ext/wire/roce"
)

// Neither good nor bad packets cost an allocation, whatever is asked of them.
func TestNoAllocation(t *testing.T) {
	var p roce.Packet
	for i, sh := range shapes {
		m := packets(specs[i%len(specs)], sh).Example(i)
		parse := func() {
			for n := range len(m.frame) + 1 {
				if p.Parse(m.frame[:n], len(m.frame)) == nil {
					touch(&p)
				}
				_ = p.Parse(m.frame[:n], n)
			}
		}
		if n := testing.AllocsPerRun(1, parse); n != 0 {
			t.Errorf("%v, %v: %v allocations", m.want.BTH.Opcode, sh, n)
		}
	}
}

func TestFinishAllocatesNothingInABufferWithRoom(t *testing.T) {
	m := packets(specs[0], shape{hull: plain6}).Example(1)
	buf := make([]byte, 0, 1024)
	finish := func() {
		b, err := roce.Finish(append(buf, m.frame[:len(m.frame)-roce.ICRCLen]...), m.ip)
		if err != nil || len(b) != len(m.frame) {
			t.Errorf("%d octets, %v", len(b), err)
		}
	}
	if n := testing.AllocsPerRun(100, finish); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// touch calls every method that reads the packet.
func touch(p *roce.Packet) (sum int) {
	for _, ok := range [...]bool{p.Is4(), p.Tunnelled(), p.Fragment(), p.Complete(), p.AckReq(), p.Opcode().Known(), p.Opcode().IsResponse()} {
		if ok {
			sum++
		}
	}
	src, dst, src16, dst16 := p.Src(), p.Dst(), p.Src16(), p.Dst16()
	bth := p.BTH()
	xrceth, _ := p.XRCETH()
	deth, _ := p.DETH()
	feth, _ := p.FETH()
	reth, _ := p.RETH()
	atomic, _ := p.AtomicETH()
	aeth, _ := p.AETH()
	atomicAck, _ := p.AtomicAckETH()
	imm, _ := p.ImmDt()
	ieth, _ := p.IETH()
	cm, _ := p.CM()
	icrc, _, _ := p.ICRC()
	sum += len(p.LinkHeader()) + len(p.BTHBytes()) + len(p.Payload()) + p.Len() + len(p.Opcode().String()) + int(p.Opcode().Service())
	sum += src.BitLen() + dst.BitLen() + int(src16[0]) + int(dst16[0]) + int(p.TrafficClass()) + int(p.HopLimit()) + int(p.SrcPort())
	sum += int(p.PKey()) + int(p.DestQP()) + int(p.PSN()) + int(p.FlowLabel()) + int(bth.PSN) + int(icrc)
	sum += int(xrceth.XRCSRQ) + int(deth.QKey) + int(feth.Bits) + int(reth.RKey) + int(atomic.RKey) + int(aeth.MSN)
	return sum + int(atomicAck.Original) + int(imm.Data) + int(ieth.RKey) + int(cm.LocalCommID)
}
