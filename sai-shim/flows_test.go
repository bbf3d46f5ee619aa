// SPDX-License-Identifier: Apache-2.0

package sai_test

import (
	"errors"
	"net/netip"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	sai "sluice/sai-shim"
	"sluice/sai-shim/saitest"
)

// A library has the extension if it answers the handshake, and without it nothing of
// the extension is called.
func TestExtensionHandshake(t *testing.T) {
	library := saitest.New(t)
	for _, tt := range []struct {
		name    string
		profile []string
		want    int
	}{
		{"sessions", nil, sai.ExtensionSessions},
		{"flows", []string{"EXTENSION", "2"}, sai.ExtensionFlows},
		{"later", []string{"EXTENSION", "7"}, 7},
		{"labels", []string{"EXTENSION", "1"}, sai.ExtensionLabels},
		{"none", []string{"EXTENSION", "0"}, 0},
		{"another vendor's attribute", []string{"HIDE", "SAI_SWITCH_ATTR_SLUICE_EXTENSION", "EXTENSION", "0"}, 0},
		{"no API", []string{"FAIL", "query sluice 0 -15"}, sai.ExtensionLabels},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := open(t, library, library.Profile(tt.profile...))
			if v := l.Extension(); v != tt.want {
				t.Errorf("version %d, want %d", v, tt.want)
			}
			library.Calls()
			_, watch := l.WatchFlows()
			_, flow := l.GetFlow(id(queue, 1), 1)
			_, flows := l.GetFlows(id(queue, 1), nil)
			_, stats := l.FlowStats()
			_, state := l.GetHold(id(port, 1), sai.HoldMatch{})
			for name, err := range map[string]error{
				"watch": watch, "get flow": flow, "get flows": flows, "stats": stats,
				"set hold": l.SetHold(id(port, 1), sai.HoldMatch{}, time.Second, 0), "get hold": state,
			} {
				if has := tt.want >= sai.ExtensionFlows; has && errors.Is(err, sai.ErrNotSupported) || !has && !errors.Is(err, sai.ErrNotSupported) {
					t.Errorf("%s: %v", name, err)
				}
			}
			if calls := library.Calls(); tt.want < sai.ExtensionFlows && len(calls) > 0 {
				t.Errorf("called %v", calls)
			}
		})
	}
}

// Holds reach the library as they were given, and what it answers comes back.
//
//conformance:draft-yang/maintain draft-yang/enforce
func TestHoldsReachTheLibraryAsGiven(t *testing.T) {
	library := saitest.New(t)
	l := open(t, library, library.Profile())
	library.Calls()
	six, seven := netip.MustParseAddr("2001:db8::6"), netip.MustParseAddr("2001:db8::7")
	four, five := netip.MustParseAddr("192.0.2.4"), netip.MustParseAddr("192.0.2.5")
	pair := sai.HoldMatch{Kind: sai.HoldPair, Src: four, Dst: five}
	for _, tt := range []struct {
		port sai.ObjectID
		sai.HoldMatch
		d    time.Duration
		rate uint64
		want string
	}{
		{id(port, 2), sai.HoldMatch{Kind: sai.HoldStream, Value: 0xffff}, 40 * time.Millisecond, 0, "hold port#2 STREAM 0xffff us=40000 rate=0"},
		{id(port, 2), sai.HoldMatch{Kind: sai.HoldLabel, Src: six, Dst: seven, Value: 0xfffff}, time.Nanosecond, 5, "hold port#2 LABEL 2001:db8::6>2001:db8::7 0xfffff us=1 rate=5"},
		{sai.Null, pair, time.Second, sai.RateCount, "hold null PAIR 192.0.2.4>192.0.2.5 us=1000000 rate=18446744073709551615"},
		{id(port, 1), sai.HoldMatch{Kind: sai.HoldSession, Src: six, Dst: seven, Value: 9}, -1, 0, "hold port#1 SESSION 2001:db8::6>2001:db8::7 0x9 us=0 rate=0"},
		{id(port, 1), sai.HoldMatch{Kind: sai.HoldTuple, Protocol: 17, Src: four, Dst: five, Value: 1<<16 | 4791}, time.Second, 0, "hold port#1 TUPLE 192.0.2.4>192.0.2.5 0x112b7 protocol 17 us=1000000 rate=0"},
		{id(port, 1), sai.HoldMatch{Kind: sai.HoldTuple, Protocol: 6, Src: four, Dst: five, Value: 1<<16 | 4791}, time.Second, 0, "hold port#1 TUPLE 192.0.2.4>192.0.2.5 0x112b7 protocol 6 us=1000000 rate=0"},
		{id(port, 1), sai.HoldMatch{Kind: sai.HoldClass, Value: 7}, time.Second, 0, "hold port#1 CLASS 0x7 us=1000000 rate=0"},
	} {
		if err := l.SetHold(tt.port, tt.HoldMatch, tt.d, tt.rate); err != nil {
			t.Errorf("%s: %v", tt.want, err)
		}
		if diff := cmp.Diff([]string{tt.want}, library.Calls()); diff != "" {
			t.Error(diff)
		}
	}
	state, err := l.GetHold(sai.Null, pair)
	if want := (sai.HoldState{time.Second, sai.RateCount, 1, 2, 3, 4, 5}); err != nil || state != want {
		t.Errorf("%+v, %v, want %+v", state, err, want)
	}
	if err := l.SetHold(sai.Null, pair, 0, 0); err != nil {
		t.Error(err)
	}
	if state, err := l.GetHold(sai.Null, pair); !errors.Is(err, sai.ErrNotFound) {
		t.Errorf("%+v, %v after the release", state, err)
	}
	if err := l.SetHold(id(port, 9), pair, 1, 0); !errors.Is(err, sai.ErrNotFound) || !refused(err, "set", "hold", "", "INVALID_OBJECT_ID") {
		t.Errorf("a port that is not there: %v", err)
	}
	if stats, err := l.FlowStats(); err != nil || stats != (sai.FlowStats{1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("%+v, %v", stats, err)
	}
}

// Flows of a queue are read alone and together, however many there are.
func TestFlowsOfAQueue(t *testing.T) {
	library := saitest.New(t)
	l := open(t, library, library.Profile())
	q := id(queue, 3)
	state, err := l.GetFlow(q, 7)
	if want := (sai.FlowState{7, 3007, 8, 9}); err != nil || state != want {
		t.Errorf("%+v, %v, want %+v", state, err, want)
	}
	if _, err := l.GetFlow(q, 101); !errors.Is(err, sai.ErrNotFound) {
		t.Errorf("a flow that has nothing in the queue: %v", err)
	}
	for _, room := range []int{0, 1, 99, 100, 200} {
		all, err := l.GetFlows(q, make([]sai.FlowState, 0, room))
		if err != nil || len(all) != 100 {
			t.Fatalf("room for %d: %d flows, %v", room, len(all), err)
		}
		for i, f := range all {
			if n := uint64(i + 1); f != (sai.FlowState{n, 3000 + n, n + 1, int64(n + 2)}) {
				t.Errorf("flow %d: %+v", n, f)
			}
		}
	}
}

// Marks, flow key and seed are attributes of queue and switch; low is below high at
// each step.
func TestFlowAttributes(t *testing.T) {
	library := saitest.New(t)
	l := open(t, library, library.Profile())
	library.Calls()
	if err := errors.Join(l.SetQueueMarks(id(queue, 2), 1000, 800), l.SetFlowKey(sai.FlowKeyFiveTuple), l.SetStreamSeed(1<<31)); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"set queue#2 FLOW_MONITOR_LOW=0", "set queue#2 FLOW_MONITOR_HIGH=1000", "set queue#2 FLOW_MONITOR_LOW=800",
		"set switch#1 FLOW_KEY=1", "set switch#1 STREAM_SEED=2147483648",
	}
	if diff := cmp.Diff(want, library.Calls()); diff != "" {
		t.Error(diff)
	}
}

// readable reports whether a descriptor can be read within patience.
func readable(t *testing.T, fd int, patience time.Duration) bool {
	t.Helper()
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(patience.Milliseconds()))
		if !errors.Is(err, unix.EINTR) {
			return n == 1 && err == nil
		}
	}
}

// Events come in order and whole, and their descriptor can be read as long as one
// waits. What finds the ring full is counted.
func TestFlowEvents(t *testing.T) {
	const raised, ring = 5000, 4096
	library := saitest.New(t)
	l := open(t, library, library.Profile("EVENTS", "5000"))
	fd, err := l.WatchFlows()
	if err != nil {
		t.Fatal(err)
	}
	if readable(t, fd, 0) {
		t.Error("the descriptor can be read before an event")
	}
	q := id(queue, 5)
	if err := l.SetQueueMarks(q, 1000, 0); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; {
		if _, lost := l.ReadFlowEvents(nil); lost == raised-ring {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("%d lost, want %d", lost, raised-ring)
		}
	}
	burst := make([]sai.FlowEvent, 100)
	for got := uint64(0); got < ring; {
		if !readable(t, fd, patience) {
			t.Fatalf("the descriptor cannot be read after %d events", got)
		}
		n, lost := l.ReadFlowEvents(burst)
		if n == 0 || lost != raised-ring {
			t.Fatalf("%d events and %d lost after %d", n, lost, got)
		}
		for _, e := range burst[:n] {
			want := sai.FlowEvent{
				Queue: q, InPort: sai.ObjectID(got), Flow: got + 1, Octets: got + 2, At: int64(got + 3),
				Mark: sai.FlowMark(got % 3), Length: uint8(got % (sai.FlowHead + 1)),
				Arrival: sai.Arrival{
					Known: got%2 == 1, TrafficClass: uint8(got), FlowLabel: uint32(got + 4),
					Src: eventAddress(got%2 == 1, got+5), Dst: eventAddress(got%2 == 1, got+6),
				},
				Session: sai.Session{
					Protocol: uint8(got + 7), RoCEv2: got%3 == 0, BTHOctet: uint8(got + 8), SrcPort: uint16(got + 9), DstPort: uint16(got + 10),
					PKey: uint16(got + 11), DestQP: uint32(got + 12), SrcQP: uint32(got + 13),
					Src: eventAddress(got%4 == 0, got+14), Dst: eventAddress(got%4 == 0, got+15),
				},
			}
			for i := range want.Head {
				want.Head[i] = byte(int(got) + i)
			}
			if e != want {
				t.Fatalf("event %+v, want %+v", e, want)
			}
			got++
		}
	}
	if n, _ := l.ReadFlowEvents(burst); n != 0 || readable(t, fd, 0) {
		t.Errorf("%d events of an empty ring, or its descriptor can be read", n)
	}
}

// eventAddress is the address n of the events of the test library.
func eventAddress(v6 bool, n uint64) sai.Address {
	if v6 {
		return sai.AddressOf(netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 14: byte(n >> 8), 15: byte(n)}))
	}
	return sai.AddressOf(netip.AddrFrom4([4]byte{192, 0, 2, byte(n)}))
}

// A library of version 2 raises events without arrival: the header that leaves is taken for
// it, with the label that arrived; where that is lost the arrival is not known. Its tuples
// are of UDP.
//
//conformance:draft-yang/addresses
func TestFlowEventsOfVersion2(t *testing.T) {
	const raised = 500
	library := saitest.New(t)
	l := open(t, library, library.Profile("EVENTS", "500", "EXTENSION", "2"))
	fd, err := l.WatchFlows()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.SetQueueMarks(id(queue, 5), 1000, 0); err != nil {
		t.Fatal(err)
	}
	burst, known := make([]sai.FlowEvent, raised), 0
	for got := uint64(0); got < raised; {
		if !readable(t, fd, patience) {
			t.Fatalf("the descriptor cannot be read after %d events", got)
		}
		n, _ := l.ReadFlowEvents(burst)
		for _, e := range burst[:n] {
			v6, relabelled := got%2 == 1, got/2%3
			want := sai.Arrival{}
			if relabelled != 2 && (v6 && e.Length >= 40 || !v6 && e.Length >= 20) {
				want = sai.Arrival{Known: true, TrafficClass: 0xab, Src: eventAddress(v6, got), Dst: eventAddress(v6, got+1)}
				if v6 && relabelled == 0 {
					want.FlowLabel = 0xfedcb
				}
				known++
			}
			if e.Arrival != want || e.Session != (sai.Session{}) || e.InPort != sai.ObjectID(got) || e.Length != uint8(got%97) || e.Mark != sai.FlowMark(got%3) {
				t.Fatalf("event %d: %+v, want arrival %+v", got, e, want)
			}
			got++
		}
	}
	if known < raised/3 {
		t.Errorf("%d arrivals are known", known)
	}
	library.Calls()
	tuple := sai.HoldMatch{Kind: sai.HoldTuple, Protocol: 6, Src: netip.MustParseAddr("192.0.2.4"), Dst: netip.MustParseAddr("192.0.2.5")}
	if err := l.SetHold(id(port, 1), tuple, time.Second, 0); !errors.Is(err, sai.ErrNotSupported) || len(library.Calls()) > 0 {
		t.Errorf("a tuple of TCP: %v", err)
	}
	if tuple.Protocol = 17; l.SetHold(id(port, 1), tuple, time.Second, 0) != nil {
		t.Error("a tuple of UDP is refused")
	}
}

// The calls of flow control allocate nothing, and may come from any goroutine at any
// time.
func TestFastCalls(t *testing.T) {
	library := saitest.New(t)
	l := open(t, library, library.Profile())
	m := sai.HoldMatch{Kind: sai.HoldLabel, Src: netip.MustParseAddr("2001:db8::6"), Dst: netip.MustParseAddr("2001:db8::7"), Value: 1}
	events, flows := make([]sai.FlowEvent, 8), make([]sai.FlowState, 128)
	calls := func() {
		_ = l.SetHold(id(port, 1), m, time.Second, 0)
		_, _ = l.GetHold(id(port, 1), m)
		_, _ = l.GetHold(id(port, 2), m) // there is none
		_, _ = l.GetFlow(id(queue, 1), 1)
		_, _ = l.GetFlow(id(queue, 1), 101) // likewise
		_, _ = l.GetFlows(id(queue, 1), flows)
		_, _ = l.FlowStats()
		_, _ = l.ReadFlowEvents(events)
	}
	if n := testing.AllocsPerRun(100, calls); n != 0 {
		t.Errorf("%v allocations", n)
	}
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			for range 200 {
				if err := l.SetHold(id(port, 1), m, time.Second, 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 200 {
		if err := l.SetStreamSeed(1); err != nil {
			t.Error(err)
		}
	}
	wait.Wait()
}

// Structs that are copied as they are have the layout of sai_sluice_ext.h.
func TestFlowLayouts(t *testing.T) {
	var e sai.FlowEvent
	for name, got := range map[string][2]uintptr{
		"arrival": {unsafe.Offsetof(e.Arrival), 40}, "session": {unsafe.Offsetof(e.Session), 88},
		"mark": {unsafe.Offsetof(e.Mark), 148}, "length": {unsafe.Offsetof(e.Length), 149},
		"head": {unsafe.Offsetof(e.Head), 150}, "size": {unsafe.Sizeof(e), 248},
	} {
		if got[0] != got[1] {
			t.Errorf("%s at %d, want %d", name, got[0], got[1])
		}
	}
}
