package orchagent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
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

// Foresee implements [asic.Shared].
func (d *Driver) Foresee(o *asic.Object) (*asic.Record, error) {
	r := &asic.Record{Object: *o, ID: asic.ID(o.Key)}
	if o.Type == asic.TypeHashField {
		return r, d.foreseeHash(r)
	}
	row := rowOf(o)
	if no, ok := d.refused[o.Key]; ok && maps.Equal(no.fields, row.Fields) {
		return nil, fmt.Errorf("%w: %s", asic.ErrRefused, no.why)
	}
	there, err := getOne(d.config, row)
	if err != nil {
		return nil, err
	}
	if there != nil && !maps.Equal(there, row.Fields) {
		return nil, fmt.Errorf("%w: CONFIG_DB has a row %s that Sluice did not write: remove it, or do without", asic.ErrRefused, o.Key)
	}
	return r, nil
}

// Create implements [asic.Driver].
func (d *Driver) Create(o *asic.Object, _ map[string]*asic.Record) (*asic.Record, error) {
	r, err := d.Foresee(o)
	if err != nil {
		return nil, err
	}
	if o.Type == asic.TypeHashField {
		return r, d.addHash(r)
	}
	row := rowOf(o)
	if d.leaving[o.Key] {
		d.awaitGone(row)
	}
	var was []rows.Row
	if there, err := getOne(d.config, row); err != nil {
		return nil, err
	} else if there != nil {
		was = []rows.Row{row}
	}
	if err := d.config.Swap(context.Background(), was, sonicdb.Change{Row: row}); err != nil {
		return nil, err
	}
	if err := d.confirm(row); err != nil {
		d.refused[o.Key] = refusal{row.Fields, err.Error()}
		err = fmt.Errorf("%w: %w", asic.ErrRefused, err)
		if gone := d.Remove(r); gone != nil && !errors.Is(gone, asic.ErrGone) {
			return nil, fmt.Errorf("remove %s, which orchagent did not take: %w", o.Key, gone) // tried again, and removed first
		}
		return nil, err
	}
	return r, nil
}

// Remove implements [asic.Driver]: the whole row where it is ours.
func (d *Driver) Remove(r *asic.Record) error {
	if r.Type == asic.TypeHashField {
		return d.removeHash(r)
	}
	row := rowOf(&r.Object)
	there, err := getOne(d.config, row)
	if err != nil {
		return err
	}
	delete(d.notes, r.Key)
	if there == nil {
		return asic.ErrGone
	}
	row.Fields = there
	if err := d.config.Swap(context.Background(), []rows.Row{row}, sonicdb.Change{Row: row, Deleted: true}); err != nil {
		return err
	}
	d.leaving[r.Key] = true
	return nil
}

// Exists implements [asic.Driver]. A row that was changed comes back as it is.
func (d *Driver) Exists(r *asic.Record) (bool, error) {
	switch r.Type {
	case asic.TypeHashField:
		return d.hashes(r)
	case asic.TypeRow:
	default:
		return false, nil // of another driver
	}
	row := rowOf(&r.Object)
	there, err := getOne(d.config, row)
	if err != nil || there == nil {
		delete(d.notes, r.Key)
		return false, err
	}
	if !maps.Equal(there, row.Fields) {
		var needs []string
		if v := r.Attr(attrNeeds); v != "" {
			needs = strings.Split(strings.TrimPrefix(v, "@"), ",@")
		}
		r.Attrs = attrs(there, needs)
	}
	return true, d.look(row)
}

// Strays implements [asic.Driver]: there are none, since the ledger knows rows
// before they are written.
func (d *Driver) Strays(map[string]*asic.Record) (int, error) { return 0, nil }

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
