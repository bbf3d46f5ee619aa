// SPDX-License-Identifier: Apache-2.0

package nexthops

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sluice/orchagent-ext/spread/ecmp"
	"sluice/yang/rows"
)

// asicRow is a row of ASIC_DB.
func asicRow(kind, id string, fields ...string) rows.Row {
	r := rows.Row{Table: ASICTable, Key: "SAI_OBJECT_TYPE_" + kind + ":oid:" + id, Fields: map[string]string{}}
	for i := 0; i < len(fields); i += 2 {
		r.Fields["SAI_"+kind+"_ATTR_"+fields[i]] = fields[i+1]
	}
	return r
}

// hopObject is a next hop: fe80::N by the router interface N.
func hopObject(n int) rows.Row {
	return asicRow("NEXT_HOP", fmt.Sprintf("0x400000000%04x", n), "TYPE", "SAI_NEXT_HOP_TYPE_IP", "IP", fmt.Sprintf("fe80::%d", n), "ROUTER_INTERFACE_ID", fmt.Sprintf("oid:0x600000000%04x", n))
}

func memberObject(id string, group string, hop int, more ...string) rows.Row {
	return asicRow("NEXT_HOP_GROUP_MEMBER", id, append([]string{"NEXT_HOP_GROUP_ID", "oid:" + group, "NEXT_HOP_ID", fmt.Sprintf("oid:0x400000000%04x", hop)}, more...)...)
}

// hopsOf are next hops fe80::N by EthernetN.
func hopsOf(numbers ...int) (all []Hop) {
	for _, n := range numbers {
		all = append(all, Hop{fmt.Sprint("Ethernet", n), netip.MustParseAddr(fmt.Sprintf("fe80::%d", n)), 1})
	}
	return all
}

func kernelGroup(numbers ...int) *Group {
	g := &Group{}
	for _, h := range hopsOf(numbers...) {
		g.Members = append(g.Members, Member{Member: ecmp.Member{Weight: h.Weight}, Link: h.Link, Gateway: h.Gateway})
	}
	return g
}

// Groups of ASIC_DB have their members in the order of SEQUENCE_ID, and else in that in
// which they were created, whatever the order of the rows.
func TestGroupsThatAreProgrammed(t *testing.T) {
	interfaces := map[string]string{"Ethernet1": "oid:0x6000000000001", "Ethernet2": "oid:0x6000000000002", "Ethernet3": "oid:0x6000000000003"}
	all := []rows.Row{
		hopObject(3), hopObject(1), hopObject(2), hopObject(9),
		asicRow("NEXT_HOP_GROUP", "0x5000000000010", "TYPE", "SAI_NEXT_HOP_GROUP_TYPE_DYNAMIC_UNORDERED_ECMP"),
		memberObject("0x2d000000000a00", "0x5000000000010", 1),
		memberObject("0x2d0000000009ff", "0x5000000000010", 3, "WEIGHT", "4"),
		memberObject("0x2d000000000100", "0x5000000000010", 2),
		asicRow("NEXT_HOP_GROUP", "0x5000000000020", "TYPE", "SAI_NEXT_HOP_GROUP_TYPE_DYNAMIC_ORDERED_ECMP"),
		memberObject("0x2d000000000001", "0x5000000000020", 2, "SEQUENCE_ID", "2"),
		memberObject("0x2d000000000002", "0x5000000000020", 1, "SEQUENCE_ID", "1"),
		asicRow("NEXT_HOP_GROUP", "0x5000000000030", "TYPE", "SAI_NEXT_HOP_GROUP_TYPE_FINE_GRAIN_ECMP"),
		memberObject("0x2d000000000003", "0x5000000000030", 2, "INDEX", "0"),
		asicRow("NEXT_HOP_GROUP", "0x5000000000040", "TYPE", "SAI_NEXT_HOP_GROUP_TYPE_ECMP"),
		memberObject("0x2d000000000004", "0x5000000000040", 9),
		asicRow("NEXT_HOP_GROUP_MAP", "0x1"),
	}
	weighted := hopsOf(2, 3, 1)
	weighted[1].Weight = 4
	want := []Programmed{{Hops: weighted}, {Hops: hopsOf(1, 2)}}
	for range 2 {
		got := ProgrammedGroups(all, interfaces)
		slices.SortFunc(got, func(a, b Programmed) int { return len(b.Hops) - len(a.Hops) })
		if len(got) != 3 || !reflect.DeepEqual(got[:2], want) || got[2].Err == nil || !strings.Contains(got[2].Err.Error(), "COUNTERS_RIF_NAME_MAP has no name") {
			t.Errorf("%+v", got)
		}
		slices.Reverse(all)
	}
}

// A group of the kernel has the order and weights of the group that is programmed for the
// same living next hops. Where that is not certain it stays as it is, and says why.
func TestGroupsInTheOrderOfTheSwitch(t *testing.T) {
	weighted := hopsOf(3, 1, 2)
	weighted[0].Weight = 7
	heavy := kernelGroup(1, 2, 3)
	heavy.Members[2].Weight = 7
	dead := kernelGroup(1, 2, 3)
	dead.Members[0].Dead = true
	unresolved := kernelGroup(1, 2, 3)
	unresolved.Members[1].Unresolved = true
	resilient := kernelGroup(1, 2)
	resilient.Buckets = []uint16{0, 1, 1, 0}
	otherAddress := hopsOf(3, 1, 2)
	otherAddress[1].Gateway = netip.MustParseAddr("10.0.0.1")
	for name, tt := range map[string]struct {
		kernel     *Group
		programmed [][]Hop
		want       string // links and weights; "": as the kernel has it
		reason     string
	}{
		"another order":                {kernelGroup(1, 2, 3), [][]Hop{hopsOf(1, 2), hopsOf(3, 1, 2)}, "Ethernet3*1 Ethernet1*1 Ethernet2*1", ""},
		"other weights":                {kernelGroup(1, 2, 3), [][]Hop{weighted}, "Ethernet3*7 Ethernet1*1 Ethernet2*1", ""},
		"the group of its weights":     {heavy, [][]Hop{hopsOf(1, 2, 3), weighted}, "Ethernet3*7 Ethernet1*1 Ethernet2*1", ""},
		"a dead one comes last":        {dead, [][]Hop{hopsOf(1, 2, 3), hopsOf(3, 2)}, "Ethernet3*1 Ethernet2*1 Ethernet1*1", ""},
		"one that is not resolved":     {unresolved, [][]Hop{hopsOf(3, 1)}, "Ethernet3*1 Ethernet1*1 Ethernet2*1", ""},
		"buckets are the kernel's":     {resilient, [][]Hop{hopsOf(2, 1)}, "Ethernet2*1 Ethernet1*1", ""},
		"two that are alike":           {kernelGroup(1, 2), [][]Hop{hopsOf(2, 1), hopsOf(2, 1)}, "Ethernet2*1 Ethernet1*1", ""},
		"two that differ":              {kernelGroup(1, 2), [][]Hop{hopsOf(2, 1), hopsOf(1, 2)}, "", "2 next-hop groups"},
		"the ports' group of IPv4":     {kernelGroup(1, 2, 3), [][]Hop{otherAddress}, "", "has no next-hop group"},
		"not programmed yet":           {kernelGroup(1, 2, 3), [][]Hop{hopsOf(1, 2), hopsOf(1, 2, 3, 4)}, "", "has no next-hop group"},
		"a next hop twice":             {kernelGroup(1, 2), [][]Hop{hopsOf(1, 1)}, "", "has no next-hop group"},
		"the kernel's twice":           {kernelGroup(1, 1), [][]Hop{hopsOf(1, 2)}, "", "has no next-hop group"},
		"a link without a name":        {kernelGroup(1, 2), nil, "", "no name"},
		"nothing is programmed at all": {kernelGroup(1, 2), [][]Hop{}, "", "has no next-hop group"},
	} {
		var programmed []Programmed
		for _, hops := range tt.programmed {
			programmed = append(programmed, Programmed{Hops: hops})
		}
		if tt.programmed == nil {
			programmed = []Programmed{{Err: errors.New("no name")}}
		}
		dsts := []netip.Addr{netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2"), netip.MustParseAddr("2001:db8::3")}
		groups := map[netip.Addr]Result{dsts[0]: {Group: tt.kernel}, dsts[1]: {Group: tt.kernel}, dsts[2]: {Err: errors.New("no route")}}
		got := InSwitchOrder(groups, programmed, nil)
		if got[dsts[0]].Group != got[dsts[1]].Group || got[dsts[2]] != groups[dsts[2]] {
			t.Errorf("%s: groups that were one are two, or a route is another", name)
		}
		g := got[dsts[0]].Group
		if tt.want == "" {
			if g.Unordered == nil || !strings.Contains(g.Unordered.Error(), tt.reason) || g.Listed != nil || !reflect.DeepEqual(g.Members, tt.kernel.Members) {
				t.Errorf("%s: %+v", name, g)
			}
			continue
		}
		var links []string
		for _, m := range g.Members {
			links = append(links, fmt.Sprintf("%s*%d", m.Link, m.Weight))
		}
		if is := strings.Join(links, " "); is != tt.want || g.Unordered != nil || g.Buckets != nil || !reflect.DeepEqual(g.Listed, tt.kernel.Members) {
			t.Errorf("%s: %s, want %s: %+v", name, is, tt.want, g)
		}
	}
	all := map[netip.Addr]Result{netip.MustParseAddr("2001:db8::1"): {Group: kernelGroup(1, 2)}}
	for _, r := range InSwitchOrder(all, []Programmed{{Hops: hopsOf(2, 1)}}, errors.New("Redis is away")) {
		if r.Listed != nil || r.Unordered == nil || r.Unordered.Error() != "Redis is away" {
			t.Errorf("ASIC_DB cannot be read: %+v", r.Group)
		}
	}
}

// TestAdaptiveGroupsAreLeftOut: a group with an ARS object, and while the hops of one are unknown
// every group, since it may be that one.
func TestAdaptiveGroupsAreLeftOut(t *testing.T) {
	interfaces := map[string]string{"Ethernet1": "oid:0x6000000000001", "Ethernet2": "oid:0x6000000000002", "Ethernet3": "oid:0x6000000000003"}
	objects := func(ars string) []rows.Row {
		return []rows.Row{
			hopObject(1), hopObject(2), hopObject(3),
			asicRow("NEXT_HOP_GROUP", "0x5000000000010", "TYPE", unorderedPaths, "ARS_OBJECT_ID", ars),
			memberObject("0x2d000000000a00", "0x5000000000010", 1), memberObject("0x2d000000000a01", "0x5000000000010", 2),
			asicRow("NEXT_HOP_GROUP", "0x5000000000011", "TYPE", unorderedPaths),
			memberObject("0x2d000000000a02", "0x5000000000011", 2), memberObject("0x2d000000000a03", "0x5000000000011", 3),
		}
	}
	first, second := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	groups := map[netip.Addr]Result{first: {Group: kernelGroup(2, 1)}, second: {Group: kernelGroup(2, 3)}}
	for name, tt := range map[string]struct {
		programmed []Programmed
		left       []netip.Addr // out
	}{
		"an ARS object": {ProgrammedGroups(objects("oid:0x67000000000001"), interfaces), []netip.Addr{first}},
		"a null one":    {ProgrammedGroups(objects("oid:0x0"), interfaces), nil},
		"no names":      {ProgrammedGroups(objects("oid:0x67000000000001"), nil), []netip.Addr{first, second}},
		"nothing":       {nil, nil},
	} {
		for dst, r := range WithoutAdaptive(groups, tt.programmed) {
			if is, want := errors.Is(r.Err, ErrAdaptive), slices.Contains(tt.left, dst); is != want || is == (r.Group != nil) {
				t.Errorf("%s: %v is left out: %v (%v), want %v", name, dst, is, r.Err, want)
			}
		}
	}
}
