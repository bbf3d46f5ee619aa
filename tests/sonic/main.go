// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/testbed/fabric/child"
)

// envInside marks the process that has a namespace of mounts of its own.
const envInside = "SLUICE_SONIC_INSIDE"

func main() {
	if at := os.Getenv(envSamples); at != "" {
		if err := sluiced(at); err != nil {
			fmt.Fprintln(os.Stderr, "sluiced:", err)
			os.Exit(1)
		}
		return
	}
	sonic := flag.String("sonic", "", "`folder` that has SONiC's programs in their places")
	out := flag.String("out", "build/sonic", "`folder` of report.json and logs")
	names := flag.String("scenario", "", "`names` of scenarios, separated by commas; without it all run")
	guest := flag.Bool("guest", false, "run in a guest with Debian's kernel, which has psample, VRFs and PortChannels")
	join := flag.Bool("join", false, "run nothing, and add the checks of an earlier run in a guest to the report")
	flag.Parse()
	if *join {
		if err := joinReport(filepath.Join(*out, "guest/report.json"), filepath.Join(*out, "report.json"), strings.Split(cmp.Or(*names, guestScenarios), ",")); err != nil {
			fmt.Fprintf(os.Stderr, "sonic: %v\n", err)
			os.Exit(1)
		}
		return
	}
	err := start(*sonic, *out, *names, *guest)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		os.Exit(exit.ExitCode())
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "sonic: %v\n", err)
		os.Exit(1)
	}
}

// start looks at the root, and runs this program again where mounts stay its own.
func start(sonic, out, names string, guest bool) error {
	release, has, err := inspect(sonic)
	if err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return errors.New("namespaces and mounts need root")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if guest {
		return inGuest(ctx, sonic, out, names)
	}
	if os.Getenv(envInside) == "" {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, self, os.Args[1:]...)
		cmd.Env = append(os.Environ(), envInside+"=1")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
		cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) }
		if err := child.Start(cmd); err != nil {
			return err
		}
		return cmd.Wait()
	}
	return run(ctx, sonic, release, has, out, names)
}

// run runs scenarios one after the other. The report is written after each. Failed checks are an
// error at the end.
func run(ctx context.Context, sonic, release string, has []string, out, names string) (err error) {
	wanted := scenarios
	if names != "" {
		asked := strings.Split(names, ",")
		wanted = slices.DeleteFunc(slices.Clone(scenarios), func(s scenario) bool { return !slices.Contains(asked, s.name) })
		if len(wanted) != len(asked) {
			return fmt.Errorf("scenarios %q: some are unknown", names)
		}
	}
	for _, path := range []*string{&sonic, &out} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	r := &report{Release: release, Kernel: kernel(), Placement: map[string]float64{}}
	fmt.Printf("SONiC %s on Linux %s\n", release, r.Kernel)
	for _, s := range wanted {
		began := time.Now()
		fmt.Printf("%s: %s\n", s.name, s.about)
		if err := s.begin(ctx, place{sonic: sonic, has: has, out: out, report: r}); err != nil {
			r.add(s.name+": runs to its end", false, "no error", err)
		}
		fmt.Printf("%s: %.0f s\n", s.name, time.Since(began).Seconds())
		if err := r.write(filepath.Join(out, "report.json")); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if failed := r.failed(); failed != 0 {
		return fmt.Errorf("%d of %d checks do not hold", failed, len(r.Checks))
	}
	fmt.Printf("%d checks hold\n", len(r.Checks))
	return nil
}

// kernel is the release of the running one.
func kernel() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}
