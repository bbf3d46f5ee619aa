// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/ygot/ygot"
	"sluice/yang/model"
)

type fields = map[string]string

// there are SONiC's rows that rows may refer to.
func there(table, key string) bool {
	return table == "PORT" && key == "Ethernet0" || table == "PORTCHANNEL" && key == "PortChannel1"
}

func TestDecodeReadsEveryTypeOfLeaf(t *testing.T) {
	for name, tt := range map[string]struct {
		row  Row
		want ygot.GoStruct
	}{
		"every type of leaf": {
			Row{"SLUICE_THRESHOLD", "gold", fields{"high_bytes": "18446744073709551615", "reduction": "63", "action": "reduce", "queues@": "3,4"}},
			&model.SonicSluice_SonicSluice_SLUICE_THRESHOLD_SLUICE_THRESHOLD_LIST{
				Name: ygot.String("gold"), HighBytes: ygot.Uint64(1<<64 - 1), Reduction: ygot.Uint8(63),
				Action: model.SonicSluice_SonicSluice_SLUICE_THRESHOLD_SLUICE_THRESHOLD_LIST_Action_reduce, Queues: []uint8{3, 4},
			},
		},
		"global": {
			Row{"SLUICE", "global", fields{"router_id": "10.0.0.1", "stream_id_scope": "global", "etcd_endpoints@": "http://a:1,http://b:2"}},
			&model.SonicSluice_SonicSluice_SLUICE_Global{
				RouterId: ygot.String("10.0.0.1"), StreamIdScope: model.SonicSluice_SonicSluice_SLUICE_Global_StreamIdScope_global,
				EtcdEndpoints: []string{"http://a:1", "http://b:2"},
			},
		},
		"boolean": {
			Row{"SLUICE_FLOW_LABEL", "global", fields{"admin_state": "enabled", "manage_switch_hash": "true"}},
			&model.SonicSluice_SonicSluice_SLUICE_FLOW_LABEL_Global{
				AdminState: model.SonicSluice_AdminState_enabled, ManageSwitchHash: ygot.Bool(true),
			},
		},
		"a prefix keeps its form": {
			Row{"SLUICE_PPFC_PEER", "2001:DB8::1/32", fields{"NULL": "NULL"}},
			&model.SonicSluice_SonicSluice_SLUICE_PPFC_PEER_SLUICE_PPFC_PEER_LIST{Prefix: ygot.String("2001:DB8::1/32")},
		},
		"a decimal": {
			Row{"SLUICE_STATS", "global", fields{"label_skipped_percent": "50.0", "cpu_copied": "18446744073709551615"}},
			&model.SonicSluiceState_SonicSluiceState_SLUICE_STATS_Global{LabelSkippedPercent: ygot.Float64(50), CpuCopied: ygot.Uint64(1<<64 - 1)},
		},
		"a key of two leaves": {
			Row{"SLUICE_CONFIG_ERROR", "SLUICE_PORT|a|b", fields{"reason": "", "time": "2026-11-21T10:00:00.5Z"}},
			&model.SonicSluiceState_SonicSluiceState_SLUICE_CONFIG_ERROR_SLUICE_CONFIG_ERROR_LIST{
				Table: ygot.String("SLUICE_PORT"), Key: ygot.String("a|b"), Reason: ygot.String(""), Time: ygot.String("2026-11-21T10:00:00.5Z"),
			},
		},
		"an enumeration as key": {
			Row{"SLUICE_NOTIFY_STATS", "rate-advice", fields{"sent": "7"}},
			&model.SonicSluiceState_SonicSluiceState_SLUICE_NOTIFY_STATS_SLUICE_NOTIFY_STATS_LIST{
				Message: model.SonicSluiceState_SonicSluiceState_SLUICE_NOTIFY_STATS_SLUICE_NOTIFY_STATS_LIST_Message_rate_advice, Sent: ygot.Uint64(7),
			},
		},
		"an empty leaf-list": {
			Row{"SLUICE", "global", fields{"etcd_endpoints@": ""}},
			&model.SonicSluice_SonicSluice_SLUICE_Global{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Decode(tt.row)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("struct (-want +got):\n%s", diff)
			}
			back, err := Encode(got)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plain(tt.row), back); diff != "" {
				t.Errorf("row again (-want +got):\n%s", diff)
			}
		})
	}
}

// plain returns a row without what says nothing: NULL, and empty leaf-lists.
func plain(r Row) Row {
	out := Row{r.Table, r.Key, fields{}}
	for f, v := range r.Fields {
		if (f != "NULL" || v != "NULL") && (f[len(f)-1:] != "@" || v != "") {
			out.Fields[f] = v
		}
	}
	return out
}

func TestErrorsNameRowFieldAndAllowedValues(t *testing.T) {
	for want, row := range map[string]Row{
		`SLUICE_COLOR|a: no model has a table SLUICE_COLOR`:                                                             {"SLUICE_COLOR", "a", nil},
		`SLUICE|local: the only row of this table is SLUICE|global`:                                                     {"SLUICE", "local", nil},
		`SLUICE_FLOW_LABEL|global: algorithm "md5": must be one of draft-literal, crc32`:                                {"SLUICE_FLOW_LABEL", "global", fields{"algorithm": "md5"}},
		`SLUICE_FLOW_LABEL|global: manage_switch_hash "yes": must be true or false`:                                     {"SLUICE_FLOW_LABEL", "global", fields{"manage_switch_hash": "yes"}},
		`SLUICE|global: flow_capacity "5": must be 1024..4194304`:                                                       {"SLUICE", "global", fields{"flow_capacity": "5"}},
		`SLUICE|global: flow_capacity "2k": must be a decimal number, 1024..4194304`:                                    {"SLUICE", "global", fields{"flow_capacity": "2k"}},
		`SLUICE|global: flow_capacity "02048": must be a decimal number, 1024..4194304`:                                 {"SLUICE", "global", fields{"flow_capacity": "02048"}},
		`SLUICE|global: router_id "10.0.0.256": must be an IPv4 address`:                                                {"SLUICE", "global", fields{"router_id": "10.0.0.256"}},
		`SLUICE|global: router_id: must be an IPv4 address`:                                                             {"SLUICE", "global", fields{"router_id": ""}},
		`SLUICE|global: router_id_v6 "fe80::1%eth0": must be an IPv6 address`:                                           {"SLUICE", "global", fields{"router_id_v6": "fe80::1%eth0"}},
		`SLUICE|global: stream_id_scope global needs etcd_endpoints`:                                                    {"SLUICE", "global", fields{"stream_id_scope": "global"}},
		`SLUICE|global: etcd_endpoints@ "http://a": must be http://HOST:PORT or https://HOST:PORT`:                      {"SLUICE", "global", fields{"etcd_endpoints@": "http://b:1,http://a"}},
		`SLUICE|global: etcd_endpoints@ "http://me:pw@a:1": must be http://HOST:PORT or https://HOST:PORT`:              {"SLUICE", "global", fields{"etcd_endpoints@": "http://me:pw@a:1"}},
		`SLUICE|global: etcd_endpoints must be all http, or all https`:                                                  {"SLUICE", "global", fields{"etcd_endpoints@": "http://b:1,https://a:1", "etcd_ca_file": "/a"}},
		`SLUICE|global: etcd_ca_file is needed with etcd_endpoints of https, and is for them only`:                      {"SLUICE", "global", fields{"etcd_endpoints@": "https://a:1"}},
		`SLUICE|global: etcd_cert_file and etcd_key_file go together`:                                                   {"SLUICE", "global", fields{"etcd_endpoints@": "https://a:1", "etcd_ca_file": "/a", "etcd_cert_file": "/b"}},
		`SLUICE|global: etcd_cert_file needs etcd_ca_file, and etcd_endpoints of https`:                                 {"SLUICE", "global", fields{"etcd_endpoints@": "http://a:1", "etcd_cert_file": "/b", "etcd_key_file": "/c"}},
		`SLUICE|global: etcd_user and etcd_password_file go together`:                                                   {"SLUICE", "global", fields{"etcd_user": "switch"}},
		`SLUICE_RATE_ADVICE|global: opcode "129": must be 29 or 192..255`:                                               {"SLUICE_RATE_ADVICE", "global", fields{"opcode": "129"}},
		`SLUICE_PPFC_PEER|10.0.0.0: prefix "10.0.0.0": must be an IP prefix, as 10.0.0.0/8 or 2001:db8::/32`:            {"SLUICE_PPFC_PEER", "10.0.0.0", nil},
		`SLUICE_THRESHOLD|a b: name "a b": must be 1..64 letters, digits, _ . -`:                                        {"SLUICE_THRESHOLD", "a b", fields{"high_bytes": "2"}},
		`SLUICE_THRESHOLD|: name: must be 1..64 letters, digits, _ . -`:                                                 {"SLUICE_THRESHOLD", "", fields{"high_bytes": "2"}},
		`SLUICE_THRESHOLD|t: high_bytes: is missing, and has no default`:                                                {"SLUICE_THRESHOLD", "t", nil},
		`SLUICE_THRESHOLD|t: high_bytes "1": must be 2 or more`:                                                         {"SLUICE_THRESHOLD", "t", fields{"high_bytes": "1", "low_bytes": "0"}},
		`SLUICE_THRESHOLD|t: low_bytes "5": low_bytes must be less than high_bytes`:                                     {"SLUICE_THRESHOLD", "t", fields{"high_bytes": "5", "low_bytes": "5"}},
		`SLUICE_THRESHOLD|t: queues@ "8": must be 0..7`:                                                                 {"SLUICE_THRESHOLD", "t", fields{"high_bytes": "5", "queues@": "3,8"}},
		`SLUICE_THRESHOLD|t: queues@ "3": must not be there twice`:                                                      {"SLUICE_THRESHOLD", "t", fields{"high_bytes": "5", "queues@": "3,3"}},
		`SLUICE_THRESHOLD|t: queues "3": the field's name must be queues@`:                                              {"SLUICE_THRESHOLD", "t", fields{"high_bytes": "5", "queues": "3"}},
		`SLUICE_THRESHOLD|t: high_bytes@ "5": the field's name must be high_bytes`:                                      {"SLUICE_THRESHOLD", "t", fields{"high_bytes@": "5"}},
		`SLUICE_THRESHOLD|t: name "t": is in the key, and no field`:                                                     {"SLUICE_THRESHOLD", "t", fields{"high_bytes": "5", "name": "t"}},
		`SLUICE_RATE_ADVICE_HOST|::/0: color "blue": no such field; there are: `:                                        {"SLUICE_RATE_ADVICE_HOST", "::/0", fields{"color": "blue"}},
		`SLUICE_CONFIG_ERROR|SLUICE_PORT: the key must be table|key`:                                                    {"SLUICE_CONFIG_ERROR", "SLUICE_PORT", nil},
		`SLUICE_CAPABILITY|global: the only row of this table is SLUICE_CAPABILITY|switch`:                              {"SLUICE_CAPABILITY", "global", nil},
		`SLUICE_STATS|global: label_skipped_percent "50": must have a point and at most 1 digits behind it, 0.0..100.0`: {"SLUICE_STATS", "global", fields{"label_skipped_percent": "50"}},
		`SLUICE_STATS|global: label_skipped_percent "100.1": must be 0.0..100.0`:                                        {"SLUICE_STATS", "global", fields{"label_skipped_percent": "100.1"}},
		`SLUICE_PORT|Ethernet4: name "Ethernet4": no such row in PORT or PORTCHANNEL`:                                   {"SLUICE_PORT", "Ethernet4", nil},
		`SLUICE_PORT|Ethernet0: threshold "none": no such row in SLUICE_THRESHOLD`:                                      {"SLUICE_PORT", "Ethernet0", fields{"threshold": "none"}},
	} {
		t.Run(want, func(t *testing.T) {
			errs := Validate([]Row{row}, there)
			if len(errs) != 1 || errs[0].Error() != want {
				t.Errorf("got %v, want %s", errs, want)
			}
		})
	}
}

func TestTwoPrefixesThatAreTheSame(t *testing.T) {
	all := []Row{
		{"SLUICE_PPFC_PEER", "10.1.0.0/8", nil}, {"SLUICE_PPFC_PEER", "10.0.0.0/8", nil},
		{"SLUICE_PPFC_PEER", "2001:db8::/32", nil}, {"SLUICE_PPFC_PEER", "2001:0DB8:0::/32", nil},
		{"SLUICE_RATE_ADVICE_HOST", "10.0.0.0/8", nil}, {"SLUICE_PPFC_PEER", "10.0.0.0/9", nil},
	}
	var got []string
	for _, err := range Validate(all, there) {
		got = append(got, err.Error())
	}
	want := []string{
		"SLUICE_PPFC_PEER|10.1.0.0/8: is the same as SLUICE_PPFC_PEER|10.0.0.0/8",
		"SLUICE_PPFC_PEER|2001:db8::/32: is the same as SLUICE_PPFC_PEER|2001:0DB8:0::/32",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTablesOfEachDatabaseAreThoseOfTheModels(t *testing.T) {
	want := map[string][]string{
		"STATE_DB":    {"SLUICE_ASIC_OBJECT", "SLUICE_CAPABILITY", "SLUICE_CONFIG_ERROR", "SLUICE_FLOW", "SLUICE_HASH", "SLUICE_HOLD", "SLUICE_HOST", "SLUICE_NEXT_HOP", "SLUICE_PLACEMENT_FABRIC", "SLUICE_PLACEMENT_GROUP", "SLUICE_PLACEMENT_MEMBER", "SLUICE_STATE"},
		"COUNTERS_DB": {"SLUICE_DEPTH_STATS", "SLUICE_GNMI_STATS", "SLUICE_IPFIX_STATS", "SLUICE_NOTIFY_STATS", "SLUICE_PORT_STATS", "SLUICE_QUEUE_STATS", "SLUICE_STATS", "SLUICE_TURN_STATS"},
		"APPL_DB":     nil,
	}
	for db, tables := range want {
		if diff := cmp.Diff(tables, Tables(db)); diff != "" {
			t.Errorf("tables of %s (-want +got):\n%s", db, diff)
		}
	}
	if n := len(Tables("CONFIG_DB")); n != 14 {
		t.Errorf("CONFIG_DB has %d tables of Sluice, want 14", n)
	}
	for table, only := range map[string]string{"SLUICE": "global", "SLUICE_CAPABILITY": "switch", "SLUICE_PORT": "", "PORT": ""} {
		if got := Only(table); got != only {
			t.Errorf("the only row of %s has key %q, want %q", table, got, only)
		}
	}
	if diff := cmp.Diff([]string{"flow_label", "role", "threshold", "upstream_neighbor"}, Fields("SLUICE_PORT")); diff != "" {
		t.Error(diff)
	}
}

func TestFillSetsDefaultsAndKeepsValues(t *testing.T) {
	s, err := Decode(Row{"SLUICE_PORT", "Ethernet0", fields{"role": "edge"}})
	if err != nil {
		t.Fatal(err)
	}
	Fill(s)
	p := s.(*model.SonicSluice_SonicSluice_SLUICE_PORT_SLUICE_PORT_LIST)
	if got := p.Role.String(); got != "edge" {
		t.Errorf("role %s: a default has replaced what was set", got)
	}
	global := new(model.SonicSluice_SonicSluice_SLUICE_Global)
	Fill(global)
	row, err := Encode(global)
	if err != nil {
		t.Fatal(err)
	}
	want := fields{
		"admin_state": "enabled", "driver": "sai", "classification": "flow-label", "rc_source_qp": "learn",
		"stream_id_scope": "hash", "stream_id_seed": "0", "stream_id_domain": "default", "flow_capacity": "65536", "publish_next_hops": "disabled", "cpu_rate": "100000",
		"cpu_burst": "10000", "warm_restart": "enabled",
	}
	if diff := cmp.Diff(want, row.Fields); diff != "" {
		t.Error(diff)
	}
}

func TestEncodeRefuses(t *testing.T) {
	for want, s := range map[string]ygot.GoStruct{
		`SLUICE|global: etcd_endpoints@ "http://a,b": a comma separates values in the database, and cannot be in one`: &model.SonicSluice_SonicSluice_SLUICE_Global{EtcdEndpoints: []string{"http://a,b"}},
		`encode row of SLUICE_PORT: name "" cannot be in a key`:                                                       &model.SonicSluice_SonicSluice_SLUICE_PORT_SLUICE_PORT_LIST{},
		`encode row: *model.SonicSluice_SonicSluice is no row of a table`:                                             &model.SonicSluice_SonicSluice{},
	} {
		if _, err := Encode(s); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
