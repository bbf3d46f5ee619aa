// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"
)

// A series has the values of one benchmark in one unit, one for each run.
type series struct {
	pkg       string // import path
	benchmark string // BenchmarkX or BenchmarkX/sub, less the GOMAXPROCS suffix
	unit      string
	values    []float64
}

// packages returns the folders of the bars, each once, in their order.
func packages(bars []bar) []string {
	var pkgs []string
	for _, b := range bars {
		if !slices.Contains(pkgs, b.pkg) {
			pkgs = append(pkgs, b.pkg)
		}
	}
	return pkgs
}

// benchRegexp is the argument of -bench that runs the benchmarks of the bars of
// one package, with all their sub-benchmarks.
func benchRegexp(bars []bar, pkg string) string {
	var names []string
	for _, b := range bars {
		name, _, _ := strings.Cut(b.benchmark, "/")
		if b.pkg == pkg && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// measure runs the benchmarks of one package and returns their measurements, also when go
// test failed in the end. Its output goes to progress too.
func measure(ctx context.Context, bars []bar, pkg string, benchTime time.Duration, count int, progress io.Writer) ([]series, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-C", pkg, "-run=^$", "-bench="+benchRegexp(bars, pkg), "-benchmem",
		"-benchtime="+benchTime.String(), "-count="+strconv.Itoa(count), "-timeout=1h", ".")
	found, err := runBenchmarks(cmd, progress)
	if err != nil {
		return found, fmt.Errorf("run benchmarks of %s: %w", pkg, err)
	}
	return found, nil
}

// runBenchmarks runs a command and returns the measurements that it prints, also when it failed in
// the end.
func runBenchmarks(cmd *exec.Cmd, progress io.Writer) ([]series, error) {
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	found, parseErr := parse(io.TeeReader(out, progress))
	return found, cmp.Or(cmd.Wait(), parseErr)
}

// parse reads the output of go test -bench to its end. It returns one series a
// benchmark and unit, in the order of the first run.
func parse(r io.Reader) ([]series, error) {
	var found []series
	reader := benchfmt.NewReader(r, "go test")
	for reader.Scan() {
		result, ok := reader.Result().(*benchfmt.Result)
		if !ok {
			continue // a line of the benchmark's own, or of the test runner
		}
		base, parts := result.Name.Parts()
		name := "Benchmark" + string(base)
		for _, part := range parts {
			if part[0] == '/' {
				name += string(part)
			}
		}
		for _, v := range result.Values {
			value, unit := v.Value, v.Unit
			if v.OrigUnit != "" {
				value, unit = v.OrigValue, v.OrigUnit
			}
			found = add(found, series{pkg: result.GetConfig("pkg"), benchmark: name, unit: unit}, value)
		}
	}
	return found, reader.Err()
}

// add appends a value to the series like s, which it makes if it is missing.
func add(found []series, s series, value float64) []series {
	i := slices.IndexFunc(found, func(f series) bool {
		return f.pkg == s.pkg && f.benchmark == s.benchmark && f.unit == s.unit
	})
	if i < 0 {
		i = len(found)
		found = append(found, s)
	}
	found[i].values = append(found[i].values, value)
	return found
}
