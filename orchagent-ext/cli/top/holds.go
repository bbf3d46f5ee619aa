// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Hold is a row of SLUICE_HOLD.
type Hold struct {
	From string `json:"from"` // who asked for it
	Port string `json:"port"` // that the flow leaves by
	// Queue is the number of the queue in the request.
	Queue Number `json:"queue"`
	// Stream is the Stream ID in the request.
	Stream Number `json:"stream_id"`
	// Src is the source of the held flow.
	Src string `json:"src,omitempty"`
	// Dst is its destination.
	Dst string `json:"dst,omitempty"`
	// State is that of the hold.
	State   string `json:"state"`
	Seconds Number `json:"seconds"` // since it began
	// Waiting is the octets that the switch holds back.
	Waiting Number `json:"waiting_bytes"`
	since   time.Time
}

// newHold returns a hold by the fields of its row.
func newHold(fields map[string]string) Hold {
	n := numbers(fields)
	h := Hold{
		From: fields["from"], Port: fields["port"], Src: fields["src"], Dst: fields["dst"], State: fields["state"],
		Queue: total(n, "queue"), Stream: total(n, "stream_id"), Waiting: total(n, "waiting_bytes"),
	}
	// where it is not there the time is not known
	h.since, _ = time.Parse(time.RFC3339Nano, fields["since"])
	return h
}

// sortedHolds returns the holds of a snapshot, the longest first.
func (s *Snapshot) sortedHolds() []Hold {
	all := make([]Hold, 0, len(s.holds))
	for _, h := range s.holds {
		if !h.since.IsZero() {
			h.Seconds = Number{value: max(0, s.At.Sub(h.since).Seconds()), known: true}
		}
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b Hold) int {
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.From, b.From), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Stream.value, b.Stream.value))
	})
	return all
}

// heldLines is the most holds in a frame.
const heldLines = 4 // of holds in a frame

// holdTable draws the holds; it returns nil without holds.
func (d *drawing) holdTable() []string {
	v, g := d.view, d.glyphs
	if len(v.Holds) == 0 {
		return nil
	}
	shown := v.Holds[:min(heldLines, len(v.Holds))]
	c := []column{{title: "HELD BY", left: true}, {title: "PORT", left: true}, {title: "STREAM"}, {title: "QUEUE"}, {title: "STATE", left: true}, {title: "FOR"}, {title: "WAITING"}, {title: "FLOW", left: true}}
	for _, h := range shown {
		of := "-"
		if h.Src != "" {
			of = h.Src + " > " + h.Dst
		}
		held := "-"
		if h.Seconds.known {
			held = fmt.Sprintf("%.1fs", h.Seconds.value)
		}
		for i, cell := range []string{g.middle(h.From, 2*portName), g.middle(h.Port, portName), hexadecimal(h.Stream, 4), h.Queue.String(), h.State, held, h.Waiting.String(), of} {
			c[i].cells = append(c[i].cells, cell)
		}
	}
	out := lines(c)
	if left := len(v.Holds) - len(shown); left > 0 {
		out = append(out, fmt.Sprintf(leftOutSay, left))
	}
	return out
}
