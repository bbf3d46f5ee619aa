// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Made by `make bench` before it measures.
const (
	sluice    = "../../../bin/sluice"
	lab       = "../../../bin/sluice-lab"
	softflowd = "../../../build/softflowd"
)

// BenchmarkFlows is the CPU time from a capture to its flows over that of softflowd: 1,000,000
// packets of 8192 queue pairs of 128 host pairs. softflowd knows 5-tuples only. Of the first
// file, with one UDP source port, it counts 256 flows; of the second, with a port for each
// queue pair, as many as there are.
func BenchmarkFlows(b *testing.B) {
	for _, program := range []string{softflowd, sluice, lab} {
		if _, err := os.Stat(program); err != nil {
			b.Skip(err)
		}
	}
	dir := b.TempDir()
	for _, tt := range []struct {
		name, sport string
		args        []string
	}{
		{"flows", "constant", nil}, {"ports", "per-qp", nil},
		{"health", "constant", []string{"--health", "--icrc"}}, {"health_ports", "per-qp", []string{"--health", "--icrc"}},
	} {
		file := filepath.Join(dir, tt.sport+".pcap")
		if _, err := os.Stat(file); err != nil {
			cpu(b, lab, "gen", file, "--pairs", "128", "--qps", "64", "--packets", "800000", "--sport", tt.sport)
		}
		b.Run(tt.name, func(b *testing.B) {
			var theirs, ours time.Duration
			for range b.N {
				theirs += cpu(b, softflowd, "-r", file, "-v", "10", "-6", "-m", "1000000", "-d", "-n", "127.0.0.1:9", "-p", filepath.Join(dir, "pid"), "-c", "none")
				ours += cpu(b, sluice, append([]string{"decode", "--flows", file}, tt.args...)...)
			}
			b.ReportMetric(float64(ours)/float64(theirs), "ratio")
		})
	}
}

// BenchmarkTshark is the CPU time that tshark takes for a capture of 1,000,000 packets, a line
// each, over that of sluice for the same.
func BenchmarkTshark(b *testing.B) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		b.Skip(err)
	}
	for _, program := range []string{sluice, lab} {
		if _, err := os.Stat(program); err != nil {
			b.Skip(err)
		}
	}
	file := filepath.Join(b.TempDir(), "packets.pcap")
	cpu(b, lab, "gen", file, "--pairs", "128", "--qps", "64", "--packets", "800000")
	for name, args := range map[string][]string{"decode": {"decode"}, "flows": {"decode", "--flows"}, "doctor": {"doctor"}} {
		b.Run(name, func(b *testing.B) {
			var theirs, ours time.Duration
			for range b.N {
				theirs += cpu(b, tshark, "-n", "-r", file)
				ours += cpu(b, sluice, append(args, file)...)
			}
			b.ReportMetric(float64(theirs)/float64(ours), "ratio")
		})
	}
}

// cpu runs a program to its end and returns the CPU time that it took, the kernel's included.
func cpu(b *testing.B, program string, args ...string) time.Duration {
	b.Helper()
	path, err := filepath.Abs(program)
	if err != nil {
		b.Fatal(err)
	}
	var said strings.Builder
	c := exec.CommandContext(b.Context(), path, args...)
	c.Stderr = &said
	if err := c.Run(); err != nil {
		b.Fatalf("%s %s: %v: %s", program, strings.Join(args, " "), err, said.String())
	}
	return c.ProcessState.UserTime() + c.ProcessState.SystemTime()
}
