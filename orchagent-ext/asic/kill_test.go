// SPDX-License-Identifier: Apache-2.0

package asic

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
	"sluice/sai-shim/saitest"
)

// theirs creates what another owner may create meanwhile; the function removes it.
func (p *place) theirs() (remove func()) {
	p.t.Helper()
	var kinds []saiattr.Kind
	var ids []sai.ObjectID
	for _, o := range []struct {
		kind   saiattr.Kind
		values []saiattr.Value
	}{
		{saiattr.ACLTable, []saiattr.Value{saiattr.ACLTableStage.Enum("ingress"), saiattr.ACLTablePort.Is(true)}},
		{saiattr.Sample, []saiattr.Value{saiattr.SampleRate.Of(7)}},
		{saiattr.Policer, []saiattr.Value{saiattr.PolicerMeter.Enum("packets"), saiattr.PolicerMode.Enum("sr-tcm"), saiattr.PolicerRate.Of(600)}},
		{saiattr.TrapGroup, nil},
		{saiattr.Hash, []saiattr.Value{saiattr.HashFields.Enum("DST_IP")}},
	} {
		id, err := p.lib.Create(o.kind, o.values...)
		if err != nil {
			p.t.Fatal(err)
		}
		kinds, ids = append(kinds, o.kind), append(ids, id)
	}
	return func() {
		p.t.Helper()
		for i, id := range ids {
			if err := p.lib.Remove(kinds[i], id); err != nil {
				p.t.Errorf("%s of another owner: %v", kinds[i], err)
			}
		}
	}
}

// TestRandomKillsLeaveNothing: on a switch of its own and on one that another owner
// programs meanwhile, by every method, a process that is killed 200 times while it programs
// leaves no object behind, and takes none of the other owner's.
func TestRandomKillsLeaveNothing(t *testing.T) {
	compute, rewrite := "SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL", "SAI_ACL_ENTRY_ATTR_ACTION_SET_IPV6_FLOW_LABEL"
	library := saitest.New(t)
	profiles := map[Method][]string{
		Compute: {"GROUPED", "1"}, Rewrite: {"HIDE", compute}, Hash: {"HIDE", compute + " " + rewrite, "HASH_FIELDS", "0 1 8 35"}, UDFHash: {"EXTENSION", "0", "HASH_FIELDS", "0 1 8"},
	}
	const kills = 200
	for method, profile := range profiles {
		for _, connected := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, connected %v", method, connected), func(t *testing.T) {
				random := rand.New(rand.NewPCG(1, 2))
				p := openPlace(t, library, profile...)
				before, ledger := p.there(), &fakeLedger{}
				options := SAIOptions{Connected: connected}
				life := func(k *killer) (e *Engine) {
					want := policy("Ethernet0", "Ethernet4")
					want.CPU = CPU{Rate: uint32(100 + random.IntN(2)), Burst: 10}
					if random.IntN(2) == 0 {
						want.Export = &Export{Rate: 1000, Ports: []string{"Ethernet0", "Ethernet4"}}
					}
					e = newTestEngine(t, mortalSAI{p.driverWith(options), k}, mortalLedger{ledger, k})
					for range 4 * attempts {
						if _, err := e.Reconcile(want); err == nil {
							break
						}
					}
					if _, err := e.AddFlows(flows(3)); err != nil {
						t.Fatal(err)
					}
					if random.IntN(2) == 0 {
						reconcile(t, e, Policy{})
					}
					return e
				}
				killed := 0
				for killed < kills {
					if until(func() { life(&killer{random.IntN(90)}) }) {
						killed++
					}
					if connected && random.IntN(4) == 0 {
						remove := p.theirs()
						if until(func() { life(&killer{random.IntN(90)}) }) {
							killed++
						}
						remove()
					}
				}
				e := newTestEngine(t, p.driverWith(options), ledger)
				if o := settle(t, e, policy("Ethernet0")); o.Method(NeedFlowLabel) != method {
					t.Errorf("%+v", o)
				}
				reconcile(t, e, Policy{})
				if diff := cmp.Diff(before, p.there()); diff != "" || len(ledger.rows) > 0 {
					t.Errorf("left after %d kills (-want +got): %s; in the ledger: %v", killed, diff, ledger.rows)
				}
			})
		}
	}
}

// TestKilledWithoutAnyLister: of a library that lists neither objects nor the entries of a
// table, no object is unknown but the one whose call was open.
func TestKilledWithoutAnyLister(t *testing.T) {
	library := saitest.New(t, "sai_get_object_key")
	p := openPlace(t, library, "HIDE", "SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL",
		"FAIL", fmt.Sprintf("get acl_table.ENTRY_LIST 0 %d", saitest.NotSupported))
	for steps, killed := 0, true; killed; steps++ {
		ledger, k := &fakeLedger{}, &killer{steps}
		created, removed := map[string]bool{}, map[string]bool{}
		note := func() {
			for _, call := range library.Calls() {
				var what, object string
				if n, _ := fmt.Sscan(call, &what, &object); n == 2 && what == "create" {
					created[object] = true
				} else if n == 2 && what == "remove" {
					removed[object] = true
				}
			}
		}
		killed = until(func() {
			e := newTestEngine(t, mortalSAI{p.driver(), k}, mortalLedger{ledger, k})
			reconcile(t, e, policy("Ethernet0"))
			if _, err := e.AddFlows(flows(3)); err != nil {
				t.Fatal(err)
			}
		})
		e := newTestEngine(t, p.driver(), ledger)
		for range 3 {
			if _, err := e.Reconcile(Policy{}); err == nil {
				break
			}
		}
		note()
		left := 0
		for object := range created {
			if !removed[object] {
				left++
			}
		}
		if left > len(ledger.rows)+1 { // what it refers to cannot be removed, and stays in the ledger
			t.Errorf("killed at step %d: %d objects are left: %v; in the ledger: %v", steps, left, created, ledger.rows)
		}
	}
}
