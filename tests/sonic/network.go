// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/testbed/fabric"
)

const (
	uplinks    = 8
	hostPort   = "Ethernet0" // towards the host that sends
	lanesOf    = 4
	firstLane  = 25 // of Ethernet0 on the virtual switch of 32 ports
	switchMAC  = "02:42:ac:10:00:01"
	portMTU    = 9100
	hostSubnet = "2001:db8:0:1::1/64"
)

// lanes are the lanes of the first ports of SONiC's virtual switch, as its hwsku has them.
var lanes = []string{
	"25,26,27,28", "29,30,31,32", "33,34,35,36", "37,38,39,40", "45,46,47,48",
	"41,42,43,44", "1,2,3,4", "5,6,7,8", "13,14,15,16",
}

// A network is the switch's namespace, a host that sends, and a spine that receives. The host's link
// is port 0 of the switch, the links to the spine are its other ports.
type network struct {
	fabric   *fabric.Fabric
	leaf     *fabric.Node
	a        *fabric.Interface   // of the host
	spine    []*fabric.Interface // receivers, one for each uplink
	spineEnd *fabric.Node
}

// portName is that of a port in SONiC: 0 is towards the host.
func portName(i int) string { return fmt.Sprint("Ethernet", 4*i) }

// wire is the netdev that a port's packets pass on the other side of syncd.
func wire(i int) string { return fmt.Sprint("eth", i+1) }

// spineAddress is the IPv4 address of the spine on an uplink, and leafAddress the switch's.
func spineAddress(uplink int) netip.Addr { return leafAddress(uplink).Next() }
func leafAddress(uplink int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 1, 0, byte(uplink << 1)})
}

// makeNetwork makes the namespaces and links. The switch's TAP devices come with syncd.
func makeNetwork() (*network, error) {
	f, err := fabric.New()
	if err != nil {
		return nil, err
	}
	n := &network{fabric: f}
	if n.leaf, err = f.Router("sonic"); err != nil {
		return n, err
	}
	host, err := f.Node("host")
	if err != nil {
		return n, err
	}
	if n.spineEnd, err = f.Node("spine"); err != nil {
		return n, err
	}
	router, err := net.ParseMAC(switchMAC)
	if err != nil {
		return n, err
	}
	for i := range uplinks + 1 {
		far, name := n.spineEnd, fmt.Sprint("swp", i)
		if i == 0 {
			far, name = host, "swp0"
		}
		near, end, err := f.Link(n.leaf, wire(i), far, name)
		if err != nil {
			return n, err
		}
		near.MAC = router // that frames are sent to
		if i == 0 {
			n.a = end
		} else {
			n.spine = append(n.spine, end)
		}
		if err := errors.Join(n.leaf.Do(func() error { return bare(near.Name) }), far.Do(func() error { return alive(end, i) })); err != nil {
			return n, err
		}
	}
	// The TAP devices are as SONiC's host interfaces.
	for name, value := range map[string]string{
		"net.ipv6.conf.default.forwarding": "1", "net.ipv6.conf.default.addr_gen_mode": "0",
		"net.ipv4.fib_multipath_hash_policy": "1", "net.ipv6.fib_multipath_hash_policy": "1",
		"net.ipv4.conf.default.arp_accept": "0", "net.unix.max_dgram_qlen": "4096",
	} {
		if err := n.leaf.Sysctl(name, value); err != nil {
			return n, err
		}
	}
	return n, nil
}

// bare leaves the wire of a port to syncd: the kernel has no address and no neighbor there.
func bare(name string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	if err := writeSysctl("net/ipv6/conf/"+name+"/disable_ipv6", "1"); err != nil {
		return err
	}
	known, err := netlink.NeighList(link.Attrs().Index, 0)
	for _, k := range known {
		err = errors.Join(err, ignore(netlink.NeighDel(&k), unix.ENOENT))
	}
	return err
}

// alive lets a host's end answer ARP and neighbor discovery, and gives the spine's its addresses.
func alive(end *fabric.Interface, port int) error {
	link, err := netlink.LinkByName(end.Name)
	if err != nil {
		return err
	}
	known, err := netlink.NeighList(link.Attrs().Index, 0)
	for _, k := range known {
		err = errors.Join(err, ignore(netlink.NeighDel(&k), unix.ENOENT))
	}
	if err := errors.Join(err, netlink.LinkSetDown(link), netlink.LinkSetARPOn(link), netlink.LinkSetMulticastOn(link), netlink.LinkSetUp(link)); err != nil {
		return err
	}
	addresses := []netip.Prefix{netip.PrefixFrom(end.LinkLocal, 64)}
	if port > 0 {
		addresses = append(addresses, netip.PrefixFrom(spineAddress(port-1), 31))
	}
	for _, a := range addresses {
		if err := address(link, a); err != nil {
			return err
		}
	}
	return nil
}

// address gives a link of this thread's namespace an address.
func address(link netlink.Link, a netip.Prefix) error {
	to := &netlink.Addr{IPNet: &net.IPNet{IP: a.Addr().AsSlice(), Mask: net.CIDRMask(a.Bits(), a.Addr().BitLen())}}
	if a.Addr().Is6() {
		to.Flags = unix.IFA_F_NODAD
	}
	if err := netlink.AddrAdd(link, to); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("give %s the address %s: %w", link.Attrs().Name, a, err)
	}
	return nil
}

// ignore returns an error unless it is one of some kind.
func ignore(err error, kinds ...error) error {
	for _, k := range kinds {
		if errors.Is(err, k) {
			return nil
		}
	}
	return err
}
