// SPDX-License-Identifier: Apache-2.0

package health

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"testing"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/roce"
)

// BenchmarkObserve64kFlowsWithHealth is the part of health in a packet of 65,536 directions in random
// order, as the packet path has them: in bursts, and without the times when they came. They are healthy:
// 32,768 connections, 64 between two hosts, with a packet every 33 us, of which every fourth is an
// acknowledgement, and the others are sends of 64 octets, with each PSN once. It includes some 15 ns in which the packet gets
// its headers. It leaves out what comes before, parsing and finding the flow, and what healthy connections of one
// size of messages lack: PSNs that are missing or repeated, marks, NAKs, reads, messages of several packets, and
// directions that come and go.
func BenchmarkObserve64kFlowsWithHealth(b *testing.B) {
	benchmarkObserve(b, 32768, Config{Untimed: true})
}

// BenchmarkObserve64kFlowsWithTimes is the same of packets whose times are known, as in a capture: with the
// times to acknowledgements.
func BenchmarkObserve64kFlowsWithTimes(b *testing.B) { benchmarkObserve(b, 32768, Config{}) }

// BenchmarkObserve128FlowsWithHealth is the same of 64 connections, which the processor's caches hold: the
// difference is waiting for memory.
func BenchmarkObserve128FlowsWithHealth(b *testing.B) {
	benchmarkObserve(b, 64, Config{Untimed: true})
}

func benchmarkObserve(b *testing.B, connections uint32, c Config) {
	const perPair, packets, burst = 64, 1 << 18, 32
	const source, destination = 8, 24 // in an IPv6 header
	random := rand.New(rand.NewPCG(1, 2))
	psn, perLap := make([]uint32, connections), make([]uint32, connections)
	type one struct {
		connection, psn uint32
		answer          bool
	}
	var traffic []one
	for i := range connections {
		psn[i] = random.Uint32N(1 << 24)
		traffic = append(traffic, one{i, psn[i], false}, one{i, psn[i], true})
		perLap[i] = 1
	}
	for len(traffic) < packets {
		i, answer := random.Uint32N(connections), random.IntN(4) == 0
		if !answer {
			psn[i], perLap[i] = (psn[i]+1)&psnMask, perLap[i]+1
		}
		traffic = append(traffic, one{i, psn[i], answer})
	}
	request, answer := benchPacket(b, 1, 2, roce.BTH{Opcode: roce.RCSendOnly, AckReq: true}, make([]byte, 64)), benchPacket(b, 2, 1, roce.BTH{Opcode: roce.RCAck}, roce.AETH{}.Append(nil))
	var requests, answers [burst]roce.Packet
	var requestIP, answerIP [burst][]byte // their octets
	for i := range burst {
		requests[i], requestIP[i] = request()
		answers[i], answerIP[i] = answer()
	}
	c.Capacity, c.Reserve = int(2*connections), int(2*connections)
	table := NewTable(c)
	all := requests
	var isAnswer [burst]bool
	var seen [burst]Seen

	step := func(n int) {
		for i := range all {
			t := traffic[(n+i)%packets]
			if isAnswer[i] != t.answer { // since a copy takes its time
				isAnswer[i] = t.answer
				if all[i] = requests[i]; t.answer {
					all[i] = answers[i]
				}
			}
			destQP, srcQP, slot := t.connection+1<<21, t.connection+1<<20, 2*int(t.connection)
			ip, from, to := requestIP[i], source, destination
			if t.answer {
				destQP, srcQP, slot = srcQP, destQP, slot+1
				ip, from, to = answerIP[i], destination, source
			}
			binary.BigEndian.PutUint16(ip[from+13:], uint16(t.connection/perPair))
			binary.BigEndian.PutUint16(ip[to+13:], uint16(t.connection/perPair))
			psn := t.psn + uint32((n+i)/packets)*perLap[t.connection] // PSNs go on rising
			bth := all[i].BTHBytes()
			binary.BigEndian.PutUint32(bth[4:], destQP)
			binary.BigEndian.PutUint32(bth[8:], psn&psnMask|binary.BigEndian.Uint32(bth[8:])&^psnMask)
			seen[i] = Seen{Time: int64(n + i), SrcQP: srcQP, From: flow.CM, Slot: slot}
		}
		table.ObserveBurst(all[:], seen[:], nil)
	}
	for n := 0; n < packets; n += burst {
		step(n)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += burst {
		step(packets + n)
	}
	b.StopTimer()
	if n := table.store.states.used(); n != int(2*connections) {
		b.Fatalf("%d directions", n)
	}
	for d := range table.All() {
		if d.Gaps+d.Duplicates+d.Restarts+d.Stalls+d.NAKed() != 0 || d.RTT() == nil && !c.Untimed && d.DestQP >= 1<<21 {
			b.Fatalf("%+v", d.Counters)
		}
	}
}

// BenchmarkMemory is what a direction takes, of 100,000 in a table that took its memory at once: a healthy one, one with
// a PSN that was missing, and one with many sizes of messages.
func BenchmarkMemory(b *testing.B) {
	const directions = 100_000
	for _, tt := range []struct {
		name  string
		psns  []uint32
		sizes int
	}{{"healthy", []uint32{0, 1, 2}, 1}, {"losses", []uint32{0, 2, 3}, 1}, {"sizes", []uint32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, 16}} {
		var packets []roce.Packet
		for i := range tt.psns {
			p, _ := benchPacket(b, 1, 2, roce.BTH{Opcode: roce.RCSendOnly}, make([]byte, 64*(1+i%tt.sizes)))()
			packets = append(packets, p)
		}
		b.Run(tt.name, func(b *testing.B) {
			for b.Loop() {
				before := heap()
				table := NewTable(Config{Capacity: directions, Reserve: directions, Untimed: true})
				for qp := range directions {
					for i, psn := range tt.psns {
						bth := packets[i].BTHBytes()
						binary.BigEndian.PutUint32(bth[4:], uint32(qp))
						binary.BigEndian.PutUint32(bth[8:], psn)
						table.Observe(&packets[i], Seen{Time: int64(qp), Slot: qp})
					}
				}
				b.ReportMetric(float64(heap()-before)/directions, "B/direction")
				runtime.KeepAlive(table)
			}
		})
	}
}

// heap returns the octets that are in use after a collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// benchPacket returns a function that makes the parsed packet of a header, each time in memory of its own,
// and its octets from the IP header on.
func benchPacket(tb testing.TB, src, dst byte, h roce.BTH, rest []byte) func() (roce.Packet, []byte) {
	return func() (p roce.Packet, b []byte) {
		b = roce.IPv6Header{NextHeader: 17, HopLimit: 64, Src: [16]byte{0xfd, 15: src}, Dst: [16]byte{0xfd, 15: dst}}.Append(nil)
		b = roce.UDPHeader{SrcPort: 0xc000, DstPort: roce.UDPPort}.Append(b)
		b, err := roce.Finish(append(h.Append(b), rest...), 0)
		if err == nil {
			err = p.ParseIP(b, len(b))
		}
		if err != nil {
			tb.Fatal(err)
		}
		return p, b
	}
}
