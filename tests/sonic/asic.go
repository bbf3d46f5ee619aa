// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/db/sonicdb"
)

// Kinds of objects in ASIC_DB.
const (
	kindEntry   = "SAI_OBJECT_TYPE_ACL_ENTRY"
	kindTable   = "SAI_OBJECT_TYPE_ACL_TABLE"
	kindNextHop = "SAI_OBJECT_TYPE_NEXT_HOP"
	kindRIF     = "SAI_OBJECT_TYPE_ROUTER_INTERFACE"
	kindHostif  = "SAI_OBJECT_TYPE_HOSTIF"
)

// An entry is an ACL entry of ASIC_DB.
type entry struct {
	oid, table string
	src, dst   netip.Prefix // not valid: any
	srcPort    int          // 0: any
	dstPort    int
	priority   int
	nextHop    netip.Addr // that it redirects to; not valid: nowhere
	port       string     // of the next hop; "": unknown
	drops      bool
}

// asic is ASIC_DB as it is now, with its rules in the kernel, which forwards in place of the ASIC.
type asic struct {
	leaf func(func() error) error
	end  func()
	done chan struct{}

	mu      sync.Mutex
	objects map[string]map[string]map[string]string // by kind and oid
	rules   map[string][]*netlink.Rule              // in the kernel, by oid
	err     error                                   // the first one
}

// firstTable is the kernel's routing table of the first uplink; the others have those after it.
const firstTable = 1000

// watchASIC follows ASIC_DB from now on.
func watchASIC(ctx context.Context, s *sonic) (*asic, error) {
	a := &asic{leaf: s.leaf.Do, done: make(chan struct{}), objects: map[string]map[string]map[string]string{}, rules: map[string][]*netlink.Rule{}}
	ctx, a.end = context.WithCancel(ctx)
	first := make(chan struct{})
	go func() {
		defer close(a.done)
		err := s.asic.Watch(ctx, []string{"ASIC_STATE"}, func(b sonicdb.Batch) {
			a.take(b)
			if b.Initial {
				close(first)
			}
		})
		a.fail(err)
	}()
	select {
	case <-first:
	case <-ctx.Done():
	}
	return a, errors.Join(ctx.Err(), s.steer())
}

// steer makes the kernel's tables by which rules lead to single uplinks. They are before those of VRFs.
func (s *sonic) steer() error {
	return s.leaf.Do(func() error {
		if err := s.vrfsLast(); s.vrf != "" && err != nil {
			return err
		}
		for i := range uplinks {
			link, err := netlink.LinkByName(portName(i + 1))
			if err != nil {
				return err
			}
			for _, v6 := range []bool{false, true} {
				h := s.hops(v6)[i]
				r := &netlink.Route{Table: firstTable + i, LinkIndex: link.Attrs().Index, Gw: h.via.AsSlice(), Dst: anywhere(v6), Flags: int(netlink.FLAG_ONLINK)}
				if err := netlink.RouteReplace(r); err != nil {
					return fmt.Errorf("route by %s: %w", h, err)
				}
			}
		}
		return nil
	})
}

func anywhere(v6 bool) *net.IPNet {
	if v6 {
		return &net.IPNet{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)}
	}
	return &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}
}

// take takes changes of ASIC_DB.
func (a *asic) take(b sonicdb.Batch) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var changed []string
	for _, c := range b.Changes {
		kind, oid, _ := strings.Cut(c.Row.Key, ":")
		if a.objects[kind] == nil {
			a.objects[kind] = map[string]map[string]string{}
		}
		if c.Deleted {
			delete(a.objects[kind], oid)
		} else {
			a.objects[kind][oid] = c.Row.Fields
		}
		if kind == kindEntry {
			changed = append(changed, oid)
		}
	}
	for _, oid := range changed {
		a.install(oid)
	}
}

// install gives the kernel the rules of an entry as it is now. New ones come before old ones go, as an
// ASIC changes an entry in place.
func (a *asic) install(oid string) {
	var wanted []*netlink.Rule
	if fields := a.objects[kindEntry][oid]; fields != nil {
		wanted = a.entry(oid, fields).rules()
	}
	err := a.leaf(func() (err error) {
		for _, r := range wanted {
			err = errors.Join(err, ignore(netlink.RuleAdd(r), unix.EEXIST))
		}
		for _, r := range a.rules[oid] {
			if !slices.ContainsFunc(wanted, func(w *netlink.Rule) bool { return w.String() == r.String() }) {
				err = errors.Join(err, ignore(netlink.RuleDel(r), unix.ENOENT))
			}
		}
		return err
	})
	if a.err == nil {
		a.err = err
	}
	a.rules[oid] = wanted
}

// entry reads an entry; a.mu is held.
func (a *asic) entry(oid string, fields map[string]string) entry {
	e := parseEntry(oid, fields)
	hop := a.objects[kindNextHop][target(fields)]
	if hop == nil {
		return e
	}
	e.nextHop, _ = netip.ParseAddr(hop["SAI_NEXT_HOP_ATTR_IP"]) // not valid: the check that compares it shows it
	port := a.objects[kindRIF][hop["SAI_NEXT_HOP_ATTR_ROUTER_INTERFACE_ID"]]["SAI_ROUTER_INTERFACE_ATTR_PORT_ID"]
	for _, h := range a.objects[kindHostif] {
		if port != "" && h["SAI_HOSTIF_ATTR_OBJ_ID"] == port {
			e.port = h["SAI_HOSTIF_ATTR_NAME"]
		}
	}
	return e
}

// entryField begins the names of an entry's attributes.
const entryField = "SAI_ACL_ENTRY_ATTR_"

// target is the object that an entry redirects to; "": none.
func target(fields map[string]string) string {
	if to := fields[entryField+"ACTION_REDIRECT"]; strings.HasPrefix(to, "oid:") && to != "oid:0x0" {
		return to
	}
	return ""
}

// parseEntry reads an entry's own attributes.
func parseEntry(oid string, fields map[string]string) entry {
	e := entry{oid: oid, table: fields[entryField+"TABLE_ID"]}
	for name, to := range map[string]*netip.Prefix{"SRC_IP": &e.src, "DST_IP": &e.dst, "SRC_IPV6": &e.src, "DST_IPV6": &e.dst} {
		if v := fields[entryField+"FIELD_"+name]; v != "" {
			*to = masked(v)
		}
	}
	for name, to := range map[string]*int{"FIELD_L4_SRC_PORT": &e.srcPort, "FIELD_L4_DST_PORT": &e.dstPort, "PRIORITY": &e.priority} {
		v, _, _ := strings.Cut(fields[entryField+name], "&")
		*to, _ = strconv.Atoi(v) // 0: absent
	}
	e.drops = fields[entryField+"ACTION_PACKET_ACTION"] == "SAI_PACKET_ACTION_DROP"
	return e
}

// masked reads ADDRESS&mask:MASK.
func masked(v string) netip.Prefix {
	text, mask, _ := strings.Cut(v, "&mask:")
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}
	}
	m := net.ParseIP(mask)
	if a.Is4() {
		m = m.To4()
	}
	ones, _ := net.IPMask(m).Size()
	return netip.PrefixFrom(a, ones)
}

// signature is the match and the target of an entry, by which it is known in a recording.
func signature(fields map[string]string) string {
	var all []string
	for name, v := range fields {
		if strings.HasPrefix(name, entryField+"FIELD_") || name == entryField+"ACTION_REDIRECT" {
			all = append(all, name+"="+v)
		}
	}
	slices.Sort(all)
	return strings.Join(all, "|")
}

// rules are the kernel's for an entry: to a port's table, or nowhere. An entry with another action has
// none.
func (e entry) rules() []*netlink.Rule {
	r := netlink.NewRule()
	r.Family, r.IPProto = unix.AF_INET, unix.IPPROTO_UDP
	if e.src.Addr().Is6() || e.dst.Addr().Is6() {
		r.Family = unix.AF_INET6
	}
	r.Priority = 20000 - e.priority
	for i := range uplinks {
		if e.port == portName(i+1) {
			r.Table = firstTable + i
		}
	}
	switch {
	case e.drops:
		r.Type, r.Priority = unix.RTN_BLACKHOLE, r.Priority+10000 // a redirection wins, as on some ASICs
	case r.Table < firstTable:
		return nil
	}
	for p, to := range map[*netip.Prefix]**net.IPNet{&e.src: &r.Src, &e.dst: &r.Dst} {
		if p.IsValid() {
			*to = &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
		}
	}
	if e.srcPort != 0 {
		r.Sport = netlink.NewRulePortRange(uint16(e.srcPort), uint16(e.srcPort))
	}
	if e.dstPort != 0 {
		r.Dport = netlink.NewRulePortRange(uint16(e.dstPort), uint16(e.dstPort))
	}
	return []*netlink.Rule{r}
}

// forget removes the kernel's rules, as an ASIC without power.
func (a *asic) forget() error {
	return a.leaf(func() (err error) {
		for _, rules := range a.rules {
			for _, r := range rules {
				err = errors.Join(err, ignore(netlink.RuleDel(r), unix.ENOENT))
			}
		}
		return err
	})
}

// entries are the entries of ASIC_DB, in order of their oids.
func (a *asic) entries() (all []entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, oid := range slices.Sorted(maps.Keys(a.objects[kindEntry])) {
		all = append(all, a.entry(oid, a.objects[kindEntry][oid]))
	}
	return all
}

// redirections are the entries that redirect.
func (a *asic) redirections() (all []entry) {
	return slices.DeleteFunc(a.entries(), func(e entry) bool { return !e.nextHop.IsValid() })
}

// to counts the redirections to a port.
func (a *asic) to(port string) (n int) {
	for _, e := range a.redirections() {
		if e.port == port {
			n++
		}
	}
	return n
}

// of are the attributes of a kind of objects, by oid.
func (a *asic) of(kind string) map[string]map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.objects[kind])
}

// tables are the ACL tables that are bound to ports, by oid; orchagent has one of the switch of its own.
func (a *asic) tables() map[string]map[string]string {
	all := a.of(kindTable)
	maps.DeleteFunc(all, func(_ string, t map[string]string) bool {
		return !strings.Contains(t["SAI_ACL_TABLE_ATTR_ACL_BIND_POINT_TYPE_LIST"], "SAI_ACL_BIND_POINT_TYPE_PORT")
	})
	return all
}

func (a *asic) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		a.err = err
	}
}

// failed is the first error.
func (a *asic) failed() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

func (a *asic) close() {
	a.end()
	<-a.done
}
