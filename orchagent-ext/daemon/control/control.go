// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/openconfig/ygot/ygot"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/task"
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

// Switch is the part of an open switch that flow control works with.
type Switch struct {
	Library flowcontrol.Library // nil: the driver watches and holds no single flows
	Ports   Ports

	// Depths reads queues, in the order of its argument, in a goroutine of its own; it returns nil
	// once ctx is done. It may be nil.
	Depths func(ctx context.Context, queues []sai.ObjectID) []watch.Depth
}

// Environment is the switch and the process that flow control works in.
type Environment struct {
	Switch

	// Realtime makes the process ready for a real-time thread that runs Go, or as it was before. It
	// may be nil.
	Realtime func(on bool)
	Log      *slog.Logger
}

// Control is flow control of a switch, which runs while notifications are configured. The
// zero value does nothing. It is for one goroutine, but for Learn.
type Control struct {
	part task.Part[mode, *flowcontrol.Report, *running]
	err  error // why notifications are not as configured
	// warning where the switch watches flows and lacks holds, or the reverse
	partial string
	learner atomic.Pointer[flowcontrol.Task]
	watcher atomic.Pointer[watch.Flows] // receives samples; nil: flows are not estimated
	earlier totals                      // of the tasks that ended
	trips   roundTrips
}

// Reconcile brings flow control to its settings, and to the neighbors and queues of now.
func (c *Control) Reconcile(g task.Group, to *Settings, in Inputs, env *Environment) {
	want := wanted{to, in}
	c.trips.update(want.Task.Advice, want.Hosts, c.last(), want.Now)
	if c.err = nil; !want.On() {
		c.Stop()
		return
	}
	if c.err = want.unable(); c.err != nil {
		return
	}
	m := estimated
	if want.Choices.Method(engine.NeedThreshold) == engine.Exact {
		m = exact
	}
	if !c.part.Has(m) {
		c.Stop()
	}
	if c.err = c.part.Reconcile(g, m, func() (*running, error) { return newRunning(m, env) }); c.err != nil {
		return
	}
	r := c.part.Worker()
	c.partial = want.partial()
	c.learner.Store(r.Task)
	c.watcher.Store(r.estimates)
	c.err = r.configure(want, env.Ports, c.trips.inUse)
}

// last returns the report that was read last; nil: there is none.
func (c *Control) last() *flowcontrol.Report {
	if r := c.part.Worker(); r != nil {
		return r.report
	}
	return nil
}

// Stop ends flow control: holds are released, requests to neighbors are canceled, and the
// marks of queues are removed. It returns when all has ended.
func (c *Control) Stop() {
	c.learner.Store(nil)
	c.watcher.Store(nil)
	r := c.part.Worker()
	if c.part.Stop(); r != nil {
		c.finish(r)
		r.release()
	}
}

// Active reports whether flow control runs as configured.
func (c *Control) Active() bool { return c.part.Runs() && c.err == nil && !c.starting() }

// starting reports whether flow control has no configuration yet, since the neighbors of its ports
// are being read.
func (c *Control) starting() bool {
	return c.part.Runs() && c.part.Worker().config == nil && c.err == nil
}

// Changed returns the channel that is readable once neighbors have changed, and Reconcile is
// due; nil while flow control does not run.
func (c *Control) Changed() <-chan struct{} {
	if !c.part.Runs() {
		return nil
	}
	return c.part.Worker().neighbors.Changed()
}

// News returns the channel that is readable once holds have begun or ended, and the rows of
// HoldRows are others; nil while flow control does not run.
func (c *Control) News() <-chan struct{} {
	if !c.part.Runs() {
		return nil
	}
	return c.part.Worker().News()
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
func (c *Control) HostRows() []ygot.GoStruct { return c.trips.rows() }
