// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	out := flag.String("out", "build/rough", "`folder` of report.json and of the logs of sluiced")
	bin := flag.String("bin", "bin", "`folder` of sluiced and libsoftsai.so")
	names := flag.String("scenario", "", "`names` of scenarios, separated by commas; without it all run")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *bin, *out, *names); err != nil {
		fmt.Fprintf(os.Stderr, "rough: %v\n", err)
		os.Exit(1)
	}
}

// run runs scenarios one after the other, and writes the report after each. The error has every
// scenario that failed, and every bar that was missed.
func run(ctx context.Context, bin, out, names string) error {
	wanted, err := choose(names)
	if err != nil {
		return err
	}
	var all report
	var errs []error
	for _, s := range wanted {
		fmt.Fprintf(os.Stderr, "rough: %s: %s\n", s.name, s.about)
		began := time.Now()
		r, err := s.play(ctx, bin, out, false)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if r == nil {
			r = &result{}
		}
		if r.Name = s.name; err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
		} else if missed := r.judge(); missed != "" {
			errs = append(errs, fmt.Errorf("%s: %s", s.name, missed))
		}
		r.Seconds = time.Since(began).Round(100 * time.Millisecond).Seconds()
		all.Scenarios = append(all.Scenarios, r)
		if err := all.write(filepath.Join(out, "report.json")); err != nil {
			return err
		}
	}
	all.print(os.Stdout)
	return errors.Join(errs...)
}

// choose returns the scenarios of some names, in the order of the list; "" means all.
func choose(names string) (wanted []scenario, err error) {
	if names == "" {
		return scenarios, nil
	}
	asked := strings.Split(names, ",")
	for _, s := range scenarios {
		if slices.Contains(asked, s.name) {
			wanted = append(wanted, s)
		}
	}
	for _, name := range asked {
		if !slices.ContainsFunc(scenarios, func(s scenario) bool { return s.name == name }) {
			var all []string
			for _, s := range scenarios {
				all = append(all, s.name)
			}
			return nil, fmt.Errorf("scenario %q is unknown; these are known: %s", name, strings.Join(all, ", "))
		}
	}
	return wanted, nil
}

// play runs a scenario in a folder of its own for the databases.
func (s *scenario) play(ctx context.Context, bin, out string, short bool) (r *result, err error) {
	if err := os.MkdirAll(out, 0o777); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "sluice-rough-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	st := &stage{bin: bin, folder: folder, log: filepath.Join(out, s.name+".log"), short: short}
	if r, err = s.run(ctx, st); r != nil {
		r.turns(&st.turns)
	}
	return r, err
}
