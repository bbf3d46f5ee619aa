// SPDX-License-Identifier: Apache-2.0

package nic

import (
	"encoding/binary"
	"time"

	"sluice/orchagent-ext/wire/roce"
)

// Received has the counters of one flow at a Receiver.
type Received struct {
	Packets, Octets uint64 // IP packets; late and repeated ones included
	// Missing: numbers that did not come, below the highest one that did
	Missing   uint64
	Reordered uint64  // came behind a higher number
	Highest   uint64  // number + 1 of the newest packet
	Bins      []int64 // octets by time since the start, a bin each
	Latency   []int64 // ns from the offer to the arrival, of each packet
}

// Receiver counts arrivals by DestQP. It belongs to one goroutine.
type Receiver struct {
	// Flows has the counters by DestQP.
	Flows   map[uint32]*Received
	Foreign uint64 // frames of other flows
	// BadICRC counts frames with a wrong ICRC.
	BadICRC uint64
	// Answers: DestQP → SrcQP of the flows that are connected by RDMA-CM and acknowledged,
	// each 8th packet
	Answers map[uint32]uint32

	start  int64 // ns since 1970
	bin    time.Duration
	packet roce.Packet
	frames framer
}

// answerEvery is the number of packets of a flow for one acknowledgement, as adapters
// coalesce them.
const answerEvery = 8

// NewReceiver expects the flows with these destination queue pairs. start (ns since
// 1970) is where the bins begin.
func NewReceiver(start int64, bin time.Duration, destQPs ...uint32) *Receiver {
	r := &Receiver{Flows: map[uint32]*Received{}, start: start, bin: bin}
	for _, qp := range destQPs {
		r.Flows[qp] = &Received{}
	}
	return r
}

// Receive takes a frame that arrived at a time (ns since 1970). It returns the frame to
// answer with, or nil; the answer is valid until the next call.
func (r *Receiver) Receive(at int64, frame []byte) (answer []byte) {
	var f *Received
	var stamp []byte
	if r.packet.Parse(frame, len(frame)) == nil {
		if m, ok := r.packet.CM(); ok && m.Attribute == roce.CMReq {
			return r.connect(frame, m)
		}
		if stamp = stampOf(frame, &r.packet); stamp != nil {
			f = r.Flows[r.packet.DestQP()]
		}
	}
	if f == nil {
		r.Foreign++
		return nil
	}
	if got, want, ok := r.packet.ICRC(); !ok || got != want {
		r.BadICRC++
		return nil
	}
	offered, n := int64(binary.BigEndian.Uint64(stamp)), binary.BigEndian.Uint64(stamp[8:])
	f.Packets++
	octets := uint64(len(frame) - ethernetLen)
	f.Octets += octets
	if n < f.Highest {
		f.Reordered++
		f.Missing = max(f.Missing, 1) - 1
	} else {
		f.Missing += n - f.Highest
		f.Highest = n + 1
	}
	f.Latency = append(f.Latency, at-offered)
	if bin := int((at - r.start) / int64(r.bin)); bin >= 0 {
		for len(f.Bins) <= bin {
			f.Bins = append(f.Bins, 0)
		}
		f.Bins[bin] += int64(octets)
	}
	if qp, ok := r.Answers[r.packet.DestQP()]; ok && n%answerEvery == answerEvery-1 {
		return r.frames.ack(frame, &r.packet, qp, r.packet.PSN())
	}
	return nil
}

// connect answers the request of RDMA-CM in a frame, for the flow that the queue pair in it
// sends.
func (r *Receiver) connect(frame []byte, m roce.CM) []byte {
	for dest, source := range r.Answers {
		if source == m.LocalQPN {
			b := r.frames.back(frame, &r.packet)
			b = roce.BTH{Opcode: roce.UDSendOnly, PKey: r.packet.PKey(), DestQP: 1}.Append(b)
			return r.frames.finish(roce.CM{Attribute: roce.CMRep, LocalCommID: commB | dest, RemoteCommID: m.LocalCommID, LocalQPN: dest}.Append(b))
		}
	}
	return nil
}
