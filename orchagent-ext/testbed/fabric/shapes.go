// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"fmt"
	"net/netip"
	"time"
)

// Addresses that hosts of every shape have, besides the link-local ones. Routes
// lead to the whole prefixes: packets to other addresses in them reach the host,
// too, which drops them.
var (
	HostA  = netip.MustParsePrefix("2001:db8:0:1::a/64")
	HostB  = netip.MustParsePrefix("2001:db8:0:2::b/64")
	HostA4 = netip.MustParsePrefix("10.0.1.10/24")
	HostB4 = netip.MustParsePrefix("10.0.2.11/24")
)

var (
	// Prefixes of default routes.
	everything  = netip.MustParsePrefix("::/0")
	everything4 = netip.MustParsePrefix("0.0.0.0/0")
)

// Pair is two hosts on one link.
type Pair struct{ A, B *Interface }

// Pair builds two hosts on one link. They have routes to each other.
func (f *Fabric) Pair() (*Pair, error) {
	a, err := f.Node("host-a")
	if err != nil {
		return nil, err
	}
	b, err := f.Node("host-b")
	if err != nil {
		return nil, err
	}
	p := &Pair{}
	if p.A, p.B, err = f.Link(a, "eth0", b, "eth0"); err != nil {
		return nil, err
	}
	if err := p.A.host(HostA, HostA4, netip.Addr{}); err != nil {
		return nil, err
	}
	return p, p.B.host(HostB, HostB4, netip.Addr{})
}

// Routed is host A, a router and host B in a row.
type Routed struct {
	A, RouterA, RouterB, B *Interface
	Router                 *Node
}

// Routed builds host – router – host. The router's ports are Ethernet0 towards
// host A and Ethernet4 towards host B.
func (f *Fabric) Routed() (*Routed, error) {
	router, err := f.Router("router")
	if err != nil {
		return nil, err
	}
	r := &Routed{Router: router}
	if r.A, r.RouterA, err = f.attach("host-a", router, "Ethernet0", HostA, HostA4); err != nil {
		return nil, err
	}
	r.B, r.RouterB, err = f.attach("host-b", router, "Ethernet4", HostB, HostB4)
	return r, err
}

// LeafSpine is host A, a leaf, a spine and host B in a row, with several links
// between leaf and spine.
type LeafSpine struct {
	A, LeafA, SpineB, B *Interface
	Leaf, Spine         *Node
	Uplinks             []*Interface // the leaf's ends of the links to the spine
}

// LeafSpine builds host A – leaf == n uplinks == spine – host B. The leaf's ports
// are Ethernet0 towards host A and from Ethernet4 on, in steps of 4 as SONiC
// counts, the uplinks; the spine's are named alike. Leaf and spine have equal-cost
// routes over all uplinks.
func (f *Fabric) LeafSpine(n int) (*LeafSpine, error) {
	return f.LeafSpineOf(make([]time.Duration, n)...)
}

// LeafSpineOf is LeafSpine with an uplink for each delay, on which frames take so long one
// way; 0: a veth pair.
func (f *Fabric) LeafSpineOf(delays ...time.Duration) (*LeafSpine, error) {
	leaf, err := f.Router("leaf")
	if err != nil {
		return nil, err
	}
	spine, err := f.Router("spine")
	if err != nil {
		return nil, err
	}
	s := &LeafSpine{Leaf: leaf, Spine: spine}
	if s.A, s.LeafA, err = f.attach("host-a", leaf, "Ethernet0", HostA, HostA4); err != nil {
		return nil, err
	}
	if s.B, s.SpineB, err = f.attach("host-b", spine, "Ethernet0", HostB, HostB4); err != nil {
		return nil, err
	}
	for i, delay := range delays {
		name := fmt.Sprint("Ethernet", 4*(i+1))
		up, down, err := f.uplink(leaf, spine, name, delay)
		if err != nil {
			return nil, err
		}
		net := [4]byte{10, 1, byte(i >> 7), byte(i << 1)}
		if err := up.Address(netip.PrefixFrom(netip.AddrFrom4(net), 31)); err != nil {
			return nil, err
		}
		net[3]++
		if err := down.Address(netip.PrefixFrom(netip.AddrFrom4(net), 31)); err != nil {
			return nil, err
		}
		s.Uplinks = append(s.Uplinks, up)
	}
	return s, s.routes()
}

// uplink adds a link between leaf and spine, with a delay if there is one.
func (f *Fabric) uplink(leaf, spine *Node, name string, delay time.Duration) (up, down *Interface, err error) {
	if delay == 0 {
		return f.Link(leaf, name, spine, name)
	}
	up, down, _, err = f.DelayedLink(leaf, name, spine, name, delay)
	return up, down, err
}

// routes adds the routes of the hosts' prefixes over all uplinks.
func (s *LeafSpine) routes() error {
	if err := s.ToB(HostB); err != nil {
		return err
	}
	var up4, down4, down []Hop
	for i, u := range s.Uplinks {
		near := netip.AddrFrom4([4]byte{10, 1, byte(i >> 7), byte(i << 1)})
		up4 = append(up4, Hop{Via: near.Next(), Out: u})
		down4 = append(down4, Hop{Via: near, Out: u.peer})
		down = append(down, Hop{Via: u.LinkLocal, Out: u.peer})
	}
	if err := s.Leaf.Route(HostB4.Masked(), up4...); err != nil {
		return err
	}
	if err := s.Spine.Route(HostA4.Masked(), down4...); err != nil {
		return err
	}
	return s.Spine.Route(HostA.Masked(), down...)
}

// ToB routes one more IPv6 prefix to host B, over all uplinks.
func (s *LeafSpine) ToB(to netip.Prefix) error {
	var up []Hop
	for _, u := range s.Uplinks {
		up = append(up, Hop{Via: u.peer.LinkLocal, Out: u})
	}
	if err := s.Leaf.Route(to.Masked(), up...); err != nil {
		return err
	}
	return s.Spine.Route(to.Masked(), Hop{Via: s.B.LinkLocal, Out: s.SpineB})
}

// Weigh gives the leaf's uplinks weights on the way to host B.
func (s *LeafSpine) Weigh(weights ...int) error {
	var up []Hop
	for i, u := range s.Uplinks {
		up = append(up, Hop{Via: u.peer.LinkLocal, Out: u, Weight: weights[i]})
	}
	return s.Leaf.Route(HostB.Masked(), up...)
}

// attach adds a host with one link to a router, and the routes between them.
func (f *Fabric) attach(name string, router *Node, port string, a, a4 netip.Prefix) (host, routerEnd *Interface, err error) {
	node, err := f.Node(name)
	if err != nil {
		return nil, nil, err
	}
	if host, routerEnd, err = f.Link(node, "eth0", router, port); err != nil {
		return nil, nil, err
	}
	gateway4 := a4.Masked().Addr().Next()
	if err := routerEnd.Address(netip.PrefixFrom(gateway4, a4.Bits())); err != nil {
		return nil, nil, err
	}
	if err := host.host(a, a4, gateway4); err != nil {
		return nil, nil, err
	}
	return host, routerEnd, router.Route(a.Masked(), Hop{Via: host.LinkLocal, Out: routerEnd})
}

// host gives a host its addresses, and sends everything else over the link: IPv4
// to the gateway, or as if it were all on the link.
func (i *Interface) host(a, a4 netip.Prefix, gateway4 netip.Addr) error {
	for _, p := range []netip.Prefix{a, a4} {
		if err := i.Address(p); err != nil {
			return err
		}
	}
	if err := i.Node.Route(everything, Hop{Via: i.peer.LinkLocal, Out: i}); err != nil {
		return err
	}
	return i.Node.Route(everything4, Hop{Via: gateway4, Out: i})
}
