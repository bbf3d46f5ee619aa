// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTopologyHasTwoSpinesFourLeavesAndEightHosts(t *testing.T) {
	l, err := load("sluice.clab.yml")
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, n := range l.Topology.Nodes {
		count[n.Group]++
	}
	for group, want := range map[string]int{"spine": 2, "leaf": 4, "redis": 4, "host": 8, "": 3} {
		if count[group] != want {
			t.Errorf("%d nodes of group %q, want %d", count[group], group, want)
		}
	}
	if got := len(l.Topology.Links); got != 8+2*4 {
		t.Errorf("%d links", got)
	}
	leaf := l.Topology.Nodes["leaf1"]
	if file, ok := l.file(leaf, leaf.Env["SLUICE_DB_CONFIG"]); !ok || filepath.Base(file) != "database_config.json" {
		t.Errorf("the databases of leaf1 are in %s", file)
	}
	if got := l.Topology.Nodes["redis1"].Exec; len(got) != 8 {
		t.Errorf("redis1 inherits %q", got)
	}
}

// What containerlab's schema or rules reject, or its namespaces would do otherwise, is an
// error that says where.
func TestWrongTopologyIsRejected(t *testing.T) {
	text, err := os.ReadFile("sluice.clab.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, want string }{
		{"\nname: sluice\n", "\nname: a lab\n", `name "a lab"`},
		{"\nname: sluice\n", "\nname: sluice\nimage: x\n", "field image not found"},
		{"      group: spine\n", "      group: spin\n", `no group "spin"`},
		{"      group: spine\n", "      group: spine\n      ram: 1Gb\n", "field ram not found"},
		{"    kind: linux\n", "    kind: srl\n", `kind "srl"`},
		{"container:leaf1\n", "container:leaf9\n", `no node "leaf9"`},
		{"container:leaf1\n", "shared\n", `network-mode "shared"`},
		{"host1:eth1", "host1:eth0", "eth0 is the management network's"},
		{"host1:eth1", "host2:eth1", "host2:eth1 is in two links"},
		{"host1:eth1", "host9:eth1", "host9:eth1: no such node"},
		{"leaf1:Ethernet12", "leaf1:Ethernet12345678", "1 to 15 characters"},
		{"172.30.50.11\n", "172.30.51.11\n", "is no address of ipv4-subnet"},
		{"172.30.50.11\n", "172.30.50.12\n", "leaf1 and leaf2 have the same mgmt-ipv4"},
		{"9090:9090", "9090", `port "9090"`},
		{"- prometheus.yml:", "- prometheus.yaml:", "prometheus.yaml: no such file"},
		{"cmd: sleep infinity", "cmd: sh -c 'sleep 9'", "without quotes"},
		{`["host1:eth1", "leaf1:Ethernet0"]`, `["host1:eth1"]`, "has 1 endpoints"},
	} {
		changed := strings.Replace(string(text), c.from, c.to, 1)
		if changed == string(text) {
			t.Errorf("the topology has no %q", c.from)
			continue
		}
		if _, err := parse([]byte(changed), "."); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: %v, want %s", c.to, c.from, err, c.want)
		}
	}
}
