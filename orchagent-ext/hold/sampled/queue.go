// SPDX-License-Identifier: Apache-2.0

package sampled

import "math"

const (
	// decay is the rest of a sample's weight after an interval. Without memory a flow of
	// which an interval has no sample would count as one that is gone.
	decay = 0.9

	// doubt is how many standard deviations the least share of a flow is below its mean: few
	// samples name no flow.
	doubt = 1.0

	// many flows are taken for equal ones unless their samples differ by more than chance: each of
	// them may have one sample or two. lately is the weight of a sample that is ten intervals old: a
	// flow with less may have ended.
	many   = 8
	lately = 0.35

	// forgotten is the weight, in samples, below which a flow is forgotten.
	forgotten = 0.02

	room = 1024 // flows of a queue
)

// Estimate is the part of a flow in a queue, in octets.
type Estimate struct {
	// Least is exceeded by some 84 % of the true values: a signal begins by it.
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
	squares float64 // sum of the squares of the weights of samples
	arrived float64 // octets of packets that samples are of, by the queue's own counters
	depth   uint64

	// alike is the part of the mean in the estimate of a flow that was sampled lately: 1: all have
	// the same share, 0: each has that of its samples.
	alike, mean float64 // mean: octets of samples of such a flow
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
	q.squares++
}

// Arrived takes the octets of an interval that came to the queue by its own counters, divided by
// the packets that a sample represents. What is more than the octets of samples is of packets that
// no sample shows, such as those of TCP.
func (q *Queue[F]) Arrived(octets float64) { q.arrived += max(octets, 0) }

// Depth ends an interval with the octets that wait in the queue at its end. The estimates are
// of this moment until the next call, which has them decay.
func (q *Queue[F]) Depth(octets uint64) {
	q.depth, q.alike = octets, 0
	n, octetsOf, sum, squares := 0., 0., 0., 0.
	for _, w := range q.flows {
		if w.count >= lately {
			n, octetsOf, sum, squares = n+1, octetsOf+w.octets, sum+w.count, squares+w.count*w.count
		}
	}
	if n < many {
		return
	}
	mean := sum / n
	q.mean = octetsOf / n
	// The variance of equal flows, by chance, and twice the error of a variance.
	chance := mean * q.squares / q.whole.count * (1 + 2*math.Sqrt(2/n))
	q.alike = min(1, chance/max(squares/n-mean*mean, chance))
}

// Decay begins the next interval.
func (q *Queue[F]) Decay() {
	q.whole.octets *= decay
	q.whole.count *= decay
	q.squares *= decay * decay
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
	octets := w.octets
	if w.count >= lately {
		octets += q.alike * (q.mean - octets)
	}
	return min(1, octets/whole)
}

// Of returns the estimate of one flow; the zero value where there is no sample of it.
func (q *Queue[F]) Of(flow F) (e Estimate) {
	w := q.flows[flow]
	if w == nil {
		return e
	}
	share := q.Share(flow)
	sure := least(share, q.whole.count*q.whole.count/q.squares)
	if w.count >= lately {
		sure += (share - sure) * (1 - math.Sqrt(1-q.alike))
	}
	return Estimate{Least: uint64(sure * float64(q.depth)), Mean: uint64(share * float64(q.depth))}
}

// least returns the lower end of the interval of a share of n samples that is doubt standard deviations
// wide to either side (Wilson, "Probable Inference, the Law of Succession, and Statistical
// Inference", JASA 1927).
func least(share, n float64) float64 {
	z := doubt * doubt / n
	return max(0, (share+z/2-doubt*math.Sqrt(share*(1-share)/n+z/(4*n)))/(1+z))
}
