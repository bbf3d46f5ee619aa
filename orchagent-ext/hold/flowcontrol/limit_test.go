// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

// passes says what the switch has counted of a session, whichever port it leaves by.
func (f *fake) passes(src, dst netip.Addr, qp uint32, octets uint64) {
	m := sai.HoldMatch{Kind: sai.HoldSession, Value: qp, Src: src, Dst: dst}
	f.match[targetOf(sai.Null, m)] = sai.HoldState{Octets: octets}
}

// matchOf is the match by which the switch counts a flow.
func matchOf(p Pair) sai.HoldMatch {
	return sai.HoldMatch{Kind: sai.HoldSession, Value: p.DestQP, Src: p.Src, Dst: p.Dst}
}

func limiting() *Config {
	c := advising()
	c.Advice.Policies = []congestion.Policy{{Src: netip.MustParsePrefix("2001:db8::/32"), DSCP: 26, Rate: 30}, {DSCP: -1, Rate: 80}}
	return c
}

// The room for flows with a policy, and for how long an idle one is known.
const maxLimited, limitedIdle = 64, time.Minute

var seen = Learned{Pair: pairOf(sender, sink, 0x99), SrcQP: 0x42, SrcPort: 0xc123, PKey: 0x8001, DSCP: 26}

// A flow that meets no congestion is told the lowest of the policies that match while it
// is near that; the switch counts it meanwhile.
//
//conformance:draft-zz/policy
func TestPolicyIsToldWithoutCongestion(t *testing.T) {
	other := seen
	other.Src = netip.MustParseAddr("2001:db8:c::1")
	dscp := seen
	dscp.DSCP = 0
	unseen := seen
	unseen.SrcPort = 0
	unpaired := seen
	unpaired.SrcQP = 0
	for name, tt := range map[string]struct {
		flow Learned
		mbps uint64
		want uint32
	}{
		"its queue pair is not known":    {unpaired, 28, 0},
		"near its limit":                 {seen, 28, 30},
		"above it":                       {seen, 45, 30},
		"far below":                      {seen, 20, 0},
		"another policy":                 {dscp, 75, 80},
		"the sender may not be told":     {other, 28, 0},
		"no packet of the flow was seen": {unseen, 28, 0},
	} {
		f := newFake(t, limiting())
		start := f.now
		f.passes(tt.flow.Src, sink, 0x99, 0)
		f.core.learn(f.now, tt.flow)
		for at := start; at < start+100*ms; at += ms {
			f.passes(tt.flow.Src, sink, 0x99, tt.mbps*125*uint64((at-start)/ms))
			f.until(at)
		}
		got := f.takeTold()
		if tt.want == 0 {
			if len(got) != 0 {
				t.Errorf("%s: told %+v", name, got)
			}
			continue
		}
		if len(got) < 8 || len(got) > 10 {
			t.Errorf("%s: told %d times in 100 ms", name, len(got))
		}
		for i, g := range got {
			m := g.packet.RateAdvice
			if g.packet.Kind != notify.KindRateAdvice || m.Rate != tt.want || m.DestQP != 0x42 || m.SourceQP != 0x99 || m.PKey != 0x8001 || g.packet.Envelope.SrcPort != 0xc123 {
				t.Errorf("%s: message %d: %+v", name, i, m)
			}
			if i > 0 && g.at-got[i-1].at < 10*ms {
				t.Errorf("%s: message %d comes too soon", name, i)
			}
		}
		if h := f.holds[targetOf(sai.Null, matchOf(tt.flow.Pair))]; h.rate != sai.RateCount {
			t.Errorf("%s: the switch does not count it: %+v", name, f.holds)
		}
	}
}

// The priority of DSCP 26 has 30 % of a port of 1000 Mbit/s: its only flow there is told 300, two of them 150
// each, and one alone again after the other was silent for a second. A flow of another port, and one of another
// priority, take nothing of it; where the port is unknown no part is known.
//
//conformance:draft-zz/policy
func TestPriorityHasItsPartOfThePort(t *testing.T) {
	c := advising()
	c.Advice.Policies = []congestion.Policy{{DSCP: 26, Percent: 30}}
	c.Ports = slices.Clone(c.Ports)
	for i := range c.Ports {
		c.Ports[i].Speed = 1000
	}
	f := newFake(t, c)
	flow := func(qp uint32, dscp uint8, out sai.ObjectID) Learned {
		l := seen
		l.DestQP, l.SrcQP, l.DSCP, l.Packet.Out = qp, qp+1, dscp, out
		f.passes(l.Src, sink, qp, 0)
		f.core.learn(f.now, l)
		return l
	}
	first, second := flow(0x90, 26, down1), flow(0x92, 26, down1)
	flow(0x94, 10, down1)
	flow(0x96, 26, down2)
	flow(0x98, 26, sai.Null)
	octets := map[uint32]uint64{}
	// run has the flows send at so many Mbit/s for some ms, and returns the rates that each queue pair was told.
	run := func(ms0 int64, mbps map[uint32]uint64) map[uint32][]uint32 {
		for at, end := f.now, f.now+ms0*ms; at < end; at += ms {
			for qp, rate := range mbps {
				octets[qp] += rate * 125
				f.passes(sender, sink, qp, octets[qp])
			}
			f.until(at)
		}
		rates := map[uint32][]uint32{}
		for _, g := range f.takeTold() {
			m := g.packet.RateAdvice
			if list := rates[m.DestQP]; len(list) == 0 || list[len(list)-1] != m.Rate {
				rates[m.DestQP] = append(list, m.Rate)
			}
		}
		return rates
	}
	all := map[uint32]uint64{first.DestQP: 290, second.DestQP: 290, 0x94: 900, 0x96: 290, 0x98: 900}
	if got, want := run(100, all), (map[uint32][]uint32{0x91: {150}, 0x93: {150}, 0x97: {300}}); !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("of two flows of a port, and one of another: told %v, want %v", got, want)
	}
	if got, want := run(1500, map[uint32]uint64{first.DestQP: 290}), []uint32{150, 300}; !slices.Equal(got[0x91], want) {
		t.Errorf("while the other is silent it is told %v, want %v", got[0x91], want)
	}
}

// Where samples lack the egress port, it is known once a flow was congested there: 30 % of 1000 Mbit/s are
// 300 for one flow, and 150 for each of two.
//
//conformance:draft-zz/policy
func TestCongestionShowsThePortOfAPart(t *testing.T) {
	c := advising()
	c.Advice.Policies = []congestion.Policy{{DSCP: 26, Percent: 30}}
	c.Ports = slices.Clone(c.Ports)
	for i := range c.Ports {
		c.Ports[i].Speed = 1000
	}
	f := newFake(t, c)
	octets := [2]uint64{}
	qps := [2]uint32{0x90, 0x92}
	run := func(span int64) map[uint32]uint32 {
		for at, end := f.now, f.now+span*ms; at < end; at += ms {
			for i, qp := range qps {
				octets[i] += 295 * 125
				f.passes(sender, sink, qp, octets[i])
				f.counts(sender, sink, qp, octets[i])
			}
			f.until(at)
		}
		last := map[uint32]uint32{}
		for _, g := range f.takeTold() {
			last[g.packet.RateAdvice.DestQP] = g.packet.RateAdvice.Rate
		}
		return last
	}
	for i, qp := range qps {
		l := seen
		l.DestQP, l.SrcQP = qp, qp+1
		f.passes(sender, sink, qp, 0)
		f.core.learn(f.now, l)
		f.counts(sender, sink, qp, octets[i])
	}
	if got := run(50); len(got) != 0 {
		t.Errorf("before the port is known: told %v", got)
	}
	drains := func(id uint64) {
		f.fills(id, sender, sink, qps[id], 150_000, sai.MarkHigh)
		run(15)
		f.depth[idOf(queue, id)] = 0
		run(100) // the advice of its congestion ends
	}
	drains(0)
	if got := run(50); len(got) != 1 || got[0x91] != 300 {
		t.Errorf("one flow is told %v, want 300", got)
	}
	drains(1)
	if got := run(50); len(got) != 2 || got[0x91] != 150 || got[0x93] != 150 {
		t.Errorf("two are told %v, want 150 each", got)
	}
}

// With destination_qp=copy a flow is limited whose source queue pair nothing has shown: the
// message names that of the data packet. A report without it leaves what was learned.
//
//conformance:draft-zz/policy draft-zz/dest-qp
func TestPolicyIsToldWithoutAQueuePair(t *testing.T) {
	c := limiting()
	c.Advice.Copy = true
	f := newFake(t, c)
	unpaired := seen
	unpaired.SrcQP = 0
	start := f.now
	f.passes(sender, sink, 0x99, 0)
	f.core.learn(f.now, unpaired)
	for at := start; at < start+50*ms; at += ms {
		f.passes(sender, sink, 0x99, 28*125*uint64((at-start)/ms))
		f.until(at)
	}
	got := f.takeTold()
	if len(got) < 3 {
		t.Fatalf("told %d times", len(got))
	}
	for i, g := range got {
		if m := g.packet.RateAdvice; m.Rate != 30 || m.DestQP != 0x99 || m.DestinationQP != 0x99 || m.SourceQP != 0x99 {
			t.Errorf("message %d: %+v", i, m)
		}
	}
	f.core.learn(f.now, seen)
	f.core.learn(f.now, unpaired)
	if qp := f.core.pairs.Find(seen.Pair).QP; qp != 0x42 {
		t.Errorf("after a report without it the queue pair is %#x", qp)
	}
}

// Where its queue is congested, that path tells the lower rate, and this one is silent.
func TestCongestionDecidesOfAFlowWithAPolicy(t *testing.T) {
	f := newFake(t, limiting())
	f.core.learn(f.now, seen)
	start := f.now
	f.passes(sender, sink, 0x99, 0)
	f.core.learn(f.now, seen)
	f.fills(1, sender, sink, 0x99, 150_000, sai.MarkHigh)
	for at := start; at < start+100*ms; at += ms {
		f.counts(sender, sink, 0x99, 28*125*uint64((at-start)/ms))
		f.passes(sender, sink, 0x99, 28*125*uint64((at-start)/ms))
		f.until(at)
	}
	got := f.takeTold()
	if len(got) < 5 {
		t.Fatalf("told %d times", len(got))
	}
	last := int64(0)
	for i, g := range got {
		if r := g.packet.RateAdvice.Rate; r > 30 || i > 2 && (r < 15 || r > 22) {
			t.Errorf("message %d says %d Mbit/s", i, r)
		}
		if g.at-last < 9*ms && i > 1 {
			t.Errorf("message %d comes %d µs after the one before", i, (g.at-last)/1000)
		}
		last = g.at
	}
}

// A hold of the same session is not disturbed by the counting; an idle flow is forgotten;
// and there is a bound.
func TestFlowsWithAPolicyAreBounded(t *testing.T) {
	c := limiting()
	in := ingress(ClientNone)
	c.Ingress, c.Router6 = in.Ingress, in.Router6
	f := newFake(t, c)
	f.ppfcFrom(router6, gateway6, stopOf(sender, sink, qps))
	f.core.learn(f.now, seen)
	f.until(f.now + 20*ms)
	at := targetOf(sai.Null, matchOf(seen.Pair))
	if h := f.holds[at]; h.rate != 0 {
		t.Errorf("the hold became %+v", h)
	}
	for i := range uint32(2 * maxLimited) {
		one := seen
		one.DestQP = 0x1000 + i
		f.core.learn(f.now, one)
	}
	if n := f.core.limiter.Flows(); n != maxLimited || f.core.kernel.Counters.LimitedFull != maxLimited+1 {
		t.Errorf("%d flows, %d without room", n, f.core.kernel.Counters.LimitedFull)
	}
	f.until(f.now + int64(limitedIdle) + 100*ms)
	if n := f.core.limiter.Flows(); n != 0 {
		t.Errorf("%d flows after a minute without a packet", n)
	}
}
