// SPDX-License-Identifier: Apache-2.0

package nexthops

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/spread/ecmp"
)

// Numbers of linux/rtnetlink.h and linux/nexthop.h.
const (
	rtaNHID        = 30 // RTA_NH_ID
	nhaID          = 1
	nhaGroup       = 2
	nhaGroupType   = 3
	nhaOIF         = 5
	nhaGateway     = 6
	nhaResBucket   = 13
	bucketIndex    = 1
	bucketNHID     = 3
	typeResilient  = 1
	nhmsgLen       = 8
	groupMemberLen = 8
	flagNested     = 1 << 15 // NLA_F_NESTED
)

// route has the fields of a route.
type route struct {
	dst     netip.Addr // with bits 0 it may be none
	bits    int
	table   uint32
	metric  uint32
	kind    uint8 // unix.RTN_…
	cloned  bool
	object  uint32 // next-hop object, or 0
	members []Member
}

// raw is octets of a request.
type raw []byte

// Len implements [nl.NetlinkRequestData].
func (r raw) Len() int { return len(r) }

// Serialize implements [nl.NetlinkRequestData].
func (r raw) Serialize() []byte { return r }

// getRoutes finds the routes to destinations in a table: for each, of those with
// the longest prefix the one with the lowest metric. Destinations without a route are left
// out.
//
// It reads all routes of the table. A request for one destination (RTM_F_FIB_MATCH) is of
// little use for IPv6: it lists the next hops from the one on that the request's own hash
// chose, and of two routes with one next-hop object it may return the other one.
func getRoutes(table uint32, dsts []netip.Addr) (map[netip.Addr]route, error) {
	best := make(map[netip.Addr]route, len(dsts))
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		var of []netip.Addr
		for _, dst := range dsts {
			if dst.Is4() == (family == unix.AF_INET) {
				of = append(of, dst)
			}
		}
		if len(of) == 0 {
			continue
		}
		if err := dump(family, table, of, best); err != nil {
			return nil, err
		}
	}
	return best, nil
}

// dump reads the routes of a family. Destinations are looked up by prefix, so that many of
// both cost little.
func dump(family uint8, table uint32, dsts []netip.Addr, best map[netip.Addr]route) error {
	within := map[int]map[netip.Prefix][]netip.Addr{} // by the length of prefixes
	return routes(family, table, func(r *route) {
		if within[r.bits] == nil {
			within[r.bits] = prefixes(dsts, r.bits)
		}
		for _, dst := range within[r.bits][r.prefix(family)] {
			if is, found := best[dst]; !found || r.bits > is.bits || r.bits == is.bits && r.metric < is.metric {
				best[dst] = *r
			}
		}
	})
}

// routes calls visit for each route of a table.
func routes(family uint8, table uint32, visit func(*route)) error {
	request := nl.NewNetlinkRequest(unix.RTM_GETROUTE, unix.NLM_F_DUMP)
	message := &nl.RtMsg{}
	message.Family = family
	request.AddData(message)
	var bad error
	err := request.ExecuteIter(unix.NETLINK_ROUTE, unix.RTM_NEWROUTE, func(b []byte) bool {
		var r route
		if r, bad = parseRoute(b); bad != nil {
			return false
		}
		if r.table == table && !r.cloned {
			visit(&r)
		}
		return true
	})
	switch {
	case bad != nil:
		return bad
	case errors.Is(err, nl.ErrDumpInterrupted):
		return errMoved
	}
	return err
}

// prefixes has destinations by their prefix of a length.
func prefixes(dsts []netip.Addr, bits int) map[netip.Prefix][]netip.Addr {
	by := make(map[netip.Prefix][]netip.Addr, len(dsts))
	for _, dst := range dsts {
		if p, err := dst.Prefix(bits); err == nil {
			by[p] = append(by[p], dst)
		}
	}
	return by
}

// prefix is that of the route's destinations.
func (r *route) prefix(family uint8) netip.Prefix {
	switch {
	case r.dst.IsValid():
		return netip.PrefixFrom(r.dst, r.bits)
	case family == unix.AF_INET:
		return netip.PrefixFrom(netip.IPv4Unspecified(), r.bits)
	}
	return netip.PrefixFrom(netip.IPv6Unspecified(), r.bits)
}

// usable returns the error of a route whose packets lack a next hop, or nil.
func (r *route) usable() error {
	switch {
	case r.kind != unix.RTN_UNICAST:
		return fmt.Errorf("the route is of type %d: only unicast routes have next hops", r.kind)
	case r.members == nil && r.object == 0:
		return errors.New("the route has no next hop")
	}
	return nil
}

// parseRoute decodes a struct rtmsg and its attributes.
func parseRoute(b []byte) (r route, err error) {
	if len(b) < unix.SizeofRtMsg {
		return r, errShort
	}
	r.bits, r.table, r.kind = int(b[1]), uint32(b[4]), b[7]
	r.cloned = binary.NativeEndian.Uint32(b[8:])&unix.RTM_F_CLONED != 0
	attributes, err := parseAttributes(b[unix.SizeofRtMsg:])
	if err != nil {
		return r, err
	}
	single := Member{Member: ecmp.Member{Weight: 1}}
	for _, a := range attributes {
		switch a.Attr.Type {
		case unix.RTA_DST:
			r.dst, err = address(a.Value)
		case unix.RTA_TABLE:
			r.table, err = number(a)
		case unix.RTA_PRIORITY:
			r.metric, err = number(a)
		case rtaNHID:
			r.object, err = number(a)
		case unix.RTA_OIF:
			single.Index, err = index(a)
		case unix.RTA_GATEWAY:
			single.Gateway, err = address(a.Value)
		case unix.RTA_MULTIPATH:
			r.members, err = parseMultipath(a.Value)
		}
		if err != nil {
			return route{}, err
		}
	}
	if r.members == nil && single.Index != 0 {
		r.members = []Member{single}
	}
	return r, nil
}

// parseMultipath decodes a list of struct rtnexthop, each with its attributes.
func parseMultipath(b []byte) (members []Member, err error) {
	for len(b) > 0 {
		if len(b) < unix.SizeofRtNexthop {
			return nil, errShort
		}
		size := int(binary.NativeEndian.Uint16(b))
		if size < unix.SizeofRtNexthop || size > len(b) {
			return nil, errShort
		}
		m := Member{Index: int(int32(binary.NativeEndian.Uint32(b[4:])))}
		m.Dead = b[2]&unix.RTNH_F_DEAD != 0 // also for linkdown, where such next hops are ignored
		m.Weight = int(b[3]) + 1
		attributes, err := parseAttributes(b[unix.SizeofRtNexthop:size])
		if err != nil {
			return nil, err
		}
		for _, a := range attributes {
			switch a.Attr.Type {
			case unix.RTA_GATEWAY:
				m.Gateway, err = address(a.Value)
			case unix.RTA_VIA: // a family of 2 octets before it
				if len(a.Value) < 2 {
					return nil, errShort
				}
				m.Gateway, err = address(a.Value[2:])
			}
			if err != nil {
				return nil, err
			}
		}
		members = append(members, m)
		b = b[min(len(b), (size+3)&^3):]
	}
	return members, nil
}

// parseAttributes parses a series of struct rtattr (linux/rtnetlink.h). It pads the last one to
// 4 octets, as the kernel does: the library panics at one that is not.
func parseAttributes(b []byte) ([]syscall.NetlinkRouteAttr, error) {
	return nl.ParseRouteAttr(append(b[:len(b):len(b)], make([]byte, -len(b)&3)...))
}

// object is a next-hop object: a single one, or a group.
type object struct {
	member    Member
	group     []groupMember // nil: a single one
	resilient bool
}

// groupMember is a member of a next-hop group: the id of its object, and its weight.
type groupMember struct {
	id     uint32
	weight int
}

// getObject asks for a next-hop object.
func getObject(id uint32) (o object, err error) {
	request := nl.NewNetlinkRequest(unix.RTM_GETNEXTHOP, 0)
	request.AddData(make(raw, nhmsgLen))
	request.AddData(nl.NewRtAttr(nhaID, nl.Uint32Attr(id)))
	answers, err := request.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWNEXTHOP)
	if errors.Is(err, unix.ENOENT) {
		return o, errMoved
	}
	if err != nil {
		return o, fmt.Errorf("next-hop object %d: %w", id, err)
	}
	if len(answers) != 1 || len(answers[0]) < nhmsgLen {
		return o, fmt.Errorf("next-hop object %d: %d answers", id, len(answers))
	}
	if o, err = parseObject(answers[0][nhmsgLen:]); err != nil {
		return o, fmt.Errorf("next-hop object %d: %w", id, err)
	}
	return o, nil
}

// parseObject parses a message RTM_NEWNEXTHOP, after its header struct nhmsg
// (linux/nexthop.h).
func parseObject(b []byte) (o object, err error) {
	attributes, err := parseAttributes(b)
	if err != nil {
		return o, err
	}
	o.member.Weight = 1
	for _, a := range attributes {
		switch a.Attr.Type {
		case nhaOIF:
			o.member.Index, err = index(a)
		case nhaGateway:
			o.member.Gateway, err = address(a.Value)
		case nhaGroupType:
			if len(a.Value) < 2 {
				return o, errShort
			}
			o.resilient = binary.NativeEndian.Uint16(a.Value) == typeResilient
		case nhaGroup:
			for v := a.Value; len(v) > 0; v = v[groupMemberLen:] {
				if len(v) < groupMemberLen {
					return o, errShort
				}
				// The weight less 1, its low octet before its high one.
				o.group = append(o.group, groupMember{binary.NativeEndian.Uint32(v), int(v[5])<<8 + int(v[4]) + 1})
			}
		}
		if err != nil {
			return o, err
		}
	}
	if o.group == nil && o.member.Index == 0 {
		return o, errors.New("it has neither members nor a device (a blackhole?)")
	}
	return o, nil
}

// getBuckets asks for the next hop of each bucket of a resilient group.
func getBuckets(id uint32) (ids []uint32, err error) {
	request := nl.NewNetlinkRequest(unix.RTM_GETNEXTHOPBUCKET, unix.NLM_F_DUMP)
	request.AddData(make(raw, nhmsgLen))
	request.AddData(nl.NewRtAttr(nhaID, nl.Uint32Attr(id)))
	answers, err := request.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWNEXTHOPBUCKET)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, nl.ErrDumpInterrupted) {
		return nil, errMoved
	}
	if err != nil {
		return nil, fmt.Errorf("buckets of next-hop object %d: %w", id, err)
	}
	ids = make([]uint32, len(answers))
	seen := make([]bool, len(answers))
	for _, b := range answers {
		if len(b) < nhmsgLen {
			return nil, errShort
		}
		index, hop, err := parseBucket(b[nhmsgLen:])
		if err != nil {
			return nil, err
		}
		if index >= len(ids) || seen[index] {
			return nil, errMoved
		}
		ids[index], seen[index] = hop, true
	}
	return ids, nil
}

// parseBucket parses a message RTM_NEWNEXTHOPBUCKET, after its header: the index of a
// bucket and the id of its member.
func parseBucket(b []byte) (index int, id uint32, err error) {
	attributes, err := parseAttributes(b)
	if err != nil {
		return 0, 0, err
	}
	index = -1
	for _, a := range attributes {
		if a.Attr.Type&^flagNested != nhaResBucket {
			continue
		}
		inner, err := parseAttributes(a.Value)
		if err != nil {
			return 0, 0, err
		}
		for _, a := range inner {
			switch {
			case a.Attr.Type == bucketIndex && len(a.Value) >= 2:
				index = int(binary.NativeEndian.Uint16(a.Value))
			case a.Attr.Type == bucketNHID:
				if id, err = number(a); err != nil {
					return 0, 0, err
				}
			}
		}
	}
	if index < 0 || id == 0 {
		return 0, 0, errors.New("a bucket without index or next hop")
	}
	return index, id, nil
}

// errShort is the error of an attribute that ends too early.
var errShort = errors.New("the kernel's answer is cut short")

// number returns an attribute of 4 octets, in the machine's order as netlink has them.
func number(a syscall.NetlinkRouteAttr) (uint32, error) {
	if len(a.Value) < 4 {
		return 0, errShort
	}
	return binary.NativeEndian.Uint32(a.Value), nil
}

// index returns an attribute that is the index of an interface.
func index(a syscall.NetlinkRouteAttr) (int, error) {
	n, err := number(a)
	return int(int32(n)), err
}

// address returns an address of 4 or 16 octets.
func address(b []byte) (netip.Addr, error) {
	a, ok := netip.AddrFromSlice(b)
	if !ok {
		return a, fmt.Errorf("an address of %d octets", len(b))
	}
	return a, nil
}
