// SPDX-License-Identifier: Apache-2.0

package notify

import "fmt"

// Action is the request of a [PFCM], as the octet is on the wire: the type in the upper 2
// bits, the percentage of reduction in the lower 6 (draft-yang section 4.1).
type Action uint8

// ActionType is the upper 2 bits of an [Action]. Its zero value cancels; 3 is reserved.
type ActionType uint8

// The action types.
const (
	// cancels what the same neighbor asked for this stream and queue
	NoBackpressure ActionType = iota
	PauseFlow
	ReduceRate
	ReservedActionType // refused
)

// actionNames are the names of the types, by their 2 bits.
var actionNames = []string{"cancel", "pause", "reduce", "reserved"}

// String returns the name in JSON, flags and rows. Bits above the lower 2 are ignored, so
// every value has a name.
func (t ActionType) String() string { return actionNames[t&3] }

// The actions without a percentage.
const (
	Cancel = Action(NoBackpressure << 6)
	Pause  = Action(PauseFlow << 6)
)

// Reduce returns the action that asks for a rate lower by percent, of the rate
// that the flow had when the hold began, so that a refresh does not compound.
//
// Decision: draft-yang section 4.1 has "0-100" in 6 bits, which end at 63. So
// 64 to 99 become 63, and 100 or more is a pause. 0 or less is 0: telemetry,
// which slows nothing.
//
//conformance:draft-yang/percent
func Reduce(percent int) Action {
	if percent >= 100 {
		return Pause
	}
	return Action(ReduceRate<<6) | Action(min(max(percent, 0), MaxReduction))
}

// Type is the action's upper 2 bits.
//
//conformance:draft-yang/action
func (a Action) Type() ActionType { return ActionType(a >> 6) }

// Percent is the reduction in percent: 0 to 63 for [ReduceRate], 100 for
// [PauseFlow], 0 for the others. The lower bits of those are ignored.
func (a Action) Percent() int {
	switch a.Type() {
	case PauseFlow:
		return 100
	case ReduceRate:
		return int(a & MaxReduction)
	}
	return 0
}

// String is the type, with the percentage of a reduction: "reduce 50%". The percentage of
// a pause or a cancel is left out, since receivers ignore it.
func (a Action) String() string {
	if a.Type() == ReduceRate {
		return fmt.Sprintf("reduce %d%%", a.Percent())
	}
	return a.Type().String()
}
