// SPDX-License-Identifier: Apache-2.0

package routes

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"sluice/tests/configtest"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/spread/nexthops"
	"sluice/yang/rows"
)

// Rows of next hops say who is behind the port, of a PortChannel by its members, and what it
// faces; routes that cannot be read have none.
func TestHopRowsNameWhoIsBehindThePort(t *testing.T) {
	s := configtest.Snapshot(t, configtest.Port0, configtest.Port4, configtest.Edge0, []string{"PORTCHANNEL", "PortChannel1", "mtu=9100"}, []string{"PORTCHANNEL_MEMBER", "PortChannel1|Ethernet4"},
		[]string{"DEVICE_NEIGHBOR", "Ethernet0", "name=host-7"}, []string{"DEVICE_NEIGHBOR", "Ethernet4", "name=spine-1", "port=Ethernet16"},
		[]string{"DEVICE_NEIGHBOR_METADATA", "spine-1", "mgmt_addr=192.0.2.9/24"}, []string{"SLUICE_PORT", "PortChannel1", "role=fabric"})
	member := func(link, via string, m ecmp.Member) nexthops.Member {
		hop := nexthops.Member{Member: m, Link: link}
		if via != "" {
			hop.Gateway = netip.MustParseAddr(via)
		}
		return hop
	}
	all, left := hopRows(map[netip.Prefix]nexthops.Result{
		netip.MustParsePrefix("::/0"):            {Err: errors.New("changes too fast")},
		netip.MustParsePrefix("10.0.0.0/24"):     {Group: &nexthops.Group{Members: []nexthops.Member{member("Ethernet0", "", ecmp.Member{Weight: 1})}}},
		netip.MustParsePrefix("2001:db8:1::/64"): {Group: &nexthops.Group{Buckets: []uint16{1, 1, 0, 1}, Members: []nexthops.Member{member("Ethernet0", "fe80::1", ecmp.Member{Weight: 1, Dead: true}), member("PortChannel1", "fe80::2", ecmp.Member{Weight: 3, Unresolved: true})}}},
	}, s)
	got := map[string]map[string]string{}
	for _, r := range all {
		row, err := rows.Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		got[row.Key] = row.Fields
	}
	want := map[string]map[string]string{
		"10.0.0.0/24|0":     {"port": "Ethernet0", "weight": "1", "state": "up", "role": "edge", "neighbor": "host-7"},
		"2001:db8:1::/64|0": {"port": "Ethernet0", "gateway": "fe80::1", "weight": "1", "state": "dead", "role": "edge", "neighbor": "host-7", "buckets": "2"},
		"2001:db8:1::/64|1": {"port": "PortChannel1", "gateway": "fe80::2", "weight": "3", "state": "unresolved", "role": "fabric", "neighbor": "spine-1", "neighbor_port": "Ethernet16", "neighbor_address": "192.0.2.9/24", "buckets": "0-1,3"},
	}
	if diff := cmp.Diff(want, got); diff != "" || left != 0 {
		t.Errorf("%d left out\n%s", left, diff)
	}
}

// More routes than the table has room for: those with the longest prefixes are in it, whole.
func TestHopRowsAreBounded(t *testing.T) {
	two := nexthops.Result{Group: &nexthops.Group{Members: []nexthops.Member{{Member: ecmp.Member{Weight: 1}, Link: "Ethernet0"}, {Member: ecmp.Member{Weight: 1}, Link: "Ethernet4"}}}}
	table := map[netip.Prefix]nexthops.Result{netip.MustParsePrefix("::/0"): two}
	for i := range mostHops / 2 {
		table[netip.MustParsePrefix(fmt.Sprintf("2001:db8:%x::/48", i))] = two
	}
	all, left := hopRows(table, configtest.Snapshot(t))
	if len(all) != mostHops || left != 1 {
		t.Errorf("%d rows, %d routes left out", len(all), left)
	}
}

func TestNextHopsArePublishedWhereConfigured(t *testing.T) {
	for name, tt := range map[string]struct {
		fields []string
		want   bool
	}{
		"default":  {[]string{"cpu_rate=1000"}, false},
		"enabled":  {[]string{"publish_next_hops=enabled"}, true},
		"disabled": {[]string{"publish_next_hops=enabled", "admin_state=disabled"}, false},
	} {
		if got := publishes(configtest.Snapshot(t, append([]string{"SLUICE", "global"}, tt.fields...))); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
