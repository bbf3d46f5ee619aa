// SPDX-License-Identifier: Apache-2.0

package requests

import (
	"time"

	"sluice/orchagent-ext/hold/enforce"
	"sluice/orchagent-ext/wire/notify"
)

// Request is a flow's last message to another node that asks for a hold, until it is withdrawn.
type Request struct {
	open   bool
	pauses bool // it asks for a pause, not for a reduction
	key    enforce.Key
}

// Open reports whether the flow has asked, and has not withdrawn that.
func (r *Request) Open() bool { return r.open }

// Key returns the key of the last message, also of one that was withdrawn.
func (r *Request) Key() enforce.Key { return r.key }

// Repeats reports whether a message with a key and an action would ask for the same again.
func (r *Request) Repeats(k enforce.Key, a notify.Action) bool {
	return r.open && r.key == k && r.pauses == isPause(a)
}

// isPause reports whether an action is a pause.
func isPause(a notify.Action) bool { return a.Type() == notify.PauseFlow }

// Sum sums up the requests of one key. Their flows are one flow to the other node: a Stream ID is
// that of all flows of two hosts without labels, and others may share it by chance; a session that was
// given another label fills a queue as two flows. Each message replaces the one before with its key. So
// it asks for as much as the strictest request and for as long as the longest, and only the last flow
// cancels.
type Sum struct {
	Flows  int
	pauses int           // of Flows: those that ask for a pause
	Until  int64         // as far as was asked, ns; in the past where it is unknown whether that arrived
	last   notify.Action // of the last message
}

// without returns the sum less one flow's part.
func (s Sum) without(r *Request) Sum {
	if s.Flows--; r.pauses {
		s.pauses--
	}
	return s
}

// Time returns the time of a message (µs) that replaces those of the sum.
func (s Sum) Time(now int64, us uint16) uint16 {
	if s.Flows == 0 {
		return us
	}
	return uint16(max(int64(us), (s.Until-now)/int64(time.Microsecond)))
}

// Action returns the action of a message that replaces those of the sum. Of two reductions the newer one
// counts.
func (s Sum) Action(a notify.Action) notify.Action {
	if s.pauses > 0 {
		return notify.Pause
	}
	return a
}

// Covers reports whether a message (its time in µs) would repeat an earlier one of its key, less the
// last µs of its time.
func (s Sum) Covers(now int64, a notify.Action, us, less uint16) bool {
	return s.Action(a) == s.last && s.Until >= now+int64(us-less)*int64(time.Microsecond)
}

// Table has the sums of requests, by the keys by which other nodes know flows.
type Table struct{ sums map[enforce.Key]Sum }

// New returns an empty table with room for so many keys.
func New(room int) Table { return Table{make(map[enforce.Key]Sum, room)} }

// Of returns the sum of a key, the zero value without requests.
func (t *Table) Of(k enforce.Key) Sum { return t.sums[k] }

// Len returns the number of keys with a request.
func (t *Table) Len() int { return len(t.sums) }

// Others returns the sum of other flows by the key of a flow's next message.
func (t *Table) Others(r *Request, k enforce.Key) Sum {
	s := t.sums[k]
	if r.open && r.key == k {
		s = s.without(r)
	}
	return s
}

// Add records a message by which a flow asks for an action until a time (ns).
func (t *Table) Add(r *Request, k enforce.Key, a notify.Action, until int64) {
	s := t.Others(r, k)
	s.last = s.Action(a)
	if t.Withdraw(r); s.Flows > 0 {
		until = max(until, s.Until)
	}
	*r = Request{open: true, pauses: isPause(a), key: k}
	s.Flows++
	if r.pauses {
		s.pauses++
	}
	s.Until = until
	t.sums[k] = s
}

// AssumeLost records that the messages by the key of a flow's request may have been lost.
func (t *Table) AssumeLost(r *Request) {
	if s, ok := t.sums[r.key]; ok && r.open {
		s.Until = 0
		t.sums[r.key] = s
	}
}

// Withdraw takes a flow's part away, if it has one. Others may still ask by its key: see [Table.Of].
func (t *Table) Withdraw(r *Request) {
	if !r.open {
		return
	}
	r.open = false
	if s := t.sums[r.key].without(r); s.Flows > 0 {
		t.sums[r.key] = s
	} else {
		delete(t.sums, r.key)
	}
}
