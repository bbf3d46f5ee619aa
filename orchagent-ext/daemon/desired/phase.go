// SPDX-License-Identifier: Apache-2.0

package desired

import "time"

// Phase is how much of the configuration CONFIG_DB has.
type Phase uint8

// The phases. SONiC writes CONFIG_DB table after table, at the start and when it loads the
// database again, which empties it first.
const (
	Unread   Phase = iota // before the first rows
	Starting              // the first rows are there, and more may come
	// likewise, and the rows behind the objects on the switch are unknown
	StartingBlind
	Settling         // ports are there again, and more rows may come
	Steady           // the configuration is complete
	Unloaded         // Steady, and then all ports were lost
	UnloadedStarting // Starting, and then all ports were lost
	UnloadedBlind    // StartingBlind, and then all ports were lost
	UnloadedSettling // Settling, and then all ports were lost
)

// Event is what happens to CONFIG_DB.
type Event uint8

// The events.
const (
	FirstRows      Event = iota // rows are there for the first time
	FirstRowsBlind              // likewise; objects are on the switch, of unknown rows
	PortsLost                   // CONFIG_DB has lost all rows of PORT
	PortsBack                   // it has some again
	Complete                    // the configuration is complete, or its time is up
)

// transitions are the phases after an event, by the phase before it.
var transitions = map[Event]map[Phase]Phase{
	FirstRows:      {Unread: Starting},
	FirstRowsBlind: {Unread: StartingBlind},
	PortsLost:      {Starting: UnloadedStarting, StartingBlind: UnloadedBlind, Settling: UnloadedSettling, Steady: Unloaded},
	PortsBack:      {UnloadedStarting: Starting, UnloadedBlind: StartingBlind, UnloadedSettling: Settling, Unloaded: Settling},
	Complete:       {Starting: Steady, StartingBlind: Steady, Settling: Steady},
}

// After returns the phase after an event: the same one where the event changes nothing.
func (p Phase) After(e Event) Phase {
	if next, ok := transitions[e][p]; ok {
		return next
	}
	return p
}

// Unloaded reports whether CONFIG_DB has lost its ports. The snapshot is the last complete one.
func (p Phase) Unloaded() bool { return p >= Unloaded }

// incomplete reports whether more rows may come.
func (p Phase) incomplete() bool { return p != Unread && p != Steady && p != Unloaded }

// SettleTime is how long CONFIG_DB is to be quiet while more rows may come.
const SettleTime = 2 * time.Second

// untilAChange is how long to wait where only a change of CONFIG_DB gives something to do.
const untilAChange = time.Hour

// delay returns when to act on a change. complete reports whether all rows are there that were
// in force before; loaded asks whether SONiC reports that it has loaded CONFIG_DB.
func (p Phase) delay(complete bool, loaded func() bool) time.Duration {
	wait := false
	switch p {
	case Starting:
		wait = !complete && !loaded()
	case StartingBlind:
		wait = !loaded()
	case Settling:
		wait = !complete
	}
	if wait {
		return SettleTime
	}
	return 0
}
