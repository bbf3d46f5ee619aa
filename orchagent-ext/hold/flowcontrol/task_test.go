// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"context"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/flows/histogram"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
	sai "sluice/sai-shim"
	"sluice/tests/fabrictest"
)

const patienceOfTests = time.Minute // the machine may be busy

// raised is a switch whose events the test raises, and that remembers holds.
type raised struct {
	mu     sync.Mutex
	fd     int
	events []sai.FlowEvent
	depth  map[uint64]uint64
	holds  map[target]int64 // until
	all    int
}

func newRaised(t *testing.T) *raised {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return &raised{fd: fd, depth: map[uint64]uint64{}, holds: map[target]int64{}}
}

func (r *raised) raise(e sai.FlowEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.At = packetio.Monotonic()
	r.depth[e.Flow] = e.Octets
	r.events = append(r.events, e)
	_, _ = unix.Write(r.fd, []byte{1, 0, 0, 0, 0, 0, 0, 0})
}

func (r *raised) ReadFlowEvents(dst []sai.FlowEvent) (int, uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := copy(dst, r.events)
	if r.events = r.events[:copy(r.events, r.events[n:])]; len(r.events) == 0 {
		var count [8]byte
		_, _ = unix.Read(r.fd, count[:])
	}
	return n, 0
}

func (r *raised) GetFlow(_ sai.ObjectID, id uint64) (sai.FlowState, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return sai.FlowState{Flow: id, Octets: r.depth[id]}, nil
}

func (r *raised) SetHold(port sai.ObjectID, m sai.HoldMatch, d time.Duration, _ uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d == 0 {
		delete(r.holds, targetOf(port, m))
	} else {
		r.holds[targetOf(port, m)] = packetio.Monotonic() + int64(d)
		r.all++
	}
	return nil
}

func (r *raised) GetHold(sai.ObjectID, sai.HoldMatch) (sai.HoldState, error) {
	return sai.HoldState{Packets: 1, Octets: 1000}, nil
}

// holding is how many holds are in force, and how many there were.
func (r *raised) holding() (now, all int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for t, until := range r.holds {
		if until <= packetio.Monotonic() {
			delete(r.holds, t)
		}
	}
	return len(r.holds), r.all
}

// node is flow control in a namespace.
type node struct {
	*Task
	*raised
	messages *packetio.Messages
	stop     func() error
}

func newNode(t *testing.T, at *fabric.Interface) *node {
	t.Helper()
	n := &node{raised: newRaised(t)}
	err := at.Node.Do(func() (err error) { n.messages, err = packetio.OpenMessages(); return err })
	if err != nil {
		t.Fatal(err)
	}
	c := config()
	c.Ports = []Port{{Name: at.Name, Members: []sai.ObjectID{up}, Index: uint32(at.Index), Self: at.LinkLocal, Neighbor: at.Peer().LinkLocal, Notify: true, Speed: 100_000}}
	c.Receive, c.ReceiveBySource = Rate{PerSecond: 10_000, Burst: 1000}, Rate{PerSecond: 10_000, Burst: 1000}
	if err := n.messages.Configure(c.Messages()); err != nil {
		t.Fatal(err)
	}
	if n.Task, err = New(n.raised, n.fd, n.messages); err != nil {
		t.Fatal(err)
	}
	n.Configure(c)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- n.Run(ctx) }()
	go func() { done <- n.messages.Run(ctx) }()
	n.stop = sync.OnceValue(func() error {
		cancel()
		err := <-done
		if other := <-done; err == nil {
			err = other
		}
		return err
	})
	t.Cleanup(func() {
		if err := n.stop(); err != nil {
			t.Error(err)
		}
		_, _ = n.Close(), n.messages.Close()
	})
	return n
}

func waitFor(t *testing.T, what string, good func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patienceOfTests); !good(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

// Two nodes on a link: a flow that fills a queue at one is held at the other, until it
// has drained; what is held ends with either node, and a node that comes back goes on.
func TestTwoNodes(t *testing.T) {
	pair := fabrictest.Pair(t)
	downstream, upstream := newNode(t, pair.A), newNode(t, pair.B)
	flow := func(id uint64, octets uint64, mark sai.FlowMark) {
		downstream.raise(*arrived(sai.FlowEvent{Queue: queue, InPort: up, Flow: id, Octets: octets, Mark: mark, Length: sai.FlowHead,
			Head: head(sender, sink, uint32(id))}))
	}
	holds := func(n int) func() bool { return func() bool { now, _ := upstream.holding(); return now == n } }
	flow(1, 150_000, sai.MarkHigh)
	waitFor(t, "the flow is not held", holds(1))
	flow(1, 0, sai.MarkLow)
	waitFor(t, "the flow is not released", holds(0))

	const n = 1000
	for i := range uint64(n) {
		flow(2, 150_000, sai.MarkHigh)
		waitFor(t, "a flow is not held", func() bool { _, all := upstream.holding(); return all >= int(i)+2 })
		flow(2, 0, sai.MarkLow)
		waitFor(t, "a flow is not released", holds(0))
	}
	d, u := downstream.Now(), upstream.Now()
	if d == nil || u == nil {
		t.Fatal("no report")
	}
	if d.Reaction.Count < n || u.Enforce.Count < n || d.Counters.Sent < 2*n || u.Counters.Obeyed < 2*n {
		t.Errorf("reaction of %d, enforce of %d, sent %d, obeyed %d", d.Reaction.Count, u.Enforce.Count, d.Counters.Sent, u.Counters.Obeyed)
	}
	show := func(what string, h *histogram.Fine) {
		t.Logf("%s: n %d, p50 %v, p99 %v, p99.9 %v, max %v; real-time %v", what, h.Count, time.Duration(h.UpperQuantile(.5)), time.Duration(h.UpperQuantile(.99)), time.Duration(h.UpperQuantile(.999)), time.Duration(h.Max), d.Realtime)
	}
	show("reaction", &d.Reaction)
	show("enforce", &u.Enforce)

	flow(3, 150_000, sai.MarkHigh)
	waitFor(t, "the flow is not held", holds(1))
	if r := upstream.Now(); len(r.Holds) != 1 || r.Holds[0].From != pair.A.LinkLocal || r.Holds[0].Until < r.At || r.Holds[0].Source != sender {
		t.Errorf("report of the upstream node: %+v", r.Holds)
	}
	if r := downstream.Now(); len(r.Flows) != 1 || !r.Flows[0].Requested || r.Flows[0].To != pair.B.LinkLocal || r.Flows[0].In != pair.A.Name || r.Flows[0].Octets != 150_000 {
		t.Errorf("report of the downstream node: %+v", r.Flows)
	}
	waitFor(t, "the hold is in no report", func() bool { r := upstream.Report(); return r != nil && len(r.Holds) == 1 })
	if err := downstream.stop(); err != nil {
		t.Error(err)
	}
	waitFor(t, "the flow is held though the node that asked has ended", holds(0))
	if downstream.Now() != nil {
		t.Error("an answer of a node that has ended")
	}
	if r := downstream.Report(); r == nil || r.Counters.Sent <= d.Counters.Sent {
		t.Errorf("the last report is not of the end: %+v", r)
	}
	downstream = newNode(t, pair.A)
	flow(4, 150_000, sai.MarkHigh)
	waitFor(t, "the flow is not held by the node that came back", holds(1))
	if err := upstream.stop(); err != nil {
		t.Error(err)
	}
	waitFor(t, "what is held outlives the node", holds(0))
	upstream = newNode(t, pair.B)
	waitFor(t, "the flow is not held when the upstream node came back", holds(1))
}

// There is news, with a report, when a hold begins and when it ends.
func TestNewsOfHolds(t *testing.T) {
	pair := fabrictest.Pair(t)
	downstream, upstream := newNode(t, pair.A), newNode(t, pair.B)
	flow := func(octets uint64, mark sai.FlowMark) {
		downstream.raise(*arrived(sai.FlowEvent{Queue: queue, InPort: up, Flow: 1, Octets: octets, Mark: mark, Length: sai.FlowHead, Head: head(sender, sink, 1)}))
	}
	news := func(holds int) func() bool {
		return func() bool {
			select {
			case <-upstream.News():
				return len(upstream.Report().Holds) == holds
			default:
				return false
			}
		}
	}
	flow(150_000, sai.MarkHigh)
	waitFor(t, "no news of the hold", news(1))
	flow(0, sai.MarkLow)
	waitFor(t, "no news of its end", news(0))
}

// 100,000 messages a second that are not to be obeyed, of each kind, keep no genuine one
// from being obeyed, and each is counted.
//
//conformance:draft-yang/copp
func TestStormOnTheWire(t *testing.T) {
	pair := fabrictest.Pair(t)
	downstream, upstream := newNode(t, pair.A), newNode(t, pair.B)
	s, err := pair.A.Sender()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	frames := [][]byte{
		spoof(t, pair.A, pair.A.LinkLocal, 64, false), spoof(t, pair.A, pair.A.LinkLocal, 255, true),
		spoof(t, pair.A, netip.MustParseAddr("fe80::bad"), 255, false),
	}
	const each = 20_000
	var before, after unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &before)
	begin := time.Now()
	for i := range each {
		for _, f := range frames {
			if err := s.Send(f); err != nil {
				t.Fatal(err)
			}
		}
		if i%1000 == 500 {
			id := uint64(i)
			downstream.raise(*arrived(sai.FlowEvent{Queue: queue, InPort: up, Flow: id, Octets: 150_000, Mark: sai.MarkHigh, Length: sai.FlowHead, Head: head(sender, sink, uint32(id))}))
		}
	}
	took := time.Since(begin)
	_ = unix.Getrusage(unix.RUSAGE_SELF, &after)
	waitFor(t, "genuine messages were not obeyed", func() bool { _, all := upstream.holding(); return all >= each/1000 })
	counted := func() (n, lost uint64) {
		c := upstream.Now().Counters
		lost = upstream.messages.Full()
		return refused(&c) + c.Policed + slow(upstream.messages) + lost, lost
	}
	waitFor(t, "not all were counted", func() bool { n, _ := counted(); return n >= 3*each })
	_, lost := counted()
	t.Logf("%.0f messages a second, %d of %d found a socket full; the process used %.2f of a core, the sender included", float64(3*each)/took.Seconds(), lost, 3*each,
		float64(after.Utime.Nano()+after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano())/float64(took))
	show := upstream.Now().Enforce
	t.Logf("enforce under the storm: n %d, p50 %v, p99 %v, max %v", show.Count, time.Duration(show.UpperQuantile(.5)), time.Duration(show.UpperQuantile(.99)), time.Duration(show.Max))
}

// spoof is a PFCM in a frame from an interface to its peer, with a source and hop limit,
// and its checksum wrong or right.
func spoof(t *testing.T, from *fabric.Interface, src netip.Addr, hops uint8, bad bool) []byte {
	t.Helper()
	m, e := pause(4711, 40_000), notify.DefaultEnvelope(notify.KindPFCM)
	m.Source, m.Destination = sender, sink
	e.SrcMAC, e.DstMAC = roce.MAC(from.MAC), roce.MAC(from.Peer().MAC)
	e.Src, e.Dst, e.HopLimit = src, from.Peer().LinkLocal, hops
	b, err := notify.AppendFrame(nil, &m, &e, notify.DefaultCodePoints())
	if err != nil {
		t.Fatal(err)
	}
	if bad {
		b[14+43] ^= 1
	}
	return b
}

func refused(c *Counters) (n uint64) {
	for _, r := range c.Refused {
		n += r
	}
	return n
}

// slow is the number of messages that never came to flow control.
func slow(m *packetio.Messages) (n uint64) {
	for r := notify.Short; r <= notify.BadSource; r++ {
		n += m.Count(notify.KindPFCM, r)
	}
	return n + m.Dropped(notify.KindPFCM, packetio.DroppedSender)
}
