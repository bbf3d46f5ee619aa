// SPDX-License-Identifier: Apache-2.0

package roce

import "testing"

// benchmarkPacket is an RC write of 1024 octets over IPv6, as gen makes them.
func benchmarkPacket(tb testing.TB) []byte {
	b := Ethernet{EtherType: EtherTypeIPv6}.Append(nil)
	ip := len(b)
	b = IPv6Header{NextHeader: protoUDP, HopLimit: 64, Src: [16]byte{0x20, 1, 15: 1}, Dst: [16]byte{0x20, 1, 15: 2}}.Append(b)
	b = UDPHeader{SrcPort: 0xc000, DstPort: UDPPort}.Append(b)
	b = BTH{Opcode: RCWriteOnly, PKey: 0xffff, DestQP: 0x1234, PSN: 77, AckReq: true}.Append(b)
	b = RETH{VA: 1 << 40, RKey: 7, Length: 1024}.Append(b)
	b, err := Finish(append(b, make([]byte, 1024)...), ip)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func BenchmarkParse(b *testing.B) {
	frame := benchmarkPacket(b)
	var p Packet
	b.ReportAllocs()
	for b.Loop() {
		if err := p.Parse(frame, len(frame)); err != nil {
			b.Fatal(err)
		}
		sink += p.DestQP() + p.PSN()
	}
}

func BenchmarkICRC(b *testing.B) {
	frame := benchmarkPacket(b)
	var p Packet
	if err := p.Parse(frame, len(frame)); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		if got, want, ok := p.ICRC(); !ok || got != want {
			b.Fatal("wrong ICRC")
		}
	}
}

func BenchmarkFinish(b *testing.B) {
	frame := benchmarkPacket(b)
	buf := make([]byte, 0, 2048)
	b.ReportAllocs()
	for b.Loop() {
		buf = append(buf[:0], frame[:len(frame)-ICRCLen]...)
		out, err := Finish(buf, ethernetLen)
		if err != nil {
			b.Fatal(err)
		}
		sink += uint32(len(out))
	}
}

var sink uint32
