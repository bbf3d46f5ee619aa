// SPDX-License-Identifier: Apache-2.0

package statistics

import (
	"maps"
	"net"
	"strings"
	"testing"
	"time"
)

// TestPortsThatAreSetDown: a netdev that is set down against its row of PORT is warned
// of; one that has no carrier, is to be down, or is no port of SLUICE_PORT is not.
func TestPortsThatAreSetDown(t *testing.T) {
	const up, on = net.FlagUp, net.FlagUp | net.FlagRunning
	s := []Port{
		{Name: "eth1", Configured: true, AdminUp: true}, {Name: "eth2", Configured: true, AdminUp: true}, {Name: "eth3", Configured: true},
		{Name: "eth4", Configured: true, AdminUp: true}, {Name: "eth5", Configured: true, AdminUp: true}, {Name: "eth6", AdminUp: true},
	}
	now := time.Unix(1000, 0)
	var l links
	at := func(after time.Duration, eth1, eth5 net.Flags) string {
		now = now.Add(after)
		l.update(map[string]net.Flags{"eth1": eth1, "eth2": up, "eth3": 0, "eth5": eth5, "eth6": 0, "lo": 0}, s, now)
		return warning(l.down, now)
	}
	if w := at(0, 0, on); w != "" {
		t.Errorf("at once: %q", w)
	}
	if w := at(linkDelay/2, 0, on); w != "" {
		t.Errorf("soon: %q", w)
	}
	if w := at(linkDelay/2, 0, 0); !strings.HasPrefix(w, "the netdev of eth1 is set down") || !strings.Contains(w, "ip link set dev eth1 up") {
		t.Errorf("%q", w)
	}
	for port, want := range map[string]string{"eth1": "down", "eth2": "down", "eth3": "down", "eth4": "", "eth5": "down", "lo": "down"} {
		if got := l.oper(port); got != want {
			t.Errorf("%s: %q, want %q", port, got, want)
		}
	}
	if w := at(linkDelay, 0, 0); !strings.HasPrefix(w, "the netdev of eth1, eth5 is set down") {
		t.Errorf("%q", w)
	}
	if w := at(0, on, on); w != "" || l.oper("eth1") != "up" {
		t.Errorf("up again: %q", w)
	}
	if w := at(0, 0, on); w != "" {
		t.Errorf("down again, at once: %q", w)
	}
}

// TestReadLinksOfPorts: the loopback device is up, and names that no netdev has are left out.
func TestReadLinksOfPorts(t *testing.T) {
	got, err := readLinks([]Port{{Name: "lo"}, {Name: "absent0"}, {Name: "a-name-that-is-too-long-for-linux"}})
	want := map[string]net.Flags{}
	if lo, loErr := net.InterfaceByName("lo"); loErr == nil {
		want["lo"] = lo.Flags & (net.FlagUp | net.FlagRunning)
	}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

// TestFlagsOfANetdev: a port that is up and has no carrier is another one than a port with a link.
func TestFlagsOfANetdev(t *testing.T) {
	const up, running, other = 0x1, 0x40, 0x8 // netdevice(7): IFF_UP, IFF_RUNNING, IFF_LOOPBACK
	for flags, want := range map[uint16]net.Flags{
		0: 0, up: net.FlagUp, running: net.FlagRunning, up | running: net.FlagUp | net.FlagRunning, up | other: net.FlagUp,
	} {
		if got := flagsOf(flags); got != want {
			t.Errorf("%#x: %v, want %v", flags, got, want)
		}
	}
}
