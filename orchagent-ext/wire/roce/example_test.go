// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"

	"sluice/orchagent-ext/wire/roce"
)

func ExamplePacket_Parse() {
	frame := exampleWrite()
	var p roce.Packet // reused for every packet
	switch err := p.Parse(frame, len(frame)); {
	case errors.Is(err, roce.ErrNotRoCE):
		fmt.Println("another protocol")
		return
	case err != nil:
		fmt.Println("malformed:", err)
		return
	}
	fmt.Printf("%v -> %v\n", p.Src(), p.Dst())
	fmt.Printf("%v to queue pair %#x, PSN %d\n", p.Opcode(), p.DestQP(), p.PSN())
	if reth, ok := p.RETH(); ok {
		fmt.Printf("writes %d octets to %#x\n", reth.Length, reth.VA)
	}
	got, want, ok := p.ICRC()
	fmt.Println("ICRC right:", ok && got == want)

	fmt.Println(p.Parse(frame[:60], len(frame)))
	// Output:
	// 2001:db8::1 -> 2001:db8::2
	// RC_RDMA_WRITE_ONLY to queue pair 0xabcdef, PSN 77
	// writes 8 octets to 0x1000
	// ICRC right: true
	// roce: UDP header: cut
}

func ExampleFinish() {
	src, dst := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	b := roce.IPv6Header{NextHeader: 17, HopLimit: 64, Src: src.As16(), Dst: dst.As16()}.Append(nil)
	b = roce.UDPHeader{SrcPort: 0xc000, DstPort: roce.UDPPort}.Append(b)
	b = roce.BTH{Opcode: roce.RCAck, PKey: 0xffff, DestQP: 0x123456, PSN: 77}.Append(b)
	b = roce.AETH{Syndrome: 0x1f, MSN: 1}.Append(b)
	b, err := roce.Finish(b, 0) // lengths, ICRC, UDP checksum
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(hex.Dump(b[40:]))
	// Output:
	// 00000000  c0 00 12 b7 00 1c c5 04  11 00 ff ff 00 12 34 56  |..............4V|
	// 00000010  00 00 00 4d 1f 00 00 01  dd 0d ca c0              |...M........|
}

// exampleWrite is an RDMA write of 8 octets.
func exampleWrite() []byte {
	src, dst := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	b := roce.Ethernet{EtherType: roce.EtherTypeIPv6}.Append(nil)
	ip := len(b)
	b = roce.IPv6Header{NextHeader: 17, HopLimit: 64, Src: src.As16(), Dst: dst.As16()}.Append(b)
	b = roce.UDPHeader{SrcPort: 0xc000, DstPort: roce.UDPPort}.Append(b)
	b = roce.BTH{Opcode: roce.RCWriteOnly, PKey: 0xffff, DestQP: 0xabcdef, PSN: 77}.Append(b)
	b = roce.RETH{VA: 0x1000, RKey: 7, Length: 8}.Append(b)
	b, err := roce.Finish(append(b, "8 octets"...), ip)
	if err != nil {
		panic(err)
	}
	return b
}
