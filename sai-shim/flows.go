// SPDX-License-Identifier: Apache-2.0

package sai

// #cgo noescape shim_flow_events_take
// #cgo nocallback shim_flow_events_take
// #cgo noescape shim_get_flows
// #cgo nocallback shim_get_flows
// #cgo nocallback shim_get_flow
// #cgo nocallback shim_get_flow_stats
// #include "shim.h"
import "C"

import (
	"net/netip"
	"unsafe"

	"sluice/sai-shim/saiattr"
)

// Versions of the extension (sai_sluice_ext.h). Each includes the ones before.
const (
	ExtensionLabels = C.SAI_SLUICE_VERSION_LABELS // ACL actions that write the flow label
	ExtensionFlows  = C.SAI_SLUICE_VERSION_FLOWS  // marks on queues, flow events, holds
	// packets as they arrived, sessions in tunnels, protocols
	ExtensionSessions = C.SAI_SLUICE_VERSION_SESSIONS
)

// Extension is the version of the library's extension, 0 without one. It is known once
// the switch is created.
func (l *Library) Extension() (version int) { return l.extension }

// FlowMark is a mark that a flow in a queue passed.
type FlowMark uint8

// The marks. MarkAlarm is the larger of low and 80 % of high.
const (
	MarkLow   FlowMark = C.SAI_SLUICE_FLOW_MARK_LOW   // downwards
	MarkAlarm FlowMark = C.SAI_SLUICE_FLOW_MARK_ALARM // upwards
	MarkHigh  FlowMark = C.SAI_SLUICE_FLOW_MARK_HIGH  // upwards, and again every 2 ms above it
)

// FlowHead is how many octets of a packet a flow event has at most.
const FlowHead = C.SAI_SLUICE_HEAD

// Address is an IP address as a library gives it. Its layout is that of
// sai_ip_address_t.
type Address struct {
	family int32 // 0: IPv4, 1: IPv6
	octets [16]byte
}

// AddressOf returns an address as a library would give it. An IPv4 address fills the
// first 4 octets; one mapped into IPv6 stays IPv6.
func AddressOf(a netip.Addr) (s Address) {
	if a.Is4() {
		four := a.As4()
		copy(s.octets[:], four[:])
		return s
	}
	return Address{1, a.As16()}
}

// Addr returns the address. Any family other than 0 is read as IPv6, so the result is
// always valid.
func (a *Address) Addr() netip.Addr {
	if a.family == 0 {
		return netip.AddrFrom4([4]byte(a.octets[:4]))
	}
	return netip.AddrFrom16(a.octets)
}

// Arrival is the outermost IP header of a packet as it arrived: before a label was
// written, a segment was taken, or a tunnel began or ended. Its layout is that of
// sai_sluice_arrival_t.
type Arrival struct {
	Known        bool // false: the switch does not know; the rest is 0
	TrafficClass uint8
	_            uint16
	FlowLabel    uint32 // 20 bits; IPv4: 0
	Src, Dst     Address
}

// Session is the innermost packet that a switch read. Its layout is that of
// sai_sluice_session_t.
type Session struct {
	Protocol         uint8 // 6 (TCP), 17 (UDP); 0: neither
	RoCEv2           bool  // what follows the ports is known
	BTHOctet         uint8 // octet 4 of the BTH
	_                uint8
	SrcPort, DstPort uint16
	PKey             uint16
	_                uint16
	DestQP           uint32
	SrcQP            uint32 // of a datagram; 0: the packet does not carry it
	Src, Dst         Address
}

// FlowEvent reports that a flow passed a mark. Its layout is that of
// sai_sluice_flow_event_t.
type FlowEvent struct {
	Queue   ObjectID // egress queue
	InPort  ObjectID // that the packet came in by; Null: unknown, or the switch's own
	Flow    uint64   // names the flow in [Library.GetFlow], above 0
	Octets  uint64   // of the flow in the queue then
	At      int64    // ns, CLOCK_MONOTONIC
	Arrival Arrival
	Session Session // a library of version [ExtensionFlows] leaves it 0
	Mark    FlowMark
	Length  uint8 // octets of Head; 0 with MarkLow where no packet is at hand
	// of the packet that passed the mark, from the IP header on, as it leaves
	Head [FlowHead]byte
}

// Events are copied from C into Go as they are.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(Arrival{})-C.sizeof_sai_sluice_arrival_t]
	_ = [1]struct{}{}[unsafe.Sizeof(Session{})-C.sizeof_sai_sluice_session_t]
	_ = [1]struct{}{}[unsafe.Sizeof(FlowEvent{})-C.sizeof_sai_sluice_flow_event_t]
)

// WatchFlows lets the library raise flow events. fd is an eventfd that can be read while
// events wait; it is closed with the library, and the caller only polls it.
func (l *Library) WatchFlows() (fd int, err error) {
	var v C.int
	if err := l.begin(); err != nil {
		return -1, err
	}
	defer l.end()
	l.enter("set", saiattr.Switch.Name+" flow events", l.Switch)
	err = l.check(Status(C.shim_watch_flows(l.shim, &v)))
	return int(v), err
}

// ReadFlowEvents takes the events that wait, up to len(dst), and returns at once. lost is
// how many found the queue full since Open. It may be called beside all other calls, by
// one goroutine, and is free of allocations.
func (l *Library) ReadFlowEvents(dst []FlowEvent) (n int, lost uint64) {
	var missed C.uint64_t
	n = int(C.shim_flow_events_take(l.shim, (*C.sai_sluice_flow_event_t)(unsafe.Pointer(unsafe.SliceData(dst))), C.int(len(dst)), &missed))
	return n, uint64(missed)
}

// FlowKey is the set of fields that packets of one flow share. RoCEv2's DestQP belongs to
// both.
type FlowKey int32

// The keys.
const (
	// source, destination, flow label; IPv4: FlowKeyFiveTuple
	FlowKeyLabel FlowKey = C.SAI_SLUICE_FLOW_KEY_FLOW_LABEL
	// source, destination, protocol, ports
	FlowKeyFiveTuple FlowKey = C.SAI_SLUICE_FLOW_KEY_FIVE_TUPLE
)

// SetFlowKey sets the fields that packets of one flow share. It is an attribute of the
// switch, and [ErrNotSupported] below version [ExtensionFlows].
func (l *Library) SetFlowKey(key FlowKey) error {
	return l.Set(saiattr.Switch, l.Switch, saiattr.SwitchFlowKey.Of(uint64(key)))
}

// SetStreamSeed sets the seed of the Stream IDs by which [HoldStream] finds packets. Both
// ends of a link need the same seed; 0 is a seed like any other.
func (l *Library) SetStreamSeed(seed uint32) error {
	return l.Set(saiattr.Switch, l.Switch, saiattr.SwitchStreamSeed.Of(uint64(seed)))
}

// SetQueueMarks sets the marks of each single flow in a queue, in octets. Low is below
// high; 0 is half of high. High 0 ends the monitoring there.
func (l *Library) SetQueueMarks(queue ObjectID, high, low uint32) error {
	// Low is below high after each step.
	for _, v := range []saiattr.Value{saiattr.QueueLow.Of(0), saiattr.QueueHigh.Of(uint64(high)), saiattr.QueueLow.Of(uint64(low))} {
		if err := l.Set(saiattr.Queue, queue, v); err != nil {
			return err
		}
	}
	return nil
}

// FlowState is a flow in a queue. Its layout is that of sai_sluice_flow_t.
type FlowState struct {
	Flow     uint64
	Octets   uint64 // in the queue now
	Departed uint64 // octets that left the queue since the flow became backlogged
	At       int64  // of the reading: ns, CLOCK_MONOTONIC
}

var _ = [1]struct{}{}[unsafe.Sizeof(FlowState{})-C.sizeof_sai_sluice_flow_t]

// Errors of frequent answers are made once, to save allocations.
var (
	errNoFlow = &Error{Call: "get", Object: "flow", Status: C.SAI_STATUS_ITEM_NOT_FOUND}
	errNoHold = &Error{Call: "get", Object: "hold", Status: C.SAI_STATUS_ITEM_NOT_FOUND}
)

// GetFlow reads one flow in a queue; the error is [ErrNotFound] for a flow without octets
// there. It may be called beside all other calls, and allocates only errors other than
// that.
func (l *Library) GetFlow(queue ObjectID, flow uint64) (FlowState, error) {
	token := l.watcher.Calling(&callGetFlow)
	f := C.shim_get_flow(l.shim, C.uint64_t(queue), C.uint64_t(flow))
	if f.status == C.SAI_STATUS_ITEM_NOT_FOUND {
		l.watcher.Called(token, &callGetFlow, Status(f.status))
		return FlowState{}, errNoFlow
	}
	if err := l.answer(token, &callGetFlow, f.status); err != nil {
		return FlowState{}, err
	}
	return *(*FlowState)(unsafe.Pointer(&f.flow)), nil
}

// GetFlows reads all flows of a queue into dst, which grows as it must. It may be
// called beside all other calls.
func (l *Library) GetFlows(queue ObjectID, dst []FlowState) ([]FlowState, error) {
	dst = dst[:cap(dst)]
	for {
		n := C.uint32_t(len(dst))
		token := l.watcher.Calling(&callGetFlows)
		status := C.shim_get_flows(l.shim, C.uint64_t(queue), (*C.sai_sluice_flow_t)(unsafe.Pointer(unsafe.SliceData(dst))), &n)
		if status == C.SAI_STATUS_BUFFER_OVERFLOW && int(n) > len(dst) {
			l.watcher.Called(token, &callGetFlows, Status(status))
			dst = make([]FlowState, n+n/8) // more may come meanwhile
			continue
		}
		if err := l.answer(token, &callGetFlows, status); err != nil {
			return dst[:0], err
		}
		return dst[:min(int(n), len(dst))], nil
	}
}

// FlowStats counts since the switch was created. Its layout is that of
// sai_sluice_flow_stats_t.
type FlowStats struct {
	Events        uint64 // raised
	EventsLost    uint64 // lack of room in the switch
	Unmonitored   uint64 // packets of flows for which there was lack of room
	HeldPackets   uint64 // that waited because of a hold
	HoldQueueFull uint64 // packets refused since too much waited already
	// packets that waited when their process was killed; also those of processes before
	HoldQueueLost uint64
	// packets that waited while their process was frozen, and were dropped when it went on
	HoldQueueStale uint64
	// packets that a hold matched and that went on, since nothing could be held then
	HoldQueuePassed uint64
}

var _ = [1]struct{}{}[unsafe.Sizeof(FlowStats{})-C.sizeof_sai_sluice_flow_stats_t]

// FlowStats reads the counters. It may be called beside all other calls. It is free of
// allocations but for errors.
func (l *Library) FlowStats() (FlowStats, error) {
	token := l.watcher.Calling(&callFlowStats)
	f := C.shim_get_flow_stats(l.shim)
	if err := l.answer(token, &callFlowStats, f.status); err != nil {
		return FlowStats{}, err
	}
	return *(*FlowStats)(unsafe.Pointer(&f.stats)), nil
}

// The calls of the extension's API: calls from any goroutine, free of allocations, need
// one of each.
var (
	callSetHold   = Call{Name: "set", Object: "hold"}
	callGetHold   = Call{Name: "get", Object: "hold"}
	callGetFlow   = Call{Name: "get", Object: "flow"}
	callGetFlows  = Call{Name: "get", Object: "flows"}
	callFlowStats = Call{Name: "get", Object: "flow stats"}
)

// answer ends a call of the extension's API, and makes an error of its status. Unlike
// check it is for any goroutine.
func (l *Library) answer(token int, c *Call, status C.sai_status_t) error {
	l.watcher.Called(token, c, Status(status))
	if status == C.SAI_STATUS_SUCCESS {
		return nil
	}
	return &Error{Call: c.Name, Object: c.Object, Status: Status(status)}
}
