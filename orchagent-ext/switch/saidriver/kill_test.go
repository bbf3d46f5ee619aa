// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/switch/engine"
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
	profiles := map[engine.Method][]string{
		engine.Compute: {"GROUPED", "1"}, engine.Rewrite: {"HIDE", compute}, engine.Hash: {"HIDE", compute + " " + rewrite, "HASH_FIELDS", "0 1 8 35"}, engine.UDFHash: {"EXTENSION", "0", "HASH_FIELDS", "0 1 8"},
	}
	const kills = 200
	for method, profile := range profiles {
		for _, connected := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, connected %v", method, connected), func(t *testing.T) {
				random := rand.New(rand.NewPCG(1, 2))
				p, objects := watched(t, library, profile...)
				before, ledger := p.there(), &fakeLedger{}
				life := func(k *killer) (e *engine.Engine) {
					options := Options{Connected: connected, Created: slices.Clone(objects.created)}
					want := policy("Ethernet0", "Ethernet4")
					want.CPU = engine.CPU{Rate: uint32(100 + random.IntN(2)), Burst: 10}
					if random.IntN(2) == 0 {
						want.Export = &engine.Export{Rate: 1000, Ports: []string{"Ethernet0", "Ethernet4"}}
					}
					e = newTestEngine(t, mortalSAI{p.driverWith(options), k}, mortalLedger{ledger, k})
					for range 4 * engine.Attempts {
						if _, err := e.Reconcile(want); err == nil {
							break
						}
					}
					if _, err := e.AddFlows(flows(3)); err != nil {
						t.Fatal(err)
					}
					if random.IntN(2) == 0 {
						reconcile(t, e, engine.Policy{})
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
				e := newTestEngine(t, p.driverWith(Options{Connected: connected, Created: objects.created}), ledger)
				if o := settle(t, e, policy("Ethernet0")); o.Method(engine.NeedFlowLabel) != method {
					t.Errorf("%+v", o)
				}
				reconcile(t, e, engine.Policy{})
				if diff := cmp.Diff(before, p.there()); diff != "" || len(ledger.rows) > 0 {
					t.Errorf("left after %d kills (-want +got): %s; in the ledger: %v", killed, diff, ledger.rows)
				}
			})
		}
	}
}

// noted notes the objects that a process created and did not remove, as package trust does. A
// killer ends the process when the library has created an object, before the call returns.
type noted struct {
	created  []sai.Created
	last     map[string]sai.ObjectID
	creating string
	*killer  // nil: none
}

func (*noted) Calling(*sai.Call) int { return 0 }

func (n *noted) Called(_ int, c *sai.Call, answer sai.Status) {
	switch {
	case answer != 0 || c.Object == saiattr.Switch.Name:
	case c.Name == "create":
		n.created = append(n.created, sai.Created{Object: c.Object, ID: c.ID})
		if n.killer != nil {
			n.creating = c.Object
			n.step()
			n.creating = ""
		}
		n.last[c.Object] = c.ID
	case c.Name == "remove":
		n.created = slices.DeleteFunc(n.created, func(o sai.Created) bool { return o.ID == c.ID })
	}
}

// watched is a place whose objects are noted.
func watched(t *testing.T, library *saitest.Library, profile ...string) (*place, *noted) {
	t.Helper()
	n := &noted{last: map[string]sai.ObjectID{}}
	lib, err := sai.Open(library.Path, library.Profile(profile...), n)
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, lib: lib}
	t.Cleanup(p.close)
	if err := lib.CreateSwitch(true); err != nil {
		t.Fatal(err)
	}
	return p, n
}

// listless are profiles, by method, of libraries that list neither objects nor the entries of
// a table, if they lack sai_get_object_key, too.
func listless() map[engine.Method][]string {
	const unlisted = "get acl_table.ENTRY_LIST 0 -2"
	return map[engine.Method][]string{
		engine.Compute: {"FAIL", unlisted},
		engine.Rewrite: {"FAIL", unlisted, "HIDE", "SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL"},
		engine.Hash:    {"FAIL", unlisted, "EXTENSION", "0", "HASH_FIELDS", "0 1 8 35"},
		engine.UDFHash: {"FAIL", unlisted, "EXTENSION", "0", "HASH_FIELDS", "0 1 8"},
	}
}

// labelsAndExport has an engine do all that it can.
func labelsAndExport(t *testing.T, e *engine.Engine) {
	t.Helper()
	want := policy("Ethernet0")
	want.CPU = engine.CPU{Rate: 100, Burst: 10}
	want.Export = &engine.Export{Rate: 1000, Ports: []string{"Ethernet0"}, CM: true}
	reconcile(t, e, want)
	if _, err := e.AddFlows(flows(3)); err != nil {
		t.Fatal(err)
	}
}

// TestKilledWithoutAnyLister: where the library lists nothing, on a switch of its own and on
// one that another owner programs, the object whose create call was open is found where
// Sluice was told its id, where it refers to one of Sluice's, or where it is known that the
// library had the call. One that cannot be told from another owner's is left, and named.
func TestKilledWithoutAnyLister(t *testing.T) {
	library := saitest.New(t, "sai_get_object_key")
	refersToNone := []engine.Type{engine.TypeACLTable, engine.TypeACLGroup, engine.TypeHash, engine.TypePolicer, engine.TypeSample, engine.TypeUDFMatch, engine.TypeUDFGroup}
	const told, open, nothing = "the id", "the call", "nothing"
	for method, profile := range listless() {
		for _, knows := range []string{told, open, nothing, "the id, on its own switch"} {
			t.Run(string(method)+" knows "+knows, func(t *testing.T) {
				p, objects := watched(t, library, profile...)
				named, connected := 0, !strings.Contains(knows, "own switch")
				e := newTestEngine(t, p.driver(), &fakeLedger{}) // so that objects were created before
				labelsAndExport(t, e)
				reconcile(t, e, engine.Policy{})
				last := func(object string) sai.ObjectID { return objects.last[object] }
				for steps, killed := 0, true; killed; steps++ {
					ledger, k, o := &fakeLedger{}, &killer{steps}, Options{Connected: connected, Last: last}
					if knows == open {
						k, objects.killer = &killer{1 << 30}, k
					}
					killed = until(func() { labelsAndExport(t, newTestEngine(t, mortalSAI{p.driverWith(o), k}, mortalLedger{ledger, k})) })
					switch objects.killer = nil; knows {
					case nothing:
					case open:
						if o.Creating, objects.creating = objects.creating, ""; killed {
							o.Created = slices.Clone(objects.created[:len(objects.created)-1])
						}
					default:
						o.Created = slices.Clone(objects.created)
					}
					left := settle(t, newTestEngine(t, p.driverWith(o), ledger), engine.Policy{}).Left
					if !connected { // it may be left: that cannot be known
						left = nil
					}
					if len(objects.created) != len(left) || len(ledger.rows) > 0 || knows != nothing && len(left) > 0 {
						t.Errorf("killed at step %d: left are %v, %q is told, %v is in the ledger", steps, objects.created, left, ledger.rows)
					}
					for _, is := range slices.Clone(objects.created) {
						i := slices.IndexFunc(refersToNone, func(of engine.Type) bool { return objectKinds[of].Name == is.Object })
						if i < 0 || len(left) != 1 || !strings.HasPrefix(left[0], string(refersToNone[i])+" "+is.ID.String()+" may be of Sluice") {
							t.Errorf("killed at step %d: left is %v, told %q", steps, is, left)
							continue
						}
						named++
						if err := p.lib.Remove(objectKinds[refersToNone[i]], is.ID); err != nil {
							t.Fatal(err)
						}
					}
				}
				if (named > 0) != (knows == nothing) {
					t.Errorf("%d objects were left and named", named)
				}
			})
		}
	}
}

// TestAnotherOwnersLookAlikes: of a switch that another owner programs, too, no object is
// taken that is just as Sluice's, and was created just before or after the one whose create
// call was open when sluiced was killed, whether the library lists objects or not.
func TestAnotherOwnersLookAlikes(t *testing.T) {
	for name, library := range map[string]*saitest.Library{"listed": saitest.New(t), "not listed": saitest.New(t, "sai_get_object_key")} {
		for method, profile := range listless() {
			t.Run(string(method)+", "+name, func(t *testing.T) {
				p, objects := watched(t, library, profile...)
				var theirs []*engine.Record
				create := func() { // all that Sluice creates
					other, made := p.driver(), map[string]*engine.Record{}
					want := policy("Ethernet0")
					want.Export = &engine.Export{Rate: 1000, Ports: []string{"Ethernet0"}}
					abilities, features, err := other.Probe()
					if err != nil {
						t.Fatal(err)
					}
					for _, o := range other.Objects(want, engine.Choose(abilities, want, features), features) {
						if o.Type == engine.TypeBinding || o.Type == engine.TypeSwitchHash {
							continue
						}
						values := make([]saiattr.Value, len(o.Values))
						for i := range values {
							values[i] = o.Values[i].Resolve(refs{made}.number)
							if field := o.AddedField(); o.Values[i].Attr == saiattr.HashFields && field != "" { // the library may refuse others
								values[i] = saiattr.HashFields.Enum(field)
							} else if o.Values[i].Attr == saiattr.HashFields {
								values[i] = saiattr.HashFields.Enum("SRC_IP", "DST_IP")
							}
						}
						id, err := p.lib.Create(objectKinds[o.Type], values...)
						if err != nil {
							t.Fatal(err)
						}
						r := &engine.Record{Object: o, ID: engine.ID(id.String())}
						made[o.Key], theirs = r, append(theirs, r)
					}
				}
				for steps, killed := 0, true; killed; steps++ {
					ledger, k, o := &fakeLedger{}, &killer{steps}, Options{Connected: true, Last: func(object string) sai.ObjectID { return objects.last[object] }}
					create()
					before := len(objects.created)
					if steps%3 == 1 {
						k, objects.killer = &killer{1 << 30}, &killer{steps / 3}
					}
					killed = until(func() { labelsAndExport(t, newTestEngine(t, mortalSAI{p.driverWith(o), k}, mortalLedger{ledger, k})) })
					o.Creating, objects.killer, objects.creating = objects.creating, nil, ""
					create()
					if steps%3 == 0 {
						o.Created = slices.Clone(objects.created[before:])
						o.Created = o.Created[:max(0, len(o.Created)-len(theirs)/2)]
					}
					settle(t, newTestEngine(t, p.driverWith(o), ledger), engine.Policy{})
					for _, r := range theirs {
						if !slices.ContainsFunc(objects.created, func(o sai.Created) bool { return o.ID.String() == string(r.ID) }) {
							t.Errorf("killed at step %d: %s %s of another owner is gone", steps, r.Type, r.ID)
						}
					}
					for _, is := range slices.Backward(slices.Clone(objects.created)) { // Sluice's that may be another owner's, too
						for _, kind := range objectKinds {
							if kind.Name == is.Object {
								if err := p.lib.Remove(kind, is.ID); err != nil {
									t.Errorf("killed at step %d: %s: %v", steps, is.ID, err)
								}
							}
						}
					}
					theirs = nil
				}
			})
		}
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
		o := Options{Connected: true}
		killed = until(func() {
			reconcile(t, newTestEngine(t, mortalSAI{p.driverWith(o), k}, mortalLedger{ledger, k}), policy("Ethernet0"))
		})
		settle(t, newTestEngine(t, p.driverWith(o), ledger), engine.Policy{})
		p.close()
	}
}
