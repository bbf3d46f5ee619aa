// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"time"

	"sluice/orchagent-ext/hold/enforce"
	"sluice/orchagent-ext/wire/notify"
)

// request is a flow's last message to another node that asks for something, until it is withdrawn.
type request struct {
	open   bool
	pauses bool // it asks for a pause, not for a reduction
	key    enforce.Key
}

// pauses reports whether an action is a pause.
func pauses(a notify.Action) bool { return a.Type() == notify.PauseFlow }

// together sums up the requests of one key. Their flows are one flow to the other node: a Stream ID is
// that of all flows of two hosts without labels, and others may share it by chance; a session that was
// given another label fills a queue as two flows. Each message replaces the one before with its key. So
// it asks for as much as the strictest request and for as long as the longest, and only the last flow
// cancels.
type together struct {
	flows  int
	pauses int           // of flows: those that ask for a pause
	until  int64         // as far as was asked, ns; in the past where it is not known whether that arrived
	last   notify.Action // of the last message to a neighbor
}

// others returns the requests of other flows by the key of a flow's next message.
func (c *core) others(r *request, k enforce.Key) together {
	t := c.asked[k]
	if r.open && r.key == k {
		t = t.without(r)
	}
	return t
}

// without returns t less one flow's part.
func (t together) without(r *request) together {
	if t.flows--; r.pauses {
		t.pauses--
	}
	return t
}

// time returns the time of a message (µs) that replaces those of t.
func (t together) time(now int64, us uint16) uint16 {
	if t.flows == 0 {
		return us
	}
	return uint16(max(int64(us), (t.until-now)/int64(time.Microsecond)))
}

// action returns the action of a message that replaces those of t. Of two reductions the newer one
// counts.
func (t together) action(a notify.Action) notify.Action {
	if t.pauses > 0 {
		return notify.Pause
	}
	return a
}

// covers reports whether a message to a neighbor (its time in µs) would repeat what was asked by its
// key, less the last of its time (µs).
func (t together) covers(now int64, a notify.Action, us, less uint16) bool {
	return t.action(a) == t.last && t.until >= now+int64(us-less)*int64(time.Microsecond)
}

// ask notes a message by which a flow asks for an action until a time (ns).
func (c *core) ask(r *request, k enforce.Key, a notify.Action, until int64) {
	t := c.others(r, k)
	t.last = t.action(a)
	if c.withdraw(r); t.flows > 0 {
		until = max(until, t.until)
	}
	*r = request{open: true, pauses: pauses(a), key: k}
	t.flows++
	if r.pauses {
		t.pauses++
	}
	t.until = until
	c.asked[k] = t
}

// unsure notes that it is not known whether the messages by the key of a flow's request arrived.
func (c *core) unsure(r *request) {
	if t, ok := c.asked[r.key]; ok && r.open {
		t.until = 0
		c.asked[r.key] = t
	}
}

// withdraw takes a flow's part away, if it has one. Others may have asked by its key: see [core.asked].
func (c *core) withdraw(r *request) {
	if !r.open {
		return
	}
	r.open = false
	if t := c.asked[r.key].without(r); t.flows > 0 {
		c.asked[r.key] = t
	} else {
		delete(c.asked, r.key)
	}
}
