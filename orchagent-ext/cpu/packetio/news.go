// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"net/netip"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/roce"
)

// Pair is a session with the queue pair that sends it.
type Pair struct {
	Src, Dst      netip.Addr
	DestQP, SrcQP uint32 // SrcQP 0: unknown

	// Of the packet that reported it; SrcPort is 0 for a packet of another flow.
	SrcPort, PKey uint16
	DSCP, Bits    uint8 // Bits of BTH octet 4, the low 6

	// Of the same packet, where [Config.Seen] is set: its path, its ports as the source numbers
	// them (0: not known), and the octets on the wire of the flow since the report before.
	PathSrc, PathDst netip.Addr
	Label            uint32
	From, To         uint64
	Octets           uint64
	Samples          uint32 // that they are estimated from; 0: they are counted

	// CNP: it is a CNP, of [Config.Watched] alone. DestQP is the queue pair that sends the flow
	// from Dst to Src.
	CNP bool

	// At is when the switch had it, ns since 1970; of sources that do not report that, when the
	// CPU had it. It is 0 where Config.Seen is.
	At int64
}

// learned reports a flow at its first, second, fourth, eighth… packet, with its source queue
// pair, 0 if that is not known by then; with [Config.Seen] each seenEvery. In a tunnel the
// addresses are those of the session.
func (r *Reader) learned(p *roce.Packet, f *flow.Flow, frame *Frame) {
	qp, _ := r.table.SrcQP(f)
	if r.seen == nil && f.Packets&(f.Packets-1) != 0 {
		return
	}
	l := pairOf(p, f, qp)
	l.From, l.To = frame.From, frame.To
	if r.seen != nil {
		if l.At = frame.At; l.At == 0 {
			l.At = r.now
		}
		at := &r.seen[f.Slot()]
		if f.Packets == 1 {
			*at = lately{} // another flow had the slot
		} else if since := l.At - at.at; since >= 0 && since < seenEvery { // a clock that was set back starts again
			return
		}
		l.PathSrc, l.PathDst, l.Label = f.SrcAddr(), f.DstAddr(), f.FlowLabel
		l.Octets = (f.Bytes - at.octets) * uint64(r.config.Seen)
		if r.config.Seen > 1 {
			l.Samples = uint32(f.Packets - at.packets)
		}
		*at = lately{l.At, f.Bytes, f.Packets}
	}
	r.config.Learned(l)
}

// pairOf returns the session of a packet, of a flow that the queue pair sends.
func pairOf(p *roce.Packet, f *flow.Flow, srcQP uint32) Pair {
	bth := p.BTH()
	return Pair{Src: f.SessionSrc(), Dst: f.SessionDst(), DestQP: f.DestQP, SrcQP: srcQP, SrcPort: p.SrcPort(), PKey: bth.PKey, DSCP: p.TrafficClass() >> 2, Bits: bth.Resv6}
}

// watched reports a packet, with its own octets.
func (r *Reader) watched(p *roce.Packet, f *flow.Flow, frame *Frame) {
	cnp := p.Opcode() == roce.CNP
	if p.Fragment() || frame.Why == Copied && !cnp { // copies are left out of samples
		return
	}
	qp, _ := r.table.SrcQP(f)
	l := pairOf(p, f, qp)
	l.CNP = cnp
	l.PathSrc, l.PathDst, l.Label, l.From, l.To, l.Octets = p.PathSrc(), p.PathDst(), p.FlowLabel(), frame.From, frame.To, uint64(p.Len())
	r.config.Watched(l)
}

// lately is when a flow was reported last, ns, and its octets and packets by then.
type lately struct {
	at              int64
	octets, packets uint64
}

// seenEvery is the least time between two reports of a flow, ns.
const seenEvery = 20e6

// NewFlow reports that a flow without a label came in, with the label that it is pinned
// to, and its ports, as the source numbers them. It is repeated when the ports change.
type NewFlow struct {
	Src, Dst netip.Addr
	DestQP   uint32
	Label    uint32
	From, To uint64 // 0: unknown
	Times    uint32 // that it was seen lately, 2 or more
	SrcPort  uint16 // UDP
}

// roceManagement is the last of the queue pairs that are for management (IBTA vol. 1,
// section 3.9.4): 0 and 1.
const roceManagement = 1

// ports of a flow, as the source numbers them; 0: unknown.
type ports struct{ from, to uint64 }

// seen returns the ports after a packet, which keeps those that its frame lacks.
func (p ports) seen(f *Frame) ports {
	if f.From != 0 {
		p.from = f.From
	}
	if f.To != 0 {
		p.to = f.To
	}
	return p
}

// observed reports the packet's flow at its second packet, and when its ports change. In
// case the report was lost or the entry failed, it repeats it at every fourth, eighth,
// sixteenth… packet, and after a quarter of a second.
func (r *Reader) observed(i int, f *flow.Flow) {
	p, frame := &r.packets[i], &r.frames[r.from[i]]
	if r.meter != nil {
		r.account(p, f, frame)
	}
	if r.health != nil || r.times != nil {
		qp, from := r.table.SrcQP(f)
		if r.health != nil {
			r.health.observe(p, f, frame, qp, from, r.now)
		}
		if r.times != nil {
			r.times.observe(p, f, frame, qp)
		}
	}
	if r.config.Learned != nil {
		r.learned(p, f, frame)
	}
	if r.config.Watched != nil {
		r.watched(p, f, frame)
	}
	if p.Tunnelled() {
		r.tunnelled.Add(1)
		return
	}
	if !r.config.Labels || p.Is4() || p.Fragment() || !r.config.Computed && r.config.ZeroOnly && f.FlowLabel != 0 {
		return
	}
	if r.config.Computed && !r.computed(p, f) {
		return
	}
	if p.Opcode().Service() == roce.ServiceUD {
		// An entry of the switch matches without the source queue pair of the DETH, by which datagrams
		// to one queue pair differ: they stay at their label.
		if f.DestQP > roceManagement {
			r.datagrams.Add(1)
		}
		return
	}
	at := &r.ports[f.Slot()]
	if f.Packets == 1 {
		*at = ports{} // another flow had the slot
	}
	now := at.seen(frame)
	times, tell := r.probation.See(&f.Key, r.now)
	if times < 2 {
		r.once.Add(1)
		return
	}
	if moved := *at != (ports{}) && now != *at; !tell && !moved {
		return
	}
	var label uint32
	if r.config.ZeroSrcQP || r.config.Computed {
		label = f.Label(r.config.Algorithm, 0)
	} else {
		label = r.table.Label(f, r.config.Algorithm)
	}
	select {
	case r.news <- NewFlow{f.SrcAddr(), f.DstAddr(), f.DestQP, label, now.from, now.to, times, p.SrcPort()}:
		r.told.Add(1)
		*at = now
	default:
		r.full.Add(1)
	}
}

// computed reports whether the label of a packet is the one that the switch computes, or
// one that it overwrites: else the packet has its sender's own, or that of its entry.
// Datagrams have a label for each sender's queue pair, which entries cannot distinguish.
func (r *Reader) computed(p *roce.Packet, f *flow.Flow) bool {
	if p.Opcode().Service() == roce.ServiceUD {
		return false
	}
	label := p.FlowLabel()
	return !r.config.ZeroOnly || label == 0 || label == f.Label(r.config.Algorithm, 0)
}
