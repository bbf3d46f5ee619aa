// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"sluice/orchagent-ext/flows/histogram"
	"sluice/orchagent-ext/flows/rtt"
	"sluice/orchagent-ext/hold/detector"
	"sluice/orchagent-ext/hold/holder"
	"sluice/orchagent-ext/hold/kernel"
)

// Report is the state of flow control at a time.
type Report struct {
	At       int64 // ns, CLOCK_MONOTONIC, as all times here
	Counters Counters

	Reaction histogram.Fine // from the mark passed to the PFCM sent
	Enforce  histogram.Fine // from the PFCM received by the kernel to the hold on the switch
	Release  histogram.Fine // from the end of a hold to its release

	PPFCReaction histogram.Fine // as Reaction, to the PPFC sent
	PPFCEnforce  histogram.Fine // as Enforce, from the PPFC received

	Flows []CongestedFlow // at most those that there is room for
	Holds []Hold

	Hosts []rtt.Host // round-trip times, by reactions to advice

	Ignoring []Pair // sessions whose senders ignore CNPs, some of them

	Realtime bool // the thread has real-time priority
	// why the switch refused a hold; "": a hold has succeeded since, or a minute is over
	LastError string
}

// CongestedFlow is a flow that is above a mark, or was and still drains.
type CongestedFlow = detector.Row

// Hold is a neighbor's request in force, with times as [Report].At.
type Hold = holder.Row

// Counters count since the task began.
type Counters = kernel.Counters

// Queue pairs, as the packet path reports them.
type (
	// Pair is that of package kernel.
	Pair = kernel.Pair
	// Learned is that of package kernel.
	Learned = kernel.Learned
	// Packet is that of package kernel.
	Packet = kernel.Packet
)

// Room of a report.
const reportRows, reportIgnoring = 1000, 8

// newReport returns a report with the room for its rows.
func newReport() *Report {
	return &Report{Flows: make([]CongestedFlow, 0, reportRows), Holds: make([]Hold, 0, reportRows), Ignoring: make([]Pair, 0, reportIgnoring), Hosts: make([]rtt.Host, 0, rtt.MostHosts)}
}

// fill fills in a report, and allocates nothing.
func (c *core) fill(now int64, r *Report) {
	r.At, r.Counters = now, c.kernel.Counters
	if err := c.kernel.Refusal(now); err != nil {
		r.LastError = err.Error()
	}
	r.Reaction, r.Enforce, r.Release = c.downstream.Reaction, c.holder.Enforced, c.holder.Release
	r.PPFCReaction, r.PPFCEnforce = c.gateways.Reaction, c.holder.EnforcedPPFC
	r.Hosts = c.advisor.AppendHosts(r.Hosts)
	r.Flows = c.detector.AppendRows(now, r.Flows)
	r.Ignoring = c.source.AppendIgnoring(r.Ignoring)
	r.Holds = c.holder.AppendRows(r.Holds)
}
