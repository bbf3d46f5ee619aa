// SPDX-License-Identifier: Apache-2.0

package fabric

import "fmt"

// Clos is two leaves with an uplink to each of two spines, and a host behind each leaf:
// [HostA] and [HostB].
//
// A leaf's ports are Ethernet0 towards its host, Ethernet4 and Ethernet8 towards the
// spines; a spine's are Ethernet0 and Ethernet4 towards the leaves.
type Clos struct {
	Hosts, Edges   [2]*Interface // of the hosts, and the leaves' ends of their links
	Leaves, Spines [2]*Node
	Uplinks        [2][2]*Interface // by leaf and spine: the leaf's end
}

// Clos builds the network; its routes are for IPv6, and equal-cost over both uplinks.
func (f *Fabric) Clos() (c *Clos, err error) {
	c = &Clos{}
	for i := range 2 {
		if c.Leaves[i], err = f.Router(fmt.Sprint("leaf-", i)); err != nil {
			return nil, err
		}
		if c.Spines[i], err = f.Router(fmt.Sprint("spine-", i)); err != nil {
			return nil, err
		}
	}
	for i, leaf := range c.Leaves {
		host, host4 := HostA, HostA4
		if i == 1 {
			host, host4 = HostB, HostB4
		}
		if c.Hosts[i], c.Edges[i], err = f.attach(fmt.Sprint("host-", i), leaf, "Ethernet0", host, host4); err != nil {
			return nil, err
		}
		for s, spine := range c.Spines {
			up, down, err := f.Link(leaf, fmt.Sprint("Ethernet", 4*(s+1)), spine, fmt.Sprint("Ethernet", 4*i))
			if err != nil {
				return nil, err
			}
			c.Uplinks[i][s] = up
			if err := spine.Route(host.Masked(), Hop{Via: up.LinkLocal, Out: down}); err != nil {
				return nil, err
			}
		}
	}
	for i, leaf := range c.Leaves {
		to := HostB
		if i == 1 {
			to = HostA
		}
		var up []Hop
		for _, u := range c.Uplinks[i] {
			up = append(up, Hop{Via: u.peer.LinkLocal, Out: u})
		}
		if err := leaf.Route(to.Masked(), up...); err != nil {
			return nil, err
		}
	}
	return c, nil
}
