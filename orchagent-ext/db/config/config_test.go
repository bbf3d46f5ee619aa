// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

type fields = map[string]string

func set(table, key string, f fields) sonicdb.Change {
	return sonicdb.Change{Row: rows.Row{Table: table, Key: key, Fields: f}}
}

func del(table, key string) sonicdb.Change {
	return sonicdb.Change{Row: rows.Row{Table: table, Key: key}, Deleted: true}
}

var ports = []sonicdb.Change{
	set("PORT", "Ethernet0", fields{"lanes": "0,1,2,3", "index": "1", "speed": "100000", "admin_status": "up"}),
	set("PORT", "Ethernet4", fields{"lanes": "x", "index": "", "speed": "fast"}),
	set("PORTCHANNEL", "PortChannel1", nil),
	set("PORTCHANNEL_MEMBER", "PortChannel1|Ethernet4", nil),
	set("PORTCHANNEL_MEMBER", "PortChannel1|Ethernet0", nil),
	set("PORTCHANNEL_MEMBER", "PortChannel1|Ethernet8", nil), // no such port
	set("PORTCHANNEL_MEMBER", "PortChannel2|Ethernet0", nil), // no such channel
}

// apply applies changes one batch after the other and returns the last result.
func apply(batches ...[]sonicdb.Change) (s *Snapshot, fresh []Rejection) {
	st := New()
	for _, b := range batches {
		s, fresh = st.Apply(b)
	}
	return s, fresh
}

func said(all []Rejection) []string {
	var text []string
	for _, r := range all {
		text = append(text, r.Error())
	}
	return text
}

func TestDefaultsAreTheSchemas(t *testing.T) {
	s, fresh := apply(nil)
	if len(fresh) > 0 {
		t.Errorf("rejected: %v", said(fresh))
	}
	if s.Global.AdminState != Enabled || s.FlowLabel.AdminState != Disabled || *s.Global.FlowCapacity != 65536 ||
		s.PFCM.AdminState != Disabled || s.PPFC.AdminState != Disabled || s.RateAdvice.AdminState != Disabled || s.IPFIX.AdminState != Disabled {
		t.Error("not the defaults of the model: every feature off, the kill switch not pulled")
	}
	s, _ = apply(ports, []sonicdb.Change{set("SLUICE", "global", fields{"flow_capacity": "2048"}), set("SLUICE_PORT", "Ethernet0", nil)},
		[]sonicdb.Change{del("SLUICE", "global")})
	if *s.Global.FlowCapacity != 65536 {
		t.Error("a deleted row is still in force")
	}
	if p := s.Ports["Ethernet0"]; p.Role != RoleFabric {
		t.Errorf("role %v: not filled in", p.Role)
	}
}

func TestDefaultsThatDependOnAnotherLeaf(t *testing.T) {
	s, fresh := apply(ports, []sonicdb.Change{
		set("SLUICE_PORT", "Ethernet0", fields{"role": "edge"}),
		set("SLUICE_PORT", "Ethernet4", fields{"role": "edge", "flow_label": "disabled"}),
		set("SLUICE_PORT", "PortChannel1", fields{"role": "border", "flow_label": "enabled"}),
		set("SLUICE_THRESHOLD", "a", fields{"high_bytes": "1001"}),
		set("SLUICE_THRESHOLD", "b", fields{"high_bytes": "1001", "low_bytes": "0"}),
		set("SLUICE_IPFIX_COLLECTOR", "udp", fields{"address": "::1"}),
		set("SLUICE_IPFIX_COLLECTOR", "tls", fields{"address": "::1", "transport": "tls", "ca_file": "/a"}),
		set("SLUICE_IPFIX_COLLECTOR", "dtls", fields{"address": "::1", "transport": "dtls", "ca_file": "/a", "port": "1"}),
	})
	if len(fresh) > 0 {
		t.Fatal(said(fresh))
	}
	got := []any{
		Labels(s.Ports["Ethernet0"]), Labels(s.Ports["Ethernet4"]), Labels(s.Ports["PortChannel1"]),
		LowBytes(s.Thresholds["a"]), LowBytes(s.Thresholds["b"]),
		CollectorPort(s.IPFIXCollectors["udp"]), CollectorPort(s.IPFIXCollectors["tls"]), CollectorPort(s.IPFIXCollectors["dtls"]),
	}
	want := []any{true, false, true, uint64(500), uint64(0), uint16(4739), uint16(4740), uint16(1)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSonicTables(t *testing.T) {
	s, _ := apply(ports, []sonicdb.Change{
		set("SWITCH_HASH", "GLOBAL", fields{"ecmp_hash@": "SRC_IP,IPV6_FLOW_LABEL"}),
		set("SLUICE_PORT", "PortChannel1", fields{"role": "edge"}),
		set("SLUICE_PORT", "Ethernet0", fields{"role": "border"}),
	})
	wantPorts := map[string]SwitchPort{
		"Ethernet0": {"Ethernet0", []uint32{0, 1, 2, 3}, 1, 100000, true},
		"Ethernet4": {"Ethernet4", nil, -1, 0, false},
	}
	if diff := cmp.Diff(wantPorts, s.SwitchPorts); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string][]string{"PortChannel1": {"Ethernet0", "Ethernet4"}}, s.PortChannels); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"SRC_IP", "IPV6_FLOW_LABEL"}, s.ECMPHash); diff != "" {
		t.Error(diff)
	}
	resolved := s.Resolve()
	if len(resolved) != 2 || resolved["Ethernet0"].Role != RoleBorder || resolved["Ethernet4"].Role != RoleEdge {
		t.Errorf("resolved to %v", resolved)
	}

	// Members are followed as they come and go.
	s, _ = apply(ports, []sonicdb.Change{set("SLUICE_PORT", "PortChannel1", nil)}, []sonicdb.Change{
		del("PORTCHANNEL_MEMBER", "PortChannel1|Ethernet4"), del("SWITCH_HASH", "GLOBAL"),
	})
	if resolved := s.Resolve(); len(resolved) != 1 || resolved["Ethernet0"] == nil || s.ECMPHash != nil {
		t.Errorf("resolved to %v, hash %v", resolved, s.ECMPHash)
	}
}

// Packets of a VRF come in by a port, a PortChannel, a VLAN or a subinterface of it.
func TestPortsOfVRFs(t *testing.T) {
	vrf := fields{"vrf_name": "Vrf1"}
	for name, tt := range map[string]struct {
		rows []sonicdb.Change
		want map[string]string
	}{
		"port":        {[]sonicdb.Change{set("INTERFACE", "Ethernet0", vrf), set("INTERFACE", "Ethernet0|10.0.0.1/31", nil)}, map[string]string{"Ethernet0": "Vrf1"}},
		"default":     {[]sonicdb.Change{set("INTERFACE", "Ethernet0", nil)}, map[string]string{}},
		"PortChannel": {[]sonicdb.Change{set("PORTCHANNEL_INTERFACE", "PortChannel1", vrf)}, map[string]string{"PortChannel1": "Vrf1", "Ethernet0": "Vrf1", "Ethernet4": "Vrf1"}},
		"VLAN": {
			[]sonicdb.Change{set("VLAN_INTERFACE", "Vlan10", vrf), set("VLAN_MEMBER", "Vlan10|Ethernet4", nil), set("VLAN_MEMBER", "Vlan11|Ethernet0", nil)},
			map[string]string{"Vlan10": "Vrf1", "Ethernet4": "Vrf1"},
		},
		"subinterface": {
			[]sonicdb.Change{set("VLAN_SUB_INTERFACE", "Ethernet0.10", vrf), set("VLAN_SUB_INTERFACE", "Eth4.10", vrf)},
			map[string]string{"Ethernet0": "Vrf1", "Ethernet4": "Vrf1"},
		},
		"port with a subinterface of another": {
			[]sonicdb.Change{set("INTERFACE", "Ethernet0|10.0.0.1/31", nil), set("VLAN_SUB_INTERFACE", "Ethernet0.10", vrf)},
			map[string]string{"Ethernet0": SeveralVRFs},
		},
		"VLANs of two": {
			[]sonicdb.Change{set("VLAN_INTERFACE", "Vlan10", vrf), set("VLAN_INTERFACE", "Vlan11", fields{"vrf_name": "Vrf2"}), set("VLAN_MEMBER", "Vlan10|PortChannel1", nil), set("VLAN_MEMBER", "Vlan11|PortChannel1", nil)},
			map[string]string{"Vlan10": "Vrf1", "Vlan11": "Vrf2", "PortChannel1": SeveralVRFs, "Ethernet0": SeveralVRFs, "Ethernet4": SeveralVRFs},
		},
		"subinterface of a PortChannel": {[]sonicdb.Change{set("VLAN_SUB_INTERFACE", "Po1.10", vrf)}, map[string]string{"PortChannel1": "Vrf1", "Ethernet0": "Vrf1", "Ethernet4": "Vrf1"}},
	} {
		if s, _ := apply(append(slices.Clone(ports), tt.rows...)); !maps.Equal(s.VRFs, tt.want) {
			t.Errorf("%s: %v, want %v", name, s.VRFs, tt.want)
		}
	}
}

func TestBadRowsAreRejectedWhole(t *testing.T) {
	gold := set("SLUICE_THRESHOLD", "gold", fields{"high_bytes": "1000"})
	port := set("SLUICE_PORT", "Ethernet0", fields{"threshold": "gold"})
	for name, tt := range map[string]struct {
		batches  [][]sonicdb.Change
		inForce  string   // thresholds and ports, with the mark and the threshold
		rejected []string // in the snapshot
		fresh    []string // by the last batch
	}{
		"all good": {
			[][]sonicdb.Change{ports, {port, gold}},
			"gold=1000 Ethernet0=gold", nil, nil,
		},
		"the last good one stays": {
			[][]sonicdb.Change{ports, {gold, port}, {set("SLUICE_THRESHOLD", "gold", fields{"high_bytes": "0"})}},
			"gold=1000 Ethernet0=gold",
			[]string{`SLUICE_THRESHOLD|gold: high_bytes "0": must be 2 or more`},
			[]string{`SLUICE_THRESHOLD|gold: high_bytes "0": must be 2 or more`},
		},
		"and stays, and is not told again": {
			[][]sonicdb.Change{ports, {gold}, {set("SLUICE_THRESHOLD", "gold", fields{"high_bytes": "0"})}, {port}},
			"gold=1000 Ethernet0=gold",
			[]string{`SLUICE_THRESHOLD|gold: high_bytes "0": must be 2 or more`}, nil,
		},
		"mended": {
			[][]sonicdb.Change{ports, {gold}, {set("SLUICE_THRESHOLD", "gold", nil)}, {set("SLUICE_THRESHOLD", "gold", fields{"high_bytes": "7"})}},
			"gold=7", nil, nil,
		},
		"bad and deleted": {
			[][]sonicdb.Change{ports, {gold}, {set("SLUICE_THRESHOLD", "gold", nil)}, {del("SLUICE_THRESHOLD", "gold")}},
			"", nil, nil,
		},
		"never good": {
			[][]sonicdb.Change{ports, {set("SLUICE_THRESHOLD", "gold", nil), port}},
			"",
			[]string{
				`SLUICE_PORT|Ethernet0: threshold "gold": SLUICE_THRESHOLD|gold is rejected itself`,
				`SLUICE_THRESHOLD|gold: high_bytes: is missing, and has no default`,
			},
			[]string{
				`SLUICE_PORT|Ethernet0: threshold "gold": SLUICE_THRESHOLD|gold is rejected itself`,
				`SLUICE_THRESHOLD|gold: high_bytes: is missing, and has no default`,
			},
		},
		"no such port": {
			[][]sonicdb.Change{ports, {gold, set("SLUICE_PORT", "Ethernet8", nil)}},
			"gold=1000",
			[]string{`SLUICE_PORT|Ethernet8: name "Ethernet8": no such row in PORT or PORTCHANNEL`},
			[]string{`SLUICE_PORT|Ethernet8: name "Ethernet8": no such row in PORT or PORTCHANNEL`},
		},
		"the port comes later": {
			[][]sonicdb.Change{ports, {set("SLUICE_PORT", "Ethernet8", nil)}, {set("PORT", "Ethernet8", nil)}},
			"Ethernet8=", nil, nil,
		},
		"the port goes": {
			[][]sonicdb.Change{ports, {gold, port}, {del("PORT", "Ethernet0")}},
			"gold=1000",
			[]string{`SLUICE_PORT|Ethernet0: name "Ethernet0": no such row in PORT or PORTCHANNEL`},
			[]string{`SLUICE_PORT|Ethernet0: name "Ethernet0": no such row in PORT or PORTCHANNEL`},
		},
		"the threshold goes": {
			[][]sonicdb.Change{ports, {gold, port}, {del("SLUICE_THRESHOLD", "gold")}},
			"",
			[]string{`SLUICE_PORT|Ethernet0: threshold "gold": no such row in SLUICE_THRESHOLD`},
			[]string{`SLUICE_PORT|Ethernet0: threshold "gold": no such row in SLUICE_THRESHOLD`},
		},
		"the threshold goes and comes": {
			[][]sonicdb.Change{ports, {gold, port}, {del("SLUICE_THRESHOLD", "gold")}, {gold}},
			"gold=1000 Ethernet0=gold", nil, nil,
		},
		"a wrong threshold leaves the right one": {
			[][]sonicdb.Change{ports, {gold, port}, {set("SLUICE_PORT", "Ethernet0", fields{"threshold": "silver"})}},
			"gold=1000 Ethernet0=gold",
			[]string{`SLUICE_PORT|Ethernet0: threshold "silver": no such row in SLUICE_THRESHOLD`},
			[]string{`SLUICE_PORT|Ethernet0: threshold "silver": no such row in SLUICE_THRESHOLD`},
		},
		"until the right one goes as well": {
			[][]sonicdb.Change{ports, {gold, port}, {set("SLUICE_PORT", "Ethernet0", fields{"threshold": "silver"})}, {del("SLUICE_THRESHOLD", "gold")}},
			"",
			[]string{`SLUICE_PORT|Ethernet0: threshold "silver": no such row in SLUICE_THRESHOLD`}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, fresh := apply(tt.batches...)
			var inForce []string
			for key, r := range s.Thresholds {
				inForce = append(inForce, fmt.Sprintf("%s=%d", key, *r.HighBytes))
			}
			for key, r := range s.Ports {
				threshold := ""
				if r.Threshold != nil {
					threshold = *r.Threshold
				}
				inForce = append(inForce, key+"="+threshold)
			}
			slices.SortFunc(inForce, func(a, b string) int { return strings.Compare(b, a) })
			if got := strings.Join(inForce, " "); got != tt.inForce {
				t.Errorf("in force %q, want %q", got, tt.inForce)
			}
			if diff := cmp.Diff(tt.rejected, said(s.Rejections)); diff != "" {
				t.Errorf("rejected (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.fresh, said(fresh)); diff != "" {
				t.Errorf("newly rejected (-want +got):\n%s", diff)
			}
		})
	}
}

// Of two rows that mean the same prefix the one in force stays, under the name
// that the operator gave it.
// TestRememberedRowsReplaceBadOnes: an earlier process's last good rows stay in force where CONFIG_DB
// has wrong ones, and nowhere else.
func TestRememberedRowsReplaceBadOnes(t *testing.T) {
	good := rows.Row{Table: "SLUICE_FLOW_LABEL", Key: "global", Fields: fields{"algorithm": "crc32"}}
	for _, tt := range []struct {
		what       string
		remembered []rows.Row
		batches    [][]sonicdb.Change
		algorithm  string // in force
		kept       bool   // and it is the last good one
	}{
		{"a wrong row", []rows.Row{good}, [][]sonicdb.Change{{set(good.Table, good.Key, fields{"algorithm": "md5"})}}, "crc32", true},
		{"a good row", []rows.Row{good}, [][]sonicdb.Change{{set(good.Table, good.Key, fields{"algorithm": "draft-literal"})}}, "draft-literal", false},
		{"no row", []rows.Row{good}, [][]sonicdb.Change{nil}, "draft-literal", false},
		{"taken away, and then wrong", []rows.Row{good}, [][]sonicdb.Change{
			{set(good.Table, good.Key, fields{"algorithm": "md5"})}, {del(good.Table, good.Key)}, {set(good.Table, good.Key, fields{"algorithm": "md5"})},
		}, "draft-literal", false},
		{"nothing remembered", nil, [][]sonicdb.Change{{set(good.Table, good.Key, fields{"algorithm": "md5"})}}, "draft-literal", false},
		{"what is remembered is not valid", []rows.Row{{Table: good.Table, Key: good.Key, Fields: fields{"algorithm": "sha"}}},
			[][]sonicdb.Change{{set(good.Table, good.Key, fields{"algorithm": "md5"})}}, "draft-literal", false},
	} {
		st := New()
		st.Remember(tt.remembered)
		var s *Snapshot
		for _, b := range tt.batches {
			s, _ = st.Apply(b)
		}
		if got := s.FlowLabel.Algorithm.String(); got != tt.algorithm {
			t.Errorf("%s: algorithm %s is in force, want %s", tt.what, got, tt.algorithm)
		}
		if last, ok := s.LastGood["SLUICE_FLOW_LABEL|global"]; ok != tt.kept || ok && !cmp.Equal(last, good) {
			t.Errorf("%s: last good is %v, want %v %v", tt.what, last, tt.kept, good)
		}
	}
}

func TestTwoPrefixesThatAreTheSame(t *testing.T) {
	peer := func(prefix string) sonicdb.Change { return set("SLUICE_PPFC_PEER", prefix, nil) }
	for name, tt := range map[string]struct {
		batches [][]sonicdb.Change
		want    string
	}{
		"at once: by name":      {[][]sonicdb.Change{{peer("10.1.0.0/8"), peer("10.0.0.0/8")}}, "10.0.0.0/8"},
		"the first stays":       {[][]sonicdb.Change{{peer("10.1.0.0/8")}, {peer("10.0.0.0/8")}}, "10.1.0.0/8"},
		"until it is gone":      {[][]sonicdb.Change{{peer("10.1.0.0/8")}, {peer("10.0.0.0/8")}, {del("SLUICE_PPFC_PEER", "10.1.0.0/8")}}, "10.0.0.0/8"},
		"a host's form is kept": {[][]sonicdb.Change{{peer("2001:DB8::1/32")}}, "2001:DB8::1/32"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := apply(tt.batches...)
			if len(s.PPFCPeers) != 1 || s.PPFCPeers[tt.want] == nil {
				t.Errorf("in force %v, want %s", s.PPFCPeers, tt.want)
			}
		})
	}
}

// A snapshot stays what it was whatever comes after it.
func TestSnapshotsAreImmutable(t *testing.T) {
	st := New()
	first := append(slices.Clone(ports), set("SLUICE_PORT", "Ethernet0", fields{"role": "edge"}), set("SLUICE_PPFC_PEER", "::/0", nil),
		set("SLUICE", "global", fields{"flow_capacity": "2048"}), set("SLUICE_PFCM", "global", fields{"option_type": "0"}))
	s, _ := st.Apply(first)
	want, _ := apply(first)
	st.Apply([]sonicdb.Change{
		set("SLUICE_PORT", "Ethernet0", fields{"role": "border"}), del("SLUICE_PPFC_PEER", "::/0"), del("SLUICE", "global"),
		del("PORTCHANNEL_MEMBER", "PortChannel1|Ethernet0"), set("SLUICE_PFCM", "global", nil), del("PORT", "Ethernet4"),
	})
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("it changed (-was +is):\n%s", diff)
	}
}

// Every table of the model is in the snapshot, and none has another's rows.
func TestSnapshotHasEveryTable(t *testing.T) {
	good := map[string]sonicdb.Change{ // rows that are in force without further fields
		"SLUICE_THRESHOLD":       set("SLUICE_THRESHOLD", "n", fields{"high_bytes": "2"}),
		"SLUICE_PORT":            set("SLUICE_PORT", "Ethernet0", nil),
		"SLUICE_PPFC_GATEWAY":    set("SLUICE_PPFC_GATEWAY", "::/0", fields{"gateway": "::1"}),
		"SLUICE_RATE_POLICY":     set("SLUICE_RATE_POLICY", "n", fields{"rate_mbps": "1"}),
		"SLUICE_IPFIX_COLLECTOR": set("SLUICE_IPFIX_COLLECTOR", "n", fields{"address": "::1"}),
	}
	empty, _ := apply(ports)
	for _, table := range rows.Tables("CONFIG_DB") {
		c, ok := good[table]
		switch {
		case ok:
		case rows.Only(table) != "":
			c = set(table, "global", nil)
		default:
			c = set(table, "::/0", nil)
		}
		row, err := rows.Decode(c.Row)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := apply(ports, []sonicdb.Change{c})
		found := 0
		for i, f := 0, reflect.ValueOf(*s); i < f.NumField(); i++ {
			switch f.Field(i).Type() {
			case reflect.TypeOf(row):
				found++
			case reflect.MapOf(reflect.TypeFor[string](), reflect.TypeOf(row)):
				found += f.Field(i).Len()
			default:
				if before := reflect.ValueOf(*empty).Field(i); before.Kind() == reflect.Map && before.Len() != f.Field(i).Len() {
					t.Errorf("a row of %s is among %s", table, f.Type().Field(i).Name)
				}
			}
		}
		if found != 1 {
			t.Errorf("a row of %s is in the snapshot %d times", table, found)
		}
	}
}

func TestTablesAreTheSchemas(t *testing.T) {
	want := []string{"SLUICE*", "PORT", "PORTCHANNEL", "PORTCHANNEL_MEMBER", "SWITCH_HASH", "DEVICE_METADATA", "DEVICE_NEIGHBOR", "DEVICE_NEIGHBOR_METADATA",
		"VLAN_MEMBER", "INTERFACE", "PORTCHANNEL_INTERFACE", "VLAN_INTERFACE", "VLAN_SUB_INTERFACE"}
	if diff := cmp.Diff(want, Tables()); diff != "" {
		t.Error(diff)
	}
}

// TestUnknownTables: a row of a table that begins like ours is reported, and which
// table may be meant. It changes nothing.
func TestUnknownTables(t *testing.T) {
	for table, want := range map[string]string{
		"SLUICE_FLOWLABEL":       "no such table; SLUICE_FLOW_LABEL is one",
		"SLUICE_FLOW_LABELS":     "no such table; SLUICE_FLOW_LABEL is one",
		"SLUICE_PROT":            "no such table; SLUICE_PORT is one",
		"SLUICE_GLOBAL":          "no such table; there are SLUICE, SLUICE_",
		"SLUICES":                "no such table; SLUICE is one",
		"SLUICE_IPFIX_COLECTORS": "no such table; SLUICE_IPFIX_COLLECTOR is one",
		"SLUICE_STATE":           "no such table; ",
		"SLUICE_WHAT_IS_THIS":    "no such table; there are SLUICE, ",
	} {
		st := New()
		st.Apply(ports)
		before := st.Known()
		s, fresh := st.Apply([]sonicdb.Change{set(table, "global", fields{"admin_state": "enabled"})})
		if got := said(fresh); len(got) != 1 || !strings.HasPrefix(got[0], table+"|global: "+want) {
			t.Errorf("%s: %q, want %q", table, got, want)
		}
		if len(s.Rejections) != 1 || s.FlowLabel.AdminState != Disabled || len(st.Known()) != len(before) {
			t.Errorf("%s: %+v", table, s.Rejections)
		}
		if s, fresh = st.Apply([]sonicdb.Change{del(table, "global")}); len(s.Rejections)+len(fresh) > 0 {
			t.Errorf("%s, removed: %v", table, said(s.Rejections))
		}
	}
	if _, fresh := apply([]sonicdb.Change{set("SLUIC", "global", nil), set("OTHER", "global", nil)}); len(fresh) > 0 {
		t.Errorf("%v", said(fresh))
	}
	if r := unknownTable(name{strings.Repeat("SLUICE_", 1000), "global"}); len(r.Error()) > 1000 {
		t.Errorf("%d octets of an error", len(r.Error()))
	}
}

func TestTenThousandRows(t *testing.T) {
	var changes []sonicdb.Change
	for i := range 10000 {
		changes = append(changes, set("SLUICE_RATE_ADVICE_HOST", fmt.Sprintf("10.%d.%d.0/24", i/256, i%256), nil))
	}
	st := New()
	begin := time.Now()
	_, fresh := st.Apply(changes)
	first := time.Now()
	s, _ := st.Apply([]sonicdb.Change{del("SLUICE_RATE_ADVICE_HOST", "10.0.0.0/24")})
	t.Logf("%d rows in %v, one more change in %v", len(changes), first.Sub(begin), time.Since(first))
	if len(s.RateAdviceHosts) != 9999 || len(fresh) > 0 {
		t.Errorf("%d rows in force, rejected %d", len(s.RateAdviceHosts), len(fresh))
	}
}
