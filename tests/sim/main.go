// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/sim/network"
	"sluice/orchagent-ext/sim/scenario"
	"sluice/orchagent-ext/sim/topology"
	"sluice/orchagent-ext/sim/truth"
)

// folder has the scenarios.
const folder = "tests/sim"

// report is build/sim/report.json.
type report struct {
	EventsPerS float64 `json:"events_per_s"` // of one core's CPU time; median of 3
	Hosts      int     `json:"hosts"`
	PeakMiB    float64 `json:"peak_mib"` // of the process, with two runs side by side
	// OctetsPerPacket is the memory of the network that was measured, with its queue pairs, links and
	// timers, by the packets in flight.
	OctetsPerPacket float64          `json:"octets_per_packet"`
	Runs            scenario.Results `json:"runs"`
	Truth           []truth.Check    `json:"truth"`
}

func main() {
	full := flag.Bool("full", false, "20 ms of each load, with every feature (an hour)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *full); err != nil {
		fmt.Fprintln(os.Stderr, "sim:", err)
		os.Exit(1)
	}
}

// run makes the report.
func run(ctx context.Context, full bool) error {
	r := &report{}
	var err error
	if r.EventsPerS, r.OctetsPerPacket, err = speed(); err != nil {
		return err
	}
	fmt.Printf("speed: %.2f M packet events per second of one core's CPU time; %.0f octets a packet in flight\n", r.EventsPerS/1e6, r.OctetsPerPacket)
	if r.Truth, err = truth.All(); err != nil {
		return err
	}
	for _, c := range r.Truth {
		fmt.Printf("%-11s %+6.2f %%  %s: %.5g, expected %.5g\n", c.Kind, c.Percent, c.What, c.Got, c.Expected)
	}
	name := "fabric.yaml"
	if full {
		name = "full.yaml"
	}
	f, err := os.Open(filepath.Join(folder, name))
	if err != nil {
		return err
	}
	defer f.Close()
	s, err := scenario.Read(f, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	ended := 0
	r.Hosts = s.Fabric.Hosts
	if r.Runs, err = s.RunAll(ctx, runtime.GOMAXPROCS(0), func(p scenario.Progress) {
		if p.Ended > ended {
			ended = p.Ended
			fmt.Printf("%d of %d: %s\n", p.Ended, p.Runs, p.Name)
		}
	}); err != nil {
		return err
	}
	for _, l := range s.Loads {
		for _, f := range s.Compare {
			if x := r.Runs[l.Name][f]; x != nil {
				fmt.Printf("%-11s %-10s collectives %.3f ms, slowest %.3f ms; FCT p50 %.1f µs, p99 %.1f µs; max ÷ mean %.2f up, %.2f down; %d drops, %d pauses; %.1f M events\n",
					l.Name, f, x.CollectiveS*1e3, x.SlowestS*1e3, x.FCTP50*1e6, x.FCTP99*1e6, x.UpWorst, x.DownWorst, x.Drops, x.Pauses, float64(x.Events)/1e6)
			}
		}
	}
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return err
	}
	r.PeakMiB = float64(usage.Maxrss) / 1024
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll("build/sim", 0o755); err != nil {
		return err
	}
	if err := os.WriteFile("build/sim/report.json", append(text, '\n'), 0o644); err != nil {
		return err
	}
	fmt.Printf("peak %.0f MiB; report in build/sim/report.json\n", r.PeakMiB)
	return r.judge()
}

// judge returns an error for each bar that is missed. That of the speed holds on a quiet
// machine; two thirds of it are a fault on any.
func (r *report) judge() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(r.EventsPerS >= 2e6, "%.2f M events/s: at least 2 are wanted", r.EventsPerS/1e6)
	check(r.OctetsPerPacket <= 256, "%.0f octets a packet in flight: at most 256 are allowed", r.OctetsPerPacket)
	check(r.PeakMiB <= 4096, "%.0f MiB of memory: at most 4096 are allowed", r.PeakMiB)
	for _, c := range r.Truth {
		bar := 2.0
		if c.Kind == truth.Namespaces {
			bar = 10
		}
		check(math.Abs(c.Percent) <= bar, "%s: %+.2f %%, at most %v are allowed", c.What, c.Percent, bar)
	}
	for load, runs := range r.Runs {
		for feature, x := range runs {
			check(x.Unfinished == 0, "%s, %s: %d messages did not arrive", load, feature, x.Unfinished)
		}
	}
	if ring := r.Runs["ring"]; ring != nil {
		for _, p := range [][2]string{{"placement", "label"}, {"redirect", "none"}} {
			a, b := ring[p[0]], ring[p[1]]
			check(a != nil && b != nil && a.CollectiveS <= 0.95*b.CollectiveS, "ring: %s takes more than 0.95 of the time of %s", p[0], p[1])
		}
	}
	return errors.Join(errs...)
}

// speed returns the packet events of one second of CPU time, the median of three runs of a
// permutation of 1024 hosts with 4 queue pairs each, PFC and DCQCN, and the most octets of memory
// by the packets in flight.
func speed() (events, octets float64, err error) {
	f, err := topology.New(topology.Shape{Hosts: 1024, HostsPerLeaf: 32, Spines: 16, HostGbit: 100, FabricGbit: 200})
	if err != nil {
		return 0, 0, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all []float64
	for range 3 {
		empty := heap()
		n := network.New(f, network.Config{PFC: true, ECN: true, DCQCN: true})
		n.Delivered = func(qp int32, _ int64) { n.Send(qp, 1<<20) }
		for h := range 1024 {
			for k := range 4 {
				dst := (h*37 + 101) % 1024
				there, back := f.Pair(f.Leaf(h), f.Leaf(dst)), f.Pair(f.Leaf(dst), f.Leaf(h))
				n.Send(n.AddQP(h, dst, there.First+uint32((h*7+k*3)%there.Paths()), back.First+uint32((h+k)%back.Paths()), 0), 1<<20)
			}
		}
		n.Run(50 * network.Microsecond)
		events, began := n.Stats.Events, cpu()
		n.Run(450 * network.Microsecond)
		all = append(all, float64(n.Stats.Events-events)/(cpu()-began))
		octets = max(octets, float64(heap()-empty)/float64(n.PacketPeak()))
		runtime.KeepAlive(n)
	}
	slices.Sort(all)
	return all[1], octets, nil
}

// heap is the octets in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// cpu is the CPU time of this thread, in seconds.
func cpu() float64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return float64(t.Nano()) / 1e9
}
