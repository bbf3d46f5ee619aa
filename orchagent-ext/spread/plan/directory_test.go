// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"net/netip"
	"testing"
)

func TestDirectoryFindsTheLeafOfTheLongestPrefix(t *testing.T) {
	d := NewDirectory([]Row{
		{Leaf: "a", Prefixes: []string{"2001:db8:1::/48", "2001:db8:9::/48", "2001:db8::/32"}},
		{Leaf: "b", Prefixes: []string{"2001:db8:2::/48", "2001:db8:1:7::/64", "2001:db8:9::/48"}},
	})
	for addr, want := range map[string]string{
		"2001:db8:1::1": "a", "2001:db8:1:7::1": "b", "2001:db8:2::1": "b", "2001:db8:77::1": "a",
		"2001:db8:9::1": "", // both have it, so that neither counts, nor what is shorter
		"2001:db9::1":   "", "192.0.2.1": "",
	} {
		if got := d.Leaf(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s is behind %q, want %q", addr, got, want)
		}
	}
}
