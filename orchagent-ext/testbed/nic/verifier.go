// SPDX-License-Identifier: Apache-2.0

package nic

import (
	"encoding/binary"
	"net/netip"

	"sluice/orchagent-ext/wire/roce"
)

// Arrival names a flow of `sluice-lab gen` where it arrives.
type Arrival struct {
	// Src is the sender's address.
	Src netip.Addr
	// DestQP is the queue pair that the flow goes to.
	DestQP uint32
	Run    uint32 // of the program: each has a number of its own
}

// Arrived has the counters of one flow at a Verifier.
type Arrived struct {
	Packets, Octets uint64 // IP packets, each once
	// Missing: numbers that did not come, from the first to the highest one that did
	Missing    uint64
	Reordered  uint64 // came behind a higher number
	Duplicates uint64 // came again

	highest uint64                // number + 1 of the newest packet
	seen    [arrivals / 64]uint64 // bits of the numbers before
}

const (
	// arrivals is how many numbers before the newest are tracked one by one. A packet that
	// is later than that counts as reordered, and stays missing. Bounds of a Verifier.
	arrivals = 1024
	// maxArrivals bounds the memory: 13 MB.
	maxArrivals = 1 << 16
	// verifiedVA is the upper half of the remote address that [Flow] writes to.
	verifiedVA = 1
)

// Verifier checks the packets of `sluice-lab gen` by flow, and acknowledges those that
// request it. It belongs to one goroutine.
type Verifier struct {
	// Flows has the counters of each flow.
	Flows   map[Arrival]*Arrived
	Packets uint64 // of them, each once
	Other   uint64 // frames of other flows
	// BadICRC counts frames with a wrong ICRC.
	BadICRC uint64
	NoRoom  uint64 // packets of flows beyond the table

	packet roce.Packet
	frames framer
}

// NewVerifier returns a verifier without flows.
func NewVerifier() *Verifier { return &Verifier{Flows: map[Arrival]*Arrived{}} }

// Receive takes a frame. It returns the frame to answer with, or nil; the answer is valid
// until the next call.
func (v *Verifier) Receive(frame []byte) (answer []byte) {
	p := &v.packet
	if p.Parse(frame, len(frame)) != nil || p.Opcode() != roce.RCWriteOnly {
		v.Other++
		return nil
	}
	stamp := stampOf(frame, p)
	reth, ok := p.RETH()
	if !ok || stamp == nil || reth.VA>>32 != verifiedVA || reth.RKey != p.DestQP() {
		v.Other++
		return nil
	}
	if got, want, ok := p.ICRC(); !ok || got != want {
		v.BadICRC++
		return nil
	}
	key := Arrival{p.Src(), p.DestQP(), uint32(reth.VA)}
	f := v.Flows[key]
	if f == nil {
		if len(v.Flows) == maxArrivals {
			v.NoRoom++
			return nil
		}
		f = &Arrived{}
		v.Flows[key] = f
	}
	before := f.Packets
	f.take(binary.BigEndian.Uint64(stamp[8:]), uint64(p.Len()))
	v.Packets += f.Packets - before
	if !p.AckReq() {
		return nil
	}
	// The queue pair that sends has the number of the one that receives.
	return v.frames.ack(frame, p, p.DestQP(), uint32(f.Packets)&counterMask)
}

// take counts packet number n.
func (f *Arrived) take(n, octets uint64) {
	word, bit := &f.seen[n%arrivals/64], uint64(1)<<(n%64)
	switch {
	case f.Packets == 0:
		f.highest = n + 1
	case n >= f.highest:
		for skipped := f.highest; skipped < n && skipped < f.highest+arrivals; skipped++ {
			f.seen[skipped%arrivals/64] &^= 1 << (skipped % 64)
		}
		f.Missing += n - f.highest
		f.highest = n + 1
	case f.highest-n > arrivals:
		f.Reordered++
	case *word&bit != 0:
		f.Duplicates++
		return
	default:
		f.Reordered++
		f.Missing = max(f.Missing, 1) - 1 // 0 where it came before the first
	}
	*word |= bit
	f.Packets++
	f.Octets += octets
}
