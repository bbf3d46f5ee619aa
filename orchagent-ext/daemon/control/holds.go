// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"

	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
)

// Held asks the task for the holds of now, for a second at most: it is for any goroutine but the
// loop's. The function that it returns reports whether a hold may be of a flow: by its Stream ID
// (0: it has none), its label, its addresses, or its class. Where the task gives no answer the last
// report counts.
func (c *Control) Held() func(f engine.FlowEntry, stream uint16) bool {
	var is *flowcontrol.Report
	if t := c.learner.Load(); t != nil {
		is = cmp.Or(t.Now(), t.Report())
	}
	return func(f engine.FlowEntry, stream uint16) bool { return is != nil && holds(is, f, stream) }
}

// holds reports whether one of the holds of a report may be of a flow.
func holds(r *flowcontrol.Report, f engine.FlowEntry, stream uint16) bool {
	for i := range r.Holds {
		h := &r.Holds[i]
		switch {
		case h.Ignored:
		case stream != 0 && h.Stream == stream, h.Source == f.Src && h.Destination == f.Dst, h.Match.Kind == sai.HoldClass:
			return true
		case h.Match.Kind == sai.HoldLabel && h.Match.Value == f.Label, h.Match.Kind == sai.HoldPair && h.Match.Src == f.Src && h.Match.Dst == f.Dst:
			return true
		}
	}
	return false
}
