// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/notify"
)

// realtimeTime is the CPU time of sluiced's real-time thread.
func (l *leaf) realtimeTime() time.Duration {
	l.t.Helper()
	const priorityAt, priority = 37, "10" // behind the name of the thread, proc_pid_stat(5)
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", l.sluiced.Pid))
	if err != nil {
		l.t.Fatal(err)
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(filepath.Join(thread, "stat"))
		if err != nil {
			continue // it has ended
		}
		before, after, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(after); !strings.HasSuffix(before, "(sluiced") || len(fields) <= priorityAt || fields[priorityAt] != priority {
			continue
		}
		text, err := os.ReadFile(filepath.Join(thread, "schedstat"))
		var ns int64
		if _, scanned := fmt.Sscan(string(text), &ns); err != nil || scanned != nil {
			l.t.Fatal(err, scanned)
		}
		return time.Duration(ns)
	}
	l.t.Skip("needs CAP_SYS_NICE: no thread of sluiced has real-time priority")
	return 0
}

// pauseLasts is how long a genuine pause holds, µs: a busy machine may take long to obey it.
const pauseLasts = 50_000

// stolen is how long the hypervisor had the CPUs of this machine: it counts in the time of the
// threads that ran.
func stolen(t *testing.T) time.Duration {
	t.Helper()
	const stolenAt, tick = 8, 10 * time.Millisecond // of the first line, proc_stat(5)
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	ticks, err := strconv.Atoi(strings.Fields(line)[stolenAt])
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(ticks) * tick
}

// obeys sends pauses of a neighbor until one is obeyed: one that comes too late is dropped.
func (l *leaf) obeys(s *fabric.Sender, by *fabric.Interface) {
	l.t.Helper()
	l.until("a pause is obeyed", func() bool {
		l.put(s, l.pfcm(by, func(_ *notify.Envelope, m *notify.PFCM) { m.Time = pauseLasts }))
		return l.notified("pfcm", "held") > 0
	})
}

// floodPauses sends valid pauses of a neighbor, of 2000 flows, as fast as two threads can. end
// returns how many were sent.
func (l *leaf) floodPauses(by *fabric.Interface) (end func() int) {
	l.t.Helper()
	const flows, threads = 2000, 2
	ctx, cancel := context.WithCancel(l.t.Context())
	var all errgroup.Group
	var senders []*fabric.Sender
	for i := range threads {
		var frames [][]byte
		for stream := range uint16(flows / threads) {
			frames = append(frames, l.pfcm(by, func(_ *notify.Envelope, m *notify.PFCM) {
				m.StreamID, m.Time = 30_000+uint16(i)*flows/threads+stream, 1000
			}))
		}
		s := l.sender(by.Peer())
		senders = append(senders, s)
		burst := s.Burst(frames)
		all.Go(func() error {
			for ctx.Err() == nil {
				if err := burst.Send(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return func() (sent int) {
		cancel()
		if err := all.Wait(); err != nil {
			l.t.Fatal(err)
		}
		for _, s := range senders {
			sent += s.Sent
		}
		return sent
	}
}

// TestFloodOfPausesLeavesOthersTheirCore: a neighbor that sends valid pauses as fast as it can
// takes at most 30 % of a core of the real-time thread, whatever rates are configured, and
// another neighbor's pauses are obeyed within their time or dropped.
func TestFloodOfPausesLeavesOthersTheirCore(t *testing.T) {
	soakOnly(t)
	const (
		most     = 30                    // percent
		burst    = 20 * time.Millisecond // at the begin, and ticks
		duration = 4 * time.Second
	)
	for name, rates := range map[string][]string{
		"default rates": nil,
		"any rate":      {"rx_rate", "10000000", "rx_burst", "1000000", "rx_rate_per_source", "10000000"},
	} {
		t.Run(name, func(t *testing.T) {
			l := holding(t, append([]string{"hold_limit_ms", "0"}, rates...))
			up, flooding := l.Uplinks[0], l.Uplinks[1]
			genuine := l.sender(up.Peer())
			l.obeys(genuine, up)
			end := l.floodPauses(flooding)
			cpu, whole, taken, begin, n := l.realtimeTime(), usageOf(t, l.sluiced.Pid).cpu, stolen(t), time.Now(), 0
			for ; time.Since(begin) < duration; time.Sleep(10 * time.Millisecond) {
				n++
				l.put(genuine, l.pfcm(up, func(_ *notify.Envelope, m *notify.PFCM) { m.StreamID, m.Time = uint16(1000+n), pauseLasts }))
			}
			took := time.Since(begin)
			percent := func(d time.Duration) float64 { return 100 * d.Seconds() / took.Seconds() }
			share, all, sent := percent(l.realtimeTime()-cpu), percent(usageOf(t, l.sluiced.Pid).cpu-whole), end()
			beside := percent(burst + stolen(t) - taken)
			t.Logf("%d genuine pauses beside %.0f others a second: %.1f %% of a core, %.1f %% with all threads; enforce_us p50 %s, p99 %s, max %s; %s", n, float64(sent)/took.Seconds(), share, all,
				l.notifiedText("pfcm", "enforce_us_p50"), l.notifiedText("pfcm", "enforce_us_p99"), l.notifiedText("pfcm", "enforce_us_max"), l.notifiedAll("pfcm"))
			if share > most+beside {
				t.Errorf("%.1f %% of a core, want %d at most, and %.1f of a burst and of what the hypervisor took", share, most, beside)
			}
		})
	}
}
