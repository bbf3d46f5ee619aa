// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"context"
	"errors"
	"slices"
)

// HashStreamID returns the Stream ID of scope "hash": the low 16 bits of the
// CRC-32 of IEEE 802.3 over seed (4 octets), source, destination and flow label
// (3 octets, right-aligned) of the packet as the upstream node sent it. 0, which
// names no stream, becomes 1.
//
// Decision: draft-yang leaves open how a receiver finds the flow of a Stream
// ID. Both ends of a hop compute this one from the packet alone.
//
//conformance:draft-yang/by-label draft-yang/allocate draft-yang/scope
func HashStreamID(seed uint32, src, dst [16]byte, label uint32) uint16 {
	crc := uint32(0xffffffff)
	step := func(b byte) { crc = ieeeTable[byte(crc)^b] ^ crc>>8 }
	for shift := 24; shift >= 0; shift -= 8 {
		step(byte(seed >> shift))
	}
	for _, b := range src {
		step(b)
	}
	for _, b := range dst {
		step(b)
	}
	for shift := 16; shift >= 0; shift -= 8 {
		step(byte(label >> shift))
	}
	return max(uint16(^crc), 1)
}

// Allocator gives flows Stream IDs that it keeps apart: within this node (scope
// "local", [LocalStreamIDs]) or within a domain (scope "global").
type Allocator interface {
	// Allocate returns the flow's Stream ID; a flow that is new gets one.
	Allocate(ctx context.Context, k Key) (uint16, error)
	// Release gives the flow's Stream ID back, if it has one.
	Release(k Key)
}

// ErrNoStreamID is the error when all 65,535 Stream IDs are in use.
var ErrNoStreamID = errors.New("flow: all 65535 stream ids are in use")

// LocalStreamIDs allots Stream IDs that only this node's peers understand. The
// one released longest ago is used first, so that a late message about an ended
// flow rarely hits a new one. It is not safe for concurrent use.
type LocalStreamIDs struct {
	ids  map[Key]uint16
	next uint16   // first unused id; 0: all were used
	free []uint16 // released, the oldest first
}

// NewLocalStreamIDs returns an allocator with every id free. There are 65535 of them,
// from 1 on.
func NewLocalStreamIDs() *LocalStreamIDs { return &LocalStreamIDs{ids: map[Key]uint16{}, next: 1} }

// Allocate returns the flow's id, or [ErrNoStreamID].
//
//conformance:draft-yang/allocate
func (l *LocalStreamIDs) Allocate(_ context.Context, k Key) (uint16, error) {
	id, ok := l.ids[k]
	switch {
	case ok:
		return id, nil
	case l.next != 0:
		id = l.next
		l.next++ // wraps to 0 behind 65535
	case len(l.free) > 0:
		id, l.free = l.free[0], l.free[1:]
	default:
		return 0, ErrNoStreamID
	}
	l.ids[k] = id
	return id, nil
}

// Take gives a flow the id that it had in an earlier process, and reports whether
// it has it now: false where another flow has the id, or the flow another one.
func (l *LocalStreamIDs) Take(k Key, id uint16) bool {
	if has, ok := l.ids[k]; ok || id == 0 {
		return has == id && ok
	}
	if i := slices.Index(l.free, id); i >= 0 {
		l.free = slices.Delete(l.free, i, i+1)
	} else if l.next == 0 || id < l.next {
		return false
	} else {
		for ; l.next < id; l.next++ {
			l.free = append(l.free, l.next)
		}
		l.next = id + 1 // wraps to 0 behind 65535
	}
	l.ids[k] = id
	return true
}

// Release gives the flow's id back. A flow without one is left out. The id is used again
// only after all ids that were free before.
func (l *LocalStreamIDs) Release(k Key) {
	if id, ok := l.ids[k]; ok {
		delete(l.ids, k)
		l.free = append(l.free, id)
	}
}
