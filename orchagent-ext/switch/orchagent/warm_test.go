// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"errors"
	"testing"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/testbed/orchagenttest"
	"sluice/yang/rows"
)

func TestRestorationLastsUntilOrchagentHasReconciled(t *testing.T) {
	type look struct {
		after   time.Duration
		row     warmRow
		restore bool
	}
	on := func(state, number string) warmRow { return warmRow{enabled: true, state: state, number: number} }
	old := warmRow{enabled: true, state: "initialized", number: "3", answered: true}
	for name, looks := range map[string][]look{
		"no warm restart":           {{0, warmRow{}, false}, {time.Second, warmRow{state: "initialized"}, false}},
		"one":                       {{0, on("reconciled", "1"), false}, {0, on("initialized", "2"), true}, {time.Second, on("restored", "2"), true}, {0, on("reconciled", "2"), false}},
		"the process starts in one": {{0, on("initialized", "2"), true}, {0, on("reconciled", "2"), false}},
		"one that does not end":     {{0, on("reconciled", "1"), false}, {0, on("initialized", "2"), true}, {longestRestore - 1, on("initialized", "2"), true}, {1, on("initialized", "2"), false}, {time.Hour, on("restored", "2"), false}},
		"another after that":        {{0, on("initialized", "1"), true}, {longestRestore, on("initialized", "1"), false}, {0, on("initialized", "2"), true}},
		"an old row":                {{0, old, false}, {time.Second, old, false}, {0, on("initialized", "4"), true}},
		"it is enabled later":       {{0, warmRow{state: "restored", number: "0"}, false}, {0, on("reconciled", "0"), false}, {0, on("initialized", "1"), true}},
	} {
		var r restoration
		now := time.Unix(1000, 0)
		for i, l := range looks {
			now = now.Add(l.after)
			if is := r.restores(l.row, now); is != l.restore {
				t.Errorf("%s, look %d: restores %v, want %v", name, i, is, l.restore)
			}
		}
	}
}

// unwritten fails where a row of a rule waits to be taken.
func (p *rulePlace) unwritten(when string) {
	p.t.Helper()
	if waits, err := p.appl.Waiting(p.t.Context(), tableRule); err != nil || len(waits) > 0 {
		p.t.Errorf("%s: rules are written: %v, %v", when, waits, err)
	}
}

// TestWarmRestartRewritesNoRule: orchagent clears the statuses, and takes rules last. One that is written
// meanwhile is removed and created again, so that its flow goes by hash.
func TestWarmRestartRewritesNoRule(t *testing.T) {
	p := newRulePlace(t, "202505", orchagenttest.ASIC{})
	all := flowsOf(8)
	p.settle(all...)
	p.put("WARM_RESTART_ENABLE_TABLE", "swss", map[string]string{"enable": "true"})
	p.pass(time.Hour) // since the rules were written
	p.orchagent.Stop()
	restore := make(chan struct{})
	p.orchagent.StartWarm(t, restore)
	p.until("orchagent restores its state", func() bool {
		row, err := getOne(p.state, rows.Row{Table: tableWarm, Key: keyOrchagent})
		return err == nil && row["state"] == "initialized"
	})
	for range 60 {
		p.pass(time.Second)
		if _, err := p.rules.Redirect(all); !errors.Is(err, engine.ErrWaits) {
			t.Fatalf("%v: want that it waits", err)
		}
		p.unwritten("while orchagent restores its state")
	}
	if err := p.d.Remove(&engine.Record{Object: rowObject(rows.Row{Table: tableACL, Key: nameTable4})}); !errors.Is(err, errRestoring) {
		t.Errorf("a row is removed meanwhile: %v", err)
	}
	close(restore)
	p.settle(all...)
	p.unwritten("after the restart")
	if n := len(p.to()); n != 8 || p.gaps > 0 {
		t.Errorf("%d rules, %d flows went by hash: want 8 and 0", n, p.gaps)
	}
}

// TestStatusThatIsLostIsWaitedFor: orchagent may be about to take rules again.
func TestStatusThatIsLostIsWaitedFor(t *testing.T) {
	p := newRulePlace(t, "202505", orchagenttest.ASIC{})
	want := redirection(1, "Ethernet48:10.255.0.1")
	p.rules.patience = Patience
	p.settle(want)
	p.pass(time.Hour)
	p.orchagent.Stop() // what it has to take is read in its place
	f := p.rules.flows[want.Key()]
	gone := sonicdb.Change{Row: rows.Row{Table: statusTables[tableRule], Key: keyAs(f.row(0))}, Deleted: true}
	if err := p.state.Write(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		p.pass(time.Second)
		if _, err := p.rules.Redirect([]engine.Redirection{want}); err != nil {
			t.Fatal(err)
		}
		p.unwritten("just after the loss")
	}
	p.pass(Patience)
	if _, err := p.rules.Redirect([]engine.Redirection{want}); !errors.Is(err, engine.ErrPending) {
		t.Fatal(err)
	}
	if waits, err := p.appl.Waiting(t.Context(), tableRule); err != nil || len(waits) != 1 {
		t.Errorf("rules that wait: %v, %v; want the one that orchagent lacks", waits, err)
	}
}
