// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"fmt"
	"net/netip"
)

// Bounds of a fabric.
const (
	MostHosts = 1024
	mostLinks = 1 << 16 // a link's number has 16 bits in paths
	mostPaths = 1 << 24
)

// Shape has the operator's numbers of a fabric (the key fabric of a scenario).
type Shape struct {
	Tiers        int `yaml:"tiers"`          // 2 or 3
	Hosts        int `yaml:"hosts"`          // adapters, in all
	HostsPerLeaf int `yaml:"hosts_per_leaf"` // adapters on one leaf
	Spines       int `yaml:"spines"`         // of a site or, in three tiers, of a pod
	// adapters of a server, each on a leaf of its own; 1: no rails
	Rails        int `yaml:"rails"`
	LeavesPerPod int `yaml:"leaves_per_pod"` // of three tiers
	// of three tiers: cores that each spine has a link to
	CoresPerSpine int `yaml:"cores_per_spine"`
	Sites         int `yaml:"sites"`     // 1 or 2
	WANLinks      int `yaml:"wan_links"` // parallel links between two sites

	HostGbit   int `yaml:"host_gbit"`   // of a host's link, 25 to 800
	FabricGbit int `yaml:"fabric_gbit"` // of a link between switches
	WANGbit    int `yaml:"wan_gbit"`
	LinkNS     int `yaml:"link_ns"` // a link's propagation
	// from the last bit in to the first bit out of an idle port
	SwitchNS int     `yaml:"switch_ns"`
	WANUS    float64 `yaml:"wan_us"` // one way
}

// Link is one direction of a link. The sender's queue belongs to it.
type Link struct {
	From, To   int32 // nodes: a host h is h, switch s is Hosts + s
	PSPerOctet int32 // serialization, ps
	Delay      int64 // from the last bit out to the switch's decision at the far end, ps
	Name       string
}

// Path is the links between the leaves of two hosts, without those of the hosts.
type Path struct {
	Links [6]uint16
	N     uint8
}

// Pair has the paths between two leaves: one for each combination of choices. Tier i chooses
// one of Choices[i]; the path of choices c is First + ((c0·Choices[1]) + c1)·Choices[2] + c2.
type Pair struct {
	First   uint32
	Choices [3]uint16
}

// Paths is the number of paths of the pair.
func (p Pair) Paths() int { return int(p.Choices[0]) * int(p.Choices[1]) * int(p.Choices[2]) }

// Path returns the number of the path that these choices make.
func (p Pair) Path(c [3]int) uint32 {
	return p.First + uint32((c[0]*int(p.Choices[1])+c[1])*int(p.Choices[2])+c[2])
}

// Fabric is a network. Link h is that of host h to its leaf, link Hosts + h the way back.
type Fabric struct {
	Shape
	Leaves, Switches int
	Links            []Link
	Paths            []Path     // 0 is the path within a leaf
	pairs            []Pair     // by leaf and leaf
	Ups              [][]uint16 // by leaf: its uplinks, in the order that its choice counts them
}

// withDefaults returns the shape with defaults for values that are 0, or an error.
func (s Shape) withDefaults() (Shape, error) {
	set := func(v *int, def int) {
		if *v == 0 {
			*v = def
		}
	}
	set(&s.Tiers, 2)
	set(&s.Hosts, 64)
	set(&s.HostsPerLeaf, min(32, s.Hosts))
	set(&s.Spines, max(1, s.HostsPerLeaf/2))
	set(&s.Rails, 1)
	set(&s.Sites, 1)
	set(&s.HostGbit, 100)
	set(&s.FabricGbit, s.HostGbit)
	set(&s.LinkNS, 500)
	set(&s.SwitchNS, 500)
	if s.Sites == 2 {
		set(&s.WANLinks, 1)
		set(&s.WANGbit, s.FabricGbit)
		if s.WANUS == 0 {
			s.WANUS = 1000
		}
	}
	leaves := s.Hosts / s.HostsPerLeaf
	if s.Tiers == 3 {
		set(&s.LeavesPerPod, min(8, leaves))
		set(&s.CoresPerSpine, max(1, s.Spines/2))
	}
	for _, c := range []struct {
		bad  bool
		text string
	}{
		{s.Tiers != 2 && s.Tiers != 3, fmt.Sprintf("tiers %d: 2 or 3 are possible", s.Tiers)},
		{s.Hosts < 2 || s.Hosts > MostHosts, fmt.Sprintf("hosts %d: 2 to %d are possible", s.Hosts, MostHosts)},
		{s.HostsPerLeaf < 1 || s.Hosts%s.HostsPerLeaf != 0, fmt.Sprintf("hosts_per_leaf %d does not divide hosts %d", s.HostsPerLeaf, s.Hosts)},
		{s.Spines < 1 || s.Spines > 64, fmt.Sprintf("spines %d: 1 to 64 are possible", s.Spines)},
		{s.Rails < 1 || leaves%s.Rails != 0, fmt.Sprintf("rails %d does not divide the %d leaves", s.Rails, leaves)},
		{s.Tiers == 3 && (s.LeavesPerPod < 1 || leaves%s.LeavesPerPod != 0), fmt.Sprintf("leaves_per_pod %d does not divide the %d leaves", s.LeavesPerPod, leaves)},
		{s.Sites != 1 && s.Sites != 2, fmt.Sprintf("sites %d: 1 or 2 are possible", s.Sites)},
		{s.Sites == 2 && (s.Tiers != 2 || leaves%2 != 0), "two sites need two tiers each and an even number of leaves"},
		{s.Sites == 2 && (s.WANLinks < 1 || s.WANLinks > 16), fmt.Sprintf("wan_links %d: 1 to 16 are possible", s.WANLinks)},
		{s.LinkNS < 0 || s.SwitchNS < 0 || s.WANUS < 0, "a delay is negative"},
	} {
		if c.bad {
			return s, fmt.Errorf("%s", c.text)
		}
	}
	rates := []int{s.HostGbit, s.FabricGbit}
	if s.Sites == 2 {
		rates = append(rates, s.WANGbit)
	}
	for _, g := range rates {
		if g < 1 || g > 800 || 8000%g != 0 {
			return s, fmt.Errorf("a link of %d Gbit/s: divisors of 8000 up to 800 are possible, such as 25, 40, 50, 100, 200, 400 and 800", g)
		}
	}
	return s, nil
}

// New builds a fabric. The error names the bad number.
func New(s Shape) (*Fabric, error) {
	s, err := s.withDefaults()
	if err != nil {
		return nil, err
	}
	f := &Fabric{Shape: s, Leaves: s.Hosts / s.HostsPerLeaf, Paths: []Path{{}}}
	f.Switches = f.Leaves
	for _, back := range []bool{false, true} {
		for h := range s.Hosts {
			from, to := int32(h), int32(s.Hosts+f.Leaf(h))
			name := fmt.Sprintf("host%d>leaf%d", h, f.Leaf(h))
			if back {
				from, to, name = to, from, fmt.Sprintf("leaf%d>host%d", f.Leaf(h), h)
			}
			f.link(from, to, s.HostGbit, f.delay(back), name)
		}
	}
	f.Ups = make([][]uint16, f.Leaves)
	if s.Tiers == 3 {
		err = f.threeTiers()
	} else {
		err = f.twoTiers()
	}
	return f, err
}

// delay is that of a link: its propagation, and the switch at its far end.
func (f *Fabric) delay(toHost bool) int64 {
	d := int64(f.LinkNS) * 1000
	if !toHost {
		d += int64(f.SwitchNS) * 1000
	}
	return d
}

// link adds a link, and returns its number.
func (f *Fabric) link(from, to int32, gbit int, delay int64, name string) uint16 {
	f.Links = append(f.Links, Link{from, to, int32(8000 / gbit), delay, name})
	return uint16(len(f.Links) - 1)
}

// node adds switches, and returns the node of the first.
func (f *Fabric) node(n int) int32 {
	first := f.Hosts + f.Switches
	f.Switches += n
	return int32(first)
}

// both adds a link and the way back.
func (f *Fabric) both(a, b int32, gbit int, delay int64, an, bn string) (there, back uint16) {
	return f.link(a, b, gbit, delay, an+">"+bn), f.link(b, a, gbit, delay, bn+">"+an)
}

// leafNode is the node of a leaf.
func (f *Fabric) leafNode(l int) int32 { return int32(f.Hosts + l) }

// twoTiers adds the spines of each site, the WAN, and the paths.
func (f *Fabric) twoTiers() error {
	perSite := f.Leaves / f.Sites
	up := make([][]uint16, f.Leaves)   // by leaf and spine
	down := make([][]uint16, f.Leaves) // likewise, the way back
	var out, in [2][]uint16            // by site and spine: to the border router, and from it
	var border [2]int32
	for site := range f.Sites {
		spine := f.node(f.Spines)
		if f.Sites == 2 {
			border[site] = f.node(1)
		}
		for s := range f.Spines {
			name := fmt.Sprintf("spine%d.%d", site, s)
			for l := site * perSite; l < (site+1)*perSite; l++ {
				a, b := f.both(f.leafNode(l), spine+int32(s), f.FabricGbit, f.delay(false), fmt.Sprint("leaf", l), name)
				up[l], down[l] = append(up[l], a), append(down[l], b)
			}
			if f.Sites == 2 {
				a, b := f.both(spine+int32(s), border[site], f.FabricGbit, f.delay(false), name, fmt.Sprint("border", site))
				out[site], in[site] = append(out[site], a), append(in[site], b)
			}
		}
	}
	copy(f.Ups, up)
	var wan [2][]uint16 // by the site that sends
	for w := range f.WANLinks * (f.Sites - 1) {
		d := int64(f.WANUS*1e6) + int64(f.SwitchNS)*1000
		a, b := f.both(border[0], border[1], f.WANGbit, d, fmt.Sprint("border0.", w), fmt.Sprint("border1.", w))
		wan[0], wan[1] = append(wan[0], a), append(wan[1], b)
	}
	return f.eachPair(func(a, b int) (choices [3]uint16, path func(c [3]int) Path) {
		from, to := a/perSite, b/perSite
		if from == to {
			return [3]uint16{uint16(f.Spines), 1, 1}, func(c [3]int) Path {
				return Path{[6]uint16{up[a][c[0]], down[b][c[0]]}, 2}
			}
		}
		return [3]uint16{uint16(f.Spines), uint16(f.WANLinks), uint16(f.Spines)}, func(c [3]int) Path {
			return Path{[6]uint16{up[a][c[0]], out[from][c[0]], wan[from][c[1]], in[to][c[2]], down[b][c[2]]}, 5}
		}
	})
}

// threeTiers adds the spines of each pod, the cores, and the paths.
func (f *Fabric) threeTiers() error {
	pods, k := f.Leaves/f.LeavesPerPod, f.CoresPerSpine
	up, down := make([][]uint16, f.Leaves), make([][]uint16, f.Leaves)
	// by pod, spine and core of that spine
	out, in := make([][][]uint16, pods), make([][][]uint16, pods)
	core := f.node(f.Spines * k)
	for p := range pods {
		spine := f.node(f.Spines)
		out[p], in[p] = make([][]uint16, f.Spines), make([][]uint16, f.Spines)
		for s := range f.Spines {
			name := fmt.Sprintf("spine%d.%d", p, s)
			for l := p * f.LeavesPerPod; l < (p+1)*f.LeavesPerPod; l++ {
				a, b := f.both(f.leafNode(l), spine+int32(s), f.FabricGbit, f.delay(false), fmt.Sprint("leaf", l), name)
				up[l], down[l] = append(up[l], a), append(down[l], b)
			}
			for c := range k {
				a, b := f.both(spine+int32(s), core+int32(s*k+c), f.FabricGbit, f.delay(false), name, fmt.Sprintf("core%d.%d", s, c))
				out[p][s], in[p][s] = append(out[p][s], a), append(in[p][s], b)
			}
		}
	}
	copy(f.Ups, up)
	return f.eachPair(func(a, b int) (choices [3]uint16, path func(c [3]int) Path) {
		from, to := a/f.LeavesPerPod, b/f.LeavesPerPod
		if from == to {
			return [3]uint16{uint16(f.Spines), 1, 1}, func(c [3]int) Path {
				return Path{[6]uint16{up[a][c[0]], down[b][c[0]]}, 2}
			}
		}
		return [3]uint16{uint16(f.Spines), uint16(k), 1}, func(c [3]int) Path {
			return Path{[6]uint16{up[a][c[0]], out[from][c[0]][c[1]], in[to][c[0]][c[1]], down[b][c[0]]}, 4}
		}
	})
}

// eachPair lists the paths between all leaves.
func (f *Fabric) eachPair(of func(a, b int) (choices [3]uint16, path func(c [3]int) Path)) error {
	f.pairs = make([]Pair, f.Leaves*f.Leaves)
	for a := range f.Leaves {
		for b := range f.Leaves {
			p := &f.pairs[a*f.Leaves+b]
			if a == b {
				*p = Pair{0, [3]uint16{1, 1, 1}}
				continue
			}
			choices, path := of(a, b)
			*p = Pair{uint32(len(f.Paths)), choices}
			if len(f.Paths)+p.Paths() > mostPaths {
				return fmt.Errorf("the fabric has more than %d paths", mostPaths)
			}
			for i := range p.Paths() {
				c2 := int(choices[2])
				c1 := int(choices[1])
				f.Paths = append(f.Paths, path([3]int{i / c2 / c1, i / c2 % c1, i % c2}))
			}
		}
	}
	if len(f.Links) > mostLinks {
		return fmt.Errorf("the fabric has %d links, at most %d are possible", len(f.Links), mostLinks)
	}
	return nil
}

// Leaf returns the leaf of a host. With rails, the adapters of one server are consecutive
// hosts, each on the leaf of its rail.
func (f *Fabric) Leaf(h int) int {
	server, rail := h/f.Rails, h%f.Rails
	return server/f.HostsPerLeaf*f.Rails + rail
}

// Pair returns the paths between two leaves.
func (f *Fabric) Pair(a, b int) Pair { return f.pairs[a*f.Leaves+b] }

// Address is the IPv6 address of a host: its leaf is in the third group of 16 bits, and the
// host in the last.
func (f *Fabric) Address(h int) netip.Addr {
	leaf := f.Leaf(h)
	a := [16]byte{0: 0xfd, 4: byte(leaf >> 8), 5: byte(leaf), 14: byte((h + 1) >> 8), 15: byte(h + 1)}
	return netip.AddrFrom16(a)
}
