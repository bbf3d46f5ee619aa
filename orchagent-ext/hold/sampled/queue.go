// SPDX-License-Identifier: Apache-2.0

package sampled

import "math"

const (
	// decay is the rest of a sample's weight after an interval. Without memory a flow of
	// which an interval has no sample would count as one that is gone.
	decay = 0.9

	// doubt is how many standard deviations the least share of a flow is below its mean: few
	// samples name no flow.
	doubt = 1.5

	// forgotten is the weight, in samples, below which a flow is forgotten.
	forgotten = 0.02

	room = 1024 // flows of a queue
)

// Estimate is the part of a flow in a queue, in octets.
type Estimate struct {
	// Least is exceeded by some 93 % of the true values: a signal begins by it.
	Least uint64
	// Mean is the best guess: it refreshes and ends the signal.
	Mean uint64
}

// weight is a flow's part of the samples, which decays.
type weight struct {
	octets float64
	count  float64 // samples
}

// Queue has the samples of one queue, by flow. Its zero value is empty. It belongs to one
// goroutine.
type Queue[F comparable] struct {
	// Full counts samples of flows that came to full tables; they count in the whole.
	Full uint64

	flows   map[F]*weight
	free    []*weight // of flows that were forgotten
	whole   weight
	arrived float64 // octets of packets that samples are of, by the queue's own counters
	depth   uint64
}

// Sample takes a packet that went to the queue. Packets that belong to no flow that could be
// notified, such as those of TCP, go to [Queue.Other]: they fill the queue, too.
func (q *Queue[F]) Sample(flow F, octets int) {
	w := q.flows[flow]
	switch {
	case w != nil:
	case len(q.flows) >= room:
		q.Full++
		q.Other(octets)
		return
	default:
		if q.flows == nil {
			q.flows = make(map[F]*weight, room)
		}
		if n := len(q.free); n > 0 {
			w, q.free = q.free[n-1], q.free[:n-1]
			*w = weight{}
		} else {
			w = &weight{}
		}
		q.flows[flow] = w
	}
	w.octets += float64(octets)
	w.count++
	q.Other(octets)
}

// Other takes a packet that went to the queue and is of no flow.
func (q *Queue[F]) Other(octets int) {
	q.whole.octets += float64(octets)
	q.whole.count++
}

// Arrived takes the octets of an interval that came to the queue by its own counters, divided by
// the packets that a sample represents. What is more than the octets of samples is of packets that
// no sample shows, such as those of TCP.
func (q *Queue[F]) Arrived(octets float64) { q.arrived += max(octets, 0) }

// Depth ends an interval with the octets that wait in the queue at its end. The estimates are
// of this moment until the next call, which has them decay.
func (q *Queue[F]) Depth(octets uint64) { q.depth = octets }

// Decay begins the next interval.
func (q *Queue[F]) Decay() {
	q.whole.octets *= decay
	q.whole.count *= decay
	q.arrived *= decay
	for flow, w := range q.flows {
		w.octets *= decay
		if w.count *= decay; w.count < forgotten {
			delete(q.flows, flow)
			q.free = append(q.free, w)
		}
	}
}

// Share returns the part of a flow in the octets that come to the queue, 0 to 1; 0 too where the
// flow is forgotten.
func (q *Queue[F]) Share(flow F) float64 {
	w, whole := q.flows[flow], max(q.whole.octets, q.arrived)
	if w == nil || whole <= 0 {
		return 0
	}
	return min(1, w.octets/whole)
}

// Of returns the estimate of one flow; the zero value where there is no sample of it.
func (q *Queue[F]) Of(flow F) (e Estimate) {
	if w := q.flows[flow]; w != nil {
		mean := q.Share(flow) * float64(q.depth)
		// Of a binomial distribution, whose deviation is a part of its mean.
		deviation := math.Sqrt((1 - min(1, w.count/q.whole.count)) / w.count)
		e = Estimate{Least: uint64(mean * max(0, 1-doubt*deviation)), Mean: uint64(mean)}
	}
	return e
}
