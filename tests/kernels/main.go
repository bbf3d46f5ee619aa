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
	"sync"
	"syscall"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/tests/guest"
)

// guestMemory is that of a guest, MB: its files are in it, too.
const guestMemory = 1500

// countedTime has time in a guest pass by its instructions, one a nanosecond, and the time in which
// it waits at once. Tests and Sluice meet a machine there that is never late, however busy this
// one is.
var countedTime = []string{"-icount", "shift=0,sleep=off"}

type options struct {
	out, bin, kernels, checks, tests string
	from                             guest.Suite
	boot, patience, limit            time.Duration
	guests                           int
}

func main() {
	var o options
	flag.StringVar(&o.out, "out", "build/kernels", "`folder` of packages, images, logs and report.json")
	flag.StringVar(&o.bin, "bin", "bin", "`folder` of the programs and libsoftsai.so")
	flag.StringVar(&o.kernels, "kernel", "", "`names` of kernels such as 6.12, separated by commas; without it all run")
	flag.StringVar(&o.checks, "check", "", "`names` of checks: softsai or features, separated by commas; without it all run")
	flag.StringVar(&o.tests, "test", ".", "`pattern` of the software switch's tests")
	flag.StringVar(&o.from.Mirror, "mirror", "http://deb.debian.org/debian", "`URL` of a mirror of Debian")
	flag.StringVar(&o.from.Keys, "keys", "/usr/share/keyrings/debian-archive-keyring.gpg", "`file` of the keys that sign Debian's suites")
	flag.IntVar(&o.guests, "guests", 2, "`number` of guests that run at a time, each by a CPU")
	flag.DurationVar(&o.boot, "boot", 15*time.Minute, "how long a guest may take to boot")
	flag.DurationVar(&o.patience, "patience", 3*time.Minute, "how long a test waits for an event, by the time of the guest")
	flag.DurationVar(&o.limit, "limit", 15*time.Minute, "how long a test may take, by the time of the guest")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "kernels: %v\n", err)
		os.Exit(1)
	}
}

// run tries the kernels, some at a time. The report is written after each. Failed checks are an
// error at the end.
func (o *options) run(ctx context.Context) (err error) {
	wanted := slices.DeleteFunc(slices.Clone(kernels), func(k kernel) bool {
		return o.kernels != "" && !slices.Contains(strings.Split(o.kernels, ","), k.name)
	})
	if o.out, err = filepath.Abs(o.out); err != nil {
		return err
	}
	if err := os.MkdirAll(o.out, 0o777); err != nil {
		return err
	}
	began := time.Now()
	b, err := build(ctx, o.bin, o.out)
	if err != nil {
		return err
	}
	f, err := fabric.New()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := &report{file: filepath.Join(o.out, "report.json"), began: began}
	room := make(chan struct{}, o.guests)
	var running sync.WaitGroup
	for _, k := range wanted {
		result := r.of(k)
		node, err := f.Node("kernel" + k.name) // it lacks a link: the guest is offline
		if err != nil {
			return err
		}
		room <- struct{}{}
		running.Go(func() {
			defer func() { <-room }()
			if err := o.try(ctx, node, b, k, result); err != nil {
				result.add(check{Name: "guest", Got: err.Error()})
			}
		})
	}
	running.Wait()
	if err := errors.Join(r.write(), ctx.Err()); err != nil {
		return err
	}
	n, all := r.failed()
	if n != 0 {
		return fmt.Errorf("%d of %d checks do not hold, see %s", n, all, o.out)
	}
	fmt.Printf("%d checks hold, %.0f s\n", all, r.Seconds)
	return nil
}

// try boots a kernel in the namespace of a node, and runs its checks.
func (o *options) try(ctx context.Context, node *fabric.Node, b *built, k kernel, r *result) error {
	folder := filepath.Join(o.out, k.name)
	i, err := b.image(ctx, k, o.from, folder)
	if err != nil {
		return err
	}
	began := time.Now()
	g, err := guest.Boot(node, "guest", guest.Machine{Image: i, Memory: guestMemory, Folder: folder, Extra: countedTime})
	if err != nil {
		return err
	}
	defer g.Close()
	if err := g.Await(o.boot); err != nil {
		return err
	}
	r.booted(i.Release, time.Since(began))
	if _, err := g.Run(ctx, "/usr/bin/ip link set lo up && mkdir -p /var/run /run/netns /var/lib /etc && ln -sf /run/netns /var/run/netns; mount -t bpf bpf /sys/fs/bpf; mount -t cgroup2 none /sys/fs/cgroup; true"); err != nil {
		return err
	}
	t := &tester{g, o.patience, o.limit, k.name}
	if k.old {
		r.add(t.refuses(ctx, i.Release))
		return ctx.Err()
	}
	if o.wants("softsai") {
		r.add(o.check(ctx, t, folder, "softsai", softsai, o.tests, ""))
	}
	for _, f := range features {
		if !o.wants("features") && !o.wants(f.name) {
			continue
		}
		if g.Lost() {
			return fmt.Errorf("the guest has ended, or fails to answer, before %s: see guest.console in %s", f.name, folder)
		}
		environment := ""
		if f.soak {
			environment = "SLUICE_SOAK=1"
		}
		r.add(o.check(ctx, t, folder, f.name, "tests/e2e", "^"+f.test+"$", environment))
	}
	return ctx.Err()
}

func (o *options) wants(name string) bool {
	return o.checks == "" || slices.Contains(strings.Split(o.checks, ","), name)
}

// check runs tests of a package, and keeps their output.
func (o *options) check(ctx context.Context, t *tester, folder, name, pkg, pattern, environment string) check {
	began := time.Now()
	v, out, err := t.test(ctx, pkg, pattern, environment)
	c := check{Name: name, OK: err == nil, Passed: v.passed, Skipped: v.skipped, Failed: v.failed, Seconds: time.Since(began).Seconds()}
	log := filepath.Join(folder, strings.NewReplacer(" ", "-", ",", "").Replace(name)+".log")
	if writeErr := os.WriteFile(log, []byte(out), 0o666); writeErr != nil {
		err = errors.Join(err, writeErr)
	}
	if err != nil {
		c.Got = "see " + log
		if v.failed == nil {
			c.Got = err.Error()
		}
	}
	return c
}
