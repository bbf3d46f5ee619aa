// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/switch/hft"
	"sluice/yang/rows"
)

const (
	// Patience is how long orchagent has to report in STATE_DB whether it took a row.
	Patience = 5 * time.Second

	// readTime is how long Redis may take to answer, a new connection included.
	readTime = 3 * time.Second

	// Refused rows are tried again after a while, since it may have been setting up its
	// ports, or out of room: after firstPause, doubled up to longestPause.
	firstPause   = time.Minute
	longestPause = time.Hour
)

// Driver writes rows that orchagent and syncd take. It implements [engine.Shared].
type Driver struct {
	db   *store
	said answers
	log  *slog.Logger
	warm warm

	settings settings
	memory   memory
	ports    []string          // that there are
	channels map[string]string // PortChannel by member
	able     capability
	answered capability // capability in force at the refusals
	queueIDs queueIDs
	stream   *stream // of High Frequency Telemetry; nil: the kernel has none
}

// refusal is a row that orchagent refused, with the reason.
type refusal struct {
	fields map[string]string
	why    string
	pause  time.Duration
	until  time.Time // it is not tried again before
}

var (
	_ engine.Shared = (*Driver)(nil)
	_ engine.Setter = (*Driver)(nil)
)

// Options of a driver.
type Options struct {
	Log *slog.Logger // or nil

	// Memory is the file of the hash fields that the driver has added, so that they are its
	// own after a reboot, too; "" keeps them in this process only.
	Memory string

	// Stream opens the socket of High Frequency Telemetry, in place of the kernel's; nil: the
	// kernel's, if it has one.
	Stream func() (fd int, err error)
}

// New returns a driver of a namespace's databases. When ctx is done it writes and removes
// rows as before, but returns without waiting for orchagent. Close it in the end.
func New(ctx context.Context, d *sonicdb.Databases, o Options) (*Driver, error) {
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	db, err := openStore(d, log)
	if err != nil {
		return nil, err
	}
	drv := &Driver{
		db: db, log: log, warm: warm{state: db.state}, memory: memory{o.Memory},
		said: answers{db: db, log: log, patience: Patience, pause: firstPause, ending: ctx.Done(), refused: map[string]refusal{}, notes: map[string]string{}, leaving: map[string]leave{}, meets: map[string]engine.Need{}},
	}
	if o.Stream != nil || hft.Available() {
		drv.stream = &stream{}
		drv.stream.Open = o.Stream
	}
	return drv, nil
}

// Close closes the connections. The rows stay.
func (d *Driver) Close() error { return d.db.close() }

// SetPorts learns which ports there are, and which PortChannels they are in.
func (d *Driver) SetPorts(ports []engine.Port) error {
	d.ports, d.channels = nil, map[string]string{}
	for _, p := range ports {
		d.ports = append(d.ports, p.Name)
		d.channels[p.Name] = p.Channel
	}
	return nil
}

// get reads the fields of rows, nil for missing ones.
func get(db *sonicdb.DB, wanted ...rows.Row) ([]map[string]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	found, err := db.Get(ctx, wanted...)
	if err != nil {
		return nil, err
	}
	fields := make(map[string]map[string]string, len(found))
	for _, r := range found {
		fields[r.Name()] = r.Fields
	}
	all := make([]map[string]string, len(wanted))
	for i, r := range wanted {
		all[i] = fields[r.Name()]
	}
	return all, nil
}

// getOne is get of one row.
func getOne(db *sonicdb.DB, r rows.Row) (map[string]string, error) {
	all, err := get(db, r)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Probe implements [engine.Driver].
func (d *Driver) Probe() (engine.Abilities, engine.Features, error) {
	state, err := get(d.db.state, rowSwitch, rowACL)
	if err != nil {
		return nil, engine.Features{}, err
	}
	if state[0] == nil {
		return nil, engine.Features{}, errors.New("orchagent has not written SWITCH_CAPABILITY|switch to STATE_DB: it does not run yet")
	}
	hash, sflow, err := d.settings.read(d.db.config, time.Now())
	if err != nil {
		return nil, engine.Features{}, err
	}
	d.able = capabilityOf(state[0], state[1], hash, sflow)
	if d.able != d.answered {
		d.answered = d.able
		clear(d.said.refused)
	}
	session := rows.Row{Table: tableMirror, Key: nameSession}
	a := d.able.abilities(d.said.refusedNow(session.Name()), d.said.refusedMethod(engine.NeedPlacement))
	queues, err := d.queueObjects()
	a.Set(engine.NeedThreshold, engine.Sampled, d.able.depths(queues, d.streams()))
	return a, engine.Features{MinSampling: minSampling}, err
}

// refusedNow returns the reason for which a row waits before another try, or "".
func (d *answers) refusedNow(name string) string {
	if no := d.refused[name]; time.Now().Before(no.until) {
		return no.why
	}
	return ""
}

// refusedMethod returns the reason for which a row waits that makes the method of a need, or "".
func (d *answers) refusedMethod(need engine.Need) string {
	for _, name := range slices.Sorted(maps.Keys(d.refused)) {
		if why := d.refusedNow(name); why != "" && d.meets[name] == need {
			return why
		}
	}
	return ""
}

// refuse records that orchagent refused a row.
func (d *answers) refuse(r rows.Row, why error) {
	pause := d.pause
	if was, again := d.refused[r.Name()]; again && maps.Equal(was.fields, r.Fields) {
		pause = min(2*was.pause, longestPause)
	}
	d.refused[r.Name()] = refusal{r.Fields, why.Error(), pause, time.Now().Add(pause)}
}

// Objects implements [engine.Driver].
func (d *Driver) Objects(p engine.Policy, c engine.Choices, _ engine.Features) []engine.Object {
	all := objects(p, c, d.able, d.channels)
	if c.Method(engine.NeedThreshold) != engine.Sampled {
		return all
	}
	if d.stream != nil {
		all = append(all, streamObjects(p.Depths)...)
	}
	if !d.streams() { // a stream that ends has syncd poll again
		all = append(all, depthObjects(p.Depths, d.queueIDs.all)...)
	}
	return all
}

// streams reports whether High Frequency Telemetry streams all queues that are read.
func (d *Driver) streams() bool { return d.stream != nil && d.stream.whole.Load() }

// Copies reports whether a policy's objects copy packets to the CPU, every one that they
// match.
func (d *Driver) Copies(p engine.Policy) bool { return copies(p, d.able) }

// Count is part of the daemon's interface of a switch: objects of this driver are without
// counters.
func (d *Driver) Count(*engine.Record) (packets, octets uint64, err error) {
	return 0, 0, fmt.Errorf("%w: the driver orchagent has no counters of its own", engine.ErrGone)
}

// Warnings returns the faults of rows in force, for the operator.
func (d *Driver) Warnings() []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(d.said.notes)) {
		all = append(all, key+": "+d.said.notes[key])
	}
	all = append(all, d.said.lingering(time.Now())...)
	if d.stream != nil {
		if err := d.stream.Err(); err != nil {
			all = append(all, "High Frequency Telemetry cannot be read: "+err.Error())
		}
	}
	return all
}
