// SPDX-License-Identifier: Apache-2.0

package routes

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/daemon/status"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/spread/nexthops"
	"sluice/tests/redistest"
	"sluice/yang/rows"
)

// Rows of next hops say who is behind the port, of a PortChannel by its members, and what it
// faces; routes that cannot be read have none.
func TestHopRowsNameWhoIsBehindThePort(t *testing.T) {
	links := map[string]Link{
		"Ethernet0":    {Neighbor: config.Neighbor{Name: "host-7"}, Role: "edge"},
		"PortChannel1": {Neighbor: config.Neighbor{Name: "spine-1", Port: "Ethernet16", Address: "192.0.2.9/24"}, Role: "fabric"},
	}
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
	}, links)
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
	all, left := hopRows(table, nil)
	if len(all) != mostHops || left != 1 {
		t.Errorf("%d rows, %d routes left out", len(all), left)
	}
}

// Rows follow the table that the part reads beside the loop, and go where it is off.
func TestRoutesArePublishedWhileTheyAreConfigured(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	g, _ := task.NewGroup(t.Context(), log)
	mirror := sonicdb.NewMirror(redistest.Open(t, redistest.Databases(t), "STATE_DB"), telemetry.TableNextHop, telemetry.TableHash)
	h := New(mirror, &status.Encoder{Log: log})
	on := &Settings{Publish: true}
	h.Reconcile(g, &Settings{}, true)
	if h.part.Runs() || len(mirror.Wanted(telemetry.TableHash)) != 0 {
		t.Error("rows are published before that is configured")
	}
	for deadline := time.Now().Add(time.Minute); h.table == nil; time.Sleep(time.Millisecond) {
		if h.Reconcile(g, on, true); time.Now().After(deadline) {
			t.Fatalf("no table was read: %q", h.Warning())
		}
	}
	read := h.table
	if h.Reconcile(g, on, true); h.table != read || len(mirror.Wanted(telemetry.TableHash)) != 2 || h.Warning() != "" {
		t.Errorf("%d rows of the hash, warning %q", len(mirror.Wanted(telemetry.TableHash)), h.Warning())
	}
	if h.Reconcile(g, &Settings{}, true); h.part.Runs() || h.table != nil || len(mirror.Wanted(telemetry.TableHash))+len(mirror.Wanted(telemetry.TableNextHop)) != 0 {
		t.Error("rows stay where they are no longer configured")
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}
