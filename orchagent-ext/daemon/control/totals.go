// SPDX-License-Identifier: Apache-2.0

package control

import (
	"github.com/openconfig/ygot/ygot"

	"sluice/orchagent-ext/daemon/status"
	"sluice/orchagent-ext/db/telemetry"
)

// totals are the rows of SLUICE_NOTIFY_STATS as they were when a task ended, by message: the
// counters of the next task, and of its library, begin at 0.
type totals map[any]*telemetry.NotifyStats

// totalsOf returns the totals of rows.
func totalsOf(rows []ygot.GoStruct) totals {
	t := totals{}
	for _, r := range rows {
		row := r.(*telemetry.NotifyStats)
		t[row.Message] = row
	}
	return t
}

// add adds the totals to the counters of rows.
func (t totals) add(rows []ygot.GoStruct) {
	for _, r := range rows {
		if before := t[r.(*telemetry.NotifyStats).Message]; before != nil {
			status.AddCounters(r, before)
		}
	}
}

// Continue has the counters go on from those of flow control that was stopped: of the same
// switch, with other ports.
func (c *Control) Continue(from *Control) { c.earlier = from.earlier }
