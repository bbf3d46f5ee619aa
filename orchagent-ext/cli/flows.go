// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/flows/flow"
)

// flowCapacity is how many flows of a capture are followed at once: about 60 MB.
// Beyond it the one that was idle longest is replaced.
const flowCapacity = 1 << 18

// capacityFor returns how many flows a table has room for: no more than r can have packets,
// since a table reserves all of its memory at once.
func capacityFor(r frameSource) int {
	if f, is := r.(*capture.Reader); is && f.MostPackets() > 0 {
		return min(max(f.MostPackets(), leastCapacity), flowCapacity)
	}
	return flowCapacity
}

// leastCapacity is for files that grow while they are read: about 1 MB.
const leastCapacity = 1 << 12

// newFlowTable returns the table of flows for the packets of r. removed runs for flows that the
// full table evicts, so that a capture with more flows than flowCapacity is still counted
// as a whole.
func newFlowTable(r frameSource, removed func(*flow.Flow, flow.Reason)) *flow.Table {
	return flow.NewTable(flow.Config{Capacity: capacityFor(r), Removed: removed, Growing: true})
}

// flowRecord is one flow as decode --flows prints it.
type flowRecord struct {
	Src netip.Addr `json:"src"` // of the path: as they arrive
	// Dst is the destination of the outermost IP header.
	Dst netip.Addr `json:"dst"`
	// Session: where its addresses are others
	Session *session `json:"session,omitempty"`
	// Sport is the UDP source port, by which ECMP spreads flows without labels.
	Sport uint16 `json:"sport"`
	// FlowLabel is the label of the outermost IPv6 header, 20 bits; 0 for none and for IPv4.
	FlowLabel uint32 `json:"flow_label"`
	// PKey is the partition key of the BTH.
	PKey uint16 `json:"pkey"`
	// DstQP is the queue pair that the packets go to, 24 bits.
	DstQP uint32 `json:"dst_qp"`
	// SrcQP is the queue pair that they come from; null while it is unknown.
	SrcQP *uint32 `json:"src_qp"`
	// SrcQPFrom is the way in which it was learned: deth, cm or ack; null for an unknown
	// one.
	SrcQPFrom *string `json:"src_qp_from"`
	// Packets counts the packets of the flow.
	Packets uint64 `json:"packets"`
	// Bytes counts their octets.
	Bytes uint64 `json:"bytes"`
	// First is the earliest time of a packet; left out where no packet has one.
	First time.Time `json:"first,omitzero"`
	// Last is the latest one.
	Last time.Time `json:"last,omitzero"`
}

// newFlowRecord returns a flow for output. qp is its source queue pair, and from the way
// in which that was learned; the session is left out where its addresses equal the
// path's.
func newFlowRecord(f *flow.Flow, qp uint32, from flow.Provenance) flowRecord {
	r := flowRecord{
		Src: f.SrcAddr(), Dst: f.DstAddr(), Sport: f.SrcPort, FlowLabel: f.FlowLabel, PKey: f.PKey, DstQP: f.DestQP,
		Packets: f.Packets, Bytes: f.Bytes, First: timeOf(f.First), Last: timeOf(f.Last),
	}
	if src, dst := f.SessionSrc(), f.SessionDst(); src != r.Src || dst != r.Dst {
		r.Session = &session{src, dst}
	}
	if from != flow.None {
		name := from.String()
		r.SrcQP, r.SrcQPFrom = &qp, &name
	}
	return r
}

// maxFlowRecords bounds the memory for a capture of ever new flows: about 400 MB.
const maxFlowRecords = 1 << 20

// flowList has the flows to be shown. Flows beyond maxFlowRecords are only
// counted.
type flowList struct {
	room    int
	records []flowRecord

	more, packets uint64 // flows left out, and their packets
}

// add appends a flow, or above the room counts it and its packets only, so that the sums
// of the output stay right.
func (l *flowList) add(f *flow.Flow, qp uint32, from flow.Provenance) {
	if len(l.records) == l.room {
		l.more++
		l.packets += f.Packets
		return
	}
	l.records = append(l.records, newFlowRecord(f, qp, from))
}

// String counts the flows.
func (l *flowList) String() string {
	text := kit.Plural(len(l.records), "flow")
	if l.more > 0 {
		text += fmt.Sprintf(", and %d more of %d packets, which are not shown", l.more, l.packets)
	}
	return text
}

// decodeFlows prints the flows of a capture, the evicted ones first. It holds at most
// flowCapacity flows in the table and maxFlowRecords for output.
func decodeFlows(cmd *cobra.Command, name string, format output.Format, icrc bool, filter *packetFilter) error {
	list := flowList{room: maxFlowRecords}
	var flows *flow.Table
	add := func(f *flow.Flow) {
		qp, from := flows.SrcQP(f)
		list.add(f, qp, from)
	}
	r, err := capture.Open(cmd.Context(), name, cmd.InOrStdin())
	if err != nil {
		return err
	}
	defer r.Close()
	flows = newFlowTable(r, func(f *flow.Flow, _ flow.Reason) { add(f) })
	s, err := scanBursts(cmd, r, icrc, filter.ofFlows(), func(b *burst) {
		flows.ObserveBurstAt(b.packets[:b.n], b.times[:b.n], nil)
	})
	for f := range flows.All() {
		add(f)
	}
	slices.SortStableFunc(list.records, func(a, b flowRecord) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), a.First.Compare(b.First), cmp.Compare(a.DstQP, b.DstQP))
	})
	// The flows that were decoded before an error are shown, too.
	if printErr := printFlows(cmd, list.records, format); err == nil {
		err = printErr
	}
	if err = kit.Interrupted(cmd, err); !summed(err) {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s; %s\n", s, &list)
	if s.RoCE == 0 {
		s.advise(cmd)
	}
	return err
}

// flowColumns are those of flows.
var flowColumns = output.Columns{
	Header: []string{"SRC", "DST", "SPORT", "LABEL", "PKEY", "DST-QP", "SRC-QP", "FROM", "PACKETS", "BYTES", "SECONDS"},
	Spare:  []string{"PKEY", "FROM", "SECONDS", "SPORT", "SRC-QP", "LABEL"},
}

// printFlows prints flows as a table, or one object a line.
func printFlows(cmd *cobra.Command, records []flowRecord, format output.Format) error {
	out := bufio.NewWriter(cmd.OutOrStdout())
	if format.Data() {
		encoder := format.Encoder(out)
		for _, r := range records {
			if err := encoder.Encode(r); err != nil {
				return err
			}
		}
		return out.Flush()
	}
	rows, known := flowColumns.Table(out, format.Style(cmd.OutOrStdout())), hosts{}
	for _, r := range records {
		rows.Row(r.Session.beside(r.Src, (*session).src, known), r.Session.beside(r.Dst, (*session).dst, known), fmt.Sprint(r.Sport), labelText(r.Src, r.FlowLabel), fmt.Sprintf("%#04x", r.PKey), qpText(r.DstQP),
			srcQPText(r.SrcQP), fromText(r.SrcQPFrom), fmt.Sprint(r.Packets), fmt.Sprint(r.Bytes), secondsAfter(r.First, r.Last))
	}
	if err := rows.End(); err != nil {
		return err
	}
	return out.Flush()
}
