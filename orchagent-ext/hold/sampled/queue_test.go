// SPDX-License-Identifier: Apache-2.0

package sampled

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	interval = 10 * time.Millisecond
	high     = 1_000_000
	depth    = 4 * high
)

// port is a simulated port: flows with shares of its octets, and so many samples in an interval.
type port struct {
	shares []float64 // of flow 1, 2, 3…; what is missing to 1 is of other traffic
	queue  Queue[int]
	random *rand.Rand
}

// interval lets an interval pass with so many samples.
func (p *port) interval(samples int, octets uint64) {
	p.queue.Decay()
	for range samples {
		x, flow := p.random.Float64(), 0
		for i, share := range p.shares {
			if x < share {
				flow = i + 1
				break
			}
			x -= share
		}
		if flow == 0 {
			p.queue.Other(1000 + p.random.IntN(100))
		} else {
			p.queue.Sample(flow, 1000+p.random.IntN(100))
		}
	}
	p.queue.Depth(octets)
}

// named returns the flows that are named: that surely have more than the high mark.
func (p *port) named() (all []int) {
	for flow := range len(p.shares) + 1 {
		if p.queue.Of(flow).Least > high {
			all = append(all, flow)
		}
	}
	return all
}

// Two flows of 40 % of a port are named within p50 50 ms and p99 150 ms with 1000 samples a second
// and a reading each 10 ms, among 20 small flows, one of 15 % and other traffic; less than 1 % of
// the names are wrong.
func TestTwoElephantsAreNamed(t *testing.T) {
	var times []time.Duration
	wrong, names := 0, 0
	for run := range 300 {
		p := &port{shares: []float64{.4, .4, .15}, random: rand.New(rand.NewPCG(7, uint64(run)))}
		for range 20 {
			p.shares = append(p.shares, .002)
		}
		at := map[int]time.Duration{}
		for i := 1; i <= 40; i++ {
			p.interval(10, depth)
			for _, flow := range p.named() {
				if names++; flow > 2 {
					wrong++
				} else if at[flow] == 0 {
					at[flow] = time.Duration(i) * interval
				}
			}
		}
		for flow := 1; flow <= 2; flow++ {
			if at[flow] == 0 {
				at[flow] = time.Hour
			}
			times = append(times, at[flow])
		}
	}
	slices.Sort(times)
	p50, p99, part := times[len(times)/2], times[len(times)*99/100], 100*float64(wrong)/float64(names)
	t.Logf("n %d, p50 %v, p99 %v, wrong %.3f %% of %d", len(times), p50, p99, part, names)
	if p50 > 50*time.Millisecond || p99 > 150*time.Millisecond || part > 1 {
		t.Error("too late, or wrong")
	}
}

// The mean of 32 equal flows with 10 samples an interval is never 0 for a flow that sends: without
// memory most are, and their senders would be left out.
func TestManyFlowsAreRemembered(t *testing.T) {
	p := &port{random: rand.New(rand.NewPCG(1, 1))}
	for range 32 {
		p.shares = append(p.shares, 1./32)
	}
	for range 100 {
		p.interval(10, depth)
	}
	missing := 0
	for range 100 {
		p.interval(10, depth)
		for flow := 1; flow <= 32; flow++ {
			if p.queue.Of(flow).Mean == 0 {
				missing++
			}
		}
	}
	t.Logf("%d of %d estimates are 0", missing, 3200)
	if missing > 3200/100 {
		t.Error("flows are forgotten")
	}
}

// 32 equal flows are known as such by 40 samples, of which many have one: those that were sampled are
// surely near their part, and all of them together have the queue.
func TestEqualFlowsAreTakenForEqual(t *testing.T) {
	far, flows := 0, 0
	for run := range 100 {
		p := &port{random: rand.New(rand.NewPCG(3, uint64(run)))}
		for range 32 {
			p.shares = append(p.shares, 1./32)
		}
		for range 4 {
			p.interval(10, depth)
		}
		sum := uint64(0)
		for flow := 1; flow <= 32; flow++ {
			e := p.queue.Of(flow)
			if sum += e.Mean; e.Mean == 0 {
				continue
			}
			if flows++; e.Least < depth/32*3/4 || e.Mean > depth/32*2 {
				far++
			}
		}
		if sum < depth*9/10 || sum > depth*11/10 {
			t.Errorf("the flows have %d of %d octets", sum, depth)
		}
	}
	t.Logf("%d of %d estimates are far off", far, flows)
	if far > flows/10 {
		t.Error("too many")
	}
}

// Flows that differ are not taken for equal ones: two have 30 % each, 20 others 2 %.
func TestUnequalFlowsAreNotTakenForEqual(t *testing.T) {
	p := &port{shares: []float64{.3, .3}, random: rand.New(rand.NewPCG(1, 1))}
	for range 20 {
		p.shares = append(p.shares, .02)
	}
	for i := range 200 {
		p.interval(10, depth)
		for flow := 3; flow <= 22 && i >= 4; flow++ {
			if e := p.queue.Of(flow); e.Least > depth/10 {
				t.Fatalf("after %d intervals a flow of 2 %% has surely %d of %d octets", i+1, e.Least, depth)
			}
		}
	}
	for flow := 1; flow <= 2; flow++ {
		if e := p.queue.Of(flow); e.Mean < depth/5 || e.Mean > depth*2/5 {
			t.Errorf("flow %d of 30 %%: %+v of %d", flow, e, depth)
		}
	}
}

// A flow that is no RDMA flow fills the queue: no flow is named.
func TestOtherTrafficNamesNoFlow(t *testing.T) {
	p := &port{shares: []float64{.05, .05}, random: rand.New(rand.NewPCG(1, 1))}
	for range 200 {
		if p.interval(10, depth); len(p.named()) > 0 {
			t.Fatalf("named %v", p.named())
		}
	}
}

// A flow that ends is forgotten, and no flow is named once the queue has drained.
func TestFlowsThatEndAreForgotten(t *testing.T) {
	p := &port{shares: []float64{.9}, random: rand.New(rand.NewPCG(1, 1))}
	for range 50 {
		p.interval(10, depth)
	}
	if len(p.named()) != 1 {
		t.Fatalf("named %v", p.named())
	}
	if p.interval(10, 0); len(p.named()) > 0 || p.queue.Of(1) != (Estimate{}) {
		t.Errorf("the queue is empty, and %+v", p.queue.Of(1))
	}
	p.shares = nil
	for range 200 {
		p.interval(10, depth)
	}
	if n := len(p.queue.flows); n != 0 {
		t.Errorf("%d flows are known", n)
	}
	for flow := range room + 5 {
		p.queue.Sample(flow, 1000)
	}
	if len(p.queue.flows) != room || p.queue.Full != 5 {
		t.Errorf("%d flows, %d found no room", len(p.queue.flows), p.queue.Full)
	}
}

// Readings that stay the same, go backwards or exceed the buffer are left out, and double the
// interval up to a second; good ones bring it back.
func TestUselessReadingsDoubleTheInterval(t *testing.T) {
	const size = 10 * high
	for name, bad := range map[string]func(c *Clock) bool{
		"stays the same": func(c *Clock) (used bool) {
			for i := range uint64(still) {
				used = c.Take(Reading{Octets: 500, Packets: 1000 + i}, size)
			}
			return used
		},
		"goes backwards": func(c *Clock) bool { return c.Take(Reading{Octets: 600, Packets: 10}, size) },
		"exceeds the buffer": func(c *Clock) bool {
			return c.Take(Reading{Octets: size + 1, Packets: 2000}, size)
		},
	} {
		c := &Clock{Interval: interval}
		if !c.Take(Reading{Octets: 400, Packets: 900}, size) || !c.Take(Reading{Octets: 500, Packets: 999}, size) || c.Unproven() != "" {
			t.Errorf("%s: good readings: %s", name, c.Unproven())
		}
		if bad(c) || c.Interval != 2*interval || c.Unproven() == "" {
			t.Errorf("%s: interval %v: %q", name, c.Interval, c.Unproven())
		}
		for i := range uint64(2 * calm) {
			if !c.Take(Reading{Octets: i % 2, Packets: 10_000 + i}, size) {
				t.Errorf("%s: reading %d is left out: %s", name, i, c.Unproven())
			}
		}
		if c.Interval != interval || c.Unproven() != "" {
			t.Errorf("%s: later interval %v: %q", name, c.Interval, c.Unproven())
		}
	}
	c := &Clock{Interval: interval}
	for i := range uint64(20) {
		c.Take(Reading{Octets: 1, Packets: 1000 - i}, size)
	}
	if c.Interval != longest {
		t.Errorf("interval %v", c.Interval)
	}
	full := &Clock{Interval: interval}
	for i := range uint64(3 * still) {
		if !full.Take(Reading{Octets: size, Packets: 1000 + i, Dropped: i}, size) {
			t.Error("a full queue counts as one whose reading is not refreshed: ", full.Unproven())
		}
	}
	over := &Clock{Interval: interval}
	for i := range uint64(frozen) {
		if over.Stuck() {
			t.Errorf("%d readings beyond the buffer count as an unknown depth", i)
		}
		over.Take(Reading{Octets: size + 1 + i, Packets: i}, size)
	}
	if !over.Stuck() {
		t.Error("readings beyond the buffer count as a depth")
	}
	if !over.Take(Reading{Octets: size, Packets: 100}, size) || over.Stuck() {
		t.Error("a reading within the buffer counts as an unknown depth")
	}
	frozenAt := &Clock{Interval: interval}
	for i := range uint64(frozen + 1) {
		frozenAt.Sampled = 3 * i
		frozenAt.Take(Reading{Octets: 500, Packets: 7}, size)
	}
	if why := frozenAt.Unproven(); frozenAt.Interval != 2*interval || !strings.Contains(why, "stood still for 10 readings, while 30 samples") {
		t.Errorf("counters that stand still: interval %v: %q", frozenAt.Interval, why)
	}
	if frozenAt.Take(Reading{Octets: 500, Packets: 7}, size); !frozenAt.Stuck() {
		t.Error("the depth of counters that stand still counts as known")
	}
	if !frozenAt.Take(Reading{Octets: 501, Packets: 7}, size) || frozenAt.Stuck() {
		t.Error("the depth of counters that go on counts as unknown")
	}
	for i := range uint64(3 * calm) { // and again they stand still
		if frozenAt.Take(Reading{Octets: 500 + i%2, Packets: 8 + i}, size); i == calm {
			frozenAt.Slower("again")
		}
	}
	if frozenAt.Interval != 2*interval {
		t.Errorf("the second time it takes twice as many good readings: interval %v", frozenAt.Interval)
	}
	lost := &Clock{Interval: interval}
	for range frozen {
		lost.Missed("there are none")
	}
	if lost.Interval != 2*interval || lost.Unproven() != "there are none" {
		t.Errorf("readings that fail: interval %v: %q", lost.Interval, lost.Unproven())
	}
	idle := &Clock{Interval: interval}
	for range 3 * still {
		idle.Take(Reading{Octets: 7, Packets: 7}, 0)
	}
	if why := idle.Unproven(); why != "" || idle.Interval != interval {
		t.Error("a queue in which nothing moves counts as one whose reading is not refreshed: ", why)
	}
}

// One reading that takes long leaves the interval as it is, several in a row double it.
func TestSlowReadingsDoubleTheInterval(t *testing.T) {
	c := &Clock{Interval: interval}
	for range 10 * slow {
		c.Took(interval)
		c.Took(interval / 10)
	}
	if c.Interval != interval || c.Unproven() != "" {
		t.Errorf("by single slow readings: interval %v: %q", c.Interval, c.Unproven())
	}
	for range slow {
		c.Took(interval)
	}
	if c.Interval != 2*interval || c.Unproven() == "" {
		t.Errorf("by %d slow readings in a row: interval %v: %q", slow, c.Interval, c.Unproven())
	}
}

// Over a WAN a hold that comes 30 ms late fits a deep buffer; in a data center it comes too late.
func TestHopByHopHoldsFitTheBuffer(t *testing.T) {
	if why := Fits(10_000, 30*time.Millisecond, 64<<20); why != "" {
		t.Error(why)
	}
	if why := Fits(100_000, 10*time.Millisecond, 64<<20); why != "a queue that grows by 100000 Mbit/s takes 125000000 octets in the 10ms until it is noticed, and its buffer has 67108864" {
		t.Error(why)
	}
}
