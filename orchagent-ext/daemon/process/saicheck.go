// SPDX-License-Identifier: Apache-2.0

package process

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/daemon/settings"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/host/logging"
	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/switch/saicheck"
	"sluice/orchagent-ext/switch/saidriver"
	"sluice/orchagent-ext/switch/trust"
	"sluice/yang/rows"
)

// saiCheck carries out an order.
func saiCheck(ctx context.Context, o *Options, in io.Reader, out, stderr io.Writer) error {
	var order saicheck.Order
	if err := json.NewDecoder(in).Decode(&order); err != nil {
		return fmt.Errorf("read the order of `sluice sai-check`: %w", err)
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
	log, err := logging.New(stderr, "sluiced", o.Level, o.Syslog)
	if err != nil {
		return err
	}
	r := trust.NewReporter(out, order.Left)
	o.enterSandbox(log)
	if err := checkLibrary(ctx, o, r, &order, log); err != nil {
		r.Fail(err)
		return err
	}
	return nil
}

// checkLibrary opens the library on one port, and has the reporter try its methods.
func checkLibrary(ctx context.Context, o *Options, r *trust.Reporter, order *saicheck.Order, log *slog.Logger) error {
	if o.Library == "" {
		return errors.New("no SAI library: give its path with --sai-library")
	}
	release, err := claimSwitch(o.LockFolder)
	if err != nil {
		return err
	}
	defer release()
	port := engine.Port{Name: order.Port, Lanes: order.Lanes}
	if err := o.consult(ctx, &port); err != nil {
		return err
	}
	soft := filepath.Base(o.Library) == SoftLibrary
	if soft && port.Name == "" {
		return errors.New("the software switch needs a network device: give its name by --port")
	}
	use := libraryUse{watcher: r, noExtension: order.NoExtension, avoid: map[string]bool{}}
	for _, call := range order.Avoid {
		use.avoid[call] = true
	}
	if port.Name != "" {
		use.ports = []engine.Port{port}
	}
	policies, err := policiesOf(cmp.Or(port.Name, trust.AnyPort), &use)
	if err != nil {
		return err
	}
	lib, err := o.openLibrary(use)
	if err != nil {
		return err
	}
	err = r.TryMethods(ctx, lib, saidriver.New(lib, saidriver.Options{Connected: o.Connect, Kernel: soft}), port, policies, order.Done, log)
	return errors.Join(err, lib.Close())
}

// consult completes the port by CONFIG_DB, where there is one, and refuses where an
// earlier sluiced has left objects on the switch.
func (o *Options) consult(ctx context.Context, port *engine.Port) error {
	databases, err := sonicdb.Load(o.DBConfig, o.Namespace)
	if err != nil {
		if o.DBConfig != "" {
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
		return fmt.Errorf("STATE_DB lists %d objects of Sluice on the switch: remove them first with sluiced --remove", len(left))
	}
	configured, err := read(ctx, databases, "CONFIG_DB", config.Tables()...)
	if err != nil {
		return nil
	}
	snapshot, _ := config.New().Apply(configured)
	for _, p := range settings.Of(snapshot).Ports {
		if len(port.Lanes) == 0 && (p.Name == port.Name || port.Name == "") {
			*port = p
		}
	}
	return nil
}

// policiesOf are the policies of an operator's rows, with the defaults of all others, for the
// switch on a port, for each need alone.
func policiesOf(port string, use *libraryUse) (map[engine.Need]engine.Policy, error) {
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
	all := settings.Of(s).Policy
	use.cpu = all.CPU
	label, export, placed, flows := all, all, all, all
	placed.Export = nil
	label.Export, label.Placement = nil, nil
	export.Label, export.Ports, export.Placement = nil, nil, nil
	flows.Label, flows.Export, flows.Placement, flows.SingleFlows = nil, nil, nil, true
	return map[engine.Need]engine.Policy{
		engine.NeedFlowLabel: label, engine.NeedExport: export, engine.NeedPlacement: placed, engine.NeedThreshold: flows, engine.NeedHold: flows,
	}, nil
}
