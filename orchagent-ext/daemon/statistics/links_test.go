// SPDX-License-Identifier: Apache-2.0

package statistics

import (
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
