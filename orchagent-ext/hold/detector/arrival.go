// SPDX-License-Identifier: Apache-2.0

package detector

// arrival has the octets in a queue of congested flows that still arrive: they are new,
// or their neighbor cannot be asked. A flow whose neighbor was asked drains.
type arrival struct {
	flows  int
	octets uint64
}

// without returns the sum less one flow's part.
func (a arrival) without(one arrival) arrival {
	return arrival{a.flows - one.flows, a.octets - one.octets}
}

// addArriving brings the flow's part in its queue's sum to its state.
func (d *Detector) addArriving(f *flow) {
	if f.State.Congested() && !f.neighbor.Open() && !f.gateway.Stopped() {
		d.setArriving(f, arrival{1, f.advice.Queued(f.State.Octets())})
	} else {
		d.setArriving(f, arrival{})
	}
}

// setArriving replaces the part of a flow in its queue's sum.
func (d *Detector) setArriving(f *flow, now arrival) {
	if f.arrives == now {
		return
	}
	sum := d.arriving[f.ID.Queue].without(f.arrives)
	sum.flows, sum.octets = sum.flows+now.flows, sum.octets+now.octets
	f.arrives = now
	if sum.flows == 0 {
		delete(d.arriving, f.ID.Queue)
	} else {
		d.arriving[f.ID.Queue] = sum
	}
}
