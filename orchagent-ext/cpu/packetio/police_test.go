// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/notify"
	"sluice/tests/fabrictest"
)

// flooded is what two ports of a switch sent, one of them a flood.
type flooded struct {
	received map[uint32]int // by port
	policed  uint64
	lost     int           // at most: this machine had no room for them on their way
	took     time.Duration // from the first message until the last one was received
}

// flood sends n frames by one port, and some by the other in between.
func flood(t *testing.T, m *Messages, k notify.Kind, a, b *fabric.Interface, fromA, fromB []byte, n, some int) (is flooded) {
	t.Helper()
	is.received = map[uint32]int{}
	dst := make([]Message, maxBatch)
	drain := func() {
		for got := maxBatch; got == maxBatch; {
			got = m.Receive(dst)
			for i := range got {
				is.received[dst[i].Port]++
			}
		}
	}
	before := fabrictest.NeverArrived(t)
	sa, sb, begin := sender(t, a.Peer()), sender(t, b.Peer()), time.Now()
	for i := range some {
		send(t, sa, slices.Repeat([][]byte{fromA}, n/some)...)
		send(t, sb, fromB)
		if i%8 == 7 {
			drain()
		}
	}
	sum := func() int {
		return is.received[uint32(a.Index)] + is.received[uint32(b.Index)] + int(m.Policed(k)+fabrictest.NeverArrived(t)-before)
	}
	for deadline := time.Now().Add(patience); sum() < n/some*some+some && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		drain()
	}
	is.took, is.policed, is.lost = time.Since(begin), m.Policed(k), int(fabrictest.NeverArrived(t)-before)
	return is
}

// A flood of valid messages by one port is dropped in the kernel beyond the port's rate, and
// counted; the messages of another port are all received.
//
//conformance:draft-yang/copp
func TestFloodOfOnePortIsPolicedInTheKernel(t *testing.T) {
	f := fabrictest.New(t)
	sw, err := f.Node("switch")
	fabrictest.Check(t, err)
	var ports []*fabric.Interface
	for _, name := range []string{"a", "b"} {
		host, err := f.Node(name)
		fabrictest.Check(t, err)
		port, _, err := f.Link(sw, "port-"+name, host, "up")
		fabrictest.Check(t, err)
		ports = append(ports, port)
	}
	a, b := ports[0], ports[1]
	router := netip.MustParseAddr("2001:db8:ffff::1")
	rate := MessageRate{PerSecond: 1000, Burst: 50}
	m := messages(t, a, &MessageConfig{
		Codes: notify.DefaultCodePoints(), Senders: []MessageSender{{uint32(a.Index), a.Peer().LinkLocal}, {uint32(b.Index), b.Peer().LinkLocal}},
		PPFCTo: [2]netip.Addr{1: router}, PPFCPeers: []netip.Prefix{netip.MustParsePrefix("2001:db8::/32")}, PFCMRate: rate, PPFCRate: rate,
	})
	if err := m.Unpoliced(); err != nil {
		t.Skip("needs BPF: ", err)
	}
	peer := netip.MustParseAddr("2001:db8::7")
	stop := &notify.PPFC{PT: notify.Stop, PauseDuration: 10, Source: peer, Destination: router, RouterID: peer}
	toRouter := func(e *notify.Envelope, _ *notify.CodePoints) { e.Src, e.Dst = peer, router }
	for kind, frames := range map[notify.Kind][2][]byte{
		notify.KindPFCM: {frameOf(t, a.Peer(), pfcm(notify.ICMPv6, 1), nil), frameOf(t, b.Peer(), pfcm(notify.ICMPv6, 1), nil)},
		notify.KindPPFC: {frameOf(t, a.Peer(), stop, toRouter), frameOf(t, b.Peer(), stop, toRouter)},
	} {
		const n, some = 20_000, 40
		is := flood(t, m, kind, a, b, frames[0], frames[1], n, some)
		if got := is.received[uint32(b.Index)]; got > some || got < some-is.lost {
			t.Errorf("%s: %d of %d messages of the other port were received, %d lost on their way", kind, got, some, is.lost)
		}
		most := int(rate.Burst) + int(is.took.Seconds()*float64(rate.PerSecond)) + 2
		if got := is.received[uint32(a.Index)]; got < int(rate.Burst)-is.lost || got > most || got == n {
			t.Errorf("%s: %d messages of the flood came in %v, want %d to %d", kind, got, is.took, rate.Burst, most)
		}
		if got := is.received[uint32(a.Index)] + int(is.policed); got > n || got < n-is.lost {
			t.Errorf("%s: %d received and %d dropped, of %d, %d lost on their way", kind, is.received[uint32(a.Index)], is.policed, n, is.lost)
		}
	}
}

// Where a socket has no rate, as that of IPv4 without PPFC, all sockets are policed as configured.
func TestRatesOfPFCMAloneArePoliced(t *testing.T) {
	pair := fabrictest.Pair(t)
	every := MessageRate{PerSecond: 1000, Burst: 50}
	for name, c := range map[string]MessageConfig{"PFCM": {PFCMRate: every}, "PPFC": {PPFCRate: every}, "a source": {PPFCRateBySource: every}, "none": {}} {
		c.Codes = notify.DefaultCodePoints()
		c.Senders = []MessageSender{{uint32(pair.B.Index), pair.A.LinkLocal}}
		if err := messages(t, pair.B, &c).Unpoliced(); errors.Is(err, unix.EINVAL) {
			t.Errorf("rate of %s alone: %v", name, err)
		}
	}
}

// A flood of PPFC by one source, of IPv6 and IPv4, is dropped beyond its rate, and takes nothing of
// the rate of its port: the messages of another source behind the same port are all received.
func TestFloodOfOneSourceLeavesTheOthersOfItsPort(t *testing.T) {
	pair := fabrictest.Pair(t)
	a, b := pair.A, pair.B
	for family, of := range map[string]struct{ router, flood, other netip.Addr }{
		"IPv6": {netip.MustParseAddr("2001:db8:ffff::1"), netip.MustParseAddr("2001:db8::7"), netip.MustParseAddr("2001:db8:0:0:1::7")},
		"IPv4": {netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("192.0.2.8")},
	} {
		t.Run(family, func(t *testing.T) {
			rate := MessageRate{PerSecond: 1000, Burst: 50}
			c := &MessageConfig{
				Codes: notify.DefaultCodePoints(), PPFCPeers: []netip.Prefix{netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("192.0.2.0/24")},
				PPFCTo: [2]netip.Addr{1: of.router}, PPFCRate: MessageRate{PerSecond: 2000, Burst: 200}, PPFCRateBySource: rate,
			}
			if of.router.Is4() {
				c.PPFCTo = [2]netip.Addr{of.router}
			}
			m := messages(t, b, c)
			if err := m.Unpoliced(); err != nil {
				t.Skip("needs BPF: ", err)
			}
			from := func(peer netip.Addr) []byte {
				stop := &notify.PPFC{PT: notify.Stop, PauseDuration: 10, Source: peer, Destination: of.router, RouterID: peer}
				return frameOf(t, a, stop, func(e *notify.Envelope, _ *notify.CodePoints) { e.Src, e.Dst = peer, of.router })
			}
			const n, some = 20_000, 40
			flood, other := from(of.flood), from(of.other)
			received, dst, begin, lost := map[netip.Addr]int{}, make([]Message, maxBatch), time.Now(), fabrictest.NeverArrived(t)
			s := sender(t, a)
			for range some {
				send(t, s, slices.Repeat([][]byte{flood}, n/some)...)
				send(t, s, other)
			}
			for deadline, sum := time.Now().Add(patience), 0; sum < n+some && time.Now().Before(deadline); sum += int(m.Policed(notify.KindPPFC) + fabrictest.NeverArrived(t) - lost) {
				for i := range m.Receive(dst) {
					received[dst[i].Packet.Envelope.Src]++
				}
				sum = received[of.flood] + received[of.other]
			}
			never := int(fabrictest.NeverArrived(t) - lost)
			if got := received[of.other]; got > some || got < some-never {
				t.Errorf("%d of %d messages of the other source were received, %d lost on their way", got, some, never)
			}
			if got, most := received[of.flood], int(rate.Burst)+int(time.Since(begin).Seconds()*float64(rate.PerSecond))+2; got < int(rate.Burst)-never || got > most {
				t.Errorf("%d messages of the flood came, want %d to %d", got, rate.Burst, most)
			}
		})
	}
}

// Without a rate every message passes.
func TestMessagesWithoutARateAllPass(t *testing.T) {
	pair := fabrictest.Pair(t)
	a, b := pair.A, pair.B
	m := messages(t, b, &MessageConfig{Codes: notify.DefaultCodePoints(), Senders: []MessageSender{{uint32(b.Index), a.LinkLocal}}})
	frame := frameOf(t, a, pfcm(notify.ICMPv6, 1), nil)
	send(t, sender(t, a), slices.Repeat([][]byte{frame}, 500)...)
	if all := take(t, m, 500); len(all) != 500 || m.Policed(notify.KindPFCM) != 0 {
		t.Errorf("%d received, %d policed", len(all), m.Policed(notify.KindPFCM))
	}
}
