// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"time"

	"sluice/orchagent-ext/sim/run"
	"sluice/orchagent-ext/sim/scenario"
)

// Document is the answer of `sluice sim`.
type Document struct {
	Title       string           `json:"title"`
	Hosts       int              `json:"hosts"`
	Seed        uint64           `json:"seed"`
	Base        []string         `json:"base"` // features of all runs
	Interrupted bool             `json:"interrupted"`
	Runs        scenario.Results `json:"runs"`

	loads, features []string // in the order of the file
}

// New returns the document of a scenario's results.
func New(s *scenario.Scenario, results scenario.Results, interrupted bool) *Document {
	d := &Document{Title: s.Title, Hosts: s.Fabric.Hosts, Seed: s.Seed, Base: s.Base, Interrupted: interrupted, Runs: results, features: s.Compare}
	if d.Title == "" {
		d.Title = fmt.Sprintf("%d hosts at %d Gbit/s", s.Fabric.Hosts, s.Fabric.HostGbit)
	}
	for _, l := range s.Loads {
		d.loads = append(d.loads, l.Name)
	}
	return d
}

// Header has the titles of the table; those of Spare may be left out.
var (
	Header = []string{"LOAD", "FEATURE", "COLLECTIVE", "SLOWEST", "FCT-P50", "FCT-P99", "SLOWDOWN-P99", "UP", "DOWN", "DROPS", "PAUSES", "MARKS", "MESSAGES", "UNFINISHED"}
	Spare  = []string{"MARKS", "MESSAGES", "SLOWDOWN-P99", "FCT-P50", "SLOWEST"}
)

// each calls yield for each run that there is, in the order of the file.
func (d *Document) each(yield func(load, feature string, r *run.Result)) {
	for _, l := range d.loads {
		for _, f := range d.features {
			if r := d.Runs[l][f]; r != nil {
				yield(l, f, r)
			}
		}
	}
}

// Rows returns the rows of the table. UP and DOWN are max ÷ mean of the octets of leaves'
// uplinks and downlinks.
func (d *Document) Rows() (rows [][]string) {
	d.each(func(l, f string, r *run.Result) {
		least := "" // of a run that goes on
		if r.Unfinished > 0 {
			least = "> "
		}
		rows = append(rows, []string{
			l, f, least + span(r.CollectiveS), least + span(r.SlowestS), span(r.FCTP50), span(r.FCTP99), fmt.Sprintf("%.1f", r.SlowdownP99),
			fmt.Sprintf("%.2f", r.UpWorst), fmt.Sprintf("%.2f", r.DownWorst), fmt.Sprint(r.Drops + r.HoldDrops), fmt.Sprint(r.Pauses), fmt.Sprint(r.Marks),
			fmt.Sprint(r.PFCMs + r.Advices + r.CNPs), fmt.Sprint(r.Unfinished),
		})
	})
	return rows
}

// span is a time as people read it, with three digits.
func span(seconds float64) string {
	switch {
	case seconds >= 1:
		return fmt.Sprintf("%.2f s", seconds)
	case seconds >= 1e-3:
		return fmt.Sprintf("%.3g ms", seconds*1e3)
	default:
		return fmt.Sprintf("%.3g µs", seconds*1e6)
	}
}

// Left estimates the time that a simulation still takes.
func Left(p scenario.Progress, since time.Duration) time.Duration {
	if p.Part <= 0 {
		return 0
	}
	return time.Duration(float64(since) * (1 - p.Part) / p.Part).Round(time.Second)
}
