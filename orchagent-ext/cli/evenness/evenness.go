// SPDX-License-Identifier: Apache-2.0

// Package evenness computes how evenly a load is spread over equal-cost paths. It
// is pure.
package evenness

import (
	"fmt"
	"slices"

	"sluice/orchagent-ext/cli/chart"
)

// A Spread is the load of each path, in whatever unit.
type Spread struct {
	PerPath []uint64 `json:"per_path"`
	// WorstToMean: 1: even; as many as there are paths: all on one; 0: no load
	WorstToMean float64 `json:"worst_over_mean"`
	EmptyPaths  int     `json:"empty_paths"`
}

// Of sums up the loads of paths.
func Of(perPath []uint64) Spread {
	s := Spread{PerPath: perPath}
	var sum uint64
	for _, load := range perPath {
		sum += load
		if load == 0 {
			s.EmptyPaths++
		}
	}
	if sum > 0 {
		s.WorstToMean = float64(slices.Max(perPath)) * float64(len(perPath)) / float64(sum)
	}
	return s
}

// Group draws the spread: a bar a path, with its load as text puts it. Path i is
// called name(i).
func (s Spread) Group(title string, name func(path int) string, text func(load uint64) string) chart.Group {
	g := chart.Group{Title: title, Note: fmt.Sprintf("max ÷ mean %.2f, %d of %d paths empty", s.WorstToMean, s.EmptyPaths, len(s.PerPath))}
	for i, load := range s.PerPath {
		g.Bars = append(g.Bars, chart.Bar{Label: name(i), Value: float64(load), Text: text(load)})
	}
	return g
}
