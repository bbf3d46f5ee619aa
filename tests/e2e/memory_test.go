// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Bounds of what sluiced has resident.
const (
	memoryFlows = 50_000 // with entries
	memoryMost  = 300    // MB, beside so many flows
	portChanges = 40
)

// manyFlows gives n flows their entries.
func (l *leaf) manyFlows(n int) {
	l.t.Helper()
	l.in("ip", "-6", "route", "replace", "blackhole", "2001:db8:bad::/48")
	s := l.sender(l.A)
	for deadline := time.Now().Add(patience); l.flowsNow() < n; time.Sleep(100 * poll) {
		if time.Now().After(deadline) {
			l.t.Fatalf("%d of %d flows have an entry", l.flowsNow(), n)
		}
		for qp := range uint32(n) {
			f := l.frame(packet{qp: 2 + qp})
			copy(f[14+24:], []byte{0x20, 0x01, 0x0d, 0xb8, 0x0b, 0xad}) // the destination
			l.put(s, f, f)                                              // one that is seen once gets none
		}
	}
}

// TestMemoryWhilePortsComeAndGo: beside 50,000 flows sluiced has at most 300 MB resident, and
// after 1,000 changes of a port no more than at first. build/soak/memory.csv has the series.
func TestMemoryWhilePortsComeAndGo(t *testing.T) {
	soakOnly(t)
	l := newLeaf(t)
	l.start("--sai-profile", "SLUICE_HIDE=compute")
	l.set("SLUICE", "global", "flow_capacity", "65536", "cpu_rate", "200000", "cpu_burst", "100000")
	l.enable()
	l.awaitFields("SLUICE_CAPABILITY", "switch", "flow_label_method", "rewrite")
	l.manyFlows(memoryFlows)
	l.set("PORT", "new0", "admin_status", "up")
	l.set("SLUICE_PORT", "new0", "role", "edge")
	series, csv := make([]int, portChanges), "change,seconds,resident_mb\n"
	began := time.Now()
	for i := range series {
		if i%2 == 0 {
			l.in("ip", "link", "add", "new0", "up", "type", "veth", "peer", "name", "far0")
		} else {
			l.in("ip", "link", "del", "new0")
		}
		l.awaitPort("new0", i%2 == 0)
		series[i] = usageOf(t, l.sluiced.Pid).resident
		csv += fmt.Sprintf("%d,%.1f,%d\n", i+1, time.Since(began).Seconds(), series[i])
	}
	file := filepath.Join("..", "..", "build", "soak", "memory.csv")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(csv), 0o644); err != nil { //nolint:gosec // figures are for everyone
		t.Fatal(err)
	}
	if n := l.flowsNow(); n < memoryFlows {
		t.Errorf("%d flows have an entry, want %d", n, memoryFlows)
	}
	// The first tenth is the warm-up.
	tenth := portChanges / 10
	first, last := slices.Max(series[tenth:2*tenth]), slices.Max(series[9*tenth:])
	peak := usageOf(t, l.sluiced.Pid).peak
	t.Logf("%d changes in %v: %d MiB, at last %d MiB, at most %d MiB; opened again %d times", portChanges, time.Since(began).Round(time.Second), first, last, peak,
		strings.Count(l.log.String(), "the switch is opened again"))
	if float64(last) > 1.05*float64(first) {
		t.Errorf("%d MiB in the last tenth, %d in the second", last, first)
	}
	if mb := peak << 20 / 1_000_000; mb > memoryMost {
		t.Errorf("%d MB at most beside %d flows, want %d", mb, memoryFlows, memoryMost)
	}
}
