// SPDX-License-Identifier: Apache-2.0

package sai

// #cgo nocallback shim_set_hold
// #cgo nocallback shim_get_hold
// #include "shim.h"
import "C"

import (
	"encoding/binary"
	"math"
	"net/netip"
	"time"
)

// HoldKind is the kind of fields by which a hold finds packets. A hold is identified by
// its port and its whole match: holds of two kinds can hold one packet.
type HoldKind uint8

// The kinds, with the fields of a [HoldMatch] that each uses.
const (
	// Value: Stream ID, by the seed of SetStreamSeed; IPv6 Src and Dst: packets with these alone, where
	// the library is one that reads them
	HoldStream  HoldKind = C.SAI_SLUICE_MATCH_STREAM
	HoldLabel   HoldKind = C.SAI_SLUICE_MATCH_LABEL   // Src, Dst, Value: flow label
	HoldPair    HoldKind = C.SAI_SLUICE_MATCH_PAIR    // Src, Dst
	HoldSession HoldKind = C.SAI_SLUICE_MATCH_SESSION // Src, Dst of the session, Value: DestQP
	// Src, Dst of the session, Protocol, Value: source port << 16 | destination port
	HoldTuple HoldKind = C.SAI_SLUICE_MATCH_TUPLE
	// Value: IEEE 802.1Qbb priority, which is the queue's index
	HoldClass HoldKind = C.SAI_SLUICE_MATCH_CLASS
)

// HoldMatch has the fields that a hold matches, of packets as they leave by its port. Src
// and Dst are of one family: those of the outermost header, or of the session, which is
// the innermost packet. A library of version [ExtensionFlows] takes those of the
// outermost header for the session's, and refuses a tuple of another protocol than UDP.
type HoldMatch struct {
	Kind     HoldKind
	Protocol uint8 // of a tuple: 6 (TCP) or 17 (UDP)
	Value    uint32
	Src, Dst netip.Addr
}

// RateCount as rate of [Library.SetHold] lets all packets pass, and counts their octets.
const RateCount = math.MaxUint64

// SetHold holds packets that match and leave by the port for d, or lets them pass at a
// rate in bit/s; rate 0 stops them, [RateCount] passes all. Port Null is any port. Set
// again it refreshes; d 0 releases. The switch ends it by itself. It may be called beside
// all other calls, by any goroutine, and allocates only errors.
func (l *Library) SetHold(port ObjectID, m HoldMatch, d time.Duration, rate uint64) error {
	// A time below the switch's resolution of 1 µs must not become 0, which is a release.
	us := max(d, 0) / time.Microsecond
	if d > 0 && us == 0 {
		us = 1
	}
	token := l.watcher.Calling(&callSetHold)
	return l.answer(token, &callSetHold, C.shim_set_hold(l.shim, C.uint64_t(port), m.shim(), C.uint64_t(us), C.uint64_t(rate)))
}

// HoldState has the counters of a hold.
type HoldState struct {
	Remaining       time.Duration // until the switch ends it by itself
	Rate            uint64        // bit/s, as set
	Octets, Packets uint64        // that matched since it was set first
	// that wait now, also when the hold is over and they drain
	WaitingOctets, WaitingPackets uint64
	// refused, since too much waited already: in the hold, with [RateCount] in the queue
	DroppedPackets uint64
}

// GetHold reads the counters of a hold; the error is [ErrNotFound] once it is over and
// drained. It may be called beside all other calls, and allocates only errors other than
// that.
func (l *Library) GetHold(port ObjectID, m HoldMatch) (HoldState, error) {
	token := l.watcher.Calling(&callGetHold)
	h := C.shim_get_hold(l.shim, C.uint64_t(port), m.shim())
	if h.status == C.SAI_STATUS_ITEM_NOT_FOUND {
		l.watcher.Called(token, &callGetHold, Status(h.status))
		return HoldState{}, errNoHold
	}
	if err := l.answer(token, &callGetHold, h.status); err != nil {
		return HoldState{}, err
	}
	return HoldState{
		Remaining: time.Duration(h.hold.remaining_us) * time.Microsecond, Rate: uint64(h.hold.rate),
		Octets: uint64(h.hold.octets), Packets: uint64(h.hold.packets),
		WaitingOctets: uint64(h.hold.waiting_octets), WaitingPackets: uint64(h.hold.waiting_packets),
		DroppedPackets: uint64(h.hold.dropped_packets),
	}, nil
}

// shim returns the match as C has it. One IPv6 address makes the match IPv6; a kind
// without addresses has those of IPv4, all 0.
func (m *HoldMatch) shim() (s C.struct_shim_match) {
	s._type, s.value = C.uint32_t(m.Kind), C.uint32_t(m.Value)
	s.ipv6 = C.bool(m.Src.Is6() || m.Dst.Is6())
	s.protocol = C.uint8_t(m.Protocol)
	s.source, s.destination = words(m.Src), words(m.Dst)
	return s
}

// words are the octets of an address; an IPv4 one fills the first 4. They are in network
// byte order as in the packet: two words carry them by value, so that a hold costs no
// allocation.
func words(a netip.Addr) (w [2]C.uint64_t) {
	var b [16]byte
	if a.Is4() {
		four := a.As4()
		copy(b[:], four[:])
	} else if a.IsValid() {
		b = a.As16()
	}
	return [2]C.uint64_t{C.uint64_t(binary.NativeEndian.Uint64(b[:8])), C.uint64_t(binary.NativeEndian.Uint64(b[8:]))}
}
