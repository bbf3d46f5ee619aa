// SPDX-License-Identifier: Apache-2.0

package border

import (
	"time"

	"sluice/orchagent-ext/hold/enforce"
	"sluice/orchagent-ext/hold/kernel"
	sai "sluice/sai-shim"
)

// Holds are those in force.
type Holds interface {
	Holding(t kernel.Target) bool
	Demands(all []enforce.InForce, t kernel.Target) []enforce.InForce
}

// Border has the pauses by PFC that are under way.
//
// The switch names the port that a held flow comes in by once packets of the flow wait above the mark of
// their queue; until then there is room for them, and the neighbor may go on.
type Border struct {
	k       *kernel.Kernel
	holds   Holds
	enabled bool
	pauses  *enforce.Pauses
	entries map[kernel.Target]uint32 // interface index of the border port that a held flow comes in by

	frames  []enforce.Frame   // scratch
	demands []enforce.InForce // scratch
	speed   func(port uint32) uint32
}

// New returns a border without pauses.
func New(k *kernel.Kernel, h Holds) *Border {
	b := &Border{k: k, holds: h, pauses: enforce.NewPauses(), entries: map[kernel.Target]uint32{}}
	b.speed = func(port uint32) uint32 { return k.Ports.Speed(port) }
	return b
}

// Configure enables the translation. [Border.Flush] resumes priorities where it was disabled.
func (b *Border) Configure(enabled bool) { b.enabled = enabled }

// Translates reports whether the neighbor of a port is paused by PFC; false for nil.
func (b *Border) Translates(p *kernel.Port) bool { return p != nil && p.Border && b.enabled }

// Pause asks for a pause of the neighbor at a port, and reports whether PFC has one: otherwise it counts
// that.
func (b *Border) Pause(now int64, k enforce.Key, d enforce.Demand, port uint32) bool {
	if !b.demand(now, k, d, port) {
		return false
	}
	b.Step(now)
	return true
}

// End ends the pause of a key.
func (b *Border) End(now int64, k enforce.Key) {
	b.pauses.Receive(now, k, enforce.Demand{Verb: enforce.End}, 0)
	b.Step(now)
}

// Forward translates the messages by which a congested flow is held, where it comes in by a
// border port. It reports whether there are such messages. matches are those of the flow as it leaves
// by a port.
//
//conformance:draft-yang/pfc
func (b *Border) Forward(now int64, in *kernel.Port, out sai.ObjectID, matches [2]sai.HoldMatch) (held bool) {
	if !b.Translates(in) {
		return false
	}
	for _, match := range matches {
		t := kernel.Target{Port: out, Match: match}
		if !b.holds.Holding(t) {
			continue
		}
		held = true
		// messages about pairs are not relayed as they come
		if b.entries[t] != in.Index || match.Kind != sai.HoldStream {
			b.entries[t] = in.Index
			b.pause(now, t, in.Index)
		}
	}
	if held {
		b.Step(now)
	}
	return held
}

// Relay passes a message on that has changed the holds of packets that leave by a port, to the border
// ports by which their flows come in.
func (b *Border) Relay(now int64, k enforce.Key, outcome enforce.Outcome, out *kernel.Port, match sai.HoldMatch) {
	switch outcome {
	case enforce.Ended:
		b.pauses.Receive(now, k, enforce.Demand{Verb: enforce.End}, 0)
	case enforce.Held, enforce.Refreshed:
		for _, member := range out.Members {
			t := kernel.Target{Port: member, Match: match}
			if entry := b.entries[t]; entry != 0 {
				b.pause(now, t, entry)
			}
		}
	default:
		return
	}
	b.Step(now)
}

// Released implements the interface of package holder: a flow is no longer held.
func (b *Border) Released(t kernel.Target) { delete(b.entries, t) }

// pause asks for PFC for as long as each message holds a target.
//
//conformance:draft-yang/pfc-queue draft-yang/pfc-quanta
func (b *Border) pause(now int64, t kernel.Target, port uint32) {
	b.demands = b.holds.Demands(b.demands[:0], t)
	for i := range b.demands {
		if d := &b.demands[i]; d.Until > now {
			b.demand(now, d.Key, enforce.Demand{Verb: enforce.Limit, Keep: d.Keep, For: time.Duration(d.Until - now)}, port)
		}
	}
}

// demand passes a demand to the pauses, and counts one that PFC cannot express.
func (b *Border) demand(now int64, k enforce.Key, d enforce.Demand, port uint32) bool {
	if b.pauses.Receive(now, k, d, port) {
		return true
	}
	b.k.Counters.NotTranslated++
	return false
}

// Flush ends all pauses where the translation is disabled, and sends the frames that are due.
func (b *Border) Flush(now int64) {
	if !b.enabled {
		b.pauses.Clear()
	}
	b.Step(now)
}

// Next returns when [Border.Step] has work, or at if that is earlier; ns.
func (b *Border) Next(at int64) int64 {
	if due, ok := b.pauses.Next(); ok {
		at = min(at, due)
	}
	return at
}

// Step sends the PFC frames that are due.
//
//conformance:draft-yang/pfc
func (b *Border) Step(now int64) {
	b.frames = b.pauses.Frames(b.frames[:0], now, b.speed)
	b.k.Counters.PFCBudget = b.pauses.Exhausted
	for i := range b.frames {
		if p := b.k.Ports.ByIndex(b.frames[i].Port); p != nil {
			b.k.Out.PFC(p, &b.frames[i].PFC)
		}
	}
}
