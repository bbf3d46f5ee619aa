// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"testing"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/roce"
)

// packet is what a RoCEv2 packet from host A to host B is made of.
type packet struct {
	qp, psn, label uint32
}

// frame is the packet as host A sends it.
func (l *leaf) frame(p packet) []byte {
	l.t.Helper()
	b := roce.Ethernet{Dst: roce.MAC(l.A.Peer().MAC), Src: roce.MAC(l.A.MAC), EtherType: roce.EtherTypeIPv6}.Append(nil)
	ip := len(b)
	b = roce.IPv6Header{FlowLabel: p.label, NextHeader: 17, HopLimit: 64, Src: fabric.HostA.Addr().As16(), Dst: fabric.HostB.Addr().As16()}.Append(b)
	b = roce.UDPHeader{SrcPort: 49152, DstPort: roce.UDPPort}.Append(b)
	b = roce.BTH{Opcode: roce.RCSendMiddle, PKey: 0xffff, DestQP: p.qp, PSN: p.psn}.Append(b)
	b, err := roce.Finish(append(b, make([]byte, 128)...), ip)
	if err != nil {
		l.t.Fatal(err)
	}
	return b
}

// frame4 is the packet over IPv4.
func (l *leaf) frame4(p packet) []byte {
	l.t.Helper()
	b := roce.Ethernet{Dst: roce.MAC(l.A.Peer().MAC), Src: roce.MAC(l.A.MAC), EtherType: roce.EtherTypeIPv4}.Append(nil)
	ip := len(b)
	b = roce.IPv4Header{TTL: 64, Protocol: 17, Src: fabric.HostA4.Addr().As4(), Dst: fabric.HostB4.Addr().As4()}.Append(b)
	b = roce.UDPHeader{SrcPort: 49152, DstPort: roce.UDPPort}.Append(b)
	b = roce.BTH{Opcode: roce.RCSendMiddle, PKey: 0xffff, DestQP: p.qp, PSN: p.psn}.Append(b)
	b, err := roce.Finish(append(b, make([]byte, 128)...), ip)
	if err != nil {
		l.t.Fatal(err)
	}
	return b
}

// sessions are n packets of each of 64 queue pairs.
func (l *leaf) sessions(n int) [][]byte {
	var frames [][]byte
	for psn := range n {
		for qp := range 64 {
			frames = append(frames, l.frame(packet{qp: 0x100 + uint32(qp), psn: uint32(psn)}))
		}
	}
	return frames
}

// send sends frames from host A, and returns what arrives at host B.
func (l *leaf) send(frames [][]byte) []fabric.Frame {
	l.t.Helper()
	c, err := l.B.Capture()
	if err != nil {
		l.t.Fatal(err)
	}
	sender, err := l.A.Sender()
	if err != nil {
		l.t.Fatal(err)
	}
	defer sender.Close()
	ctx, cancel := context.WithTimeout(l.t.Context(), patience)
	defer cancel()
	for i, f := range frames {
		if err := sender.Send(f); err != nil {
			l.t.Fatal(err)
		}
		if i%64 == 63 {
			if err := c.Wait(ctx, i-63); err != nil {
				l.t.Fatalf("%d of %d packets arrived", c.Len(), i+1)
			}
		}
	}
	if err := c.Wait(ctx, len(frames)); err != nil {
		l.t.Errorf("%d of %d packets arrived", c.Len(), len(frames))
	}
	arrived, err := c.Stop()
	if err != nil {
		l.t.Fatal(err)
	}
	return arrived
}

// labels counts the packets that have the right label, none, and another.
func labels(t testing.TB, arrived []fabric.Frame, a flow.Algorithm) (right, none, wrong int) {
	t.Helper()
	var p roce.Packet
	for _, f := range arrived {
		if err := p.Parse(f.Data, len(f.Data)); err != nil {
			t.Fatal(err)
		}
		if got, want, ok := p.ICRC(); !ok || got != want {
			t.Errorf("ICRC of %v is %#x, want %#x", p.BTH(), got, want)
		}
		switch p.FlowLabel() {
		case a.Label(0, p.DestQP(), p.Src16(), p.Dst16()):
			right++
		case 0:
			none++
		default:
			wrong++
		}
	}
	return right, none, wrong
}

// allLabelled reports whether every packet that arrives has its label, where the
// method writes labels.
func (l *leaf) allLabelled() {
	l.t.Helper()
	l.learned()
	l.checkLabels(2, flow.DraftLiteral)
}

// noneLabelled reports whether none has.
func (l *leaf) noneLabelled() {
	l.t.Helper()
	if right, none, wrong := labels(l.t, l.send(l.sessions(2)), flow.DraftLiteral); right+wrong > 0 {
		l.t.Errorf("labels: %d right, %d missing, %d wrong; want none", right, none, wrong)
	}
}
