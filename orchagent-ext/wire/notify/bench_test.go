// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"testing"
)

// benchmarked are the samples that the benchmarks take, by the names that they
// give them: of each message and carrier the longest form.
var benchmarked = []struct{ name, sample string }{
	{"pfcm-icmpv6", "pfcm-icmpv6-reduce"},
	{"pfcm-hop-by-hop", "pfcm-hop-by-hop"},
	{"pfcm-destination-options", "pfcm-destination-options"},
	{"ppfc-icmpv6", "ppfc-icmpv6-qps"},
	{"ppfc-icmpv4", "ppfc-icmpv4-qps"},
	{"ppfc-udp6", "ppfc-udp6-qps"},
	{"ppfc-udp4", "ppfc-udp4-qps"},
	{"rate-advice-v6", "rate-advice-v6"},
	{"rate-advice-v4", "rate-advice-v4"},
	{"cnp", "cnp-v6"},
	{"pfc", "pfc-pause"},
}

func sampleOf(tb testing.TB, name string) sample {
	for _, s := range samples() {
		if s.name == name {
			return s
		}
	}
	tb.Fatalf("no sample %s", name)
	return sample{}
}

// packetOf is the sample from its IP header on; PFC as Ethernet frame.
func packetOf(tb testing.TB, s sample) []byte {
	b, err := appendWhole(nil, s)
	if err != nil {
		tb.Fatalf("%s: %v", s.name, err)
	}
	return b
}

func appendWhole(b []byte, s sample) ([]byte, error) {
	if s.message.Kind() == KindPFC {
		return AppendFrame(b, s.message, &s.envelope, DefaultCodePoints())
	}
	return s.message.AppendPacket(b, &s.envelope, DefaultCodePoints())
}

func BenchmarkEncode(b *testing.B) {
	for _, bm := range benchmarked {
		b.Run(bm.name, func(b *testing.B) {
			s, c := sampleOf(b, bm.sample), DefaultCodePoints()
			buf := make([]byte, 0, 256)
			frame := s.message.Kind() == KindPFC
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if frame {
					buf, err = AppendFrame(buf[:0], s.message, &s.envelope, c)
				} else {
					buf, err = s.message.AppendPacket(buf[:0], &s.envelope, c)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, bm := range benchmarked {
		b.Run(bm.name, func(b *testing.B) {
			s, c := sampleOf(b, bm.sample), DefaultCodePoints()
			packet := packetOf(b, s)
			frame := s.message.Kind() == KindPFC
			var p Packet
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if frame {
					err = p.Parse(packet, c)
				} else {
					err = p.ParseIP(packet, c)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
