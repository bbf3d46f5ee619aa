// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/binary"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// learnMany makes n flows known, each with an entry.
func (l *leaf) learnMany(n int) {
	l.t.Helper()
	sender, err := l.A.Sender()
	if err != nil {
		l.t.Fatal(err)
	}
	defer sender.Close()
	frame := l.frame(packet{})
	for deadline := time.Now().Add(4 * patience); ; {
		for qp := range uint32(n) {
			binary.BigEndian.PutUint32(frame[qpOctet-1:], 0x1000+qp) // the octet before is reserved
			for range 2 {
				if err := sender.Send(frame); err != nil {
					l.t.Fatal(err)
				}
			}
			if qp%64 == 63 {
				time.Sleep(time.Millisecond) // no more than the CPU takes
			}
		}
		for wait := time.Now().Add(3 * time.Second); time.Now().Before(wait); time.Sleep(10 * poll) {
			if l.row("SLUICE_STATE", "global")["flows"] == strconv.Itoa(n) {
				return
			}
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("%v", l.row("SLUICE_STATE", "global"))
		}
	}
}

// BenchmarkRestartManyFlows is the time from kill -9 until the next process says
// that it is in step, with 50,000 flows that have an entry, and what memory that
// takes.
func BenchmarkRestartManyFlows(b *testing.B) {
	const flows = 50000
	l := newLeaf(b)
	hide := []string{"--sai-profile", "SLUICE_HIDE=compute"}
	l.start(hide...)
	l.enable()
	l.learnMany(flows)
	var resident int
	var busy time.Duration
	for b.Loop() {
		since := l.row("SLUICE_STATE", "global")["since"]
		for time.Now().UTC().Truncate(time.Second).Format(time.RFC3339) == since { // its resolution
			_ = unix.Nanosleep(&unix.Timespec{Nsec: 1e7}, nil)
		}
		start := time.Now()
		l.sluiced.Kill()
		l.launch(hide...)
		l.await("SLUICE_STATE", "global", func(f map[string]string) bool {
			return f["since"] != since && f["state"] == "running" && f["flow_label"] == "active" && f["flows"] == strconv.Itoa(flows)
		})
		b.ReportMetric(time.Since(start).Seconds(), "s")
		used := usageOf(b, l.sluiced.Pid)
		resident, busy = max(resident, used.peak), max(busy, used.cpu)
	}
	b.ReportMetric(busy.Seconds(), "s-CPU")
	b.ReportMetric(float64(resident), "MiB")
}
