// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"time"

	"sluice/yang/model"
)

// Tables of STATE_DB.
const (
	TableState       = "SLUICE_STATE"
	TableCapability  = "SLUICE_CAPABILITY"
	TableConfigError = "SLUICE_CONFIG_ERROR"
	TableObject      = "SLUICE_ASIC_OBJECT"
	TableFlow        = "SLUICE_FLOW"
	TableHold        = "SLUICE_HOLD"
	TableHost        = "SLUICE_HOST"

	TablePlacementFabric = "SLUICE_PLACEMENT_FABRIC"
	TablePlacementGroup  = "SLUICE_PLACEMENT_GROUP"
	TablePlacementMember = "SLUICE_PLACEMENT_MEMBER"

	TableNextHop = "SLUICE_NEXT_HOP"
	TableHash    = "SLUICE_HASH"
)

// Tables of COUNTERS_DB.
const (
	TableStats      = "SLUICE_STATS"
	TablePortStats  = "SLUICE_PORT_STATS"
	TableQueueStats = "SLUICE_QUEUE_STATS"
	TableDepthStats = "SLUICE_DEPTH_STATS"
	TableTurnStats  = "SLUICE_TURN_STATS"
	TableIPFIXStats = "SLUICE_IPFIX_STATS"
	TableNotify     = "SLUICE_NOTIFY_STATS"
)

// Silence is the age of the time alive of SLUICE_STATE from which on all rows are stale: sluiced writes
// it each second.
const Silence = 5 * time.Second

// The phases of the daemon.
const (
	Starting = "starting" // the switch or the configuration is still to come
	Running  = "running"  // the switch is as configured
	Degraded = "degraded" // the switch is as configured in part: the warnings name the rest
	// SLUICE|global admin_state=disabled: no object of Sluice is on the switch
	Disabled = "disabled"
)

// Off is a disabled feature; Active and Failed are as with flow labels.
const Off = "disabled"

// The status of flow labels.
const (
	Active = "active" // written, or ECMP hashes the queue pair
	// a method is in use, and the switch does not show that it is in force
	Unproven = "unproven"
	Inactive = "inactive" // disabled
	Failed   = "failed"   // enabled, and the switch lacks a method
)

// The rows of the tables, as the state model has them.
type (
	// State is SLUICE_STATE|global.
	State = model.SonicSluiceState_SonicSluiceState_SLUICE_STATE_Global
	// Capability is SLUICE_CAPABILITY|switch.
	Capability = model.SonicSluiceState_SonicSluiceState_SLUICE_CAPABILITY_Switch
	// Rejection is a row of SLUICE_CONFIG_ERROR.
	Rejection = model.SonicSluiceState_SonicSluiceState_SLUICE_CONFIG_ERROR_SLUICE_CONFIG_ERROR_LIST
	// Flow is a row of SLUICE_FLOW.
	Flow = model.SonicSluiceState_SonicSluiceState_SLUICE_FLOW_SLUICE_FLOW_LIST
	// Hold is a row of SLUICE_HOLD.
	Hold = model.SonicSluiceState_SonicSluiceState_SLUICE_HOLD_SLUICE_HOLD_LIST
	// Host is a row of SLUICE_HOST.
	Host = model.SonicSluiceState_SonicSluiceState_SLUICE_HOST_SLUICE_HOST_LIST
	// PlacementFabric is SLUICE_PLACEMENT_FABRIC|global.
	PlacementFabric = model.SonicSluiceState_SonicSluiceState_SLUICE_PLACEMENT_FABRIC_Global
	// PlacementGroup is a row of SLUICE_PLACEMENT_GROUP.
	PlacementGroup = model.SonicSluiceState_SonicSluiceState_SLUICE_PLACEMENT_GROUP_SLUICE_PLACEMENT_GROUP_LIST
	// PlacementMember is a row of SLUICE_PLACEMENT_MEMBER.
	PlacementMember = model.SonicSluiceState_SonicSluiceState_SLUICE_PLACEMENT_MEMBER_SLUICE_PLACEMENT_MEMBER_LIST
	// NextHop is a row of SLUICE_NEXT_HOP.
	NextHop = model.SonicSluiceState_SonicSluiceState_SLUICE_NEXT_HOP_SLUICE_NEXT_HOP_LIST
	// Hash is a row of SLUICE_HASH.
	Hash = model.SonicSluiceState_SonicSluiceState_SLUICE_HASH_SLUICE_HASH_LIST
	// Stats is SLUICE_STATS:global.
	Stats = model.SonicSluiceState_SonicSluiceState_SLUICE_STATS_Global
	// PortStats is a row of SLUICE_PORT_STATS.
	PortStats = model.SonicSluiceState_SonicSluiceState_SLUICE_PORT_STATS_SLUICE_PORT_STATS_LIST
	// QueueStats is a row of SLUICE_QUEUE_STATS.
	QueueStats = model.SonicSluiceState_SonicSluiceState_SLUICE_QUEUE_STATS_SLUICE_QUEUE_STATS_LIST
	// DepthStats is a row of SLUICE_DEPTH_STATS.
	DepthStats = model.SonicSluiceState_SonicSluiceState_SLUICE_DEPTH_STATS_SLUICE_DEPTH_STATS_LIST
	// TurnStats is a row of SLUICE_TURN_STATS.
	TurnStats = model.SonicSluiceState_SonicSluiceState_SLUICE_TURN_STATS_SLUICE_TURN_STATS_LIST
	// IPFIXStats is a row of SLUICE_IPFIX_STATS.
	IPFIXStats = model.SonicSluiceState_SonicSluiceState_SLUICE_IPFIX_STATS_SLUICE_IPFIX_STATS_LIST
	// NotifyStats is a row of SLUICE_NOTIFY_STATS.
	NotifyStats = model.SonicSluiceState_SonicSluiceState_SLUICE_NOTIFY_STATS_SLUICE_NOTIFY_STATS_LIST
)

// Text returns the leaf of a text; nil for "". A leaf that is nil has no field in the
// row.
func Text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Count is a leaf that is a count. It is never nil: a count of 0 is published.
func Count[N ~int | ~uint64](n N) *uint64 {
	v := uint64(n)
	return &v
}

// Small is a leaf that is a number of something, of 32 bits. n is 0 or more.
func Small(n int) *uint32 {
	v := uint32(n)
	return &v
}

// Stamp is a time with seconds. It is UTC in RFC 3339, as type date-and-time of the
// model; a zero time is year 1.
func Stamp(t time.Time) *string { return Text(t.UTC().Format(time.RFC3339)) }

// FineStamp is a time with milliseconds.
func FineStamp(t time.Time) *string {
	return Text(t.UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano))
}
