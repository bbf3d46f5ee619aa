// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"net/netip"
	"testing"
	"time"

	"sluice/orchagent-ext/hold/kernel"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

// The room for flows, and the CNPs of a host in a second.
const maxSeen, hostCNPs = 4096, 30_000

// slowing is the switch under test as one that holds flows at their senders: hosts are at
// the port host.
func slowing() *Config {
	c := ingress(ClientNone)
	c.Generate, c.Queues = false, nil
	c.Source = &Source{Hosts: prefixes("2001:db8:a::/48", "10.1.0.0/16")}
	c.Ports[2].Edge = true
	return c
}

// flowOf is a packet of a flow of 10 Gbit/s, that comes from the host and leaves by down.
func flowOf(src, dst netip.Addr) Learned {
	return Learned{Pair: pairOf(src, dst, 0x77), SrcQP: 0x42, SrcPort: 0xc123, PKey: 0x8001,
		Packet: Packet{In: host, Out: down1, Src: src, Dst: dst, Label: 5, Octets: 12_500_000}}
}

// sees lets a flow send for 50 ms.
func (f *fake) sees(l Learned) {
	for range 5 {
		f.until(f.now + 10*ms)
		f.core.learn(f.now, l)
	}
}

// cnps returns the CNPs since the last call.
func (f *fake) cnps() (all []told) {
	for _, m := range f.takeTold() {
		if m.packet.Kind == notify.KindCNP {
			all = append(all, m)
		}
	}
	return all
}

// A PFCM and a PPFC slow the sender of the flow at once, for as long as they hold, and by no
// more CNPs than a sender takes.
//
//conformance:draft-yang/enforce draft-xz/rocev2
func TestHoldBySourceSlowsTheSender(t *testing.T) {
	for name, tt := range map[string]struct {
		src, dst, from netip.Addr
		ask            func(f *fake)
	}{
		"PFCM": {sender, sink, gateway6, func(f *fake) { f.receive(down1, pause(streamOf(5), 40_000)) }},
		"PPFC over IPv6": {sender, sink, gateway6, func(f *fake) {
			f.ppfcFrom(router6, gateway6, stopOf(sender, sink, notify.FlowIdentifier{Form: notify.QPs, Protocol: kernel.ProtocolUDP, SrcPort: 0xc123, DstPort: 4791, DstQP: 0x77}))
		}},
		"PPFC over IPv4": {source4, sink4, gateway4, func(f *fake) {
			f.ppfcFrom(router4, gateway4, stopOf(source4, sink4, notify.FlowIdentifier{Form: notify.QPs, Protocol: kernel.ProtocolUDP, SrcPort: 0xc123, DstPort: 4791, DstQP: 0x77}))
		}},
		"PPFC about a connection": {source4, sink4, gateway4, func(f *fake) {
			f.ppfcFrom(router4, gateway4, stopOf(source4, sink4, notify.FlowIdentifier{Form: notify.Ports, Protocol: kernel.ProtocolUDP, SrcPort: 0xc123, DstPort: 4791}))
		}},
	} {
		f := newFake(t, slowing())
		f.sees(flowOf(tt.src, tt.dst))
		start := f.now
		tt.ask(f)
		if got := f.cnps(); len(got) != 1 || got[0].packet.CNP.DestQP != 0x42 || got[0].packet.Envelope.Dst != tt.src || got[0].packet.Envelope.Src != tt.from {
			t.Errorf("%s: at once %+v", name, got)
		}
		f.until(start + 39*ms)
		last, n := start, 1
		for _, m := range f.cnps() {
			if m.at-last < 50_000 || m.packet.CNP.DestQP != 0x42 {
				t.Errorf("%s: a CNP to %#x after %d ns", name, m.packet.CNP.DestQP, m.at-last)
			}
			last = m.at
			n++
		}
		if n < 50 || n > 250 {
			t.Errorf("%s: %d CNPs in 39 ms", name, n)
		}
		f.until(start + 500*ms)
		if got := f.cnps(); len(got) > 10 || len(got) > 0 && got[len(got)-1].at > start+40*ms {
			t.Errorf("%s: %d CNPs after the hold", name, len(got))
		}
		if len(f.asked) != 0 {
			t.Errorf("%s: the switch was asked %v", name, f.asked)
		}
		if c := f.core.kernel.Counters; c.Obeyed+c.PPFCObeyed != 1 || c.CNPPoliced != 0 {
			t.Errorf("%s: counters %+v", name, c)
		}
	}
}

// A resume ends it at once.
func TestCancelEndsAHoldBySource(t *testing.T) {
	f := newFake(t, slowing())
	f.sees(flowOf(sender, sink))
	f.receive(down1, pause(streamOf(5), 40_000))
	f.until(f.now + 5*ms)
	f.receive(down1, notify.PFCM{StreamID: streamOf(5), QueueID: 3, Action: notify.Cancel})
	f.takeTold()
	if f.until(f.now + 50*ms); len(f.told) != 0 {
		t.Errorf("%d messages after the cancel", len(f.told))
	}
}

// Who may not be slowed is not: whatever is forged, by whomever.
//
//conformance:draft-yang/link-local draft-xz/security
func TestHoldBySourceSlowsNobodyElse(t *testing.T) {
	pfcm := func(f *fake) { f.receive(down1, pause(streamOf(5), 40_000)) }
	qps := notify.FlowIdentifier{Form: notify.QPs, Protocol: kernel.ProtocolUDP, SrcPort: 0xc123, DstPort: 4791, DstQP: 0x77}
	for name, tt := range map[string]struct {
		change func(l *Learned, c *Config)
		ask    func(f *fake)
	}{
		"host is not listed": {func(_ *Learned, c *Config) { c.Source.Hosts = prefixes("2001:db8:c::/48") }, pfcm},
		"flow is too old":    {nil, func(f *fake) { f.until(f.now + 1001*ms); pfcm(f) }},
		"flow is from a switch whose neighbor is unknown": {func(l *Learned, c *Config) { l.Packet.In, c.Ports[0].Neighbor = up, netip.Addr{} }, pfcm},
		"flow leaves by another port":                     {func(l *Learned, _ *Config) { l.Packet.Out = other }, pfcm},
		"flow leaves by an unknown port":                  {func(l *Learned, _ *Config) { l.Packet.Out = sai.Null }, pfcm},
		"flow has another label":                          {func(l *Learned, _ *Config) { l.Packet.Label = 6 }, pfcm},
		"queue pair is not learned":                       {func(l *Learned, _ *Config) { l.SrcQP = 0 }, pfcm},
		"PFCM is not from the neighbor":                   {nil, func(f *fake) { f.from(down1, link(0x66), pause(streamOf(5), 40_000)) }},
		"PFCM comes in by another port":                   {nil, func(f *fake) { f.receive(other, pause(streamOf(5), 40_000)) }},
		"PFCM comes from a host":                          {nil, func(f *fake) { f.receive(host, pause(streamOf(5), 40_000)) }},
		"PFCM is not obeyed":                              {func(_ *Learned, c *Config) { c.Obey = false }, pfcm},
		"PPFC is not from a peer":                         {nil, func(f *fake) { f.ppfcFrom(netip.MustParseAddr("2001:db8:66::1"), gateway6, stopOf(sender, sink, qps)) }},
		"PPFC writes another router id": {nil, func(f *fake) {
			m := stopOf(sender, sink, qps)
			m.RouterID = router6
			f.ppfcFrom(netip.MustParseAddr("2001:db8:66::1"), gateway6, m)
		}},
		"PPFC is about a source of another gateway": {func(_ *Learned, c *Config) { c.Ingress.Serves = prefixes("10.1.0.0/16") }, func(f *fake) { f.ppfcFrom(router6, gateway6, stopOf(sender, sink, qps)) }},
		"PPFC names another queue pair": {nil, func(f *fake) {
			id := qps
			id.DstQP++
			f.ppfcFrom(router6, gateway6, stopOf(sender, sink, id))
		}},
		"PPFC is an alarm": {nil, func(f *fake) {
			m := stopOf(sender, sink, qps)
			m.PT = notify.Alarm
			f.ppfcFrom(router6, gateway6, m)
		}},
	} {
		c, l := slowing(), flowOf(sender, sink)
		if tt.change != nil {
			tt.change(&l, c)
		}
		f := newFake(t, c)
		f.sees(l)
		tt.ask(f)
		if f.until(f.now + 100*ms); len(f.told)+len(f.sent) != 0 {
			t.Errorf("%s: %d messages to the host, %d to neighbors", name, len(f.told), len(f.sent))
		}
	}
}

// A message that is repeated for ever holds no longer than the limit, and storms of it and of
// unknown streams send no more than the host's limit.
//
//conformance:draft-yang/copp
func TestReplayAndStormAreBounded(t *testing.T) {
	c := slowing()
	c.Receive = Rate{PerSecond: 64_000, Burst: 2048}
	f := newFake(t, c)
	l := flowOf(sender, sink)
	f.sees(l)
	start := f.now
	for i := range 80_000 { // 800 ms
		f.until(start + int64(i)*10_000)
		if i%1000 == 0 {
			f.core.learn(f.now, l)
		}
		f.receive(down1, pause(streamOf(5), 65_535))
		f.receive(down1, pause(uint16(i%60_000+1), 65_535))
	}
	n, last := 0, int64(0)
	for _, m := range f.takeTold() {
		if n++; m.packet.Envelope.Dst != sender {
			t.Fatalf("a message to %v", m.packet.Envelope.Dst)
		}
		last = m.at
	}
	if n == 0 || last > start+401*ms || n > 400*20 {
		t.Errorf("%d CNPs, the last after %v", n, time.Duration(last-start))
	}
	if f.core.kernel.Counters.Policed == 0 || f.core.kernel.Counters.Watchdog == 0 {
		t.Errorf("counters %+v", f.core.kernel.Counters)
	}
}

// All flows of a host together get no more CNPs than its limit.
func TestCNPsOfAHostAreBounded(t *testing.T) {
	f := newFake(t, slowing())
	for qp := range uint32(64) {
		l := flowOf(sender, sink)
		l.DestQP, l.SrcQP, l.Packet.Octets = 0x100+qp, 0x200+qp, 1_000_000
		f.sees(l)
	}
	start := f.now
	f.receive(down1, pause(streamOf(5), 40_000))
	f.until(start + 40*ms)
	if n := len(f.cnps()); n > hostCNPs*40/1000+hostCNPs/100 || f.core.kernel.Counters.CNPPoliced == 0 {
		t.Errorf("%d CNPs in 40 ms, %d policed", n, f.core.kernel.Counters.CNPPoliced)
	}
}

// A reduction asks the sender for a part of the rate that was measured, by Rate Advice where
// it may receive that, and repeats it until the hold ends.
//
//conformance:draft-zz/near-source
func TestHoldBySourceAdvises(t *testing.T) {
	c := slowing()
	c.Advice = advising().Advice
	c.Source.Advise = true
	f := newFake(t, c)
	f.sees(flowOf(sender, sink))
	start := f.now
	f.receive(down1, notify.PFCM{StreamID: streamOf(5), QueueID: 3, Action: notify.Reduce(60), Time: 40_000})
	f.until(start + 100*ms)
	got := f.takeTold()
	if len(got) != 4 {
		t.Fatalf("%d messages", len(got))
	}
	for i, m := range got {
		a := m.packet.RateAdvice
		if m.packet.Kind != notify.KindRateAdvice || a.Rate != 4000 || a.DestinationQP != 0x42 || m.at != start+int64(i)*10*ms {
			t.Errorf("after %d ns %v of %d Mbit/s to %#x", m.at-start, m.packet.Kind, a.Rate, a.DestinationQP)
		}
	}
	f.receive(down1, pause(streamOf(5), 40_000))
	if got := f.takeTold(); len(got) != 1 || got[0].packet.RateAdvice.Rate != 1 {
		t.Errorf("a pause advises %+v", got)
	}
}

// A node in the middle passes PFCM on to where the flow comes from, for the time that remains,
// and so its end.
//
//conformance:draft-yang/recursion
func TestNodeInTheMiddlePassesPFCMOn(t *testing.T) {
	f := newFake(t, slowing())
	l := flowOf(sender, sink)
	l.Packet.In = up
	f.sees(l)
	f.receive(down1, notify.PFCM{StreamID: streamOf(5), QueueID: 3, Action: notify.Reduce(60), Time: 40_000})
	f.until(f.now + 20*ms)
	f.receive(down1, pause(streamOf(5), 30_000))
	f.until(f.now + 10*ms)
	f.receive(down1, notify.PFCM{StreamID: streamOf(5), QueueID: 3, Action: notify.Cancel})
	f.until(f.now + 100*ms)
	got := f.take()
	want := []struct {
		action notify.Action
		time   uint16
	}{{notify.Reduce(60), 40_000}, {notify.Pause, 30_000}, {notify.Cancel, 0}}
	if len(got) != len(want) || len(f.told) != 0 {
		t.Fatalf("passed on %+v, to hosts %d", got, len(f.told))
	}
	for i, m := range got {
		if p := m.pfcm; m.port != uint32(up) || m.to != link(0x10+byte(up)) || p.StreamID != streamOf(5) || p.QueueID != 3 ||
			p.Action != want[i].action || p.Time != want[i].time || p.Source != sender || p.Destination != sink {
			t.Errorf("%d: %+v", i, m)
		}
	}
}

// A sender that goes on at its rate is counted and named, and gets no more CNPs than show
// whether it obeys again.
func TestSenderThatIgnoresCNPsIsNamed(t *testing.T) {
	c := slowing()
	c.HoldLimit = 0
	f := newFake(t, c)
	l := flowOf(sender, sink)
	f.sees(l)
	run := func(n int) {
		for range n {
			f.receive(down1, pause(streamOf(5), 40_000))
			f.until(f.now + 10*ms)
			f.core.learn(f.now, l)
		}
	}
	run(20)
	r := newReport()
	f.core.fill(f.now, r)
	if len(r.Ignoring) != 1 || r.Ignoring[0] != l.Pair || r.Counters.CNPNotFollowing != 1 {
		t.Fatalf("named %v, counted %d", r.Ignoring, r.Counters.CNPNotFollowing)
	}
	f.takeTold()
	run(100)
	if n := len(f.takeTold()); n > 44 {
		t.Errorf("%d CNPs in a second", n)
	}
}

// A configuration without it ends it, as the end does.
func TestHoldBySourceEndsWithItsConfiguration(t *testing.T) {
	f := newFake(t, slowing())
	l := flowOf(sender, sink)
	f.sees(l)
	l.Packet.In, l.DestQP = up, 0x99
	f.sees(l)
	f.receive(down1, pause(streamOf(5), 40_000))
	f.take()
	c := slowing()
	c.Source = nil
	f.core.configure(f.now, newSettings(c))
	f.takeTold()
	if got := f.take(); len(got) != 1 || got[0].pfcm.Action != notify.Cancel {
		t.Errorf("to the neighbor %+v", got)
	}
	if f.until(f.now + 100*ms); len(f.told) != 0 {
		t.Errorf("%d messages afterwards", len(f.told))
	}
}

// Flows beyond the room are counted; those that rest make room.
func TestFlowsToBeSlowedAreBounded(t *testing.T) {
	f := newFake(t, slowing())
	for i := range uint32(maxSeen + 10) {
		l := flowOf(sender, sink)
		l.DestQP = i
		f.core.learn(f.now, l)
	}
	if n := f.core.source.Flows(); n != maxSeen || f.core.kernel.Counters.SeenFull != 10 {
		t.Errorf("%d flows, %d found no room", n, f.core.kernel.Counters.SeenFull)
	}
	// All have one Stream ID: a message slows the first of them, and the rest is not lost silently.
	before := f.core.kernel.Counters.SeenFull
	if f.receive(down1, pause(streamOf(5), 1000)); f.core.kernel.Counters.SeenFull == before {
		t.Error("a message left flows out, and nothing is counted")
	}
	f.until(f.now + 2000*ms)
	l := flowOf(sender, sink)
	l.DestQP = maxSeen + 100
	if f.core.learn(f.now, l); f.core.source.Flows() != 1 {
		t.Errorf("%d flows later", f.core.source.Flows())
	}
}

func TestHoldBySourceAllocatesNothing(t *testing.T) {
	f := newFake(t, slowing())
	f.silence()
	l := flowOf(sender, sink)
	f.sees(l)
	messages, hold := messagesOf(t, f), f.message(down1, link(0x10+byte(down1)), pause(streamOf(5), 1000))
	if n := testing.AllocsPerRun(200, func() {
		for i := range messages {
			f.now += 100_000
			messages[i].At = f.now
			f.core.receiveMessage(f.now, &messages[i])
			hold.At = f.now
			f.core.receiveMessage(f.now, &hold)
			f.core.learn(f.now, l)
			f.core.step(f.now)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if f.core.kernel.Counters.CNPSent == 0 {
		t.Error("no CNP was sent")
	}
}

// More flows than one message is worked for are slowed by their own packets: none of them is due once
// the switch holds flows again.
func TestFlowsBeyondATargetEndWithHoldsAtSenders(t *testing.T) {
	f := newFake(t, slowing())
	for i := range uint32(300) {
		l := flowOf(sender, sink)
		l.DestQP = i
		f.core.learn(f.now, l)
	}
	f.receive(down1, pause(streamOf(5), 40_000))
	for i := range uint32(300) {
		l := flowOf(sender, sink)
		l.DestQP = i
		f.core.learn(f.now, l)
	}
	c := slowing()
	c.Source = nil
	f.core.configure(f.now, newSettings(c))
	f.receive(down1, pause(streamOf(5), 40_000))
	f.takeTold()
	if f.until(f.now + 50*ms); len(f.told) != 0 {
		t.Errorf("%d messages to senders that are no longer slowed", len(f.told))
	}
}
