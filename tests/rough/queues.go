// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/tests/site"
)

const (
	withQueues = "SLUICE_QUEUES=8"
	slowEgress = 20  // Mbit/s of a port to a host that flows fill
	fastPort   = 100 // of all others

	holdLoad  = 6 * time.Second
	quietTime = 500 * time.Millisecond // without an arrival: nothing is on its way
)

// egressRate is the profile of a switch some of whose ports are slow.
func egressRate(mbps int, ports ...*fabric.Interface) (profile []string) {
	rates := fmt.Sprint("SLUICE_QUEUE_RATE=", fastPort)
	for _, p := range ports {
		rates += fmt.Sprintf(",%s=%d", p.Name, mbps)
	}
	return []string{withQueues, rates}
}

// A pair is a leaf that holds and a spine with a slow port to host B, which asks it to.
type pair struct {
	*fabric.LeafSpine
	fabric      *fabric.Fabric
	leaf, spine *site.Site
}

// A pairOf is how a pair is built.
type pairOf struct {
	uplinks   int
	highBytes int
	queue     int                                      // octets of the slow port's; 0: as the switch has it
	leaf      func(ctx context.Context, p *pair) error // rows besides, or nil
	spine     func(ctx context.Context, p *pair) error
}

// buildPair builds a pair that is ready to hold. Close it in the end, after an error, too.
func (st *stage) buildPair(ctx context.Context, o pairOf) (p *pair, err error) {
	p = &pair{leaf: &site.Site{}, spine: &site.Site{}}
	if p.fabric, err = fabric.New(); err != nil {
		return p, err
	}
	if p.LeafSpine, err = p.fabric.LeafSpine(o.uplinks); err != nil {
		return p, err
	}
	for _, n := range []*fabric.Node{p.A.Node, p.Leaf, p.Spine, p.B.Node} {
		if err := n.ReceiveInOrder(); err != nil {
			return p, err
		}
	}
	atLeaf, atSpine := map[*fabric.Interface]string{p.LeafA: "edge"}, map[*fabric.Interface]string{p.SpineB: "edge"}
	for _, u := range p.Uplinks {
		atLeaf[u], atSpine[u.Peer()] = "fabric", "fabric"
	}
	if p.leaf, err = site.Start(ctx, p.Leaf, st.files("leaf"), atLeaf, egressRate(fastPort)...); err != nil {
		return p, err
	}
	profile := egressRate(slowEgress, p.SpineB)
	if o.queue != 0 {
		profile = append(profile, fmt.Sprintf("SLUICE_QUEUE_BYTES=1000000,%s=%d", p.SpineB.Name, o.queue))
	}
	if p.spine, err = site.Start(ctx, p.Spine, st.files("spine"), atSpine, profile...); err != nil {
		return p, err
	}
	if err = p.leaf.Watch(ctx, o.highBytes, p.Uplinks, nil); err == nil {
		err = p.spine.Watch(ctx, o.highBytes, peers(p.Uplinks), []*fabric.Interface{p.SpineB})
	}
	for _, rows := range []func(context.Context, *pair) error{o.leaf, o.spine} {
		if err == nil && rows != nil {
			err = rows(ctx, p)
		}
	}
	if err == nil {
		err = p.leaf.Ready(ctx)
	}
	if err == nil {
		err = p.spine.Ready(ctx)
	}
	return p, err
}

func peers(all []*fabric.Interface) (others []*fabric.Interface) {
	for _, i := range all {
		others = append(others, i.Peer())
	}
	return others
}

func (p *pair) close() error {
	err := errors.Join(p.leaf.Close(), p.spine.Close())
	if p.fabric != nil {
		err = errors.Join(err, p.fabric.Close())
	}
	return err
}

// forth builds streams from host A to host B.
func (p *pair) forth(streams ...*stream) ([]*stream, error) {
	sender, err := p.A.Sender()
	if err != nil {
		return nil, err
	}
	for i, s := range streams {
		s.id, s.sender = uint32(0x100+i), sender
		e := ends{p.A.MAC, p.LeafA.MAC, fabric.HostA.Addr(), fabric.HostB.Addr()}
		if s.four {
			e.src, e.dst = fabric.HostA4.Addr(), fabric.HostB4.Addr()
		}
		s.build(e)
	}
	return streams, nil
}

// play sends streams for a time, and returns their fates at receivers once all is quiet. While
// they are sent during is called; nil: nothing is.
func play(ctx context.Context, streams []*stream, load time.Duration, advice *fabric.Interface, during func(*pour) error, receivers ...*fabric.Interface) (all map[*stream]*fate, err error) {
	var captures []*fabric.Capture
	for _, r := range receivers {
		c, err := r.Capture()
		if err != nil {
			return nil, err
		}
		captures = append(captures, c)
	}
	p, err := begin(streams, advice)
	if err != nil {
		return nil, err
	}
	if during != nil {
		err = during(p)
	}
	wait(ctx, time.Until(p.begin.Add(load)))
	err = errors.Join(err, p.end(), ctx.Err())
	arrived := func() (n int) {
		for _, c := range captures {
			n += c.Len()
		}
		return n
	}
	for n, deadline := -1, time.Now().Add(site.Patience); n != arrived() && time.Now().Before(deadline); wait(ctx, quietTime) {
		n = arrived()
	}
	var frames []fabric.Frame
	for _, c := range captures {
		f, stopErr := c.Stop()
		frames, err = append(frames, f...), errors.Join(err, stopErr)
	}
	senders := map[*fabric.Sender]bool{}
	for _, s := range streams {
		if !senders[s.sender] {
			senders[s.sender] = true
			err = errors.Join(err, s.sender.Close())
		}
	}
	if err != nil {
		return nil, err
	}
	return fates(streams, frames), nil
}

// wait waits for a time, or until ctx is done.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
