// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"sync"
	"time"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/policy"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/hold/neighbors"
	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
)

// lane is the fast lane while it runs, with what it works by.
type lane struct {
	*flowcontrol.Task
	log       *slog.Logger
	library   flowcontrol.Library
	messages  *packetio.Messages
	neighbors *neighbors.Watcher
	config    *flowcontrol.Config
	marks     map[sai.ObjectID]marks
	key       sai.FlowKey
	seed      uint32
	prepared  bool                // key and seed are set
	report    *flowcontrol.Report // the last one; nil: there was none
	released  releasedLog

	stop context.CancelFunc
	done sync.WaitGroup
}

// neighborPatience is how long a configuration waits for what the kernel knows of
// neighbors. What it learns later comes by itself.
const neighborPatience = time.Second

type marks struct{ high, low uint32 }

// startLane starts the fast lane of a switch, which does nothing before it is configured.
func startLane(ctx context.Context, g task.Group, lib flowcontrol.Library, log *slog.Logger) (_ *lane, err error) {
	l := &lane{log: log, library: lib, neighbors: neighbors.New(log), marks: map[sai.ObjectID]marks{}}
	events, err := lib.WatchFlows()
	if err != nil {
		return nil, fmt.Errorf("watch flows: %w", err)
	}
	if l.messages, err = packetio.OpenMessages(); err != nil {
		return nil, err
	}
	if l.Task, err = flowcontrol.New(lib, events, l.messages); err != nil {
		return nil, errors.Join(err, l.messages.Close())
	}
	ctx, l.stop = context.WithCancel(ctx)
	for _, run := range []func(context.Context) error{l.Run, l.messages.Run, l.neighbors.Run} {
		l.done.Add(1)
		g.Go(func() error {
			defer l.done.Done()
			return run(ctx)
		})
	}
	return l, nil
}

// stopped ends the fast lane: what is held is released, what was asked of neighbors is
// cancelled, and no queue is watched any more.
func (l *lane) stopped() *lane {
	if l == nil {
		return nil
	}
	l.stop()
	l.done.Wait()
	for queue := range l.marks {
		_ = l.library.SetQueueMarks(queue, 0, 0) // the queue may have gone
	}
	_, _ = l.Close(), l.messages.Close() // nothing waits in them
	return nil
}

// control brings the fast lane to what is configured.
func (o *orch) control(ctx context.Context, g task.Group) {
	if o.sw == nil || o.snapshot == nil {
		return
	}
	o.sw.laneErr = nil
	if !policy.Controls(o.snapshot) {
		o.sw.learner.Store(nil)
		o.sw.lane = o.sw.lane.stopped()
		return
	}
	if o.sw.laneErr = o.sw.noFlowControl(); o.sw.laneErr != nil {
		return
	}
	if o.sw.lane == nil {
		if o.sw.lane, o.sw.laneErr = startLane(ctx, g, o.sw.FlowControl.Flows(), o.Log); o.sw.laneErr != nil {
			return
		}
	}
	o.sw.learner.Store(o.sw.lane.Task)
	o.sw.laneErr = o.sw.lane.configure(o.snapshot, o.sw.FlowControl)
}

// noFlowControl says why the switch cannot watch and hold single flows; nil: it can.
func (s *opened) noFlowControl() error {
	for _, n := range []engine.Need{engine.NeedThreshold, engine.NeedHold} {
		if c := s.outcome.Choices[n]; c.Method == engine.None {
			return errors.New(c.Reason)
		}
	}
	if s.outcome.Choices == nil {
		return errors.New("the switch has not been asked yet what it can do")
	}
	return nil
}

// configure gives the fast lane what is configured and known now.
func (l *lane) configure(s *config.Snapshot, sw FlowControl) error {
	l.neighbors.SetPorts(watched(s))
	l.neighbors.Await(neighborPatience)
	c := flowControl(s)
	c.Ports = controlPorts(s, l.neighbors.Ports(), sw.PortID)
	queues, err := controlQueues(s, sw, c.Sends())
	c.Queues = queues
	key := sai.FlowKeyLabel
	if s.Global.Classification == config.Classify5Tuple {
		key = sai.FlowKeyFiveTuple
	}
	if !l.prepared || l.key != key || l.seed != c.Seed {
		if err := errors.Join(l.library.SetFlowKey(key), l.library.SetStreamSeed(c.Seed)); err != nil {
			return err
		}
		if !l.prepared {
			l.doubt(s, sw)
		}
		l.prepared, l.key, l.seed = true, key, c.Seed
	}
	if l.config == nil || !reflect.DeepEqual(l.config, c) {
		if err := l.messages.Configure(c.Messages()); err != nil {
			return err
		}
		l.config = c
		l.Configure(c)
	}
	return errors.Join(err, l.mark(queues))
}

// doubt notes that an earlier process may have left marks on any queue.
func (l *lane) doubt(s *config.Snapshot, sw FlowControl) {
	for _, p := range policy.Ports(s) {
		ids, err := sw.QueueIDs(p.Name)
		if err != nil {
			continue // where a port needs queues this is said elsewhere
		}
		for _, id := range ids {
			l.marks[id] = marks{high: math.MaxUint32, low: math.MaxUint32} // no threshold has these
		}
	}
}

// mark sets the marks of queues, and takes those away that are no longer wanted.
func (l *lane) mark(queues map[sai.ObjectID]flowcontrol.Queue) error {
	var errs []error
	set := func(queue sai.ObjectID, m marks) {
		if l.marks[queue] == m {
			return
		}
		if err := l.library.SetQueueMarks(queue, m.high, m.low); err != nil {
			errs = append(errs, err)
			return
		}
		l.marks[queue] = m
	}
	for queue := range l.marks {
		if _, ok := queues[queue]; !ok {
			set(queue, marks{})
		}
	}
	for queue, q := range queues {
		t := q.Threshold
		set(queue, marks{uint32(min(t.High, math.MaxUint32)), uint32(min(max(t.Low, 1), math.MaxUint32-1))})
	}
	if len(errs) > 0 {
		return fmt.Errorf("set the marks of %d queues: %w", len(errs), errs[0])
	}
	return nil
}
