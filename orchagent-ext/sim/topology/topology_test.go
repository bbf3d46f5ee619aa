// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"strings"
	"testing"
)

// TestPathsLeadFromLeafToLeaf follows every path of each kind of fabric.
func TestPathsLeadFromLeafToLeaf(t *testing.T) {
	for name, tt := range map[string]struct {
		shape Shape
		paths int // between the first leaf and the last
		links int // of such a path
	}{
		"two tiers":   {Shape{Hosts: 64, HostsPerLeaf: 8, Spines: 4}, 4, 2},
		"rails":       {Shape{Hosts: 64, HostsPerLeaf: 8, Spines: 4, Rails: 4}, 4, 2},
		"three tiers": {Shape{Tiers: 3, Hosts: 64, HostsPerLeaf: 4, Spines: 4, LeavesPerPod: 4, CoresPerSpine: 2}, 8, 4},
		"two sites":   {Shape{Hosts: 64, HostsPerLeaf: 8, Spines: 4, Sites: 2, WANLinks: 2}, 32, 5},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := New(tt.shape)
			if err != nil {
				t.Fatal(err)
			}
			for a := range f.Leaves {
				for b := range f.Leaves {
					pair := f.Pair(a, b)
					distinct := map[Path]bool{}
					for i := range pair.Paths() {
						p := f.Paths[int(pair.First)+i]
						distinct[p] = true
						at := int32(f.Hosts + a)
						for _, l := range p.Links[:p.N] {
							if f.Links[l].From != at {
								t.Fatalf("path %d of leaves %d, %d: link %s does not begin at node %d", i, a, b, f.Links[l].Name, at)
							}
							at = f.Links[l].To
						}
						if at != int32(f.Hosts+b) {
							t.Fatalf("path %d of leaves %d, %d ends at node %d", i, a, b, at)
						}
					}
					if len(distinct) != pair.Paths() {
						t.Errorf("leaves %d, %d: %d of %d paths are distinct", a, b, len(distinct), pair.Paths())
					}
				}
			}
			pair := f.Pair(0, f.Leaves-1)
			if got := f.Paths[pair.First].N; pair.Paths() != tt.paths || int(got) != tt.links {
				t.Errorf("%d paths of %d links, want %d of %d", pair.Paths(), got, tt.paths, tt.links)
			}
			perLeaf := map[int]int{}
			for h := range f.Hosts {
				perLeaf[f.Leaf(h)]++
				if int(f.Links[h].To) != f.Hosts+f.Leaf(h) || int(f.Links[f.Hosts+h].To) != h {
					t.Errorf("links of host %d lead elsewhere", h)
				}
			}
			for leaf, n := range perLeaf {
				if n != f.HostsPerLeaf || len(perLeaf) != f.Leaves {
					t.Errorf("leaf %d of %d has %d hosts", leaf, len(perLeaf), n)
				}
			}
		})
	}
}

func TestRailsPutAdaptersOfAServerOnDifferentLeaves(t *testing.T) {
	f, err := New(Shape{Hosts: 64, HostsPerLeaf: 8, Rails: 4})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for rail := range 4 {
		seen[f.Leaf(8+rail)] = true
	}
	if len(seen) != 4 {
		t.Errorf("four adapters of a server share leaves: %v", seen)
	}
}

func TestNewNamesBadNumber(t *testing.T) {
	for text, s := range map[string]Shape{
		"hosts_per_leaf 7": {Hosts: 64, HostsPerLeaf: 7},
		"33 Gbit/s":        {HostGbit: 33},
		"hosts 2048":       {Hosts: 2048},
		"tiers 4":          {Tiers: 4},
		"even number":      {Hosts: 6, HostsPerLeaf: 2, Sites: 2},
	} {
		if _, err := New(s); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error %v does not name %q", err, text)
		}
	}
}
