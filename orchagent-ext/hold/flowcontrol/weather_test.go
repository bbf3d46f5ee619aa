// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

// climate is a kind of random input: which things happen how often, and what is configured.
type climate struct {
	name    string
	flows   int // that fill the queues
	seeds   int
	steps   int
	rest    int64 // ns, the longest time without an input
	shares  [inputs]int
	options []func(c *Config, r *rand.Rand) // each is in force half of the time
}

// The inputs of a [climate].
const (
	inputEvent    = iota // the switch raises a flow
	inputPFCM            // a neighbor asks for a hold
	inputPPFC            // a congested node asks for a hold
	inputDepth           // a depth changes without an event
	inputPacket          // the packet path reports a flow
	inputConfig          // the configuration changes
	inputRefusals        // the switch has less room for holds, or the network loses messages
	inputs
)

func withAdvice(c *Config, _ *rand.Rand) { c.Router6, c.Advice = router6, advising().Advice }
func withPacing(c *Config, r *rand.Rand) { withAdvice(c, r); c.Advice.Hold = true }
func withPolicies(c *Config, r *rand.Rand) {
	withAdvice(c, r)
	c.Advice.Policies, c.Advice.Copy = limiting().Advice.Policies, r.IntN(2) == 0
}
func withGateways(c *Config, r *rand.Rand) {
	c.Router6, c.Router4, c.PPFC = router6, router4, telling().PPFC
	c.PPFC.Transport, c.PPFC.ByQueue = notify.Transport(r.IntN(2)), r.IntN(2) == 0
}
func asGateway(c *Config, r *rand.Rand) {
	in := ingress(Client(r.IntN(3)))
	c.Ingress, c.Router6, c.Router4, c.Codes.Figure2 = in.Ingress, gateway6, gateway4, true
}
func asOwnGateway(c *Config, r *rand.Rand) {
	withGateways(c, r)
	asGateway(c, r)
	c.PPFC.Gateways = []Gateway{{Prefix: netip.MustParsePrefix("::/0"), Addrs: []netip.Addr{gateway6}}}
}
func holdsAtSenders(c *Config, r *rand.Rand) {
	asGateway(c, r)
	c.Source = &Source{Hosts: prefixes("2001:db8:a::/48", "10.1.0.0/16"), Advise: r.IntN(2) == 0, Receiver: r.IntN(2) == 0}
	c.Ports[2].Edge = true
}
func withPFC(c *Config, _ *rand.Rand) { c.Translate = true }
func withAverage(c *Config, r *rand.Rand) {
	for _, id := range []sai.ObjectID{queue, queue + 1} {
		q := c.Queues[id]
		q.Threshold.Average = time.Duration(500+r.IntN(5000)) * time.Microsecond
		c.Queues[id] = q
	}
}
func withReduction(c *Config, r *rand.Rand) {
	for _, id := range []sai.ObjectID{queue, queue + 1} {
		q := c.Queues[id]
		q.Threshold.Action = notify.Reduce(1 + r.IntN(63))
		c.Queues[id] = q
	}
}
func withoutPFCM(c *Config, _ *rand.Rand)    { c.Generate = false }
func withoutObeying(c *Config, _ *rand.Rand) { c.Obey = false }
func holdsPairs(c *Config, _ *rand.Rand)     { c.HoldPair = true }
func withALinkDown(c *Config, r *rand.Rand)  { c.Ports[r.IntN(4)].Self = netip.Addr{} }
func withoutAPort(c *Config, r *rand.Rand)   { c.Ports = c.Ports[1+r.IntN(2):] }
func withRates(c *Config, _ *rand.Rand) {
	c.Receive, c.ReceiveBySource, c.Send, c.SendClient = Rate{PerSecond: 500, Burst: 50}, Rate{PerSecond: 200, Burst: 20}, Rate{PerSecond: 100, Burst: 10}, Rate{PerSecond: 50, Burst: 5}
}

var climates = []climate{
	{"few flows", 5, 10, 120, 60 * ms, [inputs]int{inputEvent: 4, inputPFCM: 4, inputDepth: 4}, []func(*Config, *rand.Rand){withPFC, withAverage, withReduction}},
	{"many flows", 400, 1, 2000, ms / 2, [inputs]int{inputEvent: 8, inputPFCM: 1, inputDepth: 3}, []func(*Config, *rand.Rand){withPFC, withAverage, withRates}},
	{"storm of messages", 20, 1, 4000, 20_000, [inputs]int{inputEvent: 1, inputPFCM: 20, inputPPFC: 5}, []func(*Config, *rand.Rand){withRates, holdsPairs, asGateway}},
	{"links that flap", 30, 4, 800, 5 * ms, [inputs]int{inputEvent: 5, inputPFCM: 2, inputDepth: 3, inputConfig: 3}, []func(*Config, *rand.Rand){withALinkDown, withoutAPort, withPFC, withoutPFCM, withoutObeying, withGateways}},
	{"gateways", 30, 4, 800, 5 * ms, [inputs]int{inputEvent: 5, inputPPFC: 4, inputDepth: 3, inputPacket: 1, inputConfig: 1}, []func(*Config, *rand.Rand){withGateways, asGateway, asOwnGateway, holdsPairs, withRates}},
	{"advice", 20, 4, 800, 5 * ms, [inputs]int{inputEvent: 6, inputPFCM: 1, inputDepth: 4, inputPacket: 2}, []func(*Config, *rand.Rand){withAdvice, withPacing, withPolicies, withoutPFCM, withAverage}},
	{"senders", 30, 4, 800, 3 * ms, [inputs]int{inputPFCM: 4, inputPPFC: 3, inputPacket: 8, inputConfig: 1}, []func(*Config, *rand.Rand){holdsAtSenders, holdsAtSenders, withAdvice, withPolicies, withRates}},
	{"refusals", 40, 4, 800, 5 * ms, [inputs]int{inputEvent: 4, inputPFCM: 8, inputPPFC: 2, inputDepth: 2, inputRefusals: 3}, []func(*Config, *rand.Rand){asGateway, holdsPairs, withGateways, withAdvice}},
	{"all", 40, 8, 1200, 5 * ms, [inputs]int{inputEvent: 6, inputPFCM: 4, inputPPFC: 2, inputDepth: 4, inputPacket: 3, inputConfig: 1, inputRefusals: 1},
		[]func(*Config, *rand.Rand){holdsAtSenders, withAdvice, withPacing, withPolicies, withGateways, asGateway, asOwnGateway, withPFC, withAverage, withReduction, withoutPFCM, withoutObeying, holdsPairs, withALinkDown, withoutAPort, withRates}},
}

// config returns a random configuration of a climate.
func (k *climate) config(r *rand.Rand) *Config {
	c := config()
	c.Queues[queue+1] = Queue{Port: down2, Name: "down", Number: 4, Threshold: congestion.Threshold{High: 60_000, Action: notify.Pause, Duration: 10 * time.Millisecond}}
	for _, change := range k.options {
		if r.IntN(2) == 0 {
			change(c, r)
		}
	}
	return c
}

// TestRandomInputs has traces of random inputs of each climate.
func TestRandomInputs(t *testing.T) {
	for i := range climates {
		k := &climates[i]
		t.Run(k.name, func(t *testing.T) {
			for seed := range k.seeds {
				f := newFake(t, config())
				f.run(k, rand.New(rand.NewPCG(uint64(seed), uint64(i))))
			}
		})
	}
}

// run gives flow control the random inputs of a climate.
func (f *fake) run(k *climate, r *rand.Rand) {
	f.count = func(t target) (sai.HoldState, error) { return counted(t, f.now) }
	f.core.configure(f.now, newSettings(k.config(r)))
	all := 0
	for _, n := range k.shares {
		all += n
	}
	for step := range k.steps {
		n, kind := r.IntN(all), 0
		for n >= k.shares[kind] {
			n, kind = n-k.shares[kind], kind+1
		}
		f.input(k, r, kind)
		f.until(f.now + r.Int64N(k.rest))
		if f.sent, f.told, f.asked = f.sent[:0], f.told[:0], f.asked[:0]; step%200 == 199 {
			f.core.trace.report(f.now)
		}
	}
	clear(f.depth)
	f.until(f.now + 900*ms)
	f.core.end(f.now)
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func (f *fake) input(k *climate, r *rand.Rand, kind int) {
	octets := pick(r, uint64(0), 0, 10_000, 60_000, 85_000, 150_000, 150_000, 400_000)
	switch kind {
	case inputEvent:
		n := r.IntN(k.flows)
		e := sai.FlowEvent{Queue: queue + sai.ObjectID(n%7/6), InPort: pick(r, up, up, up, other, other, borderPort, host, 0, 99), Flow: uint64(n + 1), Octets: octets, At: f.now - r.Int64N(100_000),
			Mark: pick(r, sai.MarkLow, sai.MarkAlarm, sai.MarkHigh, sai.MarkHigh, sai.MarkHigh), Length: sai.FlowHead}
		src, dst := sender, sink
		switch n % 5 {
		case 0, 1, 2:
			e.Head, e.Length = rdmaHead(f.t, src, dst, uint32(0x90+n/5), uint8(n&3))
		case 3:
			e.Head = head(src, dst, uint32(n/10))
		case 4:
			e.Head, e.Length = rdmaHead(f.t, source4, sink4, uint32(0x90+n), 0)
		}
		if r.IntN(20) == 0 {
			e.Length = uint8(r.IntN(sai.FlowHead + 1))
		}
		if r.IntN(10) > 0 {
			e = *arrived(e)
		}
		f.depth[idOf(e.Queue, e.Flow)] = octets
		f.core.event(f.now, &e)
	case inputPFCM:
		m := pause(pick(r, streamOf(uint32(r.IntN(k.flows))), uint16(1+r.IntN(k.flows)), streamOf(0x777), streamOf(5)), uint16(r.IntN(41_000)))
		m.Action = pick(r, notify.Pause, notify.Pause, notify.Reduce(r.IntN(64)), notify.Cancel)
		if m.QueueID = uint8(r.IntN(9)); m.Action == notify.Cancel {
			m.Time = 0
		}
		p := pick(r, up, other, borderPort, down1, down1)
		f.from(p, pick(r, link(0x10+byte(p)), link(0x10+byte(p)), link(0x10+byte(p)), link(0x77)), m)
	case inputPPFC:
		m := stopOf(sender, sink, pick(r, qps, notify.FlowIdentifier{Form: notify.AllFlows}, notify.FlowIdentifier{Form: notify.Ports, Protocol: pick(r, uint8(6), 17, 50), SrcPort: 0xc123, DstPort: 4791}))
		m.PT, m.PauseDuration = pick(r, notify.Stop, notify.Stop, notify.Hold, notify.Resume, notify.Alarm), uint16(r.IntN(41_000))
		if m.Flow.Form == notify.QPs {
			m.Flow.DstQP, m.Flow.SrcQP = uint32(0x90+r.IntN(k.flows)), pick(r, uint32(0), 0x42)
		}
		f.ppfcFrom(pick(r, router6, router6, router6, netip.MustParseAddr("2001:db8:fe::1")), gateway6, m)
	case inputDepth:
		n := r.IntN(k.flows)
		f.depth[idOf(queue+sai.ObjectID(n%7/6), uint64(n+1))] = octets
	case inputPacket:
		n := r.IntN(k.flows)
		l := Learned{Pair: pairOf(sender, sink, uint32(0x90+n/5)), SrcQP: pick(r, uint32(0), uint32(0x40+n/5)), SrcPort: pick(r, uint16(0), 0xc123), PKey: 0x8001, DSCP: 26, Bits: uint8(n & 3)}
		l.Packet = Packet{In: pick(r, host, host, up, sai.Null), Out: pick(r, down1, down1, up), Src: sender, Dst: sink, Label: uint32(n / 10), Octets: r.Uint64N(2_000_000), At: pick(r, 0, f.now-r.Int64N(ms)), Samples: r.Uint32N(20)}
		f.core.learn(f.now, l)
	case inputConfig:
		f.core.configure(f.now, newSettings(k.config(r)))
	case inputRefusals:
		f.drops, f.room = r.IntN(4) == 0, pick(r, 0, 3, 10)
		f.gone[up] = r.IntN(4) == 0
	}
}

// counted is what the switch has counted of a target at a time: it depends on these alone.
func counted(t target, now int64) (s sai.HoldState, err error) {
	h := fnv.New64a()
	fmt.Fprint(h, uint64(t.Port), uint64(t.Match.Kind), t.Match.Value, t.Match.Src, t.Match.Dst)
	v := h.Sum64()
	if v%4 == 0 {
		return s, sai.ErrNotFound
	}
	s.Octets = uint64(now) / 8000 * (v >> 8 % 200) // of up to 200 Mbit/s
	s.Packets = s.Octets / 1000
	s.DroppedPackets = s.Packets * (v >> 16 % 3) / 20
	s.WaitingOctets = v >> 24 % 100_000
	s.Remaining = time.Duration(v >> 32 % uint64(2*time.Second))
	return s, nil
}
