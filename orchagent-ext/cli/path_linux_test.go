// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
	"sluice/tests/routertest"
	"sluice/yang/rows"
)

// pathOf runs sluice path --json on the test's own thread, whose network namespace it is.
func pathOf(t *testing.T, args string) (a pathAnswer) {
	t.Helper()
	out, _ := good(t, append([]string{"path", "--json"}, strings.Fields(args)...)...)
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestPathIsTheKernels: 512 packets go through the running kernel, over IPv6 and IPv4, equal
// and weighted next hops, a next-hop object and a link that is down; sluice path names the
// link of every one.
func TestPathIsTheKernels(t *testing.T) {
	r := routertest.New(t)
	r.Sysctl("ipv4/fib_multipath_hash_seed", 7)
	r.Sysctl("ipv6/fib_multipath_hash_fields", 0x3f)
	r.Sysctl("ipv4/fib_multipath_hash_fields", 0x37)
	var lines strings.Builder
	for i := range 5 {
		fmt.Fprintf(&lines, "nexthop add id %d via fe80::%d dev out%d\n", i+1, i+1, i)
	}
	lines.WriteString("nexthop add id 22 group 1,3/2/3,9/4\nroute add 2001:db8:22::/48 nhid 22\n")
	route := func(prefix, kind string, weights ...int) {
		fmt.Fprintf(&lines, "route add %s", prefix)
		for i, w := range weights {
			fmt.Fprintf(&lines, kind, i, w)
		}
		lines.WriteString("\n")
	}
	route("2001:db8:20::/48", " nexthop via fe80::1 dev out%d weight %d", 1, 1, 1, 1, 1)
	route("2001:db8:21::/48", " nexthop via fe80::1 dev out%d weight %d", 1, 5, 2, 9)
	route("10.20.0.0/16", " nexthop dev out%d weight %d", 1, 1, 3, 1)
	r.IP(lines.String() + "link set out2 down\n")

	random := rand.New(rand.NewPCG(3, 4))
	var packets []routertest.Packet
	var told []string
	for i := range 512 {
		p := routertest.Packet{
			Src: netip.MustParseAddr(fmt.Sprintf("2001:db8:1::%x", 1+random.IntN(1<<15))), Dst: netip.MustParseAddr(fmt.Sprintf("2001:db8:%d::%x", 20+i%4, 1+random.IntN(1<<15))),
			Proto: unix.IPPROTO_UDP, DstPort: 4791,
		}
		if i%4 == 3 {
			p.Src, p.Dst = netip.AddrFrom4([4]byte{11, 0, 1, byte(i)}), netip.AddrFrom4([4]byte{10, 20, byte(i), 1})
		}
		args := fmt.Sprintf("--db-config /none --src %s --dst %s --src-qp %d --dst-qp %d", p.Src, p.Dst, random.IntN(1<<24), random.IntN(1<<24))
		if i%3 > 0 {
			args += fmt.Sprintf(" --sport %d --flow-label %d", 1+random.IntN(1<<16-1), random.IntN(1<<20))
		}
		a := pathOf(t, args)
		p.SrcPort = a.Sport
		port := a.Now.Port
		if p.FlowLabel = a.Now.FlowLabel; i%2 == 0 && p.Src.Is6() {
			p.FlowLabel, port = a.Labeled.FlowLabel, a.Labeled.Port
		}
		packets, told = append(packets, p), append(told, port)
	}
	met := map[string]int{}
	for i, path := range r.Forward(packets) {
		took := fmt.Sprint("out", path)
		met[took]++
		if told[i] != took {
			t.Fatalf("packet %d took %s, and path says %s: %+v", i, took, told[i], packets[i])
		}
	}
	if got := slices.Sorted(maps.Keys(met)); !slices.Equal(got, []string{"out0", "out1", "out3", "out4"}) {
		t.Errorf("the packets took %v", met)
	}

	for _, tt := range []struct{ set, args, want string }{
		{"", "--src 2001:db8::1 --dst 2001:db9::1", "next hops to 2001:db9::1"},
		{"", "--src 10.0.0.1 --dst 2001:db8:20::1", "two families"},
		{"seed", "--src 2001:db8::1 --dst 2001:db8:20::1", "fib_multipath_hash_seed is 0"},
	} {
		if tt.set != "" {
			r.Sysctl("ipv4/fib_multipath_hash_seed", 0)
		}
		if out, errs, code := sluice(nil, append(strings.Fields("path --db-config /none --dst-qp 1 "), strings.Fields(tt.args)...)...); code != 1 || out != "" || !strings.Contains(errs, tt.want) {
			t.Errorf("%s: exit code %d: %s", tt.args, code, errs)
		}
	}
}

// TestPathKnowsPlacedFlows: the label that sluiced has written, which STATE_DB has, is the
// one that counts.
func TestPathKnowsPlacedFlows(t *testing.T) {
	redis, err := privateredis.Start(t.TempDir())
	if err != nil {
		t.Skip("needs Redis:", err)
	}
	t.Cleanup(redis.Stop)
	all, err := sonicdb.Load(redis.Config, "")
	if err != nil {
		t.Fatal(err)
	}
	db, err := sonicdb.Open(all, "STATE_DB", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r := routertest.New(t)
	r.Sysctl("ipv4/fib_multipath_hash_seed", 7)
	r.Sysctl("ipv6/fib_multipath_hash_fields", 0x3f)
	r.IP("route add 2001:db8:20::/48 nexthop via fe80::1 dev out0 nexthop via fe80::1 dev out1\n")
	config, err := sonicdb.Open(all, "CONFIG_DB", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer config.Close()
	if err := config.Write(t.Context(), sonicdb.Change{Row: rows.Row{Table: "DEVICE_METADATA", Key: "localhost", Fields: map[string]string{"hostname": "leaf-7"}}}); err != nil {
		t.Fatal(err)
	}
	const flow = " --src 2001:db8:1::1 --dst 2001:db8:20::1 --src-qp 17 --dst-qp 18"
	if a := pathOf(t, "--db-config "+redis.Config+flow); a.Placed != nil || a.Now.FlowLabel != 0 || a.Reason != "the flow is not placed" {
		t.Errorf("%+v", a)
	}
	fields := map[string]string{"src": "2001:db8:1::1", "dst": "2001:db8:20::1", "dest_qp": "18", "flow_label": "4660"}
	for _, path := range []string{"", "out1"} {
		if fields["path"] = path; path == "" {
			delete(fields, "path")
		}
		if err := db.Write(t.Context(), sonicdb.Change{Row: rows.Row{Table: "SLUICE_FLOW", Key: "2001:db8:1::1,2001:db8:20::1,000012", Fields: fields}}); err != nil {
			t.Fatal(err)
		}
		a := pathOf(t, "--db-config "+redis.Config+flow)
		if a.Now.FlowLabel != 0x1234 || (a.Placed != nil) != (path != "") || a.Labeled.FlowLabel == 0x1234 {
			t.Errorf("path %q: %+v", path, a)
		}
	}
	out, errs := good(t, strings.Fields("path --trace --db-config "+redis.Config+flow)...)
	if !strings.Contains(out, "0x01234") || !strings.Contains(errs, "the switch behind out1 is not known: give leaf-7 a row DEVICE_NEIGHBOR|out1 with its name") {
		t.Errorf("%s%s", out, errs)
	}
	r.Sysctl("ipv4/fib_multipath_hash_seed", 0)
	if a := pathOf(t, "--trace --db-config "+redis.Config+flow); a.Trace == nil || len(a.Trace.Hops) != 1 || strings.Join(a.Trace.Hops[0].OneOf, " ") != "out0 out1" || !strings.Contains(a.Trace.Reason, "one of 2 uplinks: out0 out1: net.ipv4.fib_multipath_hash_seed is 0") {
		t.Errorf("%+v", a.Trace)
	}
	r.Sysctl("ipv4/fib_multipath_hash_seed", 7)
	out, errs = good(t, strings.Fields("path --db-config "+redis.Config+flow)...)
	if strings.Count(out, "\n") != 4 || !strings.Contains(out, "0x01234") || !strings.Contains(errs, "2 next hops: out0 out1; hash policy 3, fields 0x3f") {
		t.Errorf("%s%s", out, errs)
	}
}
