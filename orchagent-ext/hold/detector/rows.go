// SPDX-License-Identifier: Apache-2.0

package detector

import (
	"net/netip"

	sai "sluice/sai-shim"
)

// Row is a flow that is above a mark, or was and still drains. Times are ns of CLOCK_MONOTONIC.
type Row struct {
	Queue       sai.ObjectID
	Flow        uint64 // as the switch names it
	Port        string // that it leaves by
	Number      uint8  // of the queue
	In          string // port that it comes in by; "": unknown
	Source      netip.Addr
	Destination netip.Addr
	DestQP      uint32 // 0: unknown
	Label       uint32 // as it leaves
	Stream      uint16 // 0: unknown
	Octets      uint64 // in the queue, as known last
	Congested   bool
	Advised     uint32     // Mbit/s, the advice that holds for its sender, or 0
	Exceeds     bool       // its sender exceeds its advice by far
	Requested   bool       // a neighbor was asked to hold it
	To          netip.Addr // that neighbor
	Since       int64
	Until       int64 // as far as the neighbor was asked; 0: it was not
}

// AppendRows appends a row for each flow that there is room for, and allocates nothing.
func (d *Detector) AppendRows(now int64, rows []Row) []Row {
	for _, f := range d.flows.All() {
		if len(rows) == cap(rows) {
			break
		}
		row := Row{
			Queue: f.ID.Queue, Flow: f.ID.Flow, Port: f.Queue.Name, Number: f.Queue.Number,
			Source: f.Src, Destination: f.Dst, Stream: f.Stream, DestQP: f.Session.DstQP, Label: f.Label,
			Octets: f.State.Octets(), Congested: f.State.Congested(), Requested: f.neighbor.Open(), Since: f.since,
		}
		if p := d.k.Ports.Of(f.In); p != nil {
			row.In = p.Name
		}
		follows := false
		row.Advised, follows = d.advisor.State(now, &f.advice)
		row.Exceeds = !follows
		row.To, row.Until = f.neighbor.State()
		rows = append(rows, row)
	}
	return rows
}
