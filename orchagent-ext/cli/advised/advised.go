// SPDX-License-Identifier: Apache-2.0

// Package advised keeps the Rate Advice (draft-zz) that a sender received, and
// computes the rate of each of its queue pairs: the lowest advice in force. CNPs
// come first: while they come, advice only lowers the rate. It is
// pure: the caller passes the time. `sluice advise listen` and the model of an
// adapter call it.
package advised

import (
	"net/netip"
	"time"

	"sluice/orchagent-ext/host/clock"
)

// QueuePair is one of the sender's own.
type QueuePair struct {
	Host netip.Addr // the sender
	QP   uint32     // 24 bits
}

// Source is who advised, and about which receiver.
type Source struct {
	Node netip.Addr // IP source of the message
	QP   uint32     // of the receiver, 24 bits
}

// Rate is the rate in force for a queue pair.
type Rate struct {
	QueuePair
	Mbps  uint32 // 0: unadvised holds, the sender is free
	Until int64  // when this changes unless advice or a CNP comes, ns
	By    Source // of the lowest rate
	CNP   bool   // a CNP came within the lifetime of an advice: the rate stays or falls meanwhile
}

// Bounds of the memory that a flood of advice can take.
const (
	MaxQueuePairs = 1 << 16
	MaxSources    = 16 // of one queue pair
)

// Table has the advice of all queue pairs. Times are nanoseconds on any one clock.
// It belongs to one goroutine.
type Table struct {
	lifetime time.Duration
	pairs    map[QueuePair]*pair
	ends     clock.Heap[*pair]

	Full uint64 // advice that lacked room
}

// pair is a queue pair with the advice of all its sources.
type pair struct {
	rate   Rate
	advice []advice // one a source
	cnp    int64    // until when the last CNP counts, ns; 0: none does
	place  int      // in ends
}

// When implements [clock.Timed].
func (p *pair) When() int64 { return p.rate.Until }

// Place implements [clock.Timed].
func (p *pair) Place() *int { return &p.place }

// advice is the last advice of one source: a rate in Mbit/s until a time in ns.
type advice struct {
	by    Source
	mbps  uint32
	until int64
}

// New returns an empty table. A receiver cannot see the interval of an advice: a
// lifetime holds for all.
func New(lifetime time.Duration) *Table {
	return &Table{lifetime: lifetime, pairs: map[QueuePair]*pair{}}
}

// Take takes an advice at now, and returns the rate in force from now on. changed
// reports whether the rate or its source differs from before; a refresh leaves
// both. Of one source the newest advice counts.
//
//conformance:draft-zz/sender
func (t *Table) Take(now int64, of QueuePair, by Source, mbps uint32) (rate Rate, changed bool) {
	p := t.pair(of)
	if p == nil {
		return Rate{QueuePair: of}, false
	}
	p.drop(now)
	at := -1
	for i := range p.advice {
		if p.advice[i].by == by {
			at = i
		}
	}
	if at < 0 {
		if len(p.advice) == MaxSources {
			t.Full++
			return p.rate, false
		}
		at = len(p.advice)
		p.advice = append(p.advice, advice{by: by})
	}
	p.advice[at].mbps, p.advice[at].until = mbps, now+int64(t.lifetime)
	return t.settle(now, p)
}

// Congested takes a CNP to a queue pair at now, and returns the rate in force from now on: for the lifetime
// of an advice it stays or falls. changed is as [Table.Take] has it, and true at the first CNP of several.
//
// Decision: draft-zz section 3.1 has senders respond to CNP first, and gradually to advice; how is open.
// The cut is DCQCN's, in the adapter; an advice that rises just then would undo it.
//
//conformance:draft-zz/cnp-first
func (t *Table) Congested(now int64, of QueuePair) (rate Rate, changed bool) {
	p := t.pair(of)
	if p == nil {
		return Rate{QueuePair: of}, false
	}
	p.drop(now)
	p.cnp = now + int64(t.lifetime)
	return t.settle(now, p)
}

// pair returns a queue pair, which it adds where there is room; nil: there is none.
func (t *Table) pair(of QueuePair) *pair {
	p := t.pairs[of]
	if p != nil {
		return p
	}
	if len(t.pairs) == MaxQueuePairs {
		t.Full++
		return nil
	}
	p = &pair{rate: Rate{QueuePair: of}}
	t.pairs[of] = p
	t.ends.Put(p)
	return p
}

// Expire removes advice and CNPs that expired by now, and returns the rates that changed
// by that.
func (t *Table) Expire(now int64) (changes []Rate) {
	for p, ok := t.ends.First(); ok && p.rate.Until <= now; p, ok = t.ends.First() {
		p.drop(now)
		if rate, changed := t.settle(now, p); changed {
			changes = append(changes, rate)
		}
	}
	return changes
}

// Next returns when Expire is to be called; ok is false while there is neither advice nor a CNP.
func (t *Table) Next() (at int64, ok bool) {
	p, ok := t.ends.First()
	if !ok {
		return 0, false
	}
	return p.rate.Until, true
}

// drop removes the advice that has expired.
func (p *pair) drop(now int64) {
	kept := p.advice[:0]
	for _, a := range p.advice {
		if a.until > now {
			kept = append(kept, a)
		}
	}
	p.advice = kept
}

// settle computes the rate of a queue pair from now on, and forgets a pair without advice and CNP.
func (t *Table) settle(now int64, p *pair) (Rate, bool) {
	was := p.rate
	p.rate = Rate{QueuePair: was.QueuePair}
	for _, a := range p.advice {
		if p.rate.Mbps == 0 || a.mbps < p.rate.Mbps {
			p.rate.Mbps, p.rate.By = a.mbps, a.by
		}
		p.rate.endBy(a.until)
	}
	if p.cnp > now {
		p.rate.CNP = true
		p.rate.endBy(p.cnp)
		held := was.Mbps != 0 && (was.CNP || was.Until > now) // otherwise it expired before the CNP
		if held && (p.rate.Mbps == 0 || p.rate.Mbps > was.Mbps) {
			p.rate.Mbps, p.rate.By = was.Mbps, was.By
		}
	}
	if len(p.advice) == 0 && !p.rate.CNP {
		delete(t.pairs, was.QueuePair)
		t.ends.Remove(p)
	} else {
		t.ends.Put(p)
	}
	return p.rate, p.rate.Mbps != was.Mbps || p.rate.By != was.By || p.rate.CNP != was.CNP
}

// endBy has a rate end by a time at the latest.
func (r *Rate) endBy(at int64) {
	if r.Until == 0 || at < r.Until {
		r.Until = at
	}
}
