// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"cmp"
	"time"

	"sluice/orchagent-ext/export/ipfix"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/flows/health"
	"sluice/orchagent-ext/wire/roce"
)

// Health makes a Reader report the health of the connections whose packets come; see
// [Report].
type Health struct {
	// Whole means that every packet comes, instead of samples. Only then PSNs show losses
	// and repetitions.
	Whole bool

	// The source's policer: packets a second, and packets at once. It drops the excess
	// uncounted. 0: unlimited.
	Rate, Burst uint32

	// Idle: a direction without a packet for so long is not reported; 0: as [Config] has it.
	Idle time.Duration
}

const (
	healthFlows  = 4096                   // directions that are followed at once
	healthKeep   = int64(time.Minute)     // after its last packet a direction leaves for a new one
	healthBudget = 64                     // directions that are reported a burst
	healthBurst  = 2048                   // packets; see sight
	reportEvery  = int64(time.Second / 2) // a report at most
)

// FlowHealth is the health of one direction of a connection, since First. Without
// [Health.Whole] the counters that come from PSNs, and figures derived from them, are 0.
type FlowHealth struct {
	health.Key // of the session
	health.Counters
	SrcQP         uint32
	SrcQPFrom     flow.Provenance // flow.None: unknown
	FlowLabel     uint32          // of the last packet
	SrcPort       uint16
	In, Out       uint64  // ports of the last packet, as the source numbers them; 0: unknown
	First, Last   int64   // ns since 1970
	Goodput       float64 // bit/s; 0: unknown
	Messages      uint64
	MessageMedian uint64 // octets
	MessageP99    uint64
}

// Report is how connections fare.
type Report struct{ Flows []FlowHealth }

// healthReader is the part of a reader that follows connections.
type healthReader struct {
	table *health.Table
	whole bool
	sight sight
	idle  int64
	meter *ipfix.HealthMeter // nil: export of health is off

	reports handover[Report]
	filling *Report // nil: unwanted
	next    int     // direction
	at      int64   // when the last one was done, ns
}

// newHealthReader returns the part of a reader that follows connections. It takes the memory that each
// of them needs here, and what only some need when they do.
func newHealthReader(c *Config) *healthReader {
	of := health.Config{Capacity: healthFlows, Keep: healthKeep, Reserve: c.Capacity, Untimed: true}
	h := &healthReader{
		whole: c.Health.Whole, sight: newSight(c.Health.Rate, c.Health.Burst), idle: int64(cmp.Or(c.Health.Idle, c.Idle)), reports: newHandover[Report](),
	}
	if m := c.Metering; m != nil && m.Health != nil {
		h.meter = ipfix.NewHealthMeter(ipfix.HealthConfig{Active: m.Active, Whole: c.Health.Whole}, m.Health)
		of.Removed = h.meter.Removed
	}
	h.table = health.NewTable(of)
	if h.meter != nil {
		h.meter.Follow(h.table)
	}
	return h
}

// tell passes directions to the report and the meter, at most budget of them a call.
func (h *healthReader) tell(now int64, budget int) {
	h.fill(now, budget)
	if h.meter != nil {
		h.meter.Tick(now, budget)
	}
}

// observe follows a packet of a flow. Where the table is full, a flow tries again at its
// second, fourth, eighth… packet.
func (h *healthReader) observe(p *roce.Packet, f *flow.Flow, frame *Frame, qp uint32, from flow.Provenance, now int64) {
	if !h.table.Follows(f.Slot()) && f.Packets&(f.Packets-1) != 0 {
		return
	}
	h.table.Observe(p, health.Seen{
		Time: now, SrcQP: qp, From: from, Slot: f.Slot(), In: frame.From, Out: frame.To,
		Part: !h.whole || h.sight.blind || frame.Why != Sampled,
	})
}

// fill adds to the report that is asked for, and hands it over when it is whole.
func (h *healthReader) fill(now int64, budget int) {
	if h.filling == nil {
		if since := now - h.at; since >= 0 && since < reportEvery {
			return
		}
		if h.filling = h.reports.wanted(); h.filling == nil {
			return
		}
		h.next, h.filling.Flows = 0, h.filling.Flows[:0]
	}
	for range budget {
		d := h.table.At(h.next)
		if d == nil {
			h.reports.hand(h.filling)
			h.filling, h.at = nil, now
			return
		}
		h.next++
		// a last packet that is idle time or more ahead of now came before the clock was set back
		if since := now - d.Last; -h.idle < since && since < h.idle {
			h.filling.Flows = append(h.filling.Flows, flowHealth(d))
		}
	}
}

// flowHealth returns the health of a direction for the report.
func flowHealth(d *health.Direction) FlowHealth {
	f := FlowHealth{
		Key: d.Key, Counters: d.Counters, SrcQP: d.Source, SrcQPFrom: d.From, FlowLabel: d.Label, SrcPort: d.SrcPort,
		In: d.In, Out: d.Out, First: d.First, Last: d.Last,
	}
	if rate, ok := d.Goodput(); ok {
		f.Goodput = rate
	}
	if m := d.Sizes(); m != nil {
		f.Messages, f.MessageMedian, f.MessageP99 = m.Count, m.Quantile(0.5), m.Quantile(0.99)
	}
	return f
}

// Report returns the last report, which is valid until the next call; nil before the
// first one, and for a reader without [Health]. One goroutine calls it.
func (r *Reader) Report() *Report {
	if r.health == nil {
		return nil
	}
	return r.health.reports.last()
}

// sight reports whether the reader sees every packet. The source polices packets and
// hides its drops. So the reader counts the stream as incomplete while more comes than
// half the policer's rate, or more at once than a short ring of the source holds; below
// both the source keeps every packet. The reader counts its own losses.
type sight struct {
	rate, burst float64
	tokens      float64
	filled      int64
	drained     bool // the last ones were at the end of the ring
	blind       bool
}

// newSight returns a sight for a source that polices to rate packets a second and burst
// at once; both halves leave room for the source's short rings.
func newSight(rate, burst uint32) sight {
	s := sight{rate: float64(rate) / 2, burst: min(float64(burst)/2, healthBurst)}
	s.tokens = s.burst
	return s
}

// look records that n packets came, with the number lost around them. The stream is whole
// again when few enough came for long enough, and all earlier ones are processed.
func (s *sight) look(n int, lost uint64, now int64) {
	if s.rate > 0 {
		s.tokens = min(s.burst, s.tokens+s.rate*max(0, float64(now-s.filled)/1e9))
	}
	again := s.tokens == s.burst && s.drained
	s.filled, s.drained = now, n < flow.MaxBurst
	if s.rate > 0 {
		s.tokens -= float64(n)
	}
	switch {
	case lost > 0, s.tokens < 0:
		s.blind, s.tokens = true, 0
	case again:
		s.blind = false
	}
}
