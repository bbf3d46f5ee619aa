package orchagent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"sluice/orchagent-ext/asic"
	"sluice/orchagent-ext/sonicdb"
	"sluice/yang/rows"
)

// Patience is how long orchagent has to say in STATE_DB whether it took a row.
const Patience = 5 * time.Second

// Driver writes rows of CONFIG_DB. It implements [asic.Shared].
type Driver struct {
	config, state, counters *sonicdb.DB
	log                     *slog.Logger
	patience                time.Duration

	memory   memory
	ports    []string          // that there are
	channels map[string]string // PortChannel by member
	able     capability
	answered capability         // by which orchagent refused what it refused
	refused  map[string]refusal // by row, what orchagent did not take
	silent   bool               // orchagent does not answer for ACLs: a release older than that
	notes    map[string]string  // by row, what the operator should know
	leaving  map[string]bool    // rows that were removed, and maybe not yet by orchagent
	counts   counterCache
}

// refusal is a row that orchagent did not take, and why.
type refusal struct {
	fields map[string]string
	why    string
}

var _ asic.Shared = (*Driver)(nil)

// New returns a driver of a namespace's databases. No log: nil. Close it in the
// end.
func New(d *sonicdb.Databases, log *slog.Logger) (*Driver, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	drv := &Driver{
		log: log, patience: Patience,
		refused: map[string]refusal{}, notes: map[string]string{}, leaving: map[string]bool{},
	}
	for name, db := range map[string]**sonicdb.DB{"CONFIG_DB": &drv.config, "STATE_DB": &drv.state, "COUNTERS_DB": &drv.counters} {
		var err error
		if *db, err = sonicdb.Open(d, name, log); err != nil {
			return nil, errors.Join(err, drv.Close())
		}
	}
	return drv, nil
}

// Remember makes the driver keep in a file which hash fields it has added, so that
// they are its own after a reboot, too. It is to be called before anything else.
func (d *Driver) Remember(file string) { d.memory.file = file }

// Close closes the connections. The rows stay.
func (d *Driver) Close() error {
	var errs []error
	for _, db := range []*sonicdb.DB{d.config, d.state, d.counters} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// SetPorts learns which ports there are, and which PortChannels they are in.
func (d *Driver) SetPorts(ports []asic.Port) error {
	d.ports, d.channels = nil, map[string]string{}
	for _, p := range ports {
		d.ports = append(d.ports, p.Name)
		d.channels[p.Name] = p.Channel
	}
	return nil
}

// get reads the fields of rows, nil for those that are not there.
func get(db *sonicdb.DB, wanted ...rows.Row) ([]map[string]string, error) {
	found, err := db.Get(context.Background(), wanted...)
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

// Probe implements [asic.Driver].
func (d *Driver) Probe() (asic.Ladder, asic.Features, error) {
	state, err := get(d.state, rowSwitch, rowACL)
	if err != nil {
		return asic.Ladder{}, asic.Features{}, err
	}
	if state[0] == nil {
		return asic.Ladder{}, asic.Features{}, errors.New("orchagent has not written SWITCH_CAPABILITY|switch to STATE_DB: it does not run yet")
	}
	config, err := get(d.config, rowHash, rowSFlow)
	if err != nil {
		return asic.Ladder{}, asic.Features{}, err
	}
	d.able = capabilityOf(state[0], state[1], config[0], config[1])
	if d.able != d.answered {
		d.answered = d.able
		clear(d.refused)
	}
	session := rows.Row{Table: "MIRROR_SESSION", Key: nameSession}
	return d.able.ladder(), d.able.features(d.refused[session.Name()].why), nil
}

// Objects implements [asic.Driver].
func (d *Driver) Objects(p asic.Policy, r asic.Rung, f asic.Features) []asic.Object {
	return objects(p, r, f, d.able, d.channels)
}

// Count implements what package orch asks of a switch: no object here counts.
func (d *Driver) Count(*asic.Record) (packets, octets uint64, err error) {
	return 0, 0, fmt.Errorf("%w: the driver orchagent has no counters of its own", asic.ErrGone)
}

// Warnings are what the operator should know of the rows that stand.
func (d *Driver) Warnings() []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(d.notes)) {
		all = append(all, key+": "+d.notes[key])
	}
	return all
}
