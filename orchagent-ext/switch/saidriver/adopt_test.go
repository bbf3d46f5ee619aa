// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/switch/engine"
	"sluice/sai-shim/saitest"
)

// TestAdoptsOnlyWhatItCanKnow: the library drops all objects when the process ends. The
// next one, whatever the library answers for ids that it does not know, and also
// where another owner's objects have those ids now, creates its objects again, and takes none
// of that owner's.
func TestAdoptsOnlyWhatItCanKnow(t *testing.T) {
	const compute = "SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL"
	library := saitest.New(t)
	for method, hide := range map[engine.Method]string{engine.Compute: "", engine.Rewrite: compute} {
		for _, missing := range []int{saitest.Failure, saitest.InvalidParameter, -7} {
			for _, connected := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %d, connected %v", method, missing, connected), func(t *testing.T) {
					ledger := &fakeLedger{}
					want := policy("Ethernet0", "Ethernet4")
					want.CPU = engine.CPU{Rate: 100, Burst: 10}
					want.Export = &engine.Export{Rate: 1000, Ports: []string{"Ethernet0"}}
					p := openPlace(t, library, "HIDE", hide)
					e := newTestEngine(t, p.driver(), ledger)
					reconcile(t, e, want)
					if _, err := e.AddFlows(flows(3)); err != nil {
						t.Fatal(err)
					}
					before := len(ledger.rows)
					p.close()
					p = openPlace(t, library, "HIDE", hide, "MISSING", fmt.Sprint(missing))
					options := Options{Connected: connected}
					if connected { // who has some of the ids now
						p.theirs()
					}
					theirs := p.there()
					e = newTestEngine(t, p.driverWith(options), ledger)
					if e.Len() != 0 {
						t.Errorf("%d of %d objects were adopted: %v", e.Len(), before, ledger.rows)
					}
					o := reconcile(t, e, want)
					if c := o.Choices[engine.NeedFlowLabel]; c.Method != method || c.State != engine.Active || o.Choices[engine.NeedExport].State != engine.Active || len(o.Problems) > 0 {
						t.Errorf("%+v", o)
					}
					if _, err := e.AddFlows(flows(3)); err != nil {
						t.Error(err)
					}
					reconcile(t, e, engine.Policy{})
					if diff := cmp.Diff(theirs, p.there()); diff != "" || len(ledger.rows) > 0 {
						t.Errorf("left (-want +got): %s; in the ledger: %v", diff, ledger.rows)
					}
				})
			}
		}
	}
}

// TestAdoptsWhatCannotBeRead: a library that reads nothing keeps its objects, and the next
// process takes them over by the ledger.
func TestAdoptsWhatCannotBeRead(t *testing.T) {
	library := saitest.New(t)
	var fail []string
	for _, object := range []string{"acl_table", "acl_entry", "acl_counter", "hash", "samplepacket", "port.INGRESS_ACL", "switch.ECMP_HASH_IPV6"} {
		fail = append(fail, fmt.Sprintf("get %s 0 %d", object, saitest.NotImplemented))
	}
	p := openPlace(t, library, "FAIL", strings.Join(fail, "; "))
	ledger := &fakeLedger{}
	want := policy("Ethernet0")
	want.Export = &engine.Export{Rate: 1000, Ports: []string{"Ethernet0"}}
	reconcile(t, newTestEngine(t, p.driver(), ledger), want)
	library.Calls()
	e := newTestEngine(t, p.driver(), ledger)
	o := reconcile(t, e, want)
	if c := o.Choices[engine.NeedFlowLabel]; c.Method != engine.Compute || c.State != engine.Unproven || !strings.Contains(c.Reason, "does not read back what it took: SAI get acl_entry") {
		t.Errorf("%+v", c)
	}
	for _, call := range library.Calls() {
		if !onlyReads(call) {
			t.Errorf("the next process: %s", call)
		}
	}
	reconcile(t, e, engine.Policy{})
	if len(ledger.rows) > 0 {
		t.Errorf("in the ledger: %v", ledger.rows)
	}
}
