// SPDX-License-Identifier: Apache-2.0

package entries

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/ygot/ygot"

	"sluice/orchagent-ext/switch/engine"
	"sluice/yang/rows"
)

// encoded returns the rows of structs.
func encoded[S ygot.GoStruct](t *testing.T, all []S) []rows.Row {
	t.Helper()
	var encoded []rows.Row
	for _, s := range all {
		r, err := rows.Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		encoded = append(encoded, r)
	}
	return encoded
}

func flowEntry(qp uint32) engine.FlowEntry {
	return engine.FlowEntry{Src: netip.MustParseAddr("2001:db8::1"), Dst: netip.MustParseAddr("2001:db8::2"), DestQP: qp, Label: qp + 1}
}

func TestIdleFlowsLoseTheirEntries(t *testing.T) {
	counts := map[uint32]uint64{1: 0, 2: 10}
	count := func(f engine.FlowEntry) (uint64, uint64, error) {
		n, ok := counts[f.DestQP]
		if !ok {
			return 0, 0, engine.ErrGone
		}
		return n, 100 * n, nil
	}
	var l Entries
	now := time.Unix(1000, 0)
	l.add(flowEntry(1), "", now)
	l.add(flowEntry(2), "", now)
	l.add(flowEntry(3), "", now)
	if idle := l.readCounters(count, now, unhurried); len(idle) != 1 || idle[0] != unlabelled(flowEntry(3)) || len(l.seen) != 2 || l.total != 10 {
		t.Errorf("idle %v, %d known, %d packets", idle, len(l.seen), l.total)
	}
	all := encoded(t, l.Rows(l.Heaviest(), func(f engine.FlowEntry) uint16 { return uint16(f.DestQP - 1) }))
	if len(all) != 2 || all[0].Fields["dest_qp"] != "2" || all[0].Fields["bytes"] != "1000" || all[0].Fields["stream_id"] != "1" || all[1].Fields["stream_id"] != "" {
		t.Errorf("%v", all)
	}
	for _, r := range all {
		if _, err := rows.Decode(r); err != nil {
			t.Error(err)
		}
	}
	counts[2] = 15
	if idle := l.readCounters(count, now.Add(flowIdle+time.Second), unhurried); len(idle) != 1 || idle[0] != unlabelled(flowEntry(1)) || l.total != 15 {
		t.Errorf("idle %v, %d packets", idle, l.total)
	}
	if len(l.seen) != 1 {
		t.Errorf("%d known", len(l.seen))
	}
}

// TestFlowPorts: a row names the ports that were seen last, and the next process
// knows them, too. What is not known is not there, and takes nothing away.
func TestFlowsHaveThePortsThatTheCPUSaw(t *testing.T) {
	noID := func(engine.FlowEntry) uint16 { return 0 }
	var l Entries
	l.add(flowEntry(1), "", time.Unix(1000, 0))
	l.add(flowEntry(2), "", time.Unix(1000, 0))
	relabelled := flowEntry(1)
	relabelled.Label = 99 // its source queue pair was learned since: the entry keeps the label that it has
	l.add(relabelled, "", time.Unix(1000, 0))
	for _, ports := range [][2]string{{"Ethernet0", ""}, {"Ethernet4", "Ethernet8"}, {"", ""}} {
		l.move(relabelled, ports[0], ports[1])
	}
	l.move(flowEntry(3), "Ethernet0", "") // it has no entry
	var next Entries
	next.add(flowEntry(1), "", time.Unix(2000, 0))
	next.add(flowEntry(2), "", time.Unix(2000, 0))
	next.add(flowEntry(4), "", time.Unix(2000, 0))
	next.Recall(encoded(t, l.Rows(l.Heaviest(), noID)))
	next.move(flowEntry(4), "Ethernet12", "")
	for _, tt := range []struct {
		log  *Entries
		want []map[string]string
	}{
		{&l, []map[string]string{{"dest_qp": "1", "flow_label": "2", "ingress_port": "Ethernet4", "egress_port": "Ethernet8"}, {"dest_qp": "2", "flow_label": "3"}}},
		{&next, []map[string]string{
			{"dest_qp": "1", "flow_label": "2", "ingress_port": "Ethernet4", "egress_port": "Ethernet8"}, {"dest_qp": "2", "flow_label": "3"},
			{"dest_qp": "4", "flow_label": "5", "ingress_port": "Ethernet12"},
		}},
	} {
		var got []map[string]string
		for _, r := range encoded(t, tt.log.Rows(tt.log.Heaviest(), noID)) {
			if _, err := rows.Decode(r); err != nil {
				t.Error(err)
			}
			for _, other := range []string{"src", "dst", "packets", "bytes"} {
				delete(r.Fields, other)
			}
			got = append(got, r.Fields)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// Where the switch computes labels, flows without an entry have one: the warning says so.
func TestWarningOfFlowsWithoutEntry(t *testing.T) {
	now := time.Unix(1e9, 0)
	for computed, want := range map[bool]string{false: "flows have no label", true: "flows have the label of the hash"} {
		l := &Entries{admission: admission{capacity: 10, computed: computed}}
		l.full(1, "Ethernet0", now)
		if got := l.Warning(now); !strings.HasPrefix(got, want) {
			t.Errorf("computed %v: %q", computed, got)
		}
	}
}

// unhurried is the time of a library that answers at once.
func unhurried() bool { return true }

// TestLookEndsWhenTimeIsUp has time for the counters of two flows in each look: the third look
// comes to the fifth.
func TestLookEndsWhenTimeIsUp(t *testing.T) {
	var l Entries
	now := time.Unix(1000, 0)
	for qp := range 5 {
		l.add(flowEntry(uint32(qp)), "", now)
	}
	counted := map[engine.FlowEntry]int{}
	count := func(f engine.FlowEntry) (packets, octets uint64, err error) {
		counted[f]++
		return 1, 1, nil
	}
	for i, want := range []int{2, 4, 5} {
		left := 1
		l.readCounters(count, now, func() bool { left--; return left >= 0 })
		if len(counted) != want {
			t.Errorf("look %d: %d flows were counted, want %d", i+1, len(counted), want)
		}
	}
}

// TestWarningNamesTheRoomThatTheSwitchHad: flows that are refused since the switch was full at 49
// entries do not find flow_capacity in use, after the limit has ended too.
func TestWarningNamesTheRoomThatTheSwitchHad(t *testing.T) {
	const capacity, entries = 1000, 49
	now := time.Unix(1000, 0)
	l := &Entries{admission: admission{capacity: capacity}}
	for qp := range entries {
		l.add(flowEntry(uint32(qp)), "Ethernet0", now)
	}
	l.full(1, "Ethernet0", now)
	for _, after := range []time.Duration{0, roomTime - 1, roomTime, roomTime + refusalTime - 2} {
		at := now.Add(after)
		if after == roomTime-1 {
			busy := func(engine.FlowEntry) (packets, octets uint64, err error) { return uint64(at.UnixNano()), 0, nil }
			if _, admit := l.offer("Ethernet0", 1000, busy, at); admit {
				t.Fatal("a flow was admitted")
			}
		}
		if w := l.Warning(at); !strings.Contains(w, "room for 49 entries") {
			t.Errorf("after %v: %q", after, w)
		}
	}
}

// TestHeaviestFollowsCountersAndFlows: the order is that of the last counters, with flows that are new and without
// those that are gone, however often it was asked before.
func TestHeaviestFollowsCountersAndFlows(t *testing.T) {
	counts := map[uint32]uint64{1: 10, 2: 20}
	count := func(f engine.FlowEntry) (uint64, uint64, error) { return counts[f.DestQP], 100 * counts[f.DestQP], nil }
	var l Entries
	now := time.Unix(1000, 0)
	check := func(what string, want ...uint32) {
		t.Helper()
		for range 2 {
			var got []uint32
			for _, f := range l.Heaviest() {
				got = append(got, f.DestQP)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", what, got, want)
			}
		}
	}
	check("none")
	l.add(flowEntry(1), "", now)
	l.add(flowEntry(2), "", now)
	l.readCounters(count, now, unhurried)
	check("two", 2, 1)
	counts[1] = 30
	l.readCounters(count, now.Add(time.Second), unhurried)
	check("the other one sent more", 1, 2)
	l.add(flowEntry(3), "", now)
	check("a new one", 1, 2, 3)
	l.remove(flowEntry(1))
	check("one is gone", 2, 3)
	l.Clear()
	check("all are gone")
}
