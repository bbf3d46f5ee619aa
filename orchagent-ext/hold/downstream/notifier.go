// SPDX-License-Identifier: Apache-2.0

package downstream

import (
	"net/netip"
	"time"

	"sluice/orchagent-ext/flows/histogram"
	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/hold/enforce"
	"sluice/orchagent-ext/hold/kernel"
	"sluice/orchagent-ext/hold/requests"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

// Holds are those in force here.
type Holds interface {
	Hold(t kernel.Target) enforce.Hold
}

// Border pauses neighbors by PFC.
type Border interface {
	Translates(p *kernel.Port) bool
	Forward(now int64, in *kernel.Port, out sai.ObjectID, matches [2]sai.HoldMatch) (held bool)
	Pause(now int64, k enforce.Key, d enforce.Demand, port uint32) bool
	End(now int64, k enforce.Key)
}

// Request is the state of a flow towards its upstream neighbor. The zero value is a flow before its
// first signal.
type Request struct {
	request requests.Request
	to      *kernel.Port // of the neighbor that got the last message
	until   int64        // as far as that asked, ns
	derived int64        // end of the hold here that it was derived from; 0: from none
	counted bool         // as a flow whose neighbor cannot be notified
}

// Open reports whether the neighbor was asked to hold the flow, and that was not ended.
func (r *Request) Open() bool { return r.request.Open() }

// State returns the neighbor and until when it was asked, ns; the zero values where it was not.
func (r *Request) State() (to netip.Addr, until int64) {
	if !r.Open() {
		return to, 0
	}
	return r.to.Neighbor, r.until
}

// Recount has the reason counted again why the neighbor cannot be notified.
func (r *Request) Recount() { r.counted = false }

// Notifier asks upstream neighbors to hold flows.
type Notifier struct {
	k        *kernel.Kernel
	holds    Holds
	border   Border
	enabled  bool
	requests requests.Table

	Reaction histogram.Fine // ns from a mark passed to the PFCM sent
}

// New returns a notifier with room for so many flows, disabled.
func New(k *kernel.Kernel, h Holds, b Border, room int) *Notifier {
	return &Notifier{k: k, holds: h, border: b, requests: requests.New(room)}
}

// Configure enables or disables requests. Those that are open are ended by [Notifier.RunOut] before.
func (n *Notifier) Configure(enabled bool) { n.enabled = enabled }

// Open returns the number of keys by which neighbors are asked.
func (n *Notifier) Open() int { return n.requests.Len() }

// Signal notifies the neighbor that a flow comes from. at is the time of the switch's event; 0 for a
// depth that was read.
//
//conformance:draft-yang/components draft-yang/upstream
func (n *Notifier) Signal(now int64, f *kernel.Flow, r *Request, s congestion.Signal, at int64) {
	p := n.k.Ports.Of(f.In)
	if r.Open() && r.to != p {
		if r.to.Index != 0 && (p == nil || r.to.Index != p.Index) {
			n.Cancel(now, f, r) // it has moved to another port
		}
		r.to = p
	}
	action, us, ok := f.Queue.Threshold.PFCM(s)
	if !ok || s != congestion.Resume && n.border.Forward(now, p, f.Queue.Port, f.Matches()) || !n.enabled {
		return
	}
	if s == congestion.Resume {
		if r.Open() {
			n.Cancel(now, f, r)
		}
		return
	}
	if why := n.obstacle(f, p); why != nil {
		kernel.CountOnce(&r.counted, why)
		return
	}
	if us = r.deriveFrom(now, n.holdsUntil(now, f), us); us == 0 || n.isRefreshed(now, f, r, action, us) || !n.k.Out.AllowPFCM(now) {
		return
	}
	r.to = p
	if n.ask(now, f, r, action, us) && at != 0 && s == congestion.Stop && !n.border.Translates(p) {
		n.Reaction.Add(kernel.Elapsed(at, n.k.Clock()))
	}
}

// ask asks the neighbor for a time (µs), and as long as other flows ask by the same key. It reports
// whether the message was sent.
func (n *Notifier) ask(now int64, f *kernel.Flow, r *Request, action notify.Action, us uint16) (sent bool) {
	k := r.key(f)
	others := n.requests.Others(&r.request, k)
	all := others.Action(action)
	us = others.Time(now, us)
	if n.border.Translates(r.to) {
		sent = n.border.Pause(now, k, enforce.OfPFCM(&notify.PFCM{Action: all, Time: us}), r.to.Index)
	} else {
		sent = n.send(r.to, f, all, us)
	}
	if sent {
		r.until = now + int64(us)*int64(time.Microsecond)
		n.requests.Add(&r.request, k, f.Queue.Threshold.Action, r.until)
	}
	return sent
}

// Reached reports whether a flow is to be asked for again in a new configuration: its neighbor can be
// notified, and it was not asked, or could not be reached by the ports before. What was asked then may
// be lost.
func (n *Notifier) Reached(f *kernel.Flow, r *Request, before *kernel.Ports) bool {
	was := before.Of(f.In)
	if !n.enabled || n.obstacle(f, n.k.Ports.Of(f.In)) != nil || r.Open() && was != nil && was.Reachable() {
		return false
	}
	r.counted = false
	n.requests.AssumeLost(&r.request)
	return true
}

// Cancel ends the request for a flow: there is room for it.
func (n *Notifier) Cancel(now int64, f *kernel.Flow, r *Request) {
	p := n.withdraw(r)
	switch {
	case p == nil:
	case n.border.Translates(p):
		n.border.End(now, r.request.Key())
	default:
		n.send(p, f, notify.Cancel, 0)
	}
}

// RunOut ends the request for a flow that is as congested as before: a cancel would mean
// that there is room, and the packets that wait at the neighbor would overrun the queue.
// It is asked to hold the flow for no longer than a microsecond from now. PFC has to be
// ended.
func (n *Notifier) RunOut(now int64, f *kernel.Flow, r *Request) {
	action, _, ok := f.Queue.Threshold.PFCM(congestion.Stop)
	if !ok || r.to == nil || n.border.Translates(r.to) {
		n.Cancel(now, f, r)
	} else if p := n.withdraw(r); p != nil {
		n.send(p, f, action, 1)
	}
}

// Forget withdraws the request of a flow without a message.
func (n *Notifier) Forget(r *Request) { n.requests.Withdraw(&r.request) }

// withdraw withdraws the request for a flow, and returns the port whose neighbor is to be notified of
// that; nil where other flows still ask by its key, or the port has gone.
func (n *Notifier) withdraw(r *Request) *kernel.Port {
	r.derived = 0
	n.requests.Withdraw(&r.request)
	if n.requests.Of(r.request.Key()).Flows > 0 || r.to == nil || n.k.Ports.ByIndex(r.to.Index) == nil {
		return nil
	}
	return r.to
}

// send sends a PFCM about a flow.
//
//conformance:draft-yang/signal draft-yang/addresses draft-yang/queue-id
func (n *Notifier) send(p *kernel.Port, f *kernel.Flow, action notify.Action, us uint16) bool {
	return n.k.Out.PFCM(p, notify.PFCM{StreamID: f.Stream, QueueID: f.Queue.Number, Action: action, Time: us, Destination: f.Dst, Source: f.Src})
}

// key returns the key of messages to the neighbor about a flow, as [enforce.PFCMKey] at its end of the link.
func (r *Request) key(f *kernel.Flow) enforce.Key {
	return enforce.Key{Kind: notify.KindPFCM, Port: r.to.Index, Queue: uint16(f.Queue.Number), Stream: f.Stream, Source: f.Src, Destination: f.Dst}
}
