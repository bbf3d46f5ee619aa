// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/proto"
	"sluice/gnmi-server/encoding"
	"sluice/gnmi-server/paths"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

// wire says why an update cannot be sent, or its JSON not be read.
func wire(u *gpb.Update) error {
	if _, err := proto.Marshal(u); err != nil {
		return err
	}
	text := u.GetVal().GetJsonVal()
	if text == nil {
		text = u.GetVal().GetJsonIetfVal()
	}
	if text != nil && !json.Valid(text) {
		return fmt.Errorf("not valid JSON: %s", text)
	}
	return nil
}

func row(table, key string, fields texts) sonicdb.Change {
	return sonicdb.Change{Row: rows.Row{Table: table, Key: key, Fields: fields}}
}

func gone(table, key string) sonicdb.Change {
	return sonicdb.Change{Row: rows.Row{Table: table, Key: key}, Deleted: true}
}

// heard records the updates of a subscriber.
type heard struct{ changes []string }

func (h *heard) Update(cell any) {
	c := cell.(*Cell)
	text := paths.Text(c.Path()) + " " + c.State().Text
	if !c.State().Present {
		text = paths.Text(c.Path()) + " gone"
	}
	h.changes = append(h.changes, text)
}

func TestLiveTellsChanges(t *testing.T) {
	const table, gold = "/sonic-sluice/SLUICE_THRESHOLD", "/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[name=gold]"
	l := NewLive()
	yang, db, one := &heard{}, &heard{}, &heard{}
	l.Subscribe(yang, query(t, "", table))
	l.Subscribe(db, query(t, "sonic-db", "/CONFIG_DB/localhost/SLUICE_THRESHOLD"))
	stop := l.Subscribe(one, query(t, "", gold+"/high_bytes"), query(t, "", gold)) // what both mean is told once
	for _, step := range []struct {
		change        sonicdb.Change
		yang, db, one []string
	}{
		{
			row("SLUICE_THRESHOLD", "gold", texts{"high_bytes": "7"}),
			[]string{gold + "/action pause", gold + "/average_us 0", gold + "/duration_us 40000", gold + "/high_bytes 7", gold + "/name gold", gold + "/reduction 50"},
			[]string{"/CONFIG_DB/localhost/SLUICE_THRESHOLD/gold/high_bytes 7"},
			[]string{gold + "/action pause", gold + "/average_us 0", gold + "/duration_us 40000", gold + "/high_bytes 7", gold + "/name gold", gold + "/reduction 50"},
		},
		{row("SLUICE_THRESHOLD", "gold", texts{"high_bytes": "7"}), nil, nil, nil},
		{ // what is set to its default is no change for YANG
			row("SLUICE_THRESHOLD", "gold", texts{"high_bytes": "8", "reduction": "50"}),
			[]string{gold + "/high_bytes 8"},
			[]string{"/CONFIG_DB/localhost/SLUICE_THRESHOLD/gold/high_bytes 8", "/CONFIG_DB/localhost/SLUICE_THRESHOLD/gold/reduction 50"},
			[]string{gold + "/high_bytes 8"},
		},
		{row("SLUICE_THRESHOLD", "*", texts{"high_bytes": "7"}), nil, nil, nil},
		{row("SLUICE_THRESHOLD", "iron\xff", texts{"high_bytes": "7"}), nil, nil, nil},
		{ // an invalid value is gone
			row("SLUICE_THRESHOLD", "gold", texts{"high_bytes": "+8", "reduction": "50"}),
			[]string{gold + "/high_bytes gone"},
			[]string{"/CONFIG_DB/localhost/SLUICE_THRESHOLD/gold/high_bytes +8"},
			[]string{gold + "/high_bytes gone"},
		},
	} {
		*yang, *db, *one = heard{}, heard{}, heard{}
		l.Apply("CONFIG_DB", sonicdb.Batch{Changes: []sonicdb.Change{step.change}})
		if diff := cmp.Diff([][]string{step.yang, step.db, step.one}, [][]string{yang.changes, db.changes, one.changes}); diff != "" {
			t.Errorf("%v (-want +got):\n%s", step.change, diff)
		}
	}
	stop()
	*yang, *one = heard{}, heard{}
	l.Apply("CONFIG_DB", sonicdb.Batch{Changes: []sonicdb.Change{gone("SLUICE_THRESHOLD", "gold")}})
	if len(yang.changes) != 5 || len(one.changes) != 0 {
		t.Errorf("the row is gone: %v; who has left: %v", yang.changes, one.changes)
	}
	if cells := l.Select(query(t, "", "/sonic-sluice/SLUICE_THRESHOLD")); len(cells) != 0 {
		t.Errorf("%d cells are left", len(cells))
	}
}

// A row that is deleted and created again has new cells; the old ones say that they
// are gone.
func TestCellsOfRowsThatComeBack(t *testing.T) {
	l := NewLive()
	q := query(t, "", "/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[name=gold]/high_bytes")
	set := sonicdb.Batch{Changes: []sonicdb.Change{row("SLUICE_THRESHOLD", "gold", texts{"high_bytes": "7"})}}
	l.Apply("CONFIG_DB", set)
	old := l.Select(q)[0]
	l.Apply("CONFIG_DB", sonicdb.Batch{Changes: []sonicdb.Change{gone("SLUICE_THRESHOLD", "gold")}})
	l.Apply("CONFIG_DB", set)
	now := l.Select(q)[0]
	if old == now || old.State().Present || !now.State().Present {
		t.Errorf("old %+v, new %+v", old.State(), now.State())
	}
	if len(l.Row(old)) != 6 {
		t.Errorf("the row has %d cells", len(l.Row(old)))
	}
}

func TestReadyAfterAllDatabases(t *testing.T) {
	l := NewLive()
	rewrite := query(t, "", "/sonic-sluice/SLUICE_FLOW_LABEL/global/rewrite")
	for i, database := range paths.Databases {
		select {
		case <-l.Ready():
			t.Fatalf("ready with %d databases", i)
		default:
		}
		l.Apply(database, sonicdb.Batch{Initial: true})
	}
	<-l.Ready()
	if cells := l.Select(rewrite); len(cells) != 1 || cells[0].State().Text != "zero-only" {
		t.Errorf("of a container that is not in the database: %v", cells)
	}
	l.Apply("CONFIG_DB", sonicdb.Batch{Changes: []sonicdb.Change{row("SLUICE_FLOW_LABEL", "global", texts{"rewrite": "always"})}})
	l.Apply("CONFIG_DB", sonicdb.Batch{Changes: []sonicdb.Change{gone("SLUICE_FLOW_LABEL", "global")}})
	if cells := l.Select(rewrite); len(cells) != 1 || cells[0].State().Text != "zero-only" {
		t.Errorf("of a container that was deleted: %v", cells)
	}
}

func TestAwaitSeesChanges(t *testing.T) {
	l := NewLive()
	want := []sonicdb.Change{row("SLUICE_THRESHOLD", "gold", texts{"high_bytes": "7"}), row("SLUICE_PPFC_PEER", "10.0.0.0/8", texts{}), gone("SLUICE_THRESHOLD", "iron")}
	l.Apply("CONFIG_DB", sonicdb.Batch{Changes: []sonicdb.Change{row("SLUICE_THRESHOLD", "iron", texts{"high_bytes": "7"})}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l.Await(ctx, want) // returns, though nothing is as it should be

	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Await(t.Context(), want)
	}()
	for _, c := range want {
		select {
		case <-done:
			t.Fatalf("it is over before %v", c)
		default:
		}
		l.Apply("CONFIG_DB", sonicdb.Batch{Changes: []sonicdb.Change{c}})
	}
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it waits, though all is as it should be")
	}
}

// A caller who reads the clock and then calls Select has every change with an earlier
// time: a change that waits for a reader is as old as the end of the wait.
func TestTimesAreInOrder(t *testing.T) {
	l := NewLive()
	l.mu.RLock() // as Select does
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Apply("CONFIG_DB", sonicdb.Batch{Changes: []sonicdb.Change{row("SLUICE_THRESHOLD", "gold", texts{"high_bytes": "7"})}})
	}()
	for l.mu.TryRLock() { // until Apply waits
		l.mu.RUnlock()
		runtime.Gosched()
	}
	read := time.Now()
	l.mu.RUnlock()
	<-done
	cell := l.Select(query(t, "", "/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[name=gold]/high_bytes"))[0]
	if cell.State().Time.Before(read) {
		t.Errorf("the change bears %v, and who looked at %v has not got it", cell.State().Time, read)
	}
}

// A row that no stream asks for takes little more than its texts: a switch has one in
// SLUICE_ASIC_OBJECT for each flow. A stream that asks later has all of its leaves.
func TestRowsThatNoStreamAsksForAreSmall(t *testing.T) {
	const n, most = 20_000, 450 // octets a row, of which texts and names have 260
	l := NewLive()
	batch := sonicdb.Batch{Initial: true}
	object := func(i int) sonicdb.Change {
		return row("SLUICE_ASIC_OBJECT", fmt.Sprintf("oid:0x80000000%08x", i), texts{
			"key": fmt.Sprintf("flow 2001:db8::1,2001:db8:bad::2,%06x", i), "type": "acl_entry",
			"attributes": fmt.Sprintf("TABLE_ID=oid:0x7000000000001 PRIORITY=10 FIELD_DST_IPV6=2001:db8:bad::2 FIELD_BTH_DST_QP=%06x ACTION_COUNTER=oid:0x9000000%08x", i, i),
		})
	}
	for i := range n {
		batch.Changes = append(batch.Changes, object(i))
	}
	before := heap()
	l.Apply("STATE_DB", batch)
	clear(batch.Changes)
	if took := int(heap()-before) / n; took > most {
		t.Errorf("%d octets a row, want at most %d", took, most)
	}
	cells := l.Select(query(t, "", "/sonic-sluice-state/SLUICE_ASIC_OBJECT"))
	if len(cells) != 4*n || !cells[0].State().Present || cells[0].State().Time.IsZero() {
		t.Errorf("%d leaves, the first %+v", len(cells), cells[0].State())
	}
	runtime.KeepAlive(batch)
}

// heap returns the octets that are in use after a collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Streams that send a state at the same time share its update, one for each encoding; what no
// stream holds is freed.
func TestStreamsShareUpdates(t *testing.T) {
	l := NewLive()
	l.Apply("CONFIG_DB", sonicdb.Batch{Changes: []sonicdb.Change{row("SLUICE_THRESHOLD", "gold", texts{"high_bytes": "7"})}})
	c := l.Select(query(t, "", "/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[name=gold]/high_bytes"))[0]
	s := c.State()
	for range 3 {
		held := map[gpb.Encoding]*gpb.Update{}
		for _, e := range encoding.Supported {
			held[e] = c.Update(s, e)
		}
		runtime.GC()
		for e, u := range held {
			if again := c.Update(s, e); again != u {
				t.Errorf("%v is made again while it is held", e)
			}
		}
		first := s.made.Load()
		if n := first.count(); n != len(encoding.Supported) {
			t.Errorf("%d updates of %d encodings", n, len(encoding.Supported))
		}
		runtime.KeepAlive(held)
		clear(held)
		runtime.GC()
		for m := first; m != nil; m = m.next {
			if m.update.Value() != nil {
				t.Errorf("%v stays, though no stream holds it", m.encoding)
			}
		}
	}
}

// count returns the length of a list.
func (m *made) count() (n int) {
	for ; m != nil; m = m.next {
		n++
	}
	return n
}
