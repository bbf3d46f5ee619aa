// SPDX-License-Identifier: Apache-2.0

package ways

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"sluice/orchagent-ext/cli/evenness"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/testbed/traffic"
	"sluice/orchagent-ext/wire/roce"
)

// generated returns the packets of a configuration, each with its time in ns.
func generated(t *testing.T, c traffic.Config) (packets []roce.Packet, times []int64) {
	t.Helper()
	err := traffic.Generate(c, func(at time.Time, frame []byte) error {
		var p roce.Packet
		frame = bytes.Clone(frame)
		packets, times = append(packets, p), append(times, at.UnixNano())
		return packets[len(packets)-1].Parse(frame, len(frame))
	})
	if err != nil {
		t.Fatal(err)
	}
	return packets, times
}

// Sizes by Zipf's law, in bursts with pauses: flows move in the pauses, and only then.
func TestPlacedFlowsMoveInPauses(t *testing.T) {
	packets, _ := generated(t, traffic.Config{Pairs: 1, QPs: 64, Packets: 1280, Payload: 4, Seed: 1, Start: time.Unix(1, 0)})
	rank := map[uint32]uint64{} // of queue pairs
	for pause, want := range map[int64]bool{100e6: true, 20e6: false} {
		table, err := New(Config{Hash: ecmp.CRC32{}, Paths: []int{4}, Placed: true})
		if err != nil {
			t.Fatal(err)
		}
		flows := flow.NewTable(flow.Config{Capacity: 1024, Removed: table.Removed})
		now := int64(1)
		var before, last []uint64
		for range 30 {
			table.placing.flush()
			before = slices.Clone(table.loads[0].placed)
			for range 3 { // a burst: every flow, each 1 ms
				now += 1e6
				seen := map[uint32]bool{}
				for i := range packets {
					p := &packets[i]
					qp := p.DestQP()
					if !p.Opcode().CarriesData() || seen[qp] {
						continue
					}
					seen[qp] = true
					if rank[qp] == 0 {
						rank[qp] = uint64(len(rank) + 1)
					}
					table.Add(p, flows, flows.Observe(p, now), now, true, 100000/rank[qp])
				}
			}
			now += pause
		}
		r := table.Results()[0]
		for i, n := range table.loads[0].placed {
			last = append(last, n-before[i])
		}
		if got := evenness.Of(last).WorstToMean; (r.Moves > 0) != want || want && got > 1.05 || r.PlacedFloor != 1 {
			t.Errorf("pauses of %d ms: max ÷ mean %.3f after %d moves, floor %.3f", pause/1e6, got, r.Moves, r.PlacedFloor)
		}
	}
}

// TestLoadsAreThoseOfEachPacket: flows that are summed up load paths as the hash of each packet
// does, also where a small flow table evicts them.
func TestLoadsAreThoseOfEachPacket(t *testing.T) {
	packets, times := generated(t, traffic.Config{Pairs: 3, QPs: 16, Packets: 2000, Payload: 64, Seed: 2, SportPerQP: true, Start: time.Unix(1, 0)})
	for _, hash := range []ecmp.Hash{ecmp.CRC32{}, ecmp.CRC16{}, ecmp.Linux{Seed: ecmp.DefaultSeed}} {
		for _, capacity := range []int{1024, 8} {
			ended := 0
			table, err := New(Config{Hash: hash, Paths: []int{4, 12}, Placed: true, Redirected: true, Ended: func(f *Flow) { ended += int(f.Packets) }})
			if err != nil {
				t.Fatal(err)
			}
			flows := flow.NewTable(flow.Config{Capacity: capacity, Removed: table.Removed})
			want := [2]Result{}
			tuple := [][]uint64{make([]uint64, 4), make([]uint64, 12)}
			literal := [][]uint64{make([]uint64, 4), make([]uint64, 12)}
			for i := range packets {
				p := &packets[i]
				f := flows.Observe(p, times[i])
				table.Add(p, flows, f, times[i], p.Opcode().CarriesData(), uint64(p.Len()))
				if !p.Opcode().CarriesData() {
					continue
				}
				label := table.entries[f.Slot()].Literal
				for k, n := range []int{4, 12} {
					h := ecmp.Tuple{Src: p.Src(), Dst: p.Dst(), Proto: 17, SrcPort: p.SrcPort(), DstPort: roce.UDPPort}
					tuple[k][hash.Path(h, false, n)] += uint64(p.Len())
					h.FlowLabel = label
					literal[k][hash.Path(h, true, n)] += uint64(p.Len())
				}
			}
			for k, r := range table.Results() {
				want[k].FiveTuple, want[k].Literal = evenness.Of(tuple[k]), evenness.Of(literal[k])
				if fmt.Sprint(r.FiveTuple) != fmt.Sprint(want[k].FiveTuple) || fmt.Sprint(r.Literal) != fmt.Sprint(want[k].Literal) {
					t.Errorf("%v, %d flows: %v and %v, want %v and %v", hash, capacity, r.FiveTuple, r.Literal, want[k].FiveTuple, want[k].Literal)
				}
				if got, all := sum(r.Placed.PerPath), sum(r.FiveTuple.PerPath); got != all || sum(r.Redirected.PerPath) != all {
					t.Errorf("%v: %d octets placed, %d redirected, want %d", hash, got, sum(r.Redirected.PerPath), all)
				}
				if r.Rules == 0 || r.Redirected.WorstToMean > r.FiveTuple.WorstToMean || r.Redirected.WorstToMean < r.RedirectedFloor {
					t.Errorf("%v: %d rules, %.2f of %.2f, floor %.2f", hash, r.Rules, r.Redirected.WorstToMean, r.FiveTuple.WorstToMean, r.RedirectedFloor)
				}
			}
			if ended != len(packets) {
				t.Errorf("%d packets of ended flows, want %d", ended, len(packets))
			}
		}
	}
}

func sum(all []uint64) (n uint64) {
	for _, v := range all {
		n += v
	}
	return n
}

// TestOnePortIsOneFlowOfRules: rules cannot separate queue pairs that share a source port.
func TestOnePortIsOneFlowOfRules(t *testing.T) {
	packets, times := generated(t, traffic.Config{Pairs: 1, QPs: 64, Packets: 768, Payload: 64, Seed: 2, Start: time.Unix(1, 0)})
	table, _ := New(Config{Hash: ecmp.CRC32{}, Paths: []int{8}, Placed: true, Redirected: true})
	flows := flow.NewTable(flow.Config{Capacity: 256})
	for i := range packets {
		table.Add(&packets[i], flows, flows.Observe(&packets[i], times[i]), times[i], packets[i].Opcode().CarriesData(), 1)
	}
	r := table.Results()[0]
	if r.Redirected.WorstToMean != 8 || r.RedirectedFloor != 8 || r.Rules != 0 || r.Placed.WorstToMean > 1.05 || r.PlacedFloor != 1 {
		t.Errorf("%+v", r)
	}
}

func TestAddDoesNotAllocate(t *testing.T) {
	packets, times := generated(t, traffic.Config{Pairs: 1, QPs: 8, Packets: 64, Payload: 64, Start: time.Unix(1, 0)})
	table, _ := New(Config{Hash: ecmp.CRC32{}, Paths: []int{4, 8}, Placed: true, Redirected: true})
	flows := flow.NewTable(flow.Config{Capacity: 256})
	all := func() {
		for i := range packets {
			table.Add(&packets[i], flows, flows.Observe(&packets[i], times[i]), times[i], packets[i].Opcode().CarriesData(), 1)
		}
	}
	all()
	if n := testing.AllocsPerRun(10, all); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
