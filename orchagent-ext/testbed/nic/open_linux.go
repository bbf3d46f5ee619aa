// SPDX-License-Identifier: Apache-2.0

package nic

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/wire/roce"
)

// Open opens a packet socket on a device for [Run] or [Sink], and returns the
// device's address.
func Open(device string) (fd int, mac roce.MAC, err error) {
	i, err := net.InterfaceByName(device)
	if err != nil {
		return -1, mac, fmt.Errorf("device %s: %w", device, err)
	}
	if len(i.HardwareAddr) != len(mac) {
		return -1, mac, fmt.Errorf("device %s has no Ethernet address", device)
	}
	fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if errors.Is(err, unix.EPERM) {
		return -1, mac, errors.New("packet sockets need the capability CAP_NET_RAW: run as root, or `setcap cap_net_raw+ep` the program")
	}
	if err != nil {
		return -1, mac, fmt.Errorf("open a packet socket: %w", err)
	}
	// Frames that the device sends itself would come back, and count as received (packet(7),
	// PACKET_IGNORE_OUTGOING).
	err = unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1)
	if err == nil {
		all := binary.NativeEndian.Uint16([]byte{unix.ETH_P_ALL >> 8, unix.ETH_P_ALL & 0xff})
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: i.Index})
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, mac, fmt.Errorf("open a packet socket on %s: %w", device, err)
	}
	return fd, roce.MAC(i.HardwareAddr), nil
}

// Close closes a socket of [Open].
func Close(fd int) error { return unix.Close(fd) }

// Next returns the Ethernet address of the next hop towards a destination out of a
// device, as the kernel's routes and neighbor entries have it, and the source address
// that the kernel would choose. It resolves a neighbor that the table lacks.
func Next(device string, to netip.Addr) (mac roce.MAC, from netip.Addr, err error) {
	link, err := netlink.LinkByName(device)
	if err != nil {
		return mac, from, fmt.Errorf("device %s: %w", device, err)
	}
	routes, err := netlink.RouteGetWithOptions(to.AsSlice(), &netlink.RouteGetOptions{Oif: device})
	if err != nil || len(routes) == 0 {
		return mac, from, fmt.Errorf("no route to %s out of %s: %w", to, device, err)
	}
	hop, family := to, netlink.FAMILY_V6
	if gw, ok := netip.AddrFromSlice(routes[0].Gw); ok {
		hop = gw.Unmap()
	} else if routes[0].Via != nil {
		if via, ok := routes[0].Via.(*netlink.Via); ok {
			hop, _ = netip.AddrFromSlice(via.Addr)
		}
	}
	from, _ = netip.AddrFromSlice(routes[0].Src)
	from = from.Unmap()
	if hop.Is4() {
		family = netlink.FAMILY_V4
	}
	for asked, failed, deadline := false, false, time.Now().Add(resolveFor); ; time.Sleep(resolveEvery) {
		neighbors, err := netlink.NeighList(link.Attrs().Index, family)
		if err != nil {
			return mac, from, fmt.Errorf("read the neighbors of %s: %w", device, err)
		}
		for _, n := range neighbors {
			if at, ok := netip.AddrFromSlice(n.IP); ok && at.Unmap() == hop {
				if len(n.HardwareAddr) == len(mac) {
					return roce.MAC(n.HardwareAddr), from, nil
				}
				failed = asked && n.State == netlink.NUD_FAILED
			}
		}
		if !asked {
			asked = ask(device, to)
		}
		if !asked || failed || time.Now().After(deadline) {
			return mac, from, fmt.Errorf("%s, the next hop to %s out of %s, does not say its Ethernet address: is it there? Or give --next-hop-mac", hop, to, device)
		}
	}
}

// The kernel asks a neighbor three times, a second apart (RFC 4861, section 10; so for ARP).
const (
	resolveFor   = 4 * time.Second
	resolveEvery = 10 * time.Millisecond
)

// ask makes the kernel ask for the next hop's Ethernet address: it has an octet to send
// there, to the port that discards (RFC 863). It reports whether it has.
func ask(device string, to netip.Addr) bool {
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) (err error) {
		return errors.Join(c.Control(func(fd uintptr) { err = unix.BindToDevice(int(fd), device) }), err)
	}}
	if to.IsLinkLocalUnicast() {
		to = to.WithZone(device)
	}
	c, err := d.Dial("udp", netip.AddrPortFrom(to, 9).String())
	if err != nil {
		return false
	}
	defer c.Close()
	_, err = c.Write([]byte{0})
	return err == nil
}
