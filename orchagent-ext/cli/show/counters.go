// SPDX-License-Identifier: Apache-2.0

package show

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"sluice/yang/rows"
)

// Baseline has the counters at the time of `sluice clear counters`; [Data] shows counters
// less these.
type Baseline struct {
	// Since: of the daemon that ran then
	Since    string                       `json:"since"`
	Counters map[string]map[string]uint64 `json:"counters"`
}

// Cleared are the tables whose counters can be cleared.
var Cleared = []string{"SLUICE_STATS", "SLUICE_IPFIX_STATS"}

// NewBaseline returns a baseline of today's counters; false if the tables have none.
func NewBaseline(d *Data) (Baseline, bool) {
	b := Baseline{Since: d.state()["since"], Counters: make(map[string]map[string]uint64)}
	for _, table := range Cleared {
		for _, r := range d.rows(table) {
			counters, _ := leavesOf(table)
			b.Counters[r.Name()] = make(map[string]uint64)
			for _, name := range counters {
				if n, err := strconv.ParseUint(r.Fields[name], 10, 64); err == nil {
					b.Counters[r.Name()][name] = n
				}
			}
		}
	}
	return b, len(b.Counters) > 0
}

// leavesOf returns the names of the counters of a table, and of its other numbers. Former
// names are left out: the row has the value under its current name.
func leavesOf(table string) (counters, numbers []string) {
	d, _ := rows.Describe(table)
	for _, l := range d.Leaves {
		if rows.Former(table, l.Name) != "" {
			continue
		}
		if l.Counter {
			counters = append(counters, l.Name)
		}
		if l.Number {
			numbers = append(numbers, l.Name)
		}
	}
	return counters, numbers
}

// ofSwitch reports whether the switch keeps a counter, which then outlives sluiced; other
// counters begin at 0 when sluiced starts.
func ofSwitch(name string) bool { return strings.HasPrefix(name, "label_") }

// since returns the counters of a row since they were cleared. One that is lower than
// then began at 0 again, and so did all of the daemon's if it started meanwhile: these
// are returned whole.
func (b *Baseline) since(d *Data, r rows.Row) map[string]uint64 {
	counters := make(map[string]uint64)
	names, _ := leavesOf(r.Table)
	for _, name := range names {
		now, err := strconv.ParseUint(r.Fields[name], 10, 64)
		if err != nil {
			continue
		}
		then := b.Counters[r.Name()][name]
		if now < then || !ofSwitch(name) && b.Since != d.state()["since"] {
			then = 0
		}
		counters[name] = now - then
	}
	return counters
}

// global are the counters of the whole switch.
func (b *Baseline) global(d *Data) map[string]uint64 {
	for _, r := range d.rows("SLUICE_STATS") {
		if r.Key == rows.Only(r.Table) {
			return b.since(d, r)
		}
	}
	return map[string]uint64{}
}

// counterTable is a table of counters, of which some are left out.
func counterTable(counters map[string]uint64, shown func(string) bool) []Block {
	t := Block{Header: []string{"Counter", "Value"}}
	for _, name := range slices.Sorted(maps.Keys(counters)) {
		if shown(name) {
			t.Rows = append(t.Rows, []string{words(name), strconv.FormatUint(counters[name], 10)})
		}
	}
	if t.Rows == nil {
		return nil
	}
	return []Block{t}
}

// flowLabel answers `show flow-label`: method and state, the ports that label, and
// counters of packets.
func flowLabel(d *Data, o Options) (*Answer, error) {
	state, config := d.state(), known(d.only("SLUICE_FLOW_LABEL"))
	labelled := []string{}
	for _, r := range d.rows("SLUICE_PORT") {
		if labels(r) {
			labelled = append(labelled, r.Key)
		}
	}
	counters := o.Baseline.global(d)
	maps.DeleteFunc(counters, func(name string, _ uint64) bool { return strings.HasPrefix(name, "stream_id_") })
	pairs := append([][2]string{{"flow label", state["flow_label"]}, {"method", state["flow_label_method"]}}, pairsOf(config)...)
	pairs = append(pairs, [2]string{"ports", or(strings.Join(labelled, ", "), "none")})
	// Packets reach the CPU only for the export or for labels that software computes.
	row := d.only("SLUICE_STATS")
	sees := slices.ContainsFunc(slices.Collect(maps.Keys(counters)), func(name string) bool { return !ofSwitch(name) && number(row[name]) > 0 })
	return &Answer{
		JSON: map[string]any{
			"flow_label": state["flow_label"], "method": state["flow_label_method"], "config": config, "ports": labelled, "counters": counters,
		},
		Blocks: append([]Block{{Pairs: pairs}}, counterTable(counters, func(name string) bool { return ofSwitch(name) || sees })...),
	}, nil
}

// labels reports whether packets that come in by a port are labelled, as the model's default is.
func labels(port rows.Row) bool {
	byRole := "disabled"
	if port.Fields["role"] == "edge" {
		byRole = "enabled"
	}
	return or(port.Fields["flow_label"], byRole) == "enabled"
}

// streamIDs answers `show stream-ids`: scope, settings and counters of Stream IDs.
func streamIDs(d *Data, o Options) (*Answer, error) {
	config := make(map[string]string)
	for name, value := range d.only("SLUICE") {
		if strings.HasPrefix(name, "stream_id") || strings.HasPrefix(name, "etcd") {
			config[name] = value
		}
	}
	counts := o.Baseline.global(d)
	ofStreams := func(name string) bool { return strings.HasPrefix(name, "stream_id_") }
	maps.DeleteFunc(counts, func(name string, _ uint64) bool { return !ofStreams(name) })
	_, numbers := leavesOf("SLUICE_STATS")
	for _, name := range numbers {
		if n, err := strconv.ParseUint(d.only("SLUICE_STATS")[name], 10, 64); err == nil && ofStreams(name) {
			counts[name] = n
		}
	}
	pairs := append([][2]string{{"stream ids", or(d.state()["stream_ids"], "none")}}, pairsOf(config)...)
	for text := range strings.SplitSeq(d.state()["warnings"], "; ") {
		if strings.HasPrefix(text, "stream ids: ") {
			pairs = append(pairs, [2]string{"warning", text})
		}
	}
	return &Answer{
		JSON:   map[string]any{"stream_ids": d.state()["stream_ids"], "config": config, "counters": counts},
		Blocks: append([]Block{{Pairs: pairs}}, counterTable(counts, ofStreams)...),
	}, nil
}

// collectors answers `show collectors`: the connection, queue and drops of each IPFIX
// collector.
func collectors(d *Data, o Options) (*Answer, error) {
	fields := []string{"connected", "records", "waiting", "dropped", "messages", "bytes", "last_error"}
	t := Block{Header: []string{"Collector"}}
	for _, name := range fields {
		t.Header = append(t.Header, strings.ToUpper(name[:1])+words(name[1:]))
	}
	out := make(map[string]any)
	for _, r := range d.rows("SLUICE_IPFIX_STATS") {
		of := make(map[string]any)
		cells := maps.Clone(known(r.Fields))
		for name, value := range cells {
			of[name] = value
		}
		for name, n := range o.Baseline.since(d, r) {
			of[name], cells[name] = n, strconv.FormatUint(n, 10)
		}
		out[r.Key] = of
		row := []string{r.Key}
		for _, name := range fields {
			row = append(row, cells[name])
		}
		t.Rows = append(t.Rows, row)
	}
	if t.Rows == nil {
		t = Block{Text: "No collector is exported to: SLUICE_IPFIX|global is not enabled, or there is no collector."}
	}
	return &Answer{JSON: out, Blocks: []Block{t}}, nil
}

// allCounters answers `show counters`: all counters of SLUICE_STATS since they were
// cleared.
func allCounters(d *Data, o Options) (*Answer, error) {
	counters := o.Baseline.global(d)
	_, numbers := leavesOf("SLUICE_STATS")
	for _, name := range numbers {
		if n, err := strconv.ParseUint(d.only("SLUICE_STATS")[name], 10, 64); err == nil {
			counters[name] = n
		}
	}
	blocks := counterTable(counters, func(name string) bool { return o.All || counters[name] > 0 })
	if blocks == nil {
		blocks = []Block{{Text: "Every counter is 0."}}
	}
	return &Answer{JSON: counters, Blocks: blocks}, nil
}
