// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sluice/orchagent-ext/cli/settings"
	"sluice/orchagent-ext/cli/targets"
	"sluice/yang/rows"
)

// options are those of these tests.
func options() Options { return Options{ID: "test", Wait: time.Hour} }

// fails answers a step with an error each time, without carrying it out.
func fails(at step, err error) func(step) (bool, error) {
	return func(s step) (bool, error) { return s == at, err }
}

// lost is an answer that does not come.
var lost = status.Error(codes.Unavailable, "the connection broke")

// TestAllSwitchesOrNone: one of three switches has a fault in a step; the result of each, the steps
// that the other two took, and that all rows are as before unless all hold the change.
func TestAllSwitchesOrNone(t *testing.T) {
	refusal := status.Error(codes.PermissionDenied, "alice may not write role")
	for name, tt := range map[string]struct {
		fault  func(f *fakeSwitch)
		want   string // results
		others string // steps of each other switch
		says   string // of the switch with the fault
		silent bool
		roles  string // of all; empty: all are as before
	}{
		"none":             {func(*fakeSwitch) {}, "written written written", "begin confirm", "", false, "fabric fabric fabric"},
		"refuses the Set":  {func(f *fakeSwitch) { f.fault = fails(begins, refusal) }, "taken-back refused taken-back", "begin cancel", "alice may not write role", false, ""},
		"does not answer":  {func(f *fakeSwitch) { f.fault = fails(begins, lost) }, "taken-back taken-back taken-back", "begin cancel", "did not answer: the connection broke", true, ""},
		"loses the answer": {func(f *fakeSwitch) { f.after = func(step) error { return lost } }, "taken-back falls-back taken-back", "begin cancel", "did not answer: the connection broke", true, ""},
		"lies": {func(f *fakeSwitch) {
			f.fault = func(s step) (bool, error) { f.commit = "test"; f.before = f.config; return s == begins, nil }
		}, "taken-back refused taken-back", "begin cancel", "it took the change, and SLUICE_PORT|Ethernet0 is not so", false, ""},
		"cannot be read back": {func(f *fakeSwitch) {
			f.after = func(s step) error {
				if f.unread = nil; s == begins {
					f.unread = lost
				}
				return nil
			}
		}, "taken-back taken-back taken-back", "begin cancel", "did not answer: the connection broke", true, ""},
		"refuses to confirm": {func(f *fakeSwitch) { f.fault = fails(confirms, refusal) }, "taken-back refused taken-back", "begin confirm set", "it did not confirm: alice may not write role", false, ""},
		"refuses to confirm and to cancel": {func(f *fakeSwitch) {
			f.fault = func(s step) (bool, error) { return s == confirms || s == cancels, refusal }
		}, "taken-back falls-back taken-back", "begin confirm set", "it did not confirm: alice may not write role", false, "edge fabric edge"},
		"does not answer to confirm":      {func(f *fakeSwitch) { f.fault = fails(confirms, lost) }, "taken-back taken-back taken-back", "begin confirm set", "did not answer when it was to confirm: the connection broke", true, ""},
		"loses the answer of the confirm": {func(f *fakeSwitch) { f.after = once(confirms, lost) }, "written written written", "begin confirm", "", false, "fabric fabric fabric"},
		"loses each answer to confirm": {func(f *fakeSwitch) {
			f.after = once(confirms, lost)
			f.fault = func(s step) (bool, error) { return s == confirms && f.commit == "", lost }
		}, "taken-back taken-back taken-back", "begin confirm set", "did not answer when it was to confirm", true, ""},
		"took it back before the confirm": {func(f *fakeSwitch) {
			f.fault = func(s step) (bool, error) {
				if s == confirms {
					f.config, f.commit = f.before, ""
				}
				return false, nil
			}
		}, "taken-back refused taken-back", "begin confirm set", "it did not confirm: no commit waits to be confirmed", false, ""},
		"goes between Set and confirm": {func(f *fakeSwitch) {
			f.fault = func(s step) (bool, error) { return s == confirms || s == cancels, lost }
		}, "taken-back unknown taken-back", "begin confirm set", "did not answer when it was to confirm: the connection broke", true, "edge fabric edge"},
		"does not cancel, and says that it does": {func(f *fakeSwitch) {
			f.after = once(begins, lost)
			f.fault = fails(cancels, nil)
		}, "taken-back left-changed taken-back", "begin cancel", "it said that it took the change back, and SLUICE_PORT|Ethernet0 is not as before", true, "edge fabric edge"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := []*fakeSwitch{serve(t), serve(t), serve(t)}
			tt.fault(all[1])
			p, err := Read(t.Context(), fleetOf(t, all...), toFabric)
			if err != nil || !p.Good() {
				t.Fatal(err, results(p))
			}
			if err := p.Write(t.Context(), options()); err != nil {
				t.Fatal(err)
			}
			if got := results(p); got != tt.want {
				t.Errorf("results: %s, want %s: %v", got, tt.want, p.Switches[1].Why)
			}
			if got := all[0].took() + ", " + all[2].took(); got != tt.others+", "+tt.others {
				t.Errorf("steps of the others: %s, want %s; of it: %s", got, tt.others, all[1].took())
			}
			why := fmt.Sprint(p.Switches[1].Why)
			if !strings.Contains(why, tt.says) || tt.says == "" && p.Switches[1].Why != nil || p.Switches[1].Silent != tt.silent {
				t.Errorf("silent %v: %s, want %q", p.Switches[1].Silent, why, tt.says)
			}
			var roles []string
			for i, f := range all {
				role, commit := f.role()
				roles = append(roles, role)
				if commit != "" && i != 1 {
					t.Errorf("leaf%d: commit %q waits", i+1, commit)
				}
			}
			want := tt.roles
			if want == "" {
				want = "edge edge edge"
			}
			if got := strings.Join(roles, " "); got != want {
				t.Errorf("roles: %s, want %s", got, want)
			}
		})
	}
}

// once answers the first time that a step was carried out with an error.
func once(at step, err error) func(step) error {
	done := false
	return func(s step) error {
		if s != at || done {
			return nil
		}
		done = true
		return err
	}
}

// TestNothingIsWrittenUnlessAllAnswerAndTakeIt: of a switch that does not answer, and one whose rows
// cannot be so, the others hear nothing.
func TestNothingIsWrittenUnlessAllAnswerAndTakeIt(t *testing.T) {
	away, other := serve(t), serve(t)
	away.unread = status.Error(codes.Unavailable, "Redis is down")
	other.config = settings.NewConfig([]rows.Row{{Table: tablePortStats, Key: "Ethernet8", Fields: map[string]string{"rx_packets": "1"}}})
	good := serve(t)
	p, err := Read(t.Context(), fleetOf(t, away, good, other), toFabric)
	if err != nil || p.Good() || results(p) != "did-not-answer not-written refused" {
		t.Fatalf("%s, %v", results(p), err)
	}
	if why := p.Switches[2].Why.Error(); !strings.Contains(why, "no such row in PORT") || !p.Switches[0].Silent || p.Switches[2].Silent {
		t.Errorf("%s", why)
	}
	if got := away.took() + good.took() + other.took(); got != "" {
		t.Errorf("steps: %s", got)
	}
	if _, err := Read(t.Context(), fleetOf(t, good, good), toFabric); err == nil || !strings.Contains(err.Error(), "leaf1 and leaf2 are one switch, at unix:") {
		t.Errorf("one switch by two names: %v", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(over, fleetOf(t, good), toFabric); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// TestSwitchesThatAreSoHaveNothingToDo, and nothing is asked of them.
func TestSwitchesThatAreSoHaveNothingToDo(t *testing.T) {
	so, other := serve(t), serve(t)
	so.config[port0.Name()] = rows.Row{Table: port0.Table, Key: port0.Key, Fields: map[string]string{"role": "fabric"}}
	p, err := Read(t.Context(), fleetOf(t, so, other), toFabric)
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	o := options()
	o.Keep = func() error { kept++; return nil }
	if err := p.Write(t.Context(), o); err != nil || results(p) != "nothing-to-do written" || so.took() != "" || kept != 1 {
		t.Errorf("%s, %v, kept %d times, %s", results(p), err, kept, so.took())
	}
	p, err = Read(t.Context(), fleetOf(t, so, other), toFabric)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(t.Context(), o); err != nil || results(p) != "nothing-to-do nothing-to-do" || kept != 2 {
		t.Errorf("again: %s, %v, kept %d times", results(p), err, kept)
	}
}

// TestWhatOthersWriteMeanwhileIsTheirs: a field that another client changes between the reading and the Set is
// after a failure as that client left it, and so is one that it changes when the commit is over: the switch holds
// nothing of the change then.
func TestWhatOthersWriteMeanwhileIsTheirs(t *testing.T) {
	first, second := serve(t), serve(t)
	toBorder := func() {
		first.config = maps.Clone(first.config)
		first.config[port0.Name()] = rows.Row{Table: port0.Table, Key: port0.Key, Fields: map[string]string{"role": "border"}}
	}
	second.fault = fails(begins, status.Error(codes.PermissionDenied, "no"))
	p, err := Read(t.Context(), fleetOf(t, first, second), toFabric)
	if err != nil {
		t.Fatal(err)
	}
	first.at(toBorder)
	if err := p.Write(t.Context(), options()); err != nil || results(p) != "taken-back refused" || p.Switches[0].Why != nil || first.took() != "begin cancel" {
		t.Errorf("before the Set: %v: %s: %v, %s", err, results(p), p.Switches[0].Why, first.took())
	}
	if role, _ := first.role(); role != "border" {
		t.Errorf("role %s", role)
	}
	second.at(func() { second.fault = nil })
	first.at(func() {
		first.steps = nil
		first.fault = func(s step) (bool, error) {
			if s == confirms { // as after the kill switch, which cancels a commit
				first.commit = ""
				toBorder()
			}
			return false, nil
		}
	})
	if p, err = Read(t.Context(), fleetOf(t, first, second), toFabric); err != nil {
		t.Fatal(err)
	}
	if err := p.Write(t.Context(), options()); err != nil || results(p) != "refused taken-back" || first.took() != "begin confirm cancel" {
		t.Errorf("before it is confirmed: %v: %s: %v, %s", err, results(p), p.Switches[0].Why, first.took())
	}
	if role, _ := first.role(); role != "border" {
		t.Errorf("role %s", role)
	}
}

// TestCommitThatWaitsIsExplained: until a run that was killed is over on a switch it takes no other change.
func TestCommitThatWaitsIsExplained(t *testing.T) {
	f := serve(t)
	f.before, f.commit = f.config, "sluice-killed"
	p, err := Read(t.Context(), fleetOf(t, f), toFabric)
	if err != nil {
		t.Fatal(err)
	}
	const says = `commit "sluice-killed" waits to be confirmed, or try again when it is over by itself: one of sluice config is after its --target-rollback, 60 s by default`
	if err := p.Write(t.Context(), options()); err != nil || results(p) != "refused" || fmt.Sprint(p.Switches[0].Why) != says || f.took() != "begin" {
		t.Errorf("%v: %s: %v, %s", err, results(p), p.Switches[0].Why, f.took())
	}
}

// TestChangeThatCannotBeKeptIsTakenBack, and so is one that the user interrupts before it is confirmed.
func TestChangeThatCannotBeKeptIsTakenBack(t *testing.T) {
	full := errors.New("no space left on device")
	for name, want := range map[string]error{"the journal cannot be kept": full, "Ctrl-C": context.Canceled} {
		all := []*fakeSwitch{serve(t), serve(t)}
		p, err := Read(t.Context(), fleetOf(t, all...), toFabric)
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		o := options()
		o.Keep = func() error { return full }
		if name == "Ctrl-C" {
			all[1].after = func(step) error { end(); return nil }
		}
		err = p.Write(ctx, o)
		end()
		if !errors.Is(err, want) || results(p) != "taken-back taken-back" || p.Switches[0].Why != nil || p.Switches[1].Silent {
			t.Errorf("%s: %v, %s: %+v", name, err, results(p), p.Switches[1].Why)
		}
		for _, f := range all {
			if role, commit := f.role(); role != "edge" || commit != "" {
				t.Errorf("%s: %s, commit %q", name, role, commit)
			}
		}
	}
}

// TestTakingBackLeavesWhatOthersWrote: a row that another program changed after it was confirmed stays,
// and the switch is named.
func TestTakingBackLeavesWhatOthersWrote(t *testing.T) {
	first, second := serve(t), serve(t)
	first.after = func(s step) error {
		if s == confirms {
			first.config[port0.Name()] = rows.Row{Table: port0.Table, Key: port0.Key, Fields: map[string]string{"role": "border"}}
		}
		return nil
	}
	second.fault = fails(confirms, status.Error(codes.PermissionDenied, "no"))
	p, err := Read(t.Context(), fleetOf(t, first, second), toFabric)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(t.Context(), options()); err != nil || results(p) != "left-changed refused" || !strings.Contains(p.Switches[0].Why.Error(), "rows that others have changed since are as they made them") {
		t.Errorf("%v: %s: %v", err, results(p), p.Switches[0].Why)
	}
	if role, _ := first.role(); role != "border" {
		t.Errorf("role %s", role)
	}
}

// TestConfirmedChangeThatCannotBeTakenBackIsNamed.
func TestConfirmedChangeThatCannotBeTakenBackIsNamed(t *testing.T) {
	first, second := serve(t), serve(t)
	first.fault = fails(plainly, status.Error(codes.FailedPrecondition, `commit "b" waits to be confirmed`))
	second.fault = fails(confirms, status.Error(codes.PermissionDenied, "no"))
	p, err := Read(t.Context(), fleetOf(t, first, second), toFabric)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(t.Context(), options()); err != nil || results(p) != "left-changed refused" || !strings.Contains(p.Switches[0].Why.Error(), `its change is confirmed, and cannot be taken back: commit "b" waits`) {
		t.Errorf("%v: %s: %v", err, results(p), p.Switches[0].Why)
	}
}

// TestSwitchThatHangsOrIsGoneFallsBackByItself: its program hangs, or ends, in its Set; the time of its answers
// is short here.
func TestSwitchThatHangsOrIsGoneFallsBackByItself(t *testing.T) {
	for name, after := range map[string]func(f *fakeSwitch, over <-chan struct{}) error{
		"is gone": func(f *fakeSwitch, _ <-chan struct{}) error { go f.server.Stop(); return lost },
		"hangs":   func(_ *fakeSwitch, over <-chan struct{}) error { <-over; return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good, bad := serve(t), serve(t)
			over := make(chan struct{})
			t.Cleanup(func() { close(over) })
			bad.after = func(step) error { return after(bad, over) }
			fallsBack(t, good, bad)
		})
	}
}

// fallsBack checks that a change is taken back where the second switch is away.
func fallsBack(t *testing.T, good, gone *fakeSwitch) {
	t.Helper()
	var of []targets.Target
	for i, f := range []*fakeSwitch{good, gone} {
		of = append(of, targets.Target{Name: fmt.Sprint("leaf", i+1), Address: "unix:" + f.socket})
	}
	f, err := targets.NewFleet(of, targets.Options{Timeout: patience, SetTimeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := Read(t.Context(), f, toFabric)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(t.Context(), options()); err != nil || results(p) != "taken-back falls-back" || p.Switches[1].Until.Before(time.Now()) || !p.Switches[1].Silent {
		t.Errorf("%v: %s until %v: %v", err, results(p), p.Switches[1].Until, p.Switches[1].Why)
	}
	if role, commit := good.role(); role != "edge" || commit != "" {
		t.Errorf("the other: %s, commit %q", role, commit)
	}
}

// TestEachKindOfChangeGoesByGNMI: fields set and removed, lists, rows made and removed, in one Set;
// fields that others write meanwhile stay.
func TestEachKindOfChangeGoesByGNMI(t *testing.T) {
	gold := rows.Row{Table: "SLUICE_THRESHOLD", Key: "gold", Fields: map[string]string{"high_bytes": "9", "low_bytes": "3", "queues@": "1,2"}}
	iron := rows.Row{Table: "SLUICE_THRESHOLD", Key: "iron", Fields: map[string]string{"high_bytes": "9"}}
	f := serve(t, gold, iron)
	p, err := Read(t.Context(), fleetOf(t, f), func(*Switch) (settings.Change, error) {
		return func(c settings.Config) error {
			for _, change := range []settings.Change{
				tableOf("SLUICE_THRESHOLD").Set("gold", map[string]string{"high_bytes": "10", "queues": "3,4"}), tableOf("SLUICE_THRESHOLD").Del("gold", "low-bytes"),
				tableOf("SLUICE_THRESHOLD").Del("iron", ""), tableOf("SLUICE_PPFC_PEER").Set("2001:DB8::/32", nil),
			} {
				if err := change(c); err != nil {
					return err
				}
			}
			return nil
		}, nil
	})
	if err != nil || !p.Good() {
		t.Fatal(err, results(p), p.Switches[0].Why)
	}
	f.at(func() { f.config[gold.Name()].Fields["action"] = "reduce" })
	if err := p.Write(t.Context(), options()); err != nil || results(p) != "written" {
		t.Fatal(err, results(p), p.Switches[0].Why)
	}
	want := settings.NewConfig([]rows.Row{
		{Table: "SLUICE_THRESHOLD", Key: "gold", Fields: map[string]string{"high_bytes": "10", "queues@": "3,4", "action": "reduce"}},
		{Table: "SLUICE_PPFC_PEER", Key: "2001:db8::/32", Fields: map[string]string{}}, port0,
	})
	f.at(func() {
		for _, e := range settings.Compare(want, f.config) {
			if e.Table != tablePortStats {
				t.Errorf("%+v", e)
			}
		}
	})
	if f.took() != "begin confirm" {
		t.Errorf("steps: %s", f.took())
	}
}

// TestDisableWaitsForNoSwitch: each that answers is written for good; those that do not answer, refuse
// or lie are named; a commit that waits is canceled.
func TestDisableWaitsForNoSwitch(t *testing.T) {
	good, away, refuses, lies, waits := serve(t), serve(t), serve(t), serve(t), serve(t)
	away.fault = func(step) (bool, error) { return true, lost }
	refuses.fault = fails(plainly, status.Error(codes.PermissionDenied, "bob may not write"))
	lies.fault = func(step) (bool, error) { return true, nil }
	waits.before, waits.commit = waits.config, "rollout 7"
	p := Disable(t.Context(), fleetOf(t, good, away, refuses, lies, waits, good), "SLUICE", "global") // one has two names
	if results(p) != "written did-not-answer refused refused written written" {
		t.Fatal(results(p))
	}
	for _, f := range []*fakeSwitch{good, waits} {
		f.at(func() {
			if f.commit != "" || f.config["SLUICE|global"].Fields["admin_state"] != "disabled" {
				t.Errorf("commit %q: %v", f.commit, f.config)
			}
		})
	}
	if good.took() != "set set" || waits.took() != "set cancel set" || !p.Switches[1].Silent || !strings.Contains(fmt.Sprint(p.Switches[4].Why), `commit "rollout 7", which waited there, was canceled`) {
		t.Errorf("%s, %s, %v", good.took(), waits.took(), p.Switches[4].Why)
	}
	for fields, want := range map[string]bool{"admin_state=disabled": true, "admin_state=enabled": false, "rewrite=disabled": false, "admin_state=disabled rewrite=always": false, "": false} {
		of := map[string]string{}
		for word := range strings.FieldsSeq(fields) {
			name, value, _ := strings.Cut(word, "=")
			of[name] = value
		}
		if Disables(of) != want {
			t.Errorf("%s: %v", fields, !want)
		}
	}
}

// TestDisableTellsWhatItDidNotReach: a switch on which commits begin again and again, one whose commit may not be
// canceled, one that is gone after that, and one that cannot be read.
func TestDisableTellsWhatItDidNotReach(t *testing.T) {
	for name, tt := range map[string]struct {
		fault  func(f *fakeSwitch)
		want   string // result
		says   string
		steps  string
		silent bool
	}{
		"commits begin again and again": {func(f *fakeSwitch) {
			f.fault = func(s step) (bool, error) {
				if s == plainly {
					f.before, f.commit = f.config, "again"
				}
				return false, nil
			}
			f.unread = lost
		}, "refused", `commit "again" waits to be confirmed (commit "again", which waited there, was canceled for it)`,
			strings.TrimSpace(strings.Repeat("set cancel ", 5)), false},
		"it may not be canceled": {func(f *fakeSwitch) {
			f.commit = "a\x1b[2J"
			f.fault = fails(cancels, status.Error(codes.PermissionDenied, "bob may not write role"))
		}, "refused", `commit "a\x1b[2J" waits to be confirmed; canceling it: bob may not write role`, "set cancel", false},
		"it is over when it is canceled": {func(f *fakeSwitch) {
			f.commit = "a"
			f.fault = func(s step) (bool, error) {
				if s == cancels {
					f.commit = ""
				}
				return false, nil
			}
		}, "written", "<nil>", "set cancel set", false},
		"it is gone after that": {func(f *fakeSwitch) {
			f.before, f.commit = f.config, "a"
			f.after = func(s step) error { f.fault = fails(plainly, lost); return nil }
		}, "did-not-answer", `the connection broke (commit "a", which waited there, was canceled for it)`, "set cancel set", true},
		"it does not answer to cancel": {func(f *fakeSwitch) {
			f.commit = "a"
			f.fault = fails(cancels, lost)
		}, "did-not-answer", "the connection broke", "set cancel", true},
		"it cannot be read": {func(f *fakeSwitch) { f.unread = lost }, "written", "<nil>", "set", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := serve(t)
			tt.fault(f)
			p := Disable(t.Context(), fleetOf(t, f), "SLUICE", "global")
			s := p.Switches[0]
			if results(p) != tt.want || fmt.Sprint(s.Why) != tt.says || f.took() != tt.steps || s.Silent != tt.silent {
				t.Errorf("%s: %v, steps %s, silent %v", results(p), s.Why, f.took(), s.Silent)
			}
		})
	}
}
