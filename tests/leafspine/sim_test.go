// SPDX-License-Identifier: Apache-2.0

package leafspine

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// soak is whether the long runs are asked for, as by `make soak`.
var soak = os.Getenv("SLUICE_SOAK") != ""

// run runs patterns with 1, 4 and 8 queue pairs and holds them to what placement is for.
func run(t *testing.T, f Fabric, patterns []Pattern, qps []int) {
	t.Helper()
	var all []Result
	for _, p := range patterns {
		for _, q := range qps {
			results, err := f.Run(p, q, 7)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, results...)
			by := map[Method]Result{}
			for _, r := range results {
				by[r.Method] = r
			}
			hash, local, planned := by[Hash], by[Local], by[Planned]
			if local.Up > hash.Up || q >= 8 && local.Up > 1.15 {
				t.Errorf("%s, %d QPs: uplinks by the leaf alone %.3f, by hash %.3f", p, q, local.Up, hash.Up)
			}
			if local.Time > hash.Time+1e-9 {
				t.Errorf("%s, %d QPs: time by the leaf alone %.3f, by hash %.3f", p, q, local.Time, hash.Time)
			}
			if planned.Time > 1.05 {
				t.Errorf("%s, %d QPs: time ÷ ideal by the plan %.3f", p, q, planned.Time)
			}
		}
	}
	var table strings.Builder
	if err := Write(&table, all); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d leaves × %d spines, %d hosts\n%s", f.Leaves, f.Spines, f.hosts(), &table)
}

func TestFabricOfALab(t *testing.T) {
	run(t, Fabric{Leaves: 8, Spines: 4, Hosts: 8}, []Pattern{Ring, Permutation}, []int{1, 4, 8})
	run(t, Fabric{Leaves: 4, Spines: 4, Hosts: 8}, []Pattern{AllToAll}, []int{1})
	run(t, Fabric{Leaves: 8, Spines: 6, Hosts: 12}, []Pattern{Ring}, []int{1, 8})
}

func TestFabricOfAThousandHosts(t *testing.T) {
	f := Fabric{Leaves: 32, Spines: 16, Hosts: 32}
	if !soak {
		run(t, f, []Pattern{Ring}, []int{1})
		return
	}
	run(t, f, Patterns, []int{1, 4, 8})
}

// Two streams over one downlink of capacity 1 take twice as long, and a third that meets
// neither does not wait.
func TestStreamsShareLinks(t *testing.T) {
	f := Fabric{Leaves: 3, Spines: 2, Hosts: 2}
	streams := []stream{{from: 0, to: 4, octets: 1, spine: 0}, {from: 2, to: 5, octets: 1, spine: 0}, {from: 1, to: 3, octets: 1, spine: 1}}
	var r Result
	if f.judge(streams, &r); math.Abs(r.Time-2) > 1e-9 || r.Up != 2 || r.Down != 2 || r.Flows != 3 {
		t.Errorf("%+v", r)
	}
	streams[1].spine = 1 // its leaf's other uplink, and the other downlink
	r = Result{}
	if f.judge(streams, &r); math.Abs(r.Time-1) > 1e-9 {
		t.Errorf("%+v", r)
	}
	streams = append(streams, stream{from: 0, to: 1, octets: 0.5, spine: -1}) // within a leaf: shares the host's link
	r = Result{}
	if f.judge(streams, &r); math.Abs(r.Time-1) > 1e-9 || r.Flows != 3 {
		t.Errorf("%+v", r)
	}
}

// A planner that dies when half of the leaves have its quotas: they use the new plan,
// which goes around a spine, the others the old one; each leaf's uplinks are even.
func TestAPlannerThatDiesLeavesUplinksEven(t *testing.T) {
	f := Fabric{Leaves: 8, Spines: 4, Hosts: 8}
	random := rand.New(rand.NewPCG(3, 3))
	streams := f.streams(Ring, 8, random)
	leaves, err := f.newLeaves(len(streams))
	if err != nil {
		t.Fatal(err)
	}
	f.place(leaves, streams, random.Perm(len(streams)))
	if _, err := f.plan(leaves, streams); err != nil {
		t.Fatal(err)
	}
	made, err := f.make(leaves, 2, map[string]bool{spineName(0): true})
	if err != nil {
		t.Fatal(err)
	}
	const told = 4
	moves := 0
	for _, l := range leaves[:told] {
		n, err := f.follow(leaves, l, made)
		if err != nil {
			t.Fatal(err)
		}
		moves += n
	}
	f.settle(leaves, streams)
	count := make([][4]int, f.Leaves)
	labels := map[[3]any]bool{}
	for i := range streams {
		if s := &streams[i]; s.spine >= 0 {
			count[f.leaf(s.from)][s.spine]++
			label, _, ok := leaves[f.leaf(s.from)].table.Label(s.flow)
			key := [3]any{s.flow.Src, s.flow.Dst, label}
			if !ok || label == 0 || labels[key] {
				t.Errorf("%+v has label %d, which another has, or none", s.flow, label)
			}
			labels[key] = true
		}
	}
	for l, spines := range count {
		used := spines[:]
		if l < told {
			if spines[0] != 0 {
				t.Errorf("leaf %d still sends %d flows by the spine that the new plan goes around", l, spines[0])
			}
			used = spines[1:]
		}
		if slices.Max(used)-slices.Min(used) > 1 {
			t.Errorf("leaf %d: flows by spine %v", l, spines)
		}
	}
	if moves == 0 {
		t.Error("the new plan moved nothing")
	}
}
