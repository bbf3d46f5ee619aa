// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/yang/rows"
)

// A hop is a next hop of the switch's routes.
type hop struct {
	via  netip.Addr
	port string
}

func (h hop) String() string { return h.via.String() + "@" + h.port }

// hops are those of all uplinks, for IPv4 or, by link-local addresses, for IPv6.
func (s *sonic) hops(v6 bool) (all []hop) {
	for i := range uplinks {
		via := spineAddress(i)
		if v6 {
			via = s.spine[i].LinkLocal
		}
		all = append(all, hop{via, portName(i + 1)})
	}
	return all
}

// up waits until the ports are up, and gives the switch its neighbors and routes.
func (s *sonic) up(ctx context.Context) error {
	for i := range uplinks + 1 {
		if err := must(ctx, portName(i)+" is up and has its addresses", func() (bool, error) {
			if err := s.alive(); err != nil {
				return false, err
			}
			state, err := row(ctx, s.state, "PORT_TABLE", portName(i))
			if err != nil || state["state"] != "ok" {
				return false, err
			}
			oper, err := row(ctx, s.appl, "PORT_TABLE", portName(i))
			if err != nil || oper["oper_status"] != "up" {
				return false, err
			}
			return s.addressed(i)
		}); err != nil {
			return err
		}
	}
	if err := s.meetNeighbors(ctx); err != nil {
		return err
	}
	return errors.Join(s.route(ctx, fabric.HostB4.Masked(), s.hops(false)), s.route(ctx, fabric.HostB.Masked(), s.hops(true)))
}

// addressed reports whether the kernel has a port's IPv4 and link-local addresses.
func (s *sonic) addressed(port int) (ok bool, err error) {
	err = s.leaf.Do(func() error {
		link, err := netlink.LinkByName(portName(port))
		if err != nil {
			return ignore(err, unix.ENODEV)
		}
		four, err := netlink.AddrList(link, netlink.FAMILY_V4)
		if err != nil {
			return err
		}
		six, err := netlink.AddrList(link, netlink.FAMILY_V6)
		ok = len(four) > 0 && slices.ContainsFunc(six, func(a netlink.Addr) bool { return a.IP.IsLinkLocalUnicast() })
		return err
	})
	if lost := (netlink.LinkNotFoundError{}); errors.As(err, &lost) {
		err = nil
	}
	return ok, err
}

// meetNeighbors has the kernel resolve the spine's addresses, and waits until orchagent has them.
func (s *sonic) meetNeighbors(ctx context.Context) error {
	for _, h := range slices.Concat(s.hops(false), s.hops(true)) {
		if err := must(ctx, "orchagent has the neighbor "+h.String(), func() (bool, error) {
			fields, err := row(ctx, s.appl, "NEIGH_TABLE", h.port+":"+h.via.String())
			if err != nil || fields != nil {
				return fields != nil, err
			}
			return false, s.leaf.Do(func() error { return greet(h) })
		}); err != nil {
			return err
		}
	}
	return nil
}

// greet sends a datagram to a neighbor, so that the kernel asks for its MAC.
func greet(h hop) error {
	link, err := netlink.LinkByName(h.port)
	if err != nil {
		return nil // it comes
	}
	to := &net.UDPAddr{IP: h.via.AsSlice(), Port: 9}
	if h.via.Is6() {
		to.Zone = fmt.Sprint(link.Attrs().Index)
	}
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error { // in the VRF of the port
		return c.Control(func(fd uintptr) { _ = unix.BindToDevice(int(fd), h.port) })
	}}
	c, err := d.Dial("udp", to.String())
	if err != nil {
		return nil // until the port has its address
	}
	_, _ = c.Write([]byte{0}) // a datagram that is lost is sent again
	return c.Close()
}

// route routes a prefix over next hops, in the kernel and as fpmsyncd writes it for orchagent; without
// next hops the route goes.
func (s *sonic) route(ctx context.Context, to netip.Prefix, over []hop) error {
	err := s.leaf.Do(func() error { return kernelRoute(s.vrf, to, over) })
	change := sonicdb.Change{Row: rows.Row{Table: "ROUTE_TABLE", Key: strings.TrimPrefix(s.vrf+":"+to.String(), ":")}, Deleted: len(over) == 0}
	if len(over) > 0 {
		var vias, ports []string
		for _, h := range over {
			vias, ports = append(vias, h.via.String()), append(ports, h.port)
		}
		change.Row.Fields = map[string]string{"nexthop": strings.Join(vias, ","), "ifname": strings.Join(ports, ","), "protocol": "bgp"}
	}
	return errors.Join(err, s.appl.Produce(ctx, change))
}

// kernelRoute is the route of zebra: next hops of its own, without next-hop objects.
func kernelRoute(vrf string, to netip.Prefix, over []hop) error {
	dst := &net.IPNet{IP: to.Addr().AsSlice(), Mask: net.CIDRMask(to.Bits(), to.Addr().BitLen())}
	r := &netlink.Route{Dst: dst, Protocol: unix.RTPROT_BGP, Priority: 20}
	if vrf != "" {
		link, err := netlink.LinkByName(vrf)
		if err != nil {
			return err
		}
		of, ok := link.(*netlink.Vrf)
		if !ok {
			return fmt.Errorf("the netdev %s is a %s, and a VRF was expected", vrf, link.Type())
		}
		r.Table = int(of.Table)
	}
	if len(over) == 0 {
		return ignore(netlink.RouteDel(r), unix.ESRCH)
	}
	for _, h := range over {
		link, err := netlink.LinkByName(h.port)
		if err != nil {
			return err
		}
		n := &netlink.NexthopInfo{LinkIndex: link.Attrs().Index}
		if to.Addr().Is4() && h.via.Is6() {
			n.Via = &netlink.Via{AddrFamily: unix.AF_INET6, Addr: h.via.AsSlice()}
		} else {
			n.Gw = h.via.AsSlice()
		}
		r.MultiPath = append(r.MultiPath, n)
	}
	if err := netlink.RouteReplace(r); err != nil {
		return fmt.Errorf("route %s over %v: %w", to, over, err)
	}
	return nil
}

func writeSysctl(path, value string) error {
	return os.WriteFile("/proc/sys/"+path, []byte(value), 0)
}
