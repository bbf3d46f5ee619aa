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
	out := flag.String("out", "build/rdma", "`folder` of packages, the guests' image, logs and report.json")
	bin := flag.String("bin", "bin", "`folder` of sluiced and libsoftsai.so")
	names := flag.String("scenario", "", "`names` of scenarios, separated by commas; without it all run")
	timeout := flag.Duration("boot", 5*time.Minute, "how long a guest may take to boot")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *bin, *out, *names, *timeout); err != nil {
		fmt.Fprintf(os.Stderr, "rdma: %v\n", err)
		os.Exit(1)
	}
}

// run boots the guests and runs scenarios one after the other. The report is written after each.
// Failed checks are an error at the end.
func run(ctx context.Context, bin, out, names string, timeout time.Duration) (err error) {
	wanted := scenarios
	if names != "" {
		asked := strings.Split(names, ",")
		wanted = slices.DeleteFunc(slices.Clone(scenarios), func(s scenario) bool { return !slices.Contains(asked, s.name) })
		if len(wanted) != len(asked) {
			return fmt.Errorf("scenarios %q: some are unknown", names)
		}
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	l, err := newLab(ctx, bin, out, timeout)
	defer func() { err = errors.Join(err, l.close()) }()
	if err != nil {
		return err
	}
	for _, s := range wanted {
		began := time.Now()
		fmt.Printf("%s: %s\n", s.name, s.about)
		if err := s.run(ctx, l); err != nil {
			l.report.judge(s.name, "runs to its end", err.Error())
		}
		fmt.Printf("%s: %.0f s\n", s.name, time.Since(began).Seconds())
		if err := l.report.write(filepath.Join(out, "report.json")); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if failed := l.report.failed(); failed != 0 {
		return fmt.Errorf("%d of %d checks do not hold", failed, len(l.report.Checks))
	}
	fmt.Printf("%d checks hold\n", len(l.report.Checks))
	return nil
}
