// SPDX-License-Identifier: Apache-2.0

package enforce

import (
	"time"

	"sluice/orchagent-ext/wire/notify"
)

// Verb is the kind of a demand.
type Verb uint8

// The verbs.
const (
	Note   Verb = iota // nothing: it is for logs and telemetry
	Limit              // let the flow go on at Keep percent of its rate
	Extend             // keep what the same key asked for; if nothing, freeze the flow at its rate
	End                // what the same key asked for is over
)

// Demand is the request of a message.
type Demand struct {
	Verb Verb
	Keep uint8         // Limit: percent of the rate that the flow had when its hold began; 0: pause
	For  time.Duration // Limit and Extend
}

// OfPFCM returns the demand of a PFCM. A reduction by 0 is telemetry.
//
//conformance:draft-yang/enforce
func OfPFCM(m *notify.PFCM) Demand {
	d := Demand{Verb: Limit, For: time.Duration(m.Time) * time.Microsecond}
	switch {
	case m.Cancels():
		return Demand{Verb: End}
	case m.Action.Type() == notify.PauseFlow:
		return d
	case m.Action.Type() == notify.ReduceRate && m.Action.Percent() > 0:
		d.Keep = uint8(100 - m.Action.Percent())
		return d
	default:
		return Demand{Verb: Note}
	}
}

// OfPPFC returns the demand of a PPFC.
//
//conformance:draft-xz/pt draft-xz/duration
func OfPPFC(m *notify.PPFC) Demand {
	d := Demand{For: time.Duration(m.PauseDuration) * time.Microsecond}
	switch {
	case m.PT == notify.Alarm:
		return Demand{Verb: Note}
	case m.PT == notify.Resume, d.For == 0:
		return Demand{Verb: End}
	case m.PT == notify.Hold:
		d.Verb = Extend
		return d
	default:
		d.Verb = Limit
		return d
	}
}
