// SPDX-License-Identifier: Apache-2.0

package nexthops

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// errMoved means that the kernel's answers contradict each other: routes changed between
// two of them.
var errMoved = errors.New("the group changed while it was read")

// attempts is how often a group that changes meanwhile is read.
const attempts = 5

// Read returns the group for a destination. An error names the destination; without a
// route it is unix.ENETUNREACH.
func Read(dst netip.Addr) (g Group, err error) {
	groups, err := ReadAll("", []netip.Addr{dst})
	if err != nil {
		return Group{}, fmt.Errorf("next hops to %v: %w", dst, err)
	}
	if err := groups[dst].Err; err != nil {
		return Group{}, err
	}
	return *groups[dst].Group, nil
}

// ReadAll returns the groups for destinations by the routes of a VRF; "": of the table main.
// Routes are read once, and groups that are alike are one.
func ReadAll(vrf string, dsts []netip.Addr) (groups map[netip.Addr]Result, err error) {
	table, err := tableOf(vrf)
	if err != nil {
		groups = make(map[netip.Addr]Result, len(dsts))
		for _, dst := range dsts {
			groups[dst] = Result{Err: fmt.Errorf("next hops to %v: %w", dst, err)}
		}
		return groups, nil
	}
	for range attempts {
		if groups, err = readAll(table, dsts); !errors.Is(err, errMoved) {
			break
		}
	}
	return groups, err
}

// tableOf returns the routing table of a VRF, which is the netdev of its name.
func tableOf(vrf string) (uint32, error) {
	if vrf == "" {
		return unix.RT_TABLE_MAIN, nil
	}
	link, err := netlink.LinkByName(vrf)
	if err != nil {
		return 0, fmt.Errorf("VRF %q: %w", vrf, err)
	}
	if is, ok := link.(*netlink.Vrf); ok {
		return is.Table, nil
	}
	return 0, fmt.Errorf("%q is no VRF: it is a netdev of type %s", vrf, link.Type())
}

// readAll reads the groups for destinations once. errMoved means that routes changed
// meanwhile: ReadAll tries again.
func readAll(table uint32, dsts []netip.Addr) (map[netip.Addr]Result, error) {
	routes, err := getRoutes(table, dsts)
	if err != nil {
		return nil, err
	}
	groups := make(map[netip.Addr]Result, len(dsts))
	known := alike{}
	for _, dst := range dsts {
		r, found := routes[dst]
		err := error(unix.ENETUNREACH)
		if found {
			err = r.usable()
		}
		if err != nil {
			groups[dst] = Result{Err: fmt.Errorf("next hops to %v: %w", dst, err)}
			continue
		}
		g, err := known.of(&r, dst)
		if err != nil {
			return nil, err
		}
		groups[dst] = g
	}
	return groups, nil
}

// alike are groups that were read, by the content of their routes.
type alike map[string]Result

// of is the group of a route, which leads to dst. The error is errMoved.
func (a alike) of(r *route, dst netip.Addr) (g Result, err error) {
	key := fmt.Sprint(r.object, r.members, dst.Is4())
	g, known := a[key]
	if known {
		return g, nil
	}
	g.Group, err = groupOf(r, dst.Is4())
	if errors.Is(err, errMoved) {
		return g, err
	}
	if err != nil {
		g.Err = fmt.Errorf("next hops to %v: %w", dst, err)
	}
	a[key] = g
	return g, nil
}

// groupOf returns the group of a route, by its own next hops or by its next-hop object.
func groupOf(r *route, v4 bool) (*Group, error) {
	g := &Group{ID: r.object, Members: r.members}
	if r.object != 0 { // of which the route lists a copy
		g.Members = nil
		if err := g.readObject(v4); err != nil {
			return nil, err
		}
	}
	for i := range g.Members {
		m := &g.Members[i]
		link, err := netlink.LinkByIndex(m.Index)
		if errors.As(err, &netlink.LinkNotFoundError{}) {
			return nil, errMoved
		}
		if err != nil {
			return nil, fmt.Errorf("link %d: %w", m.Index, err)
		}
		m.Link, m.NoCarrier = link.Attrs().Name, link.Attrs().RawFlags&unix.IFF_LOWER_UP == 0
	}
	return g, nil
}

// readObject reads a next-hop object: a group, or a single one.
func (g *Group) readObject(v4 bool) error {
	o, err := getObject(g.ID)
	if err != nil {
		return err
	}
	if o.group == nil {
		g.Members = []Member{o.member}
		return nil
	}
	ids := make([]uint32, len(o.group))
	for i, one := range o.group {
		ids[i] = one.id
		member, err := getObject(one.id)
		if err != nil {
			return err
		}
		m := member.member
		m.Weight = one.weight
		if m.Unresolved, err = unresolved(m, v4); err != nil {
			return err
		}
		g.Members = append(g.Members, m)
	}
	if !o.resilient {
		return nil
	}
	buckets, err := getBuckets(g.ID)
	if err != nil {
		return err
	}
	for _, id := range buckets {
		at := slices.Index(ids, id)
		if at < 0 {
			return errMoved
		}
		g.Buckets = append(g.Buckets, uint16(at))
	}
	return nil
}

// unresolved reports whether the kernel passes a member of a group over: its neighbor is
// known, and silent.
func unresolved(m Member, v4 bool) (bool, error) {
	const valid = netlink.NUD_PERMANENT | netlink.NUD_NOARP | netlink.NUD_REACHABLE | netlink.NUD_PROBE | netlink.NUD_STALE | netlink.NUD_DELAY
	if !m.Gateway.IsValid() {
		return false, nil
	}
	family := unix.AF_INET6
	if v4 {
		family = unix.AF_INET
	}
	neighbors, err := netlink.NeighList(m.Index, family)
	if err != nil {
		return false, fmt.Errorf("neighbors of link %d: %w", m.Index, err)
	}
	for _, n := range neighbors {
		if ip, ok := netip.AddrFromSlice(n.IP); ok && ip.Unmap() == m.Gateway {
			return n.State&valid == 0, nil
		}
	}
	return false, nil
}
