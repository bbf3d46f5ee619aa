// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"net/netip"
	"os"
	"testing"

	"sluice/orchagent-ext/testbed/fabric"
)

// TestLabelOfJudgeIsThatOfTheDraft: the input of the draft's example, by the algorithm of its text.
func TestLabelOfJudgeIsThatOfTheDraft(t *testing.T) {
	src, dst := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	if got := literalLabel(0x123456, 0xabcdef, src, dst); got != 0x6cb3e {
		t.Errorf("label %#x", got)
	}
}

// TestJudgeReadsPacketsOfRealAdapters: each RoCEv2 packet of a capture is read, with a right ICRC,
// and a changed octet of its payload makes that wrong.
func TestJudgeReadsPacketsOfRealAdapters(t *testing.T) {
	frames := captured(t, "../captures/cm-rc-write-read-ipv4.pcap")
	packets := roce(frames)
	if len(packets) != 12 {
		t.Fatalf("%d packets, and tshark finds 12", len(packets))
	}
	for _, p := range packets {
		if !p.icrc {
			t.Errorf("%+v has a wrong ICRC", p)
		}
	}
	if first := packets[0]; first.srcQP != 1 || first.destQP != 1 || first.psn != 82 || first.sport != 55410 || first.opcode != udSendOnly {
		t.Errorf("the first packet is %+v", first)
	}
	if at := len(frames[0].Data) - icrcSize - 1; at > 0 {
		frames[0].Data[at] ^= 1
	}
	if roce(frames)[0].icrc {
		t.Error("a changed payload leaves the ICRC right")
	}
}

// captured reads a pcap file of Ethernet, little-endian.
func captured(t *testing.T, file string) (all []fabric.Frame) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for data = data[24:]; len(data) > 0; {
		n := binary.LittleEndian.Uint32(data[8:])
		all = append(all, fabric.Frame{Data: data[16 : 16+n]})
		data = data[16+n:]
	}
	return all
}
