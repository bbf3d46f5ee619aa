// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"cmp"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/flows/health"
	"sluice/orchagent-ext/flows/histogram"
	"sluice/orchagent-ext/wire/roce"
)

// healthTable learns the queue pairs of connections, and how they fare.
type healthTable struct {
	flows *flow.Table
	table *health.Table
	gone  []healthRecord // of connections that left the table
	more  uint64         // that lacked room there
	seen  [flow.MaxBurst]health.Seen
	// flow is called with each packet and its flow, before its PSN is judged; nil: it is not
	flow func(b *burst, i int, of *flow.Flow)
}

// newHealth returns the table of the health of the connections in r. Directions that leave a full
// table are kept as records, up to maxFlowRecords.
func newHealth(r frameSource) *healthTable {
	h := &healthTable{flows: newFlowTable(r, nil)}
	h.table = health.NewTable(health.Config{Capacity: capacityFor(r), Removed: func(d *health.Direction) {
		if len(h.gone) == maxFlowRecords {
			h.more++
			return
		}
		h.gone = append(h.gone, newHealthRecord(d))
	}})
	return h
}

// observeBurst learns from the packets of a burst, and passes what each one's PSN means to each,
// which may be nil. h.seen has their source queue pairs then.
func (h *healthTable) observeBurst(b *burst, each func(i int, e health.Event, missing uint32)) {
	h.flows.ObserveBurstAt(b.packets[:b.n], b.times[:b.n], func(i int, of *flow.Flow) {
		seen := &h.seen[i] // in place: a copy would wait for its fields
		seen.Time, seen.Point, seen.Slot, seen.Part = b.times[i], b.points[i], of.Slot(), b.parts[i]
		seen.SrcQP, seen.From = h.flows.SrcQP(of)
		if h.flow != nil {
			h.flow(b, i, of)
		}
	})
	h.table.ObserveBurst(b.packets[:b.n], h.seen[:b.n], each)
}

// records are all directions, those in which most was sent first.
func (h *healthTable) records() iter.Seq[healthRecord] {
	type place struct {
		bytes uint64
		first int64
		qp    uint32
		at    int // in gone, and behind that in the table
	}
	places := make([]place, 0, len(h.gone)+h.table.Len())
	for i, r := range h.gone {
		places = append(places, place{r.Bytes, nanosOf(r.First), r.DstQP, i})
	}
	for d := range h.table.All() {
		places = append(places, place{d.Octets, d.First, d.DestQP, len(places)})
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.first, b.first), cmp.Compare(a.qp, b.qp), a.at-b.at)
	})
	return func(yield func(healthRecord) bool) {
		for _, p := range places {
			var r healthRecord
			if p.at < len(h.gone) {
				r = h.gone[p.at]
			} else {
				r = newHealthRecord(h.table.At(p.at - len(h.gone)))
			}
			if !yield(r) {
				return
			}
		}
	}
}

// print prints the connections as a table, or as JSON.
func (h *healthTable) print(cmd *cobra.Command, format output.Format) error {
	out := bufio.NewWriterSize(cmd.OutOrStdout(), 1<<16)
	encoder := format.Encoder(out)
	var rows *output.Table
	var text texts
	known := hosts{}
	if !format.Data() {
		rows = healthColumns.Table(out, format.Style(cmd.OutOrStdout()))
	}
	for r := range h.records() {
		if rows == nil {
			if err := encoder.Encode(r); err != nil {
				return err
			}
			continue
		}
		rows.Row(r.row(&text, known)...)
	}
	if rows != nil {
		if err := rows.End(); err != nil {
			return err
		}
	}
	return out.Flush()
}

// String counts the connections.
func (h *healthTable) String() string {
	text := kit.Plural(len(h.gone)+h.table.Len(), "direction")
	if h.more > 0 {
		text += fmt.Sprintf(", and %d more, which are not shown", h.more)
	}
	return text
}

// healthRecord is one direction of a connection as --health prints it.
type healthRecord struct {
	Src netip.Addr `json:"src"` // of the session
	// Dst is the destination of the session, with Src the direction's key beside DstQP.
	Dst netip.Addr `json:"dst"`
	// Point: number of the interface, where there are several
	Point uint32 `json:"interface,omitempty"`
	// DstQP is the queue pair that the packets go to, 24 bits.
	DstQP uint32 `json:"dst_qp"`
	// SrcQP is the queue pair that they come from; null while it is unknown: a BTH has the
	// destination's only.
	SrcQP *uint32 `json:"src_qp"`
	// First is the earliest time of the direction's packets; left out where they have none.
	First time.Time `json:"first,omitzero"`
	// Last is the latest one.
	Last time.Time `json:"last,omitzero"`
	// Packets counts all packets of the direction, repeated ones included.
	Packets uint64 `json:"packets"`
	// Bytes counts their octets, as long as their IP headers say they were.
	Bytes uint64 `json:"bytes"`
	// CE counts packets with the ECN codepoint CE (RFC 3168).
	CE      uint64  `json:"ce"`
	CEShare float64 `json:"ce_share"` // of the packets

	// Payload: octets of the application, each once
	Payload uint64 `json:"payload"`
	// Goodput is the payload in order, in bit/s; null for a direction that is too short.
	Goodput *float64 `json:"goodput_bps"`
	// Gaps counts jumps of the PSN ahead.
	Gaps uint64 `json:"gaps"`
	// Missing counts the PSNs of gaps, some of which come later.
	Missing uint64 `json:"missing"`
	Lost    uint64 `json:"lost"` // of those: have not come
	// Reordered counts PSNs of a gap that came late, for the first time.
	Reordered uint64 `json:"reordered"`
	// Recovered counts PSNs of a gap that came by a retransmission.
	Recovered uint64 `json:"recovered"`
	// Duplicates counts packets with a PSN that was seen before.
	Duplicates uint64 `json:"duplicates"`
	// Retransmitted counts the octets that were sent again.
	Retransmitted uint64 `json:"retransmitted_bytes"`
	// Restarts counts connections that began under the same queue pair after the first.
	Restarts uint64 `json:"restarts"`
	// Stalls counts pauses of the sender or receiver while packets or answers were due.
	Stalls uint64 `json:"stalls"`
	// Stalled is their sum, µs.
	Stalled float64 `json:"stalled_us"`
	// LongestStall is the longest of them, µs.
	LongestStall float64 `json:"longest_stall_us"`

	// Messages has the sizes of messages, octets.
	Messages *quantiles `json:"message_bytes,omitempty"`
	// RTT: from a request to its acknowledgement
	RTT *quantiles `json:"rtt_us,omitempty"`

	Sent answers `json:"sent"` // this way
	// Received: the other way, for this one; null: it is not known, or did not pass
	Received *answers `json:"received"`
}

// answers are the acknowledgements and notifications of one direction.
type answers struct {
	// Acks counts acknowledgements without an error.
	Acks uint64 `json:"acks"`
	// CNPs counts congestion notification packets (IBTA annex A17).
	CNPs uint64            `json:"cnps"`
	NAKs map[string]uint64 `json:"naks"` // by reason
}

// quantiles sum up a histogram.
type quantiles struct {
	// Count is the number of values.
	Count uint64 `json:"count"`
	// Min is the least value.
	Min float64 `json:"min"`
	// P50 is the median.
	P50 float64 `json:"p50"`
	// P99 is the 99th percentile.
	P99 float64 `json:"p99"`
	// Max is the greatest value.
	Max float64 `json:"max"`
}

// nsPerUs converts ns, the unit of package health, to µs, the unit of the output.
const nsPerUs = 1e3

// newQuantiles returns the figures of a histogram in units of unit; nil for a direction
// without one.
func newQuantiles(h *histogram.Coarse, unit float64) *quantiles {
	if h == nil {
		return nil
	}
	in := func(v uint64) float64 { return float64(v) / unit }
	return &quantiles{h.Count, in(h.Min), in(h.Quantile(0.5)), in(h.Quantile(0.99)), in(h.Max)}
}

// noNAKs is for directions without a NAK; it stays empty.
var noNAKs = map[string]uint64{}

// newAnswers returns the acknowledgements, NAKs by kind and CNPs of a direction.
func newAnswers(d *health.Direction) answers {
	a := answers{Acks: d.Acks, CNPs: d.CNPs, NAKs: noNAKs}
	if d.NAKed() > 0 {
		a.NAKs = map[string]uint64{}
	}
	for why := roce.NotNAK + 1; why < roce.NumNAKs; why++ {
		if n := d.NAKs[why]; n > 0 {
			a.NAKs[why.String()] = n
		}
	}
	return a
}

// newHealthRecord returns a direction for output: times in µs, shares from 0 to 1.
// Figures that need a packet of the other direction are nil while it is missing.
func newHealthRecord(d *health.Direction) healthRecord {
	r := healthRecord{
		Src: netip.AddrFrom16(d.Src).Unmap(), Dst: netip.AddrFrom16(d.Dst).Unmap(), Point: d.Point, DstQP: d.DestQP,
		First: timeOf(d.First), Last: timeOf(d.End()), Packets: d.Packets, Bytes: d.Octets,
		CE: d.CE, CEShare: float64(d.CE) / float64(d.Packets), Payload: d.Payload, Gaps: d.Gaps, Missing: d.Missing, Lost: d.Lost(),
		Reordered: d.Reordered, Recovered: d.Recovered, Duplicates: d.Duplicates, Retransmitted: d.Retransmitted, Restarts: d.Restarts,
		Stalls: d.Stalls, Stalled: float64(d.Stalled) / nsPerUs, LongestStall: float64(d.LongestStall) / nsPerUs,
		Messages: newQuantiles(d.Sizes(), 1), RTT: newQuantiles(d.RTT(), nsPerUs), Sent: newAnswers(d),
	}
	if d.From != flow.None {
		qp := d.Source
		r.SrcQP = &qp
	}
	if rate, ok := d.Goodput(); ok {
		r.Goodput = &rate
	}
	if peer := d.Peer(); peer != nil {
		received := newAnswers(peer)
		r.Received = &received
	}
	return r
}

// printHealth reads packets to their end, and prints how the connections fare.
func printHealth(cmd *cobra.Command, r frameSource, format output.Format, icrc bool, filter *packetFilter) error {
	h := newHealth(r)
	s, err := scanBursts(cmd, r, icrc, filter.ofFlows(), func(b *burst) { h.observeBurst(b, nil) })
	// The directions that were seen before an error are shown, too.
	if printErr := h.print(cmd, format); err == nil {
		err = printErr
	}
	if err = kit.Interrupted(cmd, err); !summed(err) {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s; %s\n", s, h)
	if s.RoCE == 0 {
		s.advise(cmd)
	}
	return err
}
