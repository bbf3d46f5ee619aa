// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// holding starts a leaf that obeys PFCM, and sends everything to host B by its first
// uplink.
func holding(t testing.TB, pfcm []string, args ...string) *leaf {
	t.Helper()
	l := newLeaf(t)
	l.onePath()
	l.neighbors(pfcm...)
	l.start(append(args, "--sai-profile", withQueues)...)
	l.awaitFields("SLUICE_STATE", "global", "pfcm", "active")
	return l
}

func (l *leaf) onePath() {
	l.t.Helper()
	if err := l.Leaf.Route(fabric.HostB.Masked(), fabric.Hop{Via: l.Uplinks[0].Peer().LinkLocal, Out: l.Uplinks[0]}); err != nil {
		l.t.Fatal(err)
	}
}

// TestUnknownOptionsAreAnswered: a PFCM beside an unknown option of the types 10 and 11 is dropped and counted,
// and answered with Parameter Problem, code 2 (RFC 8200 section 4.2, RFC 4443 section 3.4), once: by the
// kernel. One of type 01, or of type 11 to a group, is not answered.
//
//conformance:draft-yang/option-type
func TestUnknownOptionsAreAnswered(t *testing.T) {
	l := holding(t, nil)
	up := l.Uplinks[0]
	c, s := l.capture(up.Peer()), l.sender(up.Peer())
	const padAt, icmpAt = 14 + 40 + 2, 14 + 40
	beside := func(option byte, to netip.Addr) []byte {
		b := l.pfcm(up, func(e *notify.Envelope, m *notify.PFCM) { e.Dst, m.Encapsulation = to, notify.HopByHop })
		b[padAt] = option
		return b
	}
	all := netip.MustParseAddr("ff02::1")
	l.put(s, beside(0x5e, up.LinkLocal), beside(0xde, all), beside(0x9e, up.LinkLocal), beside(0xde, up.LinkLocal))
	l.awaitNotified("pfcm", "dropped_unknown_option", 4)
	answered := func() (n int) {
		for _, f := range c.Frames() {
			if b := f.Data; len(b) > icmpAt+1 && b[12] == 0x86 && b[14+6] == unix.IPPROTO_ICMPV6 && b[icmpAt] == 4 && b[icmpAt+1] == 2 {
				n++
			}
		}
		return n
	}
	l.until("two are answered", func() bool { return answered() >= 2 })
	if n, held := answered(), l.notified("pfcm", "held"); n != 2 || held != 0 {
		t.Errorf("%d answers, %d held", n, held)
	}
}

// TestPFCMAboutOtherAddressesHoldsNone: its Stream ID is that of the train, its destination another host.
// No packet of the train matches, and each is counted as unknown when it is over.
//
//conformance:draft-yang/addresses draft-yang/exclusively
func TestPFCMAboutOtherAddressesHoldsNone(t *testing.T) {
	l := holding(t, nil)
	up := l.Uplinks[0]
	s := l.sender(up.Peer())
	other := l.pfcm(up, func(_ *notify.Envelope, m *notify.PFCM) { m.Destination = m.Destination.Next() })
	n := 0
	l.until("one is unknown when it is over", func() bool { // a busy switch drops those that it reads late
		l.put(s, other)
		l.inOrder(l.send(l.train(20)), 20)
		n++
		return n >= 5 && l.notified("pfcm", "dropped_unknown_stream") > 0
	})
	if held, obeyed := l.notified("pfcm", "held"), l.notified("pfcm", "obeyed"); held == 0 || obeyed != 0 {
		t.Errorf("%d held, %d obeyed", held, obeyed)
	}
}

// TestHoldIsRefused: each PFCM that is not to be obeyed is counted once, under its reason,
// holds nothing, and is not answered.
//
//conformance:draft-yang/hop-limit-silent draft-yang/subtype draft-yang/length draft-yang/option
func TestHoldIsRefused(t *testing.T) {
	l := holding(t, nil)
	up := l.Uplinks[0]
	answers, err := up.Peer().Capture()
	if err != nil {
		t.Fatal(err)
	}
	l.inOrder(l.send(l.train(5)), 5)
	s := l.sender(up.Peer())
	hops := func(n uint8) func(*notify.Envelope, *notify.PFCM) {
		return func(e *notify.Envelope, _ *notify.PFCM) { e.HopLimit = n }
	}
	to := func(a string) func(*notify.Envelope, *notify.PFCM) {
		return func(e *notify.Envelope, _ *notify.PFCM) { e.Dst = netip.MustParseAddr(a) }
	}
	from := func(a netip.Addr) func(*notify.Envelope, *notify.PFCM) {
		return func(e *notify.Envelope, _ *notify.PFCM) { e.Src = a }
	}
	option := func(_ *notify.Envelope, m *notify.PFCM) { m.Encapsulation = notify.HopByHop } // it has no checksum
	// Octets of a frame.
	const (
		lengthAt, checksumAt, codeAt = 14 + 5, 14 + 43, 14 + 41
		streamAt, actionAt           = 14 + 40 + 8, 14 + 40 + 11
		dataLengthAt, subtypeAt      = 14 + 40 + 5, 14 + 40 + 6
		padAt                        = 14 + 40 + 2
	)
	patched := func(frame []byte, at int, octets ...byte) []byte {
		copy(frame[at:], octets)
		return frame
	}
	code := patched(l.pfcm(up, nil), codeAt, 3)
	sum := binary.BigEndian.Uint16(code[checksumAt-1:])
	binary.BigEndian.PutUint16(code[checksumAt-1:], sum-3)
	short := l.pfcm(up, nil)
	refused := []struct {
		reason string
		frames [][]byte
	}{
		{"hop_limit", [][]byte{l.pfcm(up, hops(254)), l.pfcm(up, hops(64)), l.pfcm(up, hops(1))}},
		{"checksum", [][]byte{patched(l.pfcm(up, nil), checksumAt, 0xff, 0xff)}},
		{"short", [][]byte{patched(short, lengthAt, short[lengthAt]-4), patched(l.pfcm(up, option), dataLengthAt, 41)}},
		{"subtype", [][]byte{patched(l.pfcm(up, option), subtypeAt, 1)}},
		{"code", [][]byte{code}},
		{"unknown_option", [][]byte{patched(l.pfcm(up, option), padAt, 0x5e)}}, // whose type demands silence
		{"reserved_action", [][]byte{patched(l.pfcm(up, option), actionAt, 0xc0)}},
		{"zero_stream", [][]byte{patched(l.pfcm(up, option), streamAt, 0, 0)}},
		{"destination", [][]byte{l.pfcm(up, to("ff02::2")), l.pfcm(up, to("ff05::1")), l.pfcm(up, to("fe80::77"))}},
		{"source", [][]byte{l.pfcm(up, from(fabric.HostB.Addr()))}},
		{"sender", [][]byte{l.pfcm(up, from(netip.MustParseAddr("fe80::bad"))), l.pfcm(up, from(l.Uplinks[1].Peer().LinkLocal))}},
	}
	for _, tt := range refused {
		l.put(s, tt.frames...)
	}
	sum64 := uint64(0)
	for _, tt := range refused {
		l.awaitNotified("pfcm", "dropped_"+tt.reason, uint64(len(tt.frames)))
		n := l.notified("pfcm", "dropped_"+tt.reason)
		if n != uint64(len(tt.frames)) {
			t.Errorf("%d dropped for %s, want %d", n, tt.reason, len(tt.frames))
		}
		sum64 += n
	}
	// What is held though no packet has the Stream ID is counted when it is over.
	l.put(s, l.pfcm(up, func(_ *notify.Envelope, m *notify.PFCM) { m.StreamID ^= 1 }))
	l.awaitNotified("pfcm", "dropped_unknown_stream", 1)
	l.put(s, l.pfcm(up, to("ff02::1"))) // all nodes are meant
	l.awaitNotified("pfcm", "held", 2)
	received, held, obeyed := l.notified("pfcm", "received"), l.notified("pfcm", "held"), l.notified("pfcm", "obeyed")
	if sum64 != 17 || held != 2 || received != sum64+held || obeyed != 0 { // no packet has matched
		t.Errorf("%d dropped, %d held, %d obeyed, %d received", sum64, held, obeyed, received)
	}
	frames, err := answers.Stop()
	if err != nil {
		t.Fatal(err)
	}
	const firstNoError = 128 // of the types of ICMPv6 (RFC 4443 section 2.1)
	for _, f := range frames {
		if b := f.Data; b[12] == 0x86 && b[14+6] == unix.IPPROTO_ICMPV6 && b[14+40] < firstNoError {
			t.Errorf("a message is answered by ICMPv6 type %d", b[14+40])
		}
	}
}

// TestHoldOfAnotherPort: what a neighbor asks for is held where it leaves towards that
// neighbor, and nowhere else.
func TestHoldOfAnotherPort(t *testing.T) {
	t.Parallel()
	l := holding(t, []string{"hold_limit_ms", "0"})
	release := l.hold(l.Uplinks[1])
	defer release()
	l.until("the row of the hold", func() bool { return len(l.table("SLUICE_HOLD")) > 0 })
	l.inOrder(l.send(l.train(50)), 50)
	if n := l.waiting(); n > 0 {
		t.Errorf("%d octets wait", n)
	}
	release()
	l.awaitNotified("pfcm", "dropped_unknown_stream", 1)
	if l.notified("pfcm", "held") == 0 {
		t.Error("nothing was held by the other port")
	}
}

// TestHoldWatchdog: a neighbor that refreshes for ever is ignored in the end, which rows
// and metrics show, and the flow goes on.
func TestHoldWatchdog(t *testing.T) {
	t.Parallel()
	l := holding(t, nil)
	c, err := l.B.Capture()
	if err != nil {
		t.Fatal(err)
	}
	release := l.hold(l.Uplinks[0])
	defer release()
	l.awaitNotified("pfcm", "held", 1)
	const n = 20
	l.put(l.sender(l.A), l.train(n)...)
	l.arrived(c, n)
	l.awaitNotified("pfcm", "watchdog", 1)
	l.awaitNotified("pfcm", "ignored", 1)
	l.until("a row that says so", func() bool {
		for _, row := range l.table("SLUICE_HOLD") {
			if row["state"] == "ignored" && strings.Contains(row["reason"], "too long") {
				return true
			}
		}
		return false
	})
	l.awaitMetric(`sluice_notify_watchdog_total\{message="pfcm"\} [1-9].*`)
	if !strings.Contains(l.log.String(), "hold limit reached") {
		t.Error("no warning in the log")
	}
}

// TestPFCBudget: at a border a neighbor that knows PFC only is paused for 100 ms at most,
// then let go, which rows and metrics show.
func TestPFCBudget(t *testing.T) {
	l := newLeaf(t)
	l.onePath()
	s := l.opposite()
	s.set("SLUICE_THRESHOLD", "gold", "high_bytes", "10000")
	s.set("SLUICE_PORT", s.LeafA.Name, "role", "edge", "threshold", "gold")
	for i, p := range s.Uplinks {
		s.set("PORT", p.Name, "lanes", fmt.Sprint(4*(i+1)), "admin_status", "up", "speed", "10000")
		s.set("SLUICE_PORT", p.Name, "role", "border")
	}
	s.set("SLUICE_PFCM", "global", "admin_state", "enabled", "translate_pfc", "true")
	s.start("--sai-profile", withQueues, "--sai-profile", fmt.Sprintf("SLUICE_QUEUE_RATE=1000,%s=1", s.LeafA.Name))
	s.awaitFields("SLUICE_STATE", "global", "pfcm", "active")
	at, err := l.Uplinks[0].Capture()
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.B.Capture()
	if err != nil {
		t.Fatal(err)
	}
	const n = 400 // two thirds of a second at 1 Mbit/s
	l.put(l.sender(l.A), l.train(n)...)
	l.arrived(c, n)
	s.awaitNotified("pfc", "budget", 1)
	s.awaitMetric(`sluice_notify_budget_total\{message="pfc"\} [1-9].*`)
	s.quiet()
	frames, err := at.Stop()
	if err != nil {
		t.Fatal(err)
	}
	var stop, resume int
	for _, f := range frames {
		var p notify.Packet
		if p.Parse(f.Data, notify.DefaultCodePoints()) != nil || p.Kind != notify.KindPFC {
			continue
		}
		if slices.Max(p.PFC.Quanta[:]) > 0 {
			stop++
		} else {
			resume++
		}
	}
	if stop == 0 || resume < 2 { // when the budget is used up, and when the flow has drained
		t.Errorf("%d frames pause, %d resume", stop, resume)
	}
}

// TestHoldThatIsFull: a hold queue that is full refuses packets and counts them; all others
// arrive.
func TestHoldThatIsFull(t *testing.T) {
	l := holding(t, []string{"hold_limit_ms", "0"}, "--sai-profile", "SLUICE_HOLD_BYTES=65536")
	c, err := l.B.Capture()
	if err != nil {
		t.Fatal(err)
	}
	release := l.hold(l.Uplinks[0])
	defer release()
	l.awaitNotified("pfcm", "held", 1)
	s, sent := l.sender(l.A), 0
	l.until("the hold queue is full", func() bool {
		for range 400 { // at once, while one hold lasts: the hold queue has room for some 300
			if sent-c.Len() > 800 { // the links have room for 1000
				break
			}
			l.put(s, l.frame(packet{qp: 0x77, psn: uint32(sent), label: heldLabel}))
			sent++
		}
		return l.notified("pfcm", "hold_queue_full") > 0
	})
	release()
	l.quiet()
	var full int
	l.until("what was not refused arrives", func() bool {
		full = int(l.notified("pfcm", "hold_queue_full"))
		return c.Len() >= sent-full
	})
	arrived, err := c.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if len(arrived) != sent-full || full == 0 {
		t.Errorf("%d sent, %d refused, %d arrived", sent, full, len(arrived))
	}
	ascending(t, arrived)
}

// ascending fails unless the PSNs of packets grow.
func ascending(t *testing.T, frames []fabric.Frame) (psns []uint32) {
	t.Helper()
	var p roce.Packet
	for _, f := range frames {
		if err := p.Parse(f.Data, len(f.Data)); err != nil {
			t.Fatal(err)
		}
		if n := len(psns); n > 0 && p.PSN() <= psns[n-1] {
			t.Errorf("packet %d behind %d", p.PSN(), psns[n-1])
		}
		psns = append(psns, p.PSN())
	}
	return psns
}

// TestKilledWhileFlowsAreHeld: after kill -9 a held flow goes direct at once. What waited is
// lost, and counted by the next process.
func TestKilledWhileFlowsAreHeld(t *testing.T) {
	l := holding(t, []string{"hold_limit_ms", "0"})
	c, err := l.B.Capture()
	if err != nil {
		t.Fatal(err)
	}
	release := l.hold(l.Uplinks[0])
	defer release()
	l.awaitNotified("pfcm", "held", 1)
	s, frames, sent := l.sender(l.A), l.train(10_000), 0
	l.until("packets wait", func() bool {
		l.put(s, frames[sent])
		sent++
		return l.waiting() > 0
	})
	l.sluiced.Signal(9)
	killed := time.Now()
	at := c.Len() // what came before: a machine under load lets a hold run out
	l.until("a packet goes direct", func() bool {
		l.put(s, frames[sent])
		sent++
		return c.Len() > at
	})
	direct := time.Since(killed)
	<-l.sluiced.Done()
	t.Logf("direct after %v; the process ended after %v", direct, time.Since(killed))
	release()
	l.put(s, frames[sent:sent+50]...)
	sent += 50
	l.start("--sai-profile", withQueues)
	l.awaitFields("SLUICE_STATE", "global", "pfcm", "active")
	l.awaitNotified("pfcm", "hold_queue_lost", 1)
	lost := int(l.notified("pfcm", "hold_queue_lost"))
	l.until("what was not lost arrives", func() bool { return c.Len() >= sent-lost })
	arrived, err := c.Stop()
	if err != nil {
		t.Fatal(err)
	}
	psns := ascending(t, arrived)
	if len(psns) != sent-lost || int(psns[len(psns)-1]) != sent-1 {
		t.Errorf("%d sent, %d counted as lost, %d arrived, the last %d", sent, lost, len(psns), psns[len(psns)-1])
	}
	l.quiet()
}

// TestBothEndsRestart: a congested flow is held again after either end has died, or ended,
// and come back; no packet is lost. While sluiced ends or starts at the leaf no packet comes
// there: Linux drops those that a port sends while its root qdisc is being changed.
func TestBothEndsRestart(t *testing.T) {
	soakOnly(t)
	l := newLeaf(t)
	s := l.opposite()
	l.neighbors("hold_limit_ms", "0")
	s.neighbors()
	s.set("SLUICE_THRESHOLD", "gold", "high_bytes", "10000")
	s.set("SLUICE_PORT", s.LeafA.Name, "role", "edge", "threshold", "gold")
	slow := []string{"--sai-profile", withQueues, "--sai-profile", fmt.Sprintf("SLUICE_QUEUE_RATE=1000,%s=2", s.LeafA.Name)}
	l.start("--sai-profile", withQueues)
	s.start(slow...)
	for _, one := range []*leaf{l, s} {
		one.awaitFields("SLUICE_STATE", "global", "pfcm", "active")
	}
	c, err := l.B.Capture()
	if err != nil {
		t.Fatal(err)
	}
	sender, sent := l.sender(l.A), 0
	flowing := func() (end func()) {
		ended, done := make(chan struct{}), make(chan error)
		go func() {
			for {
				select {
				case <-ended:
					done <- nil
					return
				default:
				}
				if sent-c.Len() > 400 { // 80 kB, far from what a queue takes
					time.Sleep(time.Millisecond)
					continue
				}
				if err := sender.Send(l.frame(packet{qp: 0x77, psn: uint32(sent), label: heldLabel})); err != nil {
					done <- err
					return
				}
				sent++
			}
		}()
		return sync.OnceFunc(func() {
			close(ended)
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
	end := flowing()
	defer func() { end() }()
	l.awaitNotified("pfcm", "held", 1)
	s.sluiced.Kill()
	s.start(slow...)
	s.awaitNotified("pfcm", "sent", 1) // of the new process, which counts from 0
	before := l.notified("pfcm", "held")
	l.awaitNotified("pfcm", "held", before+1)
	l.until("packets wait", func() bool { return l.waiting() > 0 })
	end()
	l.stop() // releases what waits
	l.until("all arrive", func() bool { return c.Len() >= sent })
	l.start("--sai-profile", withQueues)
	l.awaitFields("SLUICE_STATE", "global", "pfcm", "active")
	end = flowing()
	l.awaitNotified("pfcm", "held", 1)
	end()
	l.until("all arrive", func() bool { return c.Len() >= sent })
	arrived, err := c.Stop()
	if err != nil {
		t.Fatal(err)
	}
	l.inOrder(arrived, sent)
	l.quiet()
	s.quiet()
}

// TestHoldsInALoop: two switches whose routes send a flow round and round hold it at each
// other. Nothing stays held: every packet dies by its hop limit, not in a hold queue.
func TestHoldsInALoop(t *testing.T) {
	l := newLeaf(t)
	s := l.opposite()
	l.onePath()
	back := l.Uplinks[1].Peer()
	if err := l.Spine.Route(fabric.HostB.Masked(), fabric.Hop{Via: back.Peer().LinkLocal, Out: back}); err != nil {
		t.Fatal(err)
	}
	for _, one := range []*leaf{l, s} {
		one.neighbors("hold_limit_ms", "0")
		one.set("SLUICE_THRESHOLD", "gold", "high_bytes", "10000")
		for _, p := range one.Uplinks {
			one.set("SLUICE_PORT", p.Name, "role", "fabric", "threshold", "gold", "upstream_neighbor", p.Peer().LinkLocal.String())
		}
		one.start("--sai-profile", withQueues, "--sai-profile", "SLUICE_QUEUE_RATE=2")
		one.awaitFields("SLUICE_STATE", "global", "pfcm", "active")
	}
	const n, hops = 200, 16 // 206 octets each
	frames := l.train(n)
	for _, f := range frames {
		f[14+7] = hops
	}
	died := func() int { return l.hopLimitErrors() + s.hopLimitErrors() }
	before := died()
	l.put(l.sender(l.A), frames...)
	l.awaitNotified("pfcm", "held", 1)
	s.awaitNotified("pfcm", "held", 1)
	l.until("all packets have died", func() bool { return died()-before >= n })
	l.quiet()
	s.quiet()
	if got := died() - before; got != n {
		t.Errorf("%d packets died by their hop limit, want %d", got, n)
	}
	for _, one := range []*leaf{l, s} {
		if lost := one.notified("pfcm", "hold_queue_full") + one.notified("pfcm", "hold_queue_lost"); lost > 0 {
			t.Errorf("%s: %d packets lost in holds", one.Leaf.Name, lost)
		}
	}
}

// hopLimitErrors counts the packets that the switch did not forward for their hop limit.
func (l *leaf) hopLimitErrors() (n int) {
	l.t.Helper()
	for line := range strings.Lines(l.in("cat", "/proc/net/snmp6")) {
		if _, err := fmt.Sscanf(line, "Ip6InHdrErrors %d", &n); err == nil {
			return n
		}
	}
	l.t.Fatal("no Ip6InHdrErrors")
	return 0
}

// TestFlowOfIPv4FillsAQueue: it is monitored and shown; that PFCM cannot name it is counted.
func TestFlowOfIPv4FillsAQueue(t *testing.T) {
	t.Parallel()
	l := newLeaf(t)
	s := l.opposite()
	s.neighbors()
	s.set("SLUICE_THRESHOLD", "gold", "high_bytes", "10000")
	s.set("SLUICE_PORT", s.LeafA.Name, "role", "edge", "threshold", "gold")
	s.start("--sai-profile", withQueues, "--sai-profile", fmt.Sprintf("SLUICE_QUEUE_RATE=1000,%s=1", s.LeafA.Name))
	s.awaitFields("SLUICE_STATE", "global", "pfcm", "active")
	sender, sent := l.sender(l.A), 0
	c, err := l.B.Capture()
	if err != nil {
		t.Fatal(err)
	}
	s.until("a row of the flow", func() bool {
		for ; sent-c.Len() < 400; sent++ {
			l.put(sender, l.frame4(packet{qp: 0x77, psn: uint32(sent)}))
		}
		for _, row := range s.table("SLUICE_FLOW") {
			if row["state"] == "congested" && row["src"] == fabric.HostA4.Addr().String() && row["dst"] == fabric.HostB4.Addr().String() && row["exact"] == "true" {
				return true
			}
		}
		return false
	})
	s.awaitNotified("pfcm", "ipv4", 1)
	if n := s.notified("pfcm", "sent"); n > 0 {
		t.Errorf("%d PFCM sent", n)
	}
	if _, err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	s.quiet()
}

// TestHoldWhereTheKernelMissesCalls: with programs that miss a call in ten, and events that
// get lost, a flow is held and released all the same, and nothing stays held or congested.
func TestHoldWhereTheKernelMissesCalls(t *testing.T) {
	soakOnly(t)
	l := newLeaf(t)
	dir := t.TempDir()
	if out, err := exec.Command("make", "-s", "-C", "../../sai-shim/softsai", "OUT="+dir, "WORK="+filepath.Join(dir, "o"),
		"BPF_DEFINES=-DSOFTSAI_DROP_CALLS=10", filepath.Join(dir, "libsoftsai.so")).CombinedOutput(); err != nil {
		t.Fatalf("make: %v\n%s", err, out)
	}
	library := []string{"--sai-library", filepath.Join(dir, "libsoftsai.so"), "--sai-profile", withQueues}
	s := l.opposite()
	l.neighbors("hold_limit_ms", "0")
	s.neighbors()
	s.set("SLUICE_THRESHOLD", "gold", "high_bytes", "10000")
	s.set("SLUICE_PORT", s.LeafA.Name, "role", "edge", "threshold", "gold")
	l.start(library...)
	s.start(append(library, "--sai-profile", fmt.Sprintf("SLUICE_QUEUE_RATE=1000,%s=2", s.LeafA.Name))...)
	for _, one := range []*leaf{l, s} {
		one.awaitFields("SLUICE_STATE", "global", "pfcm", "active")
	}
	c, err := l.B.Capture()
	if err != nil {
		t.Fatal(err)
	}
	sender, sent := l.sender(l.A), 0
	l.soon("a train of which a part was held", func() bool { // without a pause, which keeps the queue empty
		if sent-c.Len() < 300 {
			l.put(sender, l.frame(packet{qp: 0x77, psn: uint32(sent), label: heldLabel}))
			sent++
		}
		return sent >= 1000 && sent%100 == 0 && l.notified("pfcm", "held") > 0
	})
	l.arrived(c, sent)
	l.quiet()
	s.quiet()
	if lost := l.notified("pfcm", "hold_queue_full") + l.notified("pfcm", "hold_queue_lost"); lost > 0 {
		t.Errorf("%d packets lost in holds", lost)
	}
	t.Logf("held %d times, %d events lost of %d", l.notified("pfcm", "held"), s.notified("pfcm", "events_lost"), s.notified("pfcm", "events"))
}
