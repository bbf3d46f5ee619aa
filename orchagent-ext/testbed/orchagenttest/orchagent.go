// SPDX-License-Identifier: Apache-2.0

package orchagenttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

// Orchagent is a little orchagent that runs.
type Orchagent struct {
	Release
	state *sonicdb.DB
	stop  func()

	mu      sync.Mutex
	taken   map[string]map[string]map[string]string // rows by table and key
	waits   []task                                  // what it could not do yet
	refused []string                                // TABLE|key: why
	silent  bool
	deny    map[string]bool // the switch has no room for it
	reject  map[string]bool // it is not valid

	// keys of NEIGH_TABLE that it has, the removed ones that rules refer to, too
	neighbors map[string]bool
	asic      ASIC
}

// ASIC is the switch beneath it. The zero value is one that takes no time and forwards nothing.
type ASIC struct {
	RuleTime time.Duration // that an ACL rule takes to create, and to remove

	// Redirect has the packets that the fields of a rule match sent to a neighbor, "" for no
	// longer. The error refuses the rule. nil: no packet passes.
	Redirect func(rule string, fields map[string]string, neighbor string) error

	// Drop drops the packets that the fields of a rule match, or ends that. nil: as Redirect.
	Drop func(rule string, fields map[string]string, on bool) error

	// OneMatch refuses a rule that matches the same packets as another one.
	OneMatch bool

	// Entries is how many rules there is room for; 0: any number.
	Entries int
}

// task is a row that came or went, by the names of CONFIG_DB.
type task struct {
	rows.Row
	deleted bool
}

// tables are those that it takes, in the order in which orchagent does
// (NeighOrch first; Orch::doTask goes by the names): a rule whose table is missing waits for
// the next round.
var tables = []string{tableNeighbor, "ACL_RULE", "ACL_TABLE", "ACL_TABLE_TYPE", "MIRROR_SESSION", "SWITCH_HASH"}

// tableNeighbor has the neighbors: INTERFACE:ADDRESS.
const tableNeighbor = "NEIGH_TABLE"

// appl are the tables of APPL_DB that it consumes, with their names in CONFIG_DB.
var appl = map[string]string{"ACL_TABLE_TYPE_TABLE": "ACL_TABLE_TYPE", "ACL_TABLE_TABLE": "ACL_TABLE", "ACL_RULE_TABLE": "ACL_RULE", tableNeighbor: tableNeighbor}

// status tables, as orchagent names them.
var statusOf = map[string]string{"ACL_TABLE": "ACL_TABLE_TABLE", "ACL_RULE": "ACL_RULE_TABLE", "MIRROR_SESSION": "MIRROR_SESSION_TABLE"}

const every = 5 * time.Millisecond // it looks for what waits in APPL_DB, and tries again what it could not do

// Start starts it until the test ends, and writes the switch's capabilities.
func Start(tb testing.TB, d *sonicdb.Databases, r Release) *Orchagent {
	tb.Helper()
	return StartOn(tb, d, r, ASIC{})
}

// StartOn is Start on a switch.
func StartOn(tb testing.TB, d *sonicdb.Databases, r Release, asic ASIC) *Orchagent {
	tb.Helper()
	o := &Orchagent{Release: r, taken: map[string]map[string]map[string]string{}, deny: map[string]bool{}, reject: map[string]bool{}, neighbors: map[string]bool{}, asic: asic}
	for _, t := range tables {
		o.taken[t] = map[string]map[string]string{}
	}
	var config, producers *sonicdb.DB
	for name, db := range map[string]**sonicdb.DB{"CONFIG_DB": &config, "APPL_DB": &producers, "STATE_DB": &o.state} {
		var err error
		if *db, err = sonicdb.Open(d, name, nil); err != nil {
			tb.Fatal(err)
		}
	}
	o.forget()
	o.set(rows.Row{Table: "ACL_STAGE_CAPABILITY_TABLE", Key: "INGRESS", Fields: map[string]string{
		"is_action_list_mandatory": "false", "action_list": strings.Join(slices.DeleteFunc(slices.Clone(r.Actions), func(a string) bool { return a == "COUNTER" }), ","),
	}})
	o.set(rows.Row{Table: "SWITCH_CAPABILITY", Key: "switch", Fields: r.Capability()})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	var both sync.WaitGroup
	both.Go(func() { done <- config.Watch(ctx, tables, o.take) })
	both.Go(func() { o.consume(ctx, producers) })
	o.stop = sync.OnceFunc(func() {
		cancel()
		both.Wait()
		if err := <-done; err != nil {
			tb.Errorf("the little orchagent ended: %v", err)
		}
		for _, db := range []*sonicdb.DB{config, producers, o.state} {
			_ = db.Close()
		}
	})
	tb.Cleanup(o.stop)
	return o
}

// forget removes the answers of an earlier orchagent about ACLs (AclOrch::init).
func (o *Orchagent) forget() {
	all, _ := o.state.Read(context.Background(), "ACL_TABLE_TABLE", "ACL_RULE_TABLE")
	for _, r := range all {
		o.unset(r)
	}
}

// consume takes rows that producers sent, until the end. Redis may be away in a
// test.
func (o *Orchagent) consume(ctx context.Context, from *sonicdb.DB) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		var b sonicdb.Batch
		for table, kind := range appl {
			changes, _ := from.Take(ctx, table)
			for _, c := range changes {
				c.Row.Table = kind
				if kind != tableNeighbor {
					c.Row.Key = strings.ReplaceAll(c.Row.Key, ":", "|")
				}
				b.Changes = append(b.Changes, c)
			}
		}
		o.take(b)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Stop ends it. It forgets the rows that it took; its answers stay in STATE_DB.
func (o *Orchagent) Stop() { o.stop() }

// Silence ends its answers in STATE_DB, as an old release has none.
func (o *Orchagent) Silence() { o.mu.Lock(); o.silent = true; o.mu.Unlock() }

// Deny makes the switch lack room for a row, TABLE|key. A table is tried again
// and again, a rule once.
func (o *Orchagent) Deny(row string) { o.mu.Lock(); o.deny[row] = true; o.mu.Unlock() }

// Reject makes a row, TABLE|key, invalid, whatever its fields.
func (o *Orchagent) Reject(row string) { o.mu.Lock(); o.reject[row] = true; o.mu.Unlock() }

// Allow takes Deny and Reject back.
func (o *Orchagent) Allow(row string) {
	o.mu.Lock()
	delete(o.deny, row)
	delete(o.reject, row)
	o.mu.Unlock()
}

// Taken returns the names of the rows in force, sorted.
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

// Fields returns the fields of a row in force; nil for any other row.
func (o *Orchagent) Fields(table, key string) map[string]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.taken[table][key]
}

// Refused returns the rows that were refused so far, each with its reason.
func (o *Orchagent) Refused() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.refused)
}

// take applies the rows that came, and those that waited.
func (o *Orchagent) take(b sonicdb.Batch) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range b.Changes {
		t := task{c.Row, c.Deleted}
		t.Fields = map[string]string{} // SONiC takes the @ off (Table::stripSpecialSym)
		for name, v := range c.Row.Fields {
			t.Fields[strings.TrimSuffix(name, "@")] = v
		}
		o.waits = slices.DeleteFunc(o.waits, func(w task) bool { return w.Name() == t.Name() && (t.deleted || !w.deleted) })
		o.waits = append(o.waits, t)
	}
	for done := -1; done != 0; {
		done = 0
		for _, table := range tables {
			o.waits = slices.DeleteFunc(o.waits, func(t task) bool {
				ok := t.Table == table && o.do(t)
				if ok {
					done++
				}
				return ok
			})
		}
	}
}

// do reports whether a task is done; else it waits for the next round.
func (o *Orchagent) do(t task) bool {
	if t.Table == tableNeighbor {
		return o.neighbor(t)
	}
	if t.deleted {
		o.remove(t)
		return true
	}
	if t.Table == "MIRROR_SESSION" || t.Table == "ACL_TABLE_TYPE" {
		if _, found := o.taken[t.Table][t.Key]; found {
			return true // it is ignored (MirrorOrch::createEntry, AclOrch::addAclTableType)
		}
	}
	err := o.Check(t.Row, o.taken["ACL_TABLE_TYPE"], o.taken["ACL_TABLE"])
	if err == nil && o.reject[t.Name()] {
		err = errors.New("it is not valid")
	}
	switch {
	case err == errWaits:
		return false
	case err == nil && (o.deny[t.Name()] || o.full(t)) && t.Table != "MIRROR_SESSION":
		o.say(t.Row, "Pending creation")
		o.refuse(t, "no room")
		return o.deny[t.Name()] && t.Table == "ACL_RULE" // else it is tried again
	case err == nil && !o.deny[t.Name()]:
		if err := o.program(t); err != nil {
			o.refuse(t, err.Error())
			if err == errSecond { // the ASIC refuses it: it is tried again (AclOrch::doAclRuleTask)
				o.say(t.Row, "Pending creation")
				return false
			}
			o.say(t.Row, "Inactive")
			// a rule without its neighbor is not tried again (AclRulePacket::validateAddAction)
			return true
		}
		o.taken[t.Table][t.Key] = t.Fields
		o.say(t.Row, "Active")
	default:
		o.refuse(t, fmt.Sprint(err))     // nil: the switch has no room for a session
		if t.Table != "MIRROR_SESSION" { // of those that it refuses it says nothing
			o.say(t.Row, "Inactive")
		}
	}
	return true
}

// refuse records a row that was refused, once.
func (o *Orchagent) refuse(t task, why string) {
	if line := t.Name() + ": " + why; !slices.Contains(o.refused, line) {
		o.refused = append(o.refused, line)
	}
}

// remove removes a row's object, of a table its rules, too (AclOrch::removeAclTable).
func (o *Orchagent) remove(t task) {
	if t.Table == "ACL_RULE" {
		o.unprogram(t.Key)
	}
	delete(o.taken[t.Table], t.Key)
	if t.Table == "ACL_TABLE" {
		for rule := range o.taken["ACL_RULE"] {
			if strings.HasPrefix(rule, t.Key+"|") {
				o.unprogram(rule)
				o.unset(rows.Row{Table: statusOf["ACL_RULE"], Key: rule})
			}
		}
	}
	if table := statusOf[t.Table]; table != "" {
		o.unset(rows.Row{Table: table, Key: t.Key})
	}
}

// say writes the status of a row to STATE_DB.
func (o *Orchagent) say(r rows.Row, status string) {
	table := statusOf[r.Table]
	if table == "" || o.silent {
		return
	}
	if r.Table == "MIRROR_SESSION" {
		status = strings.ToLower(status)
	}
	o.set(rows.Row{Table: table, Key: r.Key, Fields: map[string]string{"status": status}})
}

// set writes a row of STATE_DB. Redis may be away in a test: then the word is lost.
func (o *Orchagent) set(r rows.Row) {
	_ = o.state.Write(context.Background(), sonicdb.Change{Row: r})
}

// unset removes a row of STATE_DB.
func (o *Orchagent) unset(r rows.Row) {
	_ = o.state.Write(context.Background(), sonicdb.Change{Row: r, Deleted: true})
}
