// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
	"sluice/tests/fabrictest"
)

func messages(t *testing.T, at *fabric.Interface, c *MessageConfig) *Messages {
	t.Helper()
	var m *Messages
	err := at.Node.Do(func() (err error) {
		if m, err = OpenMessages(); err != nil {
			return err
		}
		return m.Configure(c)
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// frameOf is a message in a frame from one interface to the other, changed.
func frameOf(t *testing.T, from *fabric.Interface, m notify.Message, change func(e *notify.Envelope, c *notify.CodePoints)) []byte {
	t.Helper()
	e, c := notify.DefaultEnvelope(m.Kind()), notify.DefaultCodePoints()
	e.SrcMAC, e.DstMAC = roce.MAC(from.MAC), roce.MAC(from.Peer().MAC)
	e.Src, e.Dst = from.LinkLocal, from.Peer().LinkLocal
	if change != nil {
		change(&e, &c)
	}
	b, err := notify.AppendFrame(nil, m, &e, c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func pfcm(form notify.Encapsulation, stream uint16) *notify.PFCM {
	return &notify.PFCM{Encapsulation: form, StreamID: stream, QueueID: 3, Action: notify.Pause, Time: 40_000,
		Destination: netip.MustParseAddr("2001:db8::2"), Source: netip.MustParseAddr("2001:db8::1")}
}

// take receives messages for flow control until there are n.
func take(t *testing.T, m *Messages, n int) (all []Message) {
	t.Helper()
	dst := make([]Message, 4)
	for deadline := time.Now().Add(patience); len(all) < n; {
		fds := m.FDs()
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fds[0]), Events: unix.POLLIN}, {Fd: int32(fds[1]), Events: unix.POLLIN}}, 100); err != nil && err != unix.EINTR {
			t.Fatal(err)
		}
		all = append(all, dst[:m.Receive(dst)]...)
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d messages", len(all), n)
		}
	}
	return all
}

// Messages that a neighbor may have sent come to flow control, with the port and the time;
// all others are counted by their reasons.
//
//conformance:draft-yang/hop-limit-silent
func TestMessagesAreParted(t *testing.T) {
	pair := fabrictest.Pair(t)
	a, b := pair.A, pair.B
	var senders []MessageSender
	for i := range 300 { // more than a conditional jump reaches
		senders = append(senders, MessageSender{uint32(1000 + i), netip.MustParseAddr("fe80::1")})
	}
	senders = append(senders, MessageSender{uint32(b.Index), a.LinkLocal})
	m := messages(t, b, &MessageConfig{Codes: notify.DefaultCodePoints(), Senders: senders})
	s := sender(t, a)
	hops := func(n uint8) func(*notify.Envelope, *notify.CodePoints) {
		return func(e *notify.Envelope, _ *notify.CodePoints) { e.HopLimit = n }
	}
	stranger := func(e *notify.Envelope, _ *notify.CodePoints) { e.Src = netip.MustParseAddr("fe80::bad") }
	badSum := frameOf(t, a, pfcm(notify.ICMPv6, 5), nil)
	badSum[14+43] ^= 1
	short := frameOf(t, a, pfcm(notify.ICMPv6, 5), nil)
	short[14+5] -= 4
	before := Monotonic()
	send(t, s,
		frameOf(t, a, pfcm(notify.ICMPv6, 1), nil),
		frameOf(t, a, pfcm(notify.HopByHop, 2), nil),
		frameOf(t, a, pfcm(notify.DestinationOptions, 3), nil),
		frameOf(t, a, pfcm(notify.ICMPv6, 4), func(e *notify.Envelope, _ *notify.CodePoints) { e.Dst = netip.MustParseAddr("ff02::1") }),
		// Not for flow control:
		badSum,
		frameOf(t, a, pfcm(notify.ICMPv6, 9), hops(254)), frameOf(t, a, pfcm(notify.HopByHop, 9), hops(64)), frameOf(t, a, pfcm(notify.ICMPv6, 9), hops(1)),
		frameOf(t, a, pfcm(notify.ICMPv6, 9), stranger), frameOf(t, a, pfcm(notify.DestinationOptions, 9), stranger),
		frameOf(t, a, pfcm(notify.ICMPv6, 9), func(e *notify.Envelope, c *notify.CodePoints) { c.PFCMCode = 3 }),
		frameOf(t, a, &notify.PPFC{PT: notify.Stop, PauseDuration: 10, Source: a.LinkLocal, Destination: b.LinkLocal, RouterID: a.LinkLocal}, nil),
		frameOf(t, a, &notify.PPFC{Transport: notify.OverUDP, Source: netip.MustParseAddr("192.0.2.1"), Destination: netip.MustParseAddr("192.0.2.2")},
			func(e *notify.Envelope, _ *notify.CodePoints) {
				e.Src, e.Dst = netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
			}),
		short,
	)
	got := take(t, m, 4)
	streams := []uint16{}
	for i, g := range got {
		if g.Err != nil {
			t.Errorf("message %d: %v", i, g.Err)
		}
		streams = append(streams, g.Packet.PFCM.StreamID)
		if g.Port != uint32(b.Index) || g.At < before || g.At > Monotonic() || g.Packet.Envelope.Src != a.LinkLocal {
			t.Errorf("message %d: port %d at %d from %s", i, g.Port, g.At, g.Packet.Envelope.Src)
		}
	}
	if len(streams) != 4 || streams[0] != 1 || streams[1] != 2 || streams[2] != 3 || streams[3] != 4 {
		t.Errorf("streams %v, want 1 to 4", streams)
	}
	for _, c := range []struct {
		what string
		got  func() uint64
		want uint64
	}{
		{"hop limit", func() uint64 { return m.Count(notify.KindPFCM, notify.BadHopLimit) }, 3},
		{"checksum", func() uint64 { return m.Count(notify.KindPFCM, notify.BadChecksum) }, 1},
		{"short", func() uint64 { return m.Count(notify.KindPFCM, notify.Short) }, 1},
		{"code", func() uint64 { return m.Count(notify.KindPFCM, notify.BadCode) }, 1},
		{"strangers", func() uint64 { return m.Dropped(notify.KindPFCM, DroppedSender) }, 2},
		{"PPFC", func() uint64 { return m.Dropped(notify.KindPPFC, DroppedSender) }, 2},
	} {
		for deadline := time.Now().Add(patience); c.got() != c.want; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d, want %d", c.what, c.got(), c.want)
			}
		}
	}
}

// While the configuration changes each message is counted once: by flow control or
// as dropped.
func TestMessagesAreCountedOnceWhileTheConfigurationChanges(t *testing.T) {
	pair := fabrictest.Pair(t)
	a, b := pair.A, pair.B
	known := &MessageConfig{Codes: notify.DefaultCodePoints(), Senders: []MessageSender{{uint32(b.Index), a.LinkLocal}}}
	unknown := &MessageConfig{Codes: notify.DefaultCodePoints()}
	m := messages(t, b, known)
	changes, failed := new(atomic.Int64), make(chan error, 1)
	end := make(chan struct{})
	go func() {
		for {
			select {
			case <-end:
				failed <- nil
				return
			default:
			}
			if err := errors.Join(m.Configure(unknown), m.Configure(known)); err != nil {
				failed <- err
				return
			}
			changes.Add(1)
		}
	}()
	s, frame, dst := sender(t, a), frameOf(t, a, pfcm(notify.ICMPv6, 1), nil), make([]Message, maxBatch)
	var sent, fast uint64
	total := func() uint64 {
		for n := maxBatch; n == maxBatch; {
			n = m.Receive(dst)
			fast += uint64(n)
		}
		return fast + m.Dropped(notify.KindPFCM, DroppedSender) + m.Full()
	}
	for deadline := time.Now().Add(patience); (sent < 20_000 || changes.Load() < 10) && time.Now().Before(deadline); {
		send(t, s, slices.Repeat([][]byte{frame}, 50)...)
		sent += 50
		total()
	}
	close(end)
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); total() < sent && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
	}
	if got := total(); got != sent || fast == 0 || fast == sent {
		t.Errorf("%d counted, %d of them received, of %d sent", got, fast, sent)
	}
}

// Where a mark is demanded, what came without it is counted and not obeyed.
//
//conformance:draft-yang/ipsec
func TestMessagesNeedTheMark(t *testing.T) {
	pair := fabrictest.Pair(t)
	a, b := pair.A, pair.B
	m := messages(t, b, &MessageConfig{Codes: notify.DefaultCodePoints(), Senders: []MessageSender{{uint32(b.Index), a.LinkLocal}}, PFCMMark: 7})
	send(t, sender(t, a), frameOf(t, a, pfcm(notify.ICMPv6, 1), nil))
	for deadline := time.Now().Add(patience); m.Dropped(notify.KindPFCM, DroppedMark) != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not counted")
		}
	}
	if n := m.Receive(make([]Message, 1)); n != 0 {
		t.Error("it came to flow control")
	}
}

// What is sent arrives as it was written, out of the port that was named; neither
// direction allocates.
//
//conformance:draft-yang/link-local
func TestMessagesAreSent(t *testing.T) {
	pair := fabrictest.Pair(t)
	a, b := pair.A, pair.B
	from := messages(t, a, &MessageConfig{Codes: notify.DefaultCodePoints()})
	to := messages(t, b, &MessageConfig{Codes: notify.DefaultCodePoints(), Senders: []MessageSender{{uint32(b.Index), a.LinkLocal}}})
	frame := frameOf(t, a, pfcm(notify.ICMPv6, 77), nil)
	if err := from.Send(uint32(a.Index), b.LinkLocal, frame[14:]); err != nil {
		t.Fatal(err)
	}
	if got := take(t, to, 1)[0]; got.Err != nil || got.Packet.PFCM.StreamID != 77 || got.Packet.Envelope.HopLimit != 255 {
		t.Errorf("%v, %v", got.Err, got.Packet.Fields())
	}
	if err := from.SendFrame(uint32(a.Index), frame); err != nil {
		t.Fatal(err)
	}
	if got := take(t, to, 1)[0]; got.Err != nil || got.Packet.PFCM.StreamID != 77 {
		t.Errorf("%v, %v", got.Err, got.Packet.Fields())
	}
	dst := make([]Message, 8)
	if n := testing.AllocsPerRun(100, func() {
		_ = from.Send(uint32(a.Index), b.LinkLocal, frame[14:])
		_ = from.SendFrame(uint32(a.Index), frame)
		to.Receive(dst)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Of a flood of refused messages none takes memory.
func TestCountsOfMessagesTakeNoMemory(t *testing.T) {
	e, codes := notify.DefaultEnvelope(notify.KindPFCM), notify.DefaultCodePoints()
	e.Src, e.Dst = netip.MustParseAddr("fe80::1"), netip.MustParseAddr("fe80::2")
	e.SrcMAC, e.DstMAC = roce.MAC{2, 0, 0, 0, 0, 1}, roce.MAC{2, 0, 0, 0, 0, 2}
	frame, err := notify.AppendFrame(nil, pfcm(notify.ICMPv6, 1), &e, codes)
	if err != nil {
		t.Fatal(err)
	}
	stranger, far := frame[14:], slices.Clone(frame[14:])
	const hopLimit = 7
	far[hopLimit]--
	var m Messages
	m.config.Store(&MessageConfig{Codes: codes})
	var p notify.Packet
	const rounds = 100
	if n := testing.AllocsPerRun(rounds, func() { m.count(&p, stranger); m.count(&p, far) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if a, b := m.Dropped(notify.KindPFCM, DroppedSender), m.Count(notify.KindPFCM, notify.BadHopLimit); a != rounds+1 || b != rounds+1 {
		t.Errorf("counted %d of strangers and %d from afar, not %d", a, b, rounds+1)
	}
}

// A PPFC from a peer to one of this switch's router ids comes to flow control, in every form;
// that of others, and to others, is counted as dropped.
func TestPPFCOfPeersComesToFlowControl(t *testing.T) {
	pair := fabrictest.Pair(t)
	a, b := pair.A, pair.B
	c := &MessageConfig{
		Codes:     notify.DefaultCodePoints(),
		PPFCPeers: []netip.Prefix{netip.MustParsePrefix("fd00::/64"), netip.PrefixFrom(fabric.HostA.Addr(), 128), netip.MustParsePrefix("10.0.0.0/13")},
		PPFCTo:    [2]netip.Addr{fabric.HostB4.Addr(), fabric.HostB.Addr()},
	}
	m := messages(t, b, c)
	s := sender(t, a)
	ppfc := func(transport notify.Transport, from, to netip.Addr, port uint16) []byte {
		return frameOf(t, a, &notify.PPFC{Transport: transport, PT: notify.Stop, PauseDuration: 10, CongestionPort: port, CongestionQID: port, Source: from, Destination: to, RouterID: from,
			Flow: notify.FlowIdentifier{Form: notify.QPs, Protocol: 17, SrcPort: 1, DstPort: 4791, DstQP: 7}},
			func(e *notify.Envelope, _ *notify.CodePoints) { e.Src, e.Dst = from, to })
	}
	a6, b6, a4, b4 := fabric.HostA.Addr(), fabric.HostB.Addr(), fabric.HostA4.Addr(), fabric.HostB4.Addr()
	send(t, s,
		ppfc(notify.OverICMP, a6, b6, 1), ppfc(notify.OverUDP, a6, b6, 2), ppfc(notify.OverICMP, a4, b4, 3), ppfc(notify.OverUDP, a4, b4, 4),
		// Not for flow control: a stranger, and another destination.
		ppfc(notify.OverICMP, netip.MustParseAddr("fd00:0:0:1::1"), b6, 9), ppfc(notify.OverUDP, netip.MustParseAddr("10.8.0.1"), b4, 9),
		ppfc(notify.OverICMP, a6, b.LinkLocal, 9),
	)
	seen := map[uint16]bool{}
	for _, g := range take(t, m, 4) {
		if g.Err != nil || g.Packet.Kind != notify.KindPPFC {
			t.Fatalf("%v %v", g.Err, g.Packet.Kind)
		}
		seen[max(g.Packet.PPFC.CongestionPort, g.Packet.PPFC.CongestionQID)] = true
	}
	if len(seen) != 4 || seen[9] {
		t.Errorf("received: %v", seen)
	}
	for deadline := time.Now().Add(patience); m.Dropped(notify.KindPPFC, DroppedSender) != 3; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d counted beside it, want 3", m.Dropped(notify.KindPPFC, DroppedSender))
		}
	}
}

// A routed packet leaves as the routes say, over both families.
func TestMessagesAreRouted(t *testing.T) {
	pair := fabrictest.Pair(t)
	a, b := pair.A, pair.B
	from := messages(t, a, &MessageConfig{Codes: notify.DefaultCodePoints()})
	to := messages(t, b, &MessageConfig{Codes: notify.DefaultCodePoints(), PPFCPeers: []netip.Prefix{netip.MustParsePrefix("::/0"), netip.MustParsePrefix("0.0.0.0/0")},
		PPFCTo: [2]netip.Addr{fabric.HostB4.Addr(), fabric.HostB.Addr()}})
	for _, way := range [][2]netip.Addr{{fabric.HostA.Addr(), fabric.HostB.Addr()}, {fabric.HostA4.Addr(), fabric.HostB4.Addr()}} {
		frame := frameOf(t, a, &notify.PPFC{PT: notify.Resume, Source: way[0], Destination: way[1], RouterID: way[0]},
			func(e *notify.Envelope, _ *notify.CodePoints) { e.Src, e.Dst = way[0], way[1] })
		packet := frame[14:]
		if way[0].Is4() { // without the padding of a short frame
			packet = packet[:binary.BigEndian.Uint16(packet[2:])]
		}
		if err := from.Route(packet); err != nil {
			t.Fatal(err)
		}
		if got := take(t, to, 1)[0]; got.Err != nil || got.Packet.PPFC.RouterID != way[0] {
			t.Errorf("%v %+v", got.Err, got.Packet.PPFC)
		}
	}
}

// A clock that is set, by NTP or by hand, makes no time out of nothing: what was stamped
// before has no time.
func TestArrivalOverClockSteps(t *testing.T) {
	const second, real, mono = int64(time.Second), int64(1_800_000_000) * int64(time.Second), int64(500) * int64(time.Second)
	for _, c := range []struct {
		what        string
		stamp, want int64
	}{
		{"20 µs ago", real - 20_000, mono - 20_000},
		{"now", real, mono},
		{"the clock was set back by an hour", real + 3600*second, 0},
		{"the clock was set forward by an hour", real - 3600*second, 0},
		{"no stamp", 0, 0},
	} {
		if got := Arrived(real, mono, c.stamp); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
}
