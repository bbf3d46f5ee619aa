// SPDX-License-Identifier: Apache-2.0

package config

import (
	"testing"

	"sluice/yang/rows"
)

// TestDecisionsHoldWhereRowsAreSilent: what holds where the operator says nothing, of everything that
// is configuration because a draft is silent or contradicts itself. A person who
// changes one changes what peers see.
func TestDecisionsHoldWhereRowsAreSilent(t *testing.T) {
	for name, tt := range map[string]struct{ needs, want fields }{
		"SLUICE": {nil, fields{
			"admin_state": "enabled", "classification": "flow-label", "driver": "sai", "rc_source_qp": "learn",
			"stream_id_scope": "hash", "stream_id_seed": "0", "warm_restart": "enabled",
		}},
		"SLUICE_FLOW_LABEL": {nil, fields{
			"admin_state": "disabled", "algorithm": "draft-literal", "manage_switch_hash": "false", "rewrite": "zero-only", "tunnels": "skip",
		}},
		"SLUICE_PFCM": {nil, fields{
			"admin_state": "disabled", "encapsulation": "icmpv6", "enforce": "true", "generate": "true",
			"icmpv6_code": "0", "icmpv6_type": "200", "option_type": "30", "translate_pfc": "false", "unknown_stream": "ignore",
		}},
		"SLUICE_PPFC": {nil, fields{
			"admin_state": "disabled", "client_message": "none", "icmpv4_code": "0", "icmpv4_type": "253", "icmpv6_code": "0",
			"icmpv6_type": "201", "priority_source": "dscp", "transport": "icmp", "udp_port": "1021",
		}},
		"SLUICE_RATE_ADVICE": {nil, fields{
			"admin_state": "disabled", "capability": "list", "capability_mask": "1", "destination_qp": "learned",
			"lifetime_intervals": "3", "opcode": "197", "source": "node",
		}},
		"SLUICE_IPFIX": {nil, fields{
			"admin_state": "disabled", "flags": "last", "mode": "flow", "pen": "32473",
		}},
		"SLUICE_IPFIX_COLLECTOR": {fields{"address": "::1"}, fields{"path_mtu": "1280", "transport": "udp"}},
		"SLUICE_PORT":            {nil, fields{"role": "fabric"}},
		"SLUICE_THRESHOLD":       {fields{"high_bytes": "2"}, fields{"action": "pause", "average_us": "0", "reduction": "50"}},
	} {
		row := rows.Row{Table: name, Key: "global", Fields: tt.needs}
		if name == "SLUICE_PORT" {
			row.Key = "Ethernet0"
		}
		s, err := rows.Decode(row)
		if err != nil {
			t.Fatal(err)
		}
		rows.Fill(s)
		got, err := rows.Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		for field, want := range tt.want {
			if got.Fields[field] != want {
				t.Errorf("%s: %s is %q by default, want %q", name, field, got.Fields[field], want)
			}
		}
	}
}
