// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/asic"
	"sluice/orchagent-ext/config"
	"sluice/orchagent-ext/logging"
	"sluice/orchagent-ext/orch"
	"sluice/orchagent-ext/saicheck"
	"sluice/orchagent-ext/sandbox"
	"sluice/orchagent-ext/sonicdb"
	"sluice/orchagent-ext/telemetry"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
	"sluice/yang/rows"
)

// reporter writes what a check finds out. It is the ledger of its objects, too.
type reporter struct {
	events  *json.Encoder
	records map[asic.ID]*asic.Record
}

func (r *reporter) tell(e saicheck.Event) {
	_ = r.events.Encode(e) // without the reader the process is ended
}

// Calling implements [sai.Watcher].
func (r *reporter) Calling(c *sai.Call) int {
	r.tell(saicheck.Event{Calling: callOf(c)})
	return 0
}

// Called implements [sai.Watcher].
func (r *reporter) Called(_ int, c *sai.Call, answer sai.Status) {
	call := callOf(c)
	call.Status, call.Code = int32(answer), answer.String()
	r.tell(saicheck.Event{Called: call})
}

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

// Load implements [asic.Ledger].
func (r *reporter) Load() ([]*asic.Record, error) { return slices.Collect(maps.Values(r.records)), nil }

// Save implements [asic.Ledger].
func (r *reporter) Save(records []*asic.Record, gone []asic.ID) error {
	var changed []saicheck.Row
	for _, id := range gone {
		delete(r.records, id)
		changed = append(changed, saicheck.Row{ID: string(id)})
	}
	for _, is := range records {
		r.records[is.ID] = is
		changed = append(changed, saicheck.Row{ID: string(is.ID), Fields: is.Fields()})
	}
	r.tell(saicheck.Event{Saved: changed})
	return nil
}

// saiCheck does what an order says.
func saiCheck(ctx context.Context, o *options, in io.Reader, out, stderr io.Writer) error {
	var order saicheck.Order
	if err := json.NewDecoder(in).Decode(&order); err != nil {
		return fmt.Errorf("read what to check, as `sluice sai-check` writes it: %w", err)
	}
	if file, is := out.(*os.File); is { // the library's own lines go elsewhere
		fd, err := unix.Dup(int(file.Fd()))
		if err == nil {
			err = unix.Dup3(int(os.Stderr.Fd()), int(file.Fd()), 0)
		}
		if err != nil {
			return os.NewSyscallError("dup", err)
		}
		out = os.NewFile(uintptr(fd), "events")
	}
	log, err := logging.New(stderr, "sluiced", o.level, o.syslog)
	if err != nil {
		return err
	}
	r := &reporter{events: json.NewEncoder(out), records: map[asic.ID]*asic.Record{}}
	for _, row := range order.Left {
		if is, err := asic.ParseRecord(asic.ID(row.ID), row.Fields); err == nil {
			r.records[is.ID] = is
		}
	}
	if o.sandbox != "off" {
		if err := sandbox.Enter(o.profileOfSandbox()); err != nil {
			log.Warn("system calls that are never needed stay allowed", "error", err)
		}
	}
	if err := r.check(ctx, o, &order, log); err != nil {
		r.tell(saicheck.Event{Error: err.Error()})
		return err
	}
	return nil
}

func (r *reporter) check(ctx context.Context, o *options, order *saicheck.Order, log *slog.Logger) error {
	if o.library == "" {
		return errors.New("no SAI library: give its path with --sai-library")
	}
	release, err := claimSwitch(o.lockFolder)
	if err != nil {
		return err
	}
	defer release()
	port := asic.Port{Name: order.Port, Lanes: order.Lanes}
	if err := o.consult(ctx, &port); err != nil {
		return err
	}
	soft := filepath.Base(o.library) == softLibrary
	if soft && port.Name == "" {
		return errors.New("the software switch needs a network device: give its name by --port")
	}
	use := libraryUse{watcher: r}
	if port.Name != "" {
		use.ports = []asic.Port{port}
	}
	policies, err := policiesOf(cmp.Or(port.Name, anyPort), &use)
	if err != nil {
		return err
	}
	lib, err := o.openLibrary(use)
	if err != nil {
		return err
	}
	err = r.walk(ctx, lib, asic.NewSAI(lib, asic.SAIOptions{Connected: o.connect, Kernel: soft}), port, policies, order, log)
	return errors.Join(err, lib.Close())
}

// consult completes the port by CONFIG_DB, where there is one, and refuses where an
// earlier sluiced has left objects on the switch.
func (o *options) consult(ctx context.Context, port *asic.Port) error {
	databases, err := sonicdb.Load(o.dbConfig, o.namespace)
	if err != nil {
		if o.dbConfig != "" {
			return err
		}
		return nil // no SONiC is needed
	}
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	left, err := read(ctx, databases, "STATE_DB", telemetry.TableObject)
	if err != nil {
		return nil // as if there was none: Redis does not run
	}
	if len(left) > 0 {
		return fmt.Errorf("STATE_DB tells of %d objects of Sluice on the switch: remove them first, by sluiced --remove", len(left))
	}
	configured, err := read(ctx, databases, "CONFIG_DB", config.Tables()...)
	if err != nil {
		return nil
	}
	snapshot, _ := config.New().Apply(configured)
	for _, p := range orch.Ports(snapshot) {
		if len(port.Lanes) == 0 && (p.Name == port.Name || port.Name == "") {
			*port = p
		}
	}
	return nil
}

// anyPort is the name of the library's first port, where none was given.
const anyPort = "first"

// policiesOf are what an operator's rows, with the defaults of all others, ask of the
// switch on a port, for each need alone.
func policiesOf(port string, use *libraryUse) (map[asic.Need]asic.Policy, error) {
	row := func(table, key string, fields ...string) sonicdb.Change {
		r := rows.Row{Table: table, Key: key, Fields: map[string]string{}}
		for i := 0; i < len(fields); i += 2 {
			r.Fields[fields[i]] = fields[i+1]
		}
		return sonicdb.Change{Row: r}
	}
	s, rejected := config.New().Apply([]sonicdb.Change{
		row("PORT", port, "lanes", "0"),
		row("SLUICE_PORT", port, "role", "edge"),
		row("SLUICE_FLOW_LABEL", "global", "admin_state", "enabled", "manage_switch_hash", "true"),
		row("SLUICE_IPFIX", "global", "admin_state", "enabled", "sampling_rate", "256"),
		row("SLUICE_IPFIX_COLLECTOR", "check", "address", "2001:db8::1"),
		row("SLUICE_PLACEMENT", "global", "admin_state", "enabled"),
	})
	if len(rejected) > 0 {
		return nil, &rejected[0]
	}
	use.cpuRate, use.cpuBurst = *s.Global.CpuRate, *s.Global.CpuBurst
	all := orch.Policy(s)
	label, export, placed, flows := all, all, all, all
	placed.Export = nil
	label.Export, label.Placement = nil, nil
	export.Label, export.Ports, export.Placement = nil, nil, nil
	flows.Label, flows.Export, flows.Placement, flows.SingleFlows = nil, nil, nil, true
	return map[asic.Need]asic.Policy{
		asic.NeedFlowLabel: label, asic.NeedExport: export, asic.NeedPlacement: placed, asic.NeedThreshold: flows, asic.NeedHold: flows,
	}, nil
}

// walk tries each method that was not tried yet.
func (r *reporter) walk(ctx context.Context, lib *sai.Library, d *asic.SAI, port asic.Port, policies map[asic.Need]asic.Policy, order *saicheck.Order, log *slog.Logger) error {
	if port.Name == "" {
		var err error
		if port, err = firstPort(lib); err != nil {
			return err
		}
	}
	if err := d.SetPorts([]asic.Port{port}); err != nil {
		return err
	}
	if why := d.Missing(port.Name); why != "" {
		return errors.New(why)
	}
	checker, err := asic.NewChecker(d)
	if err != nil {
		return err
	}
	var methods []saicheck.Method
	for _, n := range []asic.Need{asic.NeedFlowLabel, asic.NeedExport, asic.NeedPlacement, asic.NeedThreshold, asic.NeedHold} {
		for _, m := range checker.Methods(n) {
			methods = append(methods, saicheck.Method{Need: string(n), Method: string(m)})
		}
	}
	opened := &saicheck.Opened{Port: port.Name, Methods: methods}
	if v := lib.Version(); v != 0 {
		opened.Version = fmt.Sprintf("%d.%d", v/10000, v/100%100)
	}
	r.tell(saicheck.Event{Opened: opened})
	if len(r.records) > 0 {
		if err := checker.Clear(r, log); err != nil {
			return err
		}
	}
	for _, m := range methods {
		if slices.Contains(order.Done, m) {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.tell(saicheck.Event{Begins: &m})
		is, err := checker.Check(r, asic.Need(m.Need), asic.Method(m.Method), policies[asic.Need(m.Need)], log)
		if err != nil {
			return fmt.Errorf("%s by %s: objects are left on the switch: %w", m.Need, m.Method, err)
		}
		r.tell(saicheck.Event{Ends: &saicheck.Result{Works: is.Works, Reason: is.Reason, Problems: is.Problems}})
	}
	return nil
}

// firstPort is the library's first port, by its lanes.
func firstPort(lib *sai.Library) (asic.Port, error) {
	ids, err := lib.GetObjects(saiattr.Switch, lib.Switch, saiattr.SwitchPorts)
	if err == nil && len(ids) == 0 {
		err = errors.New("the switch has no ports")
	}
	if err != nil {
		return asic.Port{}, err
	}
	lanes, err := lib.GetNumbers(saiattr.Port, ids[0], saiattr.PortLanes)
	return asic.Port{Name: anyPort, Lanes: lanes}, err
}
