// SPDX-License-Identifier: Apache-2.0

package network

// Kinds of timers.
const (
	timerCaller  uint8 = iota // of the caller
	timerHost                 // a paced queue pair of the host may send
	timerTimeout              // of a queue pair
	timerCNP                  // a CNP arrives at the sender of a queue pair
	timerPause                // a PFC frame arrives at the sender of a link
	timerResume
	timerSignal // a watched flow is due
	timerPFCM   // a PFCM arrives at a switch, or holds of it end
	timerExpire
	timerAdvise // rates are advised
	timerAdvice // advice arrives at a sender
	timerSource // a PFCM arrives at the switch that serves a sender
	timerSteer  // that switch may have a CNP to send
	timerRead   // depths of queues are read
)

// timer is one event of something other than a link.
type timer struct {
	at   int64
	seq  uint32 // timers of one time fire in the order in which they were set
	kind uint8
	arg  int32
	more int32
}

// timers is a heap of timers.
type timers struct {
	heap []timer
	seq  uint32
}

// before is the order of timers.
func (t *timer) before(u *timer) bool {
	return t.at < u.at || t.at == u.at && int32(t.seq-u.seq) < 0
}

// push adds a timer.
func (t *timers) push(e timer) {
	t.seq++
	e.seq = t.seq
	t.heap = append(t.heap, e)
	i := len(t.heap) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&t.heap[parent]) {
			break
		}
		t.heap[i] = t.heap[parent]
		i = parent
	}
	t.heap[i] = e
}

// pop takes the first timer out. There is one.
func (t *timers) pop() timer {
	first, last := t.heap[0], t.heap[len(t.heap)-1]
	h := t.heap[:len(t.heap)-1]
	t.heap = h
	if len(h) == 0 {
		return first
	}
	i := 0
	for {
		c := 4*i + 1
		if c >= len(h) {
			break
		}
		least := c
		for d := c + 1; d < min(c+4, len(h)); d++ {
			if h[d].before(&h[least]) {
				least = d
			}
		}
		if !h[least].before(&last) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = last
	return first
}
