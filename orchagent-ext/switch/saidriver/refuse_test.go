// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
	"sluice/sai-shim/saitest"
)

// openPlace opens a recording library with more of a profile.
func openPlace(t *testing.T, library *saitest.Library, more ...string) *place {
	t.Helper()
	lib, err := sai.Open(library.Path, library.Profile(more...), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, lib: lib}
	t.Cleanup(p.close)
	if err := lib.CreateSwitch(true); err != nil {
		t.Fatal(err)
	}
	library.Calls()
	return p
}

// close closes the library, once: a process has one at a time.
func (p *place) close() {
	if p.lib != nil {
		_ = p.lib.Close()
	}
	p.lib = nil
}

// settle reconciles as often as it fails, as the loop does.
func settle(t *testing.T, e *engine.Engine, p engine.Policy) engine.Outcome {
	t.Helper()
	for range 4 * engine.Attempts {
		if o, err := e.Reconcile(p); err == nil {
			return o
		}
	}
	o, err := e.Reconcile(p)
	t.Errorf("it fails again and again: %v", err)
	return o
}

// TestLastingRefusalsLeadOn: whatever code a library refuses a call by, the best method
// that works is in force, what is optional is done without, and the reason says which call
// was refused. The kill switch leaves nothing.
func TestLastingRefusalsLeadOn(t *testing.T) {
	const compute = "SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL"
	library := saitest.New(t)
	for _, tt := range []struct {
		refused, hide, extension string
		label, export            engine.Method
		says                     string // a reason or a problem
	}{
		{"create acl_table", "", "2", engine.Hash, engine.None, "create acl_table"},
		{"create acl_counter", "", "2", engine.Compute, engine.Sample, "done without counters"},
		{"create acl_counter", compute, "2", engine.Hash, engine.Sample, "rewrite: create acl-counter flow/"},
		{"create acl_entry", "", "2", engine.Hash, engine.None, "create acl_entry"},
		{"create acl_entry.ACTION_COMPUTE_IPV6_FLOW_LABEL", "", "2", engine.Rewrite, engine.Sample, "create acl_entry"},
		{"create acl_entry.ACTION_SET_IPV6_FLOW_LABEL", compute, "2", engine.Hash, engine.Sample, "create acl_entry"},
		{"create acl_entry.FIELD_INNER_L4_DST_PORT", "", "2", engine.Compute, engine.None, "create acl_entry"},
		{"create acl_table.FIELD_IPV6_NEXT_HEADER", "", "2", engine.Compute, engine.Sample, "matching UDP only"},
		{"create udf_group", compute, "2", engine.Hash, engine.Sample, "create udf_group"},
		{"create udf", compute, "2", engine.Hash, engine.Sample, "create udf"},
		{"create udf_match", compute, "2", engine.Hash, engine.Sample, "create udf_match"},
		{"create hostif_user_defined_trap", compute, "2", engine.Hash, engine.Sample, "create hostif_user_defined_trap"},
		{"create policer", compute, "2", engine.Rewrite, engine.Sample, "create policer"},
		{"create hostif_trap_group", compute, "2", engine.Rewrite, engine.Sample, "create hostif_trap_group"},
		{"create samplepacket", "", "2", engine.Compute, engine.None, "create samplepacket"},
		{"create acl_entry.ACTION_INGRESS_SAMPLEPACKET_ENABLE", "", "2", engine.Compute, engine.None, "create acl_entry"},
		{"create hash", "", "0", engine.None, engine.Sample, "create hash"},
		{"set port.INGRESS_ACL", "", "2", engine.Hash, engine.None, "SAI set port: SAI_PORT_ATTR_INGRESS_ACL: "},
		{"", "", "0", engine.Hash, engine.Sample, "SAI_SWITCH_ATTR_SLUICE_EXTENSION"},
	} {
		for _, code := range []int{saitest.Failure, saitest.InvalidParameter, saitest.NotSupported} {
			t.Run(fmt.Sprintf("%s %s %d", tt.refused, tt.hide, code), func(t *testing.T) {
				profile := []string{"HIDE", tt.hide, "EXTENSION", tt.extension}
				if tt.refused != "" {
					profile = append(profile, "FAIL", fmt.Sprintf("%s 0 %d", tt.refused, code))
				}
				p := openPlace(t, library, profile...)
				ledger := &fakeLedger{}
				e := newTestEngine(t, p.driver(), ledger)
				want := policy("Ethernet0", "Ethernet4")
				want.CPU = engine.CPU{Rate: 100, Burst: 10}
				want.Export = &engine.Export{Rate: 1000, Ports: []string{"Ethernet0"}}
				o := settle(t, e, want)
				label, export := o.Choices[engine.NeedFlowLabel], o.Choices[engine.NeedExport]
				if label.Method != tt.label || export.Method != tt.export {
					t.Errorf("labels by %q, export by %q; want %q and %q: %+v", label.Method, export.Method, tt.label, tt.export, o)
				}
				if tt.label != engine.None && label.State != engine.Active || tt.export != engine.None && export.State != engine.Active {
					t.Errorf("labels are %s (%s), export %s (%s)", label.State, label.Reason, export.State, export.Reason)
				}
				said := strings.Join(append(o.Problems, label.Reason, export.Reason), "; ")
				if code == saitest.NotSupported && !strings.Contains(said, strings.Fields(tt.says)[0]) || code != saitest.NotSupported && !strings.Contains(said, tt.says) {
					t.Errorf("reasons and problems do not say %q: %s", tt.says, said)
				}
				library.Calls()
				if e.RetryAt().IsZero() != (tt.refused == "") {
					t.Errorf("it is tried again at %v", e.RetryAt())
				}
				if changed, err := e.CheckDrift(); changed || err != nil {
					t.Errorf("there is something to do at once: %v", err)
				}
				reconcile(t, e, engine.Policy{})
				if is := p.there(); len(is) > 0 || len(ledger.rows) > 0 {
					t.Errorf("left: %v; in the ledger: %v", is, ledger.rows)
				}
			})
		}
	}
}

// TestRefusedMethodIsTriedAgain: a better method that the switch refused is tried again
// after a minute, and then twice as long each time, beside the one in force, which stays.
func TestRefusedMethodIsTriedAgain(t *testing.T) {
	library := saitest.New(t)
	// Three times, once with less, and twice after the first minute.
	p := openPlace(t, library, "FAIL", fmt.Sprintf("create acl_entry.ACTION_COMPUTE_IPV6_FLOW_LABEL 0 %d %d", saitest.Failure, engine.Attempts+3))
	ledger := &fakeLedger{}
	e := newTestEngine(t, p.driver(), ledger)
	now := time.Unix(1000, 0)
	e.Now = func() time.Time { return now }
	want := policy("Ethernet0")
	if o := settle(t, e, want); o.Method(engine.NeedFlowLabel) != engine.Rewrite || o.Choices[engine.NeedFlowLabel].State != engine.Active {
		t.Fatalf("%+v", o)
	}
	before := p.there()
	due := func(after time.Duration) bool {
		now = now.Add(after)
		changed, err := e.CheckDrift()
		if err != nil {
			t.Fatal(err)
		}
		return changed
	}
	if due(engine.FirstRetry - time.Second) {
		t.Error("it is tried again within a minute")
	}
	library.Calls()
	if !due(time.Second) {
		t.Error("it is not tried again after a minute")
	}
	if o := reconcile(t, e, want); o.Method(engine.NeedFlowLabel) != engine.Rewrite || o.Choices[engine.NeedFlowLabel].State != engine.Active {
		t.Errorf("%+v", o)
	}
	calls := library.Calls()
	if !slices.ContainsFunc(calls, func(c string) bool { return strings.HasPrefix(c, "create acl_table") }) {
		t.Errorf("nothing was tried: %q", calls)
	}
	if diff := cmp.Diff(before, p.there()); diff != "" {
		t.Errorf("what was in force has changed: %s", diff)
	}
	if due(engine.FirstRetry) {
		t.Error("the second pause is no longer than the first")
	}
	if !due(engine.FirstRetry) {
		t.Error("it is not tried again after two minutes more")
	}
	if o := reconcile(t, e, want); o.Method(engine.NeedFlowLabel) != engine.Compute || o.Choices[engine.NeedFlowLabel].State != engine.Active {
		t.Errorf("%+v", o)
	}
	if !e.RetryAt().IsZero() {
		t.Errorf("nothing is refused, and is tried again at %v", e.RetryAt())
	}
	reconcile(t, e, engine.Policy{})
	if is := p.there(); len(is) > 0 || len(ledger.rows) > 0 {
		t.Errorf("left: %v; in the ledger: %v", is, ledger.rows)
	}
}

// TestAFailureThatPassesKeepsTheMethod: one answer of FAILURE is no refusal.
func TestAFailureThatPassesKeepsTheMethod(t *testing.T) {
	library := saitest.New(t)
	for _, call := range []string{"create acl_table", "create acl_entry", "create acl_counter", "set port.INGRESS_ACL", "create hash"} {
		t.Run(call, func(t *testing.T) {
			p := openPlace(t, library, "FAIL", fmt.Sprintf("%s 0 %d 1", call, saitest.Failure))
			e := newTestEngine(t, p.driver(), &fakeLedger{})
			if _, err := e.Reconcile(policy("Ethernet0", "Ethernet4")); err == nil && call != "create hash" { // which is tried with fewer fields
				t.Error("the failure is not told")
			}
			if o := reconcile(t, e, policy("Ethernet0", "Ethernet4")); o.Method(engine.NeedFlowLabel) != engine.Compute || o.Choices[engine.NeedFlowLabel].State != engine.Active || len(o.Problems) > 0 {
				t.Errorf("%+v", o)
			}
			reconcile(t, e, engine.Policy{})
			if is := p.there(); len(is) > 0 {
				t.Errorf("left: %v", is)
			}
		})
	}
}

// TestOnlyWhatIsProvenIsActive: a method whose objects cannot be read back is unproven,
// with the reason, until a counter has counted; one that the library took and does not have
// is not in force.
func TestOnlyWhatIsProvenIsActive(t *testing.T) {
	library := saitest.New(t)
	unread := fmt.Sprintf("get acl_entry 0 %d", saitest.NotSupported)
	uncounted := fmt.Sprintf("; get acl_counter 0 %d", saitest.NotSupported)
	for name, tt := range map[string]struct {
		profile []string
		ports   []string
		method  engine.Method
		state   engine.State
		says    string
	}{
		"read back":            {nil, []string{"Ethernet0"}, engine.Compute, engine.Active, engine.Preferred},
		"counted":              {[]string{"FAIL", unread}, []string{"Ethernet0"}, engine.Compute, engine.Active, engine.Preferred},
		"neither":              {[]string{"FAIL", unread + uncounted}, []string{"Ethernet0"}, engine.Compute, engine.Unproven, "unproven: acl-entry label/compute: the SAI library does not read back what it took: SAI get acl_entry"},
		"action was dropped":   {[]string{"DROP", "SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL"}, []string{"Ethernet0"}, engine.Rewrite, engine.Active, "compute: acl-entry label/compute: the switch refuses: the switch does not have what it took: SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL"},
		"both actions dropped": {[]string{"DROP", "SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL SAI_ACL_ENTRY_ATTR_ACTION_SET_IPV6_FLOW_LABEL"}, []string{"Ethernet0"}, engine.Hash, engine.Active, "rewrite: "},
		"no port":              {nil, nil, engine.Compute, engine.Unproven, "unproven: no port is configured for it"},
		"no such port":         {nil, []string{"Ethernet99"}, engine.Compute, engine.Unproven, "unproven: no port is bound: "},
		"one of two ports":     {nil, []string{"Ethernet0", "Ethernet99"}, engine.Compute, engine.Active, engine.Preferred},
		"hash was dropped":     {[]string{"EXTENSION", "0", "DROP", "SAI_SWITCH_ATTR_ECMP_HASH_IPV6_RDMA SAI_SWITCH_ATTR_ECMP_HASH_IPV6"}, []string{"Ethernet0"}, engine.Hash, engine.Unproven, "unproven: switch-hash hash/switch-ipv6: the SAI library does not read back what it took: SAI_SWITCH_ATTR_ECMP_HASH_IPV6_RDMA is oid:0x0"},
	} {
		t.Run(name, func(t *testing.T) {
			p := openPlace(t, library, tt.profile...)
			e := newTestEngine(t, p.driver(), &fakeLedger{})
			o := settle(t, e, policy(tt.ports...))
			if c := o.Choices[engine.NeedFlowLabel]; c.Method != tt.method || c.State != tt.state || !strings.Contains(c.Reason, tt.says) {
				t.Errorf("%+v; want %s, %s: %s", c, tt.method, tt.state, tt.says)
			}
			library.Calls()
			if _, err := e.Reconcile(engine.Policy{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestNothingOfTheExtensionIsCalledWithoutItsAnswer: a library that says yes to every
// question, and takes every attribute, but does not answer the handshake, gets no call
// with an attribute of the extension.
func TestNothingOfTheExtensionIsCalledWithoutItsAnswer(t *testing.T) {
	library := saitest.New(t)
	p := openPlace(t, library, "EXTENSION", "0")
	e := newTestEngine(t, p.driver(), &fakeLedger{})
	want := policy("Ethernet0")
	want.Export = &engine.Export{Rate: 1000, Ports: []string{"Ethernet0"}}
	want.SingleFlows = true
	o := settle(t, e, want)
	for n, none := range map[engine.Need]engine.Method{engine.NeedFlowLabel: engine.Hash, engine.NeedThreshold: engine.None, engine.NeedHold: engine.None} {
		if c := o.Choices[n]; c.Method != none || !strings.Contains(c.Reason, "SAI_SWITCH_ATTR_SLUICE_EXTENSION") {
			t.Errorf("%s: %+v", n, c)
		}
	}
	reconcile(t, e, engine.Policy{})
	for _, call := range library.Calls() {
		for _, attr := range []*saiattr.Attr{saiattr.ACLEntryCompute, saiattr.ACLEntrySetLabel, saiattr.SwitchFlowKey, saiattr.SwitchStreamSeed, saiattr.QueueHigh, saiattr.QueueLow} {
			if _, name, _ := strings.Cut(attr.Name, "_ATTR_"); strings.Contains(call, name) {
				t.Errorf("%s", call)
			}
		}
	}
}

// TestSamplingOfEveryPacketIsRefusedOnAnASIC: every packet is too many. The
// library gets none of it, nor what only samples need; the reason says what is taken.
func TestSamplingOfEveryPacketIsRefusedOnAnASIC(t *testing.T) {
	library := saitest.New(t)
	p := openPlace(t, library)
	want := policy("Ethernet0")
	want.CPU = engine.CPU{Rate: 100, Burst: 10}
	want.Export = &engine.Export{Rate: 1, Ports: []string{"Ethernet0"}, CM: true}
	o := reconcile(t, newTestEngine(t, p.driver(), &fakeLedger{}), want)
	if x := o.Choices[engine.NeedExport]; x.Method != engine.None || !strings.Contains(x.Reason, "sampling_rate 1 of SLUICE_IPFIX|global") || !strings.Contains(x.Reason, "at least 256") {
		t.Errorf("export %+v", x)
	}
	if c := o.Choices[engine.NeedFlowLabel]; c.Method != engine.Compute || c.State != engine.Active {
		t.Errorf("labels %+v", c)
	}
	for _, call := range library.Calls() {
		for _, kind := range []string{"samplepacket", "policer", "hostif"} {
			if strings.HasPrefix(call, "create "+kind) {
				t.Error(call)
			}
		}
	}
}

// TestSamplingIsOfOneIn256OnAnASICByDefault: a row without sampling_rate takes what the CPU of
// an ASIC can bear; one that has it gets what it says.
func TestSamplingIsOfOneIn256OnAnASICByDefault(t *testing.T) {
	p := openPlace(t, saitest.New(t))
	e := newTestEngine(t, p.driver(), &fakeLedger{})
	for written, is := range map[uint32]uint32{0: 256, 1000: 1000} {
		want := policy("Ethernet0")
		want.Export = &engine.Export{Rate: written, Ports: []string{"Ethernet0"}}
		o := reconcile(t, e, want)
		if o.Sampling != is || o.Choices[engine.NeedExport].Method != engine.Sample {
			t.Errorf("sampling_rate %d: one of %d, %+v", written, o.Sampling, o.Choices[engine.NeedExport])
		}
	}
}

// TestHoldsThatTheLibraryRefuses: a library with the extension that answers NOT_SUPPORTED to a
// question about a hold watches flows, and holds none.
func TestHoldsThatTheLibraryRefuses(t *testing.T) {
	for _, tt := range []struct {
		fail string
		want engine.Method
	}{{"get hold 1000 -2", engine.Exact}, {"get hold 0 -2", engine.None}, {"get hold 0 -1", engine.Exact}} {
		t.Run(tt.fail, func(t *testing.T) {
			a, _, err := openPlace(t, saitest.New(t), "FAIL", tt.fail).driver().Probe()
			if err != nil {
				t.Fatal(err)
			}
			if hold := a[engine.NeedHold][engine.Exact]; hold.Can != (tt.want == engine.Exact) || !hold.Can && !strings.Contains(hold.Reason, "NOT_SUPPORTED") {
				t.Errorf("%+v", hold)
			}
			if !a[engine.NeedThreshold][engine.Exact].Can {
				t.Error("flows are not watched")
			}
		})
	}
}
