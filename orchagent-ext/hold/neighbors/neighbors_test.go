// SPDX-License-Identifier: Apache-2.0

package neighbors

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/roce"
	"sluice/tests/fabrictest"
)

const patience = time.Minute // the machine may be busy

var (
	self, one, two = netip.MustParseAddr("fe80::1"), netip.MustParseAddr("fe80::2"), netip.MustParseAddr("fe80::3")
	macOne, macTwo = roce.MAC{2, 5: 2}, roce.MAC{2, 5: 3}
)

var three = netip.MustParseAddr("fe80::4")

// linkLocal is the n-th address of a router with many.
func linkLocal(n byte) netip.Addr { return netip.AddrFrom16([16]byte{0xfe, 0x80, 14: 1, 15: n}) }

// addresses are so many of one router, the last one first.
func addresses(mac roce.MAC, n byte) (all []entry) {
	for i := range n {
		all = append(all, entry{addr: linkLocal(n - 1 - i), mac: mac, router: true, usable: true})
	}
	return all
}

//conformance:draft-yang/link-local
func TestChooseTakesTheOnlyUsableRouter(t *testing.T) {
	port := Port{Index: 7, Self: self}
	router := func(a netip.Addr, mac roce.MAC) entry { return entry{addr: a, mac: mac, router: true, usable: true} }
	host := func(a netip.Addr) entry { return entry{addr: a, usable: true} }
	failed := router(one, macOne)
	failed.usable = false
	for _, c := range []struct {
		name       string
		port       Port
		entries    []entry
		configured netip.Addr
		want       Port
	}{
		{"the only router", port, []entry{host(two), router(one, macOne)}, netip.Addr{}, Port{Neighbor: one, NeighborMAC: macOne}},
		{"two routers", port, []entry{router(two, macTwo), router(one, macOne)}, netip.Addr{}, Port{Why: manyRouters}},
		{"one router with several addresses", port, []entry{router(two, macOne), router(three, macOne), router(one, macOne)}, netip.Addr{},
			Port{Neighbor: one, NeighborMAC: macOne, Also: [maxAlso]netip.Addr{two, three}}},
		{"one router with several addresses, one configured", port, []entry{router(one, macOne), router(two, macOne), router(three, macTwo)}, two,
			Port{Neighbor: two, NeighborMAC: macOne, Configured: true, Also: [maxAlso]netip.Addr{one}}},
		{"two routers, one with two addresses", port, []entry{router(one, macOne), router(two, macOne), router(three, macTwo)}, netip.Addr{}, Port{Why: manyRouters}},
		{"two addresses without a MAC", port, []entry{router(one, roce.MAC{}), router(two, roce.MAC{})}, netip.Addr{}, Port{Why: manyRouters}},
		{"a router with more addresses than are kept", port, addresses(macOne, maxAlso+4), netip.Addr{},
			Port{Neighbor: linkLocal(0), NeighborMAC: macOne, Also: [maxAlso]netip.Addr{linkLocal(1), linkLocal(2), linkLocal(3)}}},
		{"two routers, one configured", port, []entry{router(two, macTwo), router(one, macOne)}, two, Port{Neighbor: two, NeighborMAC: macTwo, Configured: true}},
		{"configured, and not resolved", port, []entry{router(one, macOne)}, two, Port{Neighbor: two, Configured: true}},
		{"a host that is configured", port, []entry{host(two)}, two, Port{Neighbor: two, Configured: true}},
		{"hosts only", port, []entry{host(one), host(two)}, netip.Addr{}, Port{Why: noRouter}},
		{"a router that no longer answers", port, []entry{failed}, netip.Addr{}, Port{Why: noRouter}},
		{"a router by its global address", port, []entry{router(netip.MustParseAddr("2001:db8::1"), macOne)}, netip.Addr{}, Port{Why: noRouter}},
		{"no netdev", Port{}, []entry{router(one, macOne)}, two, Port{Why: noNetdev}},
		{"no address of our own", Port{Index: 7}, []entry{router(one, macOne)}, netip.Addr{}, Port{Neighbor: one, NeighborMAC: macOne, Why: noLinkLocal}},
	} {
		c.want.Index, c.want.Self = c.port.Index, c.port.Self
		if diff := cmp.Diff(c.want, c.port.choose(c.entries, c.configured), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func ip(t *testing.T, n *fabric.Node, args ...string) {
	t.Helper()
	err := n.Do(func() error {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %v: %s: %w", args, out, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestPortsAreCurrentOnceTheyWereRead: other ports than before are not current until the watcher has read
// them, and then it is notified of, also where nothing else has changed.
func TestPortsAreCurrentOnceTheyWereRead(t *testing.T) {
	a := fabrictest.Pair(t).A
	w := New(slog.New(slog.DiscardHandler))
	if _, current := w.Ports(); current {
		t.Error("ports are current before Run")
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Node.Do(func() error { return w.Run(ctx) }) }()
	wait := func() map[string]Port {
		t.Helper()
		for deadline := time.After(patience); ; {
			if ports, current := w.Ports(); current {
				return ports
			}
			select {
			case <-w.Changed():
			case <-deadline:
				t.Fatal("the ports are not read")
			}
		}
	}
	if ports := wait(); len(ports) > 0 {
		t.Errorf("without ports there are %v", ports)
	}
	for _, neighbor := range []netip.Addr{one, two, one, two} {
		w.SetPorts(map[string]netip.Addr{a.Name: neighbor})
		if p := wait()[a.Name]; p.Neighbor != neighbor || p.Index != uint32(a.Index) {
			t.Errorf("%+v, want neighbor %s", p, neighbor)
		}
	}
	w.SetPorts(map[string]netip.Addr{a.Name: two, "absent": {}})
	if ports := wait(); ports["absent"].Why != noNetdev {
		t.Errorf("%v", ports)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A router at the other end is found, though it has never sent anything by itself, and a
// host is not; a router that turns into a host is forgotten, and a port that goes, too.
//
//conformance:draft-yang/link-local
func TestWatcherFindsTheRouter(t *testing.T) {
	pair := fabrictest.Pair(t)
	a, b := pair.A, pair.B
	for _, i := range []*fabric.Interface{a, b} { // a fabric's links know each other, and ask nothing
		ip(t, i.Node, "link", "set", i.Name, "arp", "on", "multicast", "on")
		ip(t, i.Node, "-6", "neigh", "flush", "dev", i.Name, "nud", "permanent")
	}
	if err := b.Node.Sysctl("net.ipv6.conf.all.forwarding", "1"); err != nil {
		t.Fatal(err)
	}
	w := New(slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})))
	w.SetPorts(map[string]netip.Addr{a.Name: {}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Node.Do(func() error { return w.Run(ctx) }) }()
	wait := func(what string, good func(Port) bool) {
		t.Helper()
		deadline := time.After(patience)
		for {
			ports, _ := w.Ports()
			p := ports[a.Name]
			if good(p) {
				return
			}
			select {
			case <-w.Changed():
			case <-deadline:
				t.Fatalf("%s: %+v", what, p)
			}
		}
	}
	wait("the router is not found", func(p Port) bool {
		return p.Neighbor.IsLinkLocalUnicast() && p.NeighborMAC != roce.MAC{} && p.Why == ""
	})
	ports, _ := w.Ports()
	found := ports[a.Name]
	if found.Index == 0 || found.MAC == (roce.MAC{}) || !found.Self.IsLinkLocalUnicast() || found.Configured {
		t.Errorf("%+v", found)
	}
	if w.Solicited() == 0 {
		t.Error("the router was not asked for")
	}
	other := netip.MustParseAddr("fe80::99")
	w.SetPorts(map[string]netip.Addr{a.Name: other})
	wait("what is configured does not hold", func(p Port) bool { return p.Neighbor == other && p.Configured })
	w.SetPorts(map[string]netip.Addr{a.Name: {}})
	wait("the router is not found again", func(p Port) bool { return p == found })
	ip(t, a.Node, "link", "del", a.Name)
	wait("the port is gone", func(p Port) bool { return p.Index == 0 && p.Why == noNetdev && !p.Neighbor.IsValid() })
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// What comes after a quiet time is read within milliseconds; a storm is read ever more rarely.
func TestSettleBacksOff(t *testing.T) {
	if got := settle(settleMost, time.Minute); got != settleLeast {
		t.Errorf("after a quiet time %v", got)
	}
	wait := settleLeast
	for range 20 {
		next := settle(wait, wait)
		if next < wait || next > settleMost {
			t.Errorf("%v after %v", next, wait)
		}
		wait = next
	}
	if wait != settleMost {
		t.Errorf("%v in a storm, want %v", wait, settleMost)
	}
}
