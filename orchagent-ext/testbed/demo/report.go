// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"sluice/orchagent-ext/cli/chart"
	"sluice/orchagent-ext/cli/evenness"
)

// chartWidth is the width of the chart in characters.
const chartWidth = 78 // columns

// report is the file report.json.
type report struct {
	Balance balance `json:"balance"`
	Labels  labels  `json:"labels"`
	// ICRCBad counts packets that arrived with a wrong ICRC.
	ICRCBad int `json:"icrc_bad"`
	// Lost counts packets that stayed away.
	Lost int `json:"lost"`
	// ConfigToSwitch is the time from the row in CONFIG_DB to labels on the switch, ms.
	ConfigToSwitch float64 `json:"config_to_switch_ms"`

	foreign    int
	firstWrong string
	method     string
}

// balance is the spread of packets over the uplinks, without labels and with them.
type balance struct {
	Paths  int             `json:"paths"`
	Before evenness.Spread `json:"before"`
	After  evenness.Spread `json:"after"`
}

// labels are those on arrival after the row.
type labels struct {
	// Checked is the number of packets whose label was computed again.
	Checked int `json:"checked"`
	// Right is the number of those with that label.
	Right int `json:"right"`
}

// count adds the packets of a round that came to harm.
func (r *report) count(v verdict) {
	r.ICRCBad += v.ICRCBad
	r.Lost += v.Lost
	r.foreign += v.Foreign
}

// The bars of the balance: all on one path without labels, and with them as even
// as a random placement of as many flows.
const mostAfter = 1.6

// judge returns an error for each figure that misses its bar; nil if all meet it.
func (r *report) judge() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	b := &r.Balance
	check(b.Before.WorstToMean == float64(b.Paths), "without labels max ÷ mean is %.2f: want all packets on one of %d uplinks", b.Before.WorstToMean, b.Paths)
	check(b.After.WorstToMean <= mostAfter, "with labels max ÷ mean is %.2f: want at most %.1f", b.After.WorstToMean, mostAfter)
	check(r.Labels.Checked > 0 && r.Labels.Right == r.Labels.Checked, "%d of %d labels are wrong; the first: %s", r.Labels.Checked-r.Labels.Right, r.Labels.Checked, r.firstWrong)
	check(r.ICRCBad == 0, "%d packets arrived with a wrong ICRC", r.ICRCBad)
	check(r.Lost == 0, "%d packets did not arrive, or not as they were sent", r.Lost)
	check(r.foreign == 0, "%d packets arrived that were not sent, or were sent less often", r.foreign)
	return errors.Join(errs...)
}

// groups returns the bars before and after, by their titles; ports have SONiC's names, of four lanes
// each.
func (r *report) groups(before, after string) []chart.Group {
	name := func(path int) string { return fmt.Sprint("Ethernet", 4*(path+1)) }
	text := func(load uint64) string { return fmt.Sprint(load) }
	return []chart.Group{
		r.Balance.Before.Group(before, name, text),
		r.Balance.After.Group(after, name, text),
	}
}

// title is that of the chart.
const title = "64 queue pairs of one host pair over 4 uplinks: packets of each"

// print shows the result to people.
func (r *report) print(w io.Writer) error {
	fmt.Fprintf(w, "%s\n\n", title)
	if err := chart.Text(w, r.groups("before: as the sender left them", "after: SLUICE_FLOW_LABEL|global admin_state=enabled"), chartWidth); err != nil {
		return err
	}
	written := "right"
	if r.method != methodCompute && r.method != methodRewrite {
		written = "as sent, since ECMP hashes the queue pair itself"
	}
	_, err := fmt.Fprintf(w, `
max ÷ mean         %.2f before, %.2f after
labels on arrival  %d of %d %s
wrong ICRC         %d
lost               %d
row to switch      %.1f ms (method %s)
`, r.Balance.Before.WorstToMean, r.Balance.After.WorstToMean, r.Labels.Right, r.Labels.Checked, written, r.ICRCBad, r.Lost, r.ConfigToSwitch, r.method)
	return err
}

// write adds to report.json and writes balance.svg.
func (r *report) write(folder string) error {
	if err := merge(folder, r); err != nil {
		return err
	}
	var svg bytes.Buffer
	if err := chart.SVG(&svg, title, r.groups("as sent", "with a label")); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "balance.svg"), svg.Bytes(), 0o644)
}

// merge writes the members of part into the object in report.json. Members of other
// scenarios stay.
func merge(folder string, part any) error {
	path, all := filepath.Join(folder, "report.json"), map[string]json.RawMessage{}
	old, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(old, &all)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s is of something else: %w", path, err)
	}
	content, err := json.Marshal(part)
	if err != nil {
		return err
	}
	// keeps the members that part does not have
	if err := json.Unmarshal(content, &all); err != nil {
		return err
	}
	if content, err = json.MarshalIndent(all, "", "  "); err != nil {
		return err
	}
	return os.WriteFile(path, append(content, '\n'), 0o644)
}
