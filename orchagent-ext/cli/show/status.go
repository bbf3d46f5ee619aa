// SPDX-License-Identifier: Apache-2.0

package show

import (
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/yang/rows"
)

// status answers with the state of sluiced, its warnings, and the method of each need.
func status(d *Data, o Options) (*Answer, error) {
	state, errs := d.state(), configErrors(d)
	out := map[string]any{"state": known(state), "config_errors": errs}
	if stale := Stale(state, o.Now); stale != nil {
		out["stale_since"] = stale.Since
	}
	label := state["flow_label"]
	if method := state["flow_label_method"]; method != "" {
		label += " (" + method + ")"
	}
	pairs := [][2]string{
		{"state", state["state"]}, {"flow label", label}, {"driver", state["driver"]}, {"objects", state["objects"]},
		{"flows", state["flows"]}, {"stream ids", state["stream_ids"]}, {"pfcm", state["pfcm"]},
	}
	if state["pfcm"] == "active" {
		pairs = append(pairs, [2]string{"holds", state["holds"]})
	}
	pairs = append(pairs, [2]string{"version", state["version"]}, [2]string{"since", state["since"]})
	for text := range strings.SplitSeq(state["warnings"], "; ") {
		pairs = append(pairs, [2]string{"warning", text})
	}
	if state["sai_call"] != "" {
		pairs = append(pairs, [2]string{"sai call", state["sai_call"] + ", since " + state["sai_call_since"]})
	}
	pairs = append(pairs, [2]string{"last error", state["last_error"]}, [2]string{"", state["last_error_time"]})
	a := &Answer{JSON: out, Blocks: []Block{{Pairs: pairs}}}
	if len(errs) > 0 {
		t := Block{Header: []string{"Table", "Key", "Field", "Value", "Reason"}}
		for _, e := range errs {
			t.Rows = append(t.Rows, []string{e["table"], e["key"], e["field"], e["value"], e["reason"]})
		}
		a.Blocks = append(a.Blocks, Block{Text: "Rows that are not in force:"}, t)
	}
	return a, nil
}

// configErrors returns the rows of CONFIG_DB that SLUICE_CONFIG_ERROR reports.
func configErrors(d *Data) []map[string]string {
	all := []map[string]string{}
	for _, r := range d.rows("SLUICE_CONFIG_ERROR") {
		e := maps.Clone(known(r.Fields))
		e["table"], e["key"], _ = strings.Cut(r.Key, "|")
		all = append(all, e)
	}
	return all
}

// capability answers with the methods of the switch, and why preferred ones are left out.
func capability(d *Data, _ Options) (*Answer, error) {
	row := d.only("SLUICE_CAPABILITY")
	t := Block{Header: []string{"Need", "Method", "State", "Reason"}, Folded: true}
	for _, field := range slices.Sorted(maps.Keys(row)) {
		if need, is := strings.CutSuffix(field, "_method"); is {
			t.Rows = append(t.Rows, []string{words(need), row[field], row[need+"_state"], row[need+"_reason"]})
		}
	}
	a := &Answer{JSON: known(row), Blocks: []Block{t}}
	if ipv4 := row["flow_label_ipv4"]; ipv4 != "" {
		a.Blocks = append(a.Blocks, Block{Text: "RoCEv2 over IPv4: " + ipv4, Folded: true})
	}
	if queues := row["queues"]; queues != "" {
		a.Blocks = append(a.Blocks, Block{Text: "Egress queues: " + strings.TrimSuffix(queues+", "+row["queues_reason"], ", "), Folded: true})
	}
	return a, nil
}

// inForce returns the status of a row without an error.
func inForce(d *Data, now time.Time) string {
	switch {
	case len(d.state()) == 0:
		return "no: sluiced is not running"
	case Stale(d.state(), now) != nil:
		return "unknown: sluiced is silent"
	}
	return "yes"
}

// configuration answers `show configuration`: each field with its value, and whether the
// row is in force.
func configuration(d *Data, o Options) (*Answer, error) {
	unnamed := inForce(d, o.Now)
	wrong := make(map[string]bool)
	for _, e := range configErrors(d) {
		wrong[e["table"]+"|"+e["key"]] = true
	}
	tables := make(map[string]any)
	t := Block{Header: []string{"Table", "Key", "Field", "Value", "In force"}}
	for _, table := range slices.Sorted(maps.Keys(d.tables)) {
		description, ours := rows.Describe(table)
		if table != "SLUICE" && !strings.HasPrefix(table, "SLUICE_") || ours && description.Database != "CONFIG_DB" {
			continue
		}
		tables[table] = d.byKey(table)
		for _, r := range d.rows(table) {
			begin := []string{table, r.Key, "", "", unnamed}
			if wrong[r.Name()] {
				begin[4] = "no: see status"
			}
			if len(r.Fields) == 0 {
				t.Rows = append(t.Rows, begin)
			}
			for i, name := range slices.Sorted(maps.Keys(r.Fields)) {
				row := []string{"", "", "", "", ""}
				if i == 0 {
					row = begin
				}
				row[2], row[3] = name, r.Fields[name]
				t.Rows = append(t.Rows, row)
			}
		}
	}
	return &Answer{JSON: tables, Blocks: []Block{t}}, nil
}
