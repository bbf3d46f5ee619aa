// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/flows/flow"
)

// TestDriftIsPutBack: what another program takes away below the switch is put back under traffic, and is
// in the state, in a counter and in the log; labels and holds are right afterward.
func TestDriftIsPutBack(t *testing.T) {
	t.Parallel()
	l := newLeaf(t)
	l.onePath()
	l.neighbors("hold_limit_ms", "0")
	l.start("--sai-profile", withQueues)
	l.labels()
	l.awaitFields("SLUICE_STATE", "global", "pfcm", "active", "flow_label", "active", "drift", "")
	edge, up := l.LeafA.Name, l.Uplinks[0].Name
	taken := []struct{ part, command string }{
		{"clsact " + edge, "tc qdisc del dev " + edge + " clsact"},
		{"clsact " + up, "tc qdisc del dev " + up + " clsact"},
		{"ingress program " + edge, "tc filter del dev " + edge + " ingress pref 1308"},
		{"egress program " + up, "tc filter del dev " + up + " egress pref 1308"},
		{"root qdisc " + up, "tc qdisc replace dev " + up + " root tbf rate 100mbit burst 20000 limit 100000"},
		{"hash net.ipv6.fib_multipath_hash_policy", "sysctl -qw net.ipv6.fib_multipath_hash_policy=0"},
		{"hash net.ipv6.fib_multipath_hash_fields", "sysctl -qw net.ipv6.fib_multipath_hash_fields=1"},
		{"hold device softsai-hold0", "ip link set softsai-hold0 down"},
		{"hold device softsai-hold0", "ip link del softsai-hold0"},
	}
	var slowest time.Duration
	for _, tt := range taken {
		before := l.driftMended()
		stop := l.background()
		l.in(strings.Fields(tt.command)...)
		began := time.Now()
		l.soon(tt.part+" is put back", func() bool { return l.driftMended() > before })
		slowest = max(slowest, time.Since(began))
		stop()
		l.await("SLUICE_STATE", "global", func(fields map[string]string) bool {
			return strings.Contains(fields["drift"], tt.part+": ") && strings.Contains(fields["drift"], "put back")
		})
		if !strings.Contains(l.log.String(), tt.part) {
			t.Errorf("the log does not name %s", tt.part)
		}
		l.checkLabels(2, flow.DraftLiteral)
		l.holdsHold()
	}
	t.Logf("%d parts were taken, the slowest was away for %d ms at most", len(taken), slowest.Milliseconds()) // make soak judges it
}

// TestDriftOfAnotherOwner: a filter ahead of Sluice's that ends the walk is reported and stays; when it goes,
// labels are right again. One after Sluice's is no drift.
func TestDriftOfAnotherOwner(t *testing.T) {
	t.Parallel()
	l := newLeaf(t)
	l.start()
	l.enable()
	edge := l.LeafA.Name
	add := func(pref string) { // classic BPF that lets all packets through: filters after it do not see them
		l.in("tc", "filter", "add", "dev", edge, "ingress", "pref", pref, "bpf", "bytecode", "1,6 0 0 4294967295,")
	}
	add("40000")
	l.checkLabels(2, flow.DraftLiteral)
	add("1")
	l.await("SLUICE_STATE", "global", func(fields map[string]string) bool {
		return fields["state"] == "degraded" && strings.Contains(fields["drift"], "filter ahead at ingress "+edge) && strings.Contains(fields["warnings"], "filter ahead at ingress "+edge)
	})
	if filters := l.in("tc", "filter", "show", "dev", edge, "ingress"); !strings.Contains(filters, "pref 1 ") || !strings.Contains(filters, "pref 40000 ") {
		t.Errorf("filters of another owner are gone:\n%s", filters)
	}
	l.in("tc", "filter", "del", "dev", edge, "ingress", "pref", "1")
	l.awaitFields("SLUICE_STATE", "global", "state", "running")
	l.checkLabels(2, flow.DraftLiteral)
}

// driftMended is how many parts were put back.
func (l *leaf) driftMended() int {
	l.t.Helper()
	all, err := l.countersDB.Read(l.t.Context(), "SLUICE_STATS")
	if err != nil {
		l.t.Fatal(err)
	}
	n := 0
	for _, r := range all {
		if r.Key == "global" {
			n, _ = strconv.Atoi(r.Fields["drift_mended"]) // 0 before the first count
		}
	}
	return n
}

// background sends packets until stop.
func (l *leaf) background() (stop func()) {
	l.t.Helper()
	s, frames := l.sender(l.A), l.sessions(1)
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		turn := time.NewTicker(time.Millisecond)
		defer turn.Stop()
		for {
			for _, f := range frames {
				_ = s.Send(f) // a full queue is no fault of the switch
			}
			select {
			case <-end:
				return
			case <-turn.C:
			}
		}
	}()
	return func() { close(end); <-done }
}

// holdsHold checks that a flow which a neighbor holds waits, and arrives whole and in order.
func (l *leaf) holdsHold() {
	l.t.Helper()
	c, s, n := l.capture(l.B), l.sender(l.A), 0
	release := l.hold(l.Uplinks[0])
	defer release()
	l.until("packets wait", func() bool {
		l.put(s, l.frame(packet{qp: 0x77, psn: uint32(n), label: heldLabel}))
		n++
		return l.waiting() > 0
	})
	release()
	l.arrived(c, n)
	l.quiet()
}
