// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"

	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/switch/saicheck"
	"sluice/orchagent-ext/switch/saidriver"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// Reporter writes the events of a check, one JSON value a line. It is the watcher of the
// library's calls and the ledger of the check's objects.
type Reporter struct {
	events  *json.Encoder
	records map[engine.ID]*engine.Record
}

// NewReporter returns a reporter that writes to events. left are the objects of an earlier
// process; a row that cannot be parsed is dropped.
func NewReporter(events io.Writer, left []saicheck.Row) *Reporter {
	r := &Reporter{events: json.NewEncoder(events), records: map[engine.ID]*engine.Record{}}
	for _, row := range left {
		if is, err := engine.ParseRecord(engine.ID(row.ID), row.Fields); err == nil {
			r.records[is.ID] = is
		}
	}
	return r
}

// Fail writes why the check ends early.
func (r *Reporter) Fail(err error) { r.write(saicheck.Event{Error: err.Error()}) }

// write writes one event as JSON.
func (r *Reporter) write(e saicheck.Event) {
	_ = r.events.Encode(e) // without the reader the process is ended
}

// Calling implements [sai.Watcher]. The event is written before the call, so that the
// reader knows the call that ends the process.
func (r *Reporter) Calling(c *sai.Call) int {
	r.write(saicheck.Event{Calling: callOf(c)})
	return 0
}

// Called implements [sai.Watcher]. The event has the status as number and as name, and
// the values that were read.
func (r *Reporter) Called(_ int, c *sai.Call, answer sai.Status) {
	call := callOf(c)
	call.Status, call.Code = int32(answer), answer.String()
	r.write(saicheck.Event{Called: call})
}

// callOf returns a call for the report, with its attributes as text.
func callOf(c *sai.Call) *saicheck.Call {
	call := &saicheck.Call{Call: c.Name, Object: c.Object}
	if c.ID != sai.Null {
		call.ID = c.ID.String()
	}
	for i := range c.Arguments {
		a := &c.Arguments[i]
		call.Attributes = append(call.Attributes, saicheck.Attribute{Name: a.Name, ID: a.ID, Value: a.Passed()})
	}
	return call
}

// Load implements [engine.Ledger]. It has the rows of an earlier process, and all that
// were saved since.
func (r *Reporter) Load() ([]*engine.Record, error) {
	return slices.Collect(maps.Values(r.records)), nil
}

// Save implements [engine.Ledger]. The rows go to the reader, which outlives a process
// that a call ends.
func (r *Reporter) Save(records []*engine.Record, gone []engine.ID) error {
	var changed []saicheck.Row
	for _, id := range gone {
		delete(r.records, id)
		changed = append(changed, saicheck.Row{ID: string(id)})
	}
	for _, is := range records {
		r.records[is.ID] = is
		changed = append(changed, saicheck.Row{ID: string(is.ID), Fields: is.Fields()})
	}
	r.write(saicheck.Event{Saved: changed})
	return nil
}

// TryMethods tries each method on one port, the library's first where port has no name,
// but for those in done. An error ends the check early; objects may be left.
func (r *Reporter) TryMethods(ctx context.Context, lib *sai.Library, d *saidriver.Driver, port engine.Port, policies map[engine.Need]engine.Policy, done []saicheck.Method, log *slog.Logger) error {
	if port.Name == "" {
		var err error
		if port, err = firstPort(lib); err != nil {
			return err
		}
	}
	if err := d.Ports.Set([]engine.Port{port}); err != nil {
		return err
	}
	if why := d.Ports.Missing(port.Name); why != "" {
		return errors.New(why)
	}
	c, err := newChecker(d)
	if err != nil {
		return err
	}
	var methods []saicheck.Method
	for _, n := range []engine.Need{engine.NeedFlowLabel, engine.NeedExport, engine.NeedPlacement, engine.NeedThreshold, engine.NeedHold} {
		for _, m := range c.methods(n) {
			if m == engine.Source { // which needs nothing of a library
				continue
			}
			methods = append(methods, saicheck.Method{Need: string(n), Method: string(m)})
		}
	}
	opened := &saicheck.Opened{Port: port.Name, Methods: methods}
	if v := lib.Version(); v != 0 {
		opened.Version = fmt.Sprintf("%d.%d", v/10000, v/100%100)
	}
	r.write(saicheck.Event{Opened: opened})
	if len(r.records) > 0 {
		if err := c.clear(r, log); err != nil {
			return err
		}
	}
	for _, m := range methods {
		if slices.Contains(done, m) {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.write(saicheck.Event{Begins: &m})
		is, err := c.tryMethod(r, engine.Need(m.Need), engine.Method(m.Method), policies[engine.Need(m.Need)], log)
		if err != nil {
			return fmt.Errorf("%s by %s: objects are left on the switch: %w", m.Need, m.Method, err)
		}
		r.write(saicheck.Event{Ends: &saicheck.Result{Works: is.Works, Reason: is.Reason, Problems: is.Problems, EntryMS: is.Entry.Seconds() * 1000, Room: is.Room, Trials: is.Trials}})
	}
	return nil
}

// AnyPort is the name of the library's first port, for an operator who named none.
const AnyPort = "first"

// firstPort returns the library's first port, with its lanes.
func firstPort(lib *sai.Library) (engine.Port, error) {
	ids, err := lib.GetObjects(saiattr.Switch, lib.Switch, saiattr.SwitchPorts)
	if err == nil && len(ids) == 0 {
		err = errors.New("the switch has no ports")
	}
	if err != nil {
		return engine.Port{}, err
	}
	lanes, err := lib.GetNumbers(saiattr.Port, ids[0], saiattr.PortLanes)
	return engine.Port{Name: AnyPort, Lanes: lanes}, err
}
