// SPDX-License-Identifier: Apache-2.0

package process

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"sluice/orchagent-ext/daemon/settings"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/switch/orchagent"
	"sluice/orchagent-ext/switch/saidriver"
	"sluice/sai-shim/saiattr"
	"sluice/yang/rows"
	"sluice/yang/text"
)

// dryRun prints the steps from the objects that STATE_DB has to those that CONFIG_DB asks
// for. It only reads.
func dryRun(ctx context.Context, o *Options, databases *sonicdb.Databases, out io.Writer) error {
	configRows, err := read(ctx, databases, "CONFIG_DB", config.Tables()...)
	if err != nil {
		return err
	}
	stateRows, err := read(ctx, databases, "STATE_DB", telemetry.TableObject, telemetry.TableCapability, telemetry.TableConfigError)
	if err != nil {
		return err
	}
	existing, last, exports, good := recorded(stateRows)
	state := config.New()
	state.Remember(good)
	snapshot, rejected := state.Apply(configRows)
	configured := settings.Of(snapshot)
	method := cmp.Or(engine.Method(o.Method), last)
	if method != "" {
		if err := engine.NeedFlowLabel.Check(method); err != nil {
			return err
		}
	}
	var want []engine.Object
	pins := false // single flows have entries
	if configured.Driver == settings.Orchagent {
		method, want, err = wantedRows(ctx, databases, configured, engine.Method(o.Method))
	} else {
		method = cmp.Or(method, engine.Compute)
		features := engine.Features{
			HashIPv6:     saiattr.ECMPHashIPv6.Name,
			HashRDMAIPv6: saiattr.ECMPHashIPv6RDMA.Name, HashRDMAIPv4: saiattr.ECMPHashIPv4RDMA.Name,
			PoliceCPU: true, InnerPort: true, Protocol: true,
		}
		features.HashList = method == last && slices.ContainsFunc(slices.Collect(maps.Values(existing)), func(r *engine.Record) bool { return r.Type == engine.TypeHashList })
		features.Kernel = filepath.Base(o.Library) == SoftLibrary || existing[engine.KeySeed] != nil
		features.First = features.Kernel // as the driver for SAI libraries has it
		if !features.Kernel && !samplesAll(existing) {
			features.MinSampling = saidriver.MinSampling
		}
		p := configured.Policy.Rated(features)
		choices := engine.Chose(engine.NeedFlowLabel, method).AndPlacement(p)
		choices[engine.NeedExport] = engine.Choice{Method: exports}
		pins = choices.Pins()
		want = engine.Objects(p, choices, features.Within(existing))
		if method == last {
			hashesAsThere(want, existing)
		}
	}
	if err != nil {
		return err
	}
	if pins { // flows keep their entries
		maps.DeleteFunc(existing, func(_ string, r *engine.Record) bool { return engine.OfFlow(r) })
	}
	plan, err := engine.Compare(want, existing, engine.Settable)
	if err != nil {
		return err
	}
	steps := plan.Steps()
	if o.JSON {
		encoded, err := json.MarshalIndent(struct {
			Method   engine.Method      `json:"method"`
			Steps    []engine.Step      `json:"steps"`
			Rejected []config.Rejection `json:"rejected"`
		}{method, steps, rejected}, "", "  ")
		if err == nil {
			_, err = out.Write(append(text.JSON(encoded), '\n'))
		}
		return err
	}
	var b strings.Builder
	if err := printSteps(&b, method, steps, rejected); err != nil {
		return err
	}
	_, err = io.WriteString(out, text.Lines(b.String()))
	return err
}

// recorded is what the ledger has, the last method that was chosen ("": first use) and that of
// export (at first use sample), and the rows in force of which CONFIG_DB has other versions. A row
// that sluiced did not write is left out.
func recorded(stateRows []sonicdb.Change) (existing map[string]*engine.Record, last, exports engine.Method, good []rows.Row) {
	existing, exports = map[string]*engine.Record{}, engine.Sample
	for _, c := range stateRows {
		switch c.Row.Table {
		case telemetry.TableObject:
			if r, err := engine.ParseRecord(engine.ID(c.Row.Key), c.Row.Fields); err == nil {
				existing[r.Key] = r
			}
		case telemetry.TableCapability:
			if last = engine.Method(c.Row.Fields["flow_label_method"]); last == engine.None {
				last = ""
			}
			exports = cmp.Or(engine.Method(c.Row.Fields["export_method"]), exports)
		default:
			good = append(good, telemetry.LastGood([]rows.Row{c.Row})...)
		}
	}
	return existing, last, exports, good
}

// hashesAsThere takes over which attributes of the switch hold the hash, and its fields: of
// the same method they are those that the switch has, which a dry run cannot ask.
func hashesAsThere(want []engine.Object, existing map[string]*engine.Record) {
	for i := range want {
		if r := existing[want[i].Key]; r != nil && (r.Type == engine.TypeSwitchHash || r.Type == engine.TypeHash) {
			want[i].Attrs = r.Attrs
		}
	}
}

// wantedRows are the rows that the driver orchagent would write, by the
// abilities of the switch that orchagent reports now. No method: the best.
func wantedRows(ctx context.Context, databases *sonicdb.Databases, s *settings.Settings, method engine.Method) (engine.Method, []engine.Object, error) {
	d, err := orchagent.New(ctx, databases, orchagent.Options{})
	if err != nil {
		return "", nil, err
	}
	defer d.Close()
	if err := d.SetPorts(s.Ports); err != nil {
		return "", nil, err
	}
	abilities, features, err := d.Probe()
	if err != nil {
		return "", nil, err
	}
	p := s.Policy.Rated(features)
	choices := engine.Choose(abilities, p, features)
	if method != "" {
		choices[engine.NeedFlowLabel] = engine.Choice{Method: method}
	}
	if choices.Method(engine.NeedExport) == engine.None {
		p.Export = nil
	}
	return choices.Method(engine.NeedFlowLabel), d.Objects(p, choices, features), nil
}

// samplesAll reports whether the switch gives the CPU every packet, as a software switch does
// alone: it is recorded where no library is named.
func samplesAll(existing map[string]*engine.Record) bool {
	for _, r := range existing {
		if r.Type == engine.TypeSample && r.Attr(saiattr.SampleRate.Name) == "1" {
			return true
		}
	}
	return false
}

// read reads tables of a database once.
func read(ctx context.Context, databases *sonicdb.Databases, name string, tables ...string) ([]sonicdb.Change, error) {
	db, err := sonicdb.Open(databases, name, nil)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	all, err := db.Read(ctx, tables...)
	changes := make([]sonicdb.Change, len(all))
	for i, r := range all {
		changes[i] = sonicdb.Change{Row: r}
	}
	return changes, err
}

// printSteps prints rejected rows, the method and the steps, one a line.
func printSteps(out io.Writer, method engine.Method, steps []engine.Step, rejected []config.Rejection) error {
	for i := range rejected {
		fmt.Fprintf(out, "not in force: %v\n", &rejected[i])
	}
	if len(steps) == 0 {
		_, err := fmt.Fprintf(out, "nothing to do (method: %s)\n", method)
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "STEP\tOBJECT\tTYPE\tATTRIBUTE\tVALUE")
	for _, s := range steps {
		what := "create"
		if s.Remove {
			what = "remove"
		} else if s.Set != nil {
			what = "set"
		}
		fmt.Fprintf(w, "%s\t%s\t%s", what, s.Object.Key, s.Object.Type)
		attrs := s.Object.Attrs
		if s.Set != nil {
			attrs = nil
		}
		for _, name := range s.Set {
			attrs = append(attrs, engine.Attr{Name: name, Value: cmp.Or(s.Object.Attr(name), "off")})
		}
		for i, a := range attrs {
			if i > 0 {
				fmt.Fprint(w, "\t\t")
			}
			fmt.Fprintf(w, "\t%s\t%s\n", a.Name, a.Value)
		}
	}
	return w.Flush()
}
