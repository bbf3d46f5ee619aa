// SPDX-License-Identifier: Apache-2.0

package fabric

import "net/netip"

// Addresses of the hosts of a [Chain]: two that send, two that receive.
var (
	ChainSenders   = [2]netip.Prefix{netip.MustParsePrefix("2001:db8:0:1::a/64"), netip.MustParsePrefix("2001:db8:0:2::b/64")}
	ChainReceivers = [2]netip.Prefix{netip.MustParsePrefix("2001:db8:0:3::c/64"), netip.MustParsePrefix("2001:db8:0:4::d/64")}
)

// The same of IPv4.
var (
	ChainSenders4   = [2]netip.Prefix{netip.MustParsePrefix("10.0.1.10/24"), netip.MustParsePrefix("10.0.2.10/24")}
	ChainReceivers4 = [2]netip.Prefix{netip.MustParsePrefix("10.0.3.10/24"), netip.MustParsePrefix("10.0.4.10/24")}
)

// Chain is two sending hosts, three switches in a row and two receiving hosts:
//
//	sender 0 –┐                                     ┌– receiver 0
//	          edge – aggregation – core (switches)
//	sender 1 –┘                                     └– receiver 1
//
// Ports are named as SONiC does. The edge's are Ethernet0 and Ethernet4 towards the
// senders and Ethernet8 towards the aggregation; that one's are Ethernet0 towards the
// edge and Ethernet4 towards the core; the core's are Ethernet0 towards the
// aggregation and Ethernet4 and Ethernet8 towards the receivers.
type Chain struct {
	Senders, Receivers [2]*Interface   // of the hosts
	Switches           [3]*Node        // edge, aggregation, core
	Ports              [3][]*Interface // of each switch, in the order of their names
}

// Chain builds the network, with routes for IPv6 and IPv4. Its nodes receive by
// threads, or steered on kernels before Linux 5.12: else the kernel can reorder a
// flow's packets that come by two ways.
func (f *Fabric) Chain() (*Chain, error) {
	c := &Chain{}
	for i, name := range []string{"edge", "aggregation", "core"} {
		n, err := f.Router(name)
		if err != nil {
			return nil, err
		}
		c.Switches[i] = n
	}
	edge, aggregation, core := c.Switches[0], c.Switches[1], c.Switches[2]
	for i, name := range []string{"Ethernet0", "Ethernet4"} {
		host, port, err := f.attach([]string{"sender-0", "sender-1"}[i], edge, name, ChainSenders[i], ChainSenders4[i])
		if err != nil {
			return nil, err
		}
		c.Senders[i], c.Ports[0] = host, append(c.Ports[0], port)
	}
	edgeUp, aggregationDown, err := f.Link(edge, "Ethernet8", aggregation, "Ethernet0")
	if err != nil {
		return nil, err
	}
	aggregationUp, coreDown, err := f.Link(aggregation, "Ethernet4", core, "Ethernet0")
	if err != nil {
		return nil, err
	}
	c.Ports[0] = append(c.Ports[0], edgeUp)
	c.Ports[1] = []*Interface{aggregationDown, aggregationUp}
	c.Ports[2] = []*Interface{coreDown}
	for i, name := range []string{"Ethernet4", "Ethernet8"} {
		host, port, err := f.attach([]string{"receiver-0", "receiver-1"}[i], core, name, ChainReceivers[i], ChainReceivers4[i])
		if err != nil {
			return nil, err
		}
		c.Receivers[i], c.Ports[2] = host, append(c.Ports[2], port)
	}
	if err := c.routes(); err != nil {
		return nil, err
	}
	for _, n := range f.nodes {
		if err := n.ReceiveInOrder(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// routes adds the routes between the hosts, and the addresses of the links that they lead over.
func (c *Chain) routes() error {
	edge, aggregation, core := c.Switches[0], c.Switches[1], c.Switches[2]
	links := [4]*Interface{c.Ports[0][2], c.Ports[1][0], c.Ports[1][1], c.Ports[2][0]}
	var link4 [4]netip.Addr
	for i, end := range links {
		link4[i] = netip.AddrFrom4([4]byte{10, 1, 0, byte(i)})
		if err := end.Address(netip.PrefixFrom(link4[i], 31)); err != nil {
			return err
		}
	}
	for i := range 2 {
		for _, r := range []struct {
			at      *Node
			to, to4 netip.Prefix
			by      int // of links
			via     int // at its other end
		}{
			{edge, ChainReceivers[i], ChainReceivers4[i], 0, 1}, {aggregation, ChainReceivers[i], ChainReceivers4[i], 2, 3},
			{aggregation, ChainSenders[i], ChainSenders4[i], 1, 0}, {core, ChainSenders[i], ChainSenders4[i], 3, 2},
		} {
			by := links[r.by]
			if err := r.at.Route(r.to.Masked(), Hop{Via: by.peer.LinkLocal, Out: by}); err != nil {
				return err
			}
			if err := r.at.Route(r.to4.Masked(), Hop{Via: link4[r.via], Out: by}); err != nil {
				return err
			}
		}
	}
	return nil
}
