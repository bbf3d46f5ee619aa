// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"time"

	"sluice/orchagent-ext/hold/kernel"
	sai "sluice/sai-shim"
)

// Switch is the [Enforcer] of a switch that holds flows.
type Switch struct{ Library }

// Library has the calls of the switch.
type Library interface {
	SetHold(port sai.ObjectID, m sai.HoldMatch, d time.Duration, rate uint64) error
	GetHold(port sai.ObjectID, m sai.HoldMatch) (sai.HoldState, error)
}

// Hold implements [Enforcer].
func (s Switch) Hold(_ int64, t kernel.Target, d time.Duration, rate uint64) error {
	return s.SetHold(t.Port, t.Match, d, rate)
}

// Held implements [Enforcer].
func (s Switch) Held(_ int64, t kernel.Target, _ int64) (sai.HoldState, error) {
	return s.GetHold(t.Port, t.Match)
}

// Rate implements [Enforcer]: the switch measures a rate once a hold counts the flow.
func (s Switch) Rate(int64, kernel.Target) uint64 { return 0 }
