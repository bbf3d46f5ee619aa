package packetio

import (
	"context"

	sai "sluice/sai-shim"
)

// SAI is the source of the packets that a SAI library gives to the CPU.
type SAI struct {
	lib     *sai.Library
	packets []sai.Packet
}

// NewSAI returns the source of an open library. A library has one reader.
func NewSAI(lib *sai.Library) *SAI { return &SAI{lib: lib} }

// longest is more than any frame: IP's 65,535 octets and what stands before.
const longest = 1 << 17

// Receive implements [Source]. A library that cuts packets does not say how long
// they were: such a packet counts as long as its IP header says.
func (s *SAI) Receive(ctx context.Context, frames []Frame) (int, error) {
	if len(s.packets) < len(frames) {
		s.packets = make([]sai.Packet, len(frames))
	}
	n, err := s.lib.Packets(ctx, s.packets[:len(frames)])
	for i, p := range s.packets[:n] {
		frames[i] = Frame{Data: p.Data, Length: p.Length}
		if len(p.Data) >= sai.PacketRoom {
			frames[i].Length = longest
		}
	}
	return n, err
}

// RingFull is how many packets found the receive ring full.
func (s *SAI) RingFull() uint64 { return s.lib.PacketsLost() }
