// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"encoding/binary"
	"net/netip"
	"time"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/hold/enforce"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

// flowID names a flow as the switch does.
type flowID struct {
	queue sai.ObjectID
	flow  uint64
}

// mute is the reason for silence about a congested flow.
type mute uint8

const (
	speaks       mute = iota
	isUnreadable      // the switch gave no packet
	isIPv4            // PFCM knows IPv6 only
	isRelabelled      // its header as the neighbor sent it is not known
)

// congested is a flow that fills a queue, or did.
type congested struct {
	congestion.Flow
	flowID
	q Queue

	in       sai.ObjectID // port that it comes in by
	src, dst netip.Addr   // of the outermost header as the upstream neighbor sends it
	label    uint32       // as it leaves here
	stream   uint16       // as the upstream neighbor sends it
	leaves   leaving      // by which a downstream neighbor knows it
	session  session
	dscp     uint8
	mute     mute
	counted  bool // as mute, or as one without an upstream neighbor

	// Times are ns of CLOCK_MONOTONIC: since when it is watched, and the end of the
	// request to the neighbor, 0 before the first one.
	since   int64
	hold    request // to a neighbor, to hold it
	until   int64   // as far as was asked
	to      *port   // of that neighbor
	derived int64   // end of the hold here that the last message was derived from; 0: from none

	fills       filling // its part of that in [core.filling]
	gatewayTold bool    // the ingress gateway was asked to stop it, and has not been told otherwise
	stop        request // that was sent to the gateway
	noGateway   bool    // counted as one whose gateway cannot be told
	advised     advised

	at    int64 // when it is to be read
	index int
}

// when implements timed.
func (f *congested) when() int64 { return f.at }

// place implements timed.
func (f *congested) place() *int { return &f.index }

// durationOf returns ns as a duration.
func durationOf(ns int64) time.Duration { return time.Duration(ns) }

// elapsed returns the ns between two times; 0 where the second is before the first, as those of
// two clocks may be.
func elapsed(from, to int64) uint64 { return uint64(max(to-from, 0)) }

// event takes an event of the switch.
func (c *core) event(now int64, e *sai.FlowEvent) {
	c.counters.Events++
	q, ok := c.settings.Queues[e.Queue]
	if !ok || !c.settings.Sends() {
		return // from before the configuration changed
	}
	id := flowID{e.Queue, e.Flow}
	f := c.congested.get(id)
	if f == nil {
		if e.Mark == sai.MarkLow || e.Mark == sai.MarkAlarm && q.Threshold.Average == 0 && c.settings.PPFC == nil && c.settings.Advice == nil {
			return
		}
		if f = c.add(now, id, q); f == nil {
			c.counters.FlowsFull++
			return
		}
	}
	c.learn(now, f, e)
	// The switch raises a flow below its mark where the queue has less room left than that.
	filling := e.Mark == sai.MarkHigh && e.Octets <= q.Threshold.High
	c.observe(now, f, e.Octets, filling, e.At)
}

// add returns the state of a new flow, nil above maxCongested.
func (c *core) add(now int64, id flowID, q Queue) *congested {
	if c.congested.len() >= maxCongested {
		return nil
	}
	f := c.congested.add(id)
	*f = congested{flowID: id, q: q, since: now, mute: isUnreadable}
	return f
}

// remove forgets a flow and keeps its memory for the next one.
func (c *core) remove(f *congested) {
	c.fills(f, filling{})
	c.withdraw(&f.hold)
	c.withdraw(&f.stop)
	c.due.remove(f)
	c.congested.remove(f.flowID)
}

// filling has the octets in a queue of congested flows that still arrive: they are new,
// or their neighbor cannot be asked. A flow whose neighbor was asked drains.
type filling struct {
	flows  int
	octets uint64
}

// without returns the sum less one flow's part.
func (q filling) without(one filling) filling {
	return filling{q.flows - one.flows, q.octets - one.octets}
}

// weigh adds the flow's octets to those that fill its queue.
func (c *core) weigh(f *congested) {
	if f.Congested() && !f.hold.open && !f.gatewayTold {
		c.fills(f, filling{1, f.queued()})
	} else {
		c.fills(f, filling{})
	}
}

// fills replaces the part of a flow in its queue's sum.
func (c *core) fills(f *congested, now filling) {
	if f.fills == now {
		return
	}
	q := c.filling[f.queue].without(f.fills)
	q.flows, q.octets = q.flows+now.flows, q.octets+now.octets
	f.fills = now
	if q.flows == 0 {
		delete(c.filling, f.queue)
	} else {
		c.filling[f.queue] = q
	}
}

// leaving is a flow as it leaves here: SRv6 may have changed its header since it came.
type leaving struct {
	src, dst netip.Addr
	stream   uint16 // 0: it is not IPv6
}

// learn takes from an event the port that the flow comes from, and the header that the
// neighbor sends: the outermost IP header as it arrived. Its session is that of the
// innermost RoCEv2 packet.
//
//conformance:draft-yang/addresses
func (c *core) learn(now int64, f *congested, e *sai.FlowEvent) {
	head := e.Head[:min(int(e.Length), len(e.Head))]
	a := &e.Arrival
	if len(head) == 0 || f.mute == speaks && (!a.Known || f.in == e.InPort && f.arrivedAs(c.settings.Seed, a)) {
		return
	}
	if f.hold.open && f.mute == speaks && f.to != nil && a.Known && !f.arrivedAs(c.settings.Seed, a) {
		c.cancel(now, f) // its sender has taken another label, or another path
	}
	f.in = e.InPort
	f.session, f.dscp = c.readSession(e, head)
	c.leave(f, head)
	switch {
	case !a.Known:
		f.src, f.dst = f.leaves.src, f.leaves.dst
		if f.mute = isRelabelled; !f.src.IsValid() || e.InPort == sai.Null {
			f.mute = isUnreadable
		}
		return
	case e.InPort == sai.Null:
		f.mute = isUnreadable
		return
	}
	f.src, f.dst, f.dscp = a.Src.Addr(), a.Dst.Addr(), a.TrafficClass>>2
	if f.src.Is4() {
		f.mute = isIPv4
		return
	}
	f.stream, f.mute = flow.HashStreamID(c.settings.Seed, f.src.As16(), f.dst.As16(), a.FlowLabel), speaks
	if f.Congested() && !f.hold.open {
		f.counted = false
		f.Retry() // the last signal could be sent to no neighbor
	}
}

// arrivedAs reports whether the flow is known as it arrived now.
func (f *congested) arrivedAs(seed uint32, a *sai.Arrival) bool {
	src, dst := a.Src.Addr(), a.Dst.Addr()
	return f.src == src && f.dst == dst && (src.Is4() || f.stream == flow.HashStreamID(seed, src.As16(), dst.As16(), a.FlowLabel))
}

// leave takes the outermost header as it leaves.
func (c *core) leave(f *congested, head []byte) {
	f.leaves, f.label = leaving{}, 0
	switch {
	case head[0]>>4 == 4 && len(head) >= 20:
		f.leaves = leaving{src: netip.AddrFrom4([4]byte(head[12:16])), dst: netip.AddrFrom4([4]byte(head[16:20]))}
	case head[0]>>4 == 6 && len(head) >= 40:
		src, dst := [16]byte(head[8:24]), [16]byte(head[24:40])
		f.label = binary.BigEndian.Uint32(head) & 0xfffff
		f.leaves = leaving{netip.AddrFrom16(src), netip.AddrFrom16(dst), flow.HashStreamID(c.settings.Seed, src, dst, f.label)}
	}
}

// observe takes the depth of a flow and sends the signals that result. at is the time of
// the switch's event; 0 for a depth that was read.
func (c *core) observe(now int64, f *congested, octets uint64, filling bool, at int64) {
	others := c.filling[f.queue].without(f.fills)
	seen := congestion.Seen{Octets: octets, Filling: filling, Share: congestion.Share(octets, others.octets, others.flows)}
	s := f.Observe(now, seen, &f.q.Threshold)
	if s != congestion.Nothing {
		c.tell(now, f, s, at)
	}
	c.weigh(f)
	due, ok := f.Due(&f.q.Threshold)
	if at := f.advised.at; at != 0 && (!ok || at < due) {
		due, ok = at, true
	}
	if !ok {
		c.remove(f)
		return
	}
	f.at = due
	c.due.put(f)
}

// tell sends a signal to the neighbor that the flow comes from.
//
//conformance:draft-yang/components draft-yang/upstream
func (c *core) tell(now int64, f *congested, s congestion.Signal, at int64) {
	defer c.tellSource(now, f, s, at)
	p := c.settings.members[f.in]
	if f.hold.open && f.to != p {
		if f.to.Index != 0 && (p == nil || f.to.Index != p.Index) {
			c.cancel(now, f) // it has moved to another port
		}
		f.to = p
	}
	action, us, ok := f.q.Threshold.PFCM(s)
	if !ok || s != congestion.Resume && c.forward(now, f) || !c.settings.Generate {
		return
	}
	if s == congestion.Resume {
		if f.hold.open {
			c.cancel(now, f)
		}
		return
	}
	if why := c.silence(f, p); why != nil {
		if !f.counted {
			f.counted = true
			*why++
		}
		return
	}
	// A flow that a downstream neighbor holds here waits because of that: the request for it
	// ends with that hold, and is asked again only when the neighbor has, so that holds in a
	// loop die.
	f.derivedFrom(now, c.holds(now, f), &us)
	if us == 0 || c.isRefreshed(now, f, action, us) {
		return
	}
	if !c.send.take(now) {
		c.counters.TxPoliced++
		return
	}
	f.to = p
	if p.Border && c.settings.Translate {
		c.pause(now, f, action, us)
		return
	}
	k := f.key()
	others := c.others(&f.hold, k)
	us = others.time(now, us)
	if c.message(p, f, others.action(action), us) {
		c.noteHold(now, f, k, us)
		if at != 0 && s == congestion.Stop {
			c.reaction.Add(elapsed(at, c.clock()))
		}
	}
}

// derivedFrom bounds the time of a request by a hold here, and makes it 0 where the hold
// was last refreshed before the last message.
//
//conformance:draft-yang/recursion
func (f *congested) derivedFrom(now, until int64, us *uint16) {
	if until == 0 {
		f.derived = 0
		return
	}
	if until == f.derived {
		*us = 0
		return
	}
	f.derived = until
	*us = uint16(min(int64(*us), (until-now)/int64(time.Microsecond)))
}

// silence returns the counter of the reason why a flow's neighbor cannot be notified; nil
// if it can.
func (c *core) silence(f *congested, p *port) *uint64 {
	switch {
	case f.mute == isIPv4:
		return &c.counters.IPv4
	case f.mute == isRelabelled:
		return &c.counters.Relabelled
	case f.mute == isUnreadable || p == nil:
		return &c.counters.Unreadable
	case p.Border && c.settings.Translate:
		return nil
	case !p.Notify:
		return &c.counters.Host
	case !p.reachable():
		return &c.counters.NoNeighbor
	}
	return nil
}

// isRefreshed reports whether the next refresh of a flow's request may be left to those of other flows with
// its key: one of them was sent in the last quarter of the time that it asks for. This flow's turn comes
// again after half of it, so the neighbor is asked a quarter before it would go on. What is derived from a
// hold here has no such turn, and has to be asked for to its end.
func (c *core) isRefreshed(now int64, f *congested, action notify.Action, us uint16) bool {
	r, t := &f.hold, c.asked[f.hold.key]
	if !r.open || r.key != f.key() || r.pauses != pauses(action) || t.flows == 1 {
		return false
	}
	less := us / 4
	if f.derived != 0 {
		less = 1 // what the time was rounded by
	}
	if !t.covers(now, action, us, less) {
		return false
	}
	f.until = t.until
	return true
}

// key returns the key of messages to the neighbor about a flow, as [enforce.PFCMKey] at its end of the link.
func (f *congested) key() enforce.Key {
	return enforce.Key{Kind: notify.KindPFCM, Port: f.to.Index, Queue: uint16(f.q.Number), Stream: f.stream}
}

// noteHold notes that a flow's neighbor was asked for a time (µs).
func (c *core) noteHold(now int64, f *congested, k enforce.Key, us uint16) {
	f.until = now + int64(us)*int64(time.Microsecond)
	c.ask(&f.hold, k, f.q.Threshold.Action, f.until)
}

// endHold withdraws the request for a flow, and returns the port whose neighbor is to be told that;
// nil where other flows still ask by its key, or the port has gone.
func (c *core) endHold(f *congested) *port {
	f.derived = 0
	c.withdraw(&f.hold)
	if c.asked[f.hold.key].flows > 0 || f.to == nil || c.settings.indexes[f.to.Index] == nil {
		return nil
	}
	return f.to
}

// cancel ends the request for a flow.
func (c *core) cancel(now int64, f *congested) {
	p := c.endHold(f)
	switch {
	case p == nil:
	case p.Border && c.settings.Translate:
		c.pauses.Receive(now, f.hold.key, enforce.Demand{Verb: enforce.End}, p.Index)
		c.translate(now)
	default:
		c.message(p, f, notify.Cancel, 0)
	}
}

// runOut ends the request for a flow that is as congested as before: a cancel would mean
// that there is room, and the packets that wait at the neighbor would overrun the queue.
// It is asked to hold the flow for no longer than a microsecond from now. PFC has to be
// ended.
func (c *core) runOut(now int64, f *congested) {
	action, _, ok := f.q.Threshold.PFCM(congestion.Stop)
	if !ok || f.to == nil || f.to.Border && c.settings.Translate {
		c.cancel(now, f)
	} else if p := c.endHold(f); p != nil {
		c.message(p, f, action, 1)
	}
}

// message sends a PFCM about a flow.
//
//conformance:draft-yang/signal draft-yang/addresses
func (c *core) message(p *port, f *congested, action notify.Action, us uint16) bool {
	return c.sendPFCM(p, &notify.PFCM{Encapsulation: c.settings.Encapsulation, StreamID: f.stream, QueueID: f.q.Number,
		Action: action, Time: us, Destination: f.dst, Source: f.src})
}

// sendPFCM sends a PFCM to the neighbor at a port, and reports whether it was sent.
func (c *core) sendPFCM(p *port, m *notify.PFCM) bool {
	c.pfcm = *m
	c.envelope = notify.DefaultEnvelope(notify.KindPFCM)
	c.envelope.Src, c.envelope.Dst = p.Self, p.Neighbor
	packet, err := c.pfcm.AppendPacket(c.packet[:0], &c.envelope, c.settings.Codes)
	if err == nil {
		err = c.out.Send(p.Index, p.Neighbor, packet)
	}
	if err != nil {
		c.counters.SendFailed++
		return false
	}
	c.counters.Sent++
	return true
}

// pause asks a neighbor that knows PFC only.
func (c *core) pause(now int64, f *congested, action notify.Action, us uint16) {
	k := f.key()
	others := c.others(&f.hold, k)
	us = others.time(now, us)
	if !c.pauses.Receive(now, k, enforce.OfPFCM(&notify.PFCM{Action: others.action(action), Time: us}), f.to.Index) {
		c.counters.NotTranslated++
		return
	}
	c.noteHold(now, f, k, us)
	c.translate(now)
}

// translate sends the PFC frames that are due.
//
//conformance:draft-yang/pfc
func (c *core) translate(now int64) {
	c.frames = c.pauses.Frames(c.frames[:0], now, c.speed)
	c.counters.PFCBudget = c.pauses.Exhausted
	for i := range c.frames {
		p := c.settings.indexes[c.frames[i].Port]
		if p == nil {
			continue // the port has gone
		}
		c.pfc = c.frames[i].PFC
		c.envelope = notify.Envelope{SrcMAC: p.MAC}
		frame, err := notify.AppendFrame(c.packet[:0], &c.pfc, &c.envelope, c.settings.Codes)
		if err == nil {
			err = c.out.SendFrame(p.Index, frame)
		}
		if err != nil {
			c.counters.PFCFailed++
		} else {
			c.counters.PFCSent++
		}
	}
}
