// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"slices"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
)

// A packet of a schedule.
type planned struct {
	at   time.Duration // since the schedule began
	flow int
}

// spreadOut returns a schedule in which each flow sends its packets evenly over a time.
func spreadOut(packets []int, over time.Duration) (all []planned) {
	for i, n := range packets {
		for k := range n {
			all = append(all, planned{time.Duration((float64(k) + float64(i%7)/7) / float64(n) * float64(over)), i})
		}
	}
	slices.SortStableFunc(all, func(a, b planned) int { return cmp.Compare(a.at, b.at) })
	return all
}

// delay delays each flow of a schedule.
func delay(schedule []planned, by []time.Duration) {
	for i := range schedule {
		schedule[i].at += by[schedule[i].flow]
	}
	slices.SortStableFunc(schedule, func(a, b planned) int { return cmp.Compare(a.at, b.at) })
}

// A generator sends packets of flows by a schedule.
type generator struct {
	sender *fabric.Sender
	flows  []*flow
	sent   int      // packets
	octets []uint64 // by flow
}

func newGenerator(from *fabric.Interface, flows []*flow) (*generator, error) {
	sender, err := from.Sender()
	if err != nil {
		return nil, err
	}
	return &generator{sender: sender, flows: flows, octets: make([]uint64, len(flows))}, nil
}

// send sends one packet of a flow.
func (g *generator) send(flow int) error {
	f := g.flows[flow]
	g.sent++
	g.octets[flow] += uint64(len(f.frame))
	return g.sender.Send(f.next(time.Now()))
}

// The kernel queues about 1000 frames; a generator that is behind its schedule sends at most so
// many before it lets others run.
const (
	catchUp     = 64
	catchUpRest = 500 * time.Microsecond
)

// play sends a schedule that begins at a time. Late packets are sent as soon as possible.
func (g *generator) play(ctx context.Context, begin time.Time, schedule []planned) error {
	inRow := 0
	for _, p := range schedule {
		if wait := time.Until(begin.Add(p.at)); wait > 0 {
			time.Sleep(wait)
			inRow = 0
		} else if inRow++; inRow == catchUp {
			time.Sleep(catchUpRest)
			inRow = 0
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := g.send(p.flow); err != nil {
			return err
		}
	}
	return nil
}
