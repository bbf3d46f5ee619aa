// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"net/netip"
	"testing"

	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

// atMost fails where a message advises more than a rate in Mbit/s, and returns the messages.
func (f *fake) atMost(name string, rate uint32) []told {
	f.t.Helper()
	got := f.takeTold()
	for _, m := range got {
		if m.packet.Kind != notify.KindRateAdvice || m.packet.RateAdvice.Rate > rate {
			f.t.Errorf("%s: at %d ms %v of %d Mbit/s, the policy is %d", name, m.at/ms, m.packet.Kind, m.packet.RateAdvice.Rate, rate)
		}
	}
	return got
}

// A policy of 5 Mbit/s bounds each advice: to a flow that offered 30 and now sends 4 while its queue
// drains, to the client of a gateway, and to the sender of a flow that is held there.
//
//conformance:draft-zz/policy
func TestNoAdviceExceedsThePolicy(t *testing.T) {
	policies := []congestion.Policy{{Src: netip.MustParsePrefix("2001:db8:a::/48"), DSCP: 26, Rate: 5}, {DSCP: 10, Rate: 2}}

	c := advising()
	c.Advice.Policies = policies
	f := newFake(t, c)
	f.core.learn(f.now, Learned{Pair: pairOf(sender, sink, 0x99), SrcQP: 0x42})
	f.counts(sender, sink, 0x99, 0)
	f.fills(1, sender, sink, 0x99, 150_000, sai.MarkHigh)
	start, octets := f.now, uint64(0)
	for at := start; at < start+600*ms; at += ms {
		f.until(at)
		if at < start+300*ms {
			octets += 30 * 125
		} else {
			octets += 4 * 125
			f.depth[idOf(queue, 1)] = 30_000
		}
		f.counts(sender, sink, 0x99, octets)
	}
	got := f.atMost("congestion", 5)
	if len(got) < 20 || got[0].packet.RateAdvice.Rate != 5 {
		t.Errorf("a congested flow is advised %d times: %+v", len(got), got)
	}
	if n := len(got); n > 0 && got[n-1].at > start+400*ms {
		t.Errorf("after %d ms a flow far below its policy is advised still", (got[n-1].at-start)/ms)
	}

	c = ingress(ClientRateAdvice)
	c.Ingress.MinRate = 7
	c.Advice = &Advice{Hosts: c.Ingress.Hosts, Policies: policies}
	f = newFake(t, c)
	f.ppfcFrom(router6, gateway6, stopOf(sender, sink, qps))
	if got := f.atMost("client of an unseen flow", 2); len(got) != 1 {
		t.Errorf("%d messages to the client", len(got))
	}
	f.core.learn(f.now, Learned{Pair: pairOf(sender, sink, 0x99), SrcQP: 0x42, SrcPort: 0xc123, DSCP: 26})
	f.ppfcFrom(router6, gateway6, stopOf(sender, sink, qps))
	if got := f.atMost("client", 5); len(got) != 1 || got[0].packet.RateAdvice.Rate != 5 {
		t.Errorf("to the client %+v, want one of 5 Mbit/s", got)
	}

	c = slowing()
	c.Advice, c.Source.Advise = advising().Advice, true
	c.Advice.Policies = policies
	f = newFake(t, c)
	l := flowOf(sender, sink)
	l.DSCP = 26
	f.sees(l)
	f.takeTold()
	f.receive(down1, notify.PFCM{StreamID: streamOf(5), QueueID: 3, Action: notify.Reduce(60), Time: 40_000})
	if got := f.atMost("hold at the sender", 5); len(got) != 1 || got[0].packet.RateAdvice.Rate != 5 {
		t.Errorf("a hold of 4000 Mbit/s advises %+v, want 5", got)
	}
}
