// SPDX-License-Identifier: Apache-2.0

package network

import (
	"net/netip"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/sim/topology"
	"sluice/orchagent-ext/wire/notify"
)

// dataPriority is that of RDMA traffic in PFC frames, which is the usual one.
const dataPriority = 3

// codec passes each message through its bytes, as they are on the wire: a
// receiver obeys the message that package notify decoded.
type codec struct {
	topo   *topology.Fabric // addresses of hosts
	points notify.CodePoints
	buf    []byte
	packet notify.Packet

	// The message under way, here so that it needs no allocation.
	envelope notify.Envelope
	outPFC   notify.PFC
	outCNP   notify.CNP
	outPFCM  notify.PFCM
	outRate  notify.RateAdvice
}

// newCodec returns a codec with the default code points.
func newCodec(topo *topology.Fabric) codec {
	return codec{topo: topo, points: notify.DefaultCodePoints(), buf: make([]byte, 0, 256)}
}

// pass encodes a message in the codec's envelope and decodes it; both ends are of this
// package, so that an error is a fault of the code.
func (c *codec) pass(m notify.Message) *notify.Packet {
	var err error
	if c.buf, err = notify.AppendFrame(c.buf[:0], m, &c.envelope, c.points); err == nil {
		err = c.packet.Parse(c.buf, c.points)
	}
	if err != nil {
		panic("network: a message of the simulation does not pass its codec: " + err.Error())
	}
	return &c.packet
}

// between sets the envelope for a message between two addresses.
func (c *codec) between(kind notify.Kind, from, to netip.Addr) {
	c.envelope = notify.DefaultEnvelope(kind)
	c.envelope.Src, c.envelope.Dst = from, to
}

// pfc returns a PFC frame as it arrives. Quanta of 0 resume.
func (c *codec) pfc(quanta uint16) *notify.PFC {
	c.outPFC = notify.PFC{Enable: 1 << dataPriority}
	c.outPFC.Quanta[dataPriority] = quanta
	return &c.pass(&c.outPFC).PFC
}

// cnp returns the queue pair that a CNP between two hosts is for, as it arrives.
func (c *codec) cnp(from, to int32, qp uint32) uint32 {
	c.between(notify.KindCNP, c.topo.Address(int(from)), c.topo.Address(int(to)))
	c.outCNP = notify.CNP{PKey: notify.DefaultPKey, DestQP: qp & 0xffffff}
	return c.pass(&c.outCNP).CNP.DestQP
}

// streamID is the Stream ID of the packets of a queue pair, of scope hash.
func (c *codec) streamID(q *QP) uint16 {
	return flow.HashStreamID(0, c.topo.Address(int(q.src)).As16(), c.topo.Address(int(q.dst)).As16(), q.label)
}

// nodeAddress is the link-local address of a switch.
func nodeAddress(sw int32) netip.Addr {
	return netip.AddrFrom16([16]byte{0: 0xfe, 1: 0x80, 14: byte((sw + 1) >> 8), 15: byte(sw + 1)})
}

// pfcm returns a PFCM about the packets of a queue pair, as it arrives.
func (c *codec) pfcm(q *QP, action notify.Action, us uint16) notify.PFCM {
	c.between(notify.KindPFCM, nodeAddress(0), nodeAddress(1))
	c.outPFCM = notify.PFCM{
		StreamID: c.streamID(q), QueueID: dataPriority, Action: action, Time: us,
		Source: c.topo.Address(int(q.src)), Destination: c.topo.Address(int(q.dst)),
	}
	return c.pass(&c.outPFCM).PFCM
}

// rateAdvice returns the rate of an advice to the sender of a queue pair, as it arrives; Mbit/s.
func (c *codec) rateAdvice(q *QP, id int32, mbps uint32) uint32 {
	c.between(notify.KindRateAdvice, c.topo.Address(int(q.dst)), c.topo.Address(int(q.src)))
	qp := uint32(id) & 0xffffff
	c.outRate = notify.RateAdvice{PKey: notify.DefaultPKey, DestQP: qp, Rate: mbps, Version: notify.RateAdviceVersion, DestinationQP: qp}
	return c.pass(&c.outRate).RateAdvice.Rate
}
