// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"net/netip"
	"time"

	"sluice/orchagent-ext/flows/histogram"
	"sluice/orchagent-ext/flows/rtt"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
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
type CongestedFlow struct {
	Queue       sai.ObjectID
	Flow        uint64 // as the switch names it
	Port        string // that it leaves by
	Number      uint8  // of the queue
	In          string // port that it comes in by; "": not known
	Source      netip.Addr
	Destination netip.Addr
	DestQP      uint32 // 0: not known
	Label       uint32 // as it leaves
	Stream      uint16 // 0: not known
	Octets      uint64 // in the queue, as known last
	Congested   bool
	Advised     uint32     // Mbit/s, the advice that holds for its sender; 0: none
	Defies      bool       // its sender exceeds its advice by far
	Said        bool       // a neighbor was asked to hold it
	To          netip.Addr // that neighbor
	Since       int64
	Until       int64 // as far as the neighbor was asked; 0: it was not
}

// Hold is a neighbor's request in force. Since and Until are ns of CLOCK_MONOTONIC, as
// [Report].At is; Refreshes counts the repetitions of the request since.
type Hold struct {
	Kind        notify.Kind  // KindPFCM or KindPPFC
	Port        sai.ObjectID // that the packets leave by; of a PortChannel the first
	Match       sai.HoldMatch
	Index       uint32 // interface index of the port that the message came in by
	From        netip.Addr
	Queue       uint8
	Stream      uint16
	Source      netip.Addr // of the packet that met congestion downstream
	Destination netip.Addr
	Keep        uint8  // percent of the flow's rate; 0: pause
	Rate        uint64 // bit/s; 0: pause, or not measured yet
	Measuring   bool
	Since       int64
	Until       int64
	Refreshes   uint64
	Ignored     bool // it was released by the limit, and its key is ignored until Until
}

// Room of a report.
const reportRows, reportIgnoring = 1000, 8

// newReport returns a report with the room for its rows.
func newReport() *Report {
	return &Report{Flows: make([]CongestedFlow, 0, reportRows), Holds: make([]Hold, 0, reportRows), Ignoring: make([]Pair, 0, reportIgnoring), Hosts: make([]rtt.Host, 0, rtt.MostHosts)}
}

// refusalTime is how long a report names a hold that the switch refused, where no other hold
// has succeeded since.
const refusalTime = time.Minute

// holdIs notes the answer of the switch to a hold.
func (c *core) holdIs(now int64, err error) {
	if err != nil {
		c.counters.HoldFailed++
	}
	c.lastErr, c.lastErrAt = err, now
}

// fill fills in a report, and allocates nothing.
func (c *core) fill(now int64, r *Report) {
	r.At, r.Counters = now, c.counters
	if c.lastErr != nil && now-c.lastErrAt < int64(refusalTime) {
		r.LastError = c.lastErr.Error()
	}
	r.Reaction, r.Enforce, r.Release = c.reaction, c.enforce, c.error
	r.PPFCReaction, r.PPFCEnforce = c.ppfcReaction, c.ppfcEnforce
	r.Hosts = c.hosts.AppendHosts(r.Hosts)
	for _, f := range c.congested.all {
		if len(r.Flows) == cap(r.Flows) {
			break
		}
		r.Flows = append(r.Flows, c.shown(now, f))
	}
	if c.senders != nil {
		for _, f := range c.senders.flows {
			if f.ignores && len(r.Ignoring) < cap(r.Ignoring) {
				r.Ignoring = append(r.Ignoring, f.Pair)
			}
		}
	}
	for d, flows := range c.table.All() {
		if len(r.Holds) == cap(r.Holds) {
			break
		}
		h := Hold{
			Kind: d.Kind, Index: d.Port, From: d.From, Queue: uint8(d.Queue), Stream: d.Stream,
			Keep: d.Keep, Since: d.Since, Until: d.Until, Refreshes: d.Refreshes, Ignored: d.Ignored,
			Source: d.Source, Destination: d.Destination,
		}
		if d.Kind == notify.KindPPFC { // also of one that is ignored, and has no flow any more
			h.Match = sessionOf(d.Source, d.Destination, &d.Flow)
		}
		if len(flows) > 0 {
			h.Port, h.Match = flows[0].port, flows[0].match
			if held := c.held.get(flows[0]); held != nil {
				h.Source, h.Destination = held.about.src, held.about.dst
				h.Rate, h.Measuring = held.asked.Rate, held.asked.Measure
			}
		}
		r.Holds = append(r.Holds, h)
	}
}

// shown returns a congested flow for the report.
func (c *core) shown(now int64, f *congested) CongestedFlow {
	row := CongestedFlow{
		Queue: f.queue, Flow: f.flow, Port: f.q.Name, Number: f.q.Number,
		Source: f.src, Destination: f.dst, Stream: f.stream, DestQP: f.session.dstQP, Label: f.label,
		Octets: f.Octets(), Congested: f.Congested(), Said: f.hold.open, Since: f.since,
	}
	if p := c.settings.members[f.in]; p != nil {
		row.In = p.Name
	}
	if a := c.settings.Advice; a != nil {
		row.Advised, row.Defies = f.advised.Rate(now, &a.Pace), !f.advised.Follows()
	}
	if f.hold.open {
		row.Until, row.To = f.until, f.to.Neighbor
	}
	return row
}
