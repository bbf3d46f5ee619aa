// SPDX-License-Identifier: Apache-2.0

package enforce

import (
	"net/netip"
	"time"

	"sluice/orchagent-ext/notify"
)

// Key tells demands apart. A newer demand replaces the one with the same key; demands
// with different keys hold beside each other.
type Key struct {
	Kind  notify.Kind // KindPFCM or KindPPFC
	From  netip.Addr  // PFCM: the neighbour's link-local address; PPFC: the congested node
	Port  uint32      // PFCM: interface index of the port that it came in by; PPFC: 0
	Queue uint16      // the congested queue; PPFC over ICMP: the congested port

	Stream uint16 // PFCM

	// PPFC: the flows that it is about.
	Source, Destination netip.Addr
	Flow                notify.FlowIdentifier
}

// PFCMKey returns the key of a PFCM that came from a neighbour in by a port.
func PFCMKey(m *notify.PFCM, from netip.Addr, port uint32) Key {
	return Key{Kind: notify.KindPFCM, From: from, Port: port, Queue: uint16(m.QueueID), Stream: m.StreamID}
}

// PPFCKey returns the key of a PPFC.
//
// Decision: draft-xz says nothing on several notifications about one flow. The
// congested node and its port or queue stand in the key, so that a node ends what it
// asked for itself, and nobody else's.
func PPFCKey(m *notify.PPFC) Key {
	k := Key{Kind: notify.KindPPFC, From: m.RouterID, Queue: m.CongestionPort,
		Source: m.Source, Destination: m.Destination, Flow: m.Flow}
	if m.Transport == notify.OverUDP {
		k.Queue = m.CongestionQID
	}
	return k
}

// Verb is what a message asks for.
type Verb uint8

// The verbs.
const (
	Tell   Verb = iota // nothing: it is for logs and telemetry
	Limit              // let the flow go on at Keep percent of its rate
	Extend             // keep what the same key asked for; if nothing, freeze the flow at its rate
	End                // what the same key asked for is over
)

// Demand is what a message asks for.
type Demand struct {
	Verb Verb
	Keep uint8         // Limit: percent of the rate that the flow had when its hold began; 0: pause
	For  time.Duration // Limit and Extend
}

// OfPFCM returns what a PFCM asks for. A reduction by 0 slows nothing and is telemetry.
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
		return Demand{Verb: Tell}
	}
}

// OfPPFC returns what a PPFC asks for.
func OfPPFC(m *notify.PPFC) Demand {
	d := Demand{For: time.Duration(m.PauseDuration) * time.Microsecond}
	switch {
	case m.PT == notify.Alarm:
		return Demand{Verb: Tell}
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
