// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/switch/engine"
	"sluice/yang/rows"
)

// dying is a driver whose process ends at its n-th change: before the row is
// written, or behind.
type dying struct {
	*Driver
	n      int
	behind bool
}

var errDead = errors.New("killed")

func (d *dying) Create(o *engine.Object, existing map[string]*engine.Record) (*engine.Record, error) {
	if d.n--; d.n >= 0 {
		return d.Driver.Create(o, existing)
	}
	if d.n < -1 || !d.behind {
		return nil, errDead
	}
	if _, err := d.Driver.Create(o, existing); err != nil {
		return nil, err
	}
	return nil, errDead
}

// TestKilledAnywhere: whatever change a process is killed at, before or behind the
// row, the next one leaves nothing and makes nothing twice.
func TestKilledAnywhere(t *testing.T) {
	p := newPlace(t).start("proposed")
	p.set("SWITCH_HASH", "GLOBAL", "ecmp_hash@", "SRC_IP")
	policy := exports(4096, "Ethernet0")
	policy.Label, policy.ManageHash = &engine.Label{}, true
	before := p.rows()
	for n := range 7 {
		for _, behind := range []bool{false, true} {
			d := &dying{p.driver(), n, behind}
			e, err := engine.NewEngine(d, p.ledger, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.Reconcile(policy); !errors.Is(err, errDead) {
				t.Fatalf("change %d: %v", n, err)
			}
			// Killed: the ledger is not saved any more. One time the next process is to
			// disable, the other time to go on.
			if n%2 == 0 {
				p.reconcile(p.engine(p.driver()), policy)
				if diff := cmp.Diff(append(append([]string{}, exported...), "SWITCH_HASH|GLOBAL"), p.names()); diff != "" {
					t.Errorf("change %d, behind %v: %s", n, behind, diff)
				}
			}
			p.reconcile(p.engine(p.driver()), engine.Policy{})
			if diff := cmp.Diff(before, p.rows()); diff != "" {
				t.Errorf("change %d, behind %v: left: %s", n, behind, diff)
			}
			if len(p.ledger.rows) > 0 {
				t.Errorf("change %d, behind %v: the ledger has %v", n, behind, p.ledger.rows)
			}
		}
	}
}

// TestTheNextProcessTakesOver: the next process writes nothing if the rows are as wanted.
func TestTheNextProcessTakesOver(t *testing.T) {
	p := newPlace(t).start("proposed")
	p.reconcile(p.engine(p.driver()), exports(4096, "Ethernet0"))
	e := p.engine(p.driver())
	if o := p.reconcile(e, exports(4096, "Ethernet0")); o.Created+o.Removed+o.HandedOver > 0 {
		t.Errorf("%+v", o)
	}
	// A reboot from a saved configuration: the rows are there, the ledger is not.
	clear(p.ledger.rows)
	e = p.engine(p.driver())
	if o := p.reconcile(e, exports(4096, "Ethernet0")); o.Problems != nil {
		t.Errorf("%+v", o)
	}
	p.reconcile(e, engine.Policy{})
	if got := p.names(); got != nil {
		t.Errorf("left: %v", got)
	}
}

// TestOthersChangeOurRows: rows that are taken away, or changed, come back.
func TestOthersChangeOurRows(t *testing.T) {
	p := newPlace(t).start("proposed")
	e := p.engine(p.driver())
	p.reconcile(e, exports(4096, "Ethernet0"))
	want := p.rows()
	for _, change := range []func(){
		func() { p.lose(written[2]) },
		func() { p.lose(written[0]) },
		p.restartSwss,
		func() { p.set("MIRROR_SESSION", "SLUICE_SAMPLE", "type", "SPAN", "dst_port", "Ethernet8") },
		p.reload, // what `config reload` does, and more
	} {
		change()
		changed, err := e.CheckDrift()
		for err != nil { // a connection from before the restart
			changed, err = e.CheckDrift()
		}
		if !changed {
			t.Fatal("not seen")
		}
		p.reconcile(e, exports(4096, "Ethernet0"))
		if diff := cmp.Diff(want, p.rows()); diff != "" {
			t.Error(diff)
		}
		if changed, err := e.CheckDrift(); changed || err != nil {
			t.Errorf("still: %v, %v", changed, err)
		}
	}
}

// TestRowsThatAreTakenAwayAreCounted and named; they stay away while orchagent has yet to take changes, and
// come back when it has.
func TestRowsThatAreTakenAwayAreCounted(t *testing.T) {
	p := newPlace(t).start("proposed")
	e := p.engine(p.driver())
	p.reconcile(e, exports(4096, "Ethernet0"))
	want := p.rows()
	look := func() {
		t.Helper()
		changed, err := e.CheckDrift()
		if err != nil {
			t.Fatal(err)
		}
		if changed {
			p.reconcile(e, exports(4096, "Ethernet0"))
		}
	}
	look()
	if found, _ := e.Losses().Counts(); found > 0 {
		t.Errorf("losses %q", e.Losses().Texts())
	}
	p.orchagent.Stop()
	other := rows.Row{Table: tableACL, Key: "OTHER", Fields: map[string]string{"type": "L3", "stage": "ingress", "ports": "Ethernet0"}}
	if err := p.appl.Produce(t.Context(), sonicdb.Change{Row: other}); err != nil {
		t.Fatal(err)
	}
	p.lose(written[2])
	for range 3 {
		look()
		if diff := cmp.Diff(want, p.rows()); diff == "" {
			t.Fatal("a row is written while orchagent does not take any")
		}
	}
	found, put := e.Losses().Counts()
	if texts := e.Losses().Texts(); found != 1 || put != 0 || len(texts) != 1 || texts[0] != "row ACL_RULE_TABLE|SLUICE_ROCE:SLUICE_CM: it is gone" {
		t.Errorf("%d found, %d put back: %q", found, put, texts)
	}
	p.restartSwss()
	p.until("the rows are there again", func() bool { look(); return cmp.Diff(want, p.rows()) == "" })
	p.set("MIRROR_SESSION", "SLUICE_SAMPLE", "type", "SPAN", "dst_port", "Ethernet8")
	p.until("so is what was changed", func() bool { look(); return cmp.Diff(want, p.rows()) == "" })
	texts := strings.Join(e.Losses().Texts(), "; ")
	if found, put = e.Losses().Counts(); found != 5 || put != 5 || !strings.Contains(texts, "row MIRROR_SESSION|SLUICE_SAMPLE: it was changed; put back 1 times") {
		t.Errorf("%d found, %d put back: %s", found, put, texts)
	}
}

// TestWhatOrchagentSaysLater is told, and nothing is changed for it.
func TestWhatOrchagentSaysLater(t *testing.T) {
	p := newPlace(t).start("proposed")
	d := p.driver()
	e := p.engine(d)
	p.reconcile(e, exports(4096, "Ethernet0"))
	if w := d.Warnings(); w != nil {
		t.Errorf("%q", w)
	}
	p.orchagent.Stop()
	p.put("MIRROR_SESSION_TABLE", "SLUICE_SAMPLE", map[string]string{"status": "inactive"})
	if changed, err := e.CheckDrift(); changed || err != nil {
		t.Fatal(changed, err)
	}
	if diff := cmp.Diff([]string{`MIRROR_SESSION|SLUICE_SAMPLE: orchagent says "inactive"`}, d.Warnings()); diff != "" {
		t.Error(diff)
	}
}

// lose removes rows of APPL_DB, without a word to orchagent.
func (p *place) lose(lost ...rows.Row) {
	p.t.Helper()
	for _, r := range lost {
		if err := p.appl.Write(context.Background(), sonicdb.Change{Row: r, Deleted: true}); err != nil {
			p.t.Fatal(err)
		}
	}
}

// restartSwss empties APPL_DB and restarts orchagent, as a cold restart of swss does
// (swss.sh). What orchagent said before is left by it until orchagent starts.
func (p *place) restartSwss() {
	p.t.Helper()
	p.orchagent.Stop()
	p.lose(written...)
	p.start("proposed")
}

// reload empties Redis, and restarts orchagent.
func (p *place) reload() {
	p.t.Helper()
	p.orchagent.Stop()
	if err := p.redis.Restart(true); err != nil {
		p.t.Fatal(err)
	}
	p.start("proposed")
}

// TestRedisIsAway: what could not be written is written when it is back.
func TestRedisIsAway(t *testing.T) {
	p := newPlace(t).start("proposed")
	e := p.engine(p.driver())
	p.orchagent.Stop()
	p.redis.Kill()
	if _, err := e.Reconcile(exports(4096, "Ethernet0")); err == nil {
		t.Fatal("no error")
	}
	if err := p.redis.Restart(true); err != nil {
		t.Fatal(err)
	}
	p.start("proposed")
	for {
		if _, err := e.Reconcile(exports(4096, "Ethernet0")); err == nil {
			break
		}
	}
	if diff := cmp.Diff(exported, p.names()); diff != "" {
		t.Error(diff)
	}
}

// put writes a row of STATE_DB.
func (p *place) put(table, key string, fields map[string]string) {
	p.t.Helper()
	var err error
	for range 20 { // connections from before a restart fail, one by one
		if err = p.state.Write(context.Background(), sonicdb.Change{Row: rows.Row{Table: table, Key: key, Fields: fields}}); err == nil {
			return
		}
	}
	p.t.Fatal(err)
}

// TestSavedAndRebooted: `config save` has kept our rows, and a reboot has emptied
// the ledger. They are taken over where they are wanted, and removed where not.
func TestSavedAndRebooted(t *testing.T) {
	p := newPlace(t)
	p.start("proposed")
	before := p.rows()
	policy := exports(4096, "Ethernet0")
	p.reconcile(p.engine(p.driver()), policy)
	wrote := p.rows()
	if cmp.Equal(before, wrote) {
		t.Fatal("nothing was written")
	}
	for _, tt := range []struct {
		policy           engine.Policy
		created, removed int
		want             map[string]map[string]string
	}{
		{policy, 0, 0, wrote},
		{engine.Policy{}, 0, len(wrote) - len(before), before},
	} {
		p.ledger = &ledger{rows: map[engine.ID]map[string]string{}}
		o := p.reconcile(p.engine(p.driver()), tt.policy)
		if removed := o.Removed + o.HandedOver; o.Created != tt.created || removed != tt.removed {
			t.Errorf("created %d, want %d; removed %d, want %d", o.Created, tt.created, removed, tt.removed)
		}
		if diff := cmp.Diff(tt.want, p.rows()); diff != "" {
			t.Error(diff)
		}
		if known := len(p.ledger.rows); known != len(tt.want)-len(before) {
			t.Errorf("the ledger has %d rows, want %d", known, len(tt.want)-len(before))
		}
	}
}

// TestRemovesWithoutOrchagent: rows are taken away while orchagent is down, too: it
// may have been stopped first.
func TestRemovesWithoutOrchagent(t *testing.T) {
	p := newPlace(t).start("proposed")
	p.reconcile(p.engine(p.driver()), exports(4096, "Ethernet0"))
	p.orchagent.Stop()
	if err := p.state.Write(t.Context(), sonicdb.Change{Row: rowSwitch, Deleted: true}); err != nil {
		t.Fatal(err)
	}
	p.reconcile(p.engine(p.driver()), engine.Policy{})
	if got := p.names(); got != nil {
		t.Errorf("left: %v", got)
	}
}
