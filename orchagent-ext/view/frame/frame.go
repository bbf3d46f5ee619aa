// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"context"
	"time"

	"sluice/yang/rows"
)

// A Frame is the state of a fabric at one time: the rows of its switches.
type Frame struct {
	At       time.Time
	Switches []Switch
}

// Switch has the rows of one switch, or why they are missing.
type Switch struct {
	Name, Address string
	At            time.Time  // by the clock of the switch; zero: unknown
	Rows          []rows.Row // of [Tables], sorted by table and key
	Missing       string     // why it gave no answer, one line; "" where it answered
}

// Tables are those that a frame has, by database; one that ends in * is all that begin so.
var Tables = map[string][]string{
	"CONFIG_DB": {"SLUICE*", "PORT", "PORTCHANNEL", "PORTCHANNEL_MEMBER"},
	"STATE_DB": {
		"SLUICE_STATE", "SLUICE_CAPABILITY", "SLUICE_CONFIG_ERROR", "SLUICE_FLOW", "SLUICE_HOLD", "SLUICE_HOST",
		"SLUICE_PLACEMENT_FABRIC", "SLUICE_PLACEMENT_GROUP", "SLUICE_PLACEMENT_MEMBER", "SLUICE_NEXT_HOP", "SLUICE_HASH",
	},
	"COUNTERS_DB": {
		"SLUICE_STATS", "SLUICE_PORT_STATS", "SLUICE_QUEUE_STATS", "SLUICE_DEPTH_STATS", "SLUICE_TURN_STATS",
		"SLUICE_NOTIFY_STATS", "SLUICE_IPFIX_STATS", "SLUICE_GNMI_STATS",
	},
}

// A Source is one series of frames: live, kept in memory, of a file, of Prometheus, simulated.
type Source interface {
	// Span is the first and last time that can be asked; ok is false before the first frame.
	Span() (first, last time.Time, ok bool)
	// At returns the last frame up to t, and that before it (for rates); nil where there is none.
	At(ctx context.Context, t time.Time) (f, before *Frame, err error)
}
