// SPDX-License-Identifier: Apache-2.0

package network

import (
	"time"

	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/hold/enforce"
	"sluice/orchagent-ext/wire/notify"
)

// Hold is the feature pfcm: marks of flows in queues, and the delay and room to act.
type Hold struct {
	Threshold congestion.Threshold
	// ps, from a mark to the hold upstream, beside the way; the software switch: 250 µs
	Reaction int64
	Room     int64 // octets of a held flow that a switch keeps; 1 MiB
	Source   bool  // the switch of a sender slows it by CNPs, in place of holds
	Hosts    bool  // adapters obey PFCM, too
}

// Advise is the feature advice.
type Advise struct {
	Threshold congestion.Threshold // whose high-water mark makes a flow one to advise
	Target    congestion.Target
	Pace      congestion.Pace
	Reaction  int64 // ps, from an interval's end to the message
}

// hops is the most queues that a packet waits in, beside that of its host.
const hops = 8

// place is one flow in one queue: a queue pair, and how many links its packets crossed before.
type place struct {
	qp  int32
	hop uint8
}

// watched is a flow that keeps octets in a queue, or did a moment ago.
type watched struct {
	place
	link     int32 // of the queue
	in       int32 // link by which its packets come
	flow     congestion.Flow
	advice   congestion.Advice
	due      int64 // ps, of its timer, or 0
	estimate uint64
	came     uint64
	left     uint64
	measured bool // in an interval that ends by a timer
}

// holdQueue has the packets of a held flow.
type holdQueue struct {
	head, tail int32
	octets     int64
	sw         int32 // the switch that holds it
}

// order is a PFCM or an advice on its way.
type order struct {
	at   place
	pfcm notify.PFCM
	mbps uint32
}

// watch is flows in queues, for features that need the octets of a flow.
type watch struct {
	hold   *Hold
	advise *Advise
	depth  [][hops]int64 // by queue pair and hop: octets that wait
	flows  map[place]*watched
	onLink map[int32][]*watched
	tables []*enforce.Table[place] // by switch
	expire []int64                 // by switch: ps, of its timer
	held   map[place]*holdQueue
	orders []order
	spare  []int32
	change []enforce.Change[place]

	sampled    *Sampled // nil: switches know the octets of each flow
	reading    bool     // the timer of the next reading is set
	queues     map[int32]*estimator
	estimators []*estimator // as they came
	slowed     map[int32]*steering
}

// newWatch makes the watch that the configuration needs.
func newWatch(c Config, switches int) *watch {
	w := &watch{hold: c.Hold, advise: c.Advise, flows: map[place]*watched{}, onLink: map[int32][]*watched{}, held: map[place]*holdQueue{},
		sampled: c.Sampled, queues: map[int32]*estimator{}, slowed: map[int32]*steering{}}
	if w.hold != nil {
		w.tables, w.expire = make([]*enforce.Table[place], switches), make([]int64, switches)
		for i := range w.tables {
			w.tables[i] = enforce.NewTable[place](1 << 12)
			w.tables[i].Limit[notify.KindPFCM] = 400 * time.Millisecond // as sluiced's watchdog
		}
	}
	return w
}

// threshold is that of the feature; pfcm's where both are on.
func (w *watch) threshold() *congestion.Threshold {
	if w.hold != nil {
		return &w.hold.Threshold
	}
	return &w.advise.Threshold
}

// added begins a queue pair, whose number another one may have had.
func (w *watch) added(id int32) {
	for int(id) >= len(w.depth) {
		w.depth = append(w.depth, [hops]int64{})
	}
	w.depth[id] = [hops]int64{}
}

// ends forgets a queue pair that is freed, with the demands about it.
func (w *watch) ends(n *Net, id int32) {
	delete(w.slowed, id)
	for hop := range uint8(hops) {
		at := place{id, hop}
		if f := w.flows[at]; f != nil {
			w.forget(f)
		}
		if l := w.held[at]; l != nil {
			delete(w.held, at)
			w.change = w.tables[l.sw].Leave(w.change[:0], n.now/Nanosecond, at)
		}
	}
}

// holds reports whether the flow of a packet is held where the packet is; one that is sent at
// once is counted.
func (w *watch) holds(k *packet) bool {
	if w == nil || k.flags&flagAck != 0 || len(w.flows) == 0 {
		return false
	}
	p := place{k.qp, k.hop}
	if w.held[p] != nil {
		return true
	}
	if f := w.flows[p]; f != nil && w.sampled == nil {
		f.came += uint64(k.octets)
		f.left += uint64(k.octets)
	}
	return false
}

// comes takes a packet that waits for a link, and reports whether it was taken: its flow is
// held.
func (w *watch) comes(n *Net, id, p int32) bool {
	k := &n.pool.packets[p]
	if k.flags&flagAck != 0 {
		return false
	}
	at := place{k.qp, k.hop}
	depth := &w.depth[k.qp][k.hop]
	l := w.held[at]
	if l != nil && l.octets+int64(k.octets) > w.hold.Room {
		n.Stats.HoldDrops++
		n.release(&n.links[id], k, n.now)
		n.lose(p)
		return true
	}
	*depth += int64(k.octets)
	f := w.flows[at]
	if f == nil && w.sampled == nil && uint64(*depth) >= w.threshold().Low {
		f = &watched{place: at, link: id, in: k.in}
		w.flows[at] = f
		w.onLink[id] = append(w.onLink[id], f)
	}
	if f != nil && w.sampled == nil {
		f.came += uint64(k.octets)
		w.observe(n, f)
	}
	if l == nil {
		return false
	}
	k.next = -1
	if l.tail < 0 {
		l.head = p
	} else {
		n.pool.packets[l.tail].next = p
	}
	l.tail = p
	l.octets += int64(k.octets)
	return true
}

// leaves takes a packet that is sent after it waited.
func (w *watch) leaves(n *Net, _ int32, k *packet) {
	if k.flags&flagAck != 0 {
		return
	}
	at := place{k.qp, k.hop}
	w.depth[k.qp][k.hop] -= int64(k.octets)
	if f := w.flows[at]; f != nil && w.sampled == nil {
		f.left += uint64(k.octets)
		w.observe(n, f)
	}
}

// observe has package congestion decide about a flow, and sends the message that it asks for.
func (w *watch) observe(n *Net, f *watched) {
	t := w.threshold()
	octets := w.octets(f)
	seen := congestion.Seen{Octets: octets}
	if octets >= t.High { // the share decides only there
		others, count := uint64(0), 0
		for _, o := range w.onLink[f.link] {
			if d := w.octets(o); o != f && d >= t.Low {
				others += d
				count++
			}
		}
		seen.Share = congestion.Share(octets, others, count)
	}
	signal := f.flow.Observe(n.now/Nanosecond, seen, t)
	if w.hold != nil {
		w.signal(n, f, signal)
	}
	if w.advise != nil && !f.measured && f.flow.Congested() {
		f.measured = true
		f.came, f.left = 0, 0
		n.timers.push(timer{at: n.now + int64(w.advise.Pace.Interval)*Nanosecond, kind: timerAdvise, arg: f.qp, more: int32(f.hop)})
	}
	if at, ok := f.flow.Due(t); ok && (f.due == 0 || at*Nanosecond < f.due) {
		f.due = max(at*Nanosecond, n.now+Nanosecond)
		n.timers.push(timer{at: f.due, kind: timerSignal, arg: f.qp, more: int32(f.hop)})
	}
	if octets == 0 && w.sampled == nil && !f.flow.Congested() && !f.measured && w.held[f.place] == nil {
		w.forget(f)
	}
}

// forget ends the watch of a flow.
func (w *watch) forget(f *watched) {
	delete(w.flows, f.place)
	on := w.onLink[f.link]
	for i, o := range on {
		if o == f {
			on[i] = on[len(on)-1]
			w.onLink[f.link] = on[:len(on)-1]
			break
		}
	}
}

// signal sends the PFCM of a signal to the switch that a flow comes from. A host gets none unless
// it obeys: PFC stops it where its switch has no room left.
func (w *watch) signal(n *Net, f *watched, s congestion.Signal) {
	action, us, ok := w.hold.Threshold.PFCM(s)
	from := &n.links[f.in]
	if !ok || from.from < 0 && !w.hold.Hosts && !w.hold.Source {
		return
	}
	if from.from >= 0 || w.hold.Hosts {
		n.Stats.PFCMs++
	}
	if w.hold.Source {
		w.ask(n, order{at: f.place, pfcm: n.codec.pfcm(&n.pairs.all[f.qp], action, us)}, f.hop)
		return
	}
	o := order{at: place{f.qp, f.hop - 1}, pfcm: n.codec.pfcm(&n.pairs.all[f.qp], action, us)}
	n.timers.push(timer{at: n.now + w.hold.Reaction + from.delay, kind: timerPFCM, arg: w.order(o), more: f.in})
}

// order keeps an order until its timer fires, and returns its number.
func (w *watch) order(o order) int32 {
	if k := len(w.spare); k > 0 {
		i := w.spare[k-1]
		w.spare = w.spare[:k-1]
		w.orders[i] = o
		return i
	}
	w.orders = append(w.orders, o)
	return int32(len(w.orders) - 1)
}

// fire acts on a timer.
func (w *watch) fire(n *Net, t timer) {
	at := place{t.arg, uint8(t.more)}
	switch t.kind {
	case timerSignal:
		if f := w.flows[at]; f != nil && f.due <= n.now {
			f.due = 0
			w.observe(n, f)
		}
	case timerPFCM:
		o := w.orders[t.arg]
		w.spare = append(w.spare, t.arg)
		w.obey(n, &o, t.more)
	case timerSource:
		o := w.orders[t.arg]
		w.spare = append(w.spare, t.arg)
		w.source(n, &o)
	case timerSteer:
		if s := w.slowed[t.arg]; s != nil {
			s.set = false
			w.steer(n, t.arg)
		}
	case timerRead:
		w.read(n)
	case timerExpire:
		w.expire[t.arg] = 0
		w.change = w.tables[t.arg].Expire(w.change[:0], n.now/Nanosecond)
		w.apply(n, t.arg)
	case timerAdvise:
		if f := w.flows[at]; f != nil {
			w.measure(n, f)
		}
	case timerAdvice:
		o := w.orders[t.arg]
		w.spare = append(w.spare, t.arg)
		n.pullHost(n.pairs.all[o.at.qp].src)
		n.pairs.all[o.at.qp].advised = o.mbps
		n.wakeHost(n.pairs.all[o.at.qp].src)
	}
}

// obey is the switch at the other end of a link: package enforce decides which flows it holds.
func (w *watch) obey(n *Net, o *order, link int32) {
	l := &n.links[link]
	q := &n.pairs.all[o.at.qp]
	if n.codec.streamID(q) != o.pfcm.StreamID || q.una == q.end && w.held[o.at] == nil {
		return // the queue pair is another one by now, or is silent
	}
	if l.from < 0 {
		n.obey(q, enforce.OfPFCM(&o.pfcm))
		return
	}
	key := enforce.PFCMKey(&o.pfcm, nodeAddress(l.to), uint32(link))
	w.change, _ = w.tables[l.from].Receive(w.change[:0], n.now/Nanosecond, key, enforce.OfPFCM(&o.pfcm), []enforce.Target[place]{{Flow: o.at}})
	w.apply(n, l.from)
}

// apply carries changes of holds out, and sets the timer of the next end.
func (w *watch) apply(n *Net, sw int32) {
	for _, c := range w.change {
		l := w.held[c.Flow]
		switch {
		case c.Hold.Until != 0 && c.Hold.Keep == 0 && l == nil:
			n.Stats.Holds++
			w.held[c.Flow] = &holdQueue{head: -1, tail: -1, sw: sw}
		case c.Hold.Until == 0 && l != nil:
			delete(w.held, c.Flow)
			w.resume(n, l)
		}
	}
	if at, ok := w.tables[sw].Next(); ok && (w.expire[sw] == 0 || at*Nanosecond < w.expire[sw]) {
		w.expire[sw] = max(at*Nanosecond, n.now+Nanosecond)
		n.timers.push(timer{at: w.expire[sw], kind: timerExpire, arg: sw})
	}
}

// resume puts the packets of a hold queue at the end of their port's queue.
func (w *watch) resume(n *Net, l *holdQueue) {
	for p := l.head; p >= 0; {
		next := n.pool.packets[p].next
		id := nextLink(n.topo, &n.pool.packets[p])
		n.pool.packets[p].at = n.now
		n.advance(id)
		n.links[id].wait(&n.pool, p)
		n.serve(id)
		p = next
	}
}

// measure is the end of an interval of a flow: package congestion decides about advice.
func (w *watch) measure(n *Net, f *watched) {
	a := w.advise
	interval := int64(a.Pace.Interval)
	l := &n.links[f.link]
	target := a.Target
	target.Port = uint32(8e6 / l.psPerOctet)
	now, flows, told := n.now/Nanosecond, 0, uint32(0)
	for _, o := range w.onLink[f.link] {
		told += o.advice.Rate(now, &a.Pace)
		if w.octets(o) > 0 {
			flows++
		}
	}
	const mbps = 8000 // octets a ns
	m := congestion.Measured{
		Rate: uint32(f.left * mbps / uint64(interval)), Came: uint32(f.came * mbps / uint64(interval)),
		Depth: w.octets(f), Flows: max(flows, 1), Delay: time.Duration(l.depth * l.psPerOctet / Nanosecond),
		Advised: told,
	}
	m.Fair, m.Most = target.Port/uint32(m.Flows), m.Came
	f.came, f.left = 0, 0
	rate := f.advice.Congestion(now, f.flow.Congested(), m, &target, &a.Pace)
	if f.advice.Send(now, rate, &a.Pace) {
		n.Stats.Advices++
		q := &n.pairs.all[f.qp]
		o := order{at: f.place, mbps: n.codec.rateAdvice(q, f.qp, rate)}
		n.timers.push(timer{at: n.now + a.Reaction + oneWay(n.topo, q.dst, q.back), kind: timerAdvice, arg: w.order(o)})
	}
	if rate == 0 && f.advice.Rate(now, &a.Pace) == 0 { // the last advice ran out
		f.measured = false
		f.advice = congestion.Advice{}
		n.pullHost(n.pairs.all[f.qp].src)
		n.pairs.all[f.qp].advised = 0
		n.wakeHost(n.pairs.all[f.qp].src)
		w.observe(n, f)
		return
	}
	n.timers.push(timer{at: n.now + interval*Nanosecond, kind: timerAdvise, arg: f.qp, more: int32(f.hop)})
}
