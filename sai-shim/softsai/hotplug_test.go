// SPDX-License-Identifier: Apache-2.0

package softsai_test

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// reload makes the ports those of a list with + between, and returns the status.
func (d *driver) reload(ports string) int {
	d.t.Helper()
	d.do("profile SLUICE_PORTS=%s SLUICE_QUEUES=8 SLUICE_QUEUE_RATE=1000", ports)
	status, _ := d.try("set switch %s RELOAD_PORTS=1", switchID)
	return status
}

func (d *driver) mustReload(ports string) {
	d.t.Helper()
	if status := d.reload(ports); status != 0 {
		d.t.Fatalf("ports %s: status %d", ports, status)
	}
}

// TestPortsComeAndGoWhileAFlowIsHeld: the hold of another port goes on, and what waits in it
// stays; a port that came has queues, marks, labels and holds as the others have, also one
// that came back under its index; the next process finds the bindings of ports that are there.
func TestPortsComeAndGoWhileAFlowIsHeld(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(fastQueues)
	table := newTable(t, d, "in")
	frame := labelled(5, 7, 26)
	out, held := portID(t, "out"), match(holdLabel, 5, hostA, hostB)
	d.hold(out, held, time.Minute, 0)
	everywhere := match(holdClass, 1)
	d.hold("0", everywhere, time.Minute, 0)
	l.sendNumbered(frame, 0, 10)
	waiting := func(n uint64) {
		t.Helper()
		until(t, "frames wait", func() bool { s, _ := d.getHold(out, held); return s.waitingPackets == n })
	}
	waiting(10)
	for range 3 { // each time another netdev of the name
		link(t, "more", "far")
		d.mustReload("in+out+more")
		more := portID(t, "more")
		if ports := d.do("get switch %s PORT_LIST", switchID); len(ports) != 3 || !slices.Contains(ports, more) {
			t.Fatalf("ports %v, want %s among them", ports, more)
		}
		if queues := d.do("get port %s %s", more, queueList); len(queues) != 8 {
			t.Fatalf("%d queues of the port that came", len(queues))
		}
		d.do("set queue %s FLOW_MONITOR_HIGH=1000", queueID(t, "more", 3))
		d.do("set port %s INGRESS_ACL=%s", more, table)
		d.hold(more, held, time.Minute, 0)
		if out := tc(t, "filter", "show", "dev", "more", "ingress"); !strings.Contains(out, "softsai_ingress") {
			t.Errorf("the port that came has no program:\n%s", out)
		}
		d.mustReload("in+out")
		if status, _ := d.try("get port %s INGRESS_ACL", more); status != statusInvalidObjectID {
			t.Errorf("a port that left: status %d, want %d", status, statusInvalidObjectID)
		}
		if out := tc(t, "qdisc", "show", "dev", "more"); strings.Contains(out, "clsact") || strings.Contains(out, "htb") {
			t.Errorf("left behind:\n%s", out)
		}
		d.mustReload("in+out+more") // the same netdev
		if bound := d.do("get port %s INGRESS_ACL", more); bound[0] != "0x0" {
			t.Errorf("a port that came back is bound to %s", bound)
		}
		ip(t, "link del more")
		d.mustReload("in+out")
	}
	waiting(10)
	d.hold(out, held, 0, 0)
	l.wantOrder(0, 10)
	d.kill()
	d = startDriver(t)
	d.do(fastQueues)
	if got := d.do("get port %s INGRESS_ACL", portID(t, "in"))[0]; got != table {
		t.Errorf("bound table %s, want %s", got, table)
	}
}

// TestPacketsByAPortThatCame: what leaves by it is queued, watched and held, by holds of all
// ports of before, too.
func TestPacketsByAPortThatCame(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=in SLUICE_QUEUES=8 SLUICE_QUEUE_RATE=1000")
	frame, held := labelled(5, 7, 26), match(holdClass, 3)
	d.hold("0", held, time.Minute, 0)
	d.mustReload("in+out")
	l.sendNumbered(frame, 0, 10)
	until(t, "frames wait", func() bool { s, _ := d.getHold("0", held); return s.waitingPackets == 10 })
	d.hold("0", held, 0, 0)
	l.wantOrder(0, 10)
	if packets, _, _, _ := d.queueStats(3); packets != 10 {
		t.Errorf("%d packets left by the queue, want 10", packets)
	}
}

// TestRefusedPortsLeaveTheOthers: a list with a netdev that is not there, or without a port
// that an object refers to, changes nothing.
func TestRefusedPortsLeaveTheOthers(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(fastQueues)
	d.do("create mirror TYPE=LOCAL MONITOR_PORT=%s", portID(t, "out"))
	for ports, want := range map[string]int{"in": statusObjectInUse, "in+out+none": statusInvalidParameter, "": statusInvalidParameter} {
		if status := d.reload(ports); status != want {
			t.Errorf("ports %q: status %d, want %d", ports, status, want)
		}
		if ports := d.do("get switch %s PORT_LIST", switchID); len(ports) != 2 {
			t.Errorf("ports %v, want 2", ports)
		}
	}
	frame := labelled(5, 7, 26)
	l.sendNumbered(frame, 0, 10)
	l.wantOrder(0, 10)
}
