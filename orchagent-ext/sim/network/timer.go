// SPDX-License-Identifier: Apache-2.0

package network

import "sluice/orchagent-ext/sim/heap"

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
	kind uint8
	arg  int32
	more int32
}

// timers are those that are set. Those of one time fire in the order in which they were set.
type timers struct {
	due  *heap.Numbered[int64] // of slots, by time in ps
	turn uint32                // of the last one
	all  []timer               // by slot
	free []int32               // slots
}

// newTimers returns timers of which none is set.
func newTimers() timers { return timers{due: heap.New[int64](0)} }

// push adds a timer.
func (t *timers) push(e timer) {
	var slot int32
	if last := len(t.free) - 1; last >= 0 {
		slot, t.free = t.free[last], t.free[:last]
		t.all[slot] = e
	} else {
		slot = t.due.Number()
		t.all = append(t.all, e)
	}
	t.turn++
	t.due.Set(slot, e.at, t.turn)
}

// pop takes the first timer out. There is one.
func (t *timers) pop() timer {
	slot, _, _ := t.due.First()
	t.due.Remove(slot)
	t.free = append(t.free, slot)
	return t.all[slot]
}
