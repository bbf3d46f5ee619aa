// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
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
	SourcePorts string           `json:"source_ports"` // fixed or queue-pair
	Runs        scenario.Results `json:"runs"`

	loads, features []string // in the order of the file
}

// New returns the document of a scenario's results.
func New(s *scenario.Scenario, results scenario.Results, interrupted bool) *Document {
	d := &Document{Title: s.Title, Hosts: s.Fabric.Hosts, Seed: s.Seed, Base: s.Base, Interrupted: interrupted, Runs: results, features: s.Compare}
	d.SourcePorts = cmp.Or(s.Paths.Ports, "fixed")
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
	Header = []string{"LOAD", "FEATURE", "COLLECTIVE", "CHANGE", "SLOWEST", "FCT-P50", "FCT-P99", "SLOWDOWN-P99", "UP", "DOWN", "DROPS", "PAUSES", "MARKS", "MESSAGES", "UNFINISHED"}
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
			l, f, least + span(r.CollectiveS), cmp.Or(d.change(l, r), "-"), least + span(r.SlowestS), span(r.FCTP50), span(r.FCTP99), fmt.Sprintf("%.1f", r.SlowdownP99),
			fmt.Sprintf("%.2f", r.UpWorst), fmt.Sprintf("%.2f", r.DownWorst), fmt.Sprint(r.Drops + r.HoldDrops), fmt.Sprint(r.Pauses), fmt.Sprint(r.Marks),
			fmt.Sprint(r.PFCMs + r.Advices + r.CNPs), fmt.Sprint(r.Unfinished),
		})
	})
	return rows
}

// change returns how much longer or shorter the collectives take than with the first feature of the
// load, in percent; "" for that one, and where one of the two goes on.
func (d *Document) change(load string, r *run.Result) string {
	var first *run.Result
	for _, f := range d.features {
		if first = d.Runs[load][f]; first != nil {
			break
		}
	}
	if first == nil || first == r || r.Unfinished > 0 || first.Unfinished > 0 || first.CollectiveS == 0 {
		return ""
	}
	return fmt.Sprintf("%+.0f %%", percent*(r.CollectiveS/first.CollectiveS-1))
}

// Ports returns a sentence about the UDP source ports that the runs assume.
func (d *Document) Ports() string {
	if d.SourcePorts == "queue-pair" {
		return "Source ports: one for each queue pair, so that a hash of the 5-tuple tells them apart (source_ports: queue-pair)."
	}
	return "Source ports: the same for all queue pairs, so that a hash of the 5-tuple sees one flow for each pair of hosts (source_ports: fixed)."
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
