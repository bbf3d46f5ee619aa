// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// clients are two flows of host A behind a gateway that advises clients: packets of the one have a bit
// in octet 4 of their BTH.
type clients struct {
	*leaf
	node *congestedNode
	host *fabric.Sender
	c    *fabric.Capture
	sent int
}

const capableQP, incapableQP, capabilityBit = 0x78, 0x77, 2

func newClients(t *testing.T, advice ...string) *clients {
	l, node := newIngress(t, "client_message", "rate-advice")
	l.set("SLUICE_RATE_ADVICE", "global", append([]string{"admin_state", "enabled"}, advice...)...)
	return &clients{leaf: l, node: node, c: l.capture(l.A)}
}

// run starts sluiced.
func (l *clients) run() {
	l.start("--sai-profile", withQueues)
	l.awaitFields("SLUICE_STATE", "global", "rate_advice", "active", "ppfc", "active")
	l.host = l.sender(l.A)
}

// ask sends packets of both flows, and has the gateway asked to stop them.
func (l *clients) ask() {
	for range 16 {
		l.put(l.host, l.datagramWith(roce.BTH{PKey: 0xffff, DestQP: capableQP, PSN: uint32(l.sent), Resv6: capabilityBit}),
			l.datagramWith(roce.BTH{PKey: 0xffff, DestQP: incapableQP, PSN: uint32(l.sent)}))
		l.sent++
	}
	for _, qp := range []uint32{capableQP, incapableQP} {
		flow := session
		flow.DstQP = qp
		l.node.asks(notify.Stop, longest, flow)
	}
}

// advised counts the messages about each flow, by its destination queue pair.
func (l *clients) advised() map[uint32]int {
	all := map[uint32]int{}
	for _, f := range l.c.Frames() {
		var p notify.Packet
		if p.Parse(f.Data, notify.DefaultCodePoints()) == nil && p.Kind == notify.KindRateAdvice {
			all[p.RateAdvice.SourceQP]++
		}
	}
	return all
}

// TestRateAdviceByTheBit: with capability=bit a sender is advised whose packets have the bit, listed or
// not; one without it is not, though it is listed.
//
//conformance:draft-zz/capable
func TestRateAdviceByTheBit(t *testing.T) {
	l := newClients(t, "capability", "bit", "capability_mask", "2")
	l.set("SLUICE_RATE_ADVICE_HOST", fabric.HostA.Masked().String(), "NULL", "NULL")
	l.run()
	listed := 0
	l.until("the flow with the bit is advised, and the other one refused", func() bool {
		l.ask()
		listed = l.advised()[capableQP]
		return listed > 0 && l.notified("rate-advice", "not_allowed") >= 20
	})
	l.remove("SLUICE_RATE_ADVICE_HOST", fabric.HostA.Masked().String())
	l.until("it is advised without being listed, too", func() bool {
		l.ask()
		return l.advised()[capableQP] > listed+20
	})
	if n := l.advised()[incapableQP]; n > 0 {
		t.Errorf("a sender without the bit was advised %d times", n)
	}
}

// TestRateAdviceByTheList: with capability=list, the default, a listed sender is advised whatever its
// packets have; one that is not listed is not, though its packets have the bit. A PPFC about their 5-tuple
// reaches both, and so does its end.
//
//conformance:draft-zz/capable draft-xz/map-qp draft-xz/client-resume
func TestRateAdviceByTheList(t *testing.T) {
	l := newClients(t, "capability_mask", "2")
	l.set("SLUICE_RATE_ADVICE_HOST", "2001:db8:77::/64", "NULL", "NULL")
	l.run()
	l.until("senders that are not listed are refused", func() bool {
		l.ask()
		return l.notified("rate-advice", "not_allowed") >= 20
	})
	if all := l.advised(); len(all) > 0 {
		t.Errorf("senders that are not listed were advised: %v", all)
	}
	l.set("SLUICE_RATE_ADVICE_HOST", fabric.HostA.Masked().String(), "NULL", "NULL")
	l.until("both flows of the listed sender are advised", func() bool {
		l.ask()
		all := l.advised()
		return all[capableQP] > 0 && all[incapableQP] > 0
	})
	// A 5-tuple is that of both flows: the one message stops them, and the other frees them.
	tuple := ports(session.Protocol, session.DstPort)
	tuple.SrcPort = session.SrcPort
	l.node.asks(notify.Resume, 0, tuple) // held by their queue pairs alone: nothing to end
	for _, tt := range []struct {
		pt    notify.PT
		us    uint16
		least bool
	}{{notify.Stop, longest, true}, {notify.Resume, 0, false}} {
		from := l.c.Len()
		l.until(tt.pt.String()+" of the 5-tuple reaches both queue pairs", func() bool {
			if !tt.least {
				l.node.asks(notify.Stop, longest, tuple)
			}
			l.node.asks(tt.pt, tt.us, tuple)
			seen := map[uint32]bool{}
			for _, f := range l.c.Frames()[from:] {
				var p notify.Packet
				if p.Parse(f.Data, notify.DefaultCodePoints()) == nil && p.Kind == notify.KindRateAdvice && p.RateAdvice.DestinationQP == ownQP && (p.RateAdvice.Rate == 100) == tt.least {
					seen[p.RateAdvice.SourceQP] = true
				}
			}
			return seen[capableQP] && seen[incapableQP]
		})
	}
}
