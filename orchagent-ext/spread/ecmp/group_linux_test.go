// SPDX-License-Identifier: Apache-2.0

package ecmp

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"sluice/tests/routertest"
)

// A scene is a route of the router, and the members as `ip` would list them.
type scene struct {
	number  int    // of the route: 2001:db8:NUMBER::/48 or 10.NUMBER.0.0/16
	v4      bool   // else IPv6
	routes  string // lines for ip -batch
	members []Member
	id      int // a resilient group's id: its buckets are read from the kernel
}

func weights(w ...int) (m []Member) {
	for _, w := range w {
		m = append(m, Member{Weight: w})
	}
	return m
}

// routes6 and routes4 are a route over the first links out, with these weights.
func routes6(number int, w ...int) scene {
	var b strings.Builder
	for i, w := range w {
		fmt.Fprintf(&b, " nexthop via fe80::%d dev out%d weight %d", i+1, i, w)
	}
	return scene{number: number, routes: fmt.Sprintf("route add 2001:db8:%d::/48%s\n", number, &b), members: weights(w...)}
}

func routes4(number int, w ...int) scene {
	var b strings.Builder
	for i, w := range w {
		fmt.Fprintf(&b, " nexthop dev out%d weight %d", i, w)
	}
	return scene{number: number, v4: true, routes: fmt.Sprintf("route add 10.%d.0.0/16%s\n", number, &b), members: weights(w...)}
}

// objects is a route over a group of next-hop objects, which have the ids 1, 2, ….
func objects(number, id int, rest string, w ...int) scene {
	var b strings.Builder
	for i, w := range w {
		if i > 0 {
			b.WriteByte('/')
		}
		fmt.Fprintf(&b, "%d,%d", i+1, w)
	}
	s := scene{number: number, members: weights(w...)}
	s.routes = fmt.Sprintf("nexthop add id %d group %s %s\nroute add 2001:db8:%d::/48 nhid %d\n", id, &b, rest, number, id)
	if strings.Contains(rest, "resilient") {
		s.id = id
	}
	return s
}

// group is the model of the scene's group.
func (s *scene) group(t *testing.T) *Group {
	t.Helper()
	var g *Group
	var err error
	if s.id == 0 {
		g, err = Threshold(s.members)
	} else {
		g, err = Resilient(buckets(t, s.id), len(s.members))
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// buckets asks the kernel; the next hop with id i+1 is member i.
func buckets(t *testing.T, id int) (members []uint16) {
	t.Helper()
	text, err := exec.Command("ip", "-j", "nexthop", "bucket", "list", "id", fmt.Sprint(id)).Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Bucket struct{ Index, Nhid int }
	}
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	members = make([]uint16, len(list))
	for _, b := range list {
		members[b.Bucket.Index] = uint16(b.Bucket.Nhid - 1)
	}
	return members
}

// check forwards packets and compares each with the model.
func (s *scene) check(t *testing.T, r *routertest.Router, k Kernel, what string) {
	t.Helper()
	if slices.ContainsFunc(s.members, func(m Member) bool { return m.Dead }) {
		what += ", a dead member"
	}
	random := rand.New(rand.NewPCG(uint64(s.number), 3))
	var tuples []Tuple
	for i := range 192 {
		if s.v4 {
			tuples = append(tuples, tuple4(random, s.number, i))
		} else {
			tuples = append(tuples, tuple6(random, s.number, i))
		}
	}
	model, err := OfKernel(k, s.group(t))
	if err != nil {
		t.Fatal(err)
	}
	met := map[int]bool{}
	for i, path := range forward(r, tuples) {
		met[path] = true
		if got, known := model.Predict(&tuples[i]); got != path || !known {
			t.Errorf("route %d, policy %d, fields %#x, %s: member %d (known %v), the kernel took %d: %+v",
				s.number, k.Policy, k.Fields, what, got, known, path, tuples[i])
			return
		}
	}
	if len(met) < 2 {
		t.Errorf("route %d, %s: all packets took one member: nothing is shown", s.number, what)
	}
}

func setKernel(r *routertest.Router, k Kernel) {
	r.Sysctl("ipv4/fib_multipath_hash_seed", int(k.Seed))
	for _, family := range []string{"ipv4", "ipv6"} {
		r.Sysctl(family+"/fib_multipath_hash_policy", int(k.Policy))
		if k.Policy == PolicyFields {
			r.Sysctl(family+"/fib_multipath_hash_fields", int(k.Fields))
		}
	}
}

// forward returns the path of each tuple's packet.
func forward(r *routertest.Router, tuples []Tuple) []int {
	packets := make([]routertest.Packet, len(tuples))
	for i, t := range tuples {
		packets[i] = routertest.Packet(t)
	}
	return r.Forward(packets)
}

// TestGroupsOfTheKernel forwards packets through the running kernel, by every policy, over
// equal and weighted next hops, next-hop objects and resilient groups, with all links and
// without one: the model must agree on the member of every one.
func TestGroupsOfTheKernel(t *testing.T) {
	r := routertest.New(t)
	for i := range 4 {
		r.IP(fmt.Sprintf("nexthop add id %d via fe80::%d dev out%d\n", i+1, i+1, i))
	}
	scenes := []scene{
		routes6(20, 1, 1, 1, 1), routes4(20, 1, 1, 1, 1),
		routes6(21, 1, 5, 2, 100), routes4(21, 1, 5, 2, 100),
		objects(22, 22, "", 1, 1, 1, 1), objects(23, 23, "", 3, 1, 7, 2),
		objects(24, 24, "type resilient buckets 64 idle_timer 0", 1, 1, 1, 1),
		objects(25, 25, "type resilient buckets 30 idle_timer 0", 3, 1, 7, 2),
	}
	for i := range scenes {
		r.IP(scenes[i].routes)
	}
	all := func(k Kernel, what string) {
		t.Helper()
		setKernel(r, k)
		for i := range scenes {
			scenes[i].check(t, r, k, what)
		}
	}
	ours := Kernel{Seed: 0xfeed, Policy: PolicyFields, Fields: FiveTuple | FieldLabel}
	for _, k := range []Kernel{
		{Seed: 7, Policy: PolicyL3}, {Seed: 7, Policy: PolicyL4}, ours,
		{Seed: 1 << 31, Policy: PolicyFields, Fields: FieldLabel | FieldSrc | FieldDstPort | FieldSrcPort},
		{Seed: 9, Policy: PolicyFields, Fields: 0xfff &^ FieldSrc},
	} {
		all(k, "all links")
	}

	// A group of objects passes a member over whose neighbor does not answer.
	setKernel(r, ours)
	r.IP("neigh replace fe80::2 dev out1 nud failed\n")
	for _, i := range []int{4, 5} {
		scenes[i].members[1].Unresolved = true
		scenes[i].check(t, r, ours, "a neighbor that does not answer")
		scenes[i].members[1].Unresolved = false
	}
	r.IP("neigh del fe80::2 dev out1\n")

	// A link is set down: routes keep its next hop as dead, groups of objects lose it.
	before := buckets(t, 24)
	r.IP("link set out1 down\n")
	for i := range scenes {
		scenes[i].members[1].Dead = true
	}
	all(ours, "a link down")
	for i, now := range buckets(t, 24) {
		if before[i] != 1 && now != before[i] {
			t.Errorf("bucket %d of the resilient group went from member %d to %d, and neither was lost", i, before[i], now)
		}
	}
}
