// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// A Node is a host, or a router, in a network namespace of its own.
type Node struct {
	Name      string // of the node in its fabric
	Namespace string // as `ip netns` knows it
	// Hostname is that of the processes; "": that of this machine.
	Hostname string

	fabric    *Fabric
	forwards  bool
	ns        netns.NsHandle
	netlink   *netlink.Handle
	processes []*Process
	routes    map[netip.Prefix]*netlink.Route // by prefix
}

// Node adds a node: its loopback is up, interfaces leave their configuration to
// the caller, and the rest is as in a new namespace.
func (f *Fabric) Node(name string) (*Node, error) {
	n := &Node{Name: name, Namespace: f.prefix + name, fabric: f, ns: netns.None(), routes: map[netip.Prefix]*netlink.Route{}}
	err := onThread(func() (err error) {
		n.ns, err = netns.NewNamed(n.Namespace)
		return err
	})
	if err != nil {
		return nil, unsupported("make namespace "+n.Namespace, err)
	}
	f.nodes = append(f.nodes, n)
	if n.netlink, err = netlink.NewHandleAt(n.ns, unix.NETLINK_ROUTE); err != nil {
		return nil, fmt.Errorf("open netlink in %s: %w", n.Namespace, err)
	}
	lo, err := n.netlink.LinkByName("lo")
	if err == nil {
		err = n.netlink.LinkSetUp(lo)
	}
	if err != nil {
		return nil, fmt.Errorf("set lo of %s up: %w", n.Name, err)
	}
	return n, n.sysctls(
		"net.ipv6.conf.default.accept_ra", "0",
		"net.ipv6.conf.default.accept_dad", "0",
		"net.ipv6.conf.default.router_solicitations", "0",
		"net.ipv6.conf.default.addr_gen_mode", "1", // off: the fabric gives link-local addresses
		"net.ipv4.conf.all.rp_filter", "0",
		"net.ipv4.conf.default.rp_filter", "0",
	)
}

// Router adds a node that forwards IPv4 and IPv6.
func (f *Fabric) Router(name string) (*Node, error) {
	n, err := f.Node(name)
	if err != nil {
		return nil, err
	}
	n.forwards = true
	if err := n.sysctls(
		"net.ipv6.conf.all.forwarding", "1",
		"net.ipv6.conf.default.forwarding", "0", // see Interface.up
		"net.ipv4.ip_forward", "1",
		"net.ipv6.fib_multipath_hash_policy", "1",
		"net.ipv4.fib_multipath_hash_policy", "1",
	); err != nil {
		return nil, err
	}
	err = n.Sysctl("net.ipv4.fib_multipath_hash_seed", "1")
	if errors.Is(err, os.ErrNotExist) { // before Linux 6.11
		err = nil
	}
	return n, err
}

// Do calls do on a thread that is in the node's namespace: sockets that it opens
// are the node's for good. Goroutines that it starts run outside of the
// namespace. It returns the error of do. It may be called from any goroutine.
//
// As the zone of a link-local address take [Interface.Index] instead of the name:
// package net remembers the index of a name for a minute, whatever the namespace.
func (n *Node) Do(do func() error) error {
	return onThread(func() error {
		if err := unix.Setns(int(n.ns), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter namespace %s: %w", n.Namespace, err)
		}
		return do()
	})
}

// onThread calls do, which may change the thread's namespace. Where the thread
// cannot be brought back it ends with the goroutine.
func onThread(do func() error) error {
	runtime.LockOSThread()
	home, err := netns.Get()
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("look up this thread's namespace: %w", err)
	}
	defer func() {
		if netns.Set(home) == nil {
			runtime.UnlockOSThread()
		}
		_ = home.Close()
	}()
	return do()
}

// Sysctl sets one of the namespace's own settings, such as
// net.ipv6.fib_multipath_hash_policy.
func (n *Node) Sysctl(name, value string) error {
	err := n.Do(func() error {
		return os.WriteFile("/proc/sys/"+strings.ReplaceAll(name, ".", "/"), []byte(value), 0)
	})
	if err != nil {
		return fmt.Errorf("set %s=%s in %s: %w", name, value, n.Name, err)
	}
	return nil
}

// sysctls sets pairs of a name and a value.
func (n *Node) sysctls(pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if err := n.Sysctl(pairs[i], pairs[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// A Hop is the next hop of a route: the gateway, and the node's own interface
// towards it.
type Hop struct {
	Via    netip.Addr
	Out    *Interface
	Weight int // 0: 1
}

// Route adds a route, in place of the one that is there for the prefix. Several
// hops are paths by weight, in this order.
func (n *Node) Route(to netip.Prefix, hops ...Hop) error {
	route := &netlink.Route{Dst: ipNet(to)}
	for _, h := range hops {
		route.MultiPath = append(route.MultiPath, &netlink.NexthopInfo{LinkIndex: h.Out.Index, Gw: h.Via.AsSlice(), Hops: max(h.Weight, 1) - 1})
	}
	if len(hops) == 1 {
		route.LinkIndex, route.Gw, route.MultiPath = hops[0].Out.Index, hops[0].Via.AsSlice(), nil
	}
	if err := n.netlink.RouteReplace(route); err != nil {
		return fmt.Errorf("route %s in %s over %d hops: %w", to, n.Name, len(hops), err)
	}
	n.routes[to] = route
	return nil
}

// close kills the node's processes and removes its namespace.
func (n *Node) close() error {
	for _, p := range n.processes {
		p.Kill()
	}
	if n.netlink != nil {
		n.netlink.Close()
	}
	return errors.Join(n.ns.Close(), removeNamespace(n.Namespace))
}

// Loopback gives the node an address on its loopback, such as a router id.
func (n *Node) Loopback(a netip.Prefix) error {
	lo, err := n.netlink.LinkByName("lo")
	if err == nil {
		at := ipNet(a)
		at.IP = a.Addr().AsSlice()
		err = n.netlink.AddrAdd(lo, &netlink.Addr{IPNet: at, Flags: unix.IFA_F_NODAD})
	}
	if err != nil {
		return fmt.Errorf("give %s the address %s: %w", n.Name, a, err)
	}
	return nil
}
