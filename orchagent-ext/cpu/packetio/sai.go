// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"context"

	sai "sluice/sai-shim"
)

// SAI is the source of the packets that a SAI library gives to the CPU.
type SAI struct {
	lib     *sai.Library
	packets []sai.Packet
	ifIndex func(sai.ObjectID) uint32
	copies  func(sai.ObjectID) bool
}

// NewSAI returns the source of an open library. A library has one reader. Its ports are
// numbered by their object ids. ifIndex tells a port's interface index, 0 where it is
// unknown; copies reports whether packets with a trap are all of their kind, instead of
// samples. Both are called by the reader's goroutine.
func NewSAI(lib *sai.Library, ifIndex func(port sai.ObjectID) uint32, copies func(trap sai.ObjectID) bool) *SAI {
	return &SAI{lib: lib, ifIndex: ifIndex, copies: copies}
}

// longest is more than any frame: IP's 65,535 octets and the headers before.
const longest = 1 << 17

// Receive implements [Source]. A library that cuts packets hides their lengths: such a
// packet counts with the length in its IP header.
func (s *SAI) Receive(ctx context.Context, frames []Frame) (int, error) {
	if len(s.packets) < len(frames) {
		s.packets = make([]sai.Packet, len(frames))
	}
	n, err := s.lib.Packets(ctx, s.packets[:len(frames)], Patience)
	for i, p := range s.packets[:n] {
		frames[i] = Frame{Data: p.Data, Length: p.Length, Ingress: s.ifIndex(p.Port), From: uint64(p.Port), To: uint64(p.Egress), At: p.At}
		if p.Egress != sai.Null {
			frames[i].Egress = s.ifIndex(p.Egress)
		}
		if s.copies(p.Trap) {
			frames[i].Why = Copied
		}
		if len(p.Data) >= sai.PacketRoom {
			frames[i].Length = longest
		}
	}
	return n, err
}

// RingFull is how many packets found the receive ring full.
func (s *SAI) RingFull() uint64 { return s.lib.PacketsLost() }
