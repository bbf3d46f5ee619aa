// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

func main() {
	out := flag.String("out", "build/bench/report.json", "`file` of the report")
	benchTime := flag.Duration("time", time.Second, "how long each benchmark runs")
	count := flag.Int("count", 5, "how often each benchmark runs")
	other := flag.String("against", "", "`root` of another tree, built: measure both in turns, and compare")
	runs := flag.Int("pairs", 7, "with -against: how often each benchmark runs in both trees, 6 times or more")
	only := flag.String("only", "", "`part` of the names of the packages to measure: the report keeps its figures of the others")
	page := flag.String("page", "", "write the page of the report to this `file`, and measure nothing")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *runs < 6 {
		fmt.Fprintln(os.Stderr, "bench: -pairs: 6 or more: fewer give no interval of 95 %")
		os.Exit(2)
	}
	do := func() error { return run(ctx, *out, *only, *benchTime, *count) }
	switch {
	case *page != "":
		do = func() error { return writePage(*out, *page) }
	case *other != "":
		do = func() error { return against(ctx, *other, *only, *benchTime, *runs) }
	}
	if err := do(); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// run measures package after package, those whose names have a part. The measurements are reported
// also when some benchmark failed.
func run(ctx context.Context, out, only string, benchTime time.Duration, count int) error {
	var found []series
	var errs []error
	bars := slices.DeleteFunc(slices.Clone(bars), func(b bar) bool { return !strings.Contains(b.pkg, only) })
	var before []figure
	if only != "" {
		var err error
		if before, err = readReport(out); err != nil {
			return err
		}
	}
	pkgs := packages(bars)
	if len(pkgs) == 0 {
		return fmt.Errorf("-only %s: no package with a bar has that in its name", only)
	}
	for i, pkg := range pkgs {
		fmt.Fprintf(os.Stderr, "bench: package %d of %d: %s\n", i+1, len(pkgs), pkg)
		s, err := measure(ctx, bars, pkg, benchTime, count, os.Stderr)
		found = append(found, s...)
		if err != nil && optional(bars, pkg) {
			fmt.Fprintf(os.Stderr, "bench: without it: %v\n", err)
			continue
		}
		errs = append(errs, err)
	}
	figures, err := judge(bars, found)
	errs = append(errs, err)
	if len(figures) > 0 {
		figures = replaced(before, figures, pkgs)
		fmt.Println()
		errs = append(errs, writeTable(os.Stdout, figures), writeJSON(out, figures))
	}
	return errors.Join(errs...)
}
