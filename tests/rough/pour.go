// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/testbed/fabric"
)

const (
	pourTick       = 200 * time.Microsecond
	mostAtOnce     = 64                    // packets of a stream that are made up for after a delay
	adviceLifetime = 30 * time.Millisecond // three intervals of SLUICE_RATE_ADVICE
)

// A pour is streams that are being sent, by one thread with real-time priority: else a busy
// machine sends in clumps.
type pour struct {
	streams []*stream
	byID    map[uint32]*stream
	begin   time.Time
	advice  []int // sockets that Rate Advice comes in by
	stop    atomic.Bool
	done    sync.WaitGroup
	err     error
}

// begin sends streams until end. Rate Advice is read at an interface, nil: nowhere.
func begin(streams []*stream, advice *fabric.Interface) (*pour, error) {
	p := &pour{streams: streams, byID: map[uint32]*stream{}, begin: time.Now()}
	for _, s := range streams {
		p.byID[s.id] = s
	}
	for _, etherType := range []uint16{etherIPv6, etherIPv4} {
		if advice == nil {
			break
		}
		fd, err := advice.PacketSocket(etherType)
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		p.advice = append(p.advice, fd)
	}
	p.done.Go(p.run)
	return p, nil
}

func (p *pour) run() {
	fabric.GoFirst()
	tick := unix.NsecToTimespec(int64(pourTick))
	frame := make([]byte, 256)
	for last := time.Duration(0); !p.stop.Load() && p.err == nil; _ = unix.Nanosleep(&tick, nil) {
		now := time.Since(p.begin)
		p.listen(now, frame)
		for _, s := range p.streams {
			p.err = errors.Join(p.err, s.send(now, now-last))
		}
		last = now
	}
}

// send sends the packets that are due after a time since the last call.
func (s *stream) send(now, passed time.Duration) error {
	size := float64(len(s.frame))
	s.credit = min(s.credit+s.rate(now)*1e6/8*passed.Seconds(), mostAtOnce*size)
	for ; s.credit >= size; s.credit -= size {
		if err := s.sender.Send(s.next(time.Now())); err != nil {
			return err
		}
	}
	return nil
}

// listen reads Rate Advice that has come.
func (p *pour) listen(now time.Duration, frame []byte) {
	for _, fd := range p.advice {
		for {
			n, _, err := unix.Recvfrom(fd, frame, unix.MSG_DONTWAIT)
			if err != nil {
				break
			}
			if mbps, qp, ok := adviceOf(frame[:n]); ok && p.byID[qp] != nil {
				s := p.byID[qp]
				s.advised = advised{float64(mbps), now + adviceLifetime}
				s.told = append(s.told, s.advised)
			}
		}
	}
}

// end ends the streams.
func (p *pour) end() error {
	p.stop.Store(true)
	p.done.Wait()
	return errors.Join(p.err, p.close())
}

func (p *pour) close() (err error) {
	for _, fd := range p.advice {
		err = errors.Join(err, unix.Close(fd))
	}
	p.advice = nil
	return err
}

// A fate is the outcome of a stream's packets.
type fate struct {
	arrived   int
	reordered int         // after one with a higher number
	missing   []int       // numbers
	times     []time.Time // of the arrivals
}

// fates follows the streams at their receivers.
func fates(streams []*stream, frames []fabric.Frame) map[*stream]*fate {
	type at struct {
		*fate
		there []bool
		next  uint32
	}
	all, by := map[*stream]*fate{}, map[uint32]*at{}
	for _, s := range streams {
		all[s] = &fate{}
		by[s.id] = &at{fate: all[s], there: make([]bool, len(s.sent))}
	}
	for _, f := range frames {
		id, n, ok := numbersOf(f.Data)
		a := by[id]
		if !ok || a == nil || int(n) >= len(a.there) || a.there[n] {
			continue
		}
		a.there[n] = true
		a.arrived++
		a.times = append(a.times, f.Time)
		if n < a.next {
			a.reordered++
		}
		a.next = max(a.next, n+1)
	}
	for _, a := range by {
		for n, there := range a.there {
			if !there {
				a.missing = append(a.missing, n)
			}
		}
	}
	return all
}

// weigh sums up the fates of streams.
func weigh(all map[*stream]*fate) *result {
	var lost, reordered, drops, sent, arrived int
	for s, f := range all {
		if s.held {
			lost += len(f.missing)
		}
		if s.victim {
			sent, arrived = sent+len(s.sent), arrived+f.arrived
		}
		reordered, drops = reordered+f.reordered, drops+len(f.missing)
	}
	r := &result{Lost: &lost, Reordered: &reordered, Drops: &drops}
	if sent > 0 {
		part := float64(arrived) / float64(sent)
		r.Victims = &part
	}
	return r
}
