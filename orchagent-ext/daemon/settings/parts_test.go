// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/daemon/routes"
	"sluice/orchagent-ext/daemon/statistics"
	"sluice/orchagent-ext/daemon/streamids"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/host/etcd"
	"sluice/tests/configtest"
)

// Rows of SLUICE_PORT and thresholds decide how often a port and its queues are read.
func TestRowsOfPortsBecomeStatistics(t *testing.T) {
	got := Of(configtest.Snapshot(t, []string{"PORT", "a", "lanes=0"}, []string{"PORT", "b", "lanes=1", "admin_status=up"}, []string{"PORT", "c", "lanes=2"},
		[]string{"SLUICE_THRESHOLD", "gold", "high_bytes=1000", "queues@=3"}, []string{"SLUICE_THRESHOLD", "silver", "high_bytes=1000"},
		[]string{"SLUICE_PORT", "a", "role=edge", "threshold=gold"}, []string{"SLUICE_PORT", "b", "threshold=silver"})).Statistics
	want := []statistics.Port{
		{Name: "a", Role: "edge", Configured: true, Threshold: true, Queues: []uint8{3}},
		{Name: "b", Role: "fabric", AdminUp: true, Configured: true, Threshold: true},
		{Name: "c"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Next hops have the neighbor and the role of their port, of a PortChannel those of its members.
func TestNextHopsArePublishedWhereConfigured(t *testing.T) {
	rows := [][]string{configtest.Port0, configtest.Port4, configtest.Edge0, {"PORTCHANNEL", "PortChannel1", "mtu=9100"}, {"PORTCHANNEL_MEMBER", "PortChannel1|Ethernet4"},
		{"DEVICE_NEIGHBOR", "Ethernet0", "name=host-7"}, {"DEVICE_NEIGHBOR", "Ethernet4", "name=spine-1", "port=Ethernet16"},
		{"DEVICE_NEIGHBOR_METADATA", "spine-1", "mgmt_addr=192.0.2.9/24"}, {"SLUICE_PORT", "PortChannel1", "role=fabric"}}
	spine := routes.Link{Neighbor: config.Neighbor{Name: "spine-1", Port: "Ethernet16", Address: "192.0.2.9/24"}, Role: "fabric"}
	for name, tt := range map[string]struct {
		fields []string
		want   routes.Settings
	}{
		"default": {[]string{"cpu_rate=1000"}, routes.Settings{}},
		"enabled": {[]string{"publish_next_hops=enabled"}, routes.Settings{Publish: true, Links: map[string]routes.Link{
			"Ethernet0": {Neighbor: config.Neighbor{Name: "host-7"}, Role: "edge"}, "Ethernet4": spine, "PortChannel1": spine,
		}}},
		"disabled": {[]string{"publish_next_hops=enabled", "admin_state=disabled"}, routes.Settings{}},
	} {
		s := Of(configtest.Snapshot(t, append(rows[:len(rows):len(rows)], append([]string{"SLUICE", "global"}, tt.fields...))...))
		if diff := cmp.Diff(tt.want, s.Routes); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Every field of the row reaches etcd's client, and another value of one makes another scope.
func TestScopeGlobalFollowsItsRow(t *testing.T) {
	fields := []string{
		"SLUICE", "global", "stream_id_scope=global", "stream_id_seed=7", "stream_id_domain=pod-7", "etcd_endpoints@=https://a:1,https://b:1",
		"etcd_ca_file=/ca", "etcd_cert_file=/cert", "etcd_key_file=/key", "etcd_user=switch", "etcd_password_file=/password",
		"etcd_allow_plaintext=true", // of an earlier version: a row does not allow it
	}
	got := Of(configtest.Snapshot(t, fields)).Streams
	want := streamids.Settings{Scope: config.ScopeGlobal, Seed: 7, Etcd: etcd.Config{
		Endpoints: []string{"https://a:1", "https://b:1"}, CAFile: "/ca", CertFile: "/cert", KeyFile: "/key", User: "switch", PasswordFile: "/password",
		Domain: "pod-7",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if again := Of(configtest.Snapshot(t, fields)).Streams; !reflect.DeepEqual(again, got) {
		t.Errorf("equal rows make %+v", again)
	}
	for i, other := range []string{"stream_id_seed=8", "stream_id_domain=pod-8", "etcd_endpoints@=https://c:1", "etcd_ca_file=/other", "etcd_cert_file=/other", "etcd_key_file=/other", "etcd_user=other"} {
		changed := append([]string(nil), fields...)
		changed[3+i] = other
		if s := Of(configtest.Snapshot(t, changed)).Streams; reflect.DeepEqual(s, got) {
			t.Errorf("%s: the scope stays as it is", other)
		}
	}
}

func TestScopesOfStreamIDs(t *testing.T) {
	for field, want := range map[string]streamids.Settings{
		"stream_id_scope=hash":  {Scope: config.ScopeHash, Seed: 7},
		"stream_id_scope=local": {Scope: config.ScopeLocal},
		"admin_state=disabled":  {},
	} {
		if diff := cmp.Diff(want, Of(configtest.Snapshot(t, []string{"SLUICE", "global", "stream_id_seed=7", field})).Streams); diff != "" {
			t.Errorf("%s: %s", field, diff)
		}
	}
	byTuple := Of(configtest.Snapshot(t, []string{"SLUICE", "global", "classification=5-tuple", "stream_id_scope=local"})).Streams
	if diff := cmp.Diff(streamids.Settings{FiveTuple: true}, byTuple); diff != "" {
		t.Error(diff)
	}
}
