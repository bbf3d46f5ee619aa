// SPDX-License-Identifier: Apache-2.0

// Package oddrows has rows of CONFIG_DB that are wrong, or look so, for tests that compare
// what different programs think of them.
package oddrows

import (
	"strings"

	"sluice/yang/rows"
)

// Ports are rows that others refer to.
var Ports = []rows.Row{{Table: "PORT", Key: "Ethernet0", Fields: map[string]string{"lanes": "0"}}, {Table: "PORTCHANNEL", Key: "PortChannel1"}}

// odd are values that some field takes, and others do not.
var odd = []string{
	"", " ", "0", "1", "-1", "+5", "007", "1024", "4294967295", "4294967296", "18446744073709551616", strings.Repeat("9", 5000), "0x10", "1e3", "1.0", "\u0665", "\u00b2",
	"enabled", "Enabled", "enabled ", "true", "TRUE", "True", "null", "None", "edge", "tls", "udp",
	"10.0.0.1", "10.0.0.01", "10.0.0.1/8", "10.0.0", "::1", "::FFFF:1.2.3.4", "fe80::1%eth0", "2001:DB8::1", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1::2::3", "256.0.0.1", "[::1]",
	"Ethernet0", "ethernet0", "Ethernet0 ", "Ethernet1", "PortChannel1", "a|b", "a/b", "a,b", "gold.1", "x=y", "--", "-n", "@", "*", "%41", "\\", "'", `"`,
	strings.Repeat("x", 64), strings.Repeat("x", 65), strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("x", 4096), strings.Repeat("x", 4097),
	strings.Repeat("\u00e4", 64), strings.Repeat("\u00e4", 4096), "\u00e4\u00df", "\u200b", "\u00a0", "\u202e", "\t", "a\nb", "\r", "\x01", "\x1b[31m", "\x7f", "\u0085", "\ufffe", "\U0001f600",
}

// Rows are rows: those of a field with an odd value, of an odd key, and some.
func Rows() []rows.Row {
	row := func(table, key string, pairs ...string) rows.Row {
		r := rows.Row{Table: table, Key: key, Fields: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			r.Fields[pairs[i]] = pairs[i+1]
		}
		return r
	}
	all := []rows.Row{
		row("SLUICE_IPFIX_COLLECTOR", "gold"),
		row("SLUICE_IPFIX_COLLECTOR", "gold", "address", "::1", "transport", "tls"),
		row("SLUICE_IPFIX_COLLECTOR", "gold", "address", "::1", "transport", "dtls", "ca_file", "/a", "cert_file", "/b"),
		row("SLUICE_IPFIX_COLLECTOR", "gold", "address", "::1", "transport", "udp", "ca_file", "/a"),
		row("SLUICE_IPFIX_COLLECTOR", "gold", "address", "::1", "transport", "tls", "ca_file", "/a", "cert_file", "/b", "key_file", "/c"),
		row("SLUICE_FLOW_LABEL", "global", "admin_state", "enabled", "algorithm", "md5"),
		row("SLUICE_FLOW_LABEL", "global", "color", "red"),
		row("SLUICE", "global", "flow_capacity", "1023"), row("SLUICE", "global", "flow_capacity", "1024"), row("SLUICE", "global", "driver", "SAI"),
		row("SLUICE_PORT", "Ethernet0", "role", "edge"), row("SLUICE_PORT", "Ethernet0", "role", "Edge"),
	}
	for _, endpoints := range []string{
		",", "http://a:1", "HTTP://a:1", "http://a", "http://a:1/", "http://a:1,http://a:1", "http://a:1,", "http://a:1, http://b:1", "http://a:1,https://b:1",
		"https://a:1", "http://[::1]:1", "http://[::1]", "http://::1:1", "http://a:0", "http://a:65536", "http://a:99999", "http://u:p@a:1", "http://a_b:1", "http://\u00e4:1", "ftp://a:1",
		"http://a:1,http://b:1,http://c:1,http://d:1,http://e:1,http://f:1,http://g:1,http://h:1,http://i:1",
		"http://a:1,http://b:1,http://c:1,http://d:1,http://e:1,http://f:1,http://g:1,http://h:1,http://i:1,http://j:1",
	} {
		all = append(all, row("SLUICE", "global", "etcd_endpoints@", endpoints), row("SLUICE", "global", "etcd_endpoints@", endpoints, "stream_id_scope", "global"),
			row("SLUICE", "global", "etcd_endpoints@", endpoints, "etcd_ca_file", "/a"))
	}
	for _, fields := range [][]string{
		{"etcd_user", "u"}, {"etcd_password_file", "/p"}, {"etcd_user", "u", "etcd_password_file", "/p"},
		{"etcd_cert_file", "/c", "etcd_key_file", "/k"}, {"etcd_endpoints@", "https://a:1", "etcd_ca_file", "/a", "etcd_cert_file", "/c"},
		{"etcd_endpoints@", "https://a:1", "etcd_ca_file", "/a", "etcd_cert_file", "/c", "etcd_key_file", "/k"}, {"stream_id_scope", "global"},
	} {
		all = append(all, row("SLUICE", "global", fields...))
	}
	for _, v := range odd {
		all = append(all,
			row("SLUICE_FLOW_LABEL", "global", "manage_switch_hash", v), row("SLUICE_IPFIX", "global", "pen", v),
			row("SLUICE_IPFIX_COLLECTOR", "gold", "address", v), row("SLUICE_IPFIX_COLLECTOR", "gold", "address", "::1", "port", v),
			row("SLUICE_IPFIX_COLLECTOR", "gold", "address", "::1", "transport", "tls", "ca_file", v))
		if v != "" { // a key that is missing is no word of a command
			all = append(all, row("SLUICE_PORT", v, "role", "edge"), row("SLUICE_IPFIX_COLLECTOR", v, "address", "::1"))
		}
	}
	return all
}
