// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"sluice/sai-shim/saiattr"
)

// TestRetryDoublesItsPauseUpToAnHour: and begins again after a switch without refusals.
func TestRetryDoublesItsPauseUpToAnHour(t *testing.T) {
	now := time.Unix(1000, 0)
	var r retry
	if r.due(now) {
		t.Error("due before a refusal")
	}
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		r.schedule(true, now)
		if pause := r.at.Sub(now); pause != want*time.Minute {
			t.Errorf("tried again after %s, want %d min", pause, want)
		}
		was := r.at
		if r.schedule(true, now); r.at != was || r.due(now) { // another policy meanwhile
			t.Errorf("another attempt moved the time to %s", r.at)
		}
		now = r.at
		if !r.due(now) {
			t.Error("it is time, and not due")
		}
	}
	if r.schedule(false, now); r != (retry{}) {
		t.Errorf("%+v without refusals", r)
	}
}

// TestBacklogKeepsChangesUntilTheLedgerHasThem: a failed save loses none; a record that is
// written once more after it was dropped stays.
func TestBacklogKeepsChangesUntilTheLedgerHasThem(t *testing.T) {
	l := &fakeLedger{err: errors.New("no connection")}
	b := backlog{ledger: l}
	record := func(id ID) *Record {
		return &Record{Object: Object{Key: "key of " + string(id), Type: TypeSample}, ID: id}
	}
	b.add(record("1"))
	b.add(record("2"))
	b.forget("1")
	if err := b.save(); !errors.Is(err, l.err) {
		t.Fatalf("%v", err)
	}
	l.err = nil
	if err := b.saveSome(); err != nil || len(l.rows) != 0 {
		t.Errorf("written after %d changes: %v", 2, err)
	}
	b.drop("3")
	if err := b.mark(record("3")); err != nil {
		t.Fatal(err)
	}
	if ids := slices.Sorted(maps.Keys(l.rows)); !slices.Equal(ids, []ID{"2", "3"}) {
		t.Errorf("the ledger has %v", ids)
	}
	for i := range chunk {
		if len(l.rows) != 2 {
			t.Fatalf("written after %d changes", i)
		}
		b.add(record(ID(fmt.Sprint(10 + i))))
		if err := b.saveSome(); err != nil {
			t.Fatal(err)
		}
	}
	if len(l.rows) != 2+chunk {
		t.Errorf("%d rows after %d changes", len(l.rows), chunk)
	}
}

// newOffers returns those of a switch that has all methods and reported them.
func newOffers(t *testing.T) *offers {
	t.Helper()
	a, f, err := newFakeSwitch().Probe()
	if err != nil {
		t.Fatal(err)
	}
	f.Opcode, f.PoliceCPU = true, true
	o := &offers{log: slog.New(slog.DiscardHandler)}
	o.report(a, f)
	return o
}

// TestOffersGiveUpOptionalPartsBeforeTheMethod: a feature of the refused object first, then
// the method, which gives the features back. Each is a reason to ask again, and restored.
func TestOffersGiveUpOptionalPartsBeforeTheMethod(t *testing.T) {
	o, c := newOffers(t), Choices{NeedFlowLabel: {Method: Compute}, NeedExport: {Method: Sample}}
	reported := o.now.features
	o.remember()
	table := NewObject(KeyTable, TypeACLTable, saiattr.ACLTableOpcode.Is(true), saiattr.ACLTableNextHeader.Is(true))
	if o.degraded() || !o.doWithout(c, &table, ErrRefused) || !o.degraded() {
		t.Fatal("the first refusal is not noted")
	}
	if f := o.now.features; f.Opcode || f.Protocol || !f.PoliceCPU || len(o.lacks) != 1 || !o.now.abilities[NeedFlowLabel][Compute].Can {
		t.Errorf("%+v without %q", f, o.lacks)
	}
	if !o.doWithout(c, &table, ErrRefused) || o.now.abilities[NeedFlowLabel][Compute].Can || o.now.features != reported || o.lacks != nil {
		t.Errorf("%+v without %q after the method", o.now.features, o.lacks)
	}
	c[NeedFlowLabel] = Choice{Method: None}
	given := 0
	for range 2 {
		if o.doWithout(c, &table, ErrRefused) {
			given++
		}
	}
	if given == 2 {
		t.Error("there is more to give up than there was")
	}
	if o.doWithout(c, nil, ErrRefused) {
		t.Error("a failure without an object gives something up")
	}
	o.restore()
	if o.allow(Compute); o.degraded() {
		t.Errorf("%+v, reported was %+v", o.now, o.reported)
	}
}

// TestOffersGiveExcludedMethodsBack: with the next policy, whether or not others are excluded.
func TestOffersGiveExcludedMethodsBack(t *testing.T) {
	o := newOffers(t)
	out := Abilities{NeedFlowLabel: {Compute: {Reason: "ended a process"}, "unknown": {}}}
	o.exclude(out)
	if is := o.now.abilities[NeedFlowLabel]; is[Compute].Can || is[Compute].Reason != "ended a process" || len(is) != 4 {
		t.Errorf("%+v", is)
	}
	if o.degraded() {
		t.Error("an exclusion is a refusal of the switch")
	}
	if o.exclude(nil); !o.now.abilities[NeedFlowLabel][Compute].Can || !o.reported.abilities[NeedFlowLabel][Compute].Can {
		t.Errorf("%+v", o.now.abilities)
	}
}

// TestRoundGoesWithoutOptionalObjects: an optional object that is refused, and the objects
// that refer to it, leave the others alone; a required one ends the round, and the failure
// has the object.
func TestRoundGoesWithoutOptionalObjects(t *testing.T) {
	f := newFakeSwitch()
	f.refuse[TypePolicer], f.refuse[TypeSample] = ErrRefused, ErrFailing
	sw := &programmer{driver: f, objects: map[string]*Record{}, failures: map[string]int{}, ledger: backlog{ledger: &fakeLedger{}}}
	r := round{sw: sw}
	policer := optional(NewObject("policer", TypePolicer))
	group := optional(NewObject("group", TypeTrapGroup, saiattr.TrapGroupPolicer.Ref("policer")))
	other := NewObject("other", TypeUserTrap)
	for _, o := range []Object{policer, group, other} {
		if err := r.create(&o); err != nil {
			t.Fatalf("%s: %v", o.Key, err)
		}
	}
	if keys := f.keys(); !slices.Equal(keys, []string{"other"}) || len(r.without) != 1 || r.without[0].Key != "policer" || len(r.problems) != 1 || r.later != nil {
		t.Errorf("created %v; without %+v: %q, later %v", keys, r.without, r.problems, r.later)
	}
	required := NewObject("required", TypePolicer)
	if err := r.create(&required); failedObject(err) != &required || !errors.Is(err, ErrRefused) {
		t.Errorf("%v at %+v", err, failedObject(err))
	}
	failing := optional(NewObject("failing", TypeSample))
	if err := r.create(&failing); err != nil || !errors.Is(r.later, ErrFailing) {
		t.Errorf("%v, later %v", err, r.later)
	}
	for range Attempts - 1 { // a failure that stays is a refusal
		r = round{sw: sw}
		if err := r.create(&failing); err != nil {
			t.Fatal(err)
		}
	}
	if r.later != nil || len(r.without) != 1 || !errors.Is(r.without[0].why, ErrRefused) {
		t.Errorf("after %d attempts: later %v, without %+v", Attempts, r.later, r.without)
	}
}
