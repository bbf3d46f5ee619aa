// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/switch/drift"
	"sluice/orchagent-ext/switch/engine"
	"sluice/yang/rows"
)

// Rules are the rows that send flows to next hops, in the tables SLUICE_PLACE4 and
// SLUICE_PLACE6 and those of VRFs, which the engine creates. They are known by their names, so a later process
// adopts them without a ledger. No call waits for orchagent: [Rules.Redirect] returns
// [engine.ErrPending] while orchagent works. Rules are for one goroutine.
type Rules struct {
	config, appl, state *sonicdb.DB
	patience            time.Duration // for orchagent to take a row
	now                 func() time.Time
	warm                warm

	flows   map[string]*ruled // by [engine.Redirection.Key]
	checked time.Time         // when rows in force were compared with what orchagent has
	single  bool              // the switch refuses a second rule that matches the same packets

	operators operatorRules
	readAt    time.Time // when these were read, and the room
	yields    yields
	room      room
	crm       crm
	losses    ruleLosses
}

// checkRules is how often rows in force are compared with what orchagent has, since swss flushes
// APPL_DB when it restarts, and how often the operator's rules are read.
const checkRules = time.Second

// Rules returns the rules, of which none is known before [Rules.Adopt].
func (d *Driver) Rules() *Rules {
	return &Rules{
		config: d.db.config, appl: d.db.appl, state: d.db.state, patience: d.said.patience, now: time.Now, flows: map[string]*ruled{},
		warm: warm{state: d.db.state}, yields: yields{}, room: room{reserve: DefaultReserve}, crm: crm{counters: d.db.counters, asic: d.db.asic, tables: map[string]string{}},
		losses: ruleLosses{log: d.log},
	}
}

// Losses returns the losses of rules to other programs.
func (s *Rules) Losses() *drift.Judge { return &s.losses.judge }

// SetReserve sets how many entries of ACL tables stay free for the operator's rules.
func (s *Rules) SetReserve(n int) { s.room.reserve = n }

// Room returns how many more rules the switch takes, by CRM and by what found no room. known is false
// before the first reading.
func (s *Rules) Room() (more int, known bool) {
	more, known = s.room.budget(s.count(), s.operators.count(), s.now())
	return max(0, more), known
}

// short reports whether there is no room for a rule by the last reading. Then callers ask for none, so
// that it is read without them: room may come back.
func (s *Rules) short() bool {
	more, known := s.Room()
	return known && more == 0
}

// Warnings returns what the operator is to do about rules that wait for room.
func (s *Rules) Warnings() []string { return s.yields.warnings(s.now()) }

// count is how many flows have a rule on the switch, or on its way. One that moves has two for a
// moment, the second one in the reserve.
func (s *Rules) count() (n int) {
	for _, f := range s.flows {
		if f.written() {
			n++
		}
	}
	return n
}

// Adopt reads the rules that an earlier process left, and returns one for each flow. Of two
// that a move had it is one that orchagent has taken; the other goes with the next Redirect.
func (s *Rules) Adopt() ([]engine.Redirection, error) {
	named, err := namesOf(s.appl, tableRule, namesTables)
	if err != nil {
		return nil, err
	}
	found, err := produced(s.appl, named...)
	if err != nil {
		return nil, err
	}
	said, err := s.statuses(found)
	if err != nil {
		return nil, err
	}
	s.flows = map[string]*ruled{}
	for _, row := range found {
		r, slot, err := parseRule(row)
		if err != nil {
			continue // of another owner: it stays
		}
		f := s.flow(&r)
		f.slots[slot] = ruleRow{to: r.To, is: sent, since: s.now()}
		if said[row.Key] == active {
			f.slots[slot].is = inForce
		}
	}
	var all []engine.Redirection
	for _, key := range slices.Sorted(maps.Keys(s.flows)) {
		f := s.flows[key]
		best := &f.slots[0]
		if other := &f.slots[1]; other.is == inForce && best.is != inForce || best.is == absent {
			best = other
		}
		r := f.flow
		r.To = best.to
		all = append(all, r)
	}
	return all, nil
}

// flow is that of a redirection.
func (s *Rules) flow(r *engine.Redirection) *ruled {
	f := s.flows[r.Key()]
	if f == nil {
		f = &ruled{flow: *r}
		f.flow.To = engine.NextHop{}
		s.flows[r.Key()] = f
	}
	return f
}

// Redirect brings the rules towards those that are given, and returns why orchagent refused
// some, by their keys. A flow that goes to another next hop has two rules until the new one is
// in force. While orchagent restores its state after a warm restart nothing is written.
func (s *Rules) Redirect(all []engine.Redirection) (refused map[string]error, err error) {
	short := s.short()
	if len(all)+len(s.flows)+len(s.yields) == 0 && !short {
		s.losses.look(s.now(), s.stateOf(nil))
		return nil, nil
	}
	if restores, err := s.warm.look(s.now()); err != nil || restores {
		return nil, errors.Join(err, waits(restores))
	}
	if now := s.now(); (len(all)+len(s.yields) > 0 || short) && now.Sub(s.readAt) >= checkRules {
		if err := s.readRoom(); err != nil {
			return nil, err
		}
		s.readAt = now
	}
	refused = map[string]error{}
	want := map[string]*engine.NextHop{}
	for i := range all {
		key := all[i].Key()
		if why := s.operators.against(&all[i]); why != nil {
			refused[key] = why
			continue
		}
		want[key] = &all[i].To
		s.flow(&all[i])
	}
	if err := s.observe(want, refused); err != nil {
		return nil, err
	}
	keys := slices.Sorted(maps.Keys(s.flows))
	s.bound(keys, want, refused)
	// Rules that go are handed over alone: orchagent takes rows that wait together in the order
	// of their names, and packets to a dead link would be lost while it makes other rules.
	if changes := s.removals(keys, want); len(changes) > 0 {
		if err := s.produce(changes); err != nil {
			return refused, err
		}
		return refused, engine.ErrPending
	}
	ready, err := s.ready(want)
	if err != nil {
		return nil, err
	}
	var changes []sonicdb.Change
	works, settled := false, true
	for _, key := range keys {
		f := s.flows[key]
		to := want[key]
		if refused[key] != nil {
			to = nil
		}
		changes = append(changes, f.next(to, step{now: s.now(), ready: ready[key] == nil, single: s.single, waits: s.losses.waits})...)
		if why := ready[key]; why != nil && f.waitedSince(s.now()) > s.patience {
			refused[key] = why
			changes = append(changes, f.next(nil, step{now: s.now()})...)
		}
		works, settled = works || f.works(), settled && f.settled(to)
		if f.empty() {
			delete(s.flows, key)
		}
	}
	switch err := s.produce(changes); {
	case err != nil:
		return refused, err
	case works:
		return refused, engine.ErrPending
	}
	return refused, waits(!settled)
}

// waits is the error of a call that waits for what the switch does not do; nil: it does not wait.
func waits(is bool) error {
	if is {
		return engine.ErrWaits
	}
	return nil
}

// readRoom reads the operator's rules, and the entries that are free.
func (s *Rules) readRoom() (err error) {
	if s.operators, err = s.readOperatorRules(); err != nil {
		return fmt.Errorf("read the operator's ACL rules: %w", err)
	}
	var made []rows.Row
	for _, f := range s.flows {
		for slot := range f.slots {
			if f.slots[slot].is == inForce {
				made = append(made, f.row(slot))
			}
		}
	}
	is, ok, err := s.crm.read(made)
	if err != nil {
		return fmt.Errorf("read the room of ACL tables: %w", err)
	}
	if ok {
		s.room.read(is, s.operators.count())
	} else {
		s.room.forget()
	}
	if s.yields.take(s.operators.waits, s.now()) > 0 {
		s.room.full(s.count(), s.operators.count(), len(s.operators.waits))
		s.room.backOff(s.now())
	}
	return nil
}

// bound refuses the rules that exceed the room: new ones first, then those of the last keys. Rules go once orchagent
// has answered for all: it would try those again that it parked.
func (s *Rules) bound(keys []string, want map[string]*engine.NextHop, refused map[string]error) {
	stay, works := 0, false // rules that are on the switch, or on their way
	for _, key := range keys {
		works = works || s.flows[key].sends()
		if want[key] != nil && s.flows[key].written() {
			stay++
		}
	}
	more, known := s.room.budget(stay, s.operators.count(), s.now())
	if !known {
		return
	}
	refuse := func(key string, more *int, by int) {
		delete(want, key)
		*more += by
		if refused[key] == nil {
			refused[key] = s.noRoom()
		}
	}
	for _, key := range keys {
		if want[key] == nil || s.flows[key].written() {
			continue
		}
		if more--; more < 0 {
			refuse(key, &more, 1)
		}
	}
	for _, key := range slices.Backward(keys) {
		if want[key] != nil && !works && more < 0 && s.flows[key].written() {
			refuse(key, &more, 1)
		}
	}
}

// noRoom is the error of a rule that exceeds the room.
func (s *Rules) noRoom() error {
	if len(s.operators.waits) > 0 {
		return fmt.Errorf("%w: %s of the operator waits for room", engine.ErrRefused, s.operators.waits[0])
	}
	return fmt.Errorf("%w: ACL tables have no room, less the %d entries of acl_reserve", engine.ErrRefused, s.room.reserve)
}

// removals are the rows of flows that are to go by hash.
func (s *Rules) removals(keys []string, want map[string]*engine.NextHop) (changes []sonicdb.Change) {
	for _, key := range keys {
		if want[key] == nil {
			changes = append(changes, s.flows[key].next(nil, step{now: s.now()})...)
		}
	}
	return changes
}

// produce hands rows to orchagent.
func (s *Rules) produce(changes []sonicdb.Change) error {
	if len(changes) == 0 {
		return nil
	}
	if err := produce(s.appl, changes...); err != nil {
		s.checked = time.Time{} // which of them were written is read back
		return err
	}
	return nil
}

// observe reads what became of rows.
func (s *Rules) observe(want map[string]*engine.NextHop, refused map[string]error) error {
	check := s.now().Sub(s.checked) >= checkRules
	var named []rows.Row
	for _, f := range s.flows {
		for slot := range f.slots {
			// Rules in force are read each second alone: that costs a read of Redis for each.
			if is := f.slots[slot].is; is == sent || is == leaving || check && is == inForce {
				named = append(named, f.row(slot))
			}
		}
	}
	if len(named) == 0 {
		if check {
			s.losses.look(s.now(), s.stateOf(want))
			s.checked = s.now()
		}
		return nil
	}
	said, err := s.statuses(named)
	if err != nil {
		return err
	}
	there := map[string]map[string]string{}
	found, err := produced(s.appl, named...)
	if err != nil {
		return err
	}
	for _, row := range found {
		there[row.Key] = row.Fields
	}
	for key, f := range s.flows {
		for slot := range f.slots {
			row := f.row(slot)
			now, known := said[row.Key]
			if !known {
				continue // it was not asked for, or orchagent has yet to take it
			}
			err := s.judge(f, slot, now, maps.Equal(there[row.Key], row.Fields))
			if err != nil && want[key] != nil && *want[key] == f.slots[slot].to {
				refused[key] = err
			}
		}
	}
	if check {
		s.checked = s.now()
		s.losses.look(s.now(), s.stateOf(want))
	}
	return nil
}

// stateOf returns the state of rows that were lost: whether they are to be put back, and whether they
// are in force again.
func (s *Rules) stateOf(want map[string]*engine.NextHop) func(row string) (awaited, there bool) {
	slots := map[string]ruleState{}
	for key, f := range s.flows {
		for slot := range f.slots {
			if is := f.slots[slot].is; is == inForce || want[key] != nil && *want[key] == f.slots[slot].to {
				slots[f.row(slot).Key] = is
			}
		}
	}
	return func(row string) (lost, there bool) {
		is := slots[row]
		return is == awaited || is == sent, is == inForce
	}
}

// judge notes what orchagent says of a row, "" for nothing. The error says why it refused it.
func (s *Rules) judge(f *ruled, slot int, said string, written bool) error {
	r, other := &f.slots[slot], &f.slots[1-slot]
	if said != "" {
		r.silent = time.Time{}
	} else if r.silent.IsZero() {
		r.silent = s.now()
	}
	silent := said == "" && s.now().Sub(r.silent) > s.patience
	switch {
	case r.is == leaving && said == "":
		*r = ruleRow{}
	case r.is == leaving && written: // the removal was not written
		r.is = refusedRow
	case r.is == leaving:
	case !written: // another process has removed or changed it, or has emptied the database
		if r.is == inForce {
			s.losses.lose(f.row(slot).Key, "another program removed or changed them")
		}
		*r = ruleRow{to: r.to, is: awaited, since: s.now()}
	case said == active:
		if r.is != inForce {
			s.room.taken(s.now())
		}
		r.is = inForce
	case (said == inactive || said == noRoomYet) && other.is == inForce && !s.single:
		// the second of one match, or there is no room for two: the other one is rewritten
		s.single = true
		r.is = refusedRow
	case said == inactive:
		r.is = refusedRow
		return errors.New("orchagent took the rule and says it is inactive; its log says why")
	case said == noRoomYet:
		r.is = refusedRow
		s.room.refuse(s.count(), s.operators.count(), s.now())
		return fmt.Errorf("%w: the ACL table has no room", engine.ErrRefused)
	case silent && r.is == inForce: // orchagent has started again, and lacks it
		s.losses.lose(f.row(slot).Key, "orchagent lost them")
		*r = ruleRow{to: r.to, is: awaited, since: s.now()}
	case silent:
		r.is = refusedRow
		return fmt.Errorf("orchagent did not say within %v whether it took the rule", s.patience)
	}
	return nil
}

// statuses are what orchagent says of rows, in lower case, "" for nothing, by their keys.
// Rows that it has yet to take are left out.
func (s *Rules) statuses(named []rows.Row) (map[string]string, error) {
	waits, err := waiting(s.appl, tableRule)
	if err != nil {
		return nil, err
	}
	var asked, answers []rows.Row
	for _, r := range named {
		if !waits[r.Key] {
			asked = append(asked, r)
			answers = append(answers, rows.Row{Table: statusTables[tableRule], Key: keyAs(r)})
		}
	}
	found, err := get(s.state, answers...)
	if err != nil {
		return nil, err
	}
	said := map[string]string{}
	for i, fields := range found {
		said[asked[i].Key] = strings.ToLower(fields["status"])
	}
	return said, nil
}

// ready returns why rules of flows cannot be written, by their keys: orchagent lacks the neighbor, or
// the table. A rule without its neighbor is refused and never tried again (AclOrch).
func (s *Rules) ready(want map[string]*engine.NextHop) (not map[string]error, err error) {
	var keys []string
	var neighbors, tables []rows.Row
	for key, f := range s.flows {
		if to := want[key]; to != nil && f.find(*to, inForce, sent) == nil {
			keys = append(keys, key)
			neighbors = append(neighbors, neighborRow(*to))
			tables = append(tables, rows.Row{Table: statusTables[tableACL], Key: tableOf(f.flow.VRF, f.flow.Src.Is6())})
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	found, err := get(s.appl, neighbors...)
	if err != nil {
		return nil, err
	}
	states, err := get(s.state, tables...)
	if err != nil {
		return nil, err
	}
	not = map[string]error{}
	for i, key := range keys {
		switch {
		case strings.ToLower(states[i]["status"]) != active:
			not[key] = fmt.Errorf("%w: orchagent has no ACL table %s", engine.ErrRefused, tables[i].Key)
		case found[i] == nil:
			not[key] = fmt.Errorf("%w: orchagent has no neighbor %s by %s", engine.ErrNoNextHop, want[key].Address, want[key].Port)
		}
	}
	return not, nil
}
