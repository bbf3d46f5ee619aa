// SPDX-License-Identifier: Apache-2.0

package statistics

import (
	"slices"
	"time"
)

// Object is a port, or one of its egress queues.
type Object struct {
	Port  string
	Queue int // number; Itself: the object is the port
}

// Itself is the Queue of an [Object] that is a port.
const Itself = -1

// Port is a row of PORT.
type Port struct {
	Name       string
	Role       string // that it faces, as the model has it; "": unknown
	AdminUp    bool
	Configured bool    // it has a row of SLUICE_PORT
	Threshold  bool    // some of its queues have a threshold
	Queues     []uint8 // numbers of these; empty: all
}

// watched reports whether a queue of the port has a threshold.
func (p *Port) watched(queue int) bool {
	return p.Threshold && (len(p.Queues) == 0 || slices.Contains(p.Queues, uint8(queue)))
}

// Limits of one round, for the objects that are read in turn.
const (
	turnCalls = 1000
	turnTime  = 200 * time.Millisecond
)

// plan is the order in which objects are read: in each round all of often, and then of others
// as many as the limits allow, where the round before ended.
type plan struct {
	often, others []Object
	next          int // of others

	read  int // of often, in this round
	left  int // of others, in this round
	calls int // that others may still take in this round
}

// begin begins a round. queues is the number of egress queues of ports.
func (p *plan) begin(ports []Port, queues map[string]int) {
	p.often, p.others, p.read, p.calls = p.often[:0], p.others[:0], 0, turnCalls
	add := func(often bool, o Object) {
		if often {
			p.often = append(p.often, o)
		} else {
			p.others = append(p.others, o)
		}
	}
	for _, port := range ports {
		add(port.Configured, Object{port.Name, Itself})
	}
	for k := range ports {
		port := &ports[k]
		for i := range queues[port.Name] {
			add(port.watched(i), Object{port.Name, i})
		}
	}
	p.left = len(p.others)
	if p.next >= len(p.others) {
		p.next = 0
	}
}

// batch returns what the next call reads: objects of one kind, as many as most allows; nil: the
// round is over. spent is how long the round has lasted. One batch of others belongs to each
// round.
func (p *plan) batch(most func(ports bool) int, spent time.Duration) []Object {
	if p.read < len(p.often) {
		b := head(p.often[p.read:], most)
		p.read += len(b)
		return b
	}
	if p.left == 0 || p.calls == 0 || spent > turnTime && p.calls < turnCalls {
		return nil
	}
	b := head(p.others[p.next:min(p.next+p.left, len(p.others))], most)
	p.left, p.calls = p.left-len(b), p.calls-1
	p.next = (p.next + len(b)) % len(p.others)
	return b
}

// head returns the first objects that are of one kind.
func head(all []Object, most func(ports bool) int) []Object {
	ports := all[0].Queue == Itself
	n := slices.IndexFunc(all, func(o Object) bool { return (o.Queue == Itself) != ports })
	if n < 0 {
		n = len(all)
	}
	return all[:min(n, max(most(ports), 1))]
}
