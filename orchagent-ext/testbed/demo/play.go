// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/host/clock"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/testbed/nic"
)

const (
	// drain is the time after the last packet in which packets still arrive; plotBin is the
	// resolution of curves.
	drain   = 600 * time.Millisecond // for queued and held packets to arrive
	plotBin = 20 * time.Millisecond  // of goodput over time
)

// playing is traffic through a network, with the figures that are watched.
type playing struct {
	senders   []sending
	receivers []*fabric.Interface
	qps       []uint32            // DestQPs of all flows
	ports     []*fabric.Interface // whose queues are sampled
	links     []*fabric.Interface // where notifications arrive
	// answers: DestQP → SrcQP of the flows that are acknowledged
	answers map[uint32]uint32
	span    time.Duration // of sending

	// beside runs while the traffic does, and returns how many messages it sent.
	beside []func(ctx context.Context) (int, error)
}

// sending is an adapter of a host.
type sending struct {
	host    *fabric.Interface
	adapter nic.Config // it sends with flows only
}

// A trial is the result of one run.
type trial struct {
	sent     []nic.Counters  // by sender
	received []*nic.Receiver // by receiver
	depths   *depths
	dropped  uint64 // by the queues, packets
	frames   int    // messages that were sent beside
	arrivals []arrival
}

// workers run until one fails.
type workers struct {
	wg   sync.WaitGroup
	mu   sync.Mutex
	errs []error
	fail func()
}

// run runs do in a goroutine. Its error is kept, and ends the context of all workers.
func (w *workers) run(do func() error) {
	w.wg.Go(func() {
		if err := do(); err != nil {
			w.mu.Lock()
			w.errs = append(w.errs, err)
			w.mu.Unlock()
			w.fail()
		}
	})
}

// play sends the traffic once.
func (p *playing) play(ctx context.Context) (t *trial, err error) {
	t = &trial{sent: make([]nic.Counters, len(p.senders))}
	before, err := p.drops()
	if err != nil {
		return nil, err
	}
	var sockets []int
	socket := func(i *fabric.Interface) (int, error) {
		fd, err := i.PacketSocket(unix.ETH_P_ALL)
		if err == nil {
			sockets = append(sockets, fd)
		}
		return fd, err
	}
	begin := time.Now()
	sending, stopSending := context.WithCancel(ctx)
	watching, stopWatching := context.WithCancel(ctx)
	w := &workers{fail: stopSending}
	defer func() {
		stopSending()
		stopWatching()
		w.wg.Wait()
		for _, fd := range sockets {
			err = errors.Join(err, unix.Close(fd))
		}
	}()

	watch, err := listen(watching, p.links, begin)
	if err != nil {
		return nil, err
	}
	for _, host := range p.receivers {
		fd, err := socket(host)
		if err == nil {
			err = nic.Listen(fd)
		}
		if err != nil {
			return nil, err
		}
		r := nic.NewReceiver(begin.UnixNano(), plotBin, p.qps...)
		r.Answers = p.answers
		t.received = append(t.received, r)
		w.run(func() error { return nic.Sink(watching, fd, r) })
	}
	w.run(func() error {
		t.depths = sampleDepths(watching, p.ports, begin)
		return t.depths.err
	})
	for _, do := range p.beside {
		w.run(func() error {
			n, err := do(watching)
			w.mu.Lock()
			t.frames += n
			w.mu.Unlock()
			return err
		})
	}
	var senders sync.WaitGroup
	start := nic.Monotonic() + int64(20*time.Millisecond)
	for i, s := range p.senders {
		if len(s.adapter.Flows) == 0 {
			continue
		}
		fd, err := socket(s.host)
		if err != nil {
			return nil, err
		}
		senders.Add(1)
		w.run(func() (err error) {
			defer senders.Done()
			t.sent[i], err = nic.Run(sending, fd, s.adapter, start, start+int64(p.span))
			return err
		})
	}
	senders.Wait()
	clock.Sleep(ctx, drain)
	stopWatching()
	w.wg.Wait()
	errs := w.errs
	if t.arrivals, err = watch.wait(); err != nil {
		errs = append(errs, err)
	}
	after, err := p.drops()
	t.dropped = after - before
	return t, errors.Join(append(slices.Clone(errs), err, context.Cause(ctx))...)
}

// drops returns how many packets were dropped by full queues.
func (p *playing) drops() (sum uint64, err error) {
	for _, port := range p.ports {
		q, err := port.Queue()
		if err != nil {
			return 0, err
		}
		sum += q.Dropped
	}
	return sum, nil
}
