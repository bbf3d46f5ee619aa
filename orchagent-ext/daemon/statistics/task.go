// SPDX-License-Identifier: Apache-2.0

package statistics

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"sluice/orchagent-ext/daemon/status"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/yang/rows"
)

// Switch is where statistics are read. The task alone calls its methods.
type Switch interface {
	// Queues returns how many egress queues each of some ports has.
	Queues(ports []string) (map[string]int, error)

	// AtOnce returns of how many ports, or of how many queues, one call reads statistics.
	AtOnce(ports bool) int

	// ReadPorts reads the counters of ports, in their order; nil: a port has none.
	ReadPorts(names []string) []*telemetry.PortStats

	// ReadQueues reads the counters of egress queues, in their order; nil: a queue has none.
	ReadQueues(queues []Object) ([]*telemetry.QueueStats, error)
}

// period is the time between two rounds.
const period = time.Second

// Settings are a switch with its ports. The task alone calls the switch.
type Settings struct {
	Switch Switch // nil: none is open, and the rows stay as they are
	Ports  []Port
}

// Report is the state of the task.
type Report struct {
	Warning string // about ports that are set down against PORT; "": there is none
}

// Task publishes statistics. Make it with [New]. [Task.Reconcile] and [Task.Report] are for any
// goroutine, and wait for nothing; all else is of [Task.Run].
type Task struct {
	log     *slog.Logger
	now     func() time.Time
	rows    *sonicdb.Mirror // of COUNTERS_DB
	encoder status.Encoder

	wanted atomic.Pointer[settings]
	down   atomic.Pointer[map[string]time.Time] // published: as links has it

	settings // of this round
	plan     plan
	links    links
	linksAt  time.Time                       // at the links
	shown    map[string]*telemetry.PortStats // as they were read last
	queues   map[Object]string               // that have a row, with its key
	err      error                           // that was logged last
}

// settings are those of a round. They are immutable.
type settings struct {
	sw    Switch // nil: the switch is closed
	ports []Port
	named map[string]Port // the same
}

// New returns a task that begins with Reconcile. rows has the tables
// SLUICE_PORT_STATS and SLUICE_QUEUE_STATS.
func New(rows *sonicdb.Mirror, log *slog.Logger, now func() time.Time) *Task {
	return &Task{
		log: log, now: now, rows: rows, encoder: status.Encoder{Log: log},
		shown: map[string]*telemetry.PortStats{}, queues: map[Object]string{},
	}
}

// Reconcile gives the task its settings. Another switch than before is read from its next call on,
// and the ports from the next round on.
func (t *Task) Reconcile(want Settings) {
	s := &settings{sw: want.Switch, ports: want.Ports, named: make(map[string]Port, len(want.Ports))}
	for _, p := range want.Ports {
		s.named[p.Name] = p
	}
	t.wanted.Store(s)
}

// Report implements [task.Worker].
func (t *Task) Report() (r Report) {
	if down := t.down.Load(); down != nil {
		r.Warning = warning(*down, t.now())
	}
	return r
}

// Run reads and publishes until ctx is done. Then it returns nil.
func (t *Task) Run(ctx context.Context) error {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		began := t.now()
		t.begin()
		for ctx.Err() == nil && t.step(began) {
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// replaced reports whether another switch is to be read than in this round.
func (t *Task) replaced() bool {
	want := t.wanted.Load()
	return want != nil && want.sw != t.sw
}

// begin begins a round: it plans which objects to read, and takes away the rows of those that
// are gone.
func (t *Task) begin() {
	if want := t.wanted.Load(); want != nil {
		t.settings = *want
	}
	if t.sw == nil {
		return
	}
	var configured []string
	for _, p := range t.ports {
		if p.Configured {
			configured = append(configured, p.Name)
		}
	}
	queues, err := t.sw.Queues(configured)
	if t.replaced() { // a switch that was closed answers for no queue
		return
	}
	t.plan.begin(t.ports, queues)
	for name := range t.shown {
		if _, known := t.named[name]; !known {
			t.showPort(name, nil)
		}
	}
	for o := range t.queues {
		if o.Queue >= queues[o.Port] {
			t.showQueue(o, nil)
		}
	}
	t.logFailure(errors.Join(t.updateLinks(), err))
}

// updateLinks reads the states of netdevs, which the rows of ports have.
func (t *Task) updateLinks() error {
	states, err := readLinks(t.ports)
	t.linksAt = t.now()
	t.links.update(states, t.ports, t.linksAt)
	down := t.links.down
	t.down.Store(&down)
	for name, s := range t.shown {
		t.showPort(name, s)
	}
	return err
}

// step makes one call, and publishes its answer; false: the round is over. Where another switch is
// to be read the round begins again.
func (t *Task) step(began time.Time) bool {
	if t.replaced() {
		t.begin()
	}
	if t.sw == nil {
		return false
	}
	if t.now().Sub(t.linksAt) > period { // the library is slow, and the round is long
		t.logFailure(t.updateLinks())
	}
	batch := t.plan.batch(t.sw.AtOnce, t.now().Sub(began))
	if len(batch) == 0 {
		return false
	}
	if batch[0].Queue != Itself {
		stats, err := t.sw.ReadQueues(batch)
		if t.replaced() {
			return true
		}
		t.logFailure(err)
		for i, o := range batch {
			t.showQueue(o, stats[i])
		}
		return true
	}
	names := make([]string, len(batch))
	for i, o := range batch {
		names[i] = o.Port
	}
	all := t.sw.ReadPorts(names)
	if t.replaced() {
		return true
	}
	for i, s := range all {
		t.showPort(names[i], s)
	}
	return true
}

// showPort publishes the counters of a port; nil takes the row away.
func (t *Task) showPort(name string, s *telemetry.PortStats) {
	if s == nil {
		delete(t.shown, name)
		t.rows.Delete(telemetry.TablePortStats, name)
		return
	}
	t.shown[name] = s
	s.OperStatus, s.Role = 0, 0 // unset
	rows.SetEnum(&s.OperStatus, t.links.oper(name))
	rows.SetEnum(&s.Role, t.named[name].Role)
	for row := range t.encoder.Encode(s) {
		t.rows.Set(row)
	}
}

// showQueue publishes the counters of a queue; nil takes the row away.
func (t *Task) showQueue(o Object, s *telemetry.QueueStats) {
	if s == nil {
		t.rows.Delete(telemetry.TableQueueStats, t.queues[o])
		delete(t.queues, o)
		return
	}
	for row := range t.encoder.Encode(s) {
		t.queues[o] = row.Key
		t.rows.Set(row)
	}
}

// logFailure logs why counters cannot be read, once while that lasts.
func (t *Task) logFailure(err error) {
	if err != nil && (t.err == nil || t.err.Error() != err.Error()) {
		t.log.Warn("cannot read counters", "error", err)
	}
	t.err = err
}
