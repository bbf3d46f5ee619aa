package orchagenttest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/orchagent-ext/sonicdb"
	"sluice/yang/rows"
)

// Orchagent is a little orchagent that runs.
type Orchagent struct {
	Release
	state *sonicdb.DB
	stop  func()

	mu      sync.Mutex
	taken   map[string]map[string]map[string]string // rows by table and key
	refused []string                                // TABLE|key: why
	silent  bool
	deny    map[string]bool
}

// order is in which orchagent takes tables; it removes in the other.
var order = []string{"SWITCH_HASH", "MIRROR_SESSION", "ACL_TABLE_TYPE", "ACL_TABLE", "ACL_RULE"}

// status tables, as orchagent names them.
var statusOf = map[string]string{"ACL_TABLE": "ACL_TABLE_TABLE", "ACL_RULE": "ACL_RULE_TABLE", "MIRROR_SESSION": "MIRROR_SESSION_TABLE"}

// Start starts it until the test ends, and writes what the switch can do.
func Start(tb testing.TB, d *sonicdb.Databases, r Release) *Orchagent {
	tb.Helper()
	o := &Orchagent{Release: r, taken: map[string]map[string]map[string]string{}, deny: map[string]bool{}}
	for _, t := range order {
		o.taken[t] = map[string]map[string]string{}
	}
	config, err := sonicdb.Open(d, "CONFIG_DB", nil)
	if err != nil {
		tb.Fatal(err)
	}
	if o.state, err = sonicdb.Open(d, "STATE_DB", nil); err != nil {
		tb.Fatal(err)
	}
	o.set(rows.Row{Table: "ACL_STAGE_CAPABILITY_TABLE", Key: "INGRESS", Fields: map[string]string{
		"is_action_list_mandatory": "false", "action_list": strings.Join(slices.DeleteFunc(slices.Clone(r.Actions), func(a string) bool { return a == "COUNTER" }), ","),
	}})
	o.set(rows.Row{Table: "SWITCH_CAPABILITY", Key: "switch", Fields: r.Capability()})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- config.Watch(ctx, order, o.take) }()
	o.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			tb.Errorf("the little orchagent ended: %v", err)
		}
		_ = config.Close()
		_ = o.state.Close()
	})
	tb.Cleanup(o.stop)
	return o
}

// Stop ends it. What it took is forgotten, and what it said stays.
func (o *Orchagent) Stop() { o.stop() }

// Silence makes it say nothing in STATE_DB, as an old release.
func (o *Orchagent) Silence() { o.mu.Lock(); o.silent = true; o.mu.Unlock() }

// Deny makes it refuse a row, TABLE|key, whatever it says.
func (o *Orchagent) Deny(row string) { o.mu.Lock(); o.deny[row] = true; o.mu.Unlock() }

// Allow takes Deny back.
func (o *Orchagent) Allow(row string) { o.mu.Lock(); delete(o.deny, row); o.mu.Unlock() }

// Taken returns the names of the rows that stand, sorted.
func (o *Orchagent) Taken() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var names []string
	for table, all := range o.taken {
		for key := range all {
			names = append(names, table+"|"+key)
		}
	}
	slices.Sort(names)
	return names
}

// Fields are those of a row that stands; nil where it does not.
func (o *Orchagent) Fields(table, key string) map[string]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.taken[table][key]
}

// Refused returns what was not taken so far, and why.
func (o *Orchagent) Refused() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.refused)
}

func (o *Orchagent) take(b sonicdb.Batch) {
	for _, table := range slices.Backward(order) {
		for _, c := range b.Changes {
			if c.Row.Table == table && c.Deleted {
				o.remove(c.Row)
			}
		}
	}
	for _, table := range order {
		for _, c := range b.Changes {
			if c.Row.Table == table && !c.Deleted {
				o.add(c.Row)
			}
		}
	}
}

func (o *Orchagent) remove(r rows.Row) {
	o.mu.Lock()
	delete(o.taken[r.Table], r.Key)
	o.mu.Unlock()
	if t := statusOf[r.Table]; t != "" {
		_ = o.state.Write(context.Background(), sonicdb.Change{Row: rows.Row{Table: t, Key: r.Key}, Deleted: true})
	}
}

func (o *Orchagent) add(r rows.Row) {
	o.mu.Lock()
	err := o.Check(r, o.taken["ACL_TABLE_TYPE"], o.taken["ACL_TABLE"])
	if o.deny[r.Name()] {
		err = fmt.Errorf("no room")
	}
	_, stands := o.taken[r.Table][r.Key]
	switch {
	case err != nil:
		o.refused = append(o.refused, r.Name()+": "+err.Error())
	case r.Table == "MIRROR_SESSION" && stands: // orchagent ignores the change
	default:
		o.taken[r.Table][r.Key] = r.Fields
	}
	silent := o.silent
	o.mu.Unlock()
	t := statusOf[r.Table]
	if t == "" || silent || err != nil && r.Table == "MIRROR_SESSION" { // of those, it says nothing
		return
	}
	said := map[bool]string{true: "Active", false: "Inactive"}[err == nil]
	if r.Table == "MIRROR_SESSION" {
		said = strings.ToLower(said)
	}
	o.set(rows.Row{Table: t, Key: r.Key, Fields: map[string]string{"status": said}})
}

// set writes a row of STATE_DB. Redis may be away in a test: then the word is lost.
func (o *Orchagent) set(r rows.Row) {
	_ = o.state.Write(context.Background(), sonicdb.Change{Row: r})
}
