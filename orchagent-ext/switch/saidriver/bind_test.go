// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
	"sluice/sai-shim/saitest"
)

// idOf returns the library's id of an object of the engine.
func idOf(e *engine.Engine, key string) sai.ObjectID {
	return refs{map[string]*engine.Record{key: e.Record(key)}}.id(key)
}

// entries is the number of flows that have an entry.
func entries(e *engine.Engine) (n int) {
	for range e.Flows {
		n++
	}
	return n
}

// TestPortsThatTakeGroupsOnly: a library that binds no table alone gets a group with the
// table in it. Ports move between tables, the next process changes nothing, and the kill
// switch leaves nothing.
func TestPortsThatTakeGroupsOnly(t *testing.T) {
	library := saitest.New(t)
	p := openPlace(t, library, "GROUPED", "1")
	ledger := &fakeLedger{}
	e := newTestEngine(t, p.driver(), ledger)
	want := policy("Ethernet0")
	want.Export = &engine.Export{Rate: 1000, Ports: []string{"Ethernet0", "Ethernet4"}}
	for _, port := range []string{"Ethernet0", "Ethernet4"} {
		want.Ports = []string{port}
		o := settle(t, e, want)
		if c := o.Choices[engine.NeedFlowLabel]; c.Method != engine.Compute || c.State != engine.Active || o.Choices[engine.NeedExport].State != engine.Active || len(o.Problems) > 0 {
			t.Errorf("%+v", o)
		}
		is := p.there()
		for name, table := range map[string]string{"Ethernet0": engine.KeyTable, "Ethernet4": engine.KeyExportTable} {
			if port == "Ethernet4" {
				table = map[string]string{engine.KeyTable: engine.KeyExportTable, engine.KeyExportTable: engine.KeyTable}[table]
			}
			if group := idOf(e, table+engine.SuffixGroup); !slices.Equal(is[name], []sai.ObjectID{group}) {
				t.Errorf("labels on %s: %s has %v, want %v, the group of %s", port, name, is[name], group, table)
			}
		}
	}
	library.Calls()
	e = newTestEngine(t, p.driver(), ledger)
	reconcile(t, e, want)
	for _, call := range library.Calls() {
		if !onlyReads(call) {
			t.Errorf("the next process: %s", call)
		}
	}
	if !e.RetryAt().IsZero() {
		t.Error("something is to be tried again")
	}
	reconcile(t, e, engine.Policy{})
	if is := p.there(); len(is) > 0 || len(ledger.rows) > 0 {
		t.Errorf("left: %v; in the ledger: %v", is, ledger.rows)
	}
}

// TestJoinsTheGroupThatAPortCarries: a table of Sluice's is a member of the group that
// another owner has bound to a port; the binding, the group and its other members stay, at
// removal too, also where the process was killed in between.
func TestJoinsTheGroupThatAPortCarries(t *testing.T) {
	library := saitest.New(t)
	for _, how := range []struct{ shared, listed bool }{{false, true}, {true, true}, {false, false}} { // two ports have one group; the library lists its members
		for steps := -1; ; steps++ {
			profile := []string{"FAIL", "get acl_table_group.MEMBER_LIST 0 -2"}
			if how.listed {
				profile = nil
			}
			p, objects := watched(t, library, profile...)
			d := p.driverWith(Options{Connected: true})
			must := func(id sai.ObjectID, err error) sai.ObjectID {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				return id
			}
			theirTable := must(p.lib.Create(saiattr.ACLTable, saiattr.ACLTableStage.Enum("ingress"), saiattr.ACLTableSource.Is(true)))
			group := sai.Null
			for _, port := range []string{"Ethernet0", "Ethernet4"} {
				if group == sai.Null || !how.shared {
					group = must(p.lib.Create(saiattr.ACLGroup, saiattr.ACLGroupStage.Enum("ingress"), saiattr.ACLGroupType.Enum("parallel")))
					must(p.lib.Create(saiattr.ACLMember, saiattr.ACLMemberGroup.Object(uint64(group)), saiattr.ACLMemberTable.Object(uint64(theirTable))))
				}
				must(sai.Null, d.strays.bindings.setIngressACL(d.Ports.PortID(port), group))
			}
			before, ledger := p.there(), &fakeLedger{}
			k := &killer{steps}
			if steps < 0 {
				k.left = 1 << 30
			}
			killed := until(func() {
				e := newTestEngine(t, mortalSAI{d, k}, mortalLedger{ledger, k})
				reconcile(t, e, policy("Ethernet0", "Ethernet4"))
			})
			d = p.driverWith(Options{Connected: true, Created: slices.Clone(objects.created)})
			e := newTestEngine(t, d, ledger)
			o := reconcile(t, e, policy("Ethernet0", "Ethernet4"))
			if c := o.Choices[engine.NeedFlowLabel]; c.Method != engine.Compute || c.State != engine.Active || len(o.Problems) > 0 {
				t.Errorf("%+v", o)
			}
			ours := idOf(e, engine.KeyTable)
			for _, port := range []string{"Ethernet0", "Ethernet4"} {
				bound, err := d.strays.bindings.ingressACL(d.Ports.PortID(port))
				if err != nil || how.listed && (d.strays.bindings.memberOf(bound, ours) == sai.Null || d.strays.bindings.memberOf(bound, theirTable) == sai.Null) || !slices.Equal(before[port], []sai.ObjectID{bound}) {
					t.Errorf("%s has %s, %v", port, bound, err)
				}
			}
			reconcile(t, e, policy("Ethernet4"))
			bound, _ := d.strays.bindings.ingressACL(d.Ports.PortID("Ethernet4"))
			if how.listed && d.strays.bindings.memberOf(bound, ours) == sai.Null {
				t.Error("Ethernet4 lost its table with Ethernet0")
			}
			reconcile(t, e, engine.Policy{})
			if diff := cmp.Diff(before, p.there()); diff != "" || len(ledger.rows) > 0 {
				t.Errorf("killed at step %d: left (-want +got): %s; in the ledger: %v", steps, diff, ledger.rows)
			}
			p.close()
			if t.Failed() || steps >= 0 && !killed {
				break
			}
		}
	}
}

// TestATableOfAnotherOwnerStays: a port that carries another owner's table keeps it; where
// all ports do, the next method is in force, and the reason says so.
func TestATableOfAnotherOwnerStays(t *testing.T) {
	library := saitest.New(t)
	p := openPlace(t, library)
	d := p.driverWith(Options{Connected: true})
	table, err := p.lib.Create(saiattr.ACLTable, saiattr.ACLTableStage.Enum("ingress"))
	if err == nil {
		err = d.strays.bindings.setIngressACL(d.Ports.PortID("Ethernet0"), table)
	}
	if err != nil {
		t.Fatal(err)
	}
	before := p.there()
	e := newTestEngine(t, d, &fakeLedger{})
	if o := reconcile(t, e, policy("Ethernet0", "Ethernet4")); o.Choices[engine.NeedFlowLabel].Method != engine.Compute || o.Choices[engine.NeedFlowLabel].State != engine.Active || len(o.Problems) != 1 || !strings.Contains(o.Problems[0], "port Ethernet0 has an ingress ACL of another owner") {
		t.Errorf("%+v", o)
	}
	reconcile(t, e, engine.Policy{})
	if o := reconcile(t, e, policy("Ethernet0")); o.Choices[engine.NeedFlowLabel].Method != engine.Hash || o.Choices[engine.NeedFlowLabel].State != engine.Active || !strings.Contains(o.Choices[engine.NeedFlowLabel].Reason, "port Ethernet0 has an ingress ACL of another owner") {
		t.Errorf("%+v", o)
	}
	reconcile(t, e, engine.Policy{})
	if diff := cmp.Diff(before, p.there()); diff != "" {
		t.Error(diff)
	}
}
