// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/hold/enforce"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

// A neighbor's PFCM holds what leaves by the port that it came in by, on each member of
// a PortChannel, until it ends, is cancelled or refreshed; of several the strictest.
//
//conformance:draft-yang/components draft-yang/enforce
func TestHoldOfANeighbor(t *testing.T) {
	f := newFake(t, config())
	start := f.now
	held := func(port sai.ObjectID, stream uint16) (until int64) { return f.holds[onStream(port, stream)].until }
	f.receive(down1, pause(9, 40_000))
	if held(down1, 9) != start+40*ms || held(down2, 9) != start+40*ms || len(f.holds) != 2 {
		t.Fatalf("holds %v", f.holds)
	}
	if q := time.Duration(f.core.holder.Enforced.UpperQuantile(0.5)); f.core.holder.Enforced.Count != 2 || q < 20*time.Microsecond || q > 25*time.Microsecond {
		t.Errorf("enforce %v of %d", q, f.core.holder.Enforced.Count)
	}
	f.until(start + 30*ms)
	f.receive(down1, pause(9, 40_000))
	if held(down1, 9) != start+70*ms {
		t.Errorf("refreshed until %d ms", (held(down1, 9)-start)/ms)
	}
	f.receive(down1, notify.PFCM{StreamID: 9, QueueID: 3, Action: notify.Cancel})
	if len(f.holds) != 0 {
		t.Errorf("cancelled: %v", f.holds)
	}
	f.receive(up, pause(9, 10_000))
	f.receive(up, notify.PFCM{StreamID: 9, QueueID: 4, Action: notify.Pause, Time: 20_000})
	f.until(f.now + 15*ms)
	if held(up, 9) == 0 || len(f.holds) != 1 {
		t.Errorf("the longer of two: %v", f.holds)
	}
	f.until(f.now + 10*ms)
	if len(f.holds) != 0 || f.core.holder.Len() != 0 {
		t.Errorf("expired: %v, kept %d", f.holds, f.core.holder.Len())
	}

	// Neighbors of two ports have one address: each ends its own hold alone.
	c := config()
	c.Ports = slices.Clone(c.Ports)
	c.Ports[1].Neighbor = c.Ports[0].Neighbor
	f = newFake(t, c)
	for _, port := range []sai.ObjectID{up, other} {
		m := f.message(port, c.Ports[0].Neighbor, pause(9, 40_000))
		f.core.receiveMessage(f.now, &m)
	}
	m := f.message(other, c.Ports[0].Neighbor, notify.PFCM{StreamID: 9, QueueID: 3, Action: notify.Cancel})
	f.core.receiveMessage(f.now, &m)
	if held(up, 9) == 0 || held(other, 9) != 0 {
		t.Errorf("the end of one of two holds leaves %v", f.holds)
	}
}

// Each message that is not to be obeyed is counted under its reason, and holds nothing.
//
//conformance:draft-yang/hop-limit-silent
func TestMessagesThatAreNotObeyed(t *testing.T) {
	at := func(f *fake, change func(e *notify.Envelope, m *notify.PFCM)) {
		e := notify.DefaultEnvelope(notify.KindPFCM)
		e.Src, e.Dst = link(0x11), link(1)
		m := pause(9, 40_000)
		m.Source, m.Destination = sender, sink
		change(&e, &m)
		b, err := m.AppendPacket(nil, &e, f.core.settings.Codes)
		if err != nil {
			t.Fatal(err)
		}
		msg := packetio.Message{Port: uint32(up)}
		msg.Err = msg.Packet.ParseIP(b, f.core.settings.Codes)
		f.core.receiveMessage(f.now, &msg)
	}
	for _, tt := range []struct {
		name   string
		change func(e *notify.Envelope, m *notify.PFCM)
		config func(c *Config)
		count  func(c *Counters) uint64
	}{
		{"hop limit 254", func(e *notify.Envelope, m *notify.PFCM) { e.HopLimit = 254 }, nil, func(c *Counters) uint64 { return c.Refused[notify.BadHopLimit] }},
		{"from a stranger", func(e *notify.Envelope, m *notify.PFCM) { e.Src = link(0x99) }, nil, func(c *Counters) uint64 { return c.Sender }},
		{"from the neighbor of another port", func(e *notify.Envelope, m *notify.PFCM) { e.Src = link(0x12) }, nil, func(c *Counters) uint64 { return c.Sender }},
		{"to another node", func(e *notify.Envelope, m *notify.PFCM) { e.Dst = link(2) }, nil, func(c *Counters) uint64 { return c.Refused[notify.BadDestination] }},
		{"from a global address", func(e *notify.Envelope, m *notify.PFCM) { e.Src = sender }, nil, func(c *Counters) uint64 { return c.Refused[notify.BadSource] }},
		{"a port without a neighbor", func(e *notify.Envelope, m *notify.PFCM) {}, func(c *Config) { c.Ports[0].Neighbor = netip.Addr{} }, func(c *Counters) uint64 { return c.Sender }},
		{"not to be obeyed", func(e *notify.Envelope, m *notify.PFCM) {}, func(c *Config) { c.Obey = false }, func(c *Counters) uint64 { return c.Off }},
	} {
		c := config()
		if tt.config != nil {
			tt.config(c)
		}
		f := newFake(t, c)
		at(f, tt.change)
		if n := tt.count(&f.core.kernel.Counters); n != 1 || len(f.asked) != 0 || f.core.kernel.Counters.Obeyed != 0 || f.core.kernel.Counters.Received != 1 {
			t.Errorf("%s: counted %d, holds %v", tt.name, n, f.asked)
		}
	}
	f := newFake(t, config())
	at(f, func(e *notify.Envelope, m *notify.PFCM) { e.Dst = netip.MustParseAddr("ff02::1") })
	if len(f.holds) != 1 {
		t.Error("to all nodes: not obeyed")
	}
}

// A pause that has waited in the socket for as long as it was to last is dropped and counted;
// what ends a hold is obeyed however late it is. Messages of these tests have waited for 20 µs
// (PFCM) and 30 µs (PPFC).
func TestPauseThatWaitedLongerThanItLastsIsDropped(t *testing.T) {
	play(t, "pause that waited longer than it lasts")
	g := newFake(t, ingress(ClientNone))
	stop := stopOf(sender, sink, qps)
	for _, us := range []uint16{30, 31} {
		stop.PauseDuration = us
		g.ppfcFrom(router6, gateway6, stop)
	}
	if n := g.core.kernel.Counters; n.PPFCLate != 1 || n.PPFCOutcome[enforce.Held] != 1 {
		t.Errorf("PPFC: %d counted as late, %d held", n.PPFCLate, n.PPFCOutcome[enforce.Held])
	}
}

// A router with several link-local addresses is one neighbor: each is obeyed, and a cancel from one
// ends the hold that another asked for.
func TestMessagesOfAllAddressesOfANeighbor(t *testing.T) {
	c := config()
	c.Ports[0].Also[0] = link(0x55)
	f := newFake(t, c)
	from := func(src netip.Addr, m notify.PFCM) {
		e := notify.DefaultEnvelope(notify.KindPFCM)
		e.Src, e.Dst = src, link(1)
		m.Source, m.Destination = sender, sink
		b, err := m.AppendPacket(nil, &e, f.core.settings.Codes)
		if err != nil {
			t.Fatal(err)
		}
		msg := packetio.Message{Port: c.Ports[0].Index, At: f.now}
		msg.Err = msg.Packet.ParseIP(b, f.core.settings.Codes)
		f.core.receiveMessage(f.now, &msg)
	}
	from(link(0x55), pause(9, 40_000))
	if len(f.holds) != 1 || f.core.kernel.Counters.Sender != 0 {
		t.Fatalf("holds %v, refused for the sender %d", f.holds, f.core.kernel.Counters.Sender)
	}
	from(c.Ports[0].Neighbor, notify.PFCM{StreamID: 9, QueueID: 3, Action: notify.Cancel})
	if len(f.holds) != 0 {
		t.Errorf("cancelled by the other address: %v", f.holds)
	}
	if senders := f.core.settings.Messages().Senders; !slices.Contains(senders, packetio.MessageSender{Port: c.Ports[0].Index, Addr: link(0x55)}) {
		t.Errorf("the socket takes messages of %v", senders)
	}
}

// A storm from one neighbor is bounded, and another neighbor is obeyed nonetheless.
//
//conformance:draft-yang/copp
func TestStormIsPoliced(t *testing.T) {
	c := config()
	c.Receive, c.ReceiveBySource = Rate{PerSecond: 10_000, Burst: 1000}, Rate{PerSecond: 2000, Burst: 200}
	f := newFake(t, c)
	for i := range 100_000 { // in a second
		f.now += 10_000
		f.receive(up, pause(uint16(i%60_000+1), 1000))
		if i%1000 == 999 {
			f.receive(other, pause(uint16(i/1000+1), 1000))
		}
		f.core.step(f.now)
	}
	n := f.core.kernel.Counters
	if taken := n.Held + n.Refreshed; n.Received != 100_100 || taken < 2200 || taken > 2400 || taken+n.Policed != n.Received {
		t.Errorf("%d received, %d taken, %d policed", n.Received, taken, n.Policed)
	}
	got := 0
	for _, a := range f.asked {
		if a.Port == other && a.d != 0 {
			got++
		}
	}
	if got != 100 {
		t.Errorf("%d of 100 messages of the other neighbor were obeyed", got)
	}
}

// A reduction slows a flow at once, to a percentage of its fair share of the port, and of its
// rate when that is measured: one that ends before is counted. A port of unknown speed counts as one of
// the usual speed.
//
//conformance:draft-yang/enforce
func TestReductionActsAtOnce(t *testing.T) { play(t, "reduction acts at once") }

// A message is obeyed when packets match what it asks to hold, by whichever member of a PortChannel.
func TestObeyedCountsWhatMatched(t *testing.T) { play(t, "obeyed counts what matched") }

// A Stream ID that no flow has is counted; where the operator says so, every flow of the
// message's addresses is held in its place.
func TestUnknownStream(t *testing.T) { play(t, "unknown stream") }

// Who refreshes for ever without a resume is released after the limit, ignored as long,
// and counted.
func TestWatchdogReleases(t *testing.T) {
	f := newFake(t, config())
	start := f.now
	for f.now < start+790*ms {
		f.receive(up, pause(9, 40_000))
		f.until(f.now + 20*ms)
		if held := f.holds[onStream(up, 9)].until != 0; held != (f.now < start+400*ms) {
			t.Fatalf("held %v at %d ms", held, (f.now-start)/ms)
		}
	}
	if n := f.core.kernel.Counters; n.Watchdog != 1 || n.Ignored < 15 {
		t.Errorf("released %d, ignored %d", n.Watchdog, n.Ignored)
	}
	f.until(start + 801*ms)
	if f.receive(up, pause(9, 40_000)); f.holds[onStream(up, 9)].until == 0 {
		t.Error("not held after that")
	}
}

// Flow control goes by a clock that cannot be set; a message whose arrival is not known,
// since the other clock was set, is obeyed and not measured.
func TestMessageWithoutATime(t *testing.T) {
	f := newFake(t, config())
	msg := messagesOf(t, f)[0]
	msg.At = 0
	f.core.receiveMessage(f.now, &msg)
	if len(f.holds) != 1 || f.core.holder.Enforced.Count != 0 {
		t.Errorf("holds %v, %d measured", f.holds, f.core.holder.Enforced.Count)
	}
}

// A port that goes takes its holds with it; a member of a PortChannel that goes leaves
// those of the others.
func TestPortsThatGo(t *testing.T) {
	f := newFake(t, config())
	f.receive(down1, pause(9, 40_000))
	f.receive(up, pause(9, 40_000))
	f.event(1, up, 5, 150_000, sai.MarkHigh)
	c := config()
	c.Ports = c.Ports[1:]
	c.Ports[3].Members = []sai.ObjectID{down1}
	f.gone[up], f.gone[down2] = true, true
	f.core.configure(f.now, newSettings(c))
	if f.core.holder.Len() != 1 || f.holds[onStream(down1, 9)].until == 0 || f.core.kernel.Counters.HoldFailed != 0 {
		t.Errorf("held %d, holds %v, failed %d", f.core.holder.Len(), f.holds, f.core.kernel.Counters.HoldFailed)
	}
	f.take()
	f.until(f.now + 100*ms)
	for _, s := range f.take() {
		if s.port == uint32(up) {
			t.Errorf("sent to the port that is gone: %+v", s)
		}
	}
	if f.core.holder.Len() != 0 {
		t.Error("the rest did not end")
	}
}

// A hold that the switch has no room for is counted as full, and as neither held nor obeyed; the
// next message asks for it again.
func TestHoldThatTheSwitchRefusesIsFull(t *testing.T) {
	f := newFake(t, config())
	f.room = 3
	for stream := uint16(1); stream <= 5; stream++ {
		f.receive(up, pause(stream, 40_000))
	}
	n := &f.core.kernel.Counters
	if n.Held != 3 || n.Obeyed != 0 || n.Full != 2 || n.HoldFailed != 2 || f.core.holder.Len() != 3 {
		t.Errorf("held %d, obeyed %d, full %d, refused by the switch %d, %d holds", n.Held, n.Obeyed, n.Full, n.HoldFailed, f.core.holder.Len())
	}
	r := newReport()
	f.core.fill(f.now, r)
	if len(r.Holds) != 3 {
		t.Errorf("%d holds reported", len(r.Holds))
	}
	f.room = 5
	f.receive(up, pause(5, 40_000))
	if n.Held != 4 || len(f.holds) != 4 {
		t.Errorf("with room again: held %d, %d on the switch", n.Held, len(f.holds))
	}
}

// refusalTime is how long a refused hold is reported.
const refusalTime = time.Minute

// TestRefusalOfAHoldEnds: the report names why the switch refused a hold until a hold succeeds, or
// for a minute.
func TestRefusalOfAHoldEnds(t *testing.T) {
	f := newFake(t, config())
	said := func() string {
		r := newReport()
		f.core.fill(f.now, r)
		return r.LastError
	}
	refuse := func() {
		f.room = 1
		for stream := uint16(1); stream <= 2; stream++ {
			f.receive(up, pause(stream, 40_000))
		}
		if said() == "" {
			t.Error("a refused hold is not reported")
		}
	}
	refuse()
	f.room = 3
	f.receive(up, pause(3, 40_000))
	if got := said(); got != "" {
		t.Errorf("after a hold that succeeded: %q", got)
	}
	refuse()
	f.until(f.now + int64(refusalTime) - 1)
	if said() == "" {
		t.Error("within a minute it is forgotten")
	}
	f.until(f.now + 1)
	if got := said(); got != "" {
		t.Errorf("after a minute: %q", got)
	}
}

// What comes behind an authentication header is obeyed as other messages, and counted where
// IPsec's mark is not asked for: nothing here has verified the header.
//
//conformance:draft-yang/ipsec
func TestAuthenticationHeaderIsNotVerified(t *testing.T) {
	for mark, want := range map[uint32]uint64{0: 1, 7: 0} {
		c := config()
		c.Mark = mark
		f := newFake(t, c)
		msg := messagesOf(t, f)[0]
		f.core.receiveMessage(f.now, &msg)
		msg.Packet.AH = true
		f.core.receiveMessage(f.now, &msg)
		if n := f.core.kernel.Counters; n.Unverified != want || n.Held != 1 || n.Refreshed != 1 {
			t.Errorf("mark %d: %d not verified, want %d; %d held, %d refreshed", mark, n.Unverified, want, n.Held, n.Refreshed)
		}
	}
}

// A PFCM whose Stream ID is that of a flow and whose addresses name another one is a demand of its own: its
// hold has those addresses, so it finds no packet of the flow, and is counted. It neither refreshes nor
// ends the hold of the flow.
//
//conformance:draft-yang/addresses draft-yang/exclusively
func TestAddressesOfAnotherFlowHoldNone(t *testing.T) {
	f := newFake(t, config())
	other := pause(9, 40_000)
	other.Source, other.Destination = sender, netip.MustParseAddr("2001:db8:b::99")
	f.receive(up, other)
	if _, held := f.holds[onStream(up, 9)]; held || len(f.holds) != 1 {
		t.Errorf("held: %+v", f.holds)
	}
	f.until(f.now + 50*ms)
	if c := &f.core.kernel.Counters; c.UnknownStream != 1 || c.Obeyed != 0 || len(f.holds) != 0 {
		t.Errorf("%d unknown, %d obeyed, holds %+v", c.UnknownStream, c.Obeyed, f.holds)
	}
	f.receive(up, pause(9, 40_000))
	other.Action, other.Time = notify.Cancel, 0
	f.receive(up, other)
	if _, held := f.holds[onStream(up, 9)]; !held {
		t.Error("a cancel about other addresses ended the hold")
	}
}
