// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/roce"
)

// packet makes a RoCEv2/IPv6 frame.
func packet(t *testing.T, label, destQP, psn uint32, deth *roce.DETH) []byte {
	t.Helper()
	b := roce.Ethernet{EtherType: roce.EtherTypeIPv6}.Append(nil)
	b = roce.IPv6Header{FlowLabel: label, NextHeader: 17, HopLimit: 64, Src: [16]byte{0x20, 15: 1}, Dst: [16]byte{0x20, 15: 2}}.Append(b)
	b = roce.UDPHeader{SrcPort: 0xc000, DstPort: roce.UDPPort}.Append(b)
	h := roce.BTH{Opcode: roce.RCWriteMiddle, PKey: 0xffff, DestQP: destQP, PSN: psn}
	if deth != nil {
		h.Opcode = roce.UDSendOnly
	}
	if b = h.Append(b); deth != nil {
		b = deth.Append(b)
	}
	b, err := roce.Finish(append(b, "payload of words"...), 14)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// forwarded returns the frame as routers and a labelling switch leave it.
func forwarded(frame []byte, label uint32) []byte {
	b := bytes.Clone(frame)
	b[14+7] -= 2
	copy(b, "other MACs..")
	var p roce.Packet
	_ = p.Parse(b, len(b))
	p.SetFlowLabel(label)
	return b
}

func TestJudgeFindsChangedAndMissingPackets(t *testing.T) {
	const label = 0x12345
	one, two := packet(t, 0, 7, 1, nil), packet(t, 0, 7, 2, nil)
	changed := func(b []byte, at int) []byte {
		b = bytes.Clone(b)
		b[at] ^= 1
		return b
	}
	good := forwarded(one, label)
	for name, tt := range map[string]struct {
		sent, arrived [][]byte
		want          verdict
	}{
		"all well":          {[][]byte{one, two}, [][]byte{forwarded(two, label), good}, verdict{Checked: 2, Right: 2}},
		"wrong label":       {[][]byte{one, two}, [][]byte{good, forwarded(two, 0)}, verdict{Checked: 2, Right: 1}},
		"lost":              {[][]byte{one, two}, [][]byte{good}, verdict{Checked: 1, Right: 1, Lost: 1}},
		"nothing arrived":   {[][]byte{one, two}, nil, verdict{Lost: 2}},
		"twice":             {[][]byte{one}, [][]byte{good, good}, verdict{Checked: 1, Right: 1, Foreign: 1}},
		"sent twice":        {[][]byte{one, one}, [][]byte{good, good}, verdict{Checked: 2, Right: 2}},
		"of another":        {[][]byte{one}, [][]byte{good, forwarded(two, label)}, verdict{Checked: 1, Right: 1, Foreign: 1}},
		"no RoCEv2":         {[][]byte{one}, [][]byte{good, []byte("short")}, verdict{Checked: 1, Right: 1, Foreign: 1}},
		"payload changed":   {[][]byte{one}, [][]byte{changed(good, len(good)-6)}, verdict{ICRCBad: 1, Lost: 1, Foreign: 1}},
		"ICRC changed":      {[][]byte{one}, [][]byte{changed(good, len(good)-1)}, verdict{ICRCBad: 1, Lost: 1, Foreign: 1}},
		"UDP sum changed":   {[][]byte{one}, [][]byte{changed(good, 14+40+7)}, verdict{Lost: 1, Foreign: 1}},
		"traffic class set": {[][]byte{one}, [][]byte{changed(good, 14)}, verdict{Lost: 1, Foreign: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var arrived []fabric.Frame
			for _, b := range tt.arrived {
				arrived = append(arrived, fabric.Frame{Data: b})
			}
			got, err := judge(tt.sent, func(*roce.Packet) uint32 { return label }, arrived)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(verdict{}, "FirstWrong")); diff != "" {
				t.Error(diff)
			}
			if (got.FirstWrong == "") != (got.Right == got.Checked) {
				t.Errorf("%d of %d labels right, and the wrong one is %q", got.Right, got.Checked, got.FirstWrong)
			}
		})
	}
}

func TestLabelsAt(t *testing.T) {
	label := func(srcQP, destQP uint32) uint32 {
		return flow.DraftLiteral.Label(srcQP, destQP, [16]byte{0x20, 15: 1}, [16]byte{0x20, 15: 2})
	}
	rc, labelled := packet(t, 0, 7, 1, nil), packet(t, 5, 7, 1, nil)
	ud := packet(t, 0, 7, 1, &roce.DETH{SrcQP: 9})
	for method, want := range map[string][]uint32{
		methodCompute: {label(0, 7), 5, label(9, 7)},
		methodRewrite: {label(0, 7), 5, 0}, // an entry matches any source queue pair of datagrams
		"hash":        {0, 5, 0},
	} {
		of := labelsAt(method, flow.DraftLiteral)
		for i, frame := range [][]byte{rc, labelled, ud} {
			var p roce.Packet
			if err := p.Parse(frame, len(frame)); err != nil {
				t.Fatal(err)
			}
			if got := of(&p); got != want[i] {
				t.Errorf("%s: packet %d gets %#x, want %#x", method, i, got, want[i])
			}
		}
	}
}
