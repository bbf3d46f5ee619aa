// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
	"sluice/sai-shim/saitest"
)

// killer ends a process at one of its steps: there are some before, within and
// behind each change of the switch and of the ledger.
type killer struct{ left int }

var errKilled = errors.New("killed")

func (k *killer) step() {
	if k.left--; k.left < 0 {
		panic(errKilled)
	}
}

// until calls f, and says whether it was killed.
func until(f func()) (killed bool) {
	defer func() {
		if why := recover(); why == errKilled {
			killed = true
		} else if why != nil {
			panic(why)
		}
	}()
	f()
	return false
}

type mortalSAI struct {
	*Driver
	*killer
}

func (d mortalSAI) Create(o *engine.Object, existing map[string]*engine.Record) (*engine.Record, error) {
	d.step()
	r, err := d.Driver.Create(o, existing)
	d.step()
	return r, err
}

func (d mortalSAI) Remove(r *engine.Record) error {
	d.step()
	err := d.Driver.Remove(r)
	d.step()
	return err
}

func (d mortalSAI) Set(r *engine.Record, o *engine.Object, attr string, existing map[string]*engine.Record) error {
	d.step()
	err := d.Driver.Set(r, o, attr, existing)
	d.step()
	return err
}

// mortalLedger is written in parts, in the order of ids, as Redis is.
type mortalLedger struct {
	*fakeLedger
	*killer
}

func (l mortalLedger) Save(records []*engine.Record, gone []engine.ID) error {
	changes := map[engine.ID]*engine.Record{}
	for _, id := range gone {
		changes[id] = nil
	}
	for _, r := range records {
		changes[r.ID] = r
	}
	ids := slices.Sorted(maps.Keys(changes))
	for part := range slices.Chunk(ids, max(1, (len(ids)+1)/2)) {
		l.step()
		for _, id := range part {
			if r := changes[id]; r != nil {
				_ = l.fakeLedger.Save([]*engine.Record{r}, nil)
			} else {
				_ = l.fakeLedger.Save(nil, []engine.ID{id})
			}
		}
	}
	l.step()
	return nil
}

// place is a switch behind a SAI library, on which another process has set a hash.
type place struct {
	t      *testing.T
	lib    *sai.Library
	before map[string][]sai.ObjectID
}

func newPlace(t *testing.T, library *saitest.Library, hide string) *place {
	t.Helper()
	lib, err := sai.Open(library.Path, library.Profile("HIDE", hide), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lib.Close() })
	if err := lib.CreateSwitch(true); err != nil {
		t.Fatal(err)
	}
	hash, err := lib.Create(saiattr.Hash, saiattr.HashFields.Enum("SRC_IP"))
	if err == nil {
		err = lib.Set(saiattr.Switch, lib.Switch, saiattr.ECMPHashIPv6.Object(uint64(hash)))
	}
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, lib: lib}
	p.before = p.there()
	return p
}

func (p *place) driver() *Driver { return p.driverWith(Options{}) }

func (p *place) driverWith(o Options) *Driver {
	p.t.Helper()
	d := New(p.lib, o)
	if err := d.Ports.Set([]engine.Port{{Name: "Ethernet0", Lanes: []uint32{0, 1, 2, 3}}, {Name: "Ethernet4", Lanes: []uint32{4}}}); err != nil {
		p.t.Fatal(err)
	}
	return d
}

// there is what the switch has, by type, and what is set on its ports and itself.
func (p *place) there() map[string][]sai.ObjectID {
	p.t.Helper()
	all := map[string][]sai.ObjectID{}
	for name, kind := range objectKinds {
		ids, err := p.lib.Objects(kind)
		if err != nil {
			p.t.Fatal(err)
		}
		if len(ids) > 0 {
			all[string(name)] = ids
		}
	}
	for name, port := range p.driver().Ports.byName {
		table, err := p.driver().strays.bindings.ingressACL(port)
		if err != nil {
			p.t.Fatal(err)
		}
		if table != sai.Null {
			all[name] = []sai.ObjectID{table}
		}
	}
	for _, use := range []*saiattr.Attr{saiattr.ECMPHashIPv4, saiattr.ECMPHashIPv6, saiattr.ECMPHashIPv4RDMA, saiattr.ECMPHashIPv6RDMA} {
		if hash, err := p.lib.GetObject(saiattr.Switch, p.lib.Switch, use); err == nil && hash != sai.Null {
			all[use.Name] = []sai.ObjectID{hash}
		}
	}
	return all
}

// TestKilledAnywhere: at whatever step a process is killed, the next one finds all
// on the switch, creates no object twice, and removes all of them when it is told to.
func TestKilledAnywhere(t *testing.T) {
	library := saitest.New(t)
	compute, rewrite := "SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL", "SAI_ACL_ENTRY_ATTR_ACTION_SET_IPV6_FLOW_LABEL"
	for method, hide := range map[engine.Method]string{engine.Compute: "", engine.Rewrite: compute, engine.Hash: compute + " " + rewrite} {
		t.Run(string(method), func(t *testing.T) {
			p := newPlace(t, library, hide)
			first := policy("Ethernet0", "Ethernet4")
			first.CPU = engine.CPU{Rate: 100, Burst: 10}
			then := policy("Ethernet4")
			then.CPU = engine.CPU{Rate: 200, Burst: 10}
			then.Export = &engine.Export{Rate: 1000, Ports: []string{"Ethernet0", "Ethernet4"}}
			life := func(d engine.Driver, l engine.Ledger) *engine.Engine {
				e, err := engine.NewEngine(d, l, nil)
				if err == nil {
					_, err = e.Reconcile(first)
				}
				if err == nil {
					_, err = e.AddFlows(flows(3))
				}
				if err == nil {
					_, err = e.Reconcile(then)
				}
				if err != nil {
					t.Fatal(err)
				}
				return e
			}
			steps := 0
			for killed := true; killed; steps++ {
				ledger := &fakeLedger{}
				k := &killer{steps}
				killed = until(func() { life(mortalSAI{p.driver(), k}, mortalLedger{ledger, k}) })
				if steps%2 == 0 { // the next one goes on, and is killed, too
					k = &killer{steps / 2}
					until(func() { life(mortalSAI{p.driver(), k}, mortalLedger{ledger, k}) })
				}
				e := life(p.driver(), ledger)
				if is := e.LabelMethod(); is != method {
					t.Fatalf("method %s", is)
				}
				want := maps.Clone(p.before)
				for _, r := range ledger.rows {
					want[r["type"]] = append(want[r["type"]], sai.Null)
				}
				for range e.Flows { // whose row is that of the entry
					want[string(engine.TypeACLCounter)] = append(want[string(engine.TypeACLCounter)], sai.Null)
				}
				for name, ids := range p.there() {
					if objectKinds[engine.Type(name)] != (saiattr.Kind{}) && len(ids) != len(want[name]) {
						t.Errorf("killed at step %d: %d objects %s, and %d are known", steps, len(ids), name, len(want[name]))
					}
				}
				if len(ledger.rows)+entries(e) != e.Len() {
					t.Errorf("killed at step %d: %d in the ledger, %d in the engine", steps, len(ledger.rows), e.Len())
				}
				reconcile(t, e, engine.Policy{})
				if diff := cmp.Diff(p.before, p.there()); diff != "" || len(ledger.rows) > 0 {
					t.Fatalf("killed at step %d: left: %s; in the ledger: %v", steps, diff, ledger.rows)
				}

				// The same, and the next process is not to have anything at all.
				k = &killer{steps}
				until(func() { life(mortalSAI{p.driver(), k}, mortalLedger{ledger, k}) })
				if e, err := engine.NewEngine(p.driver(), ledger, nil); err != nil {
					t.Fatalf("killed at step %d: %v", steps, err)
				} else {
					reconcile(t, e, engine.Policy{})
				}
				if diff := cmp.Diff(p.before, p.there()); diff != "" || len(ledger.rows) > 0 {
					t.Fatalf("killed at step %d: left: %s; in the ledger: %v", steps, diff, ledger.rows)
				}
			}
			if steps < 30 {
				t.Errorf("only %d steps were tried", steps)
			}
		})
	}
}

// TestBindsWhereTheBindingCannotBeRead: a library that sets the ACL of a port, and answers
// NOT_IMPLEMENTED when it is read, gets its ports bound once, and unbound.
func TestBindsWhereTheBindingCannotBeRead(t *testing.T) {
	library := saitest.New(t)
	lib, err := sai.Open(library.Path, library.Profile("FAIL", fmt.Sprintf("get port.INGRESS_ACL 0 %d", saitest.NotImplemented)), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lib.Close() })
	if err := lib.CreateSwitch(true); err != nil {
		t.Fatal(err)
	}
	p, ledger := &place{t: t, lib: lib}, &fakeLedger{}
	bindings := func() (all []string) {
		for _, call := range library.Calls() {
			if strings.Contains(call, " INGRESS_ACL=") {
				all = append(all, call)
			}
		}
		slices.Sort(all)
		return all
	}
	want := func(when string, calls ...string) {
		t.Helper()
		if diff := cmp.Diff(calls, bindings()); diff != "" {
			t.Errorf("%s, bindings (-want +got):\n%s", when, diff)
		}
	}
	start := func() *engine.Engine {
		t.Helper()
		e, err := engine.NewEngine(p.driver(), ledger, nil)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	e := start()
	if o := reconcile(t, e, policy("Ethernet0", "Ethernet4")); len(o.Problems) > 0 {
		t.Errorf("problems: %q", o.Problems)
	}
	want("at first", "set port#1 INGRESS_ACL=acl_table#1", "set port#2 INGRESS_ACL=acl_table#1")
	e = start()
	reconcile(t, e, policy("Ethernet0", "Ethernet4"))
	want("in the next process")
	reconcile(t, e, engine.Policy{})
	want("without labels", "set port#1 INGRESS_ACL=null", "set port#2 INGRESS_ACL=null")
}

// TestHashUseThatIsKnown: a library that does not say whether it has ECMP_HASH_IPV6_RDMA, and
// refuses it, gets its hash by ECMP_HASH_IPV6; so does one that says nothing of either.
func TestHashUseThatIsKnown(t *testing.T) {
	compute, rewrite := "SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL", "SAI_ACL_ENTRY_ATTR_ACTION_SET_IPV6_FLOW_LABEL"
	const rdma = "switch.ECMP_HASH_IPV6_RDMA"
	refuses := fmt.Sprintf("capability %s 0 %d; set %s 0 %d", rdma, saitest.Failure, rdma, saitest.Failure)
	for name, fail := range map[string]string{"one": refuses, "both": refuses + fmt.Sprintf("; capability switch.ECMP_HASH_IPV6 0 %d", saitest.Failure)} {
		t.Run(name, func(t *testing.T) {
			library := saitest.New(t)
			lib, err := sai.Open(library.Path, library.Profile("FAIL", fail, "HIDE", compute+" "+rewrite), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = lib.Close() })
			if err := lib.CreateSwitch(true); err != nil {
				t.Fatal(err)
			}
			p := &place{t: t, lib: lib}
			e, err := engine.NewEngine(p.driver(), &fakeLedger{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			o := reconcile(t, e, policy("Ethernet0", "Ethernet4"))
			if o.Method(engine.NeedFlowLabel) != engine.Hash || len(o.Problems) > 0 {
				t.Errorf("method %s, problems %q", o.Method(engine.NeedFlowLabel), o.Problems)
			}
			if hash, err := hashOf(p.lib, saiattr.ECMPHashIPv6); err != nil || hash == sai.Null {
				t.Errorf("ECMP_HASH_IPV6 is %s, %v", hash, err)
			}
		})
	}
}

// TestRefusedSamplingLeavesLabels: where the library refuses what samples packets for export,
// labels are written by the same method, nothing is sampled, and the outcome says why.
func TestRefusedSamplingLeavesLabels(t *testing.T) {
	compute := "SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL"
	for _, fail := range []string{
		fmt.Sprintf("create samplepacket 0 %d", saitest.NotSupported),
		fmt.Sprintf("create acl_entry.ACTION_INGRESS_SAMPLEPACKET_ENABLE 0 %d", saitest.AttrNotSupported0),
	} {
		for method, hide := range map[engine.Method]string{engine.Compute: "", engine.Rewrite: compute} {
			t.Run(string(method)+" "+fail, func(t *testing.T) {
				library := saitest.New(t)
				lib, err := sai.Open(library.Path, library.Profile("FAIL", fail, "HIDE", hide), nil)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = lib.Close() })
				if err := lib.CreateSwitch(true); err != nil {
					t.Fatal(err)
				}
				p := &place{t: t, lib: lib}
				e, err := engine.NewEngine(p.driver(), &fakeLedger{}, nil)
				if err != nil {
					t.Fatal(err)
				}
				wanted := policy("Ethernet0", "Ethernet4")
				wanted.Export = &engine.Export{Rate: 1000, Ports: []string{"Ethernet0"}}
				o := reconcile(t, e, wanted)
				if label, export := o.Choices[engine.NeedFlowLabel], o.Choices[engine.NeedExport]; label.Method != method || label.State != engine.Active || export.Method != engine.None {
					t.Errorf("labels %+v, export %+v", label, export)
				}
				if len(o.Problems) != 1 || !strings.HasPrefix(o.Problems[0], "nothing is sampled for export: ") || !strings.Contains(o.Problems[0], "NOT_SUPPORTED") ||
					strings.Count(o.Problems[0], engine.ErrRefused.Error()) != 1 {
					t.Errorf("problems %q", o.Problems)
				}
				if _, err := e.AddFlows(flows(2)); err != nil && method == engine.Rewrite {
					t.Errorf("flows: %v", err)
				}
			})
		}
	}
}

// TestRemovalLeavesWhatAnotherOwnerPutInPlace: the ACL of a port and the hash that another
// owner has set since stay, also when the process that removes is another one than the
// process that bound.
func TestRemovalLeavesWhatAnotherOwnerPutInPlace(t *testing.T) {
	compute, rewrite := "SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL", "SAI_ACL_ENTRY_ATTR_ACTION_SET_IPV6_FLOW_LABEL"
	library := saitest.New(t)
	for name, hide := range map[string]string{"ACL": "", "hash": compute + " " + rewrite} {
		t.Run(name, func(t *testing.T) {
			p, ledger := newPlace(t, library, hide), &fakeLedger{}
			start := func() *engine.Engine {
				t.Helper()
				e, err := engine.NewEngine(p.driverWith(Options{Connected: true}), ledger, nil)
				if err != nil {
					t.Fatal(err)
				}
				return e
			}
			reconcile(t, start(), policy("Ethernet0", "Ethernet4"))
			port := p.driver().Ports.byName["Ethernet0"]
			table, err := p.lib.Create(saiattr.ACLTable, saiattr.ACLTableStage.Enum("INGRESS"))
			if err != nil {
				t.Fatal(err)
			}
			hash, err := p.lib.Create(saiattr.Hash, saiattr.HashFields.Enum("DST_IP"))
			if err != nil {
				t.Fatal(err)
			}
			uses := []*saiattr.Attr{saiattr.ECMPHashIPv6, saiattr.ECMPHashIPv6RDMA}
			if err := p.lib.Set(saiattr.Port, port, saiattr.PortIngressACL.Object(uint64(table))); err != nil {
				t.Fatal(err)
			}
			for _, use := range uses {
				if err := p.lib.Set(saiattr.Switch, p.lib.Switch, use.Object(uint64(hash))); err != nil {
					t.Fatal(err)
				}
			}
			reconcile(t, start(), engine.Policy{})
			if now, err := p.driver().strays.bindings.ingressACL(port); err != nil || now != table {
				t.Errorf("the port has %s, %v; want %s, the other owner's", now, err, table)
			}
			for _, use := range uses {
				if now, err := hashOf(p.lib, use); err != nil || now != hash {
					t.Errorf("%s is %s, %v; want %s, the other owner's", use.Name, now, err, hash)
				}
			}
			if len(ledger.rows) > 0 {
				t.Errorf("in the ledger: %v", ledger.rows)
			}
		})
	}
}

// TestWhatOthersCreate on a switch that sluiced is only connected to is never taken
// for Sluice's, not even where one of Sluice's objects may have been created.
func TestWhatOthersCreate(t *testing.T) {
	library := saitest.New(t)
	p := newPlace(t, library, "")
	ledger := &fakeLedger{}
	for steps := range 10 {
		d := p.driverWith(Options{Connected: true})
		k := &killer{steps}
		until(func() {
			e, err := engine.NewEngine(mortalSAI{d, k}, mortalLedger{ledger, k}, nil)
			if err == nil {
				_, err = e.Reconcile(policy("Ethernet0"))
			}
			if err != nil {
				t.Fatal(err)
			}
		})
		theirs := map[saiattr.Kind]sai.ObjectID{}
		for kind, create := range map[saiattr.Kind]func() (sai.ObjectID, error){
			saiattr.ACLTable: func() (sai.ObjectID, error) {
				return p.lib.Create(saiattr.ACLTable, saiattr.ACLTableStage.Enum("ingress"), saiattr.ACLTablePort.Is(true))
			},
			saiattr.Hash: func() (sai.ObjectID, error) { return p.lib.Create(saiattr.Hash, saiattr.HashFields.Enum("DST_IP")) },
		} {
			id, err := create()
			if err != nil {
				t.Fatal(err)
			}
			theirs[kind] = id
		}
		d = p.driverWith(Options{Connected: true})
		reconcile(t, newTestEngine(t, d, ledger), engine.Policy{})
		for kind, id := range theirs {
			if !p.lib.Exists(kind, id) {
				t.Errorf("killed at step %d: %s of another process is gone", steps, id)
			}
		}
	}
}

// TestKilledWithoutALister: a library that lists no objects has a table's entries at
// least, and so their counters.
func TestKilledWithoutALister(t *testing.T) {
	p := newPlaceWithoutList(t)
	ledger := &fakeLedger{}
	life := func(d engine.Driver, l engine.Ledger) *engine.Engine {
		e, err := engine.NewEngine(d, l, nil)
		if err == nil {
			_, err = e.Reconcile(policy("Ethernet0"))
		}
		if err == nil {
			_, err = e.AddFlows(flows(3))
		}
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	life(p.driver(), ledger)
	held := maps.Clone(ledger.rows) // as it was before the flows
	maps.DeleteFunc(held, func(_ engine.ID, f map[string]string) bool { return strings.HasPrefix(f["key"], engine.PrefixFlow) })
	ledger.rows = held
	e := life(p.driver(), ledger)
	reconcile(t, e, engine.Policy{}) // its table could not go while a counter is in it
	if len(ledger.rows) > 0 {
		t.Errorf("%v", ledger.rows)
	}
}

func newPlaceWithoutList(t *testing.T) *place {
	t.Helper()
	library := saitest.New(t, "sai_get_object_key")
	lib, err := sai.Open(library.Path, library.Profile("HIDE", "SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lib.Close() })
	if err := lib.CreateSwitch(true); err != nil {
		t.Fatal(err)
	}
	return &place{t: t, lib: lib}
}
