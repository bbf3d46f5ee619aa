// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/hold/sampled"
	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
)

const (
	samplesRoom  = 8192 // samples that wait: of 0.8 s, at 10,000 a second
	readingsRoom = 4 * sampled.MostQueues
	eventsRoom   = 1024
	flowsRoom    = 4096 // flows of all queues
)

// Depth is a reading of a queue's counters.
type Depth struct {
	sampled.Reading
	Left  uint64 // octets that left since the switch began
	Err   error  // the reading failed, and the rest is 0
	Slow  string // why queues are to be read less often; "": they need not
	Doubt string // why the octets cannot be relied on; "": they can
}

// Readings counts those of a queue.
type Readings struct {
	Port         string
	Queue        uint8         // number at the port
	All, Useless uint64        // Useless: that gave no depth
	At           int64         // the last one that gave one, ns of CLOCK_MONOTONIC; 0: none has
	Interval     time.Duration // between two
	Samples      uint64        // packets to the queue that came to the CPU
}

// Config has the queues that are watched. It is immutable once it was passed to
// [Flows.Configure].
type Config struct {
	Queues map[sai.ObjectID]flowcontrol.Queue // [sampled.MostQueues] at most
	Room   map[sai.ObjectID]uint64            // octets of their buffers, where known
	// which queue packets wait in, by the ports that they come in and leave by
	Ports map[sai.ObjectID]*engine.Classes
	Rate  uint32 // packets that a sample represents
}

// queue returns the watched queue that a packet waits in. Where the port that it came in by is not
// known, the one that it leaves by has the same map of DSCP.
func (c *Config) queue(p *packetio.Pair) (id sai.ObjectID, watched bool) {
	to := sai.ObjectID(p.To)
	in, out := c.Ports[sai.ObjectID(p.From)], c.Ports[to]
	if out == nil {
		return id, false
	}
	if in == nil {
		in = out
	}
	number := out.Queue[in.Class[p.DSCP&63]&15]
	for id, q := range c.Queues {
		if q.Port == to && q.Number == number {
			return id, true
		}
	}
	return id, false
}

// Flows are those in the queues of a switch. Make it with [New]; it begins with
// an empty configuration.
type Flows struct {
	settings  atomic.Pointer[settings]
	samples   chan sample
	full      atomic.Uint64 // samples that came to a full channel
	reader    reader
	thread    thread
	estimated atomic.Pointer[map[uint64]Estimated] // of flows with a signal
}

// settings are a configuration, with the samples that came of each queue.
type settings struct {
	*Config
	sampled map[sai.ObjectID]*atomic.Uint64
}

// sample is a packet that goes to a queue, or a CNP.
type sample struct {
	queue sai.ObjectID
	packetio.Pair
}

var _ flowcontrol.Library = (*Flows)(nil)

// New returns flows that are read by a function, in the order of its argument; it returns nil
// once its context is done. Close it after all else.
func New(read func(ctx context.Context, queues []sai.ObjectID) []Depth) (*Flows, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("make an eventfd: %w", err)
	}
	return &Flows{samples: make(chan sample, samplesRoom), reader: reader{read: read, wake: fd, readings: make(chan reading, readingsRoom)}, thread: newThread()}, nil
}

// Close closes the descriptor that New made.
func (f *Flows) Close() error { return unix.Close(f.reader.wake) }

// Configure has queues watched from now on, and only these; nil: all are left alone.
func (f *Flows) Configure(c *Config) {
	if c == nil {
		f.settings.Store(nil)
		return
	}
	s := &settings{c, make(map[sai.ObjectID]*atomic.Uint64, len(c.Queues))}
	before := f.settings.Load()
	for id := range c.Queues {
		if before != nil {
			s.sampled[id] = before.sampled[id]
		}
		if s.sampled[id] == nil {
			s.sampled[id] = &atomic.Uint64{}
		}
	}
	f.settings.Store(s)
}

// Unproven returns why the estimates cannot be relied on; "": they can.
func (f *Flows) Unproven() string { return f.reader.unproven() }

// Pace returns the time between two readings.
func (f *Flows) Pace() time.Duration { return f.reader.interval() }

// Readings returns the counts of the queues that are watched; none for nil.
func (f *Flows) Readings() []Readings {
	if f == nil {
		return nil
	}
	return f.reader.counts(f.settings.Load())
}

// Run reads the queues until ctx is done.
func (f *Flows) Run(ctx context.Context) error { return f.reader.run(ctx, &f.settings) }

// Sample takes a packet on the packet path, and returns at once. Those that find no room are
// counted.
func (f *Flows) Sample(p packetio.Pair) {
	c := f.settings.Load()
	if c == nil || p.To == 0 && !p.CNP {
		return
	}
	var id sai.ObjectID
	if !p.CNP {
		var watched bool
		if id, watched = c.queue(&p); !watched {
			return
		}
		c.sampled[id].Add(1)
	}
	select {
	case f.samples <- sample{id, p}:
	default:
		f.full.Add(1)
	}
}

// WatchFlows implements [flowcontrol.Library].
func (f *Flows) WatchFlows() (fd int, err error) { return f.reader.wake, nil }

// SetQueueMarks implements [flowcontrol.Library]: the marks are those of [Config].
func (f *Flows) SetQueueMarks(sai.ObjectID, uint32, uint32) error { return nil }

// SetFlowKey implements [flowcontrol.Library]: a flow is the packets to one queue pair.
func (f *Flows) SetFlowKey(sai.FlowKey) error { return nil }

// SetStreamSeed implements [flowcontrol.Library].
func (f *Flows) SetStreamSeed(uint32) error { return nil }

// FlowStats implements [flowcontrol.Library].
func (f *Flows) FlowStats() (sai.FlowStats, error) {
	return sai.FlowStats{Unmonitored: f.full.Load()}, nil
}

// SetHold implements [flowcontrol.Switch]: flows are counted, and none is held.
func (f *Flows) SetHold(_ sai.ObjectID, _ sai.HoldMatch, d time.Duration, rate uint64) error {
	if d == 0 || rate == math.MaxUint64 {
		return nil
	}
	return sai.ErrNotSupported
}
