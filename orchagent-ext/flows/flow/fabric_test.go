// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"sluice/orchagent-ext/wire/roce"
)

// connection is one that the simulated fabric knows the truth about: queue pair
// a of host 1 asks queue pair b of host 2.
type connection struct {
	a, b        uint32
	psn         uint32
	outstanding []uint32 // PSNs that ask for an answer, the oldest first
	asks        bool     // its requests pass the observer
	answers     bool     // its answers do
}

// fabric says how the simulated traffic behaves, and what of it is seen.
type fabric struct {
	connections int
	zero        int     // so many of them start at PSN 0, the others anywhere
	steps       int     // packets
	window      int     // requests outstanding at most
	message     int     // packets a message; the last one asks for an answer
	loss        float64 // share of packets that the observer misses
	sample      int     // the observer sees one of so many packets
	reorder     float64 // share of packets that change places with the next
	reads       float64 // share of messages that are reads, answered by several packets
	oneWay      float64 // share of connections of which only one direction passes
	seed        uint64
}

// packet of the simulation, before the observer has lost some.
type simulated struct {
	forward bool
	h       roce.BTH
	rest    []byte
	hidden  bool
}

// run lets the fabric send, and returns the table that watched it.
func (s fabric) run(t testing.TB) (*Table, []connection) {
	rng := rand.New(rand.NewPCG(s.seed, 1))
	connections := make([]connection, s.connections)
	for i := range connections {
		c := connection{a: 100 + uint32(i), b: 5000 + uint32(i), asks: true, answers: true}
		if i >= s.zero {
			c.psn = rng.Uint32N(1 << 24)
		}
		if rng.Float64() < s.oneWay {
			c.asks = rng.IntN(2) == 0
			c.answers = !c.asks
		}
		connections[i] = c
	}
	var sent []simulated
	for len(sent) < s.steps {
		c := &connections[rng.IntN(len(connections))]
		if len(c.outstanding) > 0 && (len(c.outstanding) >= s.window || rng.IntN(2) == 0) {
			// One answer may acknowledge several messages.
			n := rng.IntN(len(c.outstanding))
			sent = append(sent, simulated{false, roce.BTH{Opcode: roce.RCAck, DestQP: c.a, PSN: c.outstanding[n]}, roce.AETH{}.Append(nil), !c.answers})
			c.outstanding = c.outstanding[n+1:]
			continue
		}
		if rng.Float64() < s.reads {
			sent = append(sent, simulated{true, roce.BTH{Opcode: roce.RCReadRequest, DestQP: c.b, PSN: c.psn}, roce.RETH{}.Append(nil), !c.asks})
			for i := range uint32(3) {
				op := [...]roce.Opcode{roce.RCReadResponseFirst, roce.RCReadResponseMiddle, roce.RCReadResponseLast}[i]
				rest := roce.AETH{}.Append(nil)
				if i == 1 {
					rest = nil
				}
				sent = append(sent, simulated{false, roce.BTH{Opcode: op, DestQP: c.a, PSN: (c.psn + i) & 0xffffff}, rest, !c.answers})
			}
			c.psn = (c.psn + 3) & 0xffffff
			c.outstanding = nil
			continue
		}
		for i := range s.message {
			sent = append(sent, simulated{true, roce.BTH{Opcode: roce.RCSendMiddle, DestQP: c.b, PSN: c.psn, AckReq: i == s.message-1}, nil, !c.asks})
			if i == s.message-1 {
				c.outstanding = append(c.outstanding, c.psn)
			}
			c.psn = (c.psn + 1) & 0xffffff
		}
	}
	for i := range sent[1:] {
		if rng.Float64() < s.reorder {
			sent[i], sent[i+1] = sent[i+1], sent[i]
		}
	}
	table := NewTable(Config{Capacity: 4 * s.connections})
	for i, p := range sent {
		if p.hidden || rng.Float64() < s.loss || rng.IntN(s.sample) != 0 {
			continue
		}
		src, dst := uint16(1), uint16(2)
		if !p.forward {
			src, dst = dst, src
		}
		observe(t, table, frame(t, src, dst, p.h, p.rest), int64(i))
		if i%8 == 0 { // no pair is wrong at any time
			if _, wrong, _ := judge(table, connections); wrong > 0 {
				t.Fatalf("%+v: packet %d: a wrong pair", s, i)
			}
		}
	}
	return table, connections
}

// judge counts right and unknown source QPs of the requests' flows, and the
// wrong ones of all flows.
func judge(table *Table, connections []connection) (right, wrong, unknown int) {
	truth := map[uint32]uint32{}
	for _, c := range connections {
		truth[c.a], truth[c.b] = c.b, c.a
	}
	for f := range table.All() {
		switch qp, from := table.SrcQP(f); {
		case from == None:
			if f.DestQP >= 5000 {
				unknown++
			}
		case qp != truth[f.DestQP]:
			wrong++
		case f.DestQP >= 5000:
			right++
		}
	}
	return right, wrong, unknown
}

// TestNeverAWrongPair is the rule that learning must not break, whatever the
// traffic and whatever is missing of what the observer sees.
func TestNeverAWrongPair(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(rt, "connections")
		s := fabric{
			connections: n, zero: rapid.IntRange(0, n).Draw(rt, "start at PSN 0"),
			steps: rapid.IntRange(10, 1500).Draw(rt, "packets"), window: rapid.IntRange(1, 16).Draw(rt, "window"), message: rapid.IntRange(1, 6).Draw(rt, "message"),
			loss: rapid.Float64Range(0, 0.5).Draw(rt, "loss"), sample: rapid.IntRange(1, 20).Draw(rt, "sample"),
			reorder: rapid.Float64Range(0, 0.2).Draw(rt, "reorder"), reads: rapid.Float64Range(0, 0.5).Draw(rt, "reads"),
			seed: rapid.Uint64().Draw(rt, "seed"),
		}
		table, connections := s.run(t)
		if _, wrong, _ := judge(table, connections); wrong > 0 {
			rt.Fatalf("%d wrong pairs", wrong)
		}
	})
}

// TestSixtyFourPairsFromPSNZero is what NCCL looks like.
func TestSixtyFourPairsFromPSNZero(t *testing.T) {
	for seed := range uint64(10) {
		s := fabric{connections: 64, zero: 64, steps: 20000, window: 8, message: 4, sample: 1, seed: seed}
		if _, wrong, _ := judge(s.run(t)); wrong > 0 {
			t.Errorf("seed %d: %d wrong pairs", seed, wrong)
		}
	}
}

// TestRandomPSNsAreLearned: where the PSNs tell connections apart, nearly all of
// them become known, also when the observer misses some packets.
func TestRandomPSNsAreLearned(t *testing.T) {
	for _, loss := range []float64{0, 0.05} {
		total := 0
		for seed := range uint64(20) {
			s := fabric{connections: 8, steps: 2000, window: 8, message: 2, loss: loss, sample: 1, reads: 0.1, seed: seed}
			right, wrong, unknown := judge(s.run(t))
			if wrong > 0 || right+unknown != 8 {
				t.Errorf("seed %d: %d right, %d wrong, %d unknown", seed, right, wrong, unknown)
			}
			total += right
		}
		t.Logf("loss %.2f: %d of 160 known", loss, total)
		if total < 150 {
			t.Errorf("loss %.2f: %d of 160 connections known, want nearly all", loss, total)
		}
	}
}

// TestOneWayConnections: of some connections only requests pass the observer,
// of other flows only answers, as between the spines of a fabric. PSNs that start
// anywhere keep them apart.
func TestOneWayConnections(t *testing.T) {
	for seed := range uint64(30) {
		s := fabric{connections: 30, steps: 6000, window: 8, message: 2, sample: 1, oneWay: 0.7, seed: seed}
		if _, wrong, _ := judge(s.run(t)); wrong > 0 {
			t.Errorf("seed %d: %d wrong pairs", seed, wrong)
		}
	}
}
