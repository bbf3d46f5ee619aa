// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"net/netip"
	"strings"
	"testing"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/switch/engine"
)

func policy(ports ...string) engine.Policy {
	return engine.Policy{Label: &engine.Label{Algorithm: flow.DraftLiteral, ZeroOnly: true}, Ports: ports, ManageHash: true, FlowCapacity: 100}
}

func newTestEngine(t *testing.T, f engine.Driver, l engine.Ledger) *engine.Engine {
	t.Helper()
	e, err := engine.NewEngine(f, l, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func reconcile(t *testing.T, e *engine.Engine, p engine.Policy) engine.Outcome {
	t.Helper()
	o, err := e.Reconcile(p)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func flows(n int) []engine.FlowEntry {
	all := make([]engine.FlowEntry, n)
	for i := range all {
		all[i] = engine.FlowEntry{Src: netip.MustParseAddr("2001:db8::1"), Dst: netip.MustParseAddr("2001:db8::2"), DestQP: uint32(i), Label: uint32(i + 1)}
	}
	return all
}

// onlyReads reports whether a recorded call leaves the switch as it is.
func onlyReads(call string) bool {
	return strings.HasPrefix(call, "get ") || strings.HasPrefix(call, "stats ")
}

// fakeLedger keeps rows as Redis would: as text.
type fakeLedger struct {
	rows map[engine.ID]map[string]string
	err  error
}

func (l *fakeLedger) Load() (all []*engine.Record, err error) {
	for id, fields := range l.rows {
		r, err := engine.ParseRecord(id, fields)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, l.err
}

func (l *fakeLedger) Save(records []*engine.Record, gone []engine.ID) error {
	if l.err != nil {
		return l.err
	}
	if l.rows == nil {
		l.rows = map[engine.ID]map[string]string{}
	}
	for _, id := range gone {
		delete(l.rows, id)
	}
	for _, r := range records {
		l.rows[r.ID] = r.Fields()
	}
	return nil
}
