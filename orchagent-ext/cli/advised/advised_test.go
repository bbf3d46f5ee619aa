// SPDX-License-Identifier: Apache-2.0

package advised

import (
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var (
	host = netip.MustParseAddr("2001:db8::a")
	qp   = QueuePair{host, 0x17}
	near = Source{netip.MustParseAddr("2001:db8::1"), 0x11}
	far  = Source{netip.MustParseAddr("2001:db8::2"), 0x11}
)

const ms = int64(time.Millisecond)

func TestLowestUnexpiredRateHolds(t *testing.T) {
	table := New(30 * time.Millisecond)
	take := func(at int64, by Source, mbps, want uint32, changes bool) {
		t.Helper()
		rate, changed := table.Take(at*ms, qp, by, mbps)
		if rate.Mbps != want || changed != changes || table.Mbps(qp) != want {
			t.Errorf("at %d ms: %+v (changed %v), want %d Mbit/s", at, rate, changed, want)
		}
	}
	take(0, near, 100, 100, true)
	take(10, far, 40, 40, true)
	take(20, far, 40, 40, false) // a refresh
	take(25, near, 60, 40, false)
	take(30, far, 80, 60, true) // the newest of a source counts
	if c := table.Expire(54 * ms); c != nil {
		t.Errorf("expired early: %+v", c)
	}
	if c := table.Expire(55 * ms); len(c) != 1 || c[0].Mbps != 80 || c[0].By != far {
		t.Errorf("after the lower one expired: %+v", c)
	}
	if at, ok := table.Next(); !ok || at != 60*ms {
		t.Errorf("next at %d, %v", at, ok)
	}
	if c := table.Expire(60 * ms); len(c) != 1 || c[0].Mbps != 0 || table.Mbps(qp) != 0 {
		t.Errorf("after all expired: %+v", c)
	}
	if _, ok := table.Next(); ok || len(table.pairs) != 0 {
		t.Error("something is left")
	}
}

// While CNPs come, advice only lowers the rate, and its end keeps it; 30 ms after the last CNP
// the lowest advice in force counts again.
//
//conformance:draft-zz/cnp-first
func TestCNPComesFirst(t *testing.T) {
	table := New(30 * time.Millisecond)
	check := func(at int64, rate Rate, changed bool, mbps uint32, cnp, changes bool) {
		t.Helper()
		if rate.Mbps != mbps || rate.CNP != cnp || changed != changes || table.Mbps(qp) != mbps {
			t.Errorf("at %d ms: %+v (changed %v), want %d Mbit/s, CNP %v", at, rate, changed, mbps, cnp)
		}
	}
	take := func(at int64, mbps, want uint32, cnp, changes bool) {
		t.Helper()
		rate, changed := table.Take(at*ms, qp, near, mbps)
		check(at, rate, changed, want, cnp, changes)
	}
	congested := func(at int64, want uint32, changes bool) {
		t.Helper()
		rate, changed := table.Congested(at*ms, qp)
		check(at, rate, changed, want, true, changes)
	}
	expires := func(at int64, want uint32, cnp bool) {
		t.Helper()
		if c := table.Expire(at*ms - 1); c != nil {
			t.Errorf("before %d ms: %+v", at, c)
		}
		c := table.Expire(at * ms)
		if len(c) != 1 {
			t.Fatalf("at %d ms: %+v", at, c)
		}
		check(at, c[0], true, want, cnp, true)
	}
	congested(0, 0, true) // before any advice
	take(5, 100, 100, true, true)
	take(10, 400, 100, true, false)
	take(15, 70, 70, true, true)
	congested(20, 70, false) // as another before
	take(25, 300, 70, true, false)
	expires(50, 300, false)
	congested(54, 300, true)
	if c := table.Expire(55 * ms); c != nil { // the end of the advice would free the sender
		t.Errorf("at 55 ms: %+v", c)
	}
	expires(84, 0, false)
	if _, ok := table.Next(); ok || len(table.pairs) != 0 {
		t.Error("something is left")
	}

	// An advice that expired before the CNP counts for nothing, also where Expire comes late.
	table.Take(100*ms, qp, near, 50)
	rate, _ := table.Congested(130*ms, qp)
	check(130, rate, true, 0, true, true)
}

func TestFloodOfAdviceIsBounded(t *testing.T) {
	table := New(30 * time.Millisecond)
	for i := range uint32(MaxSources + 5) {
		table.Take(0, qp, Source{near.Node, i}, 10)
	}
	if table.Full != 5 || len(table.pairs[qp].advice) != MaxSources {
		t.Errorf("%d without room, %d kept", table.Full, len(table.pairs[qp].advice))
	}
	for i := range uint32(MaxQueuePairs + 7) {
		table.Take(0, QueuePair{host, 0x1000 + i}, near, 10)
	}
	if table.Full != 5+8 || len(table.pairs) != MaxQueuePairs {
		t.Errorf("%d without room, %d queue pairs", table.Full, len(table.pairs))
	}
}

// Whatever comes when, the rate is that of a plain list of all advice.
func TestTableAgreesWithAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const lifetime = 30
		type given struct {
			of    QueuePair
			by    Source
			mbps  uint32
			until int64
		}
		var all []given
		table, now := New(lifetime), int64(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += rapid.Int64Range(0, 20).Draw(t, "dt")
			table.Expire(now)
			g := given{QueuePair{host, rapid.Uint32Range(0, 2).Draw(t, "qp")}, Source{near.Node, rapid.Uint32Range(0, 3).Draw(t, "by")}, rapid.Uint32Range(1, 50).Draw(t, "rate"), now + lifetime}
			kept := all[:0]
			for _, a := range all {
				if a.until > now && (a.of != g.of || a.by != g.by) {
					kept = append(kept, a)
				}
			}
			all = append(kept, g)
			table.Take(now, g.of, g.by, g.mbps)
			for q := range uint32(3) {
				want := uint32(0)
				for _, a := range all {
					if a.of.QP == q && (want == 0 || a.mbps < want) {
						want = a.mbps
					}
				}
				if got := table.Mbps(QueuePair{host, q}); got != want {
					t.Fatalf("at %d queue pair %d: %d, want %d", now, q, got, want)
				}
			}
		}
	})
}

// Mbps returns the rate in force for a queue pair; 0: unlimited.
func (t *Table) Mbps(of QueuePair) uint32 {
	if p := t.pairs[of]; p != nil {
		return p.rate.Mbps
	}
	return 0
}
