// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/switch/engine"
	"sluice/yang/rows"
)

// TestWhatWasInTheWayGoes: a row that was refused is written when the reason is gone,
// without another change of the configuration.
func TestWhatWasInTheWayGoes(t *testing.T) {
	for _, tt := range []struct {
		name  string
		block func(*place)
		free  func(*place)
	}{
		{
			"a row of another owner",
			func(p *place) {
				p.set("ACL_TABLE", "SLUICE_ROCE", "type", "L3", "stage", "ingress", "ports@", "Ethernet0")
			},
			func(p *place) {
				p.remove("ACL_TABLE", "SLUICE_ROCE")
				p.until("orchagent has removed it", func() bool { return p.orchagent.Fields("ACL_TABLE", "SLUICE_ROCE") == nil })
			},
		},
		{
			"a table that was not valid",
			func(p *place) { p.orchagent.Reject("ACL_TABLE|SLUICE_ROCE") },
			func(p *place) { p.orchagent.Allow("ACL_TABLE|SLUICE_ROCE") },
		},
		{
			"orchagent did not answer for the session, since it set up its ports",
			func(p *place) { p.orchagent.Deny("MIRROR_SESSION|SLUICE_SAMPLE") },
			func(p *place) { p.orchagent.Allow("MIRROR_SESSION|SLUICE_SAMPLE") },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t).start("proposed")
			tt.block(p)
			d := p.driver()
			d.said.pause = time.Hour
			if strings.Contains(tt.name, "session") {
				d.said.patience = 5 * time.Second // this is waited for; what is answered comes earlier, however busy the machine
			}
			e := p.engine(d)
			if o := p.reconcile(e, exports(4096, "Ethernet0")); len(o.Problems) != 1 {
				t.Fatalf("%q", o.Problems)
			}
			for { // until all that follows from the refusal is done
				changed, err := e.CheckDrift()
				if err != nil {
					t.Fatal(err)
				}
				if !changed {
					break
				}
				p.reconcile(e, exports(4096, "Ethernet0"))
			}
			p.set("ACL_TABLE", "OTHER", "type", "L3", "stage", "ingress", "ports@", "Ethernet0")
			p.until("orchagent has seen all so far", func() bool { return p.orchagent.Fields("ACL_TABLE", "OTHER") != nil })
			p.remove("ACL_TABLE", "OTHER")
			tt.free(p)
			d.said.patience = patience
			for key, no := range d.said.refused { // the pause is over
				no.until = time.Now()
				d.said.refused[key] = no
			}
			p.until("what was refused is tried again", func() bool {
				changed, err := e.CheckDrift()
				return changed && err == nil
			})
			if o := p.reconcile(e, exports(4096, "Ethernet0")); o.Problems != nil || o.Method(engine.NeedExport) != engine.Mirror {
				t.Errorf("%+v", o)
			}
			if diff := cmp.Diff(exported, p.names()); diff != "" {
				t.Error(diff)
			}
			if changed, err := e.CheckDrift(); changed || err != nil {
				t.Errorf("still: %v, %v", changed, err)
			}
			if len(d.said.refused) > 0 {
				t.Errorf("still refused: %v", d.said.refused)
			}
		})
	}
}

// TestPausesGrow: what orchagent refuses again and again is tried ever more rarely.
func TestPausesGrow(t *testing.T) {
	d := &Driver{said: answers{pause: firstPause, refused: map[string]refusal{}}}
	row := rows.Row{Table: "ACL_TABLE", Key: "SLUICE_ROCE", Fields: map[string]string{"type": "a"}}
	var got []time.Duration
	for range 8 {
		d.said.refuse(row, errors.New("no room"))
		got = append(got, d.said.refused[row.Name()].pause)
	}
	if d.said.refusedNow(row.Name()) != "no room" {
		t.Error("tried at once")
	}
	row.Fields = map[string]string{"type": "b"} // another row: a new begin
	d.said.refuse(row, errors.New("no room"))
	got = append(got, d.said.refused[row.Name()].pause)
	m := time.Minute
	if diff := cmp.Diff([]time.Duration{m, 2 * m, 4 * m, 8 * m, 16 * m, 32 * m, 60 * m, 60 * m, m}, got); diff != "" {
		t.Error(diff)
	}
}

// TestEndsWhileItWaits: who ends the process does not wait for orchagent; the row
// stays, and the ledger knows it.
func TestEndsWhileItWaits(t *testing.T) {
	p := newPlace(t).start("proposed")
	p.orchagent.Silence()
	ctx, cancel := context.WithCancel(context.Background())
	d, err := New(ctx, p.databases, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	d.said.patience = time.Hour
	e := p.engine(d)
	done := make(chan error, 1)
	go func() {
		_, err := e.Reconcile(exports(4096, "Ethernet0"))
		done <- err
	}()
	p.until("the session is written", func() bool { return p.orchagent.Fields("MIRROR_SESSION", "SLUICE_SAMPLE") != nil })
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, errEnding) {
			t.Errorf("%v", err)
		}
	case <-time.After(patience):
		t.Fatal("it waits on")
	}
	if diff := cmp.Diff(exported[4:], p.names()); diff != "" {
		t.Error(diff)
	}
	p.reconcile(p.engine(p.driver()), engine.Policy{})
	if got := p.names(); got != nil {
		t.Errorf("left: %v", got)
	}
}

// overtaken is a driver whose orchagent takes its time to remove an object, while
// another owner writes a row of the name that is to be written.
type overtaken struct {
	*Driver
	p *place
}

func (d *overtaken) Create(o *engine.Object, existing map[string]*engine.Record) (*engine.Record, error) {
	d.p.put("MIRROR_SESSION_TABLE", nameSession, map[string]string{"status": "active"})
	d.said.leaving[o.Key] = leave{row: rowOf(o), at: time.Now()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		foreign := rows.Row{Table: "MIRROR_SESSION", Key: nameSession, Fields: map[string]string{"type": "SPAN", "dst_port": "Ethernet8"}}
		if err := d.p.config.Write(context.Background(), sonicdb.Change{Row: foreign}); err != nil {
			d.p.t.Error(err)
		}
		gone := rows.Row{Table: "MIRROR_SESSION_TABLE", Key: nameSession}
		if err := d.p.state.Write(context.Background(), sonicdb.Change{Row: gone, Deleted: true}); err != nil {
			d.p.t.Error(err)
		}
	}()
	r, err := d.Driver.Create(o, existing)
	<-done
	return r, err
}

// TestOvertakenRowStaysWithItsOwner: a row that another owner wrote while Sluice's was on its way is refused,
// and stays.
func TestOvertakenRowStaysWithItsOwner(t *testing.T) {
	p := newPlace(t).start("proposed")
	p.orchagent.Stop()
	e, err := engine.NewEngine(&overtaken{p.driver(), p}, p.ledger, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := p.reconcile(e, exports(4096, "Ethernet0"))
	if len(o.Problems) != 1 || !strings.Contains(o.Problems[0], "MIRROR_SESSION|SLUICE_SAMPLE that Sluice did not write") {
		t.Errorf("%q", o.Problems)
	}
	p.reconcile(e, engine.Policy{})
	want := map[string]map[string]string{"MIRROR_SESSION|SLUICE_SAMPLE": {"type": "SPAN", "dst_port": "Ethernet8"}}
	if diff := cmp.Diff(want, p.rows()); diff != "" {
		t.Error(diff)
	}
}
