// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/host/clock"
	"sluice/orchagent-ext/testbed/nic"
)

// The part "named": two elephants at a time, each 40 % of what comes to the egress of gateway 2,
// beside a flow of 15 % and mice. They end once their sender was advised about both; it obeys
// no advice.
const (
	namedElephants = 2
	namedMbps      = pathOffered * 40 / 100 // of each
	namedOther     = pathOffered * 15 / 100 // of the flow of 15 %
	namedMice      = 8
	namedMouseMbps = pathOffered * 5 / 100 / namedMice
	namedHigh      = 160_000 // octets: an elephant has them after some 20 ms

	namedQP     = 0x8000 // first DestQP of elephants
	namedBaseQP = 0x7800 // of the flow of 15 %; mice follow

	namedEvents    = 15 // pairs of elephants
	namedAllEvents = 90 // with --full, in each of three runs
	namedLearn     = time.Second
	namedLongest   = 250 * time.Millisecond // of unnamed elephants
	namedEmpty     = 20_000                 // octets of a queue that has drained
	namedPause     = 50 * time.Millisecond  // with such a queue
)

// name measures the time from when a flow has more than the mark in the queue until its sender is
// advised.
func (w *wanStock) name(ctx context.Context, to *wanStockFigures) error {
	runs, events := 1, namedEvents
	if w.c.Full {
		runs, events = 3, namedAllEvents
	}
	var all []namedFigures
	for i := range runs {
		w.say("run %d of %d: %d times two flows of 40 %% of what comes to a port, method sampled", i+1, runs, events)
		one, err := w.nameOnce(ctx, events)
		if err != nil {
			return err
		}
		all = append(all, one)
	}
	to.Named = medianNamed(all)
	return nil
}

// nameOnce is one run of the part.
func (w *wanStock) nameOnce(ctx context.Context, events int) (_ namedFigures, err error) {
	p, ctx, err := w.congested(ctx, egress{high: namedHigh, low: namedHigh / 3})
	defer func() { err = errors.Join(err, p.close()) }()
	if err != nil {
		return namedFigures{}, err
	}
	j := newNamedJudge()
	taps := []*tap{{at: w.Between[1], filter: onlyIPv6, each: j.link}, {at: w.Host[1], filter: onlyIPv6, each: j.host}}
	for _, t := range taps {
		if err := t.open(); err != nil {
			return namedFigures{}, err
		}
		defer func() { err = errors.Join(err, unix.Close(t.fd)) }()
	}
	base := w.namedBase()
	flows := slices.Clone(base.Flows)
	for i := range uint32(events * namedElephants) {
		flows = append(flows, pathFlow(namedQP+i, namedMbps*1_000_000))
	}
	running, stop := context.WithCancel(ctx)
	work := &workers{fail: stop}
	for _, t := range taps {
		work.run(func() error { _, err := t.record(running); return err })
	}
	if err = w.receive(running, work, flows); err == nil {
		work.run(func() error { return w.send(running, base, time.Hour) })
		err = w.elephants(running, j, flows[len(base.Flows):])
	}
	stop()
	work.wg.Wait()
	return j.figures(), errors.Join(append(work.errs, err, context.Cause(ctx))...)
}

// namedBase is the adapter of the flows that are no elephants.
func (w *wanStock) namedBase() nic.Config {
	a := w.pathAdapter()
	a.Flows = append(a.Flows, pathFlow(namedBaseQP, namedOther*1_000_000))
	for i := range uint32(namedMice) {
		a.Flows = append(a.Flows, pathFlow(namedBaseQP+1+i, namedMouseMbps*1_000_000))
	}
	return a
}

// receive has the receiver answer flows until ctx ends.
func (w *wanStock) receive(ctx context.Context, work *workers, flows []nic.Flow) error {
	fd, err := w.Receiver.PacketSocket(unix.ETH_P_ALL)
	if err != nil {
		return err
	}
	if err := nic.Listen(fd); err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	r := nic.NewReceiver(time.Now().UnixNano(), plotBin)
	r.Answers = answersOf(flows)
	for qp := range r.Answers {
		r.Flows[qp] = &nic.Received{}
	}
	work.run(func() error { return errors.Join(nic.Sink(ctx, fd, r), unix.Close(fd)) })
	return nil
}

// send sends the flows of an adapter for some time, or until ctx ends. The thread that it
// occupies ends with its goroutine.
func (w *wanStock) send(ctx context.Context, a nic.Config, span time.Duration) error {
	fd, err := w.Sender.PacketSocket(unix.ETH_P_ALL)
	if err != nil {
		return err
	}
	start := nic.Monotonic() + int64(time.Millisecond)
	_, err = nic.Run(ctx, fd, a, start, start+int64(span))
	return errors.Join(err, unix.Close(fd))
}

// elephants sends them, pair by pair, each into a queue that has drained.
func (w *wanStock) elephants(ctx context.Context, j *namedJudge, flows []nic.Flow) error {
	clock.Sleep(ctx, namedLearn)
	for pair := range slices.Chunk(flows, namedElephants) {
		if ctx.Err() != nil {
			return nil // the caller has the reason
		}
		until, named := context.WithCancel(ctx)
		j.begin(pair, named)
		a, done := w.pathAdapter(), make(chan error, 1)
		a.Flows = pair
		go func() { done <- w.send(until, a, namedLongest) }()
		err := <-done
		if named(); err != nil {
			return err
		}
		for clock.Sleep(ctx, wanRTT) {
			q, err := w.Host[1].Queue()
			if err != nil {
				return err
			}
			if q.Octets < namedEmpty {
				break
			}
		}
		clock.Sleep(ctx, namedPause)
	}
	return nil
}
