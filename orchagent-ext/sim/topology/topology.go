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
