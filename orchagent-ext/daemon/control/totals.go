// SPDX-License-Identifier: Apache-2.0

package control

import (
	"reflect"

	"github.com/openconfig/ygot/ygot"

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

// add adds the totals to the counters of rows. Times stay: they are those of the present task.
func (t totals) add(rows []ygot.GoStruct) {
	for _, r := range rows {
		row := r.(*telemetry.NotifyStats)
		before := t[row.Message]
		if before == nil {
			continue
		}
		is, was := reflect.ValueOf(row).Elem(), reflect.ValueOf(before).Elem()
		for i := range is.NumField() {
			n, counter := is.Field(i).Interface().(*uint64)
			if m, _ := was.Field(i).Interface().(*uint64); counter && n != nil && m != nil {
				is.Field(i).Set(reflect.ValueOf(telemetry.Count(*n + *m)))
			}
		}
	}
}

// Continue has the counters go on from those of flow control that was stopped: of the same
// switch, with other ports.
func (c *Control) Continue(from *Control) { c.earlier = from.earlier }
