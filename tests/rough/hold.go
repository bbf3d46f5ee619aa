// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/tests/site"
)

const (
	elephantSize, mouseSize = 1000, 200 // octets of a frame
	markOctets              = 20000     // above which a flow is asked to be held
)

// elephant returns a stream that fills a slow egress together with another.
func elephant(label uint32) *stream {
	return &stream{protocol: udpProtocol, label: label, mbps: 15, until: holdLoad * 2 / 3, size: elephantSize, held: true}
}

// elephants fill a slow port for two thirds of a load, and drain in the rest.
func elephants(n int, four bool) (all []*stream) {
	for i := range n {
		e := elephant(0x4700 + uint32(i))
		e.four, e.mbps = four, 30/float64(n)
		all = append(all, e)
	}
	return all
}

// mouse returns a stream that is no burden, over RoCEv2, TCP or ICMP.
func mouse(protocol byte, four bool) *stream {
	return &stream{protocol: protocol, four: four, label: 0x4fff0 + uint32(protocol), mbps: 0.5, size: mouseSize, victim: true}
}

// mice are of each kind.
func mice() []*stream {
	return []*stream{mouse(udpProtocol, false), mouse(udpProtocol, true), mouse(protocolTCP, false), mouse(protocolTCP, true),
		mouse(protocolICMPv6, false), mouse(protocolICMP, true)}
}

// A chain is two hosts, three switches, and two hosts behind slow ports.
type chain struct {
	*fabric.Chain
	fabric   *fabric.Fabric
	switches [3]*site.Site
}

func (st *stage) buildChain(ctx context.Context) (c *chain, err error) {
	c = &chain{switches: [3]*site.Site{{}, {}, {}}}
	if c.fabric, err = fabric.New(); err != nil {
		return c, err
	}
	if c.Chain, err = c.fabric.Chain(); err != nil {
		return c, err
	}
	for i, name := range []string{"edge", "aggregation", "core"} {
		ports := c.Ports[i]
		hosts, switches := ports[:0], ports
		profile := egressRate(0)
		switch i {
		case 0:
			hosts, switches = ports[:2], ports[2:]
		case 2:
			hosts, switches = ports[1:], ports[:1]
			profile = egressRate(slowEgress, hosts...)
		}
		roles := map[*fabric.Interface]string{}
		for _, p := range switches {
			roles[p] = "fabric"
		}
		for _, p := range hosts {
			roles[p] = "edge"
		}
		if c.switches[i], err = site.Start(ctx, c.Switches[i], st.files(name), roles, profile...); err != nil {
			return c, err
		}
		if err := c.switches[i].Watch(ctx, markOctets, switches, hosts); err != nil {
			return c, err
		}
	}
	for _, s := range c.switches {
		if err := s.Ready(ctx); err != nil {
			return c, err
		}
	}
	return c, nil
}

func (c *chain) close() (err error) {
	for _, s := range c.switches {
		err = errors.Join(err, s.Close())
	}
	if c.fabric != nil {
		err = errors.Join(err, c.fabric.Close())
	}
	return err
}

// ends are of a stream from a sender to a receiver of the chain.
func (c *chain) ends(four bool, from, to int) ends {
	e := ends{c.Senders[from].MAC, c.Ports[0][from].MAC, fabric.ChainSenders[from].Addr(), fabric.ChainReceivers[to].Addr()}
	if four {
		e.src, e.dst = fabric.ChainSenders4[from].Addr(), fabric.ChainReceivers4[to].Addr()
	}
	return e
}

// threeHops fills two slow ports at the end of three switches, each by flows of both senders.
func threeHops(ctx context.Context, st *stage) (r *result, err error) {
	c, err := st.buildChain(ctx)
	defer func() { err = errors.Join(err, c.close()) }()
	if err != nil {
		return nil, err
	}
	var streams []*stream
	for from, host := range c.Senders {
		sender, err := host.Sender()
		if err != nil {
			return nil, err
		}
		for to := range c.Receivers {
			for _, s := range append(mice(), elephant(uint32(0x4700+2*from+to))) {
				s.id, s.sender = uint32(0x100+len(streams)), sender
				s.build(c.ends(s.four, from, to))
				streams = append(streams, s)
			}
		}
	}
	all, err := play(ctx, streams, holdLoad, nil, nil, c.Receivers[0], c.Receivers[1])
	if err != nil {
		return nil, err
	}
	for i, s := range c.switches {
		where(ctx, []string{"edge", "aggregation", "core"}[i], s, c.Ports[i]...)
	}
	r = weigh(all)
	r.bars = []bar{lossless, inOrder, unharmed}
	return r, errors.Join(c.switches[0].Held(ctx, "pfcm"), c.switches[1].Held(ctx, "pfcm"))
}

// hold runs streams over a pair, and judges them.
func (p *pair) hold(ctx context.Context, streams []*stream, advice *fabric.Interface, during func(*pour) error) (*result, error) {
	streams, err := p.forth(streams...)
	if err != nil {
		return nil, err
	}
	all, err := play(ctx, streams, holdLoad, advice, during, p.B)
	if err != nil {
		return nil, err
	}
	p.where(ctx)
	return weigh(all), nil
}

// storm sends the switch that holds 100,000 messages a second that are not to be obeyed.
func storm(ctx context.Context, st *stage) (r *result, err error) {
	p, err := st.buildPair(ctx, pairOf{uplinks: 1, highBytes: markOctets})
	defer func() { err = errors.Join(err, p.close()) }()
	if err != nil {
		return nil, err
	}
	r, err = p.hold(ctx, append(mice(), elephants(2, false)...), nil, func(load *pour) error {
		return forge(p.Uplinks[0], load.begin.Add(holdLoad))
	})
	if r != nil {
		r.bars = []bar{lossless, unharmed}
	}
	return r, errors.Join(err, p.leaf.Held(ctx, "pfcm"))
}

// halfIgnore advises four senders, of which two do as before. The rest is held.
func halfIgnore(ctx context.Context, st *stage) (r *result, err error) {
	p, err := st.buildPair(ctx, pairOf{uplinks: 1, highBytes: markOctets, spine: advises})
	defer func() { err = errors.Join(err, p.close()) }()
	if err != nil {
		return nil, err
	}
	streams := append(mice(), elephants(4, false)...)
	for i, s := range streams {
		s.obeys = s.held && i%2 == 0
	}
	if r, err = p.hold(ctx, streams, p.A, nil); r != nil {
		r.bars = []bar{lossless, unharmed}
	}
	for _, s := range streams {
		if s.obeys && s.advised.mbps == 0 {
			err = errors.Join(err, errors.New("a sender that follows advice got none: the scenario has shown nothing"))
		}
	}
	return r, errors.Join(err, p.leaf.Held(ctx, "pfcm"))
}

// advises lets the spine send Rate Advice to the hosts of the leaf.
func advises(ctx context.Context, p *pair) error { return advise(ctx, p) }

// Router ids of a pair.
var (
	leafRouter, leafRouter6   = netip.MustParsePrefix("10.255.0.1/32"), netip.MustParsePrefix("2001:db8:ff::1/128")
	spineRouter, spineRouter6 = netip.MustParsePrefix("10.255.0.2/32"), netip.MustParsePrefix("2001:db8:ff::2/128")
)

// ipv4Elephants fills the slow port by flows that PFCM cannot name. The spine asks the leaf by PPFC,
// as the gateway of its hosts.
func ipv4Elephants(ctx context.Context, st *stage) (r *result, err error) {
	p, err := st.buildPair(ctx, pairOf{uplinks: 1, highBytes: markOctets, spine: gateways})
	defer func() { err = errors.Join(err, p.close()) }()
	if err != nil {
		return nil, err
	}
	if r, err = p.hold(ctx, append(mice(), elephants(2, true)...), nil, nil); r != nil {
		r.bars = []bar{unharmed}
	}
	return r, errors.Join(err, p.leaf.Held(ctx, "ppfc"))
}

// gateways makes the leaf the gateway of its hosts, which takes PPFC from the spine.
func gateways(ctx context.Context, p *pair) error {
	err := errors.Join(
		p.Leaf.Loopback(leafRouter), p.Spine.Loopback(spineRouter),
		p.Spine.Route(leafRouter, fabric.Hop{Via: netip.AddrFrom4([4]byte{10, 1, 0, 0}), Out: p.Uplinks[0].Peer()}),
		p.leaf.Set(ctx, "SLUICE", "global", "router_id", leafRouter.Addr().String(), "router_id_v6", leafRouter6.Addr().String()),
		p.spine.Set(ctx, "SLUICE", "global", "router_id", spineRouter.Addr().String(), "router_id_v6", spineRouter6.Addr().String()),
		p.leaf.Set(ctx, "SLUICE_PPFC_PEER", spineRouter.String(), "NULL", "NULL"))
	for _, s := range []*site.Site{p.leaf, p.spine} {
		err = errors.Join(err,
			s.Set(ctx, "SLUICE_PPFC", "global", "admin_state", "enabled"),
			s.Set(ctx, "SLUICE_PPFC_GATEWAY", fabric.HostA4.Masked().String(), "gateway", leafRouter.Addr().String()))
		if err == nil {
			err = s.Await(ctx, "SLUICE_STATE", "global", "ppfc", "active")
		}
	}
	return err
}

// allTogether places flows on four uplinks that burst, while four others are held, of which two obey
// advice. No more waits of a flow than its hold queue takes, 4 MB.
func allTogether(ctx context.Context, st *stage) (r *result, err error) {
	p, err := st.buildPair(ctx, pairOf{uplinks: 4, highBytes: markOctets, spine: advises, leaf: func(ctx context.Context, p *pair) error {
		err := p.leaf.Set(ctx, "SLUICE_FLOW_LABEL", "global", "admin_state", "enabled", "manage_switch_hash", "true")
		if err == nil {
			err = p.leaf.Await(ctx, "SLUICE_STATE", "global", "flow_label", "active")
		}
		if err == nil {
			err = p.leaf.Set(ctx, "SLUICE_PLACEMENT", "global", "admin_state", "enabled", "idle_us", fmt.Sprint(idleAfter.Microseconds()), "sampling_rate", "4")
		}
		if err == nil {
			err = p.leaf.Await(ctx, "SLUICE_STATE", "global", "placement", "active")
		}
		return err
	}})
	defer func() { err = errors.Join(err, p.close()) }()
	if err != nil {
		return nil, err
	}
	streams := append(mice(), elephants(4, false)...)
	for range 16 {
		streams = append(streams, &stream{protocol: udpProtocol, mbps: 1, period: 500 * time.Millisecond, burst: 100 * time.Millisecond, size: mouseSize, victim: true})
	}
	for i, s := range streams {
		s.label, s.obeys = 0, i%2 == 0
	}
	if r, err = p.hold(ctx, streams, p.A, nil); r != nil {
		r.bars = []bar{lossless, inOrder, unharmed}
	}
	sums, sumErr := p.leaf.Sum(ctx, "SLUICE_PLACEMENT_GROUP", "moves", "waiting")
	if sumErr == nil && r != nil {
		moves, waiting := sums["moves"], sums["waiting"]
		r.Moves, r.Waiting = &moves, &waiting
	}
	return r, errors.Join(err, sumErr, p.leaf.Held(ctx, "pfcm"))
}
