// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"math/rand/v2"
	"testing"
	"time"
)

func key(qp uint32) *Key { return &Key{Src: [16]byte{15: 1}, Dst: [16]byte{15: 2}, DestQP: qp} }

func TestProbationTellsOfAFlowThatIsSeenAgain(t *testing.T) {
	p := NewProbation()
	now := int64(time.Hour)
	var told []uint32
	for range 20 {
		now += int64(time.Millisecond)
		k := key(7)
		k.SrcPort = uint16(now) // whatever it is, the flow is one
		if n, tell := p.See(k, now); tell {
			told = append(told, n)
		}
	}
	if want := []uint32{2, 4, 8, 16}; len(told) != len(want) || told[3] != 16 {
		t.Errorf("told at %v, want %v", told, want)
	}
	if n, tell := p.See(key(7), now+int64(250*time.Millisecond)); n != 21 || !tell {
		t.Errorf("a quarter of a second later: %d, told %v", n, tell)
	}
	if n, tell := p.See(key(7), now+int64(11*time.Second)); n != 1 || tell {
		t.Errorf("10 s without a packet later: %d, told %v", n, tell)
	}
	if n, _ := p.See(key(7), now); n != 1 {
		t.Errorf("a clock that is set back: %d", n)
	}
}

// TestProbationUnderAFlood: 60,000 random queue pairs a second hardly ever pass for
// flows, and the flows among them are told of within 3 s. A set that is full may forget
// one of them, and counts it from 1 then.
func TestProbationUnderAFlood(t *testing.T) {
	const flows = 100 // each twice a second
	p := NewProbation()
	random := rand.New(rand.NewPCG(1, 2))
	told := 0
	var toldAt [flows]int
	for i := range 600000 { // 10 s
		now := int64(i) * int64(time.Second) / 60000
		if i%(30000/flows) == 0 {
			flow := i / (30000 / flows) % flows
			if _, tell := p.See(key(0xffff00+uint32(flow)), now); tell && toldAt[flow] == 0 {
				toldAt[flow] = i
			}
		}
		if _, tell := p.See(key(random.Uint32N(0xf00000)), now); tell {
			told++
		}
	}
	for flow, at := range toldAt {
		if at == 0 || at > 180000 {
			t.Errorf("flow %d was first told of at packet %d (0: never)", flow, at)
		}
	}
	if told > 600000/50 {
		t.Errorf("%d of 600,000 random queue pairs were told of", told)
	}
	t.Logf("%d of 600,000 random queue pairs came twice within the table's memory", told)
}

func TestProbationAllocatesNothing(t *testing.T) {
	p, k, now := NewProbation(), key(1), int64(0)
	if n := testing.AllocsPerRun(1000, func() { now++; k.DestQP++; p.See(k, now) }); n != 0 {
		t.Errorf("%v allocations a packet", n)
	}
}

func BenchmarkProbation(b *testing.B) {
	p, k := NewProbation(), key(0)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range b.N {
		k.DestQP = random.Uint32N(1 << 24)
		p.See(k, int64(i)*16000)
	}
}
