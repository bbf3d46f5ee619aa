// SPDX-License-Identifier: Apache-2.0

package ecmp

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sluice/tests/routertest"
)

var update = flag.Bool("update", false, "rewrite the vectors from the running kernel's answers (root)")

// TestLinuxKernel forwards packets through the running kernel: it and the model
// must agree on the path of every one.
func TestLinuxKernel(t *testing.T) {
	r := routertest.New(t)
	for _, n := range []int{3, 4, routertest.Links} {
		var v6, v4 strings.Builder
		for i := range n {
			fmt.Fprintf(&v6, " nexthop via fe80::%d dev out%d", i+1, i)
			fmt.Fprintf(&v4, " nexthop dev out%d", i)
		}
		r.IP(fmt.Sprintf("route add 2001:db8:%d::/48%s\nroute add 10.%d.0.0/16%s\n", n, &v6, n, &v4))
	}
	random := rand.New(rand.NewPCG(1, 2))
	var uname unix.Utsname
	if err := unix.Uname(&uname); err != nil {
		t.Fatal(err)
	}
	file := new(strings.Builder)
	release, _, _ := strings.Cut(unix.ByteSliceToString(uname.Release[:]), "-")
	fmt.Fprintf(file, "# Paths of packets that Linux %s forwarded, hash policy 3.\n", release)
	fmt.Fprintln(file, "# seed, paths, source, destination, protocol, ports, flow label; path with hash fields 0x37, with 0x3f")
	for _, seed := range []uint32{DefaultSeed, 0xc0ffee42} {
		r.Sysctl("ipv4/fib_multipath_hash_seed", int(seed))
		for _, paths := range []int{3, 4, routertest.Links} {
			for _, tuple := range []func(*rand.Rand, int, int) Tuple{tuple6, tuple4} {
				var tuples []Tuple
				for i := range 256 {
					tuples = append(tuples, tuple(random, paths, i))
				}
				r.Sysctl("ipv6/fib_multipath_hash_fields", 0x37)
				r.Sysctl("ipv4/fib_multipath_hash_fields", 0x37)
				plain := forward(r, tuples)
				r.Sysctl("ipv6/fib_multipath_hash_fields", 0x3f)
				r.Sysctl("ipv4/fib_multipath_hash_fields", 0x3f)
				withLabel := forward(r, tuples)
				for i := range tuples {
					v := vector{seed, paths, tuples[i], plain[i], withLabel[i]}
					v.check(t)
					if i%16 < 2 {
						fmt.Fprintln(file, &v)
					}
				}
			}
		}
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(vectorsFile, []byte(file.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// tuple6 makes the i-th tuple for the route over n paths. Half of them are of one
// host pair and one port pair and differ in the label alone, as a queue pair's
// packets do; the others are random, sources below and above the destination.
func tuple6(random *rand.Rand, n, i int) Tuple {
	route := fmt.Sprintf("2001:db8:%d::", n)
	t := Tuple{
		Src:       addr6("2001:db8:1::", 0, 1),
		Dst:       addr6(route, 0, 2),
		Proto:     unix.IPPROTO_UDP,
		SrcPort:   49152,
		DstPort:   4791,
		FlowLabel: random.Uint32N(1 << 20),
	}
	if i%2 == 0 {
		from := []string{"2001:db8:1::", "2001:db8:ffff::"}[random.IntN(2)]
		t.Src = addr6(from, uint16(random.Uint32()), random.Uint64())
		t.Dst = addr6(route, uint16(random.Uint32()), random.Uint64())
		t.SrcPort = uint16(random.Uint32())
		t.DstPort = []uint16{4791, uint16(random.Uint32())}[random.IntN(2)]
	}
	return t
}

// tuple4 is tuple6 for IPv4: random sources on both sides of the destination.
func tuple4(random *rand.Rand, n, _ int) Tuple {
	return Tuple{
		Src:     netip.AddrFrom4([4]byte{[]byte{9, 11}[random.IntN(2)], byte(random.Uint32()), byte(random.Uint32()), byte(random.Uint32())}),
		Dst:     netip.AddrFrom4([4]byte{10, byte(n), byte(random.Uint32()), byte(random.Uint32())}),
		Proto:   unix.IPPROTO_UDP,
		SrcPort: uint16(random.Uint32()),
		DstPort: []uint16{4791, uint16(random.Uint32())}[random.IntN(2)],
	}
}

// addr6 is the address of a /48 and the 80 bits behind it, high holding 16 of them.
func addr6(prefix string, high uint16, low uint64) netip.Addr {
	a := netip.MustParseAddr(prefix).As16()
	binary.BigEndian.PutUint16(a[6:], high)
	binary.BigEndian.PutUint64(a[8:], low)
	return netip.AddrFrom16(a)
}
