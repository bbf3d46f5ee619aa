// SPDX-License-Identifier: Apache-2.0

// Package yang holds the models. Its test lets yanglint, which is what SONiC
// validates with underneath, judge them and rows against them.
package yang

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

type object = map[string]any

// ports are what rows may refer to.
var ports = object{
	"sonic-port:sonic-port":               object{"PORT": object{"PORT_LIST": []object{{"name": "Ethernet0"}}}},
	"sonic-portchannel:sonic-portchannel": object{"PORTCHANNEL": object{"PORTCHANNEL_LIST": []object{{"name": "PortChannel1"}}}},
}

// validate lets yanglint validate one table together with the ports, and
// returns what it says.
func validate(t *testing.T, tables object) string {
	t.Helper()
	data := object{"sonic-sluice:sonic-sluice": tables}
	for k, v := range ports {
		data[k] = v
	}
	content, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "data.json")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return yanglint(t, "-t", "config", "standins/sonic-port.yang", "standins/sonic-portchannel.yang", "sonic-sluice.yang", file)
}

func yanglint(t *testing.T, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("yanglint")
	if err != nil {
		t.Skip("yanglint is not installed: make deps")
	}
	out, err := exec.Command(path, append([]string{"-p", "standins"}, args...)...).CombinedOutput()
	if (err != nil) != (len(out) > 0) {
		t.Fatalf("yanglint: %v: %s", err, out)
	}
	return string(out)
}

func TestModelIsValid(t *testing.T) {
	for _, file := range []string{"sonic-sluice.yang", "sonic-sluice-state.yang"} {
		if said := yanglint(t, file); said != "" {
			t.Error(said)
		}
	}
}

func row(table string, leaves object) object { return object{table: object{"global": leaves}} }

func list(table string, leaves object) object {
	return object{table: object{table + "_LIST": []object{leaves}}}
}

func TestGoodRows(t *testing.T) {
	for name, tables := range map[string]object{
		"everything by default": {"SLUICE": object{"global": object{}}, "SLUICE_FLOW_LABEL": object{"global": object{"admin_state": "enabled"}}},
		"etcd":                  row("SLUICE", object{"stream_id_scope": "global", "etcd_endpoints": []string{"https://[2001:db8::1]:2379", "https://10.0.0.1:2379"}, "etcd_ca_file": "/a"}),
		"router ids":            row("SLUICE", object{"router_id": "10.0.0.1", "router_id_v6": "2001:db8::1"}),
		"port":                  list("SLUICE_PORT", object{"name": "Ethernet0", "role": "edge", "upstream_neighbor": "fe80::1"}),
		"port channel":          list("SLUICE_PORT", object{"name": "PortChannel1"}),
		"threshold":             list("SLUICE_THRESHOLD", object{"name": "gold", "high_bytes": "100000", "low_bytes": "50000", "queues": []int{3, 4}}),
		"gateway":               list("SLUICE_PPFC_GATEWAY", object{"prefix": "2001:db8::/32", "gateway": "2001:db8::1"}),
		"policy":                list("SLUICE_RATE_POLICY", object{"name": "p", "src_prefix": "10.0.0.0/8", "dst_prefix": "10.1.0.0/16", "dscp": 26, "rate_mbps": 40000}),
		"opcode 0x1d":           row("SLUICE_RATE_ADVICE", object{"opcode": 29}),
		"opcode 0xff":           row("SLUICE_RATE_ADVICE", object{"opcode": 255}),
		"collector":             list("SLUICE_IPFIX_COLLECTOR", object{"name": "c", "address": "10.0.0.9", "transport": "tls", "ca_file": "/a", "cert_file": "/b", "key_file": "/c"}),
	} {
		t.Run(name, func(t *testing.T) {
			if said := validate(t, tables); said != "" {
				t.Error(said)
			}
		})
	}
}

func TestBadRows(t *testing.T) {
	for name, tt := range map[string]struct {
		tables object
		want   string // in what yanglint says
	}{
		"algorithm":        {row("SLUICE_FLOW_LABEL", object{"algorithm": "md5"}), "algorithm"},
		"no etcd":          {row("SLUICE", object{"stream_id_scope": "global"}), "stream_id_scope global needs etcd_endpoints"},
		"etcd's CA":        {row("SLUICE", object{"etcd_endpoints": []string{"https://10.0.0.1:2379"}}), "etcd_ca_file is needed"},
		"etcd's schemes":   {row("SLUICE", object{"etcd_endpoints": []string{"https://a:1", "http://b:1"}, "etcd_ca_file": "/a"}), "all http, or all https"},
		"etcd's password":  {row("SLUICE", object{"etcd_user": "u"}), "etcd_user and etcd_password_file go together"},
		"capacity":         {row("SLUICE", object{"flow_capacity": 5}), "flow_capacity"},
		"port":             {list("SLUICE_PORT", object{"name": "Ethernet4"}), "name"},
		"threshold":        {list("SLUICE_PORT", object{"name": "Ethernet0", "threshold": "none"}), "threshold"},
		"neighbor":         {list("SLUICE_PORT", object{"name": "Ethernet0", "upstream_neighbor": "2001:db8::1"}), "must be a link-local"},
		"no high mark":     {list("SLUICE_THRESHOLD", object{"name": "t"}), "high_bytes"},
		"low above high":   {list("SLUICE_THRESHOLD", object{"name": "t", "high_bytes": "5", "low_bytes": "5"}), "low_bytes must be less"},
		"reduction":        {list("SLUICE_THRESHOLD", object{"name": "t", "high_bytes": "5", "reduction": 64}), "reduction"},
		"queue":            {list("SLUICE_THRESHOLD", object{"name": "t", "high_bytes": "5", "queues": []int{8}}), "queues"},
		"row name":         {list("SLUICE_THRESHOLD", object{"name": "a b", "high_bytes": "5"}), "a b"},
		"prefix":           {list("SLUICE_PPFC_PEER", object{"prefix": "10.0.0.0"}), "10.0.0.0"},
		"gateway's family": {list("SLUICE_PPFC_GATEWAY", object{"prefix": "10.0.0.0/8", "gateway": "2001:db8::1"}), "one address family"},
		"policy's family":  {list("SLUICE_RATE_POLICY", object{"name": "p", "src_prefix": "10.0.0.0/8", "dst_prefix": "2001:db8::/32", "rate_mbps": 1}), "one address family"},
		"no rate":          {list("SLUICE_RATE_POLICY", object{"name": "p"}), "rate_mbps"},
		"TLS without CA":   {list("SLUICE_IPFIX_COLLECTOR", object{"name": "c", "address": "10.0.0.9", "transport": "tls"}), "ca_file is needed"},
		"CA without TLS":   {list("SLUICE_IPFIX_COLLECTOR", object{"name": "c", "address": "10.0.0.9", "ca_file": "/a"}), "ca_file is needed"},
		"key without cert": {list("SLUICE_IPFIX_COLLECTOR", object{"name": "c", "address": "10.0.0.9", "key_file": "/a"}), "go together"},
		"opcode below":     {row("SLUICE_RATE_ADVICE", object{"opcode": 191}), "opcode must be one of the manufacturers"},
		"opcode of CNP":    {row("SLUICE_RATE_ADVICE", object{"opcode": 129}), "opcode must be one of the manufacturers"},
		"opcode of RC":     {row("SLUICE_RATE_ADVICE", object{"opcode": 10}), "all others below 192 mean something in RoCEv2"},
		"opcode past 29":   {row("SLUICE_RATE_ADVICE", object{"opcode": 30}), "opcode must be one of the manufacturers"},
		"option of Pad1":   {row("SLUICE_PFCM", object{"option_type": 0}), "option_type must be one of"},
		"option's bits":    {row("SLUICE_PFCM", object{"option_type": 62}), "option_type must be one of"},
		"Router Alert":     {row("SLUICE_PFCM", object{"option_type": 5}), "option_type must be one of"},
		"a solicitation":   {row("SLUICE_PFCM", object{"icmpv6_type": 135}), "icmpv6_type must be"},
		"Echo":             {row("SLUICE_PPFC", object{"icmpv4_type": 8}), "icmpv4_type must be"},
		"an advertisement": {row("SLUICE_PPFC", object{"icmpv6_type": 136}), "icmpv6_type must be"},
		"VXLAN":            {row("SLUICE_PPFC", object{"udp_port": 4789}), "udp_port must not be"},
		"RoCEv2's port":    {row("SLUICE_PPFC", object{"udp_port": 4791}), "udp_port"},
		"unknown leaf":     {row("SLUICE", object{"color": "blue"}), "color"},
	} {
		t.Run(name, func(t *testing.T) {
			if said := validate(t, tt.tables); !strings.Contains(said, tt.want) {
				t.Errorf("yanglint says %q, want %q in it", said, tt.want)
			}
		})
	}
}
