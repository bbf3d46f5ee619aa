// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"testing"

	"sluice/orchagent-ext/wire/roce"
)

// frame builds an Ethernet frame with RoCEv2/IPv6 between two hosts.
func frame(tb testing.TB, src, dst uint16, h roce.BTH, rest []byte) []byte {
	tb.Helper()
	b := roce.Ethernet{EtherType: roce.EtherTypeIPv6}.Append(nil)
	ip := len(b)
	b = roce.IPv6Header{NextHeader: 17, HopLimit: 64, Src: host(src), Dst: host(dst)}.Append(b)
	b = roce.UDPHeader{SrcPort: 0xc000, DstPort: roce.UDPPort}.Append(b)
	b, err := roce.Finish(append(h.Append(b), rest...), ip)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func host(n uint16) (a [16]byte) {
	a[0], a[1] = 0x20, 0x01
	binary.BigEndian.PutUint16(a[14:], n)
	return a
}

// BenchmarkObserve64kFlows parses and observes packets of 65,536 flows in
// random order, in bursts as the packet path does: 32,768 connections, of which
// every fourth packet is an answer. The packets lie in a small ring, as they do where they are received.
func BenchmarkObserve64kFlows(b *testing.B) { benchmarkObserve(b, 1<<24) }

// BenchmarkObserve64kFlowsFromPSNZero is the same where all PSNs start at 0, so
// that no answer ever proves a source queue pair, and each is tried.
func BenchmarkObserve64kFlowsFromPSNZero(b *testing.B) { benchmarkObserve(b, 1) }

func benchmarkObserve(b *testing.B, startPSNs uint32) {
	const connections, packets, perLap = 32768, 1 << 18, 32
	rng := rand.New(rand.NewPCG(1, 2))
	psn := make([]uint32, connections)
	for i := range psn {
		psn[i] = rng.Uint32N(startPSNs)
	}
	var traffic []benchPacket
	for i := range uint32(connections) {
		traffic = append(traffic, benchPacket{i, psn[i], false}, benchPacket{i, psn[i], true})
	}
	for len(traffic) < packets {
		i := rng.Uint32N(connections)
		answer := rng.IntN(4) == 0
		if !answer {
			psn[i] = (psn[i] + 1) & 0xffffff
		}
		traffic = append(traffic, benchPacket{i, psn[i], answer})
	}
	ring := newBenchRing(b)
	table := NewTable(Config{Capacity: 65536})
	var parsed [burstSize]roce.Packet
	observe := func(n int) {
		for i := range parsed {
			next := traffic[(n+i)&(packets-1)]
			next.psn += uint32((n + i) / packets * perLap) // PSNs go on rising
			f := ring.packet(i, next)
			if err := parsed[i].Parse(f, len(f)); err != nil {
				b.Fatal(err)
			}
		}
		table.ObserveBurst(parsed[:], int64(n), nil)
	}
	for n := 0; n < packets; n += burstSize {
		observe(n)
	}
	if table.Len() != 2*connections {
		b.Fatalf("%d flows", table.Len())
	}
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += burstSize {
		observe(packets + n)
	}
	b.StopTimer()
	if learned := table.Stats().LearnedAck; startPSNs > 1 && b.N > 8*packets && learned < connections {
		b.Errorf("%d of %d connections learned", learned, 2*connections)
	}
}

// burstSize is how many packets the packet path takes at once.
const burstSize = 32

// benchPacket is a request of a connection, or the answer to it.
type benchPacket struct {
	connection, psn uint32
	answer          bool
}

// benchRing holds frames that are filled in turn.
type benchRing struct{ requests, answers [64][]byte }

func newBenchRing(tb testing.TB) *benchRing {
	r := &benchRing{}
	for i := range r.requests {
		r.requests[i] = frame(tb, 0, 0, roce.BTH{Opcode: roce.RCSendOnly}, make([]byte, 64))
		r.answers[i] = frame(tb, 0, 0, roce.BTH{Opcode: roce.RCAck}, roce.AETH{}.Append(nil))
	}
	return r
}

func (r *benchRing) packet(n int, t benchPacket) []byte {
	const perPair, src, dst, qp, psn = 64, 14 + 8, 14 + 24, 14 + 40 + 8 + 4, 14 + 40 + 8 + 8
	be := binary.BigEndian
	f, from, to, destQP := r.requests[n%64], src, dst, t.connection+1<<21
	if t.answer {
		f, from, to, destQP = r.answers[n%64], dst, src, t.connection+1<<20
	}
	be.PutUint16(f[from+14:], uint16(2*(t.connection/perPair)))
	be.PutUint16(f[to+14:], uint16(2*(t.connection/perPair)+1))
	be.PutUint32(f[qp:], destQP)
	be.PutUint32(f[psn:], t.psn&0xffffff)
	return f
}

// BenchmarkMillionFlows fills a table with a million flows, each a connection
// of its own, and reports what it takes of memory.
func BenchmarkMillionFlows(b *testing.B) {
	const flows = 1_000_000
	f := frame(b, 1, 2, roce.BTH{Opcode: roce.RCSendOnly}, nil)
	var p roce.Packet
	if err := p.Parse(f, len(f)); err != nil {
		b.Fatal(err)
	}
	bth := p.BTHBytes()
	for b.Loop() {
		before := heap()
		table := NewTable(Config{Capacity: flows})
		for i := range uint32(flows) {
			binary.BigEndian.PutUint32(bth[4:], i)
			table.Observe(&p, 0)
		}
		if table.Len() != flows {
			b.Fatalf("%d flows", table.Len())
		}
		b.ReportMetric(float64(heap()-before)/(1<<20), "MiB/Mflow")
		runtime.KeepAlive(table)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkLabelDraftLiteral(b *testing.B) { benchmarkLabel(b, DraftLiteral) }
func BenchmarkLabelCRC32(b *testing.B)        { benchmarkLabel(b, CRC32) }

func benchmarkLabel(b *testing.B, a Algorithm) {
	src, dst := host(1), host(2)
	for b.Loop() {
		sink = a.Label(0x123456, sink, src, dst)
	}
}

var sink uint32
