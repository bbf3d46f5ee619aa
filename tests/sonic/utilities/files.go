// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
)

// Ports of the switch, Ethernet0, Ethernet4 and so on.
const ports = 8

const (
	platform  = "x86_64-kvm_x86_64-r0"
	hwsku     = "Force10-S6000"
	configDB  = "/etc/sonic/config_db.json"
	initCfg   = "/etc/sonic/init_cfg.json"
	packages  = "/var/lib/sonic-package-manager/packages.json"
	ourModels = "yang/*.yang" // of this tree
)

// table is a table of CONFIG_DB as files have it, by key and field. A list is of type []string.
type table map[string]map[string]any

// tables are CONFIG_DB as files have it.
type tables map[string]table

// plus returns t with the tables of others added to it, row by row.
func (t tables) plus(others tables) tables {
	all := tables{}
	for _, part := range []tables{t, others} {
		for name, rows := range part {
			if all[name] == nil {
				all[name] = table{}
			}
			maps.Copy(all[name], rows)
		}
	}
	return all
}

// files writes the files of a switch that DIR lacks, and the stand-in for systemctl.
func (m *machine) files() error {
	texts := map[string]string{
		"/etc/sonic/sonic_version.yml": fmt.Sprintf("build_version: '%s'\ndebian_version: '12'\nasic_type: vs\nbuild_date: Thu Jan 1 00:00:00 UTC 1970\n"+
			"built_by: none\ncommit_id: '0'\nkernel_version: '6'\nrelease: 'none'\nbranch: 'none'\nlibswsscommon: 1.0.0\nsonic_utilities: 1.2\n", filepath.Base(m.sonic)),
		"/host/machine.conf":    "onie_platform=" + platform + "\nonie_machine=kvm_x86_64\n",
		generatedServices:       "database.service\nswss.service\nsyncd.service\n",
		"/etc/fips/fips_enable": "0\n",
		"/usr/share/sonic/device/" + platform + "/default_sku":         hwsku + " t1\n",
		"/usr/share/sonic/device/" + platform + "/asic.conf":           "NUM_ASIC=1\n",
		"/usr/share/sonic/device/" + platform + "/platform_asic":       "vs\n",
		"/usr/share/sonic/device/" + platform + "/" + hwsku + "/hwsku": "",
	}
	for file, text := range texts {
		if err := absent(file, text); err != nil {
			return err
		}
	}
	if err := writeJSON(initCfg, initial()); err != nil {
		return err
	}
	if err := writeJSON(configDB, sonic()); err != nil {
		return err
	}
	for _, folder := range []string{systemctls, unitsFolder, "/usr/local/bin/debug-dump", "/var/log/syslog.d", "/var/dump", "/host/warmboot", "/var/lib/sonic-package-manager/manifests", "/etc/sonic/checkpoints", "/var/run/redis-chassis"} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, name := range []string{"/usr/bin/systemctl", "/bin/systemctl"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.Symlink(self, name); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	// All run as root here, and nothing is watched.
	for name, text := range map[string]string{"sudo": `exec "$@"`, "monit": "exit 0"} {
		if err := errors.Join(absent("/usr/bin/"+name, "#!/bin/sh\n"+text+"\n"), os.Chmod("/usr/bin/"+name, 0o755)); err != nil {
			return err
		}
	}
	return exec.Command("ldconfig").Run() // DIR's libraries are no part of this machine's cache
}

// absent writes a file unless it is there.
func absent(file, text string) error {
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// databaseConfig returns SONiC's database_config.json for one Redis.
func databaseConfig(socket string) any {
	ids := []string{
		"APPL_DB", "ASIC_DB", "COUNTERS_DB", "LOGLEVEL_DB", "CONFIG_DB", "FLEX_COUNTER_DB", "STATE_DB", "SNMP_OVERLAY_DB",
		"RESTAPI_DB", "GB_ASIC_DB", "GB_COUNTERS_DB", "GB_FLEX_COUNTER_DB", "APPL_STATE_DB", "CHASSIS_APP_DB", "CHASSIS_STATE_DB",
	}
	databases := map[string]any{"PFC_WD_DB": map[string]any{"id": 5, "separator": ":", "instance": "redis"}}
	for id, name := range ids {
		separator := ":"
		switch name {
		case "CONFIG_DB", "STATE_DB", "SNMP_OVERLAY_DB", "CHASSIS_APP_DB", "CHASSIS_STATE_DB":
			separator = "|"
		}
		databases[name] = map[string]any{"id": id, "separator": separator, "instance": "redis"}
	}
	return map[string]any{
		"INSTANCES": map[string]any{"redis": map[string]any{"hostname": "127.0.0.1", "port": 6379, "unix_socket_path": socket, "persistence_for_warm_boot": "yes"}},
		"DATABASES": databases,
		"VERSION":   "1.0",
	}
}

// initial is init_cfg.json: features of SONiC's containers.
func initial() tables {
	features := table{}
	for _, name := range []string{"database", "swss", "syncd"} {
		features[name] = map[string]any{
			"state": "enabled", "auto_restart": "enabled", "has_global_scope": "False", "has_per_asic_scope": "True", "delayed": "False",
			"high_mem_alert": "disabled", "set_owner": "local", "support_syslog_rate_limit": "true",
		}
	}
	features["database"]["state"], features["database"]["auto_restart"], features["database"]["has_global_scope"] = "always_enabled", "always_enabled", "True"
	return tables{
		"FEATURE":          features,
		"AUTO_TECHSUPPORT": {"GLOBAL": {"state": "enabled", "rate_limit_interval": "180", "max_techsupport_limit": "10.0", "max_core_limit": "5.0", "since": "2 days ago"}},
		"CRM":              {"Config": {"polling_interval": "300", "acl_entry_threshold_type": "percentage", "acl_entry_low_threshold": "70", "acl_entry_high_threshold": "85"}},
	}
}

// sonic is the configuration of a switch without Sluice.
func sonic() tables {
	t := tables{
		"DEVICE_METADATA": {"localhost": {
			"hostname": "leaf1", "hwsku": hwsku, "platform": platform, "mac": "52:54:00:00:00:01", "type": "LeafRouter", "bgp_asn": "65100",
			"default_bgp_status": "up", "buffer_model": "traditional", "synchronous_mode": "enable",
		}},
		"PORT":               {},
		"INTERFACE":          {"Ethernet0": {}, "Ethernet0|10.0.0.0/31": {}, "Ethernet0|2001:db8::/127": {}},
		"LOOPBACK_INTERFACE": {"Loopback0": {}, "Loopback0|10.1.0.1/32": {}},
		"PORTCHANNEL":        {"PortChannel1": {"admin_status": "up", "mtu": "9100", "min_links": "1", "lacp_key": "auto"}},
		"PORTCHANNEL_MEMBER": {"PortChannel1|Ethernet24": {}, "PortChannel1|Ethernet28": {}},
		"VLAN":               {"Vlan10": {"vlanid": "10"}},
		"ACL_TABLE":          {"DATAACL": {"type": "L3", "policy_desc": "DATAACL", "stage": "ingress", "ports": []string{"Ethernet0", "Ethernet12"}}},
		"ACL_RULE":           {"DATAACL|RULE_1": {"PRIORITY": "9999", "PACKET_ACTION": "DROP", "SRC_IP": "10.9.0.0/16"}},
		"SWITCH_HASH":        {"GLOBAL": {"ecmp_hash": []string{"SRC_IP", "DST_IP", "IP_PROTOCOL", "L4_SRC_PORT", "L4_DST_PORT"}}},
	}
	for i := range ports {
		t["PORT"][fmt.Sprintf("Ethernet%d", 4*i)] = map[string]any{
			"lanes": fmt.Sprintf("%d,%d,%d,%d", 4*i, 4*i+1, 4*i+2, 4*i+3), "alias": fmt.Sprintf("fortyGigE0/%d", 4*i),
			"speed": "40000", "admin_status": "up", "mtu": "9100", "index": fmt.Sprint(i),
		}
	}
	return t.plus(initial())
}

// sluice is a configuration with each table of Sluice, with lists, references and rows without
// fields.
func sluice() tables {
	return tables{
		"SLUICE": {"global": {"admin_state": "enabled", "driver": "orchagent", "router_id": "10.1.0.1", "stream_id_scope": "global",
			"etcd_endpoints": []string{"http://10.1.0.9:2379", "http://10.1.0.8:2379"}}},
		"SLUICE_PORT": {
			"Ethernet0":    {"role": "edge", "threshold": "lossless"},
			"Ethernet4":    {"role": "edge", "flow_label": "disabled"},
			"PortChannel1": {"role": "fabric", "threshold": "lossless"},
		},
		"SLUICE_FLOW_LABEL":       {"global": {"admin_state": "enabled", "algorithm": "crc32", "manage_switch_hash": "true"}},
		"SLUICE_PLACEMENT":        {"global": {"admin_state": "enabled", "moves": "idle"}},
		"SLUICE_THRESHOLD":        {"lossless": {"high_bytes": "100000", "low_bytes": "50000", "queues": []string{"3", "4"}, "sampling_rate": "256"}},
		"SLUICE_PFCM":             {"global": {"admin_state": "enabled", "icmpv6_type": "200"}},
		"SLUICE_PPFC":             {"global": {"admin_state": "enabled", "icmpv6_type": "201", "udp_port": "1021"}},
		"SLUICE_PPFC_GATEWAY":     {"10.2.0.0/16": {"gateway": "10.1.0.2"}, "2001:db8:2::/48": {"gateway": "2001:db8::2"}},
		"SLUICE_PPFC_PEER":        {"10.3.0.0/16": {}, "2001:db8:3::/48": {}},
		"SLUICE_RATE_ADVICE":      {"global": {"admin_state": "enabled", "opcode": "197"}},
		"SLUICE_RATE_ADVICE_HOST": {"10.4.0.0/16": {}, "2001:db8:4::/48": {}},
		"SLUICE_IPFIX":            {"global": {"admin_state": "enabled"}},
		"SLUICE_IPFIX_COLLECTOR":  {"one": {"address": "10.5.0.1", "port": "4739"}},
		"SLUICE_RATE_POLICY":      {"backup": {"src_prefix": "10.6.0.0/16", "dst_prefix": "10.7.0.0/16", "rate_mbps": "1000"}},
	}
}
