// SPDX-License-Identifier: Apache-2.0

package status

import (
	"github.com/openconfig/ygot/ygot"

	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/flows/histogram"
	"sluice/orchagent-ext/switch/gate"
	"sluice/yang/rows"
)

// TurnRows returns the rows of SLUICE_TURN_STATS, while turns go on; g may be nil.
func TurnRows(g *gate.Gate) (all []ygot.GoStruct) {
	if g == nil {
		return nil
	}
	for _, p := range gate.Priorities() {
		t := g.Times(p)
		row := &telemetry.TurnStats{
			Turns:     &t.Held.Count,
			TurnUsP50: microseconds(&t.Held, .5), TurnUsP99: microseconds(&t.Held, .99), TurnUsP999: microseconds(&t.Held, .999), TurnUsMax: microseconds(&t.Held, 1),
			WaitUsP50: microseconds(&t.Waited, .5), WaitUsP99: microseconds(&t.Waited, .99), WaitUsP999: microseconds(&t.Waited, .999), WaitUsMax: microseconds(&t.Waited, 1),
		}
		rows.SetEnum(&row.Priority, p.String())
		all = append(all, row)
	}
	return all
}

// microseconds returns a quantile of times in ns, in µs; share 1 is the greatest.
func microseconds(h *histogram.Fine, share float64) *float64 {
	ns := h.UpperQuantile(share)
	if share == 1 {
		ns = h.Max
	}
	return Rounded(float64(ns)/1e3, 1)
}
