// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

// What waits here because a neighbor asked for it is asked for further up, for no longer
// than what remains, and again only when the neighbor has refreshed.
//
//conformance:draft-yang/recursion
func TestHeldFlowIsHeldFurtherUp(t *testing.T) {
	f := newFake(t, config())
	start, id := f.now, streamOf(5)
	f.receive(down1, pause(id, 40_000))
	f.until(start + 10*ms)
	f.event(1, up, 5, 150_000, sai.MarkHigh) // its hold queue fills
	if got := f.take(); len(got) != 1 || got[0].pfcm.StreamID != id || got[0].pfcm.Time != 30_000 {
		t.Fatalf("%+v, want 30 ms", got)
	}
	f.until(start + 39*ms)
	if got := f.take(); len(got) != 0 {
		t.Fatalf("refreshed alone: %+v", got)
	}
	f.receive(down1, pause(id, 20_000))
	f.until(start + 55*ms)
	if got := f.take(); len(got) != 1 || got[0].pfcm.Time == 0 || got[0].at+int64(got[0].pfcm.Time)*1000 > start+59*ms {
		t.Fatalf("after the refresh: %+v", got)
	}
	f.receive(down1, notify.PFCM{StreamID: id, QueueID: 3, Action: notify.Cancel})
	f.until(start + 100*ms)
	if got := f.take(); len(got) == 0 || got[0].pfcm.Time != 40_000 {
		t.Errorf("it is still above its mark, now by itself: %+v", got)
	}
}

// Switches in a forwarding loop that hold each other's flow go on within one duration of
// the last cause: what is derived dies out.
//
//conformance:draft-yang/recursion
func TestCircularHoldsEnd(t *testing.T) {
	const nodes = 4
	var ring [nodes]*fake
	for i := range ring {
		ring[i] = newFake(t, config())
	}
	id, now := streamOf(5), ms
	// The flow goes round: what leaves node i by down comes in at node i+1 by up. It
	// was congested at node 0 once, and every hold queue that it is in is full.
	last, sentAny := int64(0), 0
	ring[0].event(1, up, 5, 150_000, sai.MarkHigh)
	ring[0].event(1, up, 5, 0, sai.MarkLow) // the cause is gone at once
	ring[0].take()
	ring[nodes-1].receive(down1, pause(id, 40_000)) // but its cancel was lost
	for now < 500*ms {
		now += ms / 4
		for i, f := range ring {
			f.until(now)
			if f.holds[onStream(down1, id)].until != 0 {
				last = now
				f.event(1, up, 5, 150_000, sai.MarkHigh)
			} else if f.core.detector.Flows() > 0 {
				f.event(1, up, 5, 0, sai.MarkLow)
			}
			upstream := ring[(i+nodes-1)%nodes]
			for _, s := range f.take() {
				sentAny++
				upstream.now = max(upstream.now, now)
				upstream.receive(down1, s.pfcm)
			}
		}
	}
	if sentAny < nodes || last > 42*ms {
		t.Errorf("%d messages, the last hold at %d ms, want the end within 40 ms", sentAny, last/ms)
	}
}

// Whatever the switch and the neighbors say, in whatever order: what is held is what was
// asked for by the neighbor of that port, for no longer than it asked; a neighbor that
// was asked hears again in time or a cancel, unless the hold that it was derived from is
// over; and a duration after the last word nothing is left.
func TestCoreHoldsWhatNeighborsAskForAndNoLonger(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := config()
		c.Translate = rapid.Bool().Draw(rt, "translate")
		q := c.Queues[queue]
		q.Threshold.Average = time.Duration(rapid.SampledFrom([]int{0, 500, 5000}).Draw(rt, "average")) * time.Microsecond
		c.Queues[queue] = q
		f := newRandom(t, c)
		asked := map[target]int64{}       // until when, at most
		upstream := map[[2]uint64]int64{} // at the neighbors: port and stream, until
		derived := map[[2]uint64]bool{}   // from a hold here
		rows := make([]CongestedFlow, 0, 8)
		streams := []uint16{streamOf(1), streamOf(2), 9}
		check := func() {
			for h, on := range f.holds {
				if on.until > asked[h] {
					rt.Fatalf("at %d held %v until %d, asked for until %d", f.now, h, on.until, asked[h])
				}
			}
			for _, s := range f.take() {
				if s.frame {
					continue
				}
				if s.pfcm.Time > 40_000 || s.to != link(0x10+byte(s.port)) {
					rt.Fatalf("sent %+v", s)
				}
				key := [2]uint64{uint64(s.port), uint64(s.pfcm.StreamID)}
				upstream[key], derived[key] = s.at+int64(s.pfcm.Time)*1000, s.paused
			}
		}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			switch rapid.IntRange(0, 3).Draw(rt, "what") {
			case 0:
				in := rapid.SampledFrom([]sai.ObjectID{up, other, host, borderPort, 0, 99}).Draw(rt, "in")
				n := rapid.Uint32Range(1, 5).Draw(rt, "flow")
				label := min(n, 2) // four have one Stream ID
				octets := rapid.SampledFrom([]uint64{0, 10_000, 60_000, 85_000, 150_000}).Draw(rt, "octets")
				mark := rapid.SampledFrom([]sai.FlowMark{sai.MarkLow, sai.MarkAlarm, sai.MarkHigh}).Draw(rt, "mark")
				f.event(uint64(n), in, label, octets, mark)
			case 1:
				p := rapid.SampledFrom([]sai.ObjectID{up, down1}).Draw(rt, "port")
				m := pause(rapid.SampledFrom(streams).Draw(rt, "stream"), rapid.Uint16Range(0, 40_000).Draw(rt, "us"))
				if rapid.Bool().Draw(rt, "reduce") {
					m.Action = notify.Reduce(rapid.IntRange(0, 63).Draw(rt, "percent"))
				}
				f.receive(p, m)
				for _, id := range f.core.settings.ports.Of(p).Members {
					h := onStream(id, m.StreamID)
					asked[h] = max(asked[h], f.now+int64(m.Time)*1000)
				}
			case 2:
				n := rapid.Uint64Range(1, 5).Draw(rt, "flow")
				f.depth[idOf(queue, n)] = rapid.SampledFrom([]uint64{0, 60_000, 150_000}).Draw(rt, "depth") // no event
			default:
				f.until(f.now + rapid.Int64Range(0, 60*ms).Draw(rt, "dt"))
			}
			check()
			for _, g := range f.core.detector.AppendRows(f.now, rows[:0]) {
				if !g.Requested {
					continue
				}
				port := uint64(g.To.As16()[15] & 0xf)
				if key := [2]uint64{port, uint64(g.Stream)}; g.Congested && port != uint64(borderPort) && !derived[key] && f.now > upstream[key] {
					rt.Fatalf("at %d flow %+v is congested, and the neighbor was asked until %d", f.now, g, upstream)
				}
			}
		}
		clear(f.depth)
		f.until(f.now + 900*ms)
		check()
		if len(f.holds)+f.core.holder.Len()+f.core.detector.Flows()+(f.core.downstream.Open()+f.core.gateways.Open()) != 0 || f.core.next() != math.MaxInt64 {
			rt.Fatalf("left: holds %v, %d held, %d congested, %d keys, next at %d", f.holds, f.core.holder.Len(), f.core.detector.Flows(), (f.core.downstream.Open() + f.core.gateways.Open()), f.core.next())
		}
	})
}

// Flow control allocates nothing: events, messages of every outcome, refreshes, cancels,
// PFC, measuring, expiry, reports.
func TestCoreDoesNotAllocate(t *testing.T) {
	c := config()
	c.Translate = true
	f := newFake(t, c)
	f.silence()
	r := newReport()
	high := arrived(sai.FlowEvent{Queue: queue, Mark: sai.MarkHigh, Octets: 150_000, Length: sai.FlowHead, Head: head(sender, sink, 5)})
	msgs := messagesOf(t, f)
	round := func() {
		for i := range uint64(8) {
			high.Flow, high.InPort, high.At = i+1, []sai.ObjectID{up, borderPort, host, other}[i%4], f.now
			f.core.event(f.now, high)
		}
		for i := range msgs {
			f.core.receiveMessage(f.now, &msgs[i])
		}
		for range 20 {
			f.now += 5 * ms
			f.core.step(f.now)
		}
		r.Flows, r.Holds = r.Flows[:0], r.Holds[:0]
		f.core.fill(f.now, r)
		f.drained = true
		f.now += 50 * ms
		f.core.step(f.now)
		f.drained = false
	}
	round()
	if n := testing.AllocsPerRun(200, round); n != 0 {
		t.Errorf("%v allocations a round", n)
	}
	if n := f.core.kernel.Counters; n.Sent == 0 || n.PFCSent == 0 || n.Held == 0 || n.Refused[notify.BadHopLimit] == 0 || n.Sender == 0 {
		t.Errorf("the round does too little: %+v", n)
	}
}
