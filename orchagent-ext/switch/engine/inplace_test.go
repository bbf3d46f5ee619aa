// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/sai-shim/saiattr"
)

// besidesLabels are policies that differ in everything but what labels flows: by
// pairs of them no label may change.
func besidesLabels() (all []Policy) {
	exports := []*Export{nil, {Rate: 100, Ports: []string{"Ethernet0"}}, {Rate: 100, Ports: []string{"Ethernet0", "Ethernet4", "Ethernet8"}}, {Rate: 1000, Ports: []string{"Ethernet4"}}}
	for _, export := range exports {
		for _, cpu := range []CPU{{}, {Rate: 100, Burst: 10}, {Rate: 200, Burst: 20}} {
			for _, capacity := range []uint32{100, 5000} {
				for _, hash := range []bool{true, false} {
					p := policy("Ethernet0", "Ethernet4")
					p.Export, p.CPU, p.FlowCapacity, p.ManageHash = export, cpu, capacity, hash
					all = append(all, p)
				}
			}
		}
	}
	return all
}

// labels reports whether an object is needed for a flow to get its label.
func labels(key string) bool {
	return strings.HasPrefix(key, PrefixFlow) || slices.Contains([]string{KeyTable, keyCompute, keyUDF, keyUDFGroup, keyUDFMatch, "port/Ethernet0", "port/Ethernet4"}, key)
}

// asWanted checks that each object on the switch has the attributes that the policy
// wants: what a switch has is not what a ledger says.
func asWanted(t *testing.T, e *Engine, f *fakeSwitch) {
	t.Helper()
	want := Objects(e.policy, e.outcome.Choices, e.entries.features)
	for flow := range e.Flows {
		want = append(want, FlowObjects(e.policy, e.LabelMethod(), e.entries.features, flow)...)
	}
	is := map[string]*Record{}
	for _, r := range f.there {
		if is[r.Key] != nil {
			t.Errorf("%s is there twice", r.Key)
		}
		is[r.Key] = r
	}
	for i := range want {
		r := is[want[i].Key]
		if r == nil {
			t.Errorf("%s is missing", want[i].Key)
		} else if names, _ := r.changes(&want[i], Settable); len(names) > 0 {
			t.Errorf("%s differs in %v: %v, want %v", r.Key, names, r.Attrs, want[i].Attrs)
		}
		delete(is, want[i].Key)
	}
	if len(is) > 0 {
		t.Errorf("left: %v", slices.Collect(maps.Keys(is)))
	}
}

func TestNoChangeBesidesLabelsTouchesALabel(t *testing.T) {
	for _, method := range []Method{Compute, Rewrite} {
		t.Run(string(method), func(t *testing.T) {
			pairs := 0
			for _, from := range besidesLabels() {
				for _, to := range besidesLabels() {
					f, l := newFakeSwitch(), &fakeLedger{}
					f.polices = true
					if method == Rewrite {
						f.can[Compute] = Ability{Reason: "no"}
					}
					e := newTestEngine(t, f, l)
					reconcile(t, e, from)
					if _, err := e.AddFlows(flows(3)); err != nil {
						t.Fatal(err)
					}
					f.calls = nil
					if o := reconcile(t, e, to); o.Method(NeedFlowLabel) != method {
						t.Fatalf("%+v", o)
					}
					for _, call := range f.calls {
						words := strings.Fields(call)
						if labels(words[1]) && (words[0] != "set" || words[2] != saiattr.ACLEntrySample.Name) {
							t.Errorf("from %+v to %+v: %s", from, to, call)
						}
					}
					asWanted(t, e, f)
					inStep(t, e, f, l)
					if t.Failed() {
						t.FailNow()
					}
					pairs++
				}
			}
			t.Logf("%d pairs", pairs)
		})
	}
}

// TestPortsMoveBetweenTablesInPlace: a port that gets or loses its labels while flows
// are exported is never without a table.
func TestPortsMoveBetweenTablesInPlace(t *testing.T) {
	f, l := newFakeSwitch(), &fakeLedger{}
	f.can[Compute] = Ability{Reason: "no"}
	e := newTestEngine(t, f, l)
	p := policy("Ethernet0")
	p.Export = &Export{Rate: 100, Ports: []string{"Ethernet0", "Ethernet4"}}
	reconcile(t, e, p)
	f.calls = nil
	p.Ports = []string{"Ethernet4"}
	reconcile(t, e, p)
	if diff := cmp.Diff([]string{"set port/Ethernet4 " + saiattr.PortIngressACL.Name, "set port/Ethernet0 " + saiattr.PortIngressACL.Name}, f.calls); diff != "" {
		t.Error(diff)
	}
	f.calls = nil
	always := p
	always.Label = &Label{ZeroOnly: false}
	always.Ports = []string{"Ethernet0"}
	reconcile(t, e, always) // another table: it is created again, and so are its bindings
	asWanted(t, e, f)
	inStep(t, e, f, l)
}

// TestARefusedChangeCreatesAgain: where an attribute cannot be changed in place, the
// objects are created again, and the flows keep their labels.
func TestARefusedChangeCreatesAgain(t *testing.T) {
	for _, attr := range []string{saiattr.ACLEntrySample.Name, saiattr.SampleRate.Name, saiattr.PolicerRate.Name, saiattr.PortIngressACL.Name} {
		f, l := newFakeSwitch(), &fakeLedger{}
		f.can[Compute] = Ability{Reason: "no"}
		f.polices = true
		f.fixed = map[string]error{attr: fmt.Errorf("%w: ATTR_NOT_SUPPORTED", ErrRefused)}
		e := newTestEngine(t, f, l)
		p := policy("Ethernet0")
		p.CPU = CPU{Rate: 100, Burst: 10}
		reconcile(t, e, p)
		if _, err := e.AddFlows(flows(3)); err != nil {
			t.Fatal(err)
		}
		was := slices.Collect(e.Flows)
		p.CPU.Rate = 200
		p.Ports = []string{"Ethernet4"}
		for _, rate := range []uint32{100, 1000, 0} {
			p.Export = &Export{Rate: rate, Ports: []string{"Ethernet0", "Ethernet4"}}
			if rate == 0 {
				p.Export = nil
			}
			if o := reconcile(t, e, p); o.Method(NeedFlowLabel) != Rewrite {
				t.Errorf("%s: %+v", attr, o)
			}
			asWanted(t, e, f)
			inStep(t, e, f, l)
		}
		is := slices.Collect(e.Flows)
		slices.SortFunc(was, FlowEntry.compare)
		slices.SortFunc(is, FlowEntry.compare)
		if !slices.Equal(was, is) {
			t.Errorf("%s: flows %v, and then %v", attr, was, is)
		}
	}
}

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

// mortalFake is a fake switch whose process is killed at a step.
type mortalFake struct {
	*fakeSwitch
	*killer
}

func (d mortalFake) Create(o *Object, existing map[string]*Record) (*Record, error) {
	d.step()
	return d.fakeSwitch.Create(o, existing)
}

func (d mortalFake) Remove(r *Record) error {
	d.step()
	return d.fakeSwitch.Remove(r)
}

func (d mortalFake) Set(r *Record, o *Object, attr string, existing map[string]*Record) error {
	d.step()
	err := d.fakeSwitch.Set(r, o, attr, existing)
	d.step()
	return err
}

// TestKilledWhileItSets: whichever policy is in force next, the switch has all
// attributes as it wants, and no flow has lost its entry.
func TestKilledWhileItSets(t *testing.T) {
	from, to := policy("Ethernet0"), policy("Ethernet4")
	from.CPU, to.CPU = CPU{Rate: 100, Burst: 10}, CPU{Rate: 200, Burst: 20}
	from.Export = &Export{Rate: 100, Ports: []string{"Ethernet0", "Ethernet4"}}
	off := from
	off.Export = nil
	rate := to
	rate.Export = &Export{Rate: 1000, Ports: []string{"Ethernet0", "Ethernet4"}}
	for _, change := range [][2]Policy{{from, to}, {to, from}, {from, off}, {off, from}, {from, rate}, {rate, from}} {
		for next := range change {
			for steps, killed := 0, true; killed; steps++ {
				f, l := newFakeSwitch(), &fakeLedger{}
				f.can[Compute] = Ability{Reason: "no"}
				f.polices = true
				e := newTestEngine(t, f, l)
				reconcile(t, e, change[0])
				if _, err := e.AddFlows(flows(3)); err != nil {
					t.Fatal(err)
				}
				k := &killer{steps}
				killed = until(func() {
					e := newTestEngine(t, mortalFake{f, k}, l)
					reconcile(t, e, change[1])
				})
				e = newTestEngine(t, f, l)
				f.calls = nil
				reconcile(t, e, change[next])
				if n := len(slices.Collect(e.Flows)); n != 3 {
					t.Errorf("killed at step %d: %d flows", steps, n)
				}
				for _, call := range f.calls {
					if strings.HasPrefix(call, "remove "+PrefixFlow) {
						t.Errorf("killed at step %d: %s", steps, call)
					}
				}
				asWanted(t, e, f)
				inStep(t, e, f, l)
				reconcile(t, e, Policy{})
				if len(f.there) > 0 || len(l.rows) > 0 {
					t.Errorf("killed at step %d: left: %v, %v", steps, f.keys(), l.rows)
				}
				if t.Failed() {
					t.FailNow()
				}
			}
		}
	}
}

// TestAdoptsTheLedgerOfAnEarlierVersion: the rows are those that sluiced wrote to
// STATE_DB when a flow had a row for its counter, too.
func TestAdoptsTheLedgerOfAnEarlierVersion(t *testing.T) {
	for _, method := range NeedFlowLabel.Methods() {
		t.Run(string(method), func(t *testing.T) {
			text, err := os.ReadFile(fmt.Sprintf("testdata/ledger-1-%s.json", method))
			if err != nil {
				t.Fatal(err)
			}
			l := &fakeLedger{}
			if err := json.Unmarshal(text, &l.rows); err != nil {
				t.Fatal(err)
			}
			f := newFakeSwitch()
			f.polices = true
			f.uses = &Features{HashIPv6: "SAI_SWITCH_ATTR_ECMP_HASH_IPV6", HashRDMAIPv6: "SAI_SWITCH_ATTR_ECMP_HASH_IPV6_RDMA", HashRDMAIPv4: "SAI_SWITCH_ATTR_ECMP_HASH_IPV4_RDMA"}
			if method == UDFHash { // of a switch without the attributes of RDMA
				f.uses.HashRDMAIPv6, f.uses.HashRDMAIPv4 = f.uses.HashIPv6, "SAI_SWITCH_ATTR_ECMP_HASH_IPV4"
			}
			for _, better := range NeedFlowLabel.Methods() {
				if better == method {
					break
				}
				f.can[better] = Ability{Reason: "no"}
			}
			for id, fields := range l.rows {
				if f.there[id], err = ParseRecord(id, fields); err != nil {
					t.Fatal(err)
				}
			}
			var unused []string // nothing is policed, but by rewrite
			if method != Rewrite {
				unused = []string{"remove cpu/group", "remove cpu/policer"}
			}
			was := slices.DeleteFunc(f.keys(), func(key string) bool { return slices.Contains(unused, "remove "+key) })
			e := newTestEngine(t, f, l)
			p := policy("Ethernet0")
			p.CPU = CPU{Rate: 100000, Burst: 10000}
			p.Export = &Export{Rate: 100, Ports: []string{"Ethernet0", "Ethernet12", "Ethernet16", "Ethernet4", "Ethernet8"}}
			if o := reconcile(t, e, p); o.Method(NeedFlowLabel) != method || !slices.Equal(f.calls, unused) {
				t.Errorf("%+v: %v", o, f.calls)
			}
			if diff := cmp.Diff(was, f.keys()); diff != "" {
				t.Error(diff)
			}
			if n := len(slices.Collect(e.Flows)); method == Rewrite && n != 3 {
				t.Errorf("%d flows", n)
			}
			asWanted(t, e, f)
			inStep(t, e, f, l)
			f.calls = nil
			e = newTestEngine(t, f, l) // and by the ledger as it is now
			if reconcile(t, e, p); len(f.calls) > 0 {
				t.Errorf("%v", f.calls)
			}
			if reconcile(t, e, Policy{}); len(f.there) > 0 || len(l.rows) > 0 {
				t.Errorf("left: %v, %v", f.keys(), l.rows)
			}
		})
	}
}

// TestCapacityIsExact: whatever is asked, there are never more entries than the policy
// allows.
func TestCapacityIsExact(t *testing.T) {
	f, l := newFakeSwitch(), &fakeLedger{}
	f.can[Compute] = Ability{Reason: "no"}
	e := newTestEngine(t, f, l)
	p := policy("Ethernet0")
	p.FlowCapacity = 10
	reconcile(t, e, p)
	if refused, err := e.AddFlows(flows(15)); refused != 5 || err != nil {
		t.Errorf("%d refused: %v", refused, err)
	}
	if refused, err := e.AddFlows(flows(5)); refused != 0 || err != nil { // they have one
		t.Errorf("%d refused: %v", refused, err)
	}
	if err := e.RemoveFlows(flows(1)); err != nil {
		t.Fatal(err)
	}
	if refused, err := e.AddFlows(flows(15)[10:]); refused != 4 || err != nil {
		t.Errorf("%d refused: %v", refused, err)
	}
	if n := f.has(PrefixFlow); n != 20 {
		t.Errorf("%d objects of flows", n)
	}
	inStep(t, e, f, l)
}

// TestATableThatIsCreatedAgainHasItsFlows: another rule for which labels are written
// takes another table.
func TestATableThatIsCreatedAgainHasItsFlows(t *testing.T) {
	f, l := newFakeSwitch(), &fakeLedger{}
	f.can[Compute] = Ability{Reason: "no"}
	e := newTestEngine(t, f, l)
	p := policy("Ethernet0")
	reconcile(t, e, p)
	if _, err := e.AddFlows(flows(3)); err != nil {
		t.Fatal(err)
	}
	p.Label = &Label{ZeroOnly: false}
	reconcile(t, e, p)
	asWanted(t, e, f)
	inStep(t, e, f, l)
	f.full = len(f.there) - 1 // another owner has taken the room of one
	p.Label = &Label{ZeroOnly: true}
	if _, err := e.Reconcile(p); err != nil && !errors.Is(err, ErrRefused) {
		t.Fatal(err)
	}
	if e.LabelMethod() != Rewrite || len(e.entries.flows) == 0 || len(e.entries.flows) == 3 {
		t.Errorf("method %s, %d flows", e.LabelMethod(), len(e.entries.flows))
	}
	inStep(t, e, f, l)
}
