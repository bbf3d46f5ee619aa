// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"net/netip"

	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

// Row is a demand in force. Since and Until are ns of CLOCK_MONOTONIC; Refreshes counts the repetitions
// of the message since.
type Row struct {
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

// Turnover counts rows that came, and those that went.
func (h *Holder) Turnover() uint64 { return h.table.Turnover }

// AppendRows appends a row for each demand that there is room for, and allocates nothing.
func (h *Holder) AppendRows(rows []Row) []Row {
	for d, flows := range h.table.All() {
		if len(rows) == cap(rows) {
			break
		}
		row := Row{
			Kind: d.Kind, Index: d.Port, From: d.From, Queue: uint8(d.Queue), Stream: d.Stream,
			Keep: d.Keep, Since: d.Since, Until: d.Until, Refreshes: d.Refreshes, Ignored: d.Ignored,
			Source: d.Source, Destination: d.Destination,
		}
		if d.Kind == notify.KindPPFC { // also of one that is ignored, and has no flow left
			row.Match = SessionMatch(d.Source, d.Destination, &d.Flow)
		}
		if len(flows) > 0 {
			row.Port, row.Match = flows[0].Port, flows[0].Match
			if one := h.held.Get(flows[0]); one != nil {
				row.Source, row.Destination = one.about.Src, one.about.Dst
				row.Rate, row.Measuring = one.set.Rate, one.set.Measure
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// SessionMatch returns the match of the flow of a PPFC, for packets by any port.
func SessionMatch(src, dst netip.Addr, flow *notify.FlowIdentifier) sai.HoldMatch {
	m := sai.HoldMatch{Kind: sai.HoldPair, Src: src, Dst: dst}
	switch flow.Form {
	case notify.QPs:
		m.Kind, m.Value = sai.HoldSession, flow.DstQP
	case notify.Ports:
		m.Kind, m.Protocol, m.Value = sai.HoldTuple, flow.Protocol, uint32(flow.SrcPort)<<16|uint32(flow.DstPort)
	}
	return m
}
