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
	p.killedAtEachStep(library, SAIOptions{}, func(e *Engine) {
		reconcile(t, e, policy("Ethernet0"))
		if _, err := e.AddFlows(flows(3)); err != nil {
			t.Fatal(err)
		}
	}, func(steps, left, rows int) {
		if left > rows+1 { // what it refers to cannot be removed, and stays in the ledger
			t.Errorf("killed at step %d: %d objects are left, %d are in the ledger", steps, left, rows)
		}
	})
}

// TestKilledWhereTheServingProcessListsNothing: the object whose call was open is found, too,
// and another owner's, which has the id before it, stays.
func TestKilledWhereTheServingProcessListsNothing(t *testing.T) {
	library := saitest.New(t, "sai_get_object_key")
	for _, fields := range []string{"0 1 8", "0 1 8 35"} {
		p := openPlace(t, library, "EXTENSION", "0", "HASH_FIELDS", fields,
			"FAIL", fmt.Sprintf("get acl_table.ENTRY_LIST 0 %d", saitest.NotSupported))
		remove := p.theirs()
		library.Calls()
		want := policy("Ethernet0")
		want.Export = &Export{Rate: 1000, Ports: []string{"Ethernet0"}}
		p.killedAtEachStep(library, SAIOptions{Connected: true}, func(e *Engine) { reconcile(t, e, want) }, func(steps, left, rows int) {
			if left > 0 || rows > 0 {
				t.Errorf("hash fields %s, killed at step %d: %d objects are left, %d are in the ledger", fields, steps, left, rows)
			}
		})
		remove()
		p.close()
	}
}

// onlyCounts fails a test where an id is asked for whose upper bits are of no type.
type onlyCounts struct{ t *testing.T }

func (w onlyCounts) Calling(c *sai.Call) int {
	if c.ID != sai.Null && c.ID&0xffff == 0xffff {
		w.t.Errorf("%s %s %s", c.Name, c.Object, c.ID)
	}
	return 0
}

func (onlyCounts) Called(int, *sai.Call, sai.Status) {}

// TestNeighborsOfTheFirstObjectKeepItsType: the ids before that of the first object of a type
// are of another type, at which a serving process may end.
func TestNeighborsOfTheFirstObjectKeepItsType(t *testing.T) {
	library := saitest.New(t, "sai_get_object_key")
	for steps, killed := 0, true; killed; steps++ {
		lib, err := sai.Open(library.Path, library.Profile("EXTENSION", "0", "HASH_FIELDS", "0 1 8"), onlyCounts{t})
		if err == nil {
			err = lib.CreateSwitch(true)
		}
		if err != nil {
			t.Fatal(err)
		}
		p, ledger, k := &place{t: t, lib: lib}, &fakeLedger{}, &killer{steps}
		o := SAIOptions{Connected: true}
		killed = until(func() {
			reconcile(t, newTestEngine(t, mortalSAI{p.driverWith(o), k}, mortalLedger{ledger, k}), policy("Ethernet0"))
		})
		settle(t, newTestEngine(t, p.driverWith(o), ledger), Policy{})
		p.close()
	}
}

// killedAtEachStep kills a process at each step of what it does. The next one is to remove
// everything: check is told what is left.
func (p *place) killedAtEachStep(library *saitest.Library, o SAIOptions, do func(*Engine), check func(steps, left, rows int)) {
	for steps, killed := 0, true; killed; steps++ {
		ledger, k := &fakeLedger{}, &killer{steps}
		there := map[string]bool{}
		killed = until(func() { do(newTestEngine(p.t, mortalSAI{p.driverWith(o), k}, mortalLedger{ledger, k})) })
		e := newTestEngine(p.t, p.driverWith(o), ledger)
		for range 3 {
			if _, err := e.Reconcile(Policy{}); err == nil {
				break
			}
		}
		for _, call := range library.Calls() {
			var what, object string
			if n, _ := fmt.Sscan(call, &what, &object); n == 2 && what == "create" {
				there[object] = true
			} else if n == 2 && what == "remove" {
				delete(there, object)
			}
		}
		if len(there) > 0 {
			p.t.Logf("step %d: %v; %v", steps, there, ledger.rows)
		}
		check(steps, len(there), len(ledger.rows))
	}
}
