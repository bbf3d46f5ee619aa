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
	config, appl, state, counters, flex *sonicdb.DB
	log                                 *slog.Logger
	patience, pause                     time.Duration
	ending                              <-chan struct{} // closed: orchagent is waited for no more

	memory   memory
	ports    []string          // that there are
	channels map[string]string // PortChannel by member
	able     capability
	answered capability         // by which orchagent refused what it refused
	refused  map[string]refusal // by row, what orchagent did not take
	silent   bool               // orchagent does not answer for ACLs: a release older than that
	notes    map[string]string  // by row, what the operator should know
	leaving  map[string]bool    // rows that were removed, and maybe not yet by orchagent
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
	Log *slog.Logger // nil: none

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
	drv := &Driver{
		log: log, patience: Patience, pause: firstPause, ending: ctx.Done(),
		refused: map[string]refusal{}, notes: map[string]string{}, leaving: map[string]bool{},
	}
	drv.memory.file = o.Memory
	if o.Stream != nil || hft.Available() {
		drv.stream = &stream{}
		drv.stream.Open = o.Stream
	}
	for name, db := range map[string]**sonicdb.DB{"CONFIG_DB": &drv.config, "APPL_DB": &drv.appl, "STATE_DB": &drv.state, "COUNTERS_DB": &drv.counters, "FLEX_COUNTER_DB": &drv.flex} {
		var err error
		if *db, err = sonicdb.Open(d, name, log); err != nil {
			return nil, errors.Join(err, drv.Close())
		}
	}
	return drv, nil
}

// Close closes the connections. The rows stay.
func (d *Driver) Close() error {
	var errs []error
	for _, db := range []*sonicdb.DB{d.config, d.appl, d.state, d.counters, d.flex} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

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
	state, err := get(d.state, rowSwitch, rowACL)
	if err != nil {
		return nil, engine.Features{}, err
	}
	if state[0] == nil {
		return nil, engine.Features{}, errors.New("orchagent has not written SWITCH_CAPABILITY|switch to STATE_DB: it does not run yet")
	}
	config, err := get(d.config, rowHash, rowSFlow)
	if err != nil {
		return nil, engine.Features{}, err
	}
	d.able = capabilityOf(state[0], state[1], config[0], config[1])
	if d.able != d.answered {
		d.answered = d.able
		clear(d.refused)
	}
	session := rows.Row{Table: tableMirror, Key: nameSession}
	a := d.able.abilities(d.refusedNow(session.Name()))
	queues, err := d.queueObjects()
	a.Set(engine.NeedThreshold, engine.Sampled, d.able.depths(queues, d.streams()))
	return a, engine.Features{MinSampling: minSampling}, err
}

// refusedNow returns the reason for which a row waits before another try, or "".
func (d *Driver) refusedNow(name string) string {
	if no := d.refused[name]; time.Now().Before(no.until) {
		return no.why
	}
	return ""
}

// refuse records that orchagent refused a row.
func (d *Driver) refuse(r rows.Row, why error) {
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
	for _, key := range slices.Sorted(maps.Keys(d.notes)) {
		all = append(all, key+": "+d.notes[key])
	}
	if d.stream != nil {
		if err := d.stream.Err(); err != nil {
			all = append(all, "High Frequency Telemetry cannot be read: "+err.Error())
		}
	}
	return all
}
