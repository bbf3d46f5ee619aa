// SPDX-License-Identifier: Apache-2.0

package paths

import (
	"math/rand/v2"
	"testing"

	"sluice/orchagent-ext/sim/topology"
)

// ring is connections of each host to the next one of a random order.
func ring(hosts, queuePairs int) (all []Connection) {
	order := rand.New(rand.NewPCG(3, 3)).Perm(hosts)
	for i, h := range order {
		for k := range queuePairs {
			all = append(all, Connection{h, order[(i+1)%hosts], k})
		}
	}
	return all
}

// worst returns max ÷ mean of the links out of leaves, and of those into them.
func worst(t *testing.T, topo *topology.Fabric, c *Chooser, all []Connection) (up, down float64) {
	t.Helper()
	load := map[uint16]float64{}
	ups, downs := map[uint16]bool{}, map[uint16]bool{}
	for leaf := range topo.Leaves {
		for _, l := range topo.Ups[leaf] {
			ups[l] = true
			downs[l+1] = true // the way back is the next link
		}
	}
	for _, n := range all {
		path, _ := c.Forward(n)
		p := &topo.Paths[path]
		for _, l := range p.Links[:p.N] {
			load[l]++
		}
	}
	of := func(links map[uint16]bool) float64 {
		sum, most := 0.0, 0.0
		for l := range links {
			sum += load[l]
			most = max(most, load[l])
		}
		return most * float64(len(links)) / sum
	}
	return of(ups), of(downs)
}

// TestModesSpreadARing: 8 leaves, 8 spines, 128 hosts with 4 queue pairs to the next one.
func TestModesSpreadARing(t *testing.T) {
	topo, err := topology.New(topology.Shape{Hosts: 128, HostsPerLeaf: 16, Spines: 8, FabricGbit: 200})
	if err != nil {
		t.Fatal(err)
	}
	all := ring(128, 4)
	type spread struct{ up, down float64 }
	got := map[Mode]spread{}
	for mode := FiveTuple; mode <= Redirected; mode++ {
		c, err := New(topo, mode, Config{}, 4)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Settle(all, 1); err != nil {
			t.Fatal(err)
		}
		up, down := worst(t, topo, c, all)
		got[mode] = spread{up, down}
		t.Logf("mode %d: max ÷ mean %.2f up, %.2f down, %+v", mode, up, down, c.Report())
	}
	// Mean load differs by leaf, since some connections stay within one.
	if s := got[FiveTuple]; s.up < 2 || s.down < 2 {
		t.Errorf("by 5-tuples: %+v", s)
	}
	if s := got[Label]; s.up > got[FiveTuple].up*0.9 {
		t.Errorf("by labels: %+v", s)
	}
	if s := got[Placed]; s.up > 1.2 || s.down > got[Label].down {
		t.Errorf("placed: %+v", s)
	}
	if s := got[Planned]; s.up > 1.2 || s.down > 1.2 {
		t.Errorf("by a plan: %+v", s)
	}
	if s := got[Redirected]; s.up > got[FiveTuple].up*0.7 {
		t.Errorf("redirected: %+v", s)
	}
}

func TestNewNamesUnknownSettings(t *testing.T) {
	topo, err := topology.New(topology.Shape{})
	if err != nil {
		t.Fatal(err)
	}
	for _, cfg := range []Config{{Hash: "md5"}, {Ports: "random"}, {Algorithm: "crc8"}} {
		if _, err := New(topo, Label, cfg, 4); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}
