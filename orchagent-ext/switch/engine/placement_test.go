// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"strings"
	"testing"

	"sluice/sai-shim/saiattr"
)

func placing() Policy {
	p := policy()
	p.Placement = &Placement{Seed: 7, Sampling: 64}
	return p
}

// Placement is by entries beside compute, by rewrite's own entries beside rewrite, and by
// neither where no label is written; the reason says why.
func TestPlacementMethodFollowsThatOfLabels(t *testing.T) {
	for name, tt := range map[string]struct {
		hide   []Method
		policy func(*Policy)
		want   Method
		reason string
	}{
		"compute":         {nil, nil, Entries, "preferred method available"},
		"rewrite":         {[]Method{Compute}, nil, Rewrite, "needs the method compute of flow labels, which is rewrite here"},
		"hash":            {[]Method{Compute, Rewrite}, nil, None, "needs the method rewrite of flow labels, which is hash here"},
		"no samples":      {[]Method{Sample}, nil, None, "samples show which flows are large"},
		"off":             {nil, func(p *Policy) { p.Placement = nil }, None, "placement is not enabled"},
		"labels are off":  {nil, func(p *Policy) { p.Label = nil }, None, "flow labels are not enabled"},
		"no flow entries": {[]Method{Entries, Rewrite}, nil, None, "no such action"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeSwitch()
			f.can[Entries] = Ability{Can: true}
			for _, m := range tt.hide {
				f.can[m] = Ability{Reason: "no such action"}
			}
			a, features, _ := f.Probe()
			if name == "hash" { // the action is there, and labels are not written
				a.Set(NeedPlacement, Rewrite, Ability{Can: true})
			}
			p := placing()
			p.ManageHash = true
			if tt.policy != nil {
				tt.policy(&p)
			}
			got := Choose(a, p, features)[NeedPlacement]
			if got.Method != tt.want || !strings.Contains(got.Reason, tt.reason) {
				t.Errorf("%s: %s", got.Method, got.Reason)
			}
		})
	}
}

// With the method entries, single flows have entries before the one that computes labels,
// in one table; packets are sampled to find them, and the hash has a seed.
func TestPlacedFlowsHaveEntriesBeforeCompute(t *testing.T) {
	f, l := newFakeSwitch(), &fakeLedger{}
	f.can[Entries], f.uses = Ability{Can: true}, &Features{Kernel: true}
	e := newTestEngine(t, f, l)
	if o := reconcile(t, e, placing()); o.Method(NeedPlacement) != Entries || o.Choices[NeedPlacement].State != Active {
		t.Fatalf("%+v", o.Choices)
	}
	if refused, err := e.AddFlows(flows(3)); refused != 0 || err != nil {
		t.Fatal(refused, err)
	}
	entry := FlowObjects(e.policy, e.LabelMethod(), e.entries.features, flows(1)[0])[1]
	if got, compute := entry.Attr(saiattr.ACLEntryPriority.Name), e.sw.objects[keyCompute].Attr(saiattr.ACLEntryPriority.Name); got != "30" || compute != "10" {
		t.Errorf("priority %s, of compute %s", got, compute)
	}
	if got := e.sw.objects[keyCompute].Attr(saiattr.ACLEntrySample.Name); got != "@"+keySample {
		t.Errorf("compute samples %q", got)
	}
	if got := e.sw.objects[keySample].Attr(saiattr.SampleRate.Name); got != "64" {
		t.Errorf("one of %s packets is sampled", got)
	}
	if r := e.sw.objects[KeySeed]; r == nil || r.Attr(saiattr.SwitchHashSeed.Name) != "7" {
		t.Errorf("seed: %v", r)
	}
	inStep(t, e, f, l)

	// Without placement the flows have labels by hash again, and nothing is left of it.
	reconcile(t, e, policy())
	for key := range e.sw.objects {
		if key == KeySeed || key == keySample || key == keyUDF {
			t.Errorf("%s is left", key)
		}
	}
	if len(e.entries.flows) != 0 {
		t.Errorf("%d flows are left", len(e.entries.flows))
	}
	inStep(t, e, f, l)
}

// A switch that refuses what entries of flows take goes on computing labels.
func TestLabelsAreComputedWhereEntriesAreRefused(t *testing.T) {
	f, l := newFakeSwitch(), &fakeLedger{}
	f.can[Entries] = Ability{Can: true}
	f.refuse[TypeUDF] = ErrRefused
	e := newTestEngine(t, f, l)
	o := reconcile(t, e, placing())
	if o.Method(NeedFlowLabel) != Compute || o.Method(NeedPlacement) != None || !strings.Contains(o.Choices[NeedPlacement].Reason, "refuses") {
		t.Errorf("%+v", o.Choices)
	}
	inStep(t, e, f, l)
}

// failing is a switch that is killed, or refuses, when a label is set for the nth time.
type failing struct {
	*fakeSwitch
	at  int
	err error
}

func (f *failing) Set(r *Record, o *Object, attr string, existing map[string]*Record) error {
	if attr == saiattr.ACLEntrySetLabel.Name {
		if f.at--; f.at == 0 {
			return f.err
		}
	}
	return f.fakeSwitch.Set(r, o, attr, existing)
}

// A label changes in place. A process that takes over after a crash in the middle has the
// labels that the switch has, and knows the source ports.
func TestRelabelOutlivesACrash(t *testing.T) {
	for at := range 4 { // 0: no crash
		f, l := newFakeSwitch(), &fakeLedger{}
		f.can[Compute] = Ability{}
		broken := &failing{f, at, errors.New("killed")}
		e, err := NewEngine(broken, l, nil)
		if err != nil {
			t.Fatal(err)
		}
		p := placing()
		reconcile(t, e, p)
		all := flows(3)
		for i := range all {
			all[i].SrcPort = uint16(49152 + i)
		}
		if refused, err := e.AddFlows(all); refused != 0 || err != nil {
			t.Fatal(refused, err)
		}
		for i := range all {
			all[i].Label += 0x100
		}
		f.calls = nil
		if refused, err := e.Relabel(all, EachLabel{}); len(refused) != 0 || (err != nil) != (at > 0) {
			t.Fatalf("crash at %d: refused %v, %v", at, refused, err)
		}
		for _, call := range f.calls {
			if !strings.HasPrefix(call, "set ") {
				t.Errorf("a label was changed by: %s", call)
			}
		}
		after, err := NewEngine(f, l, nil)
		if err != nil {
			t.Fatal(err)
		}
		reconcile(t, after, p)
		n := 0
		for flow := range after.Flows {
			n++
			r := f.there[after.entries.flows[unlabelled(flow)].entry]
			if on := r.Attr(saiattr.ACLEntrySetLabel.Name); on != saiattr.ACLEntrySetLabel.Of(uint64(flow.Label)).Text || flow.Label < 0x100 || flow.SrcPort != uint16(49152+flow.DestQP) {
				t.Errorf("crash at %d: %+v, the switch has label %s", at, flow, on)
			}
		}
		if n != len(all) {
			t.Errorf("crash at %d: %d flows", at, n)
		}
	}
}

// A switch that refuses a label keeps the one before, and so does the engine.
func TestRelabelRefused(t *testing.T) {
	f, l := newFakeSwitch(), &fakeLedger{}
	f.can[Compute] = Ability{}
	e, err := NewEngine(&failing{f, 1, ErrRefused}, l, nil)
	if err != nil {
		t.Fatal(err)
	}
	reconcile(t, e, placing())
	if _, err := e.AddFlows(flows(2)); err != nil {
		t.Fatal(err)
	}
	to := flows(3) // the third has no entry
	for i := range to {
		to[i].Label += 0x100
	}
	refused, err := e.Relabel(to, EachLabel{})
	if err != nil || len(refused) != 2 || refused[0].DestQP != 0 || refused[1].DestQP != 2 {
		t.Fatalf("refused %v: %v", refused, err)
	}
	for flow := range e.Flows {
		if want := map[uint32]uint32{0: 1, 1: 0x102}[flow.DestQP]; flow.Label != want {
			t.Errorf("%+v, want label %#x", flow, want)
		}
	}
}
