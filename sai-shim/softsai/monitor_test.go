// SPDX-License-Identifier: Apache-2.0

package softsai_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	monitorHigh = "action-u32:0x10000002"
	monitorLow  = "action-u32:0x10000003"
	occupancy   = "u64:0x10000004"
)

// event is what the function for flow monitors got.
type event struct {
	entry, queue string
	octets       int
	high         bool
}

// events waits until n events came, and returns all that did.
func (d *driver) events(n int) (all []event) {
	d.t.Helper()
	for _, word := range d.do("events %d", n) {
		parts := strings.Split(word, ":")
		octets, err := strconv.Atoi(parts[2])
		if err != nil {
			d.t.Fatal(err)
		}
		all = append(all, event{parts[0], parts[1], octets, parts[3] == "1"})
	}
	return all
}

// upAndDown says whether a flow passed its marks, and is below them.
func upAndDown(events []event) bool { return len(events) >= 2 && len(events)%2 == 0 }

// watch makes an entry that watches a flow.
func watch(d *driver, table string, flow, high, low int, more string) string {
	d.t.Helper()
	return d.id("create entry oid:0=%s field-u16:0x1015=%d %s=%d %s=%d %s", table, flow, monitorHigh, high, monitorLow, low, more)
}

func flowTable(t *testing.T, d *driver) string {
	t.Helper()
	table := d.id("create table s32:0=0 bool:0x1015=1")
	d.do("set port %s oid:0x3b=%s", portID(t, "in"), table)
	return table
}

// A flow that passes its marks in a queue is told, once on the way up and once on the
// way down; what others keep in the same queue is not its.
func TestFlowMonitor(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(withQueues)
	table := flowTable(t, d)
	const high, low = 10 * queueFrame, 4 * queueFrame
	first := watch(d, table, 1, high, low, "")
	second := watch(d, table, 2, high, low, setTC+"=5")
	third := watch(d, table, 3, 1000*queueFrame, low, "")
	queue := map[string]string{first: queueID(t, "out", 3), second: queueID(t, "out", 5)}
	seen := map[string][]event{}
	// A busy machine may send so slowly that a flow does not pass its mark, or more than once.
	for deadline := time.Now().Add(patience); !upAndDown(seen[first]) || !upAndDown(seen[second]); {
		if time.Now().After(deadline) {
			t.Fatalf("events %v", seen)
		}
		const n = 40
		for range n {
			l.send(1, flowFrame(1, 26))
			l.send(1, flowFrame(2, 26))
			l.send(1, flowFrame(3, 26))
			l.send(1, flowFrame(4, 26)) // nobody watches it
		}
		// Packets leave, and none comes: what is read later is not more.
		_, _, _, inQueue := d.queueStats(3)
		for _, entry := range []string{first, third} {
			if octets := int(d.number("get entry %s %s", entry, occupancy)); octets > inQueue || octets%queueFrame != 0 {
				t.Errorf("%d octets of a flow in a queue that has %d", octets, inQueue)
			}
		}
		l.arrivals(4 * n)
		for _, e := range d.events(0) {
			seen[e.entry] = append(seen[e.entry], e)
		}
	}
	for _, entry := range []string{first, second} {
		events := seen[entry]
		for i, e := range events {
			want := event{entry, queue[entry], high + queueFrame, true}
			if i%2 == 1 {
				want.octets, want.high = low-queueFrame, false
			}
			if e != want {
				t.Errorf("event %v, want %v", e, want)
			}
		}
	}
	if len(seen[third]) > 0 {
		t.Errorf("events of a flow below its mark: %v", seen[third])
	}
	for _, entry := range []string{first, second, third} {
		if octets := d.number("get entry %s %s", entry, occupancy); octets != 0 {
			t.Errorf("%d octets in an empty queue", octets)
		}
	}
}

// The octets of all flows of a queue are those of the queue.
func TestFlowOccupancy(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(withQueues)
	table := flowTable(t, d)
	var entries []string
	for flow := range 8 {
		entries = append(entries, watch(d, table, flow, 1<<30, 1, ""))
	}
	sent := 0
	for deadline := time.Now().Add(patience); ; {
		for flow := range 8 {
			l.send(1+flow, flowFrame(flow, 26))
			sent += 1 + flow
		}
		before, _, _, _ := d.queueStats(3)
		sum := 0
		for _, entry := range entries {
			sum += int(d.number("get entry %s %s", entry, occupancy))
		}
		after, _, _, octets := d.queueStats(3)
		if before == after { // nothing left meanwhile
			if sum != octets {
				t.Errorf("%d octets of all flows, %d in their queue", sum, octets)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the statistics could not be read between two packets")
		}
		l.arrivals(sent)
		sent = 0
	}
	l.arrivals(sent)
}

// Marks can be changed and taken away, and are there again after kill -9.
func TestSetFlowMonitor(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(withQueues)
	table := flowTable(t, d)
	entry := d.id("create entry oid:0=%s field-u16:0x1015=1 action-u8:0x2016=26", table)
	marker := watch(d, table, 9, queueFrame-1, 1, "")
	passes := func(n int, want bool) {
		t.Helper()
		var events []event
		for deadline := time.Now().Add(patience); ; {
			l.send(n, flowFrame(1, 26))
			l.arrivals(n)
			// Events come in their order: when the marker's are there, all are.
			l.send(1, flowFrame(9, 26))
			l.arrivals(1)
			for marked := false; !marked; {
				for _, e := range d.events(1) {
					if e.entry != marker {
						events = append(events, e)
					}
					marked = marked || e.entry == marker && !e.high
				}
			}
			if !want || upAndDown(events) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("events %v", events)
			}
		}
		if want != (len(events) > 0) || want && (!events[0].high || events[1].high) {
			t.Errorf("events %v", events)
		}
	}
	if octets := d.number("get entry %s %s", entry, occupancy); octets != 0 {
		t.Errorf("%d octets of a flow that nobody watches", octets)
	}
	passes(40, false)
	d.do("set entry %s %s=%d", entry, monitorHigh, 5*queueFrame) // the low one is half of it
	passes(40, true)
	d.do("set entry %s %s=off", entry, monitorHigh)
	passes(40, false)
	d.do("set entry %s %s=%d", entry, monitorHigh, 10*queueFrame)
	passes(40, true)
	d.kill()

	d = startDriver(t)
	d.do(withQueues)
	if high := d.number("get entry %s %s", entry, monitorHigh); high != 10*queueFrame {
		t.Errorf("mark %d, want %d", high, 10*queueFrame)
	}
	passes(40, true)
	for _, test := range []string{
		fmt.Sprintf("set entry %s %s=%d", entry, monitorLow, 10*queueFrame),
		fmt.Sprintf("set entry %s %s=1", entry, monitorHigh),
	} {
		if status, _ := d.try("%s", test); status != -5 {
			t.Errorf("%s: status %d, want -5", test, status)
		}
	}
	d.do("remove entry %s", entry)
	passes(40, false)
	d.do("remove entry %s", marker)
	l.send(3, flowFrame(9, 26)) // whose packets are marked no longer
	l.arrivals(3)
	d.do("set port %s oid:0x3b=0", portID(t, "in"))
	d.do("remove table %s", table)
	d.do("remove-switch")
	wantNoTrace(t)
	d.stop()

	d = startDriver(t)
	d.do("switch SLUICE_PORTS=in+out")
	if got := strings.Join(d.do("capability entry 0x10000002"), " "); got != "0 0 0" {
		t.Errorf("capability without queues: %s", got)
	}
}
