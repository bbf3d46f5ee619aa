// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"reflect"
	"testing"

	"sluice/orchagent-ext/daemon/placement"
	"sluice/orchagent-ext/export/ipfix"
	table "sluice/orchagent-ext/spread/placement"
	"sluice/orchagent-ext/spread/redirect"
	"sluice/tests/configtest"
)

// The row becomes the settings that placement works by, and the policy of the switch.
func TestRowOfPlacementBecomesSettings(t *testing.T) {
	labels := []string{"SLUICE_FLOW_LABEL", "global", "admin_state=enabled"}
	for name, s := range map[string]*Settings{
		"without a row":   Of(configtest.Snapshot(t, configtest.Port0, configtest.Edge0, labels)),
		"the kill switch": Of(configtest.Snapshot(t, configtest.Port0, configtest.Edge0, labels, []string{"SLUICE_PLACEMENT", "global", "admin_state=enabled"}, []string{"SLUICE", "global", "admin_state=disabled"})),
	} {
		if !reflect.DeepEqual(s.Placement, placement.Settings{}) || s.Policy.Placement != nil {
			t.Errorf("%s: %+v", name, s.Placement)
		}
	}
	s := Of(configtest.Snapshot(t, configtest.Port0, configtest.Edge0, labels, []string{"SLUICE", "global", "flow_capacity=1024"}, []string{"DEVICE_NEIGHBOR", "Ethernet0", "name=spine-1"},
		[]string{"PORTCHANNEL", "PortChannel1"}, []string{"PORTCHANNEL_MEMBER", "PortChannel1|Ethernet0"}, []string{"PORTCHANNEL_INTERFACE", "PortChannel1", "vrf_name=Vrf1"},
		[]string{"SLUICE_PLACEMENT", "global", "admin_state=enabled", "moves=any", "idle_us=20000", "threshold_percent=10", "max_moves=7", "sampling_rate=32", "hash_seed=99", "max_entries_per_link=3"}))
	if p := s.Policy.Placement; p == nil || p.Seed != 99 || p.Sampling != 32 {
		t.Errorf("%+v", p)
	}
	is := s.Placement
	if c := is.Labels.Table; c.Moves != table.MovesAny || c.IdleNS != 20e6 || c.MaxMoves != 7 || c.Threshold != 1.1 || c.Capacity != 1024 || !is.On || is.Seed != 99 || is.Learned || is.Linux {
		t.Errorf("%+v", is)
	}
	if r := is.Rules; !r.On || r.Config != (redirect.Config{PerLink: 3, Moves: redirect.MovesAny}) || r.Channels["Ethernet0"] != "PortChannel1" || r.VRFs["Ethernet0"] != "Vrf1" {
		t.Errorf("%+v", r)
	}
	if l := is.Links["PortChannel1"]; len(l.Ports) != 1 || l.Ports[0] != "Ethernet0" || l.Spine != "spine-1" {
		t.Errorf("%+v", is.Links)
	}
}

// The scope fabric names this leaf and its etcd; both are of no use with scope local.
func TestScopeFabricNamesTheLeaf(t *testing.T) {
	row := []string{"SLUICE_PLACEMENT", "global", "admin_state=enabled"}
	fabric := Of(configtest.Snapshot(t, []string{"DEVICE_METADATA", "localhost", "hostname=leaf-7"}, []string{"SLUICE", "global", "etcd_endpoints@=http://192.0.2.1:2379"}, append(row[:3:3], "scope=fabric"))).Placement
	if fabric.Fabric.Leaf != "leaf-7" || len(fabric.Fabric.Etcd.Endpoints) != 1 || fabric.Labels.Leaf != "leaf-7" {
		t.Errorf("%+v", fabric)
	}
	if local := Of(configtest.Snapshot(t, row)).Placement; !reflect.DeepEqual(local.Fabric, placement.Fabric{}) || local.Labels.Leaf != "" {
		t.Errorf("%+v", local)
	}
}

// The seed of a switch is its own, is the same after each start, and is never 0; model
// learned sets none.
func TestHashSeed(t *testing.T) {
	seed := func(id string, words ...string) uint32 {
		row := append([]string{"SLUICE_PLACEMENT", "global", "admin_state=enabled"}, words...)
		return Of(configtest.Snapshot(t, row, []string{"SLUICE", "global", "router_id=" + id})).Placement.Seed
	}
	one, other := seed("192.0.2.1"), seed("192.0.2.2")
	if one == 0 || other == 0 || one == other || one != seed("192.0.2.1") {
		t.Errorf("seeds %d and %d", one, other)
	}
	if got := seed("192.0.2.1", "model=learned"); got != 0 {
		t.Errorf("model learned sets seed %d", got)
	}
}

// The same rows give equal settings, and another collector or file gives others, which restart the
// exporter.
func TestRowsOfIPFIXBecomeSettings(t *testing.T) {
	is := func(collector []string, more ...string) *Settings {
		return Of(configtest.Snapshot(t, configtest.Port0, configtest.Edge0, append([]string{"SLUICE_IPFIX", "global", "admin_state=enabled"}, more...), collector))
	}
	one := []string{"SLUICE_IPFIX_COLLECTOR", "c", "address=192.0.2.1"}
	if !reflect.DeepEqual(is(one).Path, is(one).Path) {
		t.Error("the same rows restart the exporter")
	}
	for _, other := range []*Settings{
		is(one, "health=enabled"), is([]string{"SLUICE_IPFIX_COLLECTOR", "c", "address=192.0.2.2"}), is([]string{"SLUICE_IPFIX_COLLECTOR", "d", "address=192.0.2.1"}),
		is([]string{"SLUICE_IPFIX_COLLECTOR", "c", "address=192.0.2.1", "path_mtu=1500"}), is(one, "template_refresh_s=7"),
	} {
		if reflect.DeepEqual(is(one).Path.Export.Exporter, other.Path.Export.Exporter) {
			t.Errorf("%+v does not restart the exporter", other.Path.Export)
		}
	}
	if rate := is(one, "sampling_rate=7").Policy.Export.Rate; rate != 7 {
		t.Errorf("one of %d packets is sampled", rate)
	}
	for mode, want := range map[string]struct{ packet, biflow bool }{"flow": {}, "packet": {packet: true}, "biflow": {biflow: true}} {
		if x := is(one, "mode="+mode).Path.Export; x.Meter.PerPacket != want.packet || x.Biflow != want.biflow {
			t.Errorf("mode %s: %+v", mode, x)
		}
	}
	if x := is(one).Path.Export; x.Exporter.Collectors[0].Address != "192.0.2.1:4739" || x.Exporter.Collectors[0].Transport != ipfix.UDP {
		t.Errorf("%+v", x.Exporter.Collectors)
	}
	if s := is([]string{"SLUICE_PORT", "Ethernet0", "role=edge"}); s.Path.Export != nil {
		t.Errorf("without a collector: %+v", s.Path)
	}
	for driver, want := range map[string]bool{"sai": true, "orchagent": false} {
		if s := Of(configtest.Snapshot(t, []string{"SLUICE", "global", "driver=" + driver})); s.Path.Library != want {
			t.Errorf("driver %s: %+v", driver, s.Path)
		}
	}
}
