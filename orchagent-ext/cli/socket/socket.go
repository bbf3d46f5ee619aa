// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"fmt"
	"net"
	"net/netip"
	"time"
)

// Frame is a frame that a Link received. Data is valid until the next Receive.
type Frame struct {
	Data   []byte
	Device string
	Time   time.Time
}

// Kind is the first header of a frame.
type Kind uint8

// The kinds of frames of a [Tap].
const (
	Other    Kind = iota // an unparsed header
	Ethernet             // an Ethernet header
	IP                   // an IP header
)

// Passing is a frame that a [Tap] saw. Data has its VLAN tag, also where the kernel took it
// out, and is valid until the next Receive.
type Passing struct {
	Frame
	Kind  Kind
	Index int // of the device
	// Length: octets on the wire: more than Data, where the frame was too long
	Length   int
	Outgoing bool // it left by the device
}

// names are those of devices, by interface index.
type names map[int]string

// of is the device's name, or its index where it is gone.
func (n names) of(index int) string {
	name, ok := n[index]
	if !ok {
		name = fmt.Sprint(index)
		if i, err := net.InterfaceByIndex(index); err == nil {
			name = i.Name
		}
		n[index] = name
	}
	return name
}

// MAC is the device's own address.
func MAC(device string) (mac [6]byte, err error) {
	i, err := net.InterfaceByName(device)
	if err != nil {
		return mac, fmt.Errorf("device %s: %w", device, err)
	}
	copy(mac[:], i.HardwareAddr)
	return mac, nil
}

// RoutedAddress is the address of this host that the routes select as source towards
// another. It sends no packet: it connects a UDP socket.
func RoutedAddress(to netip.Addr) (netip.Addr, error) {
	const discard = 9 // any port
	conn, err := net.Dial("udp", netip.AddrPortFrom(to, discard).String())
	if err != nil {
		return netip.Addr{}, fmt.Errorf("no address to send to %s from; --src gives one: %w", to, err)
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap(), nil
}

// Address is the device's own address to send from: IPv4, link-local IPv6, or
// other IPv6.
func Address(device string, v4, linkLocal bool) (netip.Addr, error) {
	i, err := net.InterfaceByName(device)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("device %s: %w", device, err)
	}
	addrs, err := i.Addrs()
	if err != nil {
		return netip.Addr{}, fmt.Errorf("addresses of %s: %w", device, err)
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			if own := p.Addr(); own.Is4() == v4 && (v4 || own.IsLinkLocalUnicast() == linkLocal) {
				return own, nil
			}
		}
	}
	kind := "IPv6"
	switch {
	case v4:
		kind = "IPv4"
	case linkLocal:
		kind = "link-local IPv6"
	}
	return netip.Addr{}, fmt.Errorf("device %s has no %s address", device, kind)
}

// OwnAddresses are the addresses of this host.
func OwnAddresses() (map[netip.Addr]bool, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("addresses of this host: %w", err)
	}
	own := map[netip.Addr]bool{}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			own[p.Addr()] = true
		}
	}
	return own, nil
}
