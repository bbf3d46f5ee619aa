// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	out := flag.String("out", "build/bench/report.json", "`file` of the report")
	benchTime := flag.Duration("time", time.Second, "how long each benchmark runs")
	count := flag.Int("count", 5, "how often each benchmark runs")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *out, *benchTime, *count); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// run measures package after package. The measurements are reported also when some
// benchmark failed.
func run(ctx context.Context, out string, benchTime time.Duration, count int) error {
	var found []series
	var errs []error
	pkgs := packages(bars)
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
		fmt.Println()
		errs = append(errs, writeTable(os.Stdout, figures), writeJSON(out, figures))
	}
	return errors.Join(errs...)
}
