// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"strings"
	"testing"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saitest"
)

// excluding is a driver that excludes methods.
type excluding struct {
	*Driver
	methods engine.Abilities
}

func (d excluding) ExcludedMethods(engine.Policy) engine.Abilities { return d.methods }

// TestPersonalitiesLeadToTheMethodThatWorksThere: with a library that answers as one that was tried, labels end by the
// method that works there, or by none with the reason; the kill switch leaves nothing, and ten
// toggles remove what they created.
func TestPersonalitiesLeadToTheMethodThatWorksThere(t *testing.T) {
	library := saitest.New(t)
	wants := map[string]struct {
		method engine.Method
		state  engine.State
		export engine.Method
		ended  engine.Method // has ended a process before
	}{
		"libsaivs-202411":        {engine.UDFHash, engine.Active, engine.Sample, ""},
		"libsaivs-202605":        {engine.UDFHash, engine.Active, engine.Sample, ""},
		"sairedis-client-202411": {engine.UDFHash, engine.Active, engine.Sample, ""},
		"fboss-fake":             {engine.None, engine.Unmet, engine.None, engine.Hash},
		"lemming":                {engine.UDFHash, engine.Active, engine.Sample, ""},
	}
	for _, name := range saitest.Personalities(t) {
		t.Run(name, func(t *testing.T) {
			library.Calls()
			lib, err := sai.Open(library.Path, library.Personality(name), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = lib.Close() })
			if err := lib.CreateSwitch(true); err != nil {
				t.Fatal(err)
			}
			p := &place{t: t, lib: lib}
			ledger := &fakeLedger{}
			excluded := engine.Abilities{}
			if m := wants[name].ended; m != "" {
				excluded.Set(engine.NeedFlowLabel, m, engine.Ability{Reason: "it has ended a process before"})
			}
			e := newTestEngine(t, excluding{p.driver(), excluded}, ledger)
			var calls []string
			for range 10 {
				o := settle(t, e, faultPolicy())
				calls = append(calls, library.Calls()...)
				label, export := o.Choices[engine.NeedFlowLabel], o.Choices[engine.NeedExport]
				want := wants[name]
				if label.Method != want.method || label.State != want.state || export.Method != want.export {
					t.Fatalf("labels by %s, %s (%s); export by %s, %s (%s); want %+v", label.Method, label.State, label.Reason, export.Method, export.State, export.Reason, want)
				}
				if label.State == engine.Active && !inForce(ground(calls), label.Method) {
					t.Errorf("%s is active, and nothing of it is on the switch", label.Method)
				}
				for _, m := range []engine.Method{engine.Compute, engine.Rewrite} {
					if !strings.Contains(label.Reason, string(m)+": ") {
						t.Errorf("no reason why not %s: %s", m, label.Reason)
					}
				}
				settle(t, e, engine.Policy{})
				calls = append(calls, library.Calls()...)
				if left := ground(calls); len(left) > 0 || len(ledger.rows) > 0 {
					t.Fatalf("left: %v; in the ledger: %v", left, ledger.rows)
				}
			}
			created, removed := 0, 0
			for _, call := range calls {
				switch {
				case strings.HasPrefix(call, "create ") && !strings.HasPrefix(call, "create switch#"):
					created++
				case strings.HasPrefix(call, "remove "):
					removed++
				}
			}
			if created != removed || created == 0 {
				t.Errorf("ten toggles: %d objects created, %d removed", created, removed)
			}
			t.Logf("ten toggles: %d objects created, %d removed", created, removed)
		})
	}
}
