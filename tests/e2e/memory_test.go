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

	"sluice/yang/rows"
)

// Bounds of what sluiced has resident.
const (
	memoryFlows = 50_000 // with entries
	memoryMost  = 300    // MB, beside so many flows
	portChanges = 1000
)

// reopened is in the log where the library did not change its ports while it was open.
const reopened = "reopening the switch"

// manyFlows sends two packets of each of n flows until all have entries.
func (l *leaf) manyFlows(n int) {
	l.t.Helper()
	l.in("ip", "-6", "route", "replace", "blackhole", "2001:db8:bad::/48")
	s := l.sender(l.A)
	send := func() {
		for qp := range uint32(n) {
			f := l.frame(packet{qp: 2 + qp})
			copy(f[14+24:], []byte{0x20, 0x01, 0x0d, 0xb8, 0x0b, 0xad}) // the destination
			l.put(s, f, f)                                              // one that is seen once gets none
		}
	}
	send()
	for deadline := time.Now().Add(patience); l.flowsNow() < n; send() {
		if time.Now().After(deadline) {
			l.t.Fatalf("%d of %d flows have an entry", l.flowsNow(), n)
		}
	}
}

// newCSV begins a file of build/soak with the names of its columns.
func newCSV(t *testing.T, name, columns string) *os.File {
	t.Helper()
	folder := filepath.Join("..", "..", "build", "soak")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // each line was written at once
	if _, err := fmt.Fprintln(f, columns); err != nil {
		t.Fatal(err)
	}
	return f
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
	series := make([]int, portChanges)
	csv := newCSV(t, "memory.csv", "change,seconds,resident_mib,peak_mib")
	began := time.Now()
	for i := range series {
		if i%100 == 99 { // idle flows lose their entries after 5 minutes
			l.manyFlows(memoryFlows)
		}
		if i%2 == 0 {
			l.in("ip", "link", "add", "new0", "up", "type", "veth", "peer", "name", "far0")
		} else {
			l.in("ip", "link", "del", "new0")
		}
		l.until("the port is taken in, or no longer", func() bool {
			all, err := l.countersDB.Get(t.Context(), rows.Row{Table: "SLUICE_PORT_STATS", Key: "new0"})
			if err != nil {
				t.Fatal(err)
			}
			return (len(all) > 0) == (i%2 == 0)
		})
		u := usageOf(t, l.sluiced.Pid)
		series[i] = u.resident
		if _, err := fmt.Fprintf(csv, "%d,%.1f,%d,%d\n", i+1, time.Since(began).Seconds(), u.resident, u.peak); err != nil {
			t.Fatal(err)
		}
	}
	if n := l.flowsNow(); n < memoryFlows {
		t.Errorf("%d flows have an entry, want %d", n, memoryFlows)
	}
	// The first tenth is the warm-up.
	tenth := portChanges / 10
	first, last := slices.Max(series[tenth:2*tenth]), slices.Max(series[9*tenth:])
	peak := usageOf(t, l.sluiced.Pid).peak
	t.Logf("%d changes in %v: %d MiB, at last %d MiB, at most %d MiB; opened again %d times", portChanges, time.Since(began).Round(time.Second), first, last, peak,
		strings.Count(l.log.String(), reopened))
	if float64(last) > 1.05*float64(first) {
		t.Errorf("%d MiB in the last tenth, %d in the second", last, first)
	}
	if mb := peak << 20 / 1_000_000; mb > memoryMost {
		t.Errorf("%d MB at most beside %d flows, want %d", mb, memoryFlows, memoryMost)
	}
}
