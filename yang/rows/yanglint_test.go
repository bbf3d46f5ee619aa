// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openconfig/goyang/pkg/yang"
)

// SONiC validates with libyang. What it takes we take, and what it refuses we refuse.
func TestSameVerdictAsYanglint(t *testing.T) {
	if _, err := exec.LookPath("yanglint"); err != nil {
		t.Skip("yanglint is not installed: make deps")
	}
	threshold := Row{"SLUICE_THRESHOLD", "gold", fields{"high_bytes": "5"}}
	for name, tt := range map[string]struct {
		rows []Row
		good bool
	}{
		"empty row":                      {[]Row{{"SLUICE", "global", nil}}, true},
		"etcd":                           {[]Row{{"SLUICE", "global", fields{"stream_id_scope": "global", "etcd_endpoints@": "https://[2001:db8::1]:2379,https://b:1", "etcd_ca_file": "/a"}}}, true},
		"etcd, all it takes":             {[]Row{{"SLUICE", "global", fields{"etcd_endpoints@": "https://b:1", "stream_id_domain": "pod-7", "etcd_ca_file": "/a", "etcd_cert_file": "/b", "etcd_key_file": "/c", "etcd_user": "u", "etcd_password_file": "/d"}}}, true},
		"etcd of both schemes":           {[]Row{{"SLUICE", "global", fields{"etcd_endpoints@": "https://a:1,http://b:2", "etcd_ca_file": "/a"}}}, false},
		"etcd without port":              {[]Row{{"SLUICE", "global", fields{"etcd_endpoints@": "http://b"}}}, false},
		"etcd, port of words":            {[]Row{{"SLUICE", "global", fields{"etcd_endpoints@": "http://b:http"}}}, false},
		"etcd with a path":               {[]Row{{"SLUICE", "global", fields{"etcd_endpoints@": "http://b:1/v3"}}}, false},
		"etcd with a password":           {[]Row{{"SLUICE", "global", fields{"etcd_endpoints@": "http://me:pw@b:1"}}}, false},
		"etcd, https and no CA":          {[]Row{{"SLUICE", "global", fields{"etcd_endpoints@": "https://b:1"}}}, false},
		"etcd, CA without https":         {[]Row{{"SLUICE", "global", fields{"etcd_endpoints@": "http://b:1", "etcd_ca_file": "/a"}}}, false},
		"etcd, CA alone":                 {[]Row{{"SLUICE", "global", fields{"etcd_ca_file": "/a"}}}, false},
		"etcd, cert without key":         {[]Row{{"SLUICE", "global", fields{"etcd_endpoints@": "https://b:1", "etcd_ca_file": "/a", "etcd_cert_file": "/b"}}}, false},
		"etcd, cert over http":           {[]Row{{"SLUICE", "global", fields{"etcd_endpoints@": "http://b:1", "etcd_cert_file": "/b", "etcd_key_file": "/c"}}}, false},
		"etcd, no password":              {[]Row{{"SLUICE", "global", fields{"etcd_user": "u"}}}, false},
		"domain of two":                  {[]Row{{"SLUICE", "global", fields{"stream_id_domain": "a/b"}}}, false},
		"no etcd":                        {[]Row{{"SLUICE", "global", fields{"stream_id_scope": "global"}}}, false},
		"etcd ten times":                 {[]Row{{"SLUICE", "global", fields{"etcd_endpoints@": "a,b,c,d,e,f,g,h,i,j"}}}, false},
		"etcd twice the same":            {[]Row{{"SLUICE", "global", fields{"etcd_endpoints@": "a,a"}}}, false},
		"capacity":                       {[]Row{{"SLUICE", "global", fields{"flow_capacity": "5"}}}, false},
		"no number":                      {[]Row{{"SLUICE", "global", fields{"flow_capacity": "many"}}}, false},
		"unknown field":                  {[]Row{{"SLUICE", "global", fields{"color": "blue"}}}, false},
		"IPv6 as router_id":              {[]Row{{"SLUICE", "global", fields{"router_id": "2001:db8::1"}}}, false},
		"leading 0 in IPv4":              {[]Row{{"SLUICE", "global", fields{"router_id": "10.0.0.01"}}}, false},
		"IPv4 in IPv6":                   {[]Row{{"SLUICE", "global", fields{"router_id_v6": "::ffff:10.0.0.1"}}}, true},
		"nine groups":                    {[]Row{{"SLUICE", "global", fields{"router_id_v6": "1:2:3:4:5:6:7:8:9"}}}, false},
		"zone":                           {[]Row{{"SLUICE", "global", fields{"router_id_v6": "fe80::1%eth0"}}}, false},
		"enum":                           {[]Row{{"SLUICE_FLOW_LABEL", "global", fields{"algorithm": "crc32"}}}, true},
		"enum unknown":                   {[]Row{{"SLUICE_FLOW_LABEL", "global", fields{"algorithm": "md5"}}}, false},
		"boolean":                        {[]Row{{"SLUICE_FLOW_LABEL", "global", fields{"manage_switch_hash": "true"}}}, true},
		"boolean of Python":              {[]Row{{"SLUICE_FLOW_LABEL", "global", fields{"manage_switch_hash": "True"}}}, false},
		"port":                           {[]Row{{"SLUICE_PORT", "Ethernet0", fields{"role": "edge", "upstream_neighbor": "fe80::1"}}}, true},
		"port channel":                   {[]Row{{"SLUICE_PORT", "PortChannel1", nil}}, true},
		"no such port":                   {[]Row{{"SLUICE_PORT", "Ethernet4", nil}}, false},
		"neighbor in capitals":           {[]Row{{"SLUICE_PORT", "Ethernet0", fields{"upstream_neighbor": "FE80::A"}}}, true},
		"neighbor, mixed":                {[]Row{{"SLUICE_PORT", "Ethernet0", fields{"upstream_neighbor": "Fe80::A"}}}, true},
		"neighbor, not local":            {[]Row{{"SLUICE_PORT", "Ethernet0", fields{"upstream_neighbor": "2001:db8::1"}}}, false},
		"threshold of a port":            {[]Row{threshold, {"SLUICE_PORT", "Ethernet0", fields{"threshold": "gold"}}}, true},
		"no such threshold":              {[]Row{threshold, {"SLUICE_PORT", "Ethernet0", fields{"threshold": "silver"}}}, false},
		"no high mark":                   {[]Row{{"SLUICE_THRESHOLD", "t", nil}}, false},
		"high mark 0":                    {[]Row{{"SLUICE_THRESHOLD", "t", fields{"high_bytes": "0"}}}, false},
		"high mark 1, low mark 0":        {[]Row{{"SLUICE_THRESHOLD", "t", fields{"high_bytes": "1", "low_bytes": "0"}}}, false},
		"least marks":                    {[]Row{{"SLUICE_THRESHOLD", "t", fields{"high_bytes": "2", "low_bytes": "0"}}}, true},
		"largest high mark":              {[]Row{{"SLUICE_THRESHOLD", "t", fields{"high_bytes": "18446744073709551615"}}}, true},
		"one more":                       {[]Row{{"SLUICE_THRESHOLD", "t", fields{"high_bytes": "18446744073709551616"}}}, false},
		"negative":                       {[]Row{{"SLUICE_THRESHOLD", "t", fields{"high_bytes": "-1"}}}, false},
		"low mark":                       {[]Row{{"SLUICE_THRESHOLD", "t", fields{"high_bytes": "5", "low_bytes": "4"}}}, true},
		"low mark too high":              {[]Row{{"SLUICE_THRESHOLD", "t", fields{"high_bytes": "5", "low_bytes": "5"}}}, false},
		"queues":                         {[]Row{{"SLUICE_THRESHOLD", "t", fields{"high_bytes": "5", "queues@": "0,7"}}}, true},
		"queue 8":                        {[]Row{{"SLUICE_THRESHOLD", "t", fields{"high_bytes": "5", "queues@": "8"}}}, false},
		"reduction 64":                   {[]Row{{"SLUICE_THRESHOLD", "t", fields{"high_bytes": "5", "reduction": "64"}}}, false},
		"name of 64":                     {[]Row{{"SLUICE_THRESHOLD", name64, fields{"high_bytes": "5"}}}, true},
		"name of 65":                     {[]Row{{"SLUICE_THRESHOLD", name64 + "x", fields{"high_bytes": "5"}}}, false},
		"name with a blank":              {[]Row{{"SLUICE_THRESHOLD", "a b", fields{"high_bytes": "5"}}}, false},
		"option type":                    {[]Row{{"SLUICE_PFCM", "global", fields{"option_type": "62"}}}, false},
		"UDP port of RoCEv2":             {[]Row{{"SLUICE_PPFC", "global", fields{"udp_port": "4791"}}}, false},
		"UDP port 0":                     {[]Row{{"SLUICE_PPFC", "global", fields{"udp_port": "0"}}}, false},
		"gateway":                        {[]Row{{"SLUICE_PPFC_GATEWAY", "2001:db8::/32", fields{"gateway": "2001:db8::1"}}}, true},
		"gateways":                       {[]Row{{"SLUICE_PPFC_GATEWAY", "2001:db8::/32", fields{"gateway": "2001:db8::1", "other_gateways@": "2001:db8::2,2001:db8::3"}}}, true},
		"gateways of two kinds":          {[]Row{{"SLUICE_PPFC_GATEWAY", "2001:db8::/32", fields{"gateway": "2001:db8::1", "other_gateways@": "2001:db8::2,10.0.0.1"}}}, false},
		"gateways, none of its kind":     {[]Row{{"SLUICE_PPFC_GATEWAY", "10.0.0.0/8", fields{"gateway": "10.0.0.1", "other_gateways@": "2001:db8::2"}}}, false},
		"gateway of other kind":          {[]Row{{"SLUICE_PPFC_GATEWAY", "10.0.0.0/8", fields{"gateway": "2001:db8::1"}}}, false},
		"no gateway":                     {[]Row{{"SLUICE_PPFC_GATEWAY", "10.0.0.0/8", nil}}, false},
		"prefix with host bits":          {[]Row{{"SLUICE_PPFC_PEER", "10.1.2.3/8", nil}}, true},
		"prefix without length":          {[]Row{{"SLUICE_PPFC_PEER", "10.0.0.0", nil}}, false},
		"prefix of 33":                   {[]Row{{"SLUICE_PPFC_PEER", "10.0.0.0/33", nil}}, false},
		"prefix of 08":                   {[]Row{{"SLUICE_PPFC_PEER", "10.0.0.0/08", nil}}, false},
		"two prefixes":                   {[]Row{{"SLUICE_PPFC_PEER", "10.0.0.0/8", nil}, {"SLUICE_PPFC_PEER", "10.0.0.0/9", nil}}, true},
		"one prefix, two forms":          {[]Row{{"SLUICE_PPFC_PEER", "10.0.0.0/8", nil}, {"SLUICE_PPFC_PEER", "10.1.0.0/8", nil}}, false},
		"opcode 28":                      {[]Row{{"SLUICE_RATE_ADVICE", "global", fields{"opcode": "28"}}}, false},
		"opcode 29":                      {[]Row{{"SLUICE_RATE_ADVICE", "global", fields{"opcode": "29"}}}, true},
		"opcode 30":                      {[]Row{{"SLUICE_RATE_ADVICE", "global", fields{"opcode": "30"}}}, false},
		"opcode 191":                     {[]Row{{"SLUICE_RATE_ADVICE", "global", fields{"opcode": "191"}}}, false},
		"opcode 192":                     {[]Row{{"SLUICE_RATE_ADVICE", "global", fields{"opcode": "192"}}}, true},
		"opcode 255":                     {[]Row{{"SLUICE_RATE_ADVICE", "global", fields{"opcode": "255"}}}, true},
		"opcode 256":                     {[]Row{{"SLUICE_RATE_ADVICE", "global", fields{"opcode": "256"}}}, false},
		"host":                           {[]Row{{"SLUICE_RATE_ADVICE_HOST", "::/0", nil}}, true},
		"policy":                         {[]Row{{"SLUICE_RATE_POLICY", "p", fields{"src_prefix": "10.0.0.0/8", "dst_prefix": "10.1.0.0/16", "dscp": "63", "rate_mbps": "1"}}}, true},
		"policy of two families":         {[]Row{{"SLUICE_RATE_POLICY", "p", fields{"src_prefix": "10.0.0.0/8", "dst_prefix": "2001:db8::/32", "rate_mbps": "1"}}}, false},
		"policy of one prefix":           {[]Row{{"SLUICE_RATE_POLICY", "p", fields{"dst_prefix": "2001:db8::/32", "rate_mbps": "1"}}}, true},
		"policy of a part of the port":   {[]Row{{"SLUICE_RATE_POLICY", "p", fields{"dscp": "26", "port_percent": "30"}}}, true},
		"policy of both":                 {[]Row{{"SLUICE_RATE_POLICY", "p", fields{"rate_mbps": "5", "port_percent": "100"}}}, true},
		"policy of 101 %":                {[]Row{{"SLUICE_RATE_POLICY", "p", fields{"port_percent": "101"}}}, false},
		"policy of 0 %":                  {[]Row{{"SLUICE_RATE_POLICY", "p", fields{"port_percent": "0"}}}, false},
		"policy without a rate":          {[]Row{{"SLUICE_RATE_POLICY", "p", fields{"dscp": "26"}}}, false},
		"dscp 64":                        {[]Row{{"SLUICE_RATE_POLICY", "p", fields{"dscp": "64", "rate_mbps": "1"}}}, false},
		"IPFIX":                          {[]Row{{"SLUICE_IPFIX", "global", fields{"pen": "4294967295", "flags": "or"}}}, true},
		"ids of IANA's elements":         {[]Row{{"SLUICE_IPFIX", "global", fields{"pen": "0"}}}, false},
		"counted up with PEN 0":          {[]Row{{"SLUICE_IPFIX", "global", fields{"pen": "0", "first_element_id": "600", "element_ids@": assigned}}}, false},
		"elements of IANA":               {[]Row{{"SLUICE_IPFIX", "global", fields{"pen": "0", "element_ids@": assigned}}}, true},
		"ids with a PEN":                 {[]Row{{"SLUICE_IPFIX", "global", fields{"element_ids@": assigned}}}, false},
		"seven ids":                      {[]Row{{"SLUICE_IPFIX", "global", fields{"pen": "0", "element_ids@": "600,601,602,603,604,605,606"}}}, false},
		"the last id of IANA's elements": {[]Row{{"SLUICE_IPFIX", "global", fields{"pen": "0", "element_ids@": "600,601,602,603,604,605,606,533"}}}, false},
		"an id twice":                    {[]Row{{"SLUICE_IPFIX", "global", fields{"pen": "0", "element_ids@": "600,601,602,603,604,605,606,600"}}}, false},
		"health with PEN 0":              {[]Row{{"SLUICE_IPFIX", "global", fields{"pen": "0", "element_ids@": assigned, "health": "enabled"}}}, false},
		"no health with PEN 0":           {[]Row{{"SLUICE_IPFIX", "global", fields{"pen": "0", "element_ids@": assigned, "health": "disabled"}}}, true},
		"health":                         {[]Row{{"SLUICE_IPFIX", "global", fields{"health": "enabled"}}}, true},
		"the last first element":         {[]Row{{"SLUICE_IPFIX", "global", fields{"pen": "4242", "first_element_id": "32758"}}}, true},
		"PPFC of PFCM's type":            {[]Row{{"SLUICE_PPFC", "global", fields{"icmpv6_type": "200"}}}, false},
		"PFCM of PPFC's type":            {[]Row{{"SLUICE_PFCM", "global", fields{"icmpv6_type": "201"}}}, false},
		"types changed":                  {[]Row{{"SLUICE_PFCM", "global", fields{"icmpv6_type": "201"}}, {"SLUICE_PPFC", "global", fields{"icmpv6_type": "200"}}}, true},
		"tunnels":                        {[]Row{{"SLUICE_FLOW_LABEL", "global", fields{"tunnels": "outer"}}}, true},
		"tunnels inside":                 {[]Row{{"SLUICE_FLOW_LABEL", "global", fields{"tunnels": "inner"}}}, false},
		"elements over the end":          {[]Row{{"SLUICE_IPFIX", "global", fields{"first_element_id": "32760"}}}, false},
		"TLS":                            {[]Row{{"SLUICE_IPFIX_COLLECTOR", "c", fields{"address": "10.0.0.9", "transport": "tls", "ca_file": "/a", "cert_file": "/b", "key_file": "/c"}}}, true},
		"TLS without CA":                 {[]Row{{"SLUICE_IPFIX_COLLECTOR", "c", fields{"address": "10.0.0.9", "transport": "tls"}}}, false},
		"CA without TLS":                 {[]Row{{"SLUICE_IPFIX_COLLECTOR", "c", fields{"address": "10.0.0.9", "ca_file": "/a"}}}, false},
		"cert without key":               {[]Row{{"SLUICE_IPFIX_COLLECTOR", "c", fields{"address": "10.0.0.9", "cert_file": "/a"}}}, false},
		"empty CA":                       {[]Row{{"SLUICE_IPFIX_COLLECTOR", "c", fields{"address": "10.0.0.9", "ca_file": ""}}}, false},
		"state":                          {[]Row{{"SLUICE_STATE", "global", fields{"state": "running", "since": "2026-11-21T10:00:00Z"}}}, true},
		"state unknown":                  {[]Row{{"SLUICE_STATE", "global", fields{"state": "asleep"}}}, false},
		"time":                           {[]Row{{"SLUICE_STATE", "global", fields{"since": "today"}}}, false},
		"capability":                     {[]Row{{"SLUICE_CAPABILITY", "switch", fields{"flow_label_method": "udf-hash"}}}, true},
		"flow":                           {[]Row{{"SLUICE_FLOW", "::1,::2,000011", fields{"src": "::1", "dest_qp": "16777215", "flow_label": "1048575"}}}, true},
		"label too long":                 {[]Row{{"SLUICE_FLOW", "::1,::2,000011", fields{"flow_label": "1048576"}}}, false},
		"two keys":                       {[]Row{{"SLUICE_CONFIG_ERROR", "SLUICE_PORT|a|b", fields{"reason": "no such port"}}}, true},
		"decimal":                        {[]Row{{"SLUICE_STATS", "global", fields{"label_skipped_percent": "33.3"}}}, true},
		"decimal, long":                  {[]Row{{"SLUICE_STATS", "global", fields{"label_skipped_percent": "33.33"}}}, false},
		"decimal, large":                 {[]Row{{"SLUICE_STATS", "global", fields{"label_skipped_percent": "100.1"}}}, false},
		"message":                        {[]Row{{"SLUICE_NOTIFY_STATS", "pfcm", fields{"sent": "18446744073709551615"}}}, true},
		"other message":                  {[]Row{{"SLUICE_NOTIFY_STATS", "arp", nil}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			errs := Validate(tt.rows, there)
			if good := len(errs) == 0; good != tt.good {
				t.Errorf("we say %v, want good %v", errs, tt.good)
			}
			if said := yanglint(t, tt.rows); (said == "") != tt.good {
				t.Errorf("yanglint says %q, want good %v", said, tt.good)
			}
		})
	}
}

const assigned = "600,700,601,602,603,534,604,32767"

const name64 = "0123456789012345678901234567890123456789012345678901234567890123"

type object = map[string]any

// yanglint returns what yanglint says of rows, together with the ports.
func yanglint(t *testing.T, all []Row) string {
	t.Helper()
	tables := object{}
	for _, r := range all {
		if only := byName()[r.Table].only; only != "" {
			tables[r.Table] = object{only: leavesOf(r)}
			continue
		}
		list, _ := tables[r.Table].(object)
		if list == nil {
			list = object{r.Table + "_LIST": []object{}}
			tables[r.Table] = list
		}
		list[r.Table+"_LIST"] = append(list[r.Table+"_LIST"].([]object), leavesOf(r))
	}
	module, datatype := "sonic-sluice", "config"
	if byName()[all[0].Table].database != "CONFIG_DB" {
		module, datatype = "sonic-sluice-state", "data"
	}
	content, err := json.Marshal(object{
		"sonic-port:sonic-port":               object{"PORT": object{"PORT_LIST": []object{{"name": "Ethernet0"}}}},
		"sonic-portchannel:sonic-portchannel": object{"PORTCHANNEL": object{"PORTCHANNEL_LIST": []object{{"name": "PortChannel1"}}}},
		module + ":" + module:                 tables,
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "data.json")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("yanglint", "-p", "../standins", "-t", datatype,
		"../standins/sonic-port.yang", "../standins/sonic-portchannel.yang", "../"+module+".yang", file).CombinedOutput()
	if (err != nil) != (len(out) > 0) {
		t.Fatalf("yanglint: %v: %s", err, out)
	}
	return string(out)
}

// leavesOf returns a row as JSON has it, right or wrong.
func leavesOf(r Row) object {
	t, leaves := byName()[r.Table], object{}
	if t.only == "" {
		for i, part := range strings.SplitN(r.Key, keySeparator, len(t.keys)) {
			leaves[t.keys[i]] = part
		}
	}
	for field, value := range r.Fields {
		leaf := field
		if field[len(field)-1] == '@' {
			leaf = field[:len(field)-1]
		}
		e := t.entry.Dir[leaf]
		if e == nil {
			leaves[leaf] = value
		} else if e.IsLeafList() {
			leaves[leaf] = jsonList(e, value)
		} else {
			leaves[leaf] = literal(e.Type.Kind, value)
		}
	}
	return leaves
}

func jsonList(e *yang.Entry, value string) []any {
	var list []any
	for _, v := range strings.Split(value, ",") {
		list = append(list, literal(e.Type.Kind, v))
	}
	return list
}

// literal returns a value as number or boolean where it is one, else as string.
func literal(k yang.TypeKind, value string) any {
	if json.Valid([]byte(value)) && k != yang.Ystring && k != yang.Yint64 && k != yang.Yuint64 && k != yang.Ydecimal64 {
		return json.RawMessage(value)
	}
	return value
}
