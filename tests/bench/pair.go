// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// tolerance is how much worse than the other tree a figure may be.
const tolerance = 0.05

// A pairing has the values of one figure in two trees, pair after pair.
type pairing struct {
	bar       bar
	benchmark string
	here      []float64
	there     []float64
}

// against measures the bars of packages that both trees have, in turns: runs pairs of each
// benchmark. dir is the root of the other tree, which was built. The error names rows whose 95 %
// interval lies beyond the tolerance.
func against(ctx context.Context, dir, only string, benchTime time.Duration, runs int) (err error) {
	work, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	var all []*pairing
	var errs []error
	for _, pkg := range packages(bars) {
		there := filepath.Join(dir, pkg)
		if _, err := os.Stat(there); err != nil || !strings.Contains(pkg, only) {
			continue
		}
		fmt.Fprintf(os.Stderr, "bench: %s: %d pairs\n", pkg, runs)
		programs, err := compile(ctx, work, pkg, there)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		known, err := barsOf(ctx, bars, pkg, programs[1], there)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if len(known) == 0 {
			fmt.Fprintf(os.Stderr, "bench: %s: no benchmark that both trees have\n", pkg)
			continue
		}
		pairs, err := measurePairs(ctx, known, pkg, [2]string{pkg, there}, programs, benchTime, runs)
		all, errs = append(all, pairs...), append(errs, err)
	}
	return errors.Join(append(errs, writePairs(os.Stdout, all))...)
}

// compile makes the test programs of a package in both trees.
func compile(ctx context.Context, work string, folders ...string) (programs [2]string, err error) {
	for i, folder := range folders {
		programs[i] = filepath.Join(work, fmt.Sprintf("%d.test", i))
		if out, err := exec.CommandContext(ctx, "go", "test", "-C", folder, "-c", "-o", programs[i], ".").CombinedOutput(); err != nil {
			return programs, fmt.Errorf("compile %s: %w\n%s", folder, err, out)
		}
	}
	return programs, nil
}

// barsOf returns the bars of a package whose benchmarks a test program in a folder has: what one tree
// alone has is not run.
func barsOf(ctx context.Context, bars []bar, pkg, program, folder string) ([]bar, error) {
	cmd := exec.CommandContext(ctx, program, "-test.list=^Benchmark")
	cmd.Dir = folder
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list benchmarks of %s: %w", folder, err)
	}
	names := strings.Fields(string(out))
	return slices.DeleteFunc(slices.Clone(bars), func(b bar) bool {
		name, _, _ := strings.Cut(b.benchmark, "/")
		return b.pkg != pkg || !slices.Contains(names, name)
	}), nil
}

// measurePairs runs the benchmarks of a package in both trees, which take turns at being first.
func measurePairs(ctx context.Context, bars []bar, pkg string, folders, programs [2]string, benchTime time.Duration, runs int) ([]*pairing, error) {
	var pairs []*pairing
	var errs []error
	for run := range runs {
		var found [2][]series
		for turn := range 2 {
			i := (run + turn) % 2
			cmd := exec.CommandContext(ctx, programs[i], "-test.run=^$", "-test.bench="+benchRegexp(bars, pkg), "-test.benchmem",
				"-test.benchtime="+benchTime.String(), "-test.timeout=1h")
			cmd.Dir = folders[i]
			var err error
			if found[i], err = runBenchmarks(cmd, io.Discard); err != nil {
				errs = append(errs, fmt.Errorf("run benchmarks of %s: %w", folders[i], err))
			}
		}
		pairs = pair(pairs, bars, found[0], found[1])
	}
	return pairs, errors.Join(errs...)
}

// pair adds a run of both trees to the figures that both have.
func pair(pairs []*pairing, bars []bar, here, there []series) []*pairing {
	for _, b := range bars {
		for _, s := range here {
			other := slices.IndexFunc(there, func(o series) bool { return o.benchmark == s.benchmark && o.unit == s.unit })
			if !b.matches(s) || other < 0 {
				continue
			}
			i := slices.IndexFunc(pairs, func(p *pairing) bool {
				return p.bar.pkg == b.pkg && p.benchmark == s.benchmark && p.bar.unit == s.unit
			})
			if i < 0 {
				i = len(pairs)
				pairs = append(pairs, &pairing{bar: b, benchmark: s.benchmark})
			}
			pairs[i].here = append(pairs[i].here, median(s.values))
			pairs[i].there = append(pairs[i].there, median(there[other].values))
		}
	}
	return pairs
}

// cost is the median of the pairs' ratios, above 1 where this tree is worse, and an interval that has
// the true one in 95 of 100 cases or more. The ratios' order alone counts: among n of them the kth
// least and the kth largest enclose the median, but for 2·P(fewer than k of n coins are heads).
func (p *pairing) cost() (middle, low, high float64) {
	var ratios []float64
	for i := range p.here {
		worse, better := p.here[i], p.there[i]
		if p.bar.moreIsBetter() {
			worse, better = better, worse
		}
		switch {
		case worse == better:
			ratios = append(ratios, 1)
		case better <= 0:
			ratios = append(ratios, math.Inf(1))
		default:
			ratios = append(ratios, worse/better)
		}
	}
	slices.Sort(ratios)
	n := len(ratios)
	outside, ways := 0.0, 1.0 // of 2^n
	k := 0
	for i := 0; i < n/2; i++ {
		if outside += ways; 2*outside/math.Pow(2, float64(n)) > 0.05 {
			break
		}
		ways = ways * float64(n-i) / float64(i+1)
		k = i
	}
	return median(ratios), ratios[k], ratios[n-1-k]
}

// moreIsBetter reports whether a higher figure is the better one: by the bar, else by the unit.
func (b bar) moreIsBetter() bool {
	if b.limit.sign != "" {
		return b.limit.sign == ">="
	}
	return b.unit == "ratio" || strings.HasSuffix(b.unit, "/s") || strings.HasSuffix(b.unit, "/s/stream")
}

// writePairs prints a line for each figure. The error names those whose interval lies beyond the
// tolerance.
func writePairs(w io.Writer, pairs []*pairing) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "benchmark\tunit\there\tthere\tcost\t95 %\tverdict")
	var worse []error
	for _, p := range pairs {
		middle, low, high := p.cost()
		verdict := "holds"
		switch {
		case low > 1+tolerance:
			verdict = "WORSE"
			worse = append(worse, fmt.Errorf("%s %s: %s costs %.3f of the other tree's (%.3f to %.3f)", p.bar.pkg, p.benchmark, p.bar.unit, middle, low, high))
		case high < 1-tolerance:
			verdict = "better"
		}
		fmt.Fprintf(t, "%s %s\t%s\t%s\t%s\t%.3f\t%.3f to %.3f\t%s\n", p.bar.pkg, p.benchmark, p.bar.unit,
			number(median(p.here)), number(median(p.there)), middle, low, high, verdict)
	}
	return errors.Join(append(worse, t.Flush())...)
}
