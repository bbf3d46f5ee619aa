// SPDX-License-Identifier: Apache-2.0

package nexthops

import (
	"fmt"
	"net/netip"
	"testing"
)

// Of two routes to a prefix the one with the lower metric is the table's; addresses that
// mean nothing elsewhere and what has no next hop are left out.
func TestTableHasTheRoutesThatForward(t *testing.T) {
	namespace(t)
	ip(t, `nexthop add id 1 via fe80::1 dev out0
nexthop add id 2 via fe80::2 dev out1
nexthop add id 7 group 1/2 type resilient buckets 4
route add 2001:db8:7::/48 nhid 7
route add 2001:db8:2::/64 via fe80::3 dev out2 metric 7
route add 2001:db8:2::/64 metric 5 nexthop via fe80::1 dev out0 weight 2 nexthop via fe80::2 dev out1
route add ::/0 via fe80::4 dev out3
route add 10.20.0.0/16 nexthop via 10.9.0.2 weight 1 nexthop via 10.9.1.2 weight 4
route add blackhole 2001:db8:5::/48
`)
	groups, err := Table()
	if err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string]string{
		"2001:db8:7::/48": "out0 1 fe80::1, out1 1 fe80::2, 4 buckets",
		"2001:db8:2::/64": "out0 2 fe80::1, out1 1 fe80::2, 0 buckets",
		"::/0":            "out3 1 fe80::4, 0 buckets",
		"10.20.0.0/16":    "out0 1 10.9.0.2, out1 4 10.9.1.2, 0 buckets",
		"10.9.2.0/24":     "out2 1 invalid IP, 0 buckets",
	} {
		g, ok := groups[netip.MustParsePrefix(prefix)]
		if !ok || g.Err != nil {
			t.Errorf("%s: %v, %v", prefix, ok, g.Err)
			continue
		}
		got := ""
		for _, m := range g.Members {
			got += fmt.Sprintf("%s %d %v, ", m.Link, m.Weight, m.Gateway)
		}
		if got += fmt.Sprintf("%d buckets", len(g.Buckets)); got != want {
			t.Errorf("%s: %s, want %s", prefix, got, want)
		}
	}
	for p := range groups {
		if p.Addr().IsLinkLocalUnicast() || p.Addr().IsMulticast() || p.String() == "2001:db8:5::/48" {
			t.Errorf("%v is in the table", p)
		}
	}
	if len(groups) != 8 { // with the prefixes of four links
		t.Errorf("%d prefixes: %v", len(groups), groups)
	}
}
