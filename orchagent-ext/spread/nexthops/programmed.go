// SPDX-License-Identifier: Apache-2.0

package nexthops

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"sluice/yang/rows"
)

// A Programmed is a next-hop group as SONiC's orchagent has programmed it: ASIC_DB has
// it. It leaves out dead next hops.
type Programmed struct {
	Hops []Hop // in the switch's order
	Err  error // why the hops are unknown; nil: they are

	// the switch chooses among them by their load (SAI's adaptive routing and switching)
	Adaptive bool
}

// A Hop is a member of a [Programmed].
type Hop struct {
	Link    string // name of the netdev of its router interface
	Gateway netip.Addr
	Weight  int
}

// Names of ASIC_DB: those of SAI.
const (
	objectPrefix   = "SAI_OBJECT_TYPE_"
	groupType      = "SAI_NEXT_HOP_GROUP_ATTR_TYPE"
	groupARS       = "SAI_NEXT_HOP_GROUP_ATTR_ARS_OBJECT_ID" // since SAI 1.14; null: none
	memberGroup    = "SAI_NEXT_HOP_GROUP_MEMBER_ATTR_NEXT_HOP_GROUP_ID"
	memberHop      = "SAI_NEXT_HOP_GROUP_MEMBER_ATTR_NEXT_HOP_ID"
	memberWeight   = "SAI_NEXT_HOP_GROUP_MEMBER_ATTR_WEIGHT"
	memberSequence = "SAI_NEXT_HOP_GROUP_MEMBER_ATTR_SEQUENCE_ID"
	hopInterface   = "SAI_NEXT_HOP_ATTR_ROUTER_INTERFACE_ID"
	hopAddress     = "SAI_NEXT_HOP_ATTR_IP"
	equalPaths     = "SAI_NEXT_HOP_GROUP_TYPE_ECMP" // until SAI 1.6; the other two since
	unorderedPaths = "SAI_NEXT_HOP_GROUP_TYPE_DYNAMIC_UNORDERED_ECMP"
	orderedPaths   = "SAI_NEXT_HOP_GROUP_TYPE_DYNAMIC_ORDERED_ECMP"
)

// The sources of [ProgrammedGroups]: the rows of a table of ASIC_DB whose keys begin so,
// and a hash of COUNTERS_DB.
const (
	ASICTable    = "ASIC_STATE"
	ASICKeys     = objectPrefix + "NEXT_HOP"
	InterfaceMap = "COUNTERS_RIF_NAME_MAP"
)

// ProgrammedGroups are the groups of equal paths that orchagent has programmed. objects are
// rows of ASIC_DB; interfaces are the ids of router interfaces by netdev. Members are in
// the order of their SEQUENCE_ID, where the switch has ordered groups; else in that in which
// they were created, by their ids, which only grow.
func ProgrammedGroups(objects []rows.Row, interfaces map[string]string) []Programmed {
	netdevs := make(map[string]string, len(interfaces))
	for name, id := range interfaces {
		netdevs[id] = name
	}
	hops := map[string]map[string]string{}
	members := map[string][]programmedMember{} // by group
	for _, r := range objects {
		kind, id, _ := strings.Cut(strings.TrimPrefix(r.Key, objectPrefix), ":")
		switch kind {
		case "NEXT_HOP":
			hops[id] = r.Fields
		case "NEXT_HOP_GROUP_MEMBER":
			group := r.Fields[memberGroup]
			members[group] = append(members[group], programmedMember{unsigned(id, 0), unsigned(r.Fields[memberSequence], 0), r.Fields})
		}
	}
	var all []Programmed
	for _, r := range objects {
		kind, id, _ := strings.Cut(strings.TrimPrefix(r.Key, objectPrefix), ":")
		if is := r.Fields[groupType]; kind != "NEXT_HOP_GROUP" || is != equalPaths && is != unorderedPaths && is != orderedPaths {
			continue
		}
		of := members[id]
		slices.SortFunc(of, func(a, b programmedMember) int {
			return cmp.Or(cmp.Compare(a.sequence, b.sequence), cmp.Compare(a.id, b.id))
		})
		g := Programmed{Adaptive: unsigned(r.Fields[groupARS], 0) != 0}
		for _, m := range of {
			hop := hops[m.fields[memberHop]]
			gateway, err := netip.ParseAddr(hop[hopAddress])
			link := netdevs[hop[hopInterface]]
			if err != nil || link == "" {
				g = Programmed{Adaptive: g.Adaptive, Err: fmt.Errorf("%s has no name for the router interface %q of %s", InterfaceMap, hop[hopInterface], m.fields[memberHop])}
				break
			}
			g.Hops = append(g.Hops, Hop{link, gateway.Unmap(), weightOf(m.fields[memberWeight])})
		}
		all = append(all, g)
	}
	return all
}

// programmedMember is a member of a group, as ASIC_DB has it.
type programmedMember struct {
	id, sequence uint64
	fields       map[string]string
}

// unsigned reads a number, or an object id; def for any other text.
func unsigned(s string, def uint64) uint64 {
	n, err := strconv.ParseUint(strings.TrimPrefix(s, "oid:"), 0, 64)
	if err != nil {
		return def
	}
	return n
}

// weightOf reads a weight, which is 1 by default.
func weightOf(s string) int { return int(min(max(unsigned(s, 1), 1), mostWeight)) }

// mostWeight bounds weights that other programs write.
const mostWeight = 65535

// InSwitchOrder returns the groups of a switch other than the kernel: members and weights
// as orchagent has programmed them, where it has programmed a group of the same next
// hops. Else the group is the kernel's, and Unordered has the reason; a non-nil err is
// the reason for all groups.
func InSwitchOrder(groups map[netip.Addr]Result, programmed []Programmed, err error) map[netip.Addr]Result {
	all, made := make(map[netip.Addr]Result, len(groups)), map[*Group]*Group{}
	for dst, r := range groups {
		if r.Group != nil {
			if made[r.Group] == nil {
				made[r.Group] = r.inSwitchOrder(programmed, err)
			}
			r.Group = made[r.Group]
		}
		all[dst] = r
	}
	return all
}

// inSwitchOrder returns the group in the order of the switch, or a copy in the kernel's
// with the reason in Unordered.
func (g *Group) inSwitchOrder(programmed []Programmed, err error) *Group {
	var found *Programmed
	if err == nil {
		found, err = g.find(programmed)
	}
	is := *g
	if err != nil {
		is.Unordered = err
		return &is
	}
	is.Members, is.Buckets, is.Listed = nil, nil, g.Members
	for _, hop := range found.Hops {
		i := slices.IndexFunc(g.Members, func(m Member) bool { return m.lives() && m.at(hop) })
		m := g.Members[i]
		m.Weight = hop.Weight
		is.Members = append(is.Members, m)
	}
	for _, m := range g.Members {
		if !m.lives() {
			is.Members = append(is.Members, m)
		}
	}
	return &is
}

// ErrAdaptive means that the switch itself places the flows of a group.
var ErrAdaptive = errors.New("the switch chooses among these next hops by their load")

// WithoutAdaptive returns groups less those that the switch balances by load: an entry that
// redirects a flow would take it out of that.
func WithoutAdaptive(groups map[netip.Addr]Result, programmed []Programmed) map[netip.Addr]Result {
	all := make(map[netip.Addr]Result, len(groups))
	for dst, r := range groups {
		adaptive := r.Group != nil && slices.ContainsFunc(programmed, func(p Programmed) bool {
			if !p.Adaptive || p.Err != nil {
				return p.Adaptive // its next hops are unknown: it may be any group
			}
			same, _ := r.same(p.Hops)
			return same
		})
		if adaptive {
			r = Result{Err: ErrAdaptive}
		}
		all[dst] = r
	}
	return all
}

// lives reports whether the member takes packets.
func (m *Member) lives() bool { return !m.Dead && !m.Unresolved }

// at reports whether the member is a hop.
func (m *Member) at(h Hop) bool { return m.Link == h.Link && m.Gateway == h.Gateway }

// find returns the group that orchagent has programmed for the living members. Of some that
// differ in weights it is the one with those of the kernel.
func (g *Group) find(programmed []Programmed) (*Programmed, error) {
	var found, byWeight []*Programmed
	var unread error
	for i := range programmed {
		p := &programmed[i]
		if p.Err != nil {
			unread = p.Err
		} else if same, weights := g.same(p.Hops); same {
			found = append(found, p)
			if weights {
				byWeight = append(byWeight, p)
			}
		}
	}
	if len(byWeight) > 0 {
		found = byWeight
	}
	differs := func(p *Programmed) bool { return !slices.Equal(p.Hops, found[0].Hops) }
	switch {
	case len(found) == 0 && unread != nil:
		return nil, unread
	case len(found) == 0:
		return nil, errors.New("ASIC_DB has no next-hop group of these next hops")
	case slices.ContainsFunc(found, differs):
		return nil, fmt.Errorf("ASIC_DB has %d next-hop groups of these next hops, in different order", len(found))
	}
	return found[0], nil
}

// same reports whether hops are the living members, each once, and whether weights are alike.
func (g *Group) same(hops []Hop) (same, weights bool) {
	living, weights := 0, true
	for i := range g.Members {
		m := &g.Members[i]
		if !m.lives() {
			continue
		}
		living++
		at := slices.IndexFunc(hops, m.at)
		if at < 0 {
			return false, false
		}
		weights = weights && hops[at].Weight == m.Weight
	}
	for _, h := range hops {
		if !slices.ContainsFunc(g.Members, func(m Member) bool { return m.lives() && m.at(h) }) {
			return false, false
		}
	}
	return living == len(hops), weights
}
