// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// A figure is one entry of report.json.
type figure struct {
	Name         string  `json:"name"` // folder of the package and benchmark
	Value        float64 `json:"value"`
	Unit         string  `json:"unit"`
	Spread       float64 `json:"spread"`        // (max - min) / median of the runs
	Bar          string  `json:"bar"`           // "<= 40 ns/op", or empty
	OK           *bool   `json:"ok"`            // null where the bar is missing
	ComparedWith string  `json:"compared_with"` // the other program of a ratio, or empty
}

// pkg is the folder of the package.
func (f *figure) pkg() string {
	pkg, _, _ := strings.Cut(f.Name, " ")
	return pkg
}

// judge picks the figure or, for a pattern, the figures of every bar out of the
// measurements. The error names every bar whose benchmark is missing, but for optional
// ones.
func judge(bars []bar, found []series) ([]figure, error) {
	var figures []figure
	var missing []error
	for _, b := range bars {
		n := len(figures)
		for _, s := range found {
			if b.matches(s) {
				figures = append(figures, b.judge(s))
			}
		}
		if len(figures) == n && !b.optional {
			missing = append(missing, fmt.Errorf("%s: no %s reported %s", b.pkg, b.benchmark, b.unit))
		}
	}
	return figures, errors.Join(missing...)
}

func (b bar) matches(s series) bool {
	return b.names(s.benchmark) && b.unit == s.unit && strings.HasSuffix(s.pkg, "/"+b.pkg)
}

// names reports whether the bar is for a benchmark.
func (b bar) names(benchmark string) bool {
	named, err := path.Match(b.benchmark, benchmark)
	return err == nil && named
}

func (b bar) judge(s series) figure {
	f := figure{Name: b.pkg + " " + s.benchmark, Unit: b.unit, Value: median(s.values), Spread: spread(s.values)}
	f.ComparedWith = b.with
	if b.limit.sign != "" {
		ok := b.limit.holds(f.Value)
		f.OK = &ok
		f.Bar = fmt.Sprintf("%s %s %s", b.limit.sign, number(b.limit.value), b.unit)
	}
	return f
}

// median is the middle value, or the mean of the two middle ones; values has at least
// one.
func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// spread is (max - min) / median: 0 where all values are equal, 1 where they differ and
// the median is 0.
func spread(values []float64) float64 {
	width := slices.Max(values) - slices.Min(values)
	middle := median(values)
	switch {
	case width == 0:
		return 0
	case middle == 0:
		return 1
	}
	return width / middle
}
