// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/testbed/orchagenttest"
	"sluice/yang/rows"
)

var (
	sflowOn = map[string]string{"admin_state": "up"}
	hashSet = map[string]string{"ecmp_hash@": "SRC_IP,DST_IP"}
)

func able(r orchagenttest.Release, hash, sflow map[string]string) capability {
	return capabilityOf(r.Capability(), map[string]string{"action_list": strings.Join(r.Actions, ",")}, hash, sflow)
}

func labels() engine.Policy { return engine.Policy{Label: &engine.Label{}, ManageHash: true} }

func exports(rate uint32, ports ...string) engine.Policy {
	return engine.Policy{Export: &engine.Export{Rate: rate, Ports: ports}}
}

// TestWhatEachReleaseCan: the method of the flow label and how packets are sampled.
func TestWhatEachReleaseCan(t *testing.T) {
	for _, tt := range []struct {
		release     string
		hash, sflow map[string]string
		method      engine.Method
		reason      string
		sampling    engine.Method
		noSample    string
	}{
		{"202305", hashSet, nil, engine.None, "neither the hash field RDMA_BTH_DEST_QP nor IPV6_FLOW_LABEL", engine.None, "cannot mirror samples"},
		{"202405", hashSet, sflowOn, engine.None, "neither the hash field", engine.SFlow, ""},
		{"202505", hashSet, nil, engine.None, "but IPV6_FLOW_LABEL: flows that come with a label can be spread", engine.None, "sFlow would do"},
		{"202605", nil, nil, engine.None, "set ecmp_hash first", engine.None, "cannot mirror samples"},
		{"master", hashSet, nil, engine.None, "but IPV6_FLOW_LABEL", engine.Mirror, ""},
		{"master", hashSet, sflowOn, engine.None, "but IPV6_FLOW_LABEL", engine.SFlow, ""},
		{"proposed", hashSet, nil, engine.Hash, "compute: SONiC has no ACL action that writes a flow label", engine.Mirror, ""},
		{"proposed", nil, nil, engine.None, "orchagent cannot go back to it", engine.Mirror, ""},
	} {
		by := engine.Choose(able(orchagenttest.ByName(tt.release), tt.hash, tt.sflow).abilities("", ""), labels(), engine.Features{})
		label, sampling := by[engine.NeedFlowLabel], by[engine.NeedExport]
		if label.Method != tt.method || !strings.Contains(label.Reason, tt.reason) || sampling.Method != tt.sampling || !strings.Contains(sampling.Reason, tt.noSample) {
			t.Errorf("%s: %+v, %+v", tt.release, label, sampling)
		}
		if hold := by[engine.NeedHold]; hold.Method != engine.None || !strings.Contains(hold.Reason, "neither watch nor hold single flows") {
			t.Errorf("%s: %+v", tt.release, hold)
		}
	}
	c := able(orchagenttest.ByName("master"), nil, nil)
	if is := c.abilities("orchagent did not take it", "").Choose(engine.NeedExport); is.Method != engine.None || !strings.Contains(is.Reason, "did not take it") {
		t.Errorf("%+v", is)
	}
	if c := capabilityOf(map[string]string{"HASH|NATIVE_HASH_FIELD_LIST": "N/A", "ECMP_HASH_CAPABLE": "true"}, nil, hashSet, nil); c.destQP || c.flowLabel {
		t.Errorf("what is not listed is not known: %+v", c)
	}
}

// TestMethodsFollowTheSchemaOfEachRelease: what the driver finds possible is what the schema has, as
// the pages' table of methods by release has it.
func TestMethodsFollowTheSchemaOfEachRelease(t *testing.T) {
	for _, r := range orchagenttest.Releases {
		c := able(r, hashSet, sflowOn)
		if hash := slices.Contains(r.HashFields, "IPV6_FLOW_LABEL"); c.flowLabel != hash {
			t.Errorf("%s: labels are hashed: %v, the schema %v", r.Name, c.flowLabel, hash)
		}
		if copies := slices.Contains(r.PacketActions, "COPY"); c.copies != copies {
			t.Errorf("%s: copies: %v, the schema %v", r.Name, c.copies, copies)
		}
		all := c.abilities("", "")
		all[engine.NeedThreshold][engine.Sampled] = c.depths(map[string]string{"Ethernet0:0": "oid"}, false)
		queuePairs := slices.Contains(r.HashFields, "RDMA_BTH_DEST_QP")
		for need, by := range map[engine.Need]map[engine.Method]bool{
			engine.NeedFlowLabel: {engine.Compute: false, engine.Rewrite: false, engine.Hash: queuePairs, engine.UDFHash: false},
			engine.NeedPlacement: {engine.Entries: false, engine.Rewrite: false, engine.Redirect: slices.Contains(r.Actions, "REDIRECT_ACTION")},
			engine.NeedExport:    {engine.Sample: false, engine.SFlow: true},
			engine.NeedThreshold: {engine.Exact: false, engine.Sampled: true},
			engine.NeedHold:      {engine.Exact: false, engine.Source: true},
		} {
			for method, can := range by {
				if got := all[need][method]; got.Can != can {
					t.Errorf("%s: %s by %s: %+v, want %v", r.Name, need, method, got, can)
				}
			}
		}
	}
}

func TestObjectsBecomeTheRowsOfOrchagent(t *testing.T) {
	channels := map[string]string{"Ethernet4": "PortChannel1", "Ethernet8": "PortChannel1"}
	all := able(orchagenttest.ByName("proposed"), hashSet, nil)
	ports := []string{"Ethernet0", "Ethernet4", "Ethernet8"}
	session := map[string]string{
		"type": "SPAN", "dst_port": "CPU", "direction": "RX", "src_port": "Ethernet0,Ethernet4,Ethernet8", "sample_rate": "4096", "truncate_size": "256",
	}
	kind := map[string]string{"MATCHES": "L4_DST_PORT,BTH_OPCODE", "ACTIONS": "PACKET_ACTION,COUNTER", "BIND_POINTS": "PORT,PORTCHANNEL"}
	table := map[string]string{"policy_desc": "Sluice", "type": "SLUICE_ROCE", "stage": "ingress", "ports": "Ethernet0,PortChannel1"}
	cm := map[string]string{"PRIORITY": "9000", "L4_DST_PORT": "4791", "BTH_OPCODE": "0x64/0xff", "PACKET_ACTION": "COPY"}
	cnp := map[string]string{"PRIORITY": "8999", "L4_DST_PORT": "4791", "BTH_OPCODE": "0x81/0xff", "PACKET_ACTION": "COPY"}
	copies := []rows.Row{
		{Table: "ACL_TABLE_TYPE_TABLE", Key: "SLUICE_ROCE", Fields: kind}, {Table: "ACL_TABLE_TABLE", Key: "SLUICE_ROCE", Fields: table},
		{Table: "ACL_RULE_TABLE", Key: "SLUICE_ROCE:SLUICE_CM", Fields: cm}, {Table: "ACL_RULE_TABLE", Key: "SLUICE_ROCE:SLUICE_CNP", Fields: cnp},
	}
	mirrored := slices.Insert(slices.Clone(copies), 0, rows.Row{Table: "MIRROR_SESSION", Key: "SLUICE_SAMPLE", Fields: session})
	field := func(name string) rows.Row {
		return rows.Row{Table: "SWITCH_HASH", Key: "GLOBAL|ecmp_hash|" + name, Fields: map[string]string{"ecmp_hash": name}}
	}
	unmanaged := labels()
	unmanaged.ManageHash = false
	uncut := all
	uncut.truncate = false
	whole := maps.Clone(session)
	delete(whole, "truncate_size")
	uncutRows := slices.Clone(mirrored)
	uncutRows[0].Fields = whole
	for _, tt := range []struct {
		name     string
		policy   engine.Policy
		method   engine.Method
		sampling engine.Method
		able     capability
		want     []rows.Row
	}{
		{"nothing", engine.Policy{}, engine.None, engine.Mirror, all, nil},
		{"hash", labels(), engine.Hash, engine.Mirror, all, []rows.Row{field("RDMA_BTH_DEST_QP"), field("IPV6_FLOW_LABEL")}},
		{"the label alone", labels(), engine.None, engine.Mirror, all, []rows.Row{field("IPV6_FLOW_LABEL")}},
		{"the operator's hash", unmanaged, engine.None, engine.Mirror, all, nil},
		{"no ecmp_hash", labels(), engine.None, engine.Mirror, able(orchagenttest.ByName("master"), nil, nil), nil},
		{"mirror", exports(4096, ports...), engine.None, engine.Mirror, all, mirrored},
		{"mirror, whole packets", exports(4096, ports...), engine.None, engine.Mirror, uncut, uncutRows},
		{"sflow", exports(4096, ports...), engine.None, engine.SFlow, all, copies},
		{"no port", exports(4096), engine.None, engine.Mirror, all, nil},
		{"no COPY", exports(4096, ports...), engine.None, engine.SFlow, able(orchagenttest.ByName("202305"), hashSet, sflowOn), nil},
		{"no ACL action", exports(4096, ports...), engine.None, engine.SFlow, capability{sflow: true}, nil},
	} {
		var got []rows.Row
		for _, o := range objects(tt.policy, engine.Choices{engine.NeedFlowLabel: {Method: tt.method}, engine.NeedExport: {Method: tt.sampling}}, tt.able, channels) {
			got = append(got, rowOf(&o))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// TestRowsAreWhatReleasesTake: every row of Sluice is of the schema of each release
// that has what it needs, and what a release does not have is refused.
func TestRowsAreWhatReleasesTake(t *testing.T) {
	refused := map[string]string{"master": "MIRROR_SESSION|SLUICE_SAMPLE"} // not to the CPU
	want := map[string]int{"202305": 0, "202311": 0, "proposed": 5}        // no COPY before 202405; else 4 to copy
	for _, release := range orchagenttest.Releases {
		c := able(release, hashSet, nil)
		sampling := engine.SFlow
		if c.mirror {
			sampling = engine.Mirror
		}
		taken := map[string]map[string]map[string]string{"ACL_TABLE_TYPE": {}, "ACL_TABLE": {}, "ACL_RULE": {}, "MIRROR_SESSION": {}}
		var no []string
		for _, o := range objects(exports(4096, "Ethernet0"), engine.Chose(engine.NeedExport, sampling), c, nil) {
			r := rowOf(&o)
			if table, ok := operators[r.Table]; ok { // orchagent makes no difference
				r.Table, r.Key = table, keyAs(r)
			}
			if err := release.Check(r, taken["ACL_TABLE_TYPE"], taken["ACL_TABLE"]); err != nil {
				no = append(no, r.Name())
				continue
			}
			taken[r.Table][r.Key] = r.Fields
		}
		rows := 0
		for _, all := range taken {
			rows += len(all)
		}
		if n, ok := want[release.Name]; ok && rows != n || !ok && rows != 4 {
			t.Errorf("%s takes %d rows", release.Name, rows)
		}
		if got := strings.Join(no, " "); got != refused[release.Name] {
			t.Errorf("%s refuses %q, want %q", release.Name, got, refused[release.Name])
		}
	}
}

// TestRecordsSurviveTheLedger: an object comes back as it was, and is known as one
// of this driver.
func TestRecordsSurviveTheLedger(t *testing.T) {
	c := able(orchagenttest.ByName("proposed"), hashSet, nil)
	p := exports(4096, "Ethernet0", "Ethernet4")
	p.Label, p.ManageHash = &engine.Label{}, true
	for _, o := range objects(p, engine.Choices{engine.NeedFlowLabel: {Method: engine.Hash}, engine.NeedExport: {Method: engine.Mirror}}, c, nil) {
		in := engine.Record{Object: o, ID: engine.ID(o.Key)}
		out, err := engine.ParseRecord(in.ID, in.Fields())
		if err != nil {
			t.Fatal(err)
		}
		in.Optional, in.Meets = false, "" // the ledger does not need them
		if diff := cmp.Diff(&in, out, cmpopts.IgnoreUnexported(engine.Object{})); diff != "" {
			t.Error(diff)
		}
		if !Owns(out) {
			t.Errorf("%s is not owned", out.ID)
		}
		if _, err := rows.Decode(rows.Row{Table: "SLUICE_ASIC_OBJECT", Key: string(in.ID), Fields: in.Fields()}); err != nil {
			t.Error(err)
		}
	}
	if Owns(&engine.Record{Object: engine.Object{Type: engine.TypeACLTable}}) {
		t.Error("an ACL table of SAI is owned")
	}
}

// TestTypesAreChangedOneByOne: orchagent ignores a type of ACL tables that it has
// (AclOrch::addAclTableType), and takes a removal and a row behind it for one change; so
// a removal is waited for.
func TestTypesAreChangedOneByOne(t *testing.T) {
	p := newPlace(t).start("202405")
	d := p.driver()
	kind := func(matches string) engine.Object {
		return rowObject(rows.Row{Table: tableType, Key: nameACL, Fields: map[string]string{
			"MATCHES": matches, "ACTIONS": "PACKET_ACTION", "BIND_POINTS": "PORT",
		}})
	}
	for _, matches := range []string{"BTH_OPCODE", "BTH_OPCODE,DSCP", "DSCP"} {
		o := kind(matches)
		r, err := d.Create(&o, nil)
		if err != nil {
			t.Fatal(err)
		}
		p.until("the type of "+matches, func() bool { return p.orchagent.Fields("ACL_TABLE_TYPE", nameACL)["MATCHES"] == matches })
		if err := d.Remove(r); !goes(err) {
			t.Fatal(err)
		}
	}
}
