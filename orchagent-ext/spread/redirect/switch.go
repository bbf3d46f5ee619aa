// SPDX-License-Identifier: Apache-2.0

package redirect

import "net/netip"

// NextHop is where packets are redirected to.
type NextHop struct {
	Address netip.Addr // IPv4 or IPv6 of the neighbor
	Port    string     // SONiC's name
}

// Entry is a rule as the switch has it.
type Entry struct {
	Flow
	To NextHop
}

// Switch makes the entries on the switch those that are given.
type Switch interface {
	// Redirect is called again where the answer is other than Done.
	Redirect(all []Entry) (Answer, error)

	// Adopt returns the entries that are on the switch.
	Adopt() ([]Entry, error)
}

// Watcher is a [Switch] that lacks next hops which the kernel has.
type Watcher interface {
	// Lacking returns those of some next hops that have no neighbor on the switch, and those by a
	// port that is down there.
	Lacking(hops []NextHop) (neighbors, ports map[NextHop]bool, err error)
}

// Bounded is a [Switch] that knows its room, and what the operator is to do about it.
type Bounded interface {
	// Room returns how many more entries it takes; known is false before it knows.
	Room() (more int, known bool)
	Warnings() []string
}

// Answer is that of a switch to the entries that it is to have.
type Answer struct {
	Refused  map[Flow]Refusal
	Progress Progress
}

// Refusal is why a switch lacks an entry.
type Refusal struct {
	Err       error
	NoNextHop bool // the switch lacks its next hop
	Full      bool // the switch lacks the ability, or the room
}

// Progress is how far a switch is with entries.
type Progress uint8

// The progress of a switch.
const (
	Done    Progress = iota
	AtWork           // entries are missing that it is at work on
	Waiting          // all that is missing waits for others than the switch
)
