// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"maps"
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNetdevsByName: each netdev of this namespace has its index, and other names are left out.
func TestNetdevsByName(t *testing.T) {
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	names, want := []string{"absent0", "", "a-name-that-is-too-long-for-linux"}, map[string]int{}
	for _, n := range all {
		names, want[n.Name] = append(names, n.Name), n.Index
	}
	got := map[string]int{}
	if err := AskNetdevs(names, unix.SIOCGIFINDEX, func(i int, r *unix.Ifreq) { got[names[i]] = int(r.Uint32()) }); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
