// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"maps"
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNetdevsByName: each netdev of this namespace has its index, and other names are left out: the kernel
// is not asked for them.
func TestNetdevsByName(t *testing.T) {
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	names, want := []string{"absent0", "", "a-name-that-is-too-long-for-linux"}, map[string]int{}
	for _, n := range all {
		names, want[n.Name] = append(names, n.Name), n.Index
	}
	got, asked := map[string]int{}, 0
	ask = func(socket int, request uint, r *unix.Ifreq) error {
		asked++
		return unix.IoctlIfreq(socket, request, r)
	}
	t.Cleanup(func() { ask = unix.IoctlIfreq })
	if err := AskNetdevs(names, unix.SIOCGIFINDEX, func(i int, r *unix.Ifreq) { got[names[i]] = int(r.Uint32()) }); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if asked != len(want) && os.Geteuid() == 0 {
		t.Errorf("asked for %d names, want %d: others make the kernel run modprobe", asked, len(want))
	}
}
