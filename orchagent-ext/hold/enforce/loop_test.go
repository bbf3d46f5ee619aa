// SPDX-License-Identifier: Apache-2.0

package enforce

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/wire/notify"
)

// A loop is two nodes in steps of 1 µs: flows come to the upstream node, which sends
// them over a link to the downstream node, where they share an egress port that is too
// slow for them. The downstream node watches each flow (congestion), its PFCMs take some
// time to be heard and obeyed (enforce), and the upstream node keeps what it holds.
type loop struct {
	threshold congestion.Threshold
	delay     int64 // µs from a mark passed to the flow held, the link's own delay included
	port      float64
	offered   []float64 // octets/µs by flow
	link      []float64 // octets/µs that the link takes of a flow: it can catch up

	flows []congestion.Flow
	table *Table[int]
	held  []float64 // octets held upstream
	queue []float64 // octets in the downstream queue
	mail  []letter
	out   []float64 // octets through the port
	lossy bool      // every other message about a flow is lost
	said  []int     // messages by flow
}

type letter struct {
	at int64 // µs
	k  Key
	d  Demand
	of int
}

func (l *loop) step(now int64) {
	for len(l.mail) > 0 && l.mail[0].at <= now {
		m := l.mail[0]
		l.mail = l.mail[1:]
		l.table.Receive(nil, now*us, m.k, m.d, []Target[int]{{Flow: m.of, Rate: uint64(l.offered[m.of] * 8e6)}})
	}
	l.table.Expire(nil, now*us)
	total := 0.0
	for i, offered := range l.offered {
		l.held[i] += offered
		send := min(l.held[i], l.link[i])
		if h := l.table.Hold(i); h.Until != 0 {
			send = min(send, float64(h.Rate)/8e6)
		}
		l.held[i] -= send
		l.queue[i] += send
		total += l.queue[i]
	}
	if total == 0 {
		return
	}
	share := min(l.port/total, 1) // first in, first out, of many small packets
	for i := range l.queue {
		l.out[i] += l.queue[i] * share
		l.queue[i] -= l.queue[i] * share
		signal := l.flows[i].Observe(now*us, congestion.Seen{Octets: uint64(l.queue[i])}, &l.threshold)
		action, micros, ok := l.threshold.PFCM(signal)
		if !ok {
			continue
		}
		if l.said[i]++; l.lossy && l.said[i]%2 == 1 {
			continue
		}
		m := notify.PFCM{StreamID: uint16(i + 1), Action: action, Time: micros}
		l.mail = append(l.mail, letter{now + l.delay, PFCMKey(&m, key(1, 1).From, 1), OfPFCM(&m), i})
	}
}

func newLoop(offered []float64, port float64, delay int64, th congestion.Threshold) *loop {
	n := len(offered)
	l := &loop{
		threshold: th, delay: delay, port: port, offered: offered,
		flows: make([]congestion.Flow, n), table: NewTable[int](n), said: make([]int, n),
		held: make([]float64, n), queue: make([]float64, n), out: make([]float64, n),
	}
	for _, o := range offered {
		l.link = append(l.link, 2*o)
	}
	return l
}

// The two decisions in one loop, with whatever rates, marks and delays: the queue never
// keeps more of a flow than the high-water mark and what is on its way until the hold,
// nothing gets lost, the port does not run dry, a flow that fits is not slowed at all, and
// when the senders end everything gets through. Where every other message is lost the
// next one comes half a duration later.
func TestLoopOfHoldsLosesNothingAndKeepsThePortBusy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const port = 12_500.0 // octets/µs: 100 Gbit/s
		delay := rapid.Int64Range(1, 20).Draw(t, "delay µs")
		n := rapid.IntRange(1, 4).Draw(t, "greedy flows")
		var offered []float64
		for range n {
			offered = append(offered, port*rapid.Float64Range(1.05, 2).Draw(t, "offered")/float64(n))
		}
		offered = append(offered, 50)        // octets/µs: 400 Mbit/s
		reach := port * 4 * float64(delay+1) // of all flows at twice their rate, over the delay
		l := newLoop(offered, port, delay, congestion.Threshold{
			Low:      uint64(reach),
			High:     uint64(2 * reach),
			Action:   notify.Pause,
			Duration: time.Duration(max(4*delay, 20)) * time.Microsecond,
		})
		l.lossy = rapid.Bool().Draw(t, "messages are lost")
		wait := delay + 1
		if l.lossy {
			wait += l.threshold.Duration.Microseconds()/2 + 1
		}

		end := 40*delay + 500
		sent := make([]float64, len(offered))
		for now := range end {
			for i := range sent {
				sent[i] += offered[i]
			}
			l.step(now)
			for i, q := range l.queue {
				if bound := float64(l.threshold.High) + float64(wait)*l.link[i]; q > bound {
					t.Fatalf("at %d µs flow %d keeps %.0f octets, more than %.0f", now, i, q, bound)
				}
			}
			if l.table.Hold(n).Until != 0 || l.held[n] != 0 {
				t.Fatalf("at %d µs the small flow is held", now)
			}
		}
		through := 0.0
		for _, o := range l.out {
			through += o
		}
		least := 0.9
		if l.lossy {
			least = 0.6 // a resume that is lost: the flow waits until its time is over
		}
		if used := through / (port * float64(end)); used < least {
			t.Errorf("the port was used by %.0f %%", used*100)
		}

		clear(l.offered)
		for now := end; now < 10*end; now++ {
			l.step(now)
		}
		for i := range sent {
			if d := sent[i] - l.out[i]; d > 1 || d < -1 {
				t.Errorf("flow %d: %.0f octets of %.0f got through", i, l.out[i], sent[i])
			}
		}
		if at, ok := l.table.Next(); ok {
			t.Errorf("something is held until %d", at)
		}
	})
}
