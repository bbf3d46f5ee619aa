// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/flows/flow"
	"sluice/sai-shim/saiattr"
)

func policy(ports ...string) Policy {
	return Policy{Label: &Label{Algorithm: flow.DraftLiteral, ZeroOnly: true}, Ports: ports, ManageHash: true, FlowCapacity: 100}
}

func newTestEngine(t *testing.T, f Driver, l Ledger) *Engine {
	t.Helper()
	e, err := NewEngine(f, l, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func reconcile(t *testing.T, e *Engine, p Policy) Outcome {
	t.Helper()
	o, err := e.Reconcile(p)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func flows(n int) []FlowEntry {
	all := make([]FlowEntry, n)
	for i := range all {
		all[i] = FlowEntry{netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2"), uint32(i), uint32(i + 1), 0}
	}
	return all
}

// inStep checks that the ledger says what the switch has. A flow has one row, of its
// entry, which names its counter.
func inStep(t *testing.T, e *Engine, f *fakeSwitch, l *fakeLedger) {
	t.Helper()
	if len(f.there) != len(l.rows)+len(e.entries.flows) || len(f.there) != e.Len() {
		t.Errorf("%d objects on the switch, %d in the ledger, %d in the engine", len(f.there), len(l.rows), e.Len())
	}
	for id, r := range f.there {
		if flow, ok := strings.CutSuffix(r.Key, suffixCounter); ok && strings.HasPrefix(flow, PrefixFlow) {
			entry, _ := parseFlowKey(flow)
			if p := e.entries.flows[entry]; p == nil || !strings.Contains(l.rows[p.entry]["attributes"], saiattr.ACLEntryCounter.Name+"="+string(id)) {
				t.Errorf("%s is %s, and not in the ledger", id, r.Key)
			}
			continue
		}
		if l.rows[id]["key"] != r.Key {
			t.Errorf("%s is %s, and %q in the ledger", id, r.Key, l.rows[id]["key"])
		}
	}
}

//conformance:draft-hu/ingress
func TestComputeAndKillSwitch(t *testing.T) {
	f, l := newFakeSwitch(), &fakeLedger{}
	e := newTestEngine(t, f, l)
	o := reconcile(t, e, policy("Ethernet0", "Ethernet4"))
	if o.Method(NeedFlowLabel) != Compute || o.Choices[NeedFlowLabel].Reason != "preferred method available" || o.Problems != nil {
		t.Errorf("%+v", o)
	}
	want := []string{
		"hash", "hash/switch-ipv6", "label/compute", "label/compute/counter", "label/skipped", "label/skipped/counter",
		"label/table", "port/Ethernet0", "port/Ethernet4",
	}
	if diff := cmp.Diff(want, f.keys()); diff != "" {
		t.Error(diff)
	}
	inStep(t, e, f, l)

	f.calls = nil
	if o := reconcile(t, e, policy("Ethernet0", "Ethernet4")); o.Created+o.Removed != 0 || len(f.calls) > 0 {
		t.Errorf("nothing changed, and: %v", f.calls)
	}
	reconcile(t, e, policy("Ethernet4", "Ethernet8"))
	if diff := cmp.Diff([]string{"remove port/Ethernet0", "create port/Ethernet8"}, f.calls); diff != "" {
		t.Error(diff)
	}
	if o := reconcile(t, e, Policy{}); o.Method(NeedFlowLabel) != None || len(f.there) > 0 {
		t.Errorf("%+v; left: %v", o, f.keys())
	}
	inStep(t, e, f, l)
}

func TestAChangeOfTheGroundRebuildsWhatStandsOnIt(t *testing.T) {
	f, l := newFakeSwitch(), &fakeLedger{}
	e := newTestEngine(t, f, l)
	reconcile(t, e, policy("Ethernet0"))
	always := policy("Ethernet0")
	always.Label.ZeroOnly = false
	reconcile(t, e, always)
	if diff := cmp.Diff([]string{"hash", "hash/switch-ipv6", "label/compute", "label/compute/counter", "label/table", "port/Ethernet0"}, f.keys()); diff != "" {
		t.Error(diff)
	}
	if r := e.Record(keyCompute); r.Attr("SAI_ACL_ENTRY_ATTR_FIELD_IPV6_FLOW_LABEL") != "" {
		t.Errorf("%+v", r)
	}
	inStep(t, e, f, l)
}

func TestStepsDownWhereTheSwitchRefuses(t *testing.T) {
	refused := fmt.Errorf("create_acl_entry: TABLE_FULL: %w", ErrRefused)
	for _, tt := range []struct {
		name   string
		change func(*fakeSwitch, *Policy)
		want   Method
		reason string
	}{
		{"no compute", func(f *fakeSwitch, _ *Policy) { f.can[Compute] = Ability{Reason: "no such action"} }, Rewrite, "compute: no such action"},
		{"no entries", func(f *fakeSwitch, _ *Policy) { f.refuse[TypeACLEntry] = refused }, Hash, "TABLE_FULL"},
		{"no entries, hash not managed", func(f *fakeSwitch, p *Policy) { f.refuse[TypeACLEntry] = refused; p.ManageHash = false }, None, "manage_switch_hash"},
		{"no native hash", func(f *fakeSwitch, _ *Policy) {
			f.refuse[TypeACLTable] = refused
			f.can[Hash] = Ability{Reason: "no BTH field"}
		}, UDFHash, "hash: no BTH field"},
		{"nothing", func(f *fakeSwitch, _ *Policy) {
			f.refuse[TypeACLTable], f.refuse[TypeHash], f.refuse[TypeHashList] = refused, refused, refused
		}, None, "udf-hash"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, l, p := newFakeSwitch(), &fakeLedger{}, policy("Ethernet0")
			tt.change(f, &p)
			e := newTestEngine(t, f, l)
			o := reconcile(t, e, p)
			if o.Method(NeedFlowLabel) != tt.want || !strings.Contains(o.Choices[NeedFlowLabel].Reason, tt.reason) {
				t.Errorf("%s: %s, want %s because of %s", o.Method(NeedFlowLabel), o.Choices[NeedFlowLabel].Reason, tt.want, tt.reason)
			}
			if tt.want == None && len(f.there) > 0 {
				t.Errorf("left: %v", f.keys())
			}
			inStep(t, e, f, l)
		})
	}
}

func TestAPortThatRefusesIsToldOfAndTheRestStands(t *testing.T) {
	f, l := newFakeSwitch(), &fakeLedger{}
	f.refuse[TypeBinding] = fmt.Errorf("port has an ACL of another owner: %w", ErrRefused)
	f.refuse[TypeHash] = fmt.Errorf("NOT_SUPPORTED: %w", ErrRefused)
	f.refuse[TypeHashList] = f.refuse[TypeHash]
	e := newTestEngine(t, f, l)
	o := reconcile(t, e, policy("Ethernet0"))
	if o.Method(NeedFlowLabel) != Compute || len(o.Problems) != 2 || !strings.Contains(o.Problems[0], "port/Ethernet0: port has an ACL of another owner") {
		t.Errorf("%+v", o)
	}
	f.refuse = map[Type]error{}
	if o := reconcile(t, e, policy("Ethernet0")); o.Problems != nil || f.has("port/") != 1 || f.has("hash/list") != 1 {
		t.Errorf("%+v, %v", o, f.keys())
	}
	inStep(t, e, f, l)
}

func TestBindingsThatWentWithTheirPortAreMadeAgain(t *testing.T) {
	f, l := newFakeSwitch(), &fakeLedger{}
	e := newTestEngine(t, f, l)
	reconcile(t, e, policy("Ethernet0", "Ethernet4"))
	was := e.Record("port/Ethernet4").ID
	delete(f.there, was) // its netdev goes, and another of its name comes
	if o := reconcile(t, e, policy("Ethernet0", "Ethernet4")); o.Created != 0 {
		t.Errorf("%+v without a look at the bindings", o)
	}
	if err := e.CheckBindings(); err != nil {
		t.Fatal(err)
	}
	if o := reconcile(t, e, policy("Ethernet0", "Ethernet4")); o.Created != 1 || o.Removed != 0 || e.Record("port/Ethernet4").ID == was {
		t.Errorf("%+v", o)
	}
	inStep(t, e, f, l)
}

func TestAFailureIsTriedAgain(t *testing.T) {
	f, l := newFakeSwitch(), &fakeLedger{}
	f.refuse[TypeACLEntry] = errors.New("FAILURE")
	e := newTestEngine(t, f, l)
	if _, err := e.Reconcile(policy("Ethernet0")); err == nil {
		t.Fatal("no error")
	}
	inStep(t, e, f, l)
	f.refuse = map[Type]error{}
	if o := reconcile(t, e, policy("Ethernet0")); o.Method(NeedFlowLabel) != Compute {
		t.Errorf("%+v", o)
	}
	inStep(t, e, f, l)
}

// TestTheNextProcessTakesOver: whatever was killed leaves nothing behind, and
// nothing is created twice.
func TestTheNextProcessTakesOver(t *testing.T) {
	f, l := newFakeSwitch(), &fakeLedger{}
	f.can[Compute] = Ability{Reason: "hidden"}
	e := newTestEngine(t, f, l)
	reconcile(t, e, policy("Ethernet0"))
	if refused, err := e.AddFlows(flows(10)); refused != 0 || err != nil {
		t.Fatal(refused, err)
	}
	before := f.keys()
	f.there["oid:stray"] = &Record{Object: Object{Key: "stray"}, ID: "oid:stray"}
	for id, r := range f.there { // gone behind our back
		if r.Key == "flow/2001:db8::1/2001:db8::2/000003" {
			delete(f.there, id)
		}
	}
	f.calls = nil
	e = newTestEngine(t, f, l)
	if got := slices.Collect(e.Flows); len(got) != 9 {
		t.Errorf("%d flows are known", len(got))
	}
	if f.there["oid:stray"] != nil {
		t.Error("the stray is still there")
	}
	reconcile(t, e, policy("Ethernet0"))
	if diff := cmp.Diff([]string{"remove flow/2001:db8::1/2001:db8::2/000003/counter"}, f.calls); diff != "" {
		t.Error(diff)
	}
	if _, err := e.AddFlows(flows(10)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, f.keys()); diff != "" {
		t.Error(diff)
	}
	inStep(t, e, f, l)
}

// TestKillSwitchTakesTablesOffPortsFirst: packets are unchanged from then on, however many
// entries of flows go after.
func TestKillSwitchTakesTablesOffPortsFirst(t *testing.T) {
	f, l := newFakeSwitch(), &fakeLedger{}
	f.can[Compute] = Ability{Reason: "hidden"}
	e := newTestEngine(t, f, l)
	reconcile(t, e, policy("Ethernet0", "Ethernet4"))
	if refused, err := e.AddFlows(flows(10)); refused != 0 || err != nil {
		t.Fatal(refused, err)
	}
	f.calls = nil
	reconcile(t, e, Policy{FlowCapacity: 100})
	first := slices.Clone(f.calls[:2])
	slices.Sort(first)
	if diff := cmp.Diff([]string{"remove port/Ethernet0", "remove port/Ethernet4"}, first); diff != "" {
		t.Errorf("the first calls (-want +got):\n%s", diff)
	}
	if len(f.there) > 0 {
		t.Errorf("left: %q", f.keys())
	}
	inStep(t, e, f, l)
}

func TestFlowsComeAndGo(t *testing.T) {
	f, l := newFakeSwitch(), &fakeLedger{}
	f.can[Compute] = Ability{Reason: "hidden"}
	e := newTestEngine(t, f, l)
	reconcile(t, e, policy("Ethernet0"))
	ground := len(f.there)
	f.full = ground + 9 // room for four flows and half a one
	if refused, err := e.AddFlows(flows(6)); refused != 2 || err != nil {
		t.Errorf("%d refused: %v", refused, err)
	}
	if len(f.there) != ground+8 {
		t.Errorf("%d objects for 4 flows", len(f.there)-ground)
	}
	inStep(t, e, f, l)
	moved := flows(1)
	moved[0].Label = 99
	if _, err := e.AddFlows(moved); err != nil {
		t.Fatal(err)
	}
	for _, r := range f.there {
		if r.Key == flowKey(moved[0]) && r.Attr(saiattr.ACLEntrySetLabel.Name) != "0x00001" {
			t.Errorf("the label moved: %v", r.Attrs)
		}
	}
	for label := range e.Flows {
		if unlabelled(label) == unlabelled(moved[0]) && label.Label != 1 {
			t.Errorf("the engine has %v", label)
		}
	}
	if err := e.RemoveFlows(flows(6)); err != nil || len(f.there) != ground {
		t.Errorf("%d objects left: %v", len(f.there)-ground, err)
	}
	inStep(t, e, f, l)
}

func TestRecordsSurviveTheLedger(t *testing.T) {
	for _, r := range []Method{Compute, Rewrite, Hash, UDFHash} {
		features := Features{HashIPv6: "A", HashRDMAIPv6: "B", HashRDMAIPv4: "C", Protocol: true}
		objects := Objects(policy("Ethernet0"), Chose(NeedFlowLabel, r), features)
		objects = append(objects, FlowObjects(policy(), Rewrite, features, flows(1)[0])...)
		for _, o := range objects {
			in := Record{Object: o, ID: "oid:0x1", Previous: "oid:0x2"}
			out, err := ParseRecord(in.ID, in.Fields())
			if err != nil {
				t.Fatal(err)
			}
			if !out.same(&in.Object) || out.Key != in.Key || out.Previous != in.Previous {
				t.Errorf("%+v came back as %+v", in, out)
			}
		}
	}
	for _, value := range []string{"", " ", "a b", "%20", "%2520 %", "a\u00a0b\nc", "a=b"} {
		in := Record{Object: Object{Key: "a", Type: TypeRow, Attrs: []Attr{{"ports@", value}, {"x", "y"}}}, ID: "a"}
		if out, err := ParseRecord(in.ID, in.Fields()); err != nil || !out.same(&in.Object) {
			t.Errorf("%q came back as %+v, %v", value, out, err)
		}
	}
	for _, fields := range []map[string]string{{}, {"key": "a"}, {"key": "a", "type": "b", "attributes": "c"}} {
		if _, err := ParseRecord("oid:0x1", fields); err == nil {
			t.Errorf("%v: no error", fields)
		}
	}
}

// TestMethodsByPolicy: what the policy forbids, or the CPU cannot take, is not chosen, and
// that is said; a need that the switch did not tell of has no method.
func TestMethodsByPolicy(t *testing.T) {
	can := Ability{Can: true}
	for _, tt := range []struct {
		name      string
		need      Need
		abilities Abilities
		features  Features
		want      Choice
	}{
		{"entries sample", NeedExport, Abilities{NeedExport: {Sample: can, Mirror: can}}, Features{}, Choice{Sample, "preferred method available", Unproven}},
		{"a session samples", NeedExport, Abilities{NeedExport: {Sample: {Reason: "no action"}, Mirror: can}}, Features{MinSampling: 256}, Choice{Mirror, "sample: no action", Unproven}},
		{"too many", NeedExport, Abilities{NeedExport: {Mirror: can}}, Features{MinSampling: 257},
			Choice{None, "mirror: sampling_rate 256 of SLUICE_IPFIX|global would drown the CPU: at least 257 is taken here", Unmet}},
		{"entries sample too many", NeedExport, Abilities{NeedExport: {Sample: can}}, Features{MinSampling: 257},
			Choice{None, "sample: sampling_rate 256 of SLUICE_IPFIX|global would drown the CPU: at least 257 is taken here", Unmet}},
		{"entries sample few enough", NeedExport, Abilities{NeedExport: {Sample: can}}, Features{MinSampling: 256}, Choice{Sample, "preferred method available", Unproven}},
		{"nothing", NeedExport, Abilities{NeedExport: {Sample: {Reason: "no action"}}}, Features{}, Choice{None, "sample: no action", Unmet}},
		{"hash is not managed", NeedFlowLabel, Abilities{NeedFlowLabel: {Compute: {Reason: "no"}, Hash: can, UDFHash: can}}, Features{},
			Choice{None, "compute: no; hash: " + needsHash + "; udf-hash: " + needsHash, Unmet}},
		{"unknown to the driver", NeedHold, Abilities{NeedExport: {Sample: can}}, Features{}, Choice{None, "the driver has no method", Unmet}},
		{"flows are held at their senders", NeedHold, Abilities{NeedHold: {Exact: {Reason: "no extension"}, Source: can}, NeedExport: {Sample: can}}, Features{}, Choice{Source, "exact: no extension", Unproven}},
		{"the switch holds flows itself", NeedHold, Abilities{NeedHold: {Exact: can, Source: can}, NeedExport: {Sample: can}}, Features{}, Choice{Exact, Preferred, Unproven}},
		{"no samples", NeedHold, Abilities{NeedHold: {Source: can}, NeedExport: {Sample: {Reason: "no action"}}}, Features{},
			Choice{None, "source: samples show which flows the hosts send, and the switch has no method for them: sample: no action", Unmet}},
		{"no host", NeedHold, Abilities{NeedHold: {Source: can}, NeedExport: {Sample: can}}, Features{}, Choice{None, "source: no host may be slowed: SLUICE_RATE_ADVICE_HOST has no row", Unmet}},
		{"not asked", NeedHold, nil, Features{}, Choice{None, "the switch has not been asked, since nothing is to be programmed", Unmet}},
	} {
		p := Policy{Label: &Label{}, Export: &Export{Rate: 256}, SlowsHosts: tt.name != "no host"}
		if diff := cmp.Diff(tt.want, Choose(tt.abilities, p, tt.features)[tt.need]); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	if c := Choose(Abilities{NeedFlowLabel: {Compute: can}}, Policy{}, Features{})[NeedFlowLabel]; c != (Choice{None, "flow labels are not enabled", Unmet}) {
		t.Errorf("no label: %+v", c)
	}
}

// TestStateOfMethods: a method is unproven until the switch has taken what it creates,
// and while a part without which it does not work is missing.
func TestStateOfMethods(t *testing.T) {
	f, l := newFakeSwitch(), &fakeLedger{}
	e := newTestEngine(t, f, l)
	state := func(p Policy) [2]State {
		o, _ := e.Reconcile(p)
		return [2]State{o.Choices[NeedFlowLabel].State, o.Choices[NeedExport].State}
	}
	if got := state(Policy{}); got != [2]State{Unmet, Unproven} {
		t.Errorf("nothing wanted: %q", got)
	}
	p := policy("Ethernet0")
	f.refuse[TypeACLTable] = errors.New("FAILURE")
	if got := state(p); got != [2]State{Unproven, Unproven} {
		t.Errorf("failed: %q", got)
	}
	delete(f.refuse, TypeACLTable)
	if got := state(p); got != [2]State{Active, Unproven} {
		t.Errorf("labels: %q", got)
	}
	p.Export = &Export{Rate: 1, Ports: []string{"Ethernet0"}}
	if got := state(p); got != [2]State{Active, Active} {
		t.Errorf("labels and export: %q", got)
	}
}

// TestEngineKeepsTheMethodWithoutAPolicer: where the switch refuses to police packets to the CPU the method stays,
// and that is said.
func TestEngineKeepsTheMethodWithoutAPolicer(t *testing.T) {
	for _, kind := range []Type{TypePolicer, TypeTrapGroup} {
		f, l := newFakeSwitch(), &fakeLedger{}
		f.can[Compute] = Ability{Reason: "no"}
		f.polices = true
		f.refuse[kind] = fmt.Errorf("%w: no room", ErrRefused)
		e := newTestEngine(t, f, l)
		p := policy("Ethernet0")
		p.CPU = CPU{Rate: 100, Burst: 10}
		o := reconcile(t, e, p)
		if o.Method(NeedFlowLabel) != Rewrite || len(o.Problems) != 1 || !strings.Contains(o.Problems[0], "without policing packets to the CPU: create "+string(kind)) {
			t.Errorf("%s: %+v", kind, o)
		}
		if n := f.has("cpu/"); n > 0 {
			t.Errorf("%s: %d objects that police", kind, n)
		}
		inStep(t, e, f, l)
	}
}

// TestCPURateIsSetInPlace: another rate touches nothing but the policer.
func TestCPURateIsSetInPlace(t *testing.T) {
	f, l := newFakeSwitch(), &fakeLedger{}
	f.can[Compute] = Ability{Reason: "no"}
	f.polices = true
	e := newTestEngine(t, f, l)
	p := policy("Ethernet0")
	p.CPU = CPU{Rate: 100, Burst: 10}
	reconcile(t, e, p)
	if _, err := e.AddFlows(flows(3)); err != nil {
		t.Fatal(err)
	}
	f.calls = nil
	p.CPU.Rate = 200
	if o := reconcile(t, e, p); o.Set != 1 || o.Created+o.Removed > 0 {
		t.Errorf("%+v", o)
	}
	if diff := cmp.Diff([]string{"set cpu/policer " + saiattr.PolicerRate.Name}, f.calls); diff != "" {
		t.Error(diff)
	}
	if got := e.Record("cpu/policer").Attr(saiattr.PolicerRate.Name); got != "200" {
		t.Errorf("rate %s", got)
	}
	inStep(t, e, f, l)
}
