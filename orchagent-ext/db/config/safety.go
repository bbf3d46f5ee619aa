// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"

	"sluice/yang/rows"
)

// safetyFields switch something off. Each is judged for itself: a bad field beside it
// leaves the switch off.
var safetyFields = []string{"admin_state", "flow_label"}

// The values of safety fields.
const (
	on  = "enabled"
	off = "disabled"
)

// switchedOff returns the version that is in force of an invalid row: the last good one,
// with those safety fields off that the row has off. Without a good version, a safety
// field that cannot be read is off, too. nil: the row is out of force.
func switchedOff(r rows.Row, good *version) *version {
	fields := map[string]string{}
	for _, f := range safetyFields {
		if value, ok := r.Fields[f]; ok && (value == off || good == nil && value != on) {
			fields[f] = off
		}
	}
	if len(fields) == 0 {
		return good
	}
	alone := rows.Row{Table: r.Table, Key: r.Key, Fields: fields}
	if good != nil {
		both := alone
		both.Fields = maps.Clone(good.row.Fields)
		if both.Fields == nil {
			both.Fields = map[string]string{}
		}
		maps.Copy(both.Fields, fields)
		if v := newVersion(both); v.err == nil {
			return v
		}
	}
	if v := newVersion(alone); v.err == nil {
		return v
	}
	return good
}
