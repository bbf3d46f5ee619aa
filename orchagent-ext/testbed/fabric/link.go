// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// MTU is that of every link, octets: RoCE's largest path MTU with its headers
// fits.
const MTU = 9100

// An Interface is one end of a link.
type Interface struct {
	Node      *Node
	Name      string // in its namespace
	Index     int    // in its namespace
	MAC       net.HardwareAddr
	LinkLocal netip.Addr // its IPv6 link-local address

	peer      *Interface
	addresses []netip.Prefix
	neighbors map[netip.Addr]net.HardwareAddr
}

// Peer returns the interface at the other end of the link.
func (i *Interface) Peer() *Interface { return i.peer }

// Link connects two nodes by a veth pair and brings it up. Both ends have a
// link-local address and know the other's.
func (f *Fabric) Link(a *Node, aName string, b *Node, bName string) (*Interface, *Interface, error) {
	f.links++
	x, y := f.end(a, aName, 0), f.end(b, bName, 1)
	x.peer, y.peer = y, x
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.HardwareAddr, attrs.MTU = aName, x.MAC, MTU
	err := a.netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: bName, PeerHardwareAddr: y.MAC, PeerNamespace: netlink.NsFd(b.ns)})
	if err != nil {
		return nil, nil, unsupported(fmt.Sprintf("make veth link %s %s – %s %s", a.Name, aName, b.Name, bName), err)
	}
	for _, i := range []*Interface{x, y} {
		if err := i.up(); err != nil {
			return nil, nil, fmt.Errorf("set %s of %s up: %w", i.Name, i.Node.Name, err)
		}
	}
	for _, i := range []*Interface{x, y} {
		if err := i.running(); err != nil {
			return nil, nil, err
		}
		if err := i.Address(netip.PrefixFrom(i.LinkLocal, 64)); err != nil {
			return nil, nil, err
		}
	}
	return x, y, nil
}

// end makes up MAC and link-local address (RFC 4291, appendix A) of an end.
func (f *Fabric) end(n *Node, name string, side byte) *Interface {
	mac := net.HardwareAddr{2, 0, byte(f.links >> 8), byte(f.links), 0, side}
	return &Interface{Node: n, Name: name, MAC: mac, neighbors: map[netip.Addr]net.HardwareAddr{}, LinkLocal: netip.AddrFrom16([16]byte{
		0xfe, 0x80, 8: mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5],
	})}
}

// up sets the interface up, silent, and like a wire's end.
func (i *Interface) up() error {
	h := i.Node.netlink
	link, err := h.LinkByName(i.Name)
	if err != nil {
		return err
	}
	i.Index = link.Attrs().Index
	// Without ARP and multicast the kernel asks and reports nothing by itself.
	if err := h.LinkSetARPOff(link); err != nil {
		return err
	}
	if err := h.LinkSetMulticastOff(link); err != nil {
		return err
	}
	if err := i.Node.Do(func() error { return LikeWire(i.Name) }); err != nil {
		return err
	}
	if i.Node.forwards {
		// Only now: an interface with multicast joins the routers' group by this.
		if err := i.Node.Sysctl("net.ipv6.conf."+i.Name+".forwarding", "1"); err != nil {
			return err
		}
	}
	return h.LinkSetUp(link)
}

// Set sets the interface up or down. While it is down the other end lacks
// carrier.
func (i *Interface) Set(up bool) error {
	h := i.Node.netlink
	link, err := h.LinkByName(i.Name)
	if err != nil {
		return err
	}
	if up {
		return h.LinkSetUp(link)
	}
	return h.LinkSetDown(link)
}

// Restore gives the interface the addresses and neighbors, and the node the routes, that it had
// before [Interface.Set] set the interface down and up again: Linux forgets them.
func (i *Interface) Restore() error {
	for a, mac := range i.neighbors {
		if err := i.Neighbor(a, mac); err != nil {
			return err
		}
	}
	for _, a := range i.addresses {
		if err := i.Address(a); err != nil && !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
	for _, r := range i.Node.routes {
		if err := i.Node.netlink.RouteReplace(r); err != nil {
			return fmt.Errorf("route %s in %s again: %w", r.Dst, i.Node.Name, err)
		}
	}
	return nil
}

// Address gives the interface an address, and the other end a permanent neighbor
// entry for it. The prefix is on the link.
func (i *Interface) Address(a netip.Prefix) error {
	flags := 0
	if a.Addr().Is6() {
		flags = unix.IFA_F_NODAD
	}
	link := &netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: i.Name, Index: i.Index}}
	at := ipNet(a)
	at.IP = a.Addr().AsSlice()
	if err := i.Node.netlink.AddrAdd(link, &netlink.Addr{IPNet: at, Flags: flags}); err != nil {
		return fmt.Errorf("give %s of %s the address %s: %w", i.Name, i.Node.Name, a, err)
	}
	if err := i.local(a.Addr()); err != nil {
		return err
	}
	if !slices.Contains(i.addresses, a) {
		i.addresses = append(i.addresses, a)
	}
	return i.peer.Neighbor(a.Addr(), i.MAC)
}

// Neighbor adds a permanent neighbor entry: a is reached at mac.
func (i *Interface) Neighbor(a netip.Addr, mac net.HardwareAddr) error {
	err := i.Node.netlink.NeighSet(&netlink.Neigh{
		LinkIndex: i.Index, State: netlink.NUD_PERMANENT, IP: a.AsSlice(), HardwareAddr: mac,
	})
	if err != nil {
		return fmt.Errorf("tell %s of %s that %s is at %s: %w", i.Name, i.Node.Name, a, mac, err)
	}
	i.neighbors[a] = mac
	return nil
}

// Counters are an interface's counters since it was made, in packets and, with
// the Ethernet header, octets.
type Counters struct {
	RxPackets, TxPackets uint64
	RxBytes, TxBytes     uint64
	RxDropped, TxDropped uint64
}

// Counters reads the interface's own statistics.
func (i *Interface) Counters() (Counters, error) {
	link, err := i.Node.netlink.LinkByIndex(i.Index)
	if err != nil {
		return Counters{}, fmt.Errorf("read counters of %s of %s: %w", i.Name, i.Node.Name, err)
	}
	s := link.Attrs().Statistics
	if s == nil {
		return Counters{}, fmt.Errorf("read counters of %s of %s: the kernel gave none", i.Name, i.Node.Name)
	}
	return Counters{s.RxPackets, s.TxPackets, s.RxBytes, s.TxBytes, s.RxDropped, s.TxDropped}, nil
}

// ipNet returns a prefix in the form of package netlink.
func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Masked().Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// bigEndian is v as a number whose octets in memory are in network order.
func bigEndian(v uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v))
}

// Queue is the queue of an interface: packets that wait to be sent, and packets
// that were dropped because it was full.
type Queue struct {
	Octets  uint64 // waiting, as queueing disciplines count them: with the Ethernet header
	Dropped uint64 // packets, since the interface has this discipline
}

// Queue reads the interface's root queueing discipline, which counts for the whole
// interface.
func (i *Interface) Queue() (q Queue, err error) {
	all, err := i.Node.netlink.QdiscList(&netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: i.Name, Index: i.Index}})
	if err != nil {
		return q, fmt.Errorf("read the queues of %s of %s: %w", i.Name, i.Node.Name, err)
	}
	for _, d := range all {
		if a := d.Attrs(); a.Parent == netlink.HANDLE_ROOT && a.Statistics != nil && a.Statistics.Queue != nil {
			return Queue{uint64(a.Statistics.Queue.Backlog), uint64(a.Statistics.Queue.Drops)}, nil
		}
	}
	return q, nil // an interface needs a discipline to queue
}
