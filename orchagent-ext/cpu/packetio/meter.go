// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"math/rand/v2"

	"sluice/orchagent-ext/export/ipfix"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/roce"
)

// Metering makes a Reader account for flows, for export by IPFIX.
type Metering struct {
	ipfix.MeterConfig        // Capacity is the reader's
	Rate              uint32 // one of so many packets is sampled; 0 is 1
	// join the directions of a connection; one waits for the other for Active and Idle at most
	Biflow bool
	Export func([]ipfix.Record)
	// takes records of how connections fare, with [Config.Health]; nil: none
	Health  func([]ipfix.Health)
	Ignored *ipfix.Ignored // counts unmetered packets, or nil
}

// biflowQueue is how many records wait for those of the other direction.
const biflowQueue = 1 << 16

// metered makes the parts that account for flows. It returns the callbacks that the
// reader's table, which is made later, needs of them.
func (r *Reader) metered(c *Config) (removed func(*flow.Flow, flow.Reason)) {
	m, export := c.Metering.MeterConfig, c.Metering.Export
	m.Capacity = c.Capacity
	if c.Metering.Biflow {
		r.biflows = ipfix.NewBiflows(biflowQueue, m.Active+c.Idle, export)
		export = r.biflows.Export
	}
	r.meter = ipfix.NewMeter(m, export)
	return r.meter.Removed
}

// account accounts for a packet of a flow that the table has just observed. Where the CPU
// has every packet of a kind, though collectors expect samples of one in so many, only
// one in so many counts.
//
//conformance:draft-lin/performance
func (r *Reader) account(p *roce.Packet, f *flow.Flow, frame *Frame) {
	rate := max(1, r.config.Metering.Rate)
	switch {
	case frame.Why == Either && rare(p):
		rate++ // once for the sample that it may be besides
	case frame.Why != Copied:
		rate = 1
	}
	if rate > 1 && rand.Uint32N(rate) != 0 { // as the switch samples: each by itself
		r.meter.Skip(p, f)
		return
	}
	r.meter.Observe(p, f, frame.Ingress, frame.Egress, r.now)
}

// rare reports whether a packet is of those that the switch copies to the CPU under
// the driver orchagent, all of them: an RDMA-CM's opcode, or a CNP.
func rare(p *roce.Packet) bool {
	o := p.Opcode()
	return o == roce.UDSendOnly || o == roce.CNP
}

// lossy is a source that knows how many packets it has lost.
type lossy interface{ RingFull() uint64 }

// justLost is how many packets the source has lost since the last call.
func (r *Reader) justLost() (n uint64) {
	s, ok := r.source.(lossy)
	if !ok || r.health == nil && (r.config.Metering == nil || r.config.Metering.Ignored == nil) {
		return 0
	}
	lost := s.RingFull()
	if lost > r.lost {
		n = lost - r.lost
	}
	r.lost = lost
	return n
}

// ignored counts packets that were left out, with their octets as far as these are known.
func (r *Reader) ignored(packets, octets uint64) {
	if packets > 0 && r.config.Metering != nil && r.config.Metering.Ignored != nil {
		r.config.Metering.Ignored.Add(packets, octets, r.now)
	}
}

// flush exports the counters of all flows.
func (r *Reader) flush() {
	if r.meter != nil {
		r.meter.Flush()
	}
	if r.biflows != nil {
		r.biflows.Flush()
	}
	if r.health != nil && r.health.meter != nil {
		r.health.meter.Flush()
	}
}
