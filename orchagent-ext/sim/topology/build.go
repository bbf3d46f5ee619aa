// SPDX-License-Identifier: Apache-2.0

package topology

import "fmt"

// New builds a fabric. The error names the bad number.
func New(s Shape) (*Fabric, error) {
	s, err := s.withDefaults()
	if err != nil {
		return nil, err
	}
	f := &Fabric{Shape: s, Leaves: s.Hosts / s.HostsPerLeaf, Paths: []Path{{}}}
	f.Switches, f.Ups = f.Leaves, make([][]uint16, f.Leaves)
	b := builder{fabric: f, downs: make([][]uint16, f.Leaves)}
	b.hosts()
	if s.Tiers == 3 {
		err = b.threeTiers()
	} else {
		err = b.twoTiers()
	}
	return f, err
}

// builder adds switches, links and paths to a fabric.
type builder struct {
	fabric *Fabric
	downs  [][]uint16 // by leaf and spine: the way back of Fabric.Ups
}

// hosts adds the links of all hosts, and then the ways back.
func (b *builder) hosts() {
	f := b.fabric
	for h := range f.Hosts {
		b.link(int32(h), f.leafNode(f.Leaf(h)), f.HostGbit, f.delay(), fmt.Sprintf("host%d>leaf%d", h, f.Leaf(h)))
	}
	for h := range f.Hosts {
		b.link(f.leafNode(f.Leaf(h)), int32(h), f.HostGbit, f.propagation(), fmt.Sprintf("leaf%d>host%d", f.Leaf(h), h))
	}
}

// propagation is that of a link, ps.
func (s *Shape) propagation() int64 { return int64(s.LinkNS) * 1000 }

// delay is that of a link to a switch, ps: its propagation, and the switch.
func (s *Shape) delay() int64 { return s.propagation() + int64(s.SwitchNS)*1000 }

// leafNode is the node of a leaf.
func (f *Fabric) leafNode(l int) int32 { return int32(f.Hosts + l) }

// link adds a link, and returns its number.
func (b *builder) link(from, to int32, gbit int, delay int64, name string) uint16 {
	f := b.fabric
	f.Links = append(f.Links, Link{from, to, int32(8000 / gbit), delay, name})
	return uint16(len(f.Links) - 1)
}

// both adds a link between two nodes of these names, and the way back.
func (b *builder) both(one, other int32, gbit int, delay int64, oneName, otherName string) (there, back uint16) {
	return b.link(one, other, gbit, delay, oneName+">"+otherName), b.link(other, one, gbit, delay, otherName+">"+oneName)
}

// node adds switches, and returns the node of the first.
func (b *builder) node(n int) int32 {
	first := b.fabric.Hosts + b.fabric.Switches
	b.fabric.Switches += n
	return int32(first)
}

// spine adds the links of a spine to leaves from one to before another.
func (b *builder) spine(node int32, name string, from, to int) {
	f := b.fabric
	for l := from; l < to; l++ {
		up, down := b.both(f.leafNode(l), node, f.FabricGbit, f.delay(), fmt.Sprint("leaf", l), name)
		f.Ups[l], b.downs[l] = append(f.Ups[l], up), append(b.downs[l], down)
	}
}

// twoTiers adds the spines of each site, the WAN, and the paths.
func (b *builder) twoTiers() error {
	f := b.fabric
	perSite := f.Leaves / f.Sites
	var out, in [2][]uint16 // by site and spine: to the border router, and from it
	var border [2]int32
	for site := range f.Sites {
		spine := b.node(f.Spines)
		if f.Sites == 2 {
			border[site] = b.node(1)
		}
		for s := range f.Spines {
			name := fmt.Sprintf("spine%d.%d", site, s)
			b.spine(spine+int32(s), name, site*perSite, (site+1)*perSite)
			if f.Sites == 2 {
				there, back := b.both(spine+int32(s), border[site], f.FabricGbit, f.delay(), name, fmt.Sprint("border", site))
				out[site], in[site] = append(out[site], there), append(in[site], back)
			}
		}
	}
	var wan [2][]uint16 // by the site that sends
	for w := range f.WANLinks * (f.Sites - 1) {
		d := int64(f.WANUS*1e6) + int64(f.SwitchNS)*1000
		there, back := b.both(border[0], border[1], f.WANGbit, d, fmt.Sprint("border0.", w), fmt.Sprint("border1.", w))
		wan[0], wan[1] = append(wan[0], there), append(wan[1], back)
	}
	up, down := f.Ups, b.downs
	return b.eachPair(func(src, dst int) (choices [3]uint16, path func(c [3]int) Path) {
		from, to := src/perSite, dst/perSite
		if from == to {
			return b.within(src, dst)
		}
		return [3]uint16{uint16(f.Spines), uint16(f.WANLinks), uint16(f.Spines)}, func(c [3]int) Path {
			return Path{[6]uint16{up[src][c[0]], out[from][c[0]], wan[from][c[1]], in[to][c[2]], down[dst][c[2]]}, 5}
		}
	})
}

// threeTiers adds the spines of each pod, the cores, and the paths.
func (b *builder) threeTiers() error {
	f := b.fabric
	pods, k := f.Leaves/f.LeavesPerPod, f.CoresPerSpine
	// by pod, spine and core of that spine
	out, in := make([][][]uint16, pods), make([][][]uint16, pods)
	core := b.node(f.Spines * k)
	for p := range pods {
		spine := b.node(f.Spines)
		out[p], in[p] = make([][]uint16, f.Spines), make([][]uint16, f.Spines)
		for s := range f.Spines {
			name := fmt.Sprintf("spine%d.%d", p, s)
			b.spine(spine+int32(s), name, p*f.LeavesPerPod, (p+1)*f.LeavesPerPod)
			for c := range k {
				there, back := b.both(spine+int32(s), core+int32(s*k+c), f.FabricGbit, f.delay(), name, fmt.Sprintf("core%d.%d", s, c))
				out[p][s], in[p][s] = append(out[p][s], there), append(in[p][s], back)
			}
		}
	}
	up, down := f.Ups, b.downs
	return b.eachPair(func(src, dst int) (choices [3]uint16, path func(c [3]int) Path) {
		from, to := src/f.LeavesPerPod, dst/f.LeavesPerPod
		if from == to {
			return b.within(src, dst)
		}
		return [3]uint16{uint16(f.Spines), uint16(k), 1}, func(c [3]int) Path {
			return Path{[6]uint16{up[src][c[0]], out[from][c[0]][c[1]], in[to][c[0]][c[1]], down[dst][c[0]]}, 4}
		}
	})
}

// within returns the paths between two leaves of the same spines.
func (b *builder) within(src, dst int) (choices [3]uint16, path func(c [3]int) Path) {
	up, down := b.fabric.Ups[src], b.downs[dst]
	return [3]uint16{uint16(b.fabric.Spines), 1, 1}, func(c [3]int) Path {
		return Path{[6]uint16{up[c[0]], down[c[0]]}, 2}
	}
}

// eachPair lists the paths between all leaves.
func (b *builder) eachPair(of func(src, dst int) (choices [3]uint16, path func(c [3]int) Path)) error {
	f := b.fabric
	f.pairs = make([]Pair, f.Leaves*f.Leaves)
	for src := range f.Leaves {
		for dst := range f.Leaves {
			p := &f.pairs[src*f.Leaves+dst]
			if src == dst {
				*p = Pair{0, [3]uint16{1, 1, 1}}
				continue
			}
			choices, path := of(src, dst)
			*p = Pair{uint32(len(f.Paths)), choices}
			if len(f.Paths)+p.Paths() > mostPaths {
				return fmt.Errorf("the fabric has more than %d paths", mostPaths)
			}
			c1, c2 := int(choices[1]), int(choices[2])
			for i := range p.Paths() {
				f.Paths = append(f.Paths, path([3]int{i / c2 / c1, i / c2 % c1, i % c2}))
			}
		}
	}
	if len(f.Links) > mostLinks {
		return fmt.Errorf("the fabric has %d links, at most %d are possible", len(f.Links), mostLinks)
	}
	return nil
}
