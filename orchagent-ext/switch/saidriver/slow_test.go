// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/switch/gate"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saitest"
)

// slowCalls make each call of a library take a time, and count the calls for statistics of ports.
type slowCalls struct {
	takes, longest time.Duration
	slow           bool
	began          time.Time // of the call that is being made
	unbound        time.Time // when a port's attribute was last set
	ports          atomic.Int32
}

// Calling implements [sai.Watcher].
func (s *slowCalls) Calling(c *sai.Call) int {
	if s.began = time.Now(); s.slow {
		time.Sleep(s.takes)
	}
	if c.Object == "port" && c.Name == "set" {
		s.unbound = time.Now()
	}
	if c.Object == "port" && c.Name != "get" {
		s.ports.Add(1)
	}
	return 0
}

// Called implements [sai.Watcher].
func (s *slowCalls) Called(int, *sai.Call, sai.Status) {
	s.longest = max(s.longest, time.Since(s.began))
}

// TestSlowLibraryKeepsDepthForOneCall programs 1,000 entries by a library that takes 10 ms for a call.
// A reading of a queue's depth waits for one call at most, and programming never waits for
// statistics, but for the call that is being made when it begins.
func TestSlowLibraryKeepsDepthForOneCall(t *testing.T) {
	library := saitest.New(t)
	const takes, entries = 10 * time.Millisecond, 1000
	synctest.Test(t, func(t *testing.T) {
		calls := &slowCalls{takes: takes}
		lib, err := sai.Open(library.Path, library.Profile("HIDE", "SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL"), calls)
		if err != nil {
			t.Fatal(err)
		}
		if err := lib.CreateSwitch(true); err != nil {
			t.Fatal(err)
		}
		var g gate.Gate
		lib.TakeTurns(g.At(t.Context(), gate.Programming))
		d := New(lib, Options{})
		if err := d.Ports.Set([]engine.Port{{Name: "Ethernet0", Lanes: []uint32{0}}}); err != nil {
			t.Fatal(err)
		}
		e := newTestEngine(t, d, &fakeLedger{})
		p := policy("Ethernet0")
		p.FlowCapacity = entries
		if o := reconcile(t, e, p); o.Method(engine.NeedFlowLabel) != engine.Rewrite {
			t.Fatalf("flow labels by %s", o.Method(engine.NeedFlowLabel))
		}
		queues, err := d.Ports.QueueIDs("Ethernet0")
		if err != nil {
			t.Fatal(err)
		}
		counters := d.Ports.Counters(lib.Beside(g.At(context.Background(), gate.Statistics)))
		calls.slow = true

		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{}, 2)
		depth := lib.Beside(g.At(ctx, gate.Depth))
		readings, longest := 0, time.Duration(0)
		go func() {
			for ctx.Err() == nil {
				began := time.Now()
				if _, err := depth.QueueStats(queues[0]); err == nil {
					readings, longest = readings+1, max(longest, time.Since(began))
				}
				time.Sleep(3 * time.Millisecond)
			}
			ended <- struct{}{}
		}()
		go func() {
			for ctx.Err() == nil {
				counters.PortStats([]string{"Ethernet0"})
			}
			ended <- struct{}{}
		}()
		time.Sleep(takes / 2) // statistics are in a call
		before := calls.ports.Load()
		if refused, err := e.AddFlows(flows(entries)); refused > 0 || err != nil {
			t.Fatalf("%d refused: %v", refused, err)
		}
		if n := calls.ports.Load() - before; n > 1 {
			t.Errorf("%d calls of statistics while entries were programmed, want the one that was under way", n)
		}
		if waited := g.Times(gate.Depth).Waited; readings < entries || waited.Max > uint64(takes) || longest > 2*takes {
			t.Errorf("%d readings of the depth, which took %v and waited %v at most", readings, longest, time.Duration(waited.Max))
		}
		// Each call of programming waits for one reading at most.
		if is := g.Times(gate.Programming); is.Waited.Max > uint64(takes) || is.Held.Max > uint64(takes) || is.Held.Count < 2*entries {
			t.Errorf("programming waited up to %v, in %d turns of up to %v", time.Duration(is.Waited.Max), is.Held.Count, time.Duration(is.Held.Max))
		}
		before = calls.ports.Load()
		end()
		<-ended
		<-ended
		if calls.ports.Load() == before {
			t.Error("statistics have no turn after programming")
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestCallsOfManyEntries: SAI has no bulk call for ACL entries and ACL counters, so a library that takes
// 1 ms for a call takes 2 s to program 1,000 flows, and to remove them. The kill switch waits for
// none of them: the port is unbound first.
func TestCallsOfManyEntries(t *testing.T) {
	library := saitest.New(t)
	for _, entries := range []int{1000, 10000} {
		synctest.Test(t, func(t *testing.T) {
			const takes = time.Millisecond
			calls := &slowCalls{takes: takes}
			lib, err := sai.Open(library.Path, library.Profile("HIDE", "SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL"), calls)
			if err != nil {
				t.Fatal(err)
			}
			if err := lib.CreateSwitch(true); err != nil {
				t.Fatal(err)
			}
			d := New(lib, Options{})
			if err := d.Ports.Set([]engine.Port{{Name: "Ethernet0", Lanes: []uint32{0}}}); err != nil {
				t.Fatal(err)
			}
			e := newTestEngine(t, d, &fakeLedger{})
			p := policy("Ethernet0")
			p.FlowCapacity = uint32(entries)
			reconcile(t, e, p)
			calls.slow = true
			began := time.Now()
			if refused, err := e.AddFlows(flows(entries)); refused > 0 || err != nil {
				t.Fatalf("%d refused: %v", refused, err)
			}
			if took, want := time.Since(began), 2*time.Duration(entries)*takes; took != want {
				t.Errorf("%d flows are added in %v, want %v", entries, took, want)
			}
			began = time.Now()
			reconcile(t, e, engine.Policy{})
			if took, most := calls.unbound.Sub(began), 20*takes; took <= 0 || took > most {
				t.Errorf("the port of %d flows is unbound after %v, want %v at most", entries, took, most)
			}
			if took, most := time.Since(began), 2*time.Duration(entries)*takes+20*takes; took > most {
				t.Errorf("%d flows are removed in %v, want %v at most", entries, took, most)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
