// SPDX-License-Identifier: Apache-2.0

package softsai_test

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"
)

// holdNetdev begins the name of the netdev where packets wait.
const holdNetdev = "softsai-hold"

// Kinds of holds.
const (
	holdStream = iota
	holdLabel
	holdPair
	holdSession
	holdTuple
	holdClass
)

const rateCount = ^uint64(0)

// match is what a hold matches, as the driver reads it.
func match(kind, value int, addresses ...[16]byte) string {
	source, destination := "-", "-"
	if len(addresses) == 2 {
		source, destination = netip.AddrFrom16(addresses[0]).String(), netip.AddrFrom16(addresses[1]).String()
	}
	return fmt.Sprintf("%d %d %s %s", kind, value, source, destination)
}

func match4(kind, value int) string { return fmt.Sprintf("%d %d 10.1.0.1 10.2.0.1", kind, value) }

// streamID is the Stream ID of a flow.
func streamID(seed uint32, label int) int {
	b := binary.BigEndian.AppendUint32(nil, seed)
	b = append(append(b, hostA[:]...), hostB[:]...)
	id := int(crc32.ChecksumIEEE(append(b, byte(label>>16), byte(label>>8), byte(label))) & 0xffff)
	return max(id, 1)
}

// holdState is what a hold did.
type holdState struct {
	remaining, rate, octets, packets, waitingOctets, waitingPackets, dropped uint64
}

func (d *driver) hold(port, match string, duration time.Duration, rate uint64) {
	d.t.Helper()
	d.do("hold %s %s %d %d", port, match, duration.Microseconds(), rate)
}

// getHold reads a hold; ok is false when it is over and drained.
func (d *driver) getHold(port, match string) (s holdState, ok bool) {
	d.t.Helper()
	status, words := d.try("get-hold %s %s", port, match)
	if status == statusItemNotFound {
		return s, false
	}
	var n [7]uint64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseUint(words[i], 10, 64); err != nil || status != 0 {
			d.t.Fatalf("status %d, %v", status, words)
		}
	}
	return holdState{n[0], n[1], n[2], n[3], n[4], n[5], n[6]}, true
}

// fastQueues is for tests of holds: a machine whose CPUs are taken away for a while loses no packet.
const fastQueues = "switch SLUICE_PORTS=in+out SLUICE_QUEUES=8 SLUICE_QUEUE_RATE=1000 SLUICE_HOLD_FROZEN_MS=60000 "

// sequence gives a frame its number, where numbers reads it.
func sequence(frame []byte, n int) []byte {
	f := append([]byte(nil), frame...)
	binary.BigEndian.PutUint32(f[len(f)-40:], uint32(n))
	return f
}

func numbers(frames [][]byte) (all []int) {
	for _, f := range frames {
		all = append(all, int(binary.BigEndian.Uint32(f[len(f)-40:])))
	}
	return all
}

// sendNumbered sends frames with the numbers from first on.
func (l *line) sendNumbered(frame []byte, first, n int) {
	for i := range n {
		l.send(1, sequence(frame, first+i))
	}
}

// wantOrder checks that n frames arrive, in their order.
func (l *line) wantOrder(first, n int) {
	l.t.Helper()
	for i, number := range numbers(l.arrivals(n)) {
		if number != first+i {
			l.t.Fatalf("frame %d came where %d should", number, first+i)
		}
	}
}

// Each kind of hold stops the packets that it matches and no others, for as long as
// it says, and lets them go in their order. Of one Stream ID a hold with addresses is of their flow alone.
//
//conformance:draft-yang/exclusively draft-yang/by-label draft-yang/enforce draft-yang/maintain
func TestHoldKinds(t *testing.T) {
	const label, qp, seed = 0x12345, 77, 0xdeadbeef
	frame := labelled(label, qp, 26)
	other := hostA
	other[15]++
	tcp := strings.Replace(match(holdTuple, 49152<<16|rocePort, hostA, hostB), " "+netip.AddrFrom16(hostA).String(), "/6 "+netip.AddrFrom16(hostA).String(), 1)
	for _, tt := range []struct {
		name   string
		frame  []byte
		match  string
		others []string // that do not match
	}{
		{"stream", frame, match(holdStream, streamID(seed, label)), []string{match(holdStream, streamID(seed, label)^1)}},
		{"stream and addresses", frame, match(holdStream, streamID(seed, label), hostA, hostB), []string{match(holdStream, streamID(seed, label), other, hostB), match(holdStream, streamID(seed, label), hostB, hostA)}},
		{"label", frame, match(holdLabel, label, hostA, hostB), []string{match(holdLabel, label+1, hostA, hostB), match(holdLabel, label, other, hostB)}},
		{"pair", frame, match(holdPair, 0, hostA, hostB), []string{match(holdPair, 0, hostB, hostA)}},
		{"session", frame, match(holdSession, qp, hostA, hostB), []string{match(holdSession, qp+1, hostA, hostB)}},
		{"tuple", frame, match(holdTuple, 49152<<16|rocePort, hostA, hostB), []string{match(holdTuple, 49153<<16|rocePort, hostA, hostB), tcp}},
		{"class", frame, match(holdClass, 3), []string{match(holdClass, 2)}},
		{"IPv4 pair", flowFrame4(9, 26), match4(holdPair, 0), []string{match(holdPair, 0, hostA, hostB)}},
		{"IPv4 session", flowFrame4(9, 26), match4(holdSession, 7), []string{match4(holdSession, 8)}},
		{"IPv4 tuple", flowFrame4(9, 26), match4(holdTuple, 9<<16|rocePort), []string{match4(holdTuple, 8<<16|rocePort)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLine(t)
			d := startDriver(t)
			id := d.id(fastQueues)
			d.do("set switch %s %s=%d", id, attrStreamSeed, uint32(seed))
			out := portID(t, "out")
			for _, other := range tt.others {
				d.hold(out, other, time.Minute, 0)
			}
			d.hold(portID(t, "in"), tt.match, time.Minute, 0)
			l.sendNumbered(tt.frame, 0, 10)
			l.wantOrder(0, 10)
			for _, port := range []string{out, "0"} {
				d.hold(port, tt.match, time.Minute, 0)
				l.sendNumbered(tt.frame, 10, 20)
				until(t, "frames wait", func() bool { s, _ := d.getHold(port, tt.match); return s.waitingPackets == 20 })
				if _, frame, ok := l.wire.receive(); ok && isRoCE(frame) {
					t.Fatalf("a frame inside the hold: %x", frame)
				}
				s, _ := d.getHold(port, tt.match)
				octets := uint64(20 * len(tt.frame))
				if s.remaining < uint64((time.Minute / 3).Microseconds()) {
					t.Errorf("a minute has %d µs left", s.remaining)
				}
				if s.octets != octets || s.packets != 20 || s.waitingOctets != octets || s.dropped != 0 || s.rate != 0 ||
					s.remaining == 0 || s.remaining > uint64(time.Minute.Microseconds()) {
					t.Errorf("hold %+v", s)
				}
				d.hold(port, tt.match, 0, 0)
				l.wantOrder(10, 20)
				until(t, "the hold is over", func() bool { _, ok := d.getHold(port, tt.match); return !ok })
			}
			if s := d.flowStats(); s.held != 40 || s.full != 0 || s.lostInQueues != 0 {
				t.Errorf("%+v", s)
			}
			d.hold(out, tt.match, 300*time.Millisecond, 0)
			l.sendNumbered(tt.frame, 50, 5)
			l.wantOrder(50, 5) // it ends by itself
		})
	}
}

// A hold of the flow is over when that of its class is not: it waits for both.
func TestHoldsOverlap(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(fastQueues)
	out, label, class := portID(t, "out"), match(holdLabel, 5, hostA, hostB), match(holdClass, 3)
	frame := labelled(5, 7, 26)
	waiting := func(match string, n uint64) {
		t.Helper()
		until(t, "frames wait", func() bool { s, _ := d.getHold(out, match); return s.waitingPackets == n })
	}
	d.hold(out, class, time.Minute, 0)
	l.sendNumbered(frame, 0, 5)
	waiting(class, 5)
	d.hold(out, label, time.Minute, 0) // later, and comes first
	l.sendNumbered(frame, 5, 5)
	waiting(label, 5)
	d.hold(out, label, 0, 0)
	waiting(class, 10)
	d.hold(out, class, 0, 0)
	l.wantOrder(0, 10)
}

// The octets that wait in a hold queue are octets of the flow in its queue: they pass
// marks, with the port that they came in by.
func TestHeldOctetsPassMarks(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(fastQueues)
	d.setMarks(3, 10*queueFrame, 4*queueFrame)
	out, m := portID(t, "out"), match(holdLabel, 5, hostA, hostB)
	d.hold(out, m, time.Minute, 0)
	l.sendNumbered(labelled(5, 7, 26), 0, 20)
	var events []flowEvent
	until(t, "high", func() bool {
		events = append(events, d.events(1)...)
		return events[len(events)-1].mark == markHigh && events[len(events)-1].octets == 20*queueFrame
	})
	for _, e := range events {
		if e.queue != queueID(t, "out", 3) || e.port != portID(t, "in") || len(e.head) != 96 {
			t.Errorf("event %+v", e)
		}
	}
	if got := d.number("flow %s %s", queueID(t, "out", 3), events[0].flow); got != 20*queueFrame {
		t.Errorf("%d octets, want %d", got, 20*queueFrame)
	}
	// Its event is raised again and again.
	if again := d.events(2); again[len(again)-1].mark != markHigh {
		t.Errorf("events %+v", again)
	}
	d.hold(out, m, 0, 0)
	l.wantOrder(0, 20)
	until(t, "low", func() bool {
		e := d.events(1)
		return e[len(e)-1].mark == markLow
	})
}

// An event has the label that arrived, whatever an entry wrote over it.
func TestEventsHaveTheLabelThatArrived(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(withQueues)
	table := d.id("create table ACL_STAGE=INGRESS FIELD_L4_SRC_PORT=1")
	d.do("set port %s INGRESS_ACL=%s", portID(t, "in"), table)
	d.do("create entry TABLE_ID=%s %s=5", table, setLabel)
	d.setMarks(3, 3*queueFrame, queueFrame)
	for _, label := range []int{0, 9, 5} {
		var events []flowEvent
		until(t, "events", func() bool {
			l.send(30, labelled(label, 7, 26))
			l.arrivals(30)
			events = d.events(0)
			return len(events) > 0
		})
		want := fmt.Sprintf("%s>%s,%#x,0x68", netip.AddrFrom16(hostA), netip.AddrFrom16(hostB), label)
		if label == 0 {
			want = strings.Replace(want, "0x0,", "0,", 1)
		}
		if e := events[0]; e.arrival != want || e.head[3] != 5 || e.port != portID(t, "in") {
			t.Errorf("label %d: %+v, want arrival %s", label, e, want)
		}
		until(t, "an empty queue", func() bool { return len(d.flowOctets(3)) == 0 })
		d.events(0)
	}
}
