// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"fmt"
	"strings"
	"testing"

	"sluice/orchagent-ext/switch/engine"
	"sluice/sai-shim/saitest"
)

// TestQueueOfAPacketIsByTheLibrarysMaps: a port has the maps of its attributes, each map is read once, and
// without maps packets have class 0. A library that does not read the attribute has no method sampled,
// and the reason names the attribute.
func TestQueueOfAPacketIsByTheLibrarysMaps(t *testing.T) {
	library := saitest.New(t)
	p := openPlace(t, library, "QOS", "26=3 48=6 63=7;3=5 6=6 16=2")
	d := p.driver()
	a, _, err := d.Probe()
	if err != nil || !a[engine.NeedThreshold][engine.Sampled].Can {
		t.Fatalf("%+v: %v", a[engine.NeedThreshold], err)
	}
	library.Calls()
	got, err := d.Ports.Classes([]string{"Ethernet0", "Ethernet4", "absent"})
	if err != nil || len(got) != 2 {
		t.Fatalf("%v: %v", got, err)
	}
	queue := func(port string, dscp uint8) uint8 { c := got[port]; return c.Queue[c.Class[dscp]] }
	for dscp, want := range map[uint8]uint8{0: 0, 26: 5, 48: 6, 63: 7} {
		if queue("Ethernet0", dscp) != want || queue("Ethernet4", dscp) != 0 {
			t.Errorf("DSCP %d waits in queue %d of Ethernet0, want %d, and in %d of Ethernet4, want 0", dscp, queue("Ethernet0", dscp), want, queue("Ethernet4", dscp))
		}
	}
	if calls := strings.Join(library.Calls(), "\n"); strings.Count(calls, "get qos_map") != 2 {
		t.Errorf("calls:\n%s", calls)
	}
	if _, err := d.Ports.Classes([]string{"Ethernet0"}); err != nil || len(library.Calls()) != 0 {
		t.Errorf("maps are read again within a minute: %v", err)
	}
}

// TestUnreadableMapsHaveNoMethodSampled: the reason has the library's answer.
func TestUnreadableMapsHaveNoMethodSampled(t *testing.T) {
	library := saitest.New(t)
	for _, object := range []string{"port.QOS_DSCP_TO_TC_MAP", "qos_map"} {
		t.Run(object, func(t *testing.T) {
			d := openPlace(t, library, "QOS", "26=3;3=5", "FAIL", fmt.Sprintf("get %s 0 %d", object, saitest.NotImplemented)).driver()
			a, _, err := d.Probe()
			if is := a[engine.NeedThreshold][engine.Sampled]; err != nil || is.Can || !strings.Contains(is.Reason, "which queue a packet waits in is not known") || !strings.Contains(is.Reason, "NOT_IMPLEMENTED") {
				t.Errorf("%+v: %v", is, err)
			}
		})
	}
}
