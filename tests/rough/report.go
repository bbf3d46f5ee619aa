// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"sluice/tests/site"
)

// A report is build/rough/report.json.
type report struct {
	Scenarios []*result `json:"scenarios"`
}

// A result is the outcome of a scenario. A value is nil where the scenario has neither a bar
// for it nor measured it.
type result struct {
	Name          string   `json:"name"`
	Lost          *int     `json:"lost,omitempty"`            // packets of held flows that did not arrive; where none is held, of all
	Reordered     *int     `json:"reordered,omitempty"`       // packets that arrived after one with a later PSN
	Hasty         *int     `json:"hasty,omitempty"`           // packets with another label than the one before, sent less than idle_us after it
	TooLong       *int     `json:"too_long,omitempty"`        // of late packets those that were under way longer than idle_us: the machine held them up
	Drops         *int     `json:"drops,omitempty"`           // packets of all flows that did not arrive
	DropsAfter    *int     `json:"drops_after,omitempty"`     // of those that had passed a link that was up again: the rest is of outages
	Victims       *float64 `json:"victims,omitempty"`         // part of the packets of bystanders that arrived
	WorstOverMean *float64 `json:"worst_over_mean,omitempty"` // of the worst window, by weight
	Floor         *float64 `json:"floor,omitempty"`           // of the octets sent in that window
	Moves         *int     `json:"moves,omitempty"`
	Waiting       *int     `json:"waiting,omitempty"`   // flows that wait for a pause in the end
	PausedMS      *float64 `json:"paused_ms,omitempty"` // the longest pause of a flow that was to have none
	RecoveredMS   *float64 `json:"recovered_ms,omitempty"`
	DrainedMS     *float64 `json:"drained_ms,omitempty"` // until holds that ended were empty
	Told          *float64 `json:"told,omitempty"`       // least rate that a sender which follows was advised ÷ its fair share
	Got           *float64 `json:"got,omitempty"`        // least rate that one of them got ÷ its fair share
	Refused       *int     `json:"refused,omitempty"`    // holds that the switch had lack of room for
	Turns         *int     `json:"turns,omitempty"`      // at the switches: calls of the SAI library
	TurnMaxMS     *float64 `json:"turn_max_ms,omitempty"`
	TurnP999MS    *float64 `json:"turn_p999_ms,omitempty"`
	Windows       int      `json:"windows,omitempty"` // that were judged
	Seconds       float64  `json:"seconds"`
	Bar           string   `json:"bar"`
	OK            bool     `json:"ok"`

	bars []bar
}

// A bar is one that a result is held to.
type bar struct {
	text  string
	holds func(*result) bool
}

// recoveryBar is how long after a link is up again packets may get lost that passed it.
const recoveryBar = 50 * time.Millisecond

// The bars.
var (
	inOrder  = bar{"reordered = 0", func(r *result) bool { return r.Reordered != nil && *r.Reordered == 0 }}
	lossless = bar{"lost = 0", func(r *result) bool { return r.Lost != nil && *r.Lost == 0 }}
	unharmed = bar{"victims >= 0.95", func(r *result) bool { return r.Victims != nil && *r.Victims >= 0.95 }}
	recovers = bar{"recovered_ms <= 50", func(r *result) bool {
		return r.RecoveredMS != nil && *r.RecoveredMS <= float64(recoveryBar.Milliseconds())
	}}
	drains = bar{"drained_ms <= 2500", func(r *result) bool {
		return r.DrainedMS != nil && *r.DrainedMS <= float64((endBar+quietTime).Milliseconds())
	}}
	patient     = bar{"hasty = 0", func(r *result) bool { return r.Hasty != nil && *r.Hasty == 0 }}
	waits       = bar{"waiting > 0", func(r *result) bool { return r.Waiting != nil && *r.Waiting > 0 }}
	noneRefused = bar{"refused = 0", func(r *result) bool { return r.Refused != nil && *r.Refused == 0 }}
	toldFair    = bar{"told >= 0.8", func(r *result) bool { return r.Told != nil && *r.Told >= 0.8 }} // 5 Mbit/s less one, the unit of advice
	gotFair     = bar{"got >= 0.9", func(r *result) bool { return r.Got != nil && *r.Got >= 0.9 }}
	shortTurns  = bar{"turn_max_ms <= 5", func(r *result) bool {
		return r.Turns != nil && *r.Turns > 0 && *r.TurnMaxMS <= float64(turnBar.Milliseconds())
	}}
	even = bar{"worst_over_mean <= 1.05 * floor", func(r *result) bool {
		return r.WorstOverMean != nil && r.Floor != nil && r.Windows > 0 && *r.WorstOverMean <= 1.05**r.Floor
	}}
)

// turnBar is how long a turn at the software switch may last.
const turnBar = 5 * time.Millisecond

// turns adds the turns at the switches, with their bar.
func (r *result) turns(t *site.Turns) {
	longest, most := t.Max/1000, t.P999/1000
	r.Turns, r.TurnMaxMS, r.TurnP999MS = &t.Number, &longest, &most
	r.bars = append(r.bars, shortTurns)
}

// judge applies the bars, and returns the missed ones, "" where all hold.
func (r *result) judge() string {
	var texts, missed []string
	for _, b := range r.bars {
		if texts = append(texts, b.text); !b.holds(r) {
			missed = append(missed, b.text)
		}
	}
	r.Bar = strings.Join(texts, ", ")
	if r.OK = len(missed) == 0; r.OK {
		return ""
	}
	return "missed: " + strings.Join(missed, ", ")
}

// write writes the report, and makes its folder.
func (r *report) write(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // a bar has <= in it
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o666)
}

// print writes a line for each scenario.
func (r *report) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "scenario\tlost\treordered\ttoo long\tdrops\tafter\tvictims\tmax ÷ mean\tfloor\tmoves\twaiting\trecovered ms\tturn ms\tp99.9\tseconds\tbars")
	for _, s := range r.Scenarios {
		verdict := "hold"
		switch {
		case s.Bar == "" && !s.OK:
			verdict = "FAILED"
		case !s.OK:
			verdict = "MISSED " + s.Bar
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.1f\t%s\n", s.Name, text(s.Lost), text(s.Reordered), text(s.TooLong), text(s.Drops), text(s.DropsAfter), text(s.Victims),
			text(s.WorstOverMean), text(s.Floor), text(s.Moves), text(s.Waiting), text(s.RecoveredMS), text(s.TurnMaxMS), text(s.TurnP999MS), s.Seconds, verdict)
	}
	_ = t.Flush() // to a terminal, or a pipe that someone reads
}

// text is a value with at most three decimals, "-" for nil.
func text[N int | float64](v *N) string {
	if v == nil {
		return "-"
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", float64(*v)), "0"), ".")
}
