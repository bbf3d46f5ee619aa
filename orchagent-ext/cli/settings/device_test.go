// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"strings"
	"testing"

	"sluice/yang/rows"
)

func TestDevicesBecomePortsWithoutSONiC(t *testing.T) {
	set := func(key string) Change { return table(t, "port").Set(key, map[string]string{"role": "edge"}) }
	del := func(key string) Change { return table(t, "port").Del(key, "") }
	none := NewConfig(nil)
	some := NewConfig([]rows.Row{
		row("PORT|eth1", "admin_status", "up"), row("SLUICE_PORT|eth1", "role", "edge"),
		row("PORT|eth2", "admin_status", "up", "mtu", "9100"), row("SLUICE_PORT|eth2", "role", "edge"),
		row("PORTCHANNEL|bond0"),
	})
	for _, tt := range []struct {
		name   string
		c      Config
		change Change
		want   string // what differs
		err    string
	}{
		{"device", none, set("eth1"), "+PORT|eth1 admin_status up; +SLUICE_PORT|eth1 role edge", ""},
		{"device that is a port", some, table(t, "port").Set("eth1", map[string]string{"role": "fabric"}), "-SLUICE_PORT|eth1 role edge; +SLUICE_PORT|eth1 role fabric", ""},
		{"PortChannel", some, set("bond0"), "+SLUICE_PORT|bond0 role edge", ""},
		{"no device", some, set("eth9"), "", `SLUICE_PORT|eth9: name "eth9": no such network device, nor row in PORT or PORTCHANNEL; there are: bond0, eth1, eth2, eth3`},
		{"removed", some, del("eth1"), "-PORT|eth1 admin_status up; -SLUICE_PORT|eth1 role edge", ""},
		{"removed, with a port that has more", some, del("eth2"), "-SLUICE_PORT|eth2 role edge", ""},
		{"field removed", some, table(t, "port").Del("eth1", "role"), "-SLUICE_PORT|eth1 role edge", ""},
		{"other table", none, table(t, "flow-label").Set("global", map[string]string{"algorithm": "crc32"}), "+SLUICE_FLOW_LABEL|global algorithm crc32", ""},
		{"file", none, (&File{Rows: []rows.Row{row("SLUICE_PORT|eth3"), row("PORT|eth2", "admin_status", "up")}}).Load(), "+PORT|eth2 admin_status up; +PORT|eth3 admin_status up; +SLUICE_PORT|eth3", ""},
		{"SONiC", configured(), set("eth1"), "", `SLUICE_PORT|eth1: name "eth1": no such row in PORT or PORTCHANNEL; there are: Ethernet0, Ethernet4, Ethernet8, Ethernet12, Ethernet16, Ethernet20, Ethernet24, Ethernet28, …`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, edits, err := tt.c.Apply(WithDevices(tt.change, []string{"eth1", "eth2", "eth3"}))
			if fmt.Sprint(err) != tt.err && (err != nil || tt.err != "") {
				t.Errorf("error %v\n want %s", err, tt.err)
			}
			if got := said(Lines(edits)); got != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
		})
	}
}

// What made a device a port is taken back with the rest of the change.
func TestDevicesAreNoPortsAfterRollback(t *testing.T) {
	c := NewConfig(nil)
	next, edits, err := c.Apply(WithDevices(table(t, "port").Set("eth1", map[string]string{"role": "edge"}), []string{"eth1"}))
	if err != nil {
		t.Fatal(err)
	}
	var j Journal
	j.Add(c, Entry{Edits: edits})
	undo, _, err := j.Undo(1, false)
	if err != nil {
		t.Fatal(err)
	}
	if back, edits, err := next.Apply(undo); err != nil || len(back) != 0 || len(edits) != 2 {
		t.Errorf("%v, %v, %v", back, edits, err)
	}
}

func TestFilesNameDevices(t *testing.T) {
	f, err := Parse(strings.NewReader(`{"PORT": {"eth1": {"admin_status": "up"}, "Ethernet0": {"lanes": "1,2", "admin_status": "up"}}, "VLAN": {}}`), "")
	if err != nil || len(f.Rows) != 1 || f.Rows[0].Name() != "PORT|eth1" {
		t.Errorf("%v, %v", f, err)
	}
}
