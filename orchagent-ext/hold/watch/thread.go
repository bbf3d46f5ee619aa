// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/hold/sampled"
	"sluice/orchagent-ext/wire/roce"
	sai "sluice/sai-shim"
)

// thread is the state of the thread of flow control.
type thread struct {
	config *Config // as of the last reading
	queues map[sai.ObjectID]*queue
	flows  map[key]*flow
	byID   map[uint64]*flow
	byHost map[hosts][]*flow
	last   uint64 // ID that was given
	free   []*flow
	events []sai.FlowEvent // that wait
	shown  int64           // when estimates were published last, ns
	lost   uint64          // events
	cnps   uint64          // CNPs of flows that are in no watched queue
	woken  [8]byte         // that the eventfd counts
}

// newThread returns a thread without queues.
func newThread() thread {
	return thread{
		queues: make(map[sai.ObjectID]*queue, sampled.MostQueues), flows: make(map[key]*flow, flowsRoom), byID: make(map[uint64]*flow, flowsRoom), byHost: make(map[hosts][]*flow, flowsRoom),
		events: make([]sai.FlowEvent, 0, eventsRoom),
	}
}

// key names a flow: the packets from one host to a queue pair of another, by one queue.
type key struct {
	queue    sai.ObjectID
	src, dst netip.Addr
	destQP   uint32
}

// hosts are those of a flow.
type hosts struct{ src, dst netip.Addr }

// flow is a flow of which there are samples.
type flow struct {
	key
	id     uint64
	packet packetio.Pair // the last sample

	named   bool // it surely had more than the high mark, and has more than the low one since
	alarmed bool // likely it had almost as much
	high    uint64
	sampled.Estimate

	blind bool // the depth of its queue is unknown

	cnps int64 // when the last CNP for it came, ns; 0: none did

	left, before float64 // octets that left the queue by the last reading, and by the one before
	dropped      float64 // packets that found the queue full
}

// octets returns the flow's octets in the queue: the best guess, and before the flow is named no more
// than the high mark, which it surely has not passed.
func (f *flow) octets() uint64 {
	if f.named {
		return f.Mean
	}
	return max(f.Least, min(f.Mean, f.high))
}

// queue is a queue with its flows.
type queue struct {
	sampled.Queue[*flow]
	read reading // the last one; at 0: this is the first
	took int64   // ns between that and the one before
	rise uint64  // octets by which it grew between the two
	of   map[*flow]struct{}

	blind bool // the last reading had no depth
}

// ReadFlowEvents implements [flowcontrol.Switch]. It takes the samples and readings that wait.
func (f *Flows) ReadFlowEvents(dst []sai.FlowEvent) (n int, lost uint64) {
	_, _ = unix.Read(f.reader.wake, f.thread.woken[:])
	var c *Config
	if s := f.settings.Load(); s != nil {
		c = s.Config
	}
	t := &f.thread
	t.follow(c)
	for range len(f.samples) {
		if s := <-f.samples; s.CNP {
			t.marked(&s.Pair, packetio.Monotonic())
		} else {
			t.sample(&s)
		}
	}
	for range len(f.reader.readings) {
		r := <-f.reader.readings
		t.depth(&r)
		f.publish(r.at)
	}
	n = copy(dst, t.events)
	t.events = t.events[:copy(t.events, t.events[n:])]
	return n, t.lost
}

// follow takes a configuration: queues outside of it are forgotten.
func (t *thread) follow(c *Config) {
	if c == t.config {
		return
	}
	t.config = c
	for id, q := range t.queues {
		if c != nil {
			if _, stays := c.Queues[id]; stays {
				continue
			}
		}
		for f := range q.of {
			t.forget(q, f)
		}
		delete(t.queues, id)
	}
}

// sample takes a packet of a flow.
func (t *thread) sample(s *sample) {
	if t.config == nil {
		return
	}
	if _, watched := t.config.Queues[s.queue]; !watched {
		return
	}
	q := t.queues[s.queue]
	if q == nil {
		q = &queue{of: map[*flow]struct{}{}}
		t.queues[s.queue] = q
	}
	k := key{s.queue, s.Src, s.Dst, s.DestQP}
	f := t.flows[k]
	if f == nil {
		if len(t.flows) >= flowsRoom {
			q.Other(int(s.Octets))
			return
		}
		f = t.add(q, k)
	}
	f.packet = s.Pair
	q.Sample(f, int(s.Octets))
}

// add begins to estimate a flow in a queue.
func (t *thread) add(q *queue, k key) *flow {
	f := &flow{}
	if n := len(t.free); n > 0 {
		f, t.free = t.free[n-1], t.free[:n-1]
	}
	t.last++
	*f = flow{key: k, id: t.last}
	t.flows[k], t.byID[f.id] = f, f
	h := hosts{k.src, k.dst}
	t.byHost[h] = append(t.byHost[h], f)
	q.of[f] = struct{}{}
	return f
}

// forget ends the estimate of a flow.
func (t *thread) forget(q *queue, f *flow) {
	delete(t.flows, f.key)
	delete(t.byID, f.id)
	delete(q.of, f)
	h := hosts{f.src, f.dst}
	if t.byHost[h] = slices.DeleteFunc(t.byHost[h], func(o *flow) bool { return o == f }); len(t.byHost[h]) == 0 {
		delete(t.byHost, h)
	}
	t.free = append(t.free, f)
}

// marked takes a CNP: a switch marked packets of the flow that its queue pair sends. If the two
// hosts have one flow whose sender is unknown, it is that flow. Other CNPs are of flows that take
// another way, and are counted.
func (t *thread) marked(p *packetio.Pair, at int64) {
	of := t.byHost[hosts{p.Dst, p.Src}]
	found := false
	for _, f := range of {
		if f.packet.SrcQP == p.DestQP || len(of) == 1 && f.packet.SrcQP == 0 {
			f.cnps, found = at, true
		}
	}
	if !found {
		t.cnps++
	}
}

const (
	// confirmed is how long a CNP confirms the estimate of a flow.
	confirmed = int64(100 * time.Millisecond)

	// warned is how long a CNP keeps the alarm of a flow in a queue of unknown depth.
	warned = int64(500 * time.Millisecond)
)

// Estimated is how a flow is known to be in a queue.
type Estimated struct {
	Blind      bool  // by CNPs alone: the depth of the queue is unknown
	Confidence uint8 // percent of its octets that it surely has
}

// publishEvery is the time between two publications of estimates.
const publishEvery = int64(500 * time.Millisecond)

// publish publishes how flows with a signal are known.
func (f *Flows) publish(at int64) {
	if at-f.thread.shown < publishEvery && f.thread.shown != 0 {
		return
	}
	f.thread.shown = at
	all := map[uint64]Estimated{}
	for id, flow := range f.thread.byID {
		if flow.named || flow.alarmed {
			e := Estimated{Blind: flow.blind}
			if flow.Mean > 0 {
				e.Confidence = uint8(min(100, 100*flow.Least/flow.Mean))
			}
			all[id] = e
		}
	}
	f.estimated.Store(&all)
}

// Estimated returns how a flow is known, by its number in events, as of half a second ago at most. It may be called
// from any goroutine.
func (f *Flows) Estimated(flow uint64) (e Estimated, ok bool) {
	if all := f.estimated.Load(); all != nil {
		e, ok = (*all)[flow]
	}
	return e, ok
}

// blind ends an interval of a queue of unknown depth: flows for which CNPs come have an alarm. They
// may fill another queue, so they stay unnamed.
func (t *thread) blind(q *queue, r *reading, watched *flowcontrol.Queue) {
	mark := &watched.Threshold
	for f := range q.of {
		f.Estimate = sampled.Estimate{}
		// A flow that was named has its stop ended first.
		if f.cnps != 0 && r.at-f.cnps < warned && !f.named {
			octets := min(alarmOf(mark), mark.High)
			f.Estimate = sampled.Estimate{Least: octets, Mean: octets}
		}
		f.named, f.blind = false, true
		t.signal(f, mark, r.at, watched.Port)
		if q.Share(f) == 0 && !f.alarmed {
			t.forget(q, f)
		}
	}
	q.read.at, q.blind = r.at, true
	q.Decay()
}

// depth ends an interval of a queue: its flows get their shares, and events are raised.
func (t *thread) depth(r *reading) {
	q := t.queues[r.queue]
	if q == nil || t.config == nil {
		return // no packet went there
	}
	watched, ok := t.config.Queues[r.queue]
	if !ok {
		return
	}
	if r.Err != nil {
		t.blind(q, r, &watched)
		return
	}
	first := q.read.at == 0
	left, came, dropped := q.since(r)
	if first { // what share of the queue has samples is unknown
		q.Depth(r.Octets)
		q.Decay()
		return
	}
	if !q.blind { // what came meanwhile has decayed
		q.Arrived(came / float64(t.config.Rate))
	}
	q.blind = false
	q.Depth(t.middle(q, r))
	for f := range q.of {
		share := q.Share(f)
		f.before, f.left = f.left, f.left+share*left
		f.dropped, f.blind = f.dropped+share*dropped, false
		if f.Estimate = q.Of(f); f.cnps != 0 && r.at-f.cnps < confirmed {
			f.Least = f.Mean
		}
		t.signal(f, &watched.Threshold, r.at, watched.Port)
		if share == 0 {
			t.forget(q, f)
		}
	}
	q.Decay()
}

// middle returns the octets that a queue has in the middle of the interval that begins with a reading, where it
// grows as in the one before: its flows are judged by them until the next reading, and a queue that
// overflows at twice its rate grows by half of a mark meanwhile.
func (t *thread) middle(q *queue, r *reading) uint64 {
	octets := r.Octets + q.rise/2
	if room := t.config.Room[r.queue]; room != 0 {
		octets = min(octets, max(room, r.Octets))
	}
	return octets
}

// since returns the octets that left a queue and those that came since the last reading, and the
// packets that it dropped, and takes the reading. After a counter went backwards they are 0 once.
func (q *queue) since(r *reading) (left, came, dropped float64) {
	last := &q.read
	if last.at != 0 && r.Left >= last.Left && r.Dropped >= last.Dropped && r.Packets >= last.Packets {
		left, dropped = float64(r.Left-last.Left), float64(r.Dropped-last.Dropped)
		came = left + float64(r.Octets) - float64(last.Octets)
		if packets := r.Packets - last.Packets; packets > 0 {
			came += left / float64(packets) * dropped
		}
	}
	q.took, q.rise = r.at-last.at, 0
	if last.at != 0 && !q.blind && r.Octets > last.Octets {
		q.rise = r.Octets - last.Octets
	}
	q.read = *r
	return left, came, dropped
}

// alarmOf is the depth at which a flow has an alarm.
func alarmOf(mark *congestion.Threshold) uint64 { return max(mark.Low, mark.High-mark.High/5) }

// signal raises the event of a flow, as a switch that watches flows does: high again at each
// reading. An alarm goes by the best guess: flow control measures the flow from then on, and has its
// rate once it is named.
func (t *thread) signal(f *flow, mark *congestion.Threshold, at int64, port sai.ObjectID) {
	alarm, low := alarmOf(mark), max(mark.Low, 1)
	f.high = mark.High
	switch {
	case f.Least > mark.High || f.named && f.Mean > mark.High:
		f.named, f.alarmed = true, true
		t.raise(f, sai.MarkHigh, at, port)
	case f.Mean < low:
		if f.named || f.alarmed {
			t.raise(f, sai.MarkLow, at, port)
		}
		f.named, f.alarmed = false, false
	case f.Mean >= alarm && !f.alarmed:
		f.alarmed = true
		t.raise(f, sai.MarkAlarm, at, port)
	}
}

// raise adds an event.
func (t *thread) raise(f *flow, mark sai.FlowMark, at int64, port sai.ObjectID) {
	if len(t.events) == cap(t.events) {
		t.lost++
		return
	}
	p := &f.packet
	e := sai.FlowEvent{
		Queue: f.queue, InPort: sai.ObjectID(p.From), Flow: f.id, Octets: f.octets(), At: at, Mark: mark,
		Arrival: sai.Arrival{Known: true, TrafficClass: p.DSCP << 2, FlowLabel: p.Label, Src: sai.AddressOf(p.PathSrc), Dst: sai.AddressOf(p.PathDst)},
		Session: sai.Session{
			Protocol: unix.IPPROTO_UDP, RoCEv2: true, BTHOctet: p.Bits, SrcPort: p.SrcPort, DstPort: roce.UDPPort, PKey: p.PKey,
			DestQP: p.DestQP, SrcQP: p.SrcQP, Src: sai.AddressOf(p.Src), Dst: sai.AddressOf(p.Dst),
		},
	}
	e.Length = header(&e.Head, p)
	t.events = append(t.events, e)
}

// header writes the outermost IP header of a packet as it leaves by a switch that changes none of
// the fields that names flows, and returns its length.
func header(head *[sai.FlowHead]byte, p *packetio.Pair) uint8 {
	if p.PathSrc.Is4() {
		head[0], head[1], head[9] = 0x45, p.DSCP<<2, unix.IPPROTO_UDP
		src, dst := p.PathSrc.As4(), p.PathDst.As4()
		copy(head[12:], src[:])
		copy(head[16:], dst[:])
		return 20
	}
	binary.BigEndian.PutUint32(head[:], 6<<28|uint32(p.DSCP)<<22|p.Label)
	head[6] = unix.IPPROTO_UDP
	src, dst := p.PathSrc.As16(), p.PathDst.As16()
	copy(head[8:], src[:])
	copy(head[24:], dst[:])
	return 40
}

// GetFlow implements [flowcontrol.Switch].
func (f *Flows) GetFlow(_ sai.ObjectID, id uint64) (s sai.FlowState, err error) {
	if known := f.thread.byID[id]; known != nil {
		if octets := known.octets(); octets > 0 {
			return sai.FlowState{Flow: id, Octets: octets, Departed: uint64(known.left), At: f.thread.queues[known.queue].read.at}, nil
		}
	}
	return s, sai.ErrNotFound
}

// GetHold implements [flowcontrol.Switch]: the octets of a flow that left or are in the queue, and its
// part of the packets that the queue dropped. What left since the last reading is taken to be as much
// as between the two before.
func (f *Flows) GetHold(_ sai.ObjectID, m sai.HoldMatch) (s sai.HoldState, err error) {
	if m.Kind != sai.HoldSession {
		return s, sai.ErrNotFound
	}
	for id, q := range f.thread.queues {
		known := f.thread.flows[key{id, m.Src, m.Dst, m.Value}]
		if known == nil || q.took <= 0 {
			continue
		}
		part := min(1, float64(packetio.Monotonic()-q.read.at)/float64(q.took))
		left := known.before + (known.left-known.before)*max(part, 0)
		return sai.HoldState{Remaining: time.Second, Octets: uint64(left) + known.octets(), DroppedPackets: uint64(known.dropped)}, nil
	}
	return s, sai.ErrNotFound
}
