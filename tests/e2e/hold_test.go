// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// opposite is the spine, seen as the leaf of host B, with a Redis and a sluiced of its
// own.
func (l *leaf) opposite() *leaf {
	l.t.Helper()
	shape := &fabric.LeafSpine{A: l.B, LeafA: l.SpineB, SpineB: l.LeafA, B: l.A, Leaf: l.Spine, Spine: l.Leaf}
	for _, p := range l.Uplinks {
		shape.Uplinks = append(shape.Uplinks, p.Peer())
	}
	return newSwitch(l.t, shape)
}

// neighbors says of each uplink who is at its other end, and switches PFCM on.
func (l *leaf) neighbors(pfcm ...string) {
	l.t.Helper()
	for _, p := range l.Uplinks {
		l.set("SLUICE_PORT", p.Name, "role", "fabric", "upstream_neighbor", p.Peer().LinkLocal.String())
	}
	l.set("SLUICE_PFCM", "global", append([]string{"admin_state", "enabled"}, pfcm...)...)
}

// notified is a counter of SLUICE_NOTIFY_STATS.
func (l *leaf) notified(message, name string) uint64 {
	l.t.Helper()
	n, _ := strconv.ParseUint(l.notifiedText(message, name), 10, 64) // 0 where there is no row
	return n
}

// notifiedText is a field of SLUICE_NOTIFY_STATS; "": there is no row.
func (l *leaf) notifiedText(message, name string) string {
	l.t.Helper()
	fields, err := one(l.t.Context(), l.countersDB, "SLUICE_NOTIFY_STATS", message)
	if err != nil {
		l.t.Fatal(err)
	}
	return fields[name]
}

// notifiedAll is a row of SLUICE_NOTIFY_STATS, without what is 0.
func (l *leaf) notifiedAll(message string) string {
	fields, err := one(l.t.Context(), l.countersDB, "SLUICE_NOTIFY_STATS", message)
	switch {
	case err != nil:
		return err.Error()
	case fields == nil:
		return "no row"
	}
	return fmt.Sprintf("of %s: %s", l.Leaf.Name, sorted(fields))
}

// sorted is what a row has, without what is 0.
func sorted(fields map[string]string) (all []string) {
	for name, v := range fields {
		if v != "0" && v != "0.0" {
			all = append(all, name+" "+v)
		}
	}
	slices.Sort(all)
	return all
}

func (l *leaf) awaitNotified(message, name string, least uint64) {
	l.t.Helper()
	for deadline := time.Now().Add(patience); l.notified(message, name) < least; time.Sleep(poll) {
		if time.Now().After(deadline) {
			l.t.Fatalf("%s of %s: %d, want %d; %s", name, message, l.notified(message, name), least, l.notifiedAll(message))
		}
	}
}

// pfcm is a PFCM about the train, as the neighbor by an uplink sends it, changed. Its reserved octets are not 0,
// which a receiver ignores.
func (l *leaf) pfcm(p *fabric.Interface, change func(e *notify.Envelope, m *notify.PFCM)) []byte {
	l.t.Helper()
	m := notify.PFCM{StreamID: heldStream(), QueueID: 3, Action: notify.Pause, Time: 65_535,
		Destination: fabric.HostB.Addr(), Source: fabric.HostA.Addr()}
	e := notify.DefaultEnvelope(notify.KindPFCM)
	e.SrcMAC, e.DstMAC, e.Src, e.Dst = roce.MAC(p.Peer().MAC), roce.MAC(p.MAC), p.Peer().LinkLocal, p.LinkLocal
	if change != nil {
		change(&e, &m)
	}
	b, err := notify.AppendFrame(nil, &m, &e, notify.DefaultCodePoints())
	if err != nil {
		l.t.Fatal(err)
	}
	const icmp, next, value = 14 + 40, 14 + 6, 0xa55a
	if b[next] == unix.IPPROTO_ICMPV6 { // else headers are between
		binary.BigEndian.PutUint16(b[icmp+4:], value) // reserved
		sum := uint32(^binary.BigEndian.Uint16(b[icmp+2:])) + value
		binary.BigEndian.PutUint16(b[icmp+2:], ^uint16(sum&0xffff+sum>>16)) // RFC 1624
	}
	return b
}

// sender is a sender until the test ends.
func (l *leaf) sender(from *fabric.Interface) *fabric.Sender {
	l.t.Helper()
	s, err := from.Sender()
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = s.Close() })
	return s
}

// capture captures what passes an interface, until the test ends.
func (l *leaf) capture(i *fabric.Interface) *fabric.Capture {
	l.t.Helper()
	c, err := i.Capture()
	if err != nil {
		l.t.Fatal(err)
	}
	return c
}

// put sends frames out of an interface.
func (l *leaf) put(s *fabric.Sender, frames ...[]byte) {
	l.t.Helper()
	for _, f := range frames {
		if err := s.Send(f); err != nil {
			l.t.Fatal(err)
		}
	}
}

// hold lets the neighbors by uplinks hold the train, again and again, until release. Even so
// a machine under load may let a hold run out.
func (l *leaf) hold(by ...*fabric.Interface) (release func()) {
	l.t.Helper()
	ended, done := make(chan struct{}), make(chan struct{})
	var senders []*fabric.Sender
	var frames [][]byte
	for _, p := range by {
		senders, frames = append(senders, l.sender(p.Peer())), append(frames, l.pfcm(p, nil))
	}
	go func() {
		defer close(done)
		fabric.GoFirst()
		for again := unix.NsecToTimespec(int64(10 * time.Millisecond)); ; {
			for i, s := range senders {
				_ = s.Send(frames[i]) // fails when the port has gone
			}
			select {
			case <-ended:
				return
			default:
				_ = unix.Nanosleep(&again, nil) // a signal wakes it early, which does no harm
			}
		}
	}()
	return sync.OnceFunc(func() { close(ended); <-done })
}

// waiting is how many octets of the train wait in holds.
func (l *leaf) waiting() (octets int) { l.t.Helper(); return l.waitingOf(heldStream()) }

// waitingOf is how many octets of a stream wait in holds.
func (l *leaf) waitingOf(stream uint16) (octets int) {
	l.t.Helper()
	for _, row := range l.table("SLUICE_HOLD") {
		if n, err := strconv.Atoi(row["waiting_bytes"]); err == nil && row["stream_id"] == fmt.Sprint(stream) && row["message"] == "pfcm" {
			octets += n
		}
	}
	return octets
}

// until polls until done says so.
func (l *leaf) until(what string, done func() bool) {
	l.t.Helper()
	l.polled(what, poll, done)
}

// soon is until for what is itself slow enough.
func (l *leaf) soon(what string, done func() bool) {
	l.t.Helper()
	l.polled(what, 0, done)
}

// polled polls so often.
func (l *leaf) polled(what string, each time.Duration, done func() bool) {
	l.t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(each) {
		if time.Now().After(deadline) {
			l.t.Fatalf("in vain: %s; holds %v, flows %v", what, l.table("SLUICE_HOLD"), l.table("SLUICE_FLOW"))
		}
	}
}

// quiet waits until nothing is held or congested.
func (l *leaf) quiet() {
	l.t.Helper()
	l.until("nothing is held or congested", func() bool { return l.congested() == 0 && len(l.table("SLUICE_HOLD")) == 0 })
}

// congested is how many flows are held or congested by their rows.
func (l *leaf) congested() (n int) {
	for _, row := range l.table("SLUICE_FLOW") {
		if row["state"] == "held" || row["state"] == "congested" {
			n++
		}
	}
	return n
}

const heldLabel = 0x4711

// train are n packets of one flow.
func (l *leaf) train(n int) (frames [][]byte) {
	for psn := range n {
		frames = append(frames, l.frame(packet{qp: 0x77, psn: uint32(psn), label: heldLabel}))
	}
	return frames
}

func heldStream() uint16 {
	return flow.HashStreamID(0, fabric.HostA.Addr().As16(), fabric.HostB.Addr().As16(), heldLabel)
}

// inOrder fails unless what arrived is the whole train.
func (l *leaf) inOrder(arrived []fabric.Frame, n int) {
	l.t.Helper()
	var p roce.Packet
	for i, f := range arrived {
		if err := p.Parse(f.Data, len(f.Data)); err != nil {
			l.t.Fatalf("packet %d: %v", i, err)
		}
		if p.PSN() != uint32(i) {
			l.t.Fatalf("packet %d has PSN %d", i, p.PSN())
		}
	}
	if len(arrived) != n {
		l.t.Errorf("%d of %d packets arrived", len(arrived), n)
	}
}

// arrived waits until the whole train has been captured, in order.
func (l *leaf) arrived(c *fabric.Capture, n int) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), patience)
	defer cancel()
	if err := c.Wait(ctx, n); err != nil {
		l.t.Errorf("%d of %d packets arrived", c.Len(), n)
	}
	arrived, err := c.Stop()
	if err != nil {
		l.t.Fatal(err)
	}
	l.inOrder(arrived, n)
}

// TestHoldUpstream: a flow that fills a slow queue at the spine is held at the leaf, seen
// in the rows of both, and released: every packet arrives, in order.
func TestHoldUpstream(t *testing.T) {
	l := newLeaf(t)
	s := l.opposite()
	l.neighbors("hold_limit_ms", "0") // a machine under load may drain for long
	s.neighbors()
	s.set("SLUICE_THRESHOLD", "gold", "high_bytes", "10000")
	s.set("SLUICE_PORT", s.LeafA.Name, "role", "edge", "threshold", "gold")
	l.start("--sai-profile", withQueues)
	s.start("--sai-profile", withQueues, "--sai-profile", fmt.Sprintf("SLUICE_QUEUE_RATE=1000,%s=1", s.LeafA.Name))
	for _, one := range []*leaf{l, s} {
		one.awaitFields("SLUICE_STATE", "global", "pfcm", "active")
		one.awaitFields("SLUICE_CAPABILITY", "switch", "threshold_method", "exact", "hold_method", "exact", "hold_state", "active")
	}
	const n = 400 // of 206 octets: two thirds of a second at 1 Mbit/s
	c, err := l.B.Capture()
	if err != nil {
		t.Fatal(err)
	}
	sender := l.sender(l.A)
	for i, f := range l.train(n) {
		l.put(sender, f)
		if i == n/2 { // the rest comes while the flow is held, or is about to be
			l.awaitNotified("pfcm", "held", 1)
		}
	}
	l.arrived(c, n)
	s.awaitNotified("pfcm", "sent", 2) // pause and cancel
	s.awaitNotified("pfcm", "reaction_us_n", 1)
	l.awaitNotified("pfcm", "enforce_us_n", 1)
	for name, one := range map[string]*leaf{"reaction_us": s, "enforce_us": l, "release_error_us": l} {
		t.Logf("%s: n %s, p50 %s, p99 %s, max %s", name, one.notifiedText("pfcm", name+"_n"), one.notifiedText("pfcm", name+"_p50"),
			one.notifiedText("pfcm", name+"_p99"), one.notifiedText("pfcm", name+"_max"))
	}
	if lost := l.notified("pfcm", "hold_queue_full") + l.notified("pfcm", "hold_queue_lost"); lost > 0 {
		t.Errorf("%d packets lost in holds", lost)
	}
	l.quiet()
	s.quiet()
}

// pauses are the PFC frames of a capture about a priority, in their order.
func pauses(c *fabric.Capture, priority int) (quanta []uint16) {
	var p notify.Packet
	for _, f := range c.Frames() {
		if p.Parse(f.Data, notify.DefaultCodePoints()) == nil && p.Kind == notify.KindPFC && p.PFC.Enable>>priority&1 != 0 {
			quanta = append(quanta, p.PFC.Quanta[priority])
		}
	}
	return quanta
}

// TestHoldRow: while a neighbor refreshes, its hold and the packets that wait are in
// SLUICE_HOLD; the host, as if it were a switch that knows PFC only, is paused by queue and
// time of the messages; and SIGTERM releases everything.
//
//conformance:draft-yang/pfc draft-yang/pfc-queue draft-yang/pfc-quanta draft-yang/queue-id draft-yang/reserved
func TestHoldRow(t *testing.T) {
	const speed = 10_000 // Mbit/s
	l := newLeaf(t)
	l.set("PORT", l.LeafA.Name, "lanes", "0", "admin_status", "up", "speed", fmt.Sprint(speed))
	l.neighbors("hold_limit_ms", "0", "generate", "false", "translate_pfc", "true")
	l.set("SLUICE_THRESHOLD", "gold", "high_bytes", "1000")
	for _, p := range l.Uplinks {
		l.set("SLUICE_PORT", p.Name, "role", "fabric", "upstream_neighbor", p.Peer().LinkLocal.String(), "threshold", "gold")
	}
	l.set("SLUICE_PORT", l.LeafA.Name, "role", "border")
	host, err := l.A.Capture()
	if err != nil {
		t.Fatal(err)
	}
	l.start("--sai-profile", withQueues)
	l.awaitFields("SLUICE_STATE", "global", "pfcm", "active")
	release := l.hold(l.Uplinks...)
	defer release()
	l.awaitNotified("pfcm", "held", uint64(len(l.Uplinks)))
	c, err := l.B.Capture()
	if err != nil {
		t.Fatal(err)
	}
	sender, sent := l.sender(l.A), 0
	put := func() {
		l.put(sender, l.frame(packet{qp: 0x77, psn: uint32(sent), label: heldLabel}))
		sent++
	}
	l.until("packets wait, and the host is paused", func() bool { put(); return l.waiting() > 0 && len(pauses(host, 3)) > 0 })
	const us = 3000
	for _, p := range l.Uplinks {
		l.put(l.sender(p.Peer()), l.pfcm(p, func(_ *notify.Envelope, m *notify.PFCM) { m.QueueID, m.Time = 5, us }))
	}
	l.until("the host is paused for queue 5", func() bool { return len(pauses(host, 5)) > 0 })
	if got, want := pauses(host, 5)[0], notify.Quanta(us, speed); got != want {
		t.Errorf("priority 5 is paused for %d quanta, want %d", got, want)
	}
	l.stop()
	if got := pauses(host, 3); got[len(got)-1] != 0 {
		t.Errorf("the last frame pauses the host for %d quanta", got[len(got)-1])
	}
	for range 25 {
		put()
	}
	l.arrived(c, sent)
	if rows := l.table("SLUICE_HOLD"); len(rows) > 0 {
		t.Errorf("rows of holds after the end: %v", rows)
	}
}
