// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/hold/neighbors"
	"sluice/orchagent-ext/hold/watch"
	"sluice/orchagent-ext/host/machine"
	sai "sluice/sai-shim"
)

// running is flow control while it runs: the real-time task, and all that it works with.
type running struct {
	*flowcontrol.Task
	log      *slog.Logger
	realtime func(on bool) // of the process; nil: it stays as it is
	// The switch, the raw sockets, and the kernel's neighbor table, which the task works
	// with. release closes messages; the library stays open.
	library   flowcontrol.Library
	estimates *watch.Flows // the library, where the switch watches no flow; nil: it does
	messages  *packetio.Messages
	neighbors *neighbors.Watcher
	// config is the one that the task has, nil before the first. marks are those that
	// this process set on queues, by queue. late are warnings about what estimates cannot do.
	config   *flowcontrol.Config
	marks    map[sai.ObjectID]marks
	names    naming              // as the switch has it
	report   *flowcontrol.Report // the last one; nil before the first
	released releasedLog
	late     []string
}

// mode is how flows that fill queues are known.
type mode uint8

const (
	exact     mode = iota + 1 // the switch watches single flows
	estimated                 // by readings of queues and samples
)

// naming is how a switch names flows. The zero value: it was not set.
type naming struct {
	key  sai.FlowKey
	seed uint32
	set  bool
}

// marks are those of a queue, in octets. The zero value watches no flow there.
type marks struct{ high, low uint32 }

// marksOf returns the marks of a threshold that the model allows: low is 1 or more, since 0 is half of
// high for a switch, and below high.
func marksOf(t *congestion.Threshold) marks {
	return marks{uint32(min(t.High, math.MaxUint32)), uint32(min(max(t.Low, 1), math.MaxUint32-1))}
}

// newRunning returns flow control of a switch, which is idle until it is configured.
func newRunning(m mode, env *Environment) (_ *running, err error) {
	r := &running{log: env.Log, realtime: env.Realtime, library: env.Library, neighbors: neighbors.New(env.Log), marks: map[sai.ObjectID]marks{}}
	if m == estimated {
		if r.estimates, err = watch.New(env.Depths); err != nil {
			return nil, err
		}
		r.library = r.estimates
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	events, err := r.library.WatchFlows()
	if err != nil {
		return nil, fmt.Errorf("watch flows: %w", err)
	}
	if r.messages, err = packetio.OpenMessages(); err != nil {
		return nil, err
	}
	if r.Task, err = flowcontrol.New(r.library, events, r.messages); err != nil {
		return nil, err
	}
	return r, nil
}

// Run implements [task.Worker]: when ctx ends holds are released, and requests to neighbors are
// canceled.
func (r *running) Run(ctx context.Context) error {
	if r.realtime != nil {
		r.realtime(true)
		defer r.realtime(false)
	}
	g, ctx := task.NewGroup(ctx, r.log)
	parts := []func(context.Context) error{r.Task.Run, r.messages.Run, r.neighbors.Run}
	if r.estimates != nil {
		parts = append(parts, r.estimates.Run)
	}
	for _, run := range parts {
		g.Go(func() error { return run(ctx) })
	}
	return g.Wait()
}

// release removes the marks of queues and closes the descriptors, after Run has returned.
func (r *running) release() {
	for queue := range r.marks {
		_ = r.library.SetQueueMarks(queue, 0, 0) // the queue may have gone
	}
	_ = r.close() // their writes are done
}

// close closes the descriptors.
func (r *running) close() (err error) {
	if r.Task != nil {
		err = r.Close()
	}
	if r.messages != nil {
		err = errors.Join(err, r.messages.Close())
	}
	if r.estimates != nil {
		err = errors.Join(err, r.estimates.Close())
	}
	return err
}

// configure gives the task the configuration, the neighbors and queues of now, and the round-trip
// time to senders; 0: it is not known. The first configuration comes with neighbors: before these
// were read the task stays idle. Those of ports that come later follow by [Control.Changed].
func (r *running) configure(want wanted, sw Ports, trip time.Duration) error {
	r.neighbors.SetPorts(want.watched())
	known, current := r.neighbors.Ports()
	if !current && r.config == nil {
		return nil
	}
	c := want.config()
	if c.Advice != nil {
		c.Advice.Pace.RTT = trip
	}
	c.Ports = want.ports(known, sw.PortID)
	number(c.Ports)
	queues, err := want.queues(sw, c.Sends() && want.watches())
	c.Queues = queues
	r.late = nil
	if want.estimates() {
		r.late = want.limit(c, queues)
		ports, unknown := classesOf(want.Ports, sw)
		err = errors.Join(err, unknown)
		r.estimates.Configure(want.watchConfig(queues, ports))
	} else if r.estimates != nil {
		r.estimates.Configure(nil)
	}
	names := naming{sai.FlowKeyLabel, c.Seed, true}
	if want.FiveTuple {
		names.key = sai.FlowKeyFiveTuple
	}
	if r.names != names {
		if err := errors.Join(r.library.SetFlowKey(names.key), r.library.SetStreamSeed(names.seed)); err != nil {
			return err
		}
		if !r.names.set {
			r.assumeStale(want.Ports, sw)
		}
		r.names = names
	}
	if r.config == nil || !reflect.DeepEqual(r.config, c) {
		if err := r.messages.Configure(c.Messages()); err != nil {
			return err
		}
		if err := r.messages.Unpoliced(); err != nil && r.config == nil {
			r.log.Warn("cannot police messages by port: a flood at one port may delay those of others", "error", err)
		}
		r.config = c
		r.Configure(c)
	}
	return errors.Join(err, r.mark(queues))
}

// number sets the interface indexes of ports whose neighbors are left alone, such as those to hosts:
// PPFC names the congested port by it. A port whose netdev has gone keeps 0.
func number(ports []flowcontrol.Port) {
	var unnumbered []*flowcontrol.Port
	var names []string
	for i := range ports {
		if p := &ports[i]; p.Index == 0 {
			unnumbered, names = append(unnumbered, p), append(names, p.Name)
		}
	}
	if len(names) > 0 { // after an error they keep 0
		_ = machine.AskNetdevs(names, unix.SIOCGIFINDEX, func(i int, r *unix.Ifreq) { unnumbered[i].Index = r.Uint32() })
	}
}

// assumeStale notes that an earlier process may have left marks on any queue.
func (r *running) assumeStale(ports []string, sw Ports) {
	for _, name := range ports {
		ids, err := sw.QueueIDs(name)
		if err != nil {
			continue // Settings.queues returns this error for ports that need queues
		}
		for _, id := range ids {
			// no threshold has these
			r.marks[id] = marks{high: math.MaxUint32, low: math.MaxUint32}
		}
	}
}

// mark sets the marks of queues, and removes those of queues that have no threshold now.
func (r *running) mark(queues map[sai.ObjectID]flowcontrol.Queue) error {
	var errs []error
	set := func(queue sai.ObjectID, m marks) {
		if r.marks[queue] == m {
			return
		}
		if err := r.library.SetQueueMarks(queue, m.high, m.low); err != nil {
			errs = append(errs, err)
			return
		}
		r.marks[queue] = m
	}
	for queue := range r.marks {
		if _, ok := queues[queue]; !ok {
			set(queue, marks{})
		}
	}
	for queue, q := range queues {
		set(queue, marksOf(&q.Threshold))
	}
	if len(errs) > 0 {
		return fmt.Errorf("set the marks of %d queues: %w", len(errs), errs[0])
	}
	return nil
}
