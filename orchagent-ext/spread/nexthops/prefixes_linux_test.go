// SPDX-License-Identifier: Apache-2.0

package nexthops

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPrefixesHaveTheLinksThatLeadThere(t *testing.T) {
	namespace(t)
	ip(t, `addr add 2001:db8:1::1/64 dev out0 nodad
addr add fd00:7::1/48 dev out1 nodad
addr add 2001:db8:9::1/128 dev lo
route add 2001:db8:2::/64 via fe80::1 dev out0
route add 2001:db8:3::/64 nexthop via fe80::1 dev out0 nexthop via fe80::2 dev out1
route add ::/0 dev out3
route add blackhole 2001:db8:5::/48
`)
	got, err := Prefixes()
	if err != nil {
		t.Fatal(err)
	}
	want := map[netip.Prefix][]string{
		netip.MustParsePrefix("2001:db8:1::/64"): {"out0"}, netip.MustParsePrefix("fd00:7::/48"): {"out1"},
		netip.MustParsePrefix("2001:db8:2::/64"): {"out0"}, netip.MustParsePrefix("2001:db8:3::/64"): {"out0", "out1"},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
}
