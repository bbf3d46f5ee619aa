// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"net/netip"
	"time"
)

// WAN is a sending host, two gateways with a link between them that takes its time, and
// a receiving host:
//
//	sender – gateway 1 – [delay] – gateway 2 – receiver
//
// Ports are Ethernet0 towards the host and Ethernet4 towards the other gateway. Host A is
// the sender. Each gateway has a router id of its own, [WANRouters], on its loopback.
type WAN struct {
	Sender, Receiver *Interface
	Gateways         [2]*Node
	Host, Between    [2]*Interface // of each gateway
	Delay            *Delay
}

// WANRouters are the router ids of the gateways, WANRouters4 those of IPv4.
var (
	WANRouters  = [2]netip.Addr{netip.MustParseAddr("2001:db8:ff::1"), netip.MustParseAddr("2001:db8:ff::2")}
	WANRouters4 = [2]netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")}
)

// WAN builds the network, with a delay each way; its routes are for IPv6 and IPv4.
func (f *Fabric) WAN(delay time.Duration) (*WAN, error) {
	w := &WAN{}
	var err error
	for i, name := range []string{"gateway-1", "gateway-2"} {
		if w.Gateways[i], err = f.Router(name); err != nil {
			return nil, err
		}
	}
	if w.Sender, w.Host[0], err = f.attach("sender", w.Gateways[0], "Ethernet0", HostA, HostA4); err != nil {
		return nil, err
	}
	if w.Receiver, w.Host[1], err = f.attach("receiver", w.Gateways[1], "Ethernet0", HostB, HostB4); err != nil {
		return nil, err
	}
	if w.Between[0], w.Between[1], w.Delay, err = f.DelayedLink(w.Gateways[0], "Ethernet4", w.Gateways[1], "Ethernet4", delay); err != nil {
		return nil, err
	}
	var link4 [2]netip.Addr
	for i, up := range w.Between {
		link4[i] = netip.AddrFrom4([4]byte{10, 1, 0, byte(i)})
		if err := up.Address(netip.PrefixFrom(link4[i], 31)); err != nil {
			return nil, err
		}
	}
	far, far4 := [2]netip.Prefix{HostB, HostA}, [2]netip.Prefix{HostB4, HostA4}
	for i, up := range w.Between {
		via := map[netip.Prefix]netip.Addr{
			far[i].Masked(): up.peer.LinkLocal, netip.PrefixFrom(WANRouters[1-i], 128): up.peer.LinkLocal,
			far4[i].Masked(): link4[1-i], netip.PrefixFrom(WANRouters4[1-i], 32): link4[1-i],
		}
		for to, next := range via {
			if err := w.Gateways[i].Route(to, Hop{Via: next, Out: up}); err != nil {
				return nil, err
			}
		}
		for _, own := range []netip.Prefix{netip.PrefixFrom(WANRouters[i], 128), netip.PrefixFrom(WANRouters4[i], 32)} {
			if err := w.Gateways[i].Loopback(own); err != nil {
				return nil, err
			}
		}
	}
	for _, n := range f.nodes {
		if err := n.SteerReceive(); err != nil {
			return nil, err
		}
	}
	return w, nil
}
