// SPDX-License-Identifier: Apache-2.0

package orchagenttest

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	release   Release
	databases *sonicdb.Databases
	state     *sonicdb.DB
	stop      func()

	mu      sync.Mutex
	taken   map[string]map[string]map[string]string // rows by table and key
	waits   []task                                  // tasks that wait
	parked  []task                                  // tasks that it tries again when a rule of the same table and database goes
	woken   []task                                  // of these, tasks to try now
	refused []string                                // TABLE|key: why
	silent  bool
	deny    map[string]bool // the switch has lack of room for it
	reject  map[string]bool // it is not valid

	hops hops
	crm  crm
	asic ASIC
	view map[string]map[string]string // rules on the switch of the orchagent before a warm restart; nil: it has compared them
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

// hops are the next hops that it has.
type hops struct {
	neighbors map[string]bool // keys of NEIGH_TABLE, those included whose rows have gone and that are referred to
	routes    map[string]bool // of these, those in groups of routes
	leaked    map[string]int  // references that nothing releases
	counters  bool            // the switch refuses counters
}

// task is a row that came or went, by the names of CONFIG_DB.
type task struct {
	rows.Row
	deleted bool
	appl    bool // it came by APPL_DB, whose consumer is another one
}

// aclTable is the ACL table of a rule.
func (t task) aclTable() string {
	table, _, _ := strings.Cut(t.Key, "|")
	return table
}

// same reports whether tasks are of one row of one database.
func (t task) same(u task) bool { return t.Name() == u.Name() && t.appl == u.appl }

// tables are those that it takes, in the order in which orchagent does
// (NeighOrch first; Orch::doTask goes by the names): a rule whose table is missing waits for
// the next round. The removal of a table is before its rules.
var tables = []string{tableNeighbor, "ACL_RULE", "ACL_TABLE", "ACL_TABLE_TYPE", "MIRROR_SESSION", "SWITCH_HASH"}

// tableNeighbor has the neighbors: INTERFACE:ADDRESS.
const tableNeighbor = "NEIGH_TABLE"

// appl are the tables of APPL_DB that it consumes, with their names in CONFIG_DB.
var appl = map[string]string{"ACL_TABLE_TYPE_TABLE": "ACL_TABLE_TYPE", "ACL_TABLE_TABLE": "ACL_TABLE", "ACL_RULE_TABLE": "ACL_RULE", tableNeighbor: tableNeighbor}

// status tables, as orchagent names them.
var statusOf = map[string]string{"ACL_TABLE": "ACL_TABLE_TABLE", "ACL_RULE": "ACL_RULE_TABLE", "MIRROR_SESSION": "MIRROR_SESSION_TABLE"}

const every = 5 * time.Millisecond // it looks for waiting packets in APPL_DB, and tries again what it could not do

// Start starts it until the test ends, and writes the switch's capabilities.
func Start(tb testing.TB, d *sonicdb.Databases, r Release) *Orchagent {
	tb.Helper()
	return StartOn(tb, d, r, ASIC{})
}

// StartOn is Start on a switch.
func StartOn(tb testing.TB, d *sonicdb.Databases, r Release, asic ASIC) *Orchagent {
	tb.Helper()
	o := &Orchagent{release: r, databases: d, asic: asic}
	o.begin(tb, nil)
	return o
}

// StartWarm starts it again after [Orchagent.Stop], as a warm restart of swss does, of whatever
// release: it clears the statuses of ACLs, reads all rows again, and takes them when restore is
// closed, ACLs last (OrchDaemon::warmRestoreAndSyncUp), which takes SONiC 1 to 4 s. The switch
// forwards on. What waits in queues is taken after that.
func (o *Orchagent) StartWarm(tb testing.TB, restore <-chan struct{}) {
	tb.Helper()
	o.view = o.taken["ACL_RULE"]
	o.begin(tb, restore)
}

// begin starts it; warm is nil for a cold start.
func (o *Orchagent) begin(tb testing.TB, warm <-chan struct{}) {
	tb.Helper()
	o.taken, o.deny, o.reject = map[string]map[string]map[string]string{}, map[string]bool{}, map[string]bool{}
	o.waits, o.parked = nil, nil
	o.hops = hops{neighbors: map[string]bool{}, routes: map[string]bool{}, leaked: map[string]int{}}
	o.crm = crm{objects: map[string]string{}, had: map[string]bool{}}
	for _, t := range tables {
		o.taken[t] = map[string]map[string]string{}
	}
	var config, producers *sonicdb.DB
	all := map[string]**sonicdb.DB{"CONFIG_DB": &config, "APPL_DB": &producers, "STATE_DB": &o.state, "COUNTERS_DB": &o.crm.counters, "ASIC_DB": &o.crm.asic}
	for name, db := range all {
		var err error
		if *db, err = sonicdb.Open(o.databases, name, nil); err != nil {
			tb.Fatal(err)
		}
	}
	o.forget()
	set(o.state, rows.Row{Table: "ACL_STAGE_CAPABILITY_TABLE", Key: "INGRESS", Fields: map[string]string{
		"is_action_list_mandatory": "false", "action_list": strings.Join(slices.DeleteFunc(slices.Clone(o.release.Actions), func(a string) bool { return a == "COUNTER" }), ","),
	}})
	set(o.state, rows.Row{Table: "SWITCH_CAPABILITY", Key: "switch", Fields: o.release.Capability()})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	var both sync.WaitGroup
	both.Go(func() {
		take := o.take
		if warm != nil {
			known, ok := o.restore(ctx, warm, config, producers)
			if !ok {
				done <- nil
				return
			}
			take = func(b sonicdb.Batch) { o.take(unknown(b, &known)) }
		}
		both.Go(func() { o.consume(ctx, producers) })
		done <- config.Watch(ctx, tables, take)
	})
	o.stop = sync.OnceFunc(func() {
		cancel()
		both.Wait()
		if err := <-done; err != nil {
			tb.Errorf("the little orchagent ended: %v", err)
		}
		for _, db := range all {
			_ = (*db).Close()
		}
	})
	tb.Cleanup(func() { o.stop() })
}

// forget removes the answers of an earlier orchagent about ACLs (AclOrch::init).
func (o *Orchagent) forget() {
	all, _ := o.state.Read(context.Background(), "ACL_TABLE_TABLE", "ACL_RULE_TABLE")
	for _, r := range all {
		unset(o.state, r)
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
		o.takeOf(b, true)
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

// Deny makes the switch lack room for a row, TABLE|key: it is pending until [Orchagent.Allow], a
// rule of a release that parks longer.
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

// Pending returns the rows that wait or are parked, TABLE|key, sorted: orchagent_restart_check
// fails while there is one (OrchDaemon::warmRestartCheck).
func (o *Orchagent) Pending() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var names []string
	for _, t := range slices.Concat(o.waits, o.parked) {
		names = append(names, t.Name())
	}
	slices.Sort(names)
	return names
}

// take applies the rows of CONFIG_DB that came, and those that waited.
func (o *Orchagent) take(b sonicdb.Batch) { o.takeOf(b, false) }

// takeOf is take for either database.
func (o *Orchagent) takeOf(b sonicdb.Batch, appl bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range b.Changes {
		t := task{Row: c.Row, deleted: c.Deleted, appl: appl}
		t.Fields = map[string]string{} // SONiC takes the @ off (Table::stripSpecialSym)
		for name, v := range c.Row.Fields {
			t.Fields[strings.TrimSuffix(name, "@")] = v
		}
		if o.unpark(&t) {
			continue
		}
		o.waits = slices.DeleteFunc(o.waits, func(w task) bool { return w.same(t) && (t.deleted || !w.deleted) })
		o.waits = append(o.waits, t)
	}
	for done := -1; done != 0; {
		done = o.pass(func(t task) bool { return t.Table == "ACL_TABLE" && t.deleted })
		for _, table := range tables {
			done += o.pass(func(t task) bool { return t.Table == table })
		}
	}
}

// pass does the tasks of a kind that it can, and returns how many.
func (o *Orchagent) pass(of func(task) bool) (done int) {
	o.waits = slices.DeleteFunc(o.waits, func(t task) bool {
		ok := of(t) && o.do(t)
		if ok {
			done++
		}
		return ok
	})
	o.waits, o.woken = append(o.waits, o.woken...), nil
	return done
}

// unpark has a parked task meet one of the same row, and reports whether that is dropped: the same
// SET again is (ConsumerBase::addToSync); another SET is merged into it, and a removal evicts it.
func (o *Orchagent) unpark(t *task) (dropped bool) {
	i := slices.IndexFunc(o.parked, t.same)
	if i < 0 {
		return false
	}
	was := o.parked[i]
	if !t.deleted && maps.Equal(was.Fields, t.Fields) {
		return true
	}
	o.parked = slices.Delete(o.parked, i, i+1)
	if !t.deleted {
		merged := maps.Clone(was.Fields)
		maps.Copy(merged, t.Fields)
		t.Fields = merged
	}
	return false
}

// wake has the parked rules of an ACL table and a database tried again.
func (o *Orchagent) wake(gone task) {
	o.parked = slices.DeleteFunc(o.parked, func(t task) bool {
		woken := t.appl == gone.appl && t.aclTable() == gone.aclTable()
		if woken {
			o.woken = append(o.woken, t)
		}
		return woken
	})
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
	err := o.release.Check(t.Row, o.taken["ACL_TABLE_TYPE"], o.taken["ACL_TABLE"])
	if err == nil && o.reject[t.Name()] {
		err = errors.New("it is not valid")
	}
	switch {
	case err == errWaits:
		return false
	case err == nil && (o.deny[t.Name()] || o.full(t)) && t.Table != "MIRROR_SESSION":
		o.say(t.Row, "Pending creation")
		o.refuse(t, "no room")
		if t.Table == "ACL_RULE" && o.release.Parks {
			o.parked = append(o.parked, t)
			return true
		}
		return false
	case err == nil && !o.deny[t.Name()]:
		if err := o.program(t); err != nil {
			o.refuse(t, err.Error())
			if err == errSecond || err == errCounter { // the ASIC refuses it: it is tried again (AclOrch::doAclRuleTask)
				o.say(t.Row, "Pending creation")
				return false
			}
			o.say(t.Row, "Inactive")
			// a rule without its neighbor is not tried again (AclRulePacket::validateAddAction)
			return true
		}
		o.taken[t.Table][t.Key] = t.Fields
		o.crm.created(t)
		o.say(t.Row, "Active")
	default:
		o.refuse(t, fmt.Sprint(err))     // nil: the switch has lack of room for a session
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
	if t.Table == "ACL_RULE" && o.unprogram(t.Key) {
		o.wake(t)
	}
	delete(o.taken[t.Table], t.Key)
	if t.Table == "ACL_TABLE" {
		for rule := range o.taken["ACL_RULE"] {
			if strings.HasPrefix(rule, t.Key+"|") {
				o.unprogram(rule)
				unset(o.state, rows.Row{Table: statusOf["ACL_RULE"], Key: rule})
			}
		}
		o.crm.tableGone(t.Key)
	}
	if table := statusOf[t.Table]; table != "" {
		unset(o.state, rows.Row{Table: table, Key: t.Key})
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
	set(o.state, rows.Row{Table: table, Key: r.Key, Fields: map[string]string{"status": status}})
}

// set writes a row of STATE_DB. Redis may be away in a test: then the word is lost.
func set(state *sonicdb.DB, r rows.Row) {
	_ = state.Write(context.Background(), sonicdb.Change{Row: r})
}

// unset removes a row of STATE_DB.
func unset(state *sonicdb.DB, r rows.Row) {
	_ = state.Write(context.Background(), sonicdb.Change{Row: r, Deleted: true})
}
