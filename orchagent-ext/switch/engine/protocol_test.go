// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"sluice/orchagent-ext/flows/flow"
	"sluice/sai-shim/saiattr"
)

// TestEntriesMatchUDPOnly: TCP has port 4791, too. Where the switch can match the
// protocol every entry that matches this port does.
func TestEntriesMatchUDPOnly(t *testing.T) {
	p := policy("Ethernet0")
	p.Label.Outer = true
	p.Export = &Export{Rate: 10, Ports: []string{"Ethernet0", "Ethernet4"}}
	always := p
	always.Label = &Label{Algorithm: flow.CRC32}
	for _, p := range []Policy{p, always} {
		for _, method := range NeedFlowLabel.Methods() {
			for _, can := range []bool{true, false} {
				f := Features{InnerPort: true, Protocol: can}
				entries := 0
				for _, o := range append(Objects(p, Chose(NeedFlowLabel, method), f), FlowObjects(p, method, f, flows(1)[0])...) {
					if o.Attr("SAI_ACL_ENTRY_ATTR_FIELD_L4_DST_PORT") == "" {
						continue
					}
					entries++
					type match struct{ kind, next, protocol string }
					is := match{o.Attr("SAI_ACL_ENTRY_ATTR_FIELD_ACL_IP_TYPE"), o.Attr("SAI_ACL_ENTRY_ATTR_FIELD_IPV6_NEXT_HEADER"), o.Attr("SAI_ACL_ENTRY_ATTR_FIELD_IP_PROTOCOL")}
					allowed := []match{{"ipv6any", "17", ""}, {"ipv4any", "", "17"}}
					if !can {
						allowed = []match{{"ipv6any", "", ""}, {}}
					}
					if !slices.Contains(allowed, is) {
						t.Errorf("%s, protocol %v: %s matches %+v", method, can, o.Key, is)
					}
				}
				if entries < 2 {
					t.Errorf("%s: %d entries", method, entries)
				}
			}
		}
	}
}

// TestTablesOfAnEarlierVersionServe: what needs a field that they lack is left out, also
// where it is wanted later, until no table is there.
func TestTablesOfAnEarlierVersionServe(t *testing.T) {
	text, err := os.ReadFile("testdata/ledger-1-rewrite.json")
	if err != nil {
		t.Fatal(err)
	}
	l, f := &fakeLedger{}, newFakeSwitch()
	if err := json.Unmarshal(text, &l.rows); err != nil {
		t.Fatal(err)
	}
	for id, fields := range l.rows {
		if f.there[id], err = ParseRecord(id, fields); err != nil {
			t.Fatal(err)
		}
	}
	f.polices = true
	f.uses = &Features{InnerPort: true, HashIPv6: "SAI_SWITCH_ATTR_ECMP_HASH_IPV6"}
	f.can[Compute] = Ability{Reason: "no"}
	e := newTestEngine(t, f, l)
	p := policy("Ethernet0")
	p.CPU = CPU{Rate: 100000, Burst: 10000}
	reconcile(t, e, p) // without export
	p.Export = &Export{Rate: 100, Ports: []string{"Ethernet0", "Ethernet4"}}
	reconcile(t, e, p) // and with it again
	asWanted(t, e, f)
	inStep(t, e, f, l)
	if n := len(slices.Collect(e.Flows)); n != 3 || f.has("export/entry") != 4 { // and their counters
		t.Errorf("%d flows, objects %v", n, f.keys())
	}
	reconcile(t, e, Policy{})
	reconcile(t, e, p)
	asWanted(t, e, f)
	inStep(t, e, f, l)
	if r := e.Record(KeyTable); r.Attr(saiattr.ACLTableNextHeader.Name) == "" || r.Attr(saiattr.ACLTableInnerPort.Name) == "" {
		t.Errorf("a table that was created now has %v", r.Attrs)
	}
	if f.has("export/entry") != 9 { // for IPv4 and tunnels in both tables, for IPv6 in one
		t.Errorf("objects %v", f.keys())
	}
}

// TestNoTwoEntriesOfATableMatchTheSame: a switch may refuse the second one, whatever its
// priority.
func TestNoTwoEntriesOfATableMatchTheSame(t *testing.T) {
	for _, zeroOnly := range []bool{true, false} {
		for _, f := range []Features{{}, {InnerPort: true}, {Protocol: true}, {InnerPort: true, Protocol: true}} {
			for _, method := range NeedFlowLabel.Methods() {
				p := policy("Ethernet0")
				p.Label = &Label{ZeroOnly: zeroOnly, Outer: true}
				p.Export = &Export{Rate: 10, Ports: []string{"Ethernet0", "Ethernet4"}}
				seen := map[string]string{}
				for _, o := range append(Objects(p, Chose(NeedFlowLabel, method), f), FlowObjects(p, method, f, flows(1)[0])...) {
					var match string
					for _, a := range o.Attrs {
						if strings.Contains(a.Name, "_ENTRY_ATTR_FIELD_") || strings.Contains(a.Name, "_USER_DEFINED_FIELD_") || a.Name == "SAI_ACL_ENTRY_ATTR_TABLE_ID" {
							match += a.Name + "=" + a.Value + " "
						}
					}
					if o.Type != TypeACLEntry {
						continue
					}
					if other := seen[match]; other != "" {
						t.Errorf("%s, %+v, zero only %v: %s and %s match %s", method, f, zeroOnly, other, o.Key, match)
					}
					seen[match] = o.Key
				}
			}
		}
	}
}
