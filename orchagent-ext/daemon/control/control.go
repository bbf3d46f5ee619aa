// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/openconfig/ygot/ygot"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/policy"
	"sluice/orchagent-ext/daemon/roundtrips"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/flows/rtt"
	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/hold/sampled"
	"sluice/orchagent-ext/hold/watch"
	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
)

// Ports is the objects of the ports of a switch.
type Ports interface {
	// PortID returns the object of a port; sai.Null: the switch lacks the port.
	PortID(name string) sai.ObjectID

	// QueueIDs returns the egress queues of a port, in the order of their numbers.
	QueueIDs(name string) ([]sai.ObjectID, error)

	// Classes returns the maps by which packets of ports wait in queues, by their names. Ports
	// that have gone are left out.
	Classes(ports []string) (map[string]*engine.Classes, error)
}

// Environment is the part of the switch that flow control works with. Library is nil where the
// driver watches and holds no single flows.
type Environment struct {
	Library flowcontrol.Library
	Ports   Ports
	// Depths reads queues, in the order of its argument; nil once ctx is done. It may be nil.
	Depths func(ctx context.Context, queues []sai.ObjectID) []watch.Depth
	Log    *slog.Logger
}

// Settings are what flow control works by: a configuration, and the methods that the engine
// has chosen. Choices is nil before the switch was probed.
type Settings struct {
	Snapshot *config.Snapshot
	Choices  engine.Choices
	Hosts    []rtt.Host // round-trip times that packets show, in ns since 1970
	Now      time.Time
	Sampling uint32 // packets that a sample represents, or 0
}

// Control is flow control of a switch, which runs while notifications are configured. The
// zero value does nothing. It is for one goroutine, but for Learn.
type Control struct {
	running *running // nil: no flow is watched or held
	err     error    // why notifications are not as configured
	// warning where the switch watches flows and lacks holds, or the reverse
	partial string
	learner atomic.Pointer[flowcontrol.Task]
	watcher atomic.Pointer[watch.Flows] // receives samples; nil: flows are not estimated
	earlier totals                      // of the tasks that ended
	trips   roundtrips.Times
}

// Reconcile brings flow control to its settings, and to the neighbors and queues of now. Err
// returns why it is not as configured.
func (c *Control) Reconcile(ctx context.Context, g task.Group, want Settings, env *Environment) {
	var report *flowcontrol.Report
	if c.running != nil {
		report = c.running.report
	}
	var advised *flowcontrol.Advice
	if policy.Advises(want.Snapshot) {
		advised = advice(want.Snapshot)
	}
	c.trips.Update(advised, want.Hosts, report, want.Now)
	if c.err = nil; !policy.Controls(want.Snapshot) {
		c.Stop()
		return
	}
	if c.err = want.unable(); c.err != nil {
		return
	}
	exact := want.Choices.Method(engine.NeedThreshold) == engine.Exact
	if r := c.running; r != nil && (r.estimates == nil) != exact {
		c.Stop()
	}
	if c.running == nil {
		if c.running, c.err = start(ctx, g, exact, env); c.err != nil {
			return
		}
	}
	c.partial = want.partial()
	c.learner.Store(c.running.Task)
	c.watcher.Store(c.running.estimates)
	c.err = c.running.configure(want, env.Ports, c.trips.InUse)
}

// partial returns which part of the settings the switch cannot do; "": it does all. A
// configuration that leaves queues alone is complete where none is watched.
func (s Settings) partial() string {
	switch {
	case s.Choices.Method(engine.NeedHold) == engine.None:
		return "neighbors are asked for holds, and no flow is held here: " + s.Choices[engine.NeedHold].Reason
	case !s.watches() && needsThreshold(configOf(s.Snapshot)):
		return "flows are held at their senders, and nothing is sent about queues: " + s.Choices[engine.NeedThreshold].Reason
	}
	return ""
}

// watches reports whether the switch watches single flows.
func (s Settings) watches() bool { return s.Choices.Method(engine.NeedThreshold) != engine.None }

// unable returns why the switch neither watches single flows nor holds those that are to be
// held; nil: it does.
func (s Settings) unable() error {
	if s.Choices == nil {
		return errors.New("the switch has not been asked yet what it can do")
	}
	if s.watches() {
		return nil
	}
	if c := s.config(); s.Choices.Method(engine.NeedHold) == engine.Source && (c.Obey || c.Ingress != nil) {
		return nil
	}
	return errors.New(s.Choices[engine.NeedThreshold].Reason)
}

// Stop ends flow control: holds are released, requests to neighbors are canceled, and the
// marks of queues are removed. It returns when all has ended.
func (c *Control) Stop() {
	c.learner.Store(nil)
	c.watcher.Store(nil)
	if c.running != nil {
		c.running.end(c.finish)
		c.running = nil
	}
}

// Active reports whether flow control runs as configured.
func (c *Control) Active() bool { return c.running != nil && c.err == nil && !c.starting() }

// starting reports whether flow control has no configuration yet, since the neighbors of its ports
// are being read.
func (c *Control) starting() bool { return c.running != nil && c.running.config == nil && c.err == nil }

// Changed returns the channel that is readable once neighbors have changed, and Reconcile is
// due; nil while flow control does not run.
func (c *Control) Changed() <-chan struct{} {
	if c.running == nil {
		return nil
	}
	return c.running.neighbors.Changed()
}

// Unproven returns why the flows that fill queues are not known for sure; "": they are.
func (c *Control) Unproven() string {
	if f := c.watcher.Load(); f != nil {
		return f.Unproven()
	}
	return ""
}

// Pace returns how often queues are to be read.
func (c *Control) Pace() time.Duration {
	if f := c.watcher.Load(); f != nil {
		return f.Pace()
	}
	return sampled.Interval
}

// Sample gives flow control a packet, where flows in queues are estimated. The packet path calls it.
func (c *Control) Sample(p packetio.Pair) {
	if f := c.watcher.Load(); f != nil {
		f.Sample(p)
	}
}

// Learn gives flow control a source queue pair. The packet path calls it.
func (c *Control) Learn(p packetio.Pair) {
	if t := c.learner.Load(); t != nil {
		at := packetio.Arrived(time.Now().UnixNano(), packetio.Monotonic(), p.At)
		t.Learn(flowcontrol.Learned{Pair: flowcontrol.Pair{Src: p.Src, Dst: p.Dst, DestQP: p.DestQP}, SrcQP: p.SrcQP, SrcPort: p.SrcPort, PKey: p.PKey, DSCP: p.DSCP, Bits: p.Bits,
			Packet: flowcontrol.Packet{In: sai.ObjectID(p.From), Out: sai.ObjectID(p.To), Src: p.PathSrc, Dst: p.PathDst, Label: p.Label, Octets: p.Octets, Samples: p.Samples, At: at}})
	}
}

// HostRows returns the rows of SLUICE_HOST.
func (c *Control) HostRows() []ygot.GoStruct { return c.trips.Rows() }
