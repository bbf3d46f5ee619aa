// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"testing"
	"time"

	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/hold/kernel"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

// counts says what the switch has counted of a session.
func (f *fake) counts(src, dst netip.Addr, qp uint32, octets uint64) {
	f.match[targetOf(down1, sai.HoldMatch{Kind: sai.HoldSession, Value: qp, Src: src, Dst: dst})] = sai.HoldState{Octets: octets, Packets: octets / 1000}
}

// dropsOf says how many octets the queue has dropped of a session, whose packets have 1000.
func (f *fake) dropsOf(src, dst netip.Addr, qp uint32, octets uint64) {
	at := targetOf(down1, sai.HoldMatch{Kind: sai.HoldSession, Value: qp, Src: src, Dst: dst})
	s := f.match[at]
	s.DroppedPackets = octets / 1000
	f.match[at] = s
}

// The sender of a congested flow is told the rate at which the flow leaves the queue, less
// where it has more than its share there; paced; until the flow has gone.
//
//conformance:draft-zz/queue draft-zz/dest-qp draft-zz/src-qp
func TestSenderIsAdvisedTheDepartureRate(t *testing.T) {
	f := newFake(t, advising())
	f.core.learn(f.now, Learned{Pair: pairOf(sender, sink, 0x99), SrcQP: 0x42})
	start, rate := f.now, uint64(12_500) // octets a ms: 100 Mbit/s
	f.fills(1, sender, sink, 0x99, 150_000, sai.MarkHigh)
	f.counts(sender, sink, 0x99, 0)
	for at := start; at < start+100*ms; at += ms {
		f.until(at)
		f.counts(sender, sink, 0x99, rate*uint64((at-start)/ms))
	}
	got := f.takeTold()
	if len(got) == 0 {
		t.Fatal("nothing was told")
	}
	for i, g := range got {
		m, e := g.packet.RateAdvice, g.packet.Envelope
		// The queue stays at 1.5 × the target: two thirds of what leaves.
		if m.Rate < 60 || m.Rate > 72 || m.DestQP != 0x42 || m.DestinationQP != 0x42 || m.SourceQP != 0x99 || m.PKey != 0x8001 || m.Version != 1 {
			t.Errorf("advice %d: %+v", i, m)
		}
		if e.Src != router6 || e.Dst != sender || e.SrcPort != 0xc123 {
			t.Errorf("advice %d goes from %s to %s", i, e.Src, e.Dst)
		}
		if i > 0 && g.at-got[i-1].at < 10*ms {
			t.Errorf("advice %d comes %d µs after the one before", i, (g.at-got[i-1].at)/1000)
		}
	}
	f.depth[idOf(queue, 1)] = 0
	f.until(start + 200*ms)
	f.takeTold()
	f.until(start + 500*ms)
	if got = f.takeTold(); len(got) != 0 || f.core.detector.Flows() != 0 {
		t.Errorf("a flow that ended is still advised: %d messages, %d flows", len(got), f.core.detector.Flows())
	}
	if h := f.holds; len(h) != 0 {
		t.Errorf("it is still counted: %+v", h)
	}
}

//conformance:draft-zz/capable
func TestSenderThatMayNotIsNotAdvised(t *testing.T) {
	other := netip.MustParseAddr("2001:db8:c::1")
	for name, tt := range map[string]struct {
		src    netip.Addr
		bits   uint8
		mask   uint8
		learn  bool
		copies bool
		want   uint32 // queue pair; 0: nothing
		count  func(c *Counters) uint64
	}{
		"not listed":              {src: other, learn: true, count: func(c *Counters) uint64 { return c.AdviceNotAllowed }},
		"the bit is not asked":    {src: other, bits: 1, learn: true, count: func(c *Counters) uint64 { return c.AdviceNotAllowed }},
		"the bit is set":          {src: other, bits: 3, mask: 1, learn: true, want: 0x42, count: func(c *Counters) uint64 { return c.AdviceSent }},
		"another bit is set":      {src: other, bits: 2, mask: 1, learn: true, count: func(c *Counters) uint64 { return c.AdviceNotAllowed }},
		"listed, and without bit": {src: sender, mask: 1, learn: true, count: func(c *Counters) uint64 { return c.AdviceNotAllowed }},
		"queue pair not learned":  {src: sender, count: func(c *Counters) uint64 { return c.AdviceQPUnknown }},
		"as the draft's text":     {src: sender, copies: true, want: 0x99, count: func(c *Counters) uint64 { return c.AdviceSent }},
	} {
		c := advising()
		c.Advice.Mask, c.Advice.Copy = tt.mask, tt.copies
		f := newFake(t, c)
		if tt.learn {
			f.core.learn(f.now, Learned{Pair: pairOf(tt.src, sink, 0x99), SrcQP: 0x42})
		}
		f.fillsWith(1, tt.src, sink, 0x99, tt.bits, 150_000, sai.MarkHigh)
		f.counts(tt.src, sink, 0x99, 0)
		f.until(f.now + 5*ms)
		f.counts(tt.src, sink, 0x99, 100_000)
		f.until(f.now + 10*ms)
		got := f.takeTold()
		if tt.want == 0 && len(got) != 0 || tt.want != 0 && (len(got) != 1 || got[0].packet.RateAdvice.DestQP != tt.want) || tt.count(&f.core.kernel.Counters) != 1 {
			t.Errorf("%s: told %+v, counters %+v", name, got, f.core.kernel.Counters)
		}
	}
}

// The lower one of policy and congestion counts; a policy alone is told while the flow is
// near its limit.
//
//conformance:draft-zz/policy
func TestPolicyLimitsTheAdvice(t *testing.T) {
	for _, tt := range []struct {
		mbps, policy, want uint32
	}{{100, 30, 30}, {100, 500, 66}, {0, 30, 0}} {
		c := advising()
		c.Advice.Policies = []congestion.Policy{{Src: netip.MustParsePrefix("2001:db8:a::/48"), DSCP: 26, Rate: tt.policy}}
		f := newFake(t, c)
		f.core.learn(f.now, Learned{Pair: pairOf(sender, sink, 0x99), SrcQP: 0x42})
		f.fills(1, sender, sink, 0x99, 150_000, sai.MarkHigh)
		f.counts(sender, sink, 0x99, 0)
		f.until(f.now + 9*ms)
		f.counts(sender, sink, 0x99, uint64(tt.mbps)*1250)
		f.until(f.now + 2*ms)
		got := uint32(0)
		if told := f.takeTold(); len(told) > 0 {
			got = told[0].packet.RateAdvice.Rate
		}
		if tt.mbps == 0 { // nothing leaves: the congestion's rate is the least one
			if got != 1 {
				t.Errorf("a flow that does not send is told %d", got)
			}
			continue
		}
		if got != tt.want {
			t.Errorf("%d Mbit/s with a policy of %d: told %d, want %d", tt.mbps, tt.policy, got, tt.want)
		}
	}
}

// fluid is senders, a path of a round-trip time and a slow egress, as fluids; the core
// watches the egress. Times in ms.
type fluid struct {
	*fake
	rates   []float64 // octets a ms that each sender sends
	queue   []float64
	paced   []float64 // octets of each that wait in the hold that paces it
	counted []float64
	coming  [][]float64 // rates that are on their way to the senders, by ms
	limit   float64     // octets a ms of the egress
	room    float64     // octets of its queue; 0: no end
	rtt     int
	deepest float64
	left    []float64
	dropped []float64
	offered float64
	heard   []int                 // when the last advice came, ms; 0: none holds
	pauses  func(i, age int) bool // a sender does not send in this ms; nil: never
	ignores map[int]bool          // senders that do as they like
	least   []uint32              // Mbit/s that each was told
	age     int                   // ms
}

// fluidLifetime is for how long an advice holds at the senders, in ms: 3 intervals.
const fluidLifetime = 30

// fluidHold is the room of a hold that paces a flow, octets: as in the software switch.
const fluidHold = 4_000_000

// apart is how long after each other the senders begin, in ms: who comes first has all.
const apart = 100

func newFluid(t *testing.T, flows, rtt int, mbps, offered float64, target uint64) *fluid {
	c := advising()
	c.Advice.Target.Bytes = target
	for i := range c.Ports {
		c.Ports[i].Speed = uint32(mbps)
	}
	q := c.Queues[queue]
	q.Threshold.High, q.Threshold.Low = target*3/2, target/2
	c.Queues[queue] = q
	x := &fluid{fake: newFake(t, c), limit: mbps * 125, rtt: rtt}
	x.offered = offered * 125
	for i := range flows {
		x.rates = append(x.rates, 0)
		x.core.learn(x.now, Learned{Pair: pairOf(x.host(i), sink, 0x100), SrcQP: 0x42})
	}
	x.queue, x.counted, x.left, x.heard = make([]float64, flows), make([]float64, flows), make([]float64, flows), make([]int, flows)
	x.dropped = make([]float64, flows)
	x.paced = make([]float64, flows)
	x.coming = make([][]float64, rtt)
	x.least = slices.Repeat([]uint32{math.MaxUint32}, flows)
	return x
}

func (x *fluid) host(i int) netip.Addr {
	a := sender.As16()
	a[15] = byte(i + 1)
	return netip.AddrFrom16(a)
}

// run lets so many ms pass.
func (x *fluid) run(span int) {
	for range span {
		if i := x.age / apart; x.age%apart == 0 && i < len(x.rates) {
			x.rates[i] = x.offered
		}
		x.age++
		total := 0.0
		for i, r := range x.rates {
			if x.heard[i] != 0 && x.age-x.heard[i] >= fluidLifetime { // no advice holds any more
				x.rates[i], x.heard[i], r = x.offered, 0, x.offered
			}
			if x.pauses != nil && x.pauses(i, x.age) {
				r = 0
			}
			x.counted[i] += r
			if h, ok := x.holds[targetOf(down1, sai.HoldMatch{Kind: sai.HoldSession, Value: 0x100, Src: x.host(i), Dst: sink})]; ok {
				waits := x.paced[i] + r
				r = min(waits, float64(h.rate)/8000)
				x.paced[i] = min(waits-r, fluidHold) // the rest finds no room
			} else {
				x.paced[i], r = 0, r+x.paced[i]
			}
			x.queue[i] += r
			total += x.queue[i]
		}
		if x.room != 0 && total > x.room { // arrivals are dropped, of each sender by what it sends
			over, sent := total-x.room, 0.0
			for i, r := range x.rates {
				if x.pauses == nil || !x.pauses(i, x.age) {
					sent += r
				}
			}
			for i, r := range x.rates {
				if x.pauses == nil || !x.pauses(i, x.age) {
					x.dropped[i] += min(x.queue[i], over*r/sent)
					x.queue[i] = max(0, x.queue[i]-over*r/sent)
				}
			}
			total = x.room
		}
		gone := min(total, x.limit)
		for i := range x.queue {
			was := x.depth[idOf(queue, uint64(i+1))]
			if total > 0 {
				share := gone * x.queue[i] / total
				x.queue[i] -= share
				x.left[i] += share
			}
			is := uint64(math.Round(x.queue[i] + x.paced[i])) // as the switch counts it
			x.depth[idOf(queue, uint64(i+1))] = is
			x.counts(x.host(i), sink, 0x100, uint64(x.counted[i]))
			x.dropsOf(x.host(i), sink, 0x100, uint64(x.dropped[i]))
			at := targetOf(down1, sai.HoldMatch{Kind: sai.HoldSession, Value: 0x100, Src: x.host(i), Dst: sink})
			state := x.match[at]
			state.WaitingOctets = uint64(math.Round(x.paced[i]))
			x.match[at] = state
			high := x.core.settings.Queues[queue].Threshold.High
			if x.room != 0 {
				high = min(high, uint64(x.room-total)) // as softsai has it
			}
			if is > high && (was <= high || x.age%2 == 0) { // the switch repeats it
				x.fills(uint64(i+1), x.host(i), sink, 0x100, is, sai.MarkHigh)
			}
		}
		x.deepest = max(x.deepest, total-gone)
		x.until(x.now + ms)
		// What was told now is obeyed after the round trip.
		arrived := x.coming[0]
		x.coming = append(x.coming[1:], nil)
		for i, r := range arrived {
			if !math.IsNaN(r) {
				x.rates[i], x.heard[i] = r, x.age
			}
		}
		var news []float64
		for _, told := range x.takeTold() {
			if told.packet.Kind != notify.KindRateAdvice {
				continue
			}
			if news == nil {
				news = make([]float64, len(x.rates))
				for i := range news {
					news[i] = math.NaN()
				}
			}
			for i := range x.rates {
				if told.packet.Envelope.Dst == x.host(i) && !x.ignores[i] {
					x.least[i] = min(x.least[i], told.packet.RateAdvice.Rate)
					news[i] = float64(told.packet.RateAdvice.Rate) * 125
				}
			}
		}
		x.coming[len(x.coming)-1] = news
	}
}

// TestAdvisedSendersShareTheEgress simulates senders that obey over 20 ms round trip: they
// share the egress within 10 % in 2 s, the queue stays below twice the target whatever
// their number, and the egress is used; also where the queue first drops most of what they send.
func TestAdvisedSendersShareTheEgress(t *testing.T) {
	for _, tt := range []struct {
		flows int
		room  float64
	}{{2, 0}, {16, 0}, {16, 3_000_000}} {
		const mbps, target = 400, 1_000_000
		flows := tt.flows
		x := newFluid(t, flows, 20, mbps, 400, target)
		x.room = tt.room
		x.run(flows * apart)
		start := x.deepest
		x.run(2000)
		x.deepest = 0
		clear(x.left)
		x.run(1000)
		least, most, sum := slices.Min(x.left), slices.Max(x.left), 0.0
		for _, l := range x.left {
			sum += l
		}
		text := fmt.Sprintf("%d flows: %.0f %% of the egress, flows from %.1f to %.1f Mbit/s, at most %.0f kB in the queue, %.0f while they began", flows, sum/(mbps*125*10), least/125000, most/125000, x.deepest/1000, start/1000)
		if sum < 0.95*mbps*125*1000 || most > 1.1*sum/float64(flows) || least < 0.9*sum/float64(flows) || x.deepest > 2*target {
			t.Error(text)
		} else {
			t.Log(text)
		}
	}
}

// TestLossLowersTheAdvice: what the queue drops of a flow did not leave it, and halves the rate.
func TestLossLowersTheAdvice(t *testing.T) {
	for _, tt := range []struct{ lost, want uint32 }{{0, 68}, {25, 25}} { // percent; Mbit/s
		c := advising()
		f := newFake(t, c)
		f.core.learn(f.now, Learned{Pair: pairOf(sender, sink, 0x99), SrcQP: 0x42})
		f.fills(1, sender, sink, 0x99, 150_000, sai.MarkHigh) // 1.5 times the target
		f.counts(sender, sink, 0x99, 0)
		f.until(f.now + 9*ms)
		f.counts(sender, sink, 0x99, 128_000)
		f.dropsOf(sender, sink, 0x99, 128_000*uint64(tt.lost)/100)
		f.until(f.now + 2*ms)
		told := f.takeTold()
		if len(told) != 1 || told[0].packet.RateAdvice.Rate != tt.want {
			t.Errorf("%d %% lost: %d messages, the first of %d Mbit/s, want %d", tt.lost, len(told), told[0].packet.RateAdvice.Rate, tt.want)
		}
	}
}

// TestSendersThatPauseStayAdvised simulates the demo's network with senders that stop for
// a moment now and then, for longer than the queue lasts: they are still advised behind
// that, so the queue stays below the high-water mark, and they need no time to climb.
func TestSendersThatPauseStayAdvised(t *testing.T) {
	for _, rtt := range []int{1, 20} {
		const mbps, target, high = 40, 100_000, 150_000
		x := newFluid(t, 2, rtt, mbps, 50, target)
		x.run(1000)
		start := x.deepest
		x.deepest = 0
		clear(x.left)
		x.pauses = func(i, age int) bool { return age%500 < 35 || (age+170*(i+1))%500 < 25 } // all, and each alone
		x.run(5000)
		used := (x.left[0] + x.left[1]) / (mbps * 125 * 5000)
		text := fmt.Sprintf("%d ms round trip: %.0f %% of the egress, at most %.0f kB in the queue, %.0f while they began", rtt, 100*used, x.deepest/1000, start/1000)
		if used < 0.9 || x.deepest > high {
			t.Error(text)
		} else {
			t.Log(text)
		}
	}
}

// TestPausesOfFarSendersKeepTheirAdvice simulates senders that are a known round trip away: one that
// pauses for less than that is advised when it sends again, so the queue stays short; where the
// round trip is not known it was free by then. A sender that obeys after the round trip is never named.
func TestPausesOfFarSendersKeepTheirAdvice(t *testing.T) {
	const mbps, target, high = 40, 100_000, 150_000
	for _, rtt := range []int{20, 60, 200} {
		aim := uint64(target * max(1, rtt/20)) // about one bandwidth-delay product
		x := newFluid(t, 2, rtt, mbps, 50, aim)
		x.core.settings.Advice.Pace.RTT = time.Duration(rtt) * time.Millisecond
		x.run(3000)
		x.deepest = 0
		x.pauses = func(i, age int) bool { return age%500 < 60 || (age+170*(i+1))%500 < 40 }
		x.run(5000)
		text := fmt.Sprintf("%d ms round trip: at most %.0f kB in the queue of %d, %d named", rtt, x.deepest/1000, aim/1000, x.core.kernel.Counters.AdviceNotFollowing)
		if x.deepest > float64(aim)*high/target || x.core.kernel.Counters.AdviceNotFollowing > 0 {
			t.Error(text)
		} else {
			t.Log(text)
		}
	}
}

// TestReactionsShowTheRoundTrip simulates senders whose reaction to advice shows how far away
// they are.
func TestReactionsShowTheRoundTrip(t *testing.T) {
	for _, rtt := range []int{40, 120} {
		x := newFluid(t, 2, rtt, 40, 200, 2_000_000)
		x.run(5000)
		hosts := x.core.advisor.AppendHosts(nil)
		if len(hosts) == 0 {
			t.Fatalf("%d ms: no reaction was seen", rtt)
		}
		for _, h := range hosts {
			if off := h.Time - time.Duration(rtt)*time.Millisecond; off.Abs() > 15*time.Millisecond {
				t.Errorf("%d ms: %+v", rtt, h)
			}
		}
	}
}

// TestSenderThatFollowsKeepsItsFairShare simulates senders that obey beside one that sends
// as it likes, told or with a queue pair that is not known: the others are told no less than
// the share that each would have if all got the same, and the one is named.
func TestSenderThatFollowsKeepsItsFairShare(t *testing.T) {
	for name, tt := range map[string]struct {
		flows, mbps int
		unknown     bool
	}{"it ignores advice": {2, 15, false}, "its queue pair is not known": {2, 15, true}, "beside seven": {8, 400, false}} {
		x := newFluid(t, tt.flows, 20, float64(tt.mbps), float64(tt.mbps), 100_000)
		x.ignores, x.room = map[int]bool{0: true}, 500_000*float64(tt.flows)
		if tt.unknown {
			*x.core.pairs = *kernel.NewPairs()
			for i := 1; i < tt.flows; i++ {
				x.core.learn(x.now, Learned{Pair: pairOf(x.host(i), sink, 0x100), SrcQP: 0x42})
			}
		}
		x.run(tt.flows*apart + 1000)
		x.least = slices.Repeat([]uint32{math.MaxUint32}, tt.flows)
		clear(x.left)
		x.run(2000)
		fair := tt.mbps / tt.flows
		for i := 1; i < tt.flows; i++ {
			if got := x.left[i] / 2000 / 125; int(x.least[i]) < fair*9/10 || got < float64(fair)/2 {
				t.Errorf("%s: sender %d was told %d Mbit/s and got %.1f, its fair share is %d", name, i, x.least[i], got, fair)
			}
		}
		var r Report
		r.Flows = make([]CongestedFlow, 0, 10)
		x.core.fill(x.now, &r)
		defies := 0
		for i := range r.Flows {
			if r.Flows[i].Exceeds {
				if defies++; r.Flows[i].Source != x.host(0) {
					t.Errorf("%s: %s counts as one that does not follow", name, r.Flows[i].Source)
				}
			}
		}
		want := 1
		if tt.unknown { // it was told nothing
			want = 0
		}
		if defies != want || x.core.kernel.Counters.AdviceNotFollowing != uint64(want) {
			t.Errorf("%s: %d senders do not follow, counted %d times, want %d", name, defies, x.core.kernel.Counters.AdviceNotFollowing, want)
		}
	}
}

// TestSenderThatDefiesIsPacedByPolicy simulates the same with not_following=hold: the others
// get their share, not only the permission to send it, until the sender follows. What waits in the hold
// that paces it, up to seconds of the port, is no queue of theirs.
func TestSenderThatDefiesIsPacedByPolicy(t *testing.T) {
	const flows = 4
	for _, mbps := range []float64{400, 20} {
		x := newFluid(t, flows, 20, mbps, mbps, 100_000)
		x.core.settings.Advice.Hold = true
		x.ignores, x.room = map[int]bool{0: true}, 2_000_000
		x.run(flows*apart + 3000)
		x.least = slices.Repeat([]uint32{math.MaxUint32}, flows)
		clear(x.left)
		x.run(1000)
		for i := 1; i < flows; i++ {
			if got, want := x.left[i]/1000/125, 0.9*mbps/flows; got < want || float64(x.least[i]) < 0.8*mbps/flows {
				t.Errorf("%v Mbit/s: sender %d got %.1f Mbit/s, told at least %d, want %.1f", mbps, i, got, x.least[i], want)
			}
		}
		paced := func() (n int) {
			for _, h := range x.holds {
				if h.rate != sai.RateCount {
					n++
				}
			}
			return n
		}
		if paced() != 1 {
			t.Errorf("%v Mbit/s: %d flows are paced, want that of the one that does as it likes", mbps, paced())
		}
		x.ignores = nil
		x.run(4000) // what waited has left
		if paced() != 0 {
			t.Errorf("%v Mbit/s: %d flows are paced though all follow", mbps, paced())
		}
	}
}

// What waits in the hold that paces a flow is no part of the queue that others wait in: a flow
// that fills the queue is congested beside megabytes there, and advised.
func TestOctetsOfAPacedFlowAreNotTheQueues(t *testing.T) {
	c := advising()
	c.Advice.Hold = true
	f := newFake(t, c)
	a, b := sender, sender.Next()
	for _, src := range []netip.Addr{a, b} {
		f.core.learn(f.now, Learned{Pair: pairOf(src, sink, 0x99), SrcQP: 0x42})
		f.counts(src, sink, 0x99, 0)
	}
	at := targetOf(down1, sai.HoldMatch{Kind: sai.HoldSession, Value: 0x99, Src: a, Dst: sink})
	f.match[at] = sai.HoldState{WaitingOctets: 3_000_000 - 16_000}
	f.depth[idOf(queue, 1)] = 3_000_000
	f.fills(1, a, sink, 0x99, 3_000_000, sai.MarkHigh)
	f.until(f.now + 20*ms)
	f.takeTold()
	f.depth[idOf(queue, 2)] = 150_000
	f.fills(2, b, sink, 0x99, 150_000, sai.MarkHigh)
	f.until(f.now + 20*ms)
	for _, told := range f.takeTold() {
		if told.packet.Kind == notify.KindRateAdvice && told.packet.Envelope.Dst == b {
			return
		}
	}
	t.Error("a flow that fills the queue beside a paced one is not advised")
}

func TestAdviceAllocatesNothing(t *testing.T) {
	f := newFake(t, advising())
	f.silence()
	f.core.learn(f.now, Learned{Pair: pairOf(sender, sink, 0x99), SrcQP: 0x42})
	c := telling()
	c.Advice = advising().Advice
	f.core.configure(f.now, newSettings(c))
	e := sai.FlowEvent{Queue: queue, InPort: up, Flow: 1, Octets: 150_000, Mark: sai.MarkHigh}
	e.Head, e.Length = rdmaHead(t, sender, sink, 0x99, 0)
	high := arrived(e)
	step := func() {
		f.core.event(f.now, high)
		f.now += int64(5 * time.Millisecond)
		f.core.step(f.now)
	}
	for range 100 {
		step()
	}
	if n := testing.AllocsPerRun(1000, step); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
