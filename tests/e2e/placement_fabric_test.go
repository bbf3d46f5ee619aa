// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/roce"
	"sluice/tests/fabrictest"
)

const fabricFlows = 18 // of each leaf to the other

// newClos is two leaves that share their loads, with flows from each to the other that pause
// between packets. prepare prepares etcd, nil: nothing; the leaves have further fields of SLUICE|global,
// and further flags.
func newClos(t *testing.T, prepare func(*management), global []string, flags ...string) (leaves [2]*leaf, m *management) {
	t.Helper()
	if _, err := os.Stat(seedSetting); err != nil {
		t.Skip("needs Linux 6.11: ", err)
	}
	needsPrograms(t)
	c := fabrictest.Clos(t)
	for i := range leaves {
		// Hosts do not answer what they have no port for: that would be a flow more.
		if err := c.Hosts[i].Node.Sysctl("net.ipv6.icmp.ratelimit", "1000000"); err != nil {
			t.Fatal(err)
		}
		leaves[i] = newSwitch(t, &fabric.LeafSpine{A: c.Hosts[i], LeafA: c.Edges[i], B: c.Hosts[1-i], Leaf: c.Leaves[i], Uplinks: c.Uplinks[i][:]})
	}
	m, endpoints := newManagement(t, leaves[:]...)
	if prepare != nil {
		prepare(m)
	}
	for i, l := range leaves {
		l.set("SLUICE", "global", append([]string{"etcd_endpoints@", endpoints[i], "stream_id_domain", "pod-7"}, global...)...)
		l.set("DEVICE_METADATA", "localhost", "hostname", fmt.Sprint("leaf-", i))
		for s, up := range c.Uplinks[i] {
			l.set("DEVICE_NEIGHBOR", up.Name, "name", fmt.Sprint("spine-", s))
		}
		l.start(flags...)
		l.enable()
		l.set("SLUICE_PLACEMENT", "global", "admin_state", "enabled", "sampling_rate", "1", "idle_us", "20000", "scope", "fabric")
		l.awaitFields("SLUICE_STATE", "global", "placement", "active")
	}
	ctx, stop := context.WithCancel(context.Background())
	var sending sync.WaitGroup
	for i, l := range leaves {
		ends := [2]netip.Addr{fabric.HostA.Addr(), fabric.HostB.Addr()}
		sending.Go(func() { l.sendOn(ctx, ends[i], ends[1-i]) })
	}
	t.Cleanup(func() { stop(); sending.Wait() })
	return leaves, m
}

// sendOn sends a packet of each flow each 100 ms.
func (l *leaf) sendOn(ctx context.Context, src, dst netip.Addr) {
	sender, err := l.A.Sender()
	if err != nil {
		l.t.Error(err)
		return
	}
	defer sender.Close()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for psn := uint32(0); ; psn++ {
		for i := range fabricFlows {
			b := roce.Ethernet{Dst: roce.MAC(l.A.Peer().MAC), Src: roce.MAC(l.A.MAC), EtherType: roce.EtherTypeIPv6}.Append(nil)
			ip := len(b)
			b = roce.IPv6Header{NextHeader: 17, HopLimit: 64, Src: src.As16(), Dst: dst.As16()}.Append(b)
			b = roce.UDPHeader{SrcPort: 49152, DstPort: roce.UDPPort}.Append(b)
			b = roce.BTH{Opcode: roce.RCSendMiddle, PKey: 0xffff, DestQP: uint32(0x100 + i), PSN: psn & 0xffffff}.Append(b)
			if b, err = roce.Finish(append(b, make([]byte, 1024)...), ip); err == nil {
				err = sender.Send(b)
			}
			if err != nil {
				l.t.Error(err)
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// flowLabelsNow are the labels of the flows, by queue pair, once all are known.
func (l *leaf) flowLabelsNow() map[string]string {
	l.t.Helper()
	labels := map[string]string{}
	l.await("SLUICE_STATE", "global", func(map[string]string) bool {
		clear(labels)
		for _, f := range l.table("SLUICE_FLOW") {
			if f["path"] != "" {
				labels[f["dest_qp"]] = f["flow_label"]
			}
		}
		return len(labels) == fabricFlows
	})
	return labels
}

// awaitFabric waits for fields of SLUICE_PLACEMENT_FABRIC.
func (l *leaf) awaitFabric(pairs ...string) map[string]string {
	l.t.Helper()
	return l.awaitFields("SLUICE_PLACEMENT_FABRIC", "global", pairs...)
}

// worstDownlink measures what comes by the downlink from each spine, by the octets that
// ports count: the most of one, divided by the mean.
func (l *leaf) worstDownlink() float64 {
	l.t.Helper()
	received := func() (octets []uint64) {
		for _, u := range l.Uplinks {
			c, err := u.Counters()
			if err != nil {
				l.t.Fatal(err)
			}
			octets = append(octets, c.RxBytes)
		}
		return octets
	}
	const enough = 50 * fabricFlows * 1024 // octets: 50 packets of each flow
	before := received()
	for deadline := time.Now().Add(patience); ; time.Sleep(poll) {
		sum, most := uint64(0), uint64(0)
		for i, now := range received() {
			sum, most = sum+now-before[i], max(most, now-before[i])
		}
		if sum >= enough {
			return float64(most) * float64(len(before)) / float64(sum)
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("%d octets came by the uplinks in %v", sum, patience)
		}
	}
}

// Leaves of scope fabric see each other in etcd and elect a planner; a row that cannot be
// used is set aside, and said.
func TestLeavesShareTheirLoads(t *testing.T) {
	t.Parallel()
	leaves, m := newClos(t, nil, nil)
	planner := leaves[0].awaitFabric("leaf", "leaf-0", "leaves", "2")["planner"]
	leaves[1].awaitFabric("leaf", "leaf-1", "leaves", "2", "planner", planner, "scope", "local")
	m.put("/sluice/pod-7/placement/row/leaf-9", `{"leaf":"leaf-9","spines":{"spine-0":-1}}`)
	for _, l := range leaves {
		l.awaitFabric("leaves", "2", "rows_rejected", "1")
		l.await("SLUICE_STATE", "global", func(f map[string]string) bool {
			return strings.Contains(f["warnings"], `leaf-9: spine "spine-0" has -1`)
		})
	}
	if !soak {
		return
	}
	planned(t, leaves, m, planner)
}

// planned goes on: both follow one plan; without etcd the scope is local and labels stay;
// a planner that is killed is followed by the other leaf, and no label changes.
func planned(t *testing.T, leaves [2]*leaf, m *management, planner string) {
	even := func(what string) {
		t.Helper()
		for _, l := range leaves {
			for _, u := range l.Uplinks {
				l.awaitFields("SLUICE_PLACEMENT_MEMBER", l.group()+"|"+u.Name, "flows", fmt.Sprint(fabricFlows/2))
			}
		}
	}
	for _, l := range leaves {
		l.awaitFabric("scope", "fabric", "planner", planner)
		l.await("SLUICE_PLACEMENT_GROUP", l.group(), func(f map[string]string) bool {
			return f["scope"] == "fabric" && f["plan"] != "" && f["quotas_ignored"] == "0"
		})
	}
	for _, l := range leaves {
		l.awaitMetric(`sluice_placement_fabric_plan [1-9]`)
	}
	even("planned")
	for i, l := range leaves {
		worst := l.worstDownlink()
		t.Logf("the worst downlink to leaf-%d carries %.3f times the mean", i, worst)
		if worst > 1.05 {
			t.Errorf("planned: the worst downlink to leaf-%d carries %.3f times the mean", i, worst)
		}
	}
	before := [2]map[string]string{leaves[0].flowLabelsNow(), leaves[1].flowLabelsNow()}
	same := func(what string) {
		t.Helper()
		for i, l := range leaves {
			if now := l.flowLabelsNow(); !maps.Equal(now, before[i]) {
				t.Errorf("%s: labels of leaf-%d changed: %v, %v", what, i, before[i], now)
			}
		}
	}

	m.etcd.Kill()
	for _, l := range leaves {
		l.await("SLUICE_PLACEMENT_FABRIC", "global", func(f map[string]string) bool {
			return f["scope"] == "local" && strings.Contains(f["reason"], "no lease in etcd")
		})
	}
	same("etcd away")
	m.start()
	for _, l := range leaves {
		l.awaitFabric("scope", "fabric", "leaves", "2")
	}
	same("etcd is back")

	first, second := 0, 1
	if leaves[0].row("SLUICE_PLACEMENT_FABRIC", "global")["planner"] == "leaf-1" {
		first, second = 1, 0
	}
	leaves[first].sluiced.Kill()
	leaves[second].awaitFabric("planner", fmt.Sprint("leaf-", second), "leaves", "1")
	leaves[first].launch()
	for _, l := range leaves {
		l.awaitFabric("leaves", "2", "planner", fmt.Sprint("leaf-", second), "scope", "fabric")
	}
	even("the planner was killed")
	same("the planner was killed")
}
