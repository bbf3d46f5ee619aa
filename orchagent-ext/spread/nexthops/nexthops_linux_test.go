// SPDX-License-Identifier: Apache-2.0

package nexthops

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/spread/ecmp"
)

const patience = time.Minute // the machine may be busy

// namespace makes a network namespace of the calling thread, which ends with the test,
// with four links out.
func namespace(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root for a network namespace")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("needs iproute2:", err)
	}
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skip("needs a network namespace:", err)
	}
	for i := range 4 {
		ip(t, fmt.Sprintf("link add out%d arp off type veth peer name far%d\nlink set out%d up\nlink set far%d up\naddr add 10.9.%d.1/24 dev out%d\n", i, i, i, i, i, i))
	}
}

func ip(t *testing.T, lines string) {
	t.Helper()
	cmd := exec.Command("ip", "-batch", "-")
	cmd.Stdin = strings.NewReader(lines)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("ip -batch: %v: %s\n%s", err, out, lines)
	}
}

func mustRead(t *testing.T, dst string) Group {
	t.Helper()
	g, err := Read(netip.MustParseAddr(dst))
	if err != nil {
		t.Fatal(err)
	}
	for i := range g.Members { // which the kernel chose
		if g.Members[i].Index == 0 {
			t.Errorf("%s: no interface index: %+v", dst, g.Members[i])
		}
		g.Members[i].Index = 0
	}
	return g
}

// member is the one by link i.
func member(i, weight int, v4 bool) Member {
	gateway := netip.MustParseAddr(fmt.Sprint("fe80::", i+1))
	if v4 {
		gateway = netip.MustParseAddr(fmt.Sprintf("10.9.%d.2", i))
	}
	return Member{Member: ecmp.Member{Weight: weight}, Link: fmt.Sprint("out", i), Gateway: gateway}
}

func same(t *testing.T, what string, want, got Group) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestRoutesOfAVRFAreThoseOfItsTable: they are apart from those of the table main.
func TestRoutesOfAVRFAreThoseOfItsTable(t *testing.T) {
	namespace(t)
	ip(t, `route add 10.1.0.0/16 nexthop via 10.9.0.2 dev out0 nexthop via 10.9.1.2 dev out1
route add 10.2.0.0/16 via 10.9.0.2
route add 10.1.0.0/16 table 1001 nexthop via 10.9.2.2 dev out2 nexthop via 10.9.3.2 dev out3
`)
	first, second := netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("10.2.0.1")
	for table, want := range map[uint32][]string{unix.RT_TABLE_MAIN: {"out0", "out1"}, 1001: {"out2", "out3"}} {
		all, err := readAll(table, []netip.Addr{first, second})
		if err != nil || all[first].Group == nil {
			t.Fatal(err, all[first].Err)
		}
		var got []string
		for _, m := range all[first].Members {
			got = append(got, m.Link)
		}
		if !slices.Equal(got, want) || (all[second].Err == nil) != (table == unix.RT_TABLE_MAIN) {
			t.Errorf("table %d: by %v, want %v; a destination of the main one: %v", table, got, want, all[second].Err)
		}
	}
}

func TestVRFIsTheNetdevOfItsName(t *testing.T) {
	namespace(t)
	for _, name := range []string{"Vrf1", "out0"} { // it is missing, or another kind of netdev
		all, err := ReadAll(name, []netip.Addr{netip.MustParseAddr("10.9.0.7")})
		if err != nil || len(all) != 1 || all[netip.MustParseAddr("10.9.0.7")].Err == nil {
			t.Errorf("%s: %v, %v: want an error for the destination", name, all, err)
		}
	}
	if err := netlink.LinkAdd(&netlink.Vrf{LinkAttrs: netlink.LinkAttrs{Name: "Vrf1"}, Table: 1001}); errors.Is(err, unix.EOPNOTSUPP) {
		t.Skip("needs a kernel with VRFs (CONFIG_NET_VRF)")
	} else if err != nil {
		t.Fatal(err)
	}
	if table, err := tableOf("Vrf1"); err != nil || table != 1001 {
		t.Errorf("Vrf1 has the table %d, %v", table, err)
	}
}

func TestReadFindsMembersAndWeights(t *testing.T) {
	namespace(t)
	for i := range 4 {
		ip(t, fmt.Sprintf("nexthop add id %d via fe80::%d dev out%d\nnexthop add id %d via 10.9.%d.2 dev out%d\n", i+1, i+1, i, i+11, i, i))
	}
	ip(t, `route add 2001:db8:1::/48 nexthop via fe80::1 dev out0 weight 1 nexthop via fe80::2 dev out1 weight 5 nexthop via fe80::3 dev out2 weight 256
route add 2001:db8:2::/48 via fe80::4 dev out3
route add 10.1.0.0/16 nexthop via 10.9.0.2 dev out0 weight 2 nexthop via 10.9.3.2 dev out3
nexthop add id 100 group 1,3/4,1/2,255
nexthop add id 101 group 11/13,2
route add 2001:db8:3::/48 nhid 100
route add 10.3.0.0/16 nhid 101
route add 2001:db8:4::/48 nhid 2
route add blackhole 2001:db8:5::/48
route add 2001:db8:6::/48 dev out0
`)
	same(t, "a route", Group{Members: []Member{member(0, 1, false), member(1, 5, false), member(2, 256, false)}}, mustRead(t, "2001:db8:1::7"))
	same(t, "one next hop", Group{Members: []Member{member(3, 1, false)}}, mustRead(t, "2001:db8:2::7"))
	same(t, "IPv4", Group{Members: []Member{member(0, 2, true), member(3, 1, true)}}, mustRead(t, "10.1.2.3"))
	same(t, "objects", Group{ID: 100, Members: []Member{member(0, 3, false), member(3, 1, false), member(1, 255, false)}}, mustRead(t, "2001:db8:3::7"))
	same(t, "objects of IPv4", Group{ID: 101, Members: []Member{member(0, 1, true), member(2, 2, true)}}, mustRead(t, "10.3.2.3"))
	same(t, "a single object", Group{ID: 2, Members: []Member{member(1, 1, false)}}, mustRead(t, "2001:db8:4::7"))
	direct := member(0, 1, false)
	direct.Gateway = netip.Addr{}
	same(t, "on the link", Group{Members: []Member{direct}}, mustRead(t, "2001:db8:6::7"))
	// The longest prefix, of these the lowest metric, of the table main.
	ip(t, `route add 2001:db8:1::/64 via fe80::1 dev out0 metric 50
route add 2001:db8:1::/64 via fe80::2 dev out1 metric 20
route add 2001:db8:1::/96 via fe80::3 dev out2 table 77
route add ::/0 via fe80::4 dev out3
route add 10.1.7.0/24 via 10.9.2.2 dev out2
`)
	same(t, "a longer prefix", Group{Members: []Member{member(1, 1, false)}}, mustRead(t, "2001:db8:1::7"))
	same(t, "the shorter one", Group{Members: []Member{member(0, 1, false), member(1, 5, false), member(2, 256, false)}}, mustRead(t, "2001:db8:1:1::7"))
	same(t, "the default route", Group{Members: []Member{member(3, 1, false)}}, mustRead(t, "2001:db8:77::7"))
	same(t, "IPv4, a longer prefix", Group{Members: []Member{member(2, 1, true)}}, mustRead(t, "10.1.7.3"))
	ip(t, "route del ::/0\n")
	for _, dst := range []string{"2001:db8:9::7", "10.200.0.1", "2001:db8:5::7"} {
		if g, err := Read(netip.MustParseAddr(dst)); err == nil || !strings.Contains(err.Error(), dst) {
			t.Errorf("%s: %+v, %v", dst, g, err)
		}
	}
	if _, err := Read(netip.MustParseAddr("2001:db8:9::7")); !errors.Is(err, unix.ENETUNREACH) {
		t.Errorf("without a route: %v", err)
	}
}

func TestReadFindsWhatIsDead(t *testing.T) {
	namespace(t)
	for i := range 3 {
		ip(t, fmt.Sprintf("nexthop add id %d via fe80::%d dev out%d\n", i+1, i+1, i))
	}
	ip(t, `route add 2001:db8:1::/48 nexthop via fe80::1 dev out0 nexthop via fe80::2 dev out1 nexthop via fe80::3 dev out2
route add 10.1.0.0/16 nexthop via 10.9.0.2 dev out0 nexthop via 10.9.1.2 dev out1 nexthop via 10.9.2.2 dev out2
nexthop add id 100 group 1/2/3
route add 2001:db8:3::/48 nhid 100
neigh replace fe80::3 dev out2 nud failed
neigh replace fe80::1 dev out0 lladdr 02:00:00:00:00:01 nud stale
`)
	silent := member(2, 1, false)
	silent.Unresolved = true
	same(t, "a neighbor that does not answer", Group{ID: 100, Members: []Member{member(0, 1, false), member(1, 1, false), silent}}, mustRead(t, "2001:db8:3::7"))

	ip(t, "link set out1 down\n")
	for dst, v4 := range map[string]bool{"2001:db8:1::7": false, "10.1.2.3": true} {
		dead := member(1, 1, v4)
		dead.Dead, dead.NoCarrier = true, true
		same(t, "a link down, "+dst, Group{Members: []Member{member(0, 1, v4), dead, member(2, 1, v4)}}, mustRead(t, dst))
	}
	same(t, "an object's link down", Group{ID: 100, Members: []Member{member(0, 1, false), silent}}, mustRead(t, "2001:db8:3::7"))
}

// The buckets are those that iproute2 shows, before and after a member is lost.
func TestReadFindsBuckets(t *testing.T) {
	namespace(t)
	for i := range 4 {
		ip(t, fmt.Sprintf("nexthop add id %d via fe80::%d dev out%d\n", i+1, i+1, i))
	}
	ip(t, "nexthop add id 200 group 1,2/2/3/4 type resilient buckets 4096 idle_timer 0\nroute add 2001:db8:2::/48 nhid 200\n")
	shares := func(g Group) (n []int) {
		n = make([]int, len(g.Members))
		for _, m := range g.Buckets {
			n[m]++
		}
		return n
	}
	before := mustRead(t, "2001:db8:2::7")
	if got := shares(before); len(before.Buckets) != 4096 || got[0] < 1600 || got[0] > 1680 || len(got) != 4 {
		t.Errorf("%d buckets, by member %v", len(before.Buckets), got)
	}
	ip(t, "link set out1 down\n")
	after := mustRead(t, "2001:db8:2::7")
	names := func(g Group) (links []string) {
		for _, m := range g.Buckets {
			links = append(links, g.Members[m].Link)
		}
		return links
	}
	if slices.Contains(names(after), "out1") || len(after.Buckets) != 4096 || len(after.Members) != 3 {
		t.Errorf("after a link went down: buckets of %v, %d members", shares(after), len(after.Members))
	}
	was := names(before)
	for i, now := range names(after) {
		if was[i] != "out1" && now != was[i] {
			t.Fatalf("bucket %d went from %s to %s, and neither was lost", i, was[i], now)
		}
	}
	out, err := exec.Command("ip", "nexthop", "bucket", "list", "id", "200", "nhid", "3").Output()
	if err != nil {
		t.Fatal(err)
	}
	if shown, got := strings.Count(string(out), "nhid 3"), shares(after)[1]; shown != got || after.Members[1].Link != "out2" {
		t.Errorf("%d buckets of next hop 3, iproute2 shows %d", got, shown)
	}
}

// What is read makes a model of package ecmp.
func TestModelOfWhatWasRead(t *testing.T) {
	namespace(t)
	for i := range 3 {
		ip(t, fmt.Sprintf("nexthop add id %d via fe80::%d dev out%d\n", i+1, i+1, i))
	}
	ip(t, `nexthop add id 200 group 1/2/3 type resilient buckets 30
route add 2001:db8:2::/48 nhid 200
route add 2001:db8:1::/48 nexthop via fe80::1 dev out0 weight 1 nexthop via fe80::2 dev out1 weight 5
`)
	write := func(name, value string) {
		t.Helper()
		if err := os.WriteFile("/proc/sys/net/"+name, []byte(value), 0); err != nil {
			t.Fatal(err)
		}
	}
	if k, err := Hash(false); err != nil || k.Err() == nil {
		t.Errorf("a new namespace: %+v, %v; want seed 0, which cannot be known", k, err)
	}
	write("ipv4/fib_multipath_hash_seed", "4294967295")
	write("ipv6/fib_multipath_hash_policy", "3")
	write("ipv6/fib_multipath_hash_fields", "63")
	write("ipv4/fib_multipath_hash_policy", "1")
	k, err := Hash(false)
	if want := (ecmp.Kernel{Seed: 1<<32 - 1, Policy: 3, Fields: 63}); err != nil || k != want {
		t.Errorf("%+v, %v; want %+v", k, err, want)
	}
	if k4, err := Hash(true); err != nil || k4.Policy != 1 || k4.Seed != k.Seed {
		t.Errorf("IPv4: %+v, %v", k4, err)
	}
	for _, dst := range []string{"2001:db8:1::7", "2001:db8:2::7"} {
		g := mustRead(t, dst)
		model, err := g.Model(k)
		if err != nil {
			t.Fatal(err)
		}
		tuple := ecmp.Tuple{Src: netip.MustParseAddr("2001:db8::1"), Dst: netip.MustParseAddr(dst), Proto: 17, SrcPort: 49152, DstPort: 4791}
		count := make([]int, len(g.Members))
		for tuple.FlowLabel = range uint32(6000) {
			m, _ := model.Predict(&tuple)
			count[m]++
		}
		if dst == "2001:db8:1::7" && (count[0] < 800 || count[0] > 1200) || dst != "2001:db8:1::7" && slices.Min(count) < 1600 {
			t.Errorf("%s: %v of 6000 labels", dst, count)
		}
	}
}

func TestNewsOfEveryChange(t *testing.T) {
	namespace(t)
	n, err := Subscribe()
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	for _, change := range []string{
		"nexthop add id 1 via fe80::1 dev out0\n",
		"nexthop add id 2 via fe80::2 dev out1\n",
		"nexthop add id 100 group 1/2\n",
		"route add 2001:db8:3::/48 nhid 100\n",
		"nexthop replace id 100 group 1,5/2\n",
		"neigh replace fe80::2 dev out1 nud failed\n",
		"link set far0 down\n",
		"nexthop del id 2\n",
	} {
		// What came before is read away: each change brings news of its own.
		for quiet := false; !quiet; {
			select {
			case <-n.Changed():
			case <-time.After(100 * time.Millisecond):
				quiet = true
			}
		}
		ip(t, change)
		select {
		case <-n.Changed():
		case <-time.After(patience):
			t.Errorf("no news of: %s", change)
		}
	}
}

// TestCarrierIsKnownBeforeTheKernelReportsIt: an end of a pair is set down, and the other end has
// no carrier when that returns, though its event may come up to a second later.
func TestCarrierIsKnownBeforeTheKernelReportsIt(t *testing.T) {
	namespace(t)
	ip(t, "route add 10.20.0.0/24 nexthop via 10.9.0.2 nexthop via 10.9.1.2\n")
	g, err := Read(netip.MustParseAddr("10.20.0.1"))
	if err != nil || len(g.Members) != 2 {
		t.Fatal(g, err)
	}
	for range 3 {
		for _, up := range []bool{false, true} {
			ip(t, map[bool]string{false: "link set far1 down\n", true: "link set far1 up\n"}[up])
			first, second := g.Members[0].Index, g.Members[1].Index
			if down, err := Uncarried([]int{first, second}); err != nil || down[first] || down[second] == up {
				t.Errorf("far1 is up: %v; of out0, %d, and out1, %d, these have no carrier: %v, %v", up, first, second, down, err)
			}
			if now, err := Read(netip.MustParseAddr("10.20.0.1")); err != nil || now.Members[0].NoCarrier || now.Members[1].NoCarrier == up {
				t.Errorf("far1 is up: %v; the group is %+v, %v", up, now, err)
			}
		}
	}
	many := []int{g.Members[0].Index} // more than one message asks for, the last one not there
	for len(many) < 3*carriersAtOnce {
		many = append(many, g.Members[0].Index)
	}
	if down, err := Uncarried(append(many, 4711)); err != nil || len(down) != 1 || !down[4711] {
		t.Errorf("of netdevs with a carrier and one that does not exist these have none: %v, %v", down, err)
	}
}
