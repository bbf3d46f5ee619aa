// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"fmt"
	"slices"
	"strings"

	"sluice/orchagent-ext/spread/ecmp"
)

// MaxHops is how many switches are asked at most.
const MaxHops = 16

// A Switch is how one switch forwards a flow.
type Switch struct {
	Members []Member
	// Choose returns the member for a packet, and whether it is alive; nil: the choice among
	// several is unknown, for the reason in Unknown.
	Choose  func(*ecmp.Tuple) (int, bool)
	Unknown error
	// Hash is the hash by which Choose chooses among several members; nil: it is not known.
	Hash *ecmp.Kernel
	// Written is the label that the switch writes into unlabelled packets of the flow; 0: it
	// leaves them unlabelled.
	Written uint32
}

// A Member is a next hop and the neighbor there. Unknown values are empty.
type Member struct {
	// Port and Via: Via: address; empty: the destination is on the link
	Port, Via string
	// Neighbor, Behind, Address: name of the switch or host, its port, its management
	// address
	Neighbor, Behind, Address string
	Edge                      bool // the port faces hosts
	// Weight is that of a next hop that a switch publishes, 1 to 256, and State up, dead or
	// unresolved.
	Weight int
	State  string
}

// A Hop is one switch on the way, and how it forwards the flow.
type Hop struct {
	// Switch is the name of the switch.
	Switch string `json:"switch"`
	// FlowLabel is the label with which the packet arrives there, 20 bits.
	FlowLabel uint32 `json:"flow_label"`
	// Port: empty: see OneOf, or the trace's reason
	Port string `json:"port,omitempty"`
	// OneOf: ports, where the choice is not known
	OneOf []string `json:"one_of,omitempty"`
	// Via: empty: the destination is on the link
	Via string `json:"via,omitempty"`
	// Neighbor is the name of the next node; "" for an unknown one.
	Neighbor string `json:"neighbor,omitempty"`
	// Behind is the port at which it receives.
	Behind string `json:"neighbor_port,omitempty"`
}

// A Trace is the way of a flow as far as it is known.
type Trace struct {
	// Hops are the switches in the order of the path.
	Hops []Hop `json:"hops"`
	// Arrives: at the destination, or at a port that faces hosts
	Arrives bool   `json:"arrives"`
	Reason  string `json:"reason,omitempty"` // why it ends before
}

// Follow traces packets with these headers from a switch on. ask returns the switch of a
// name, whose management address may be known.
func Follow(name string, first *Switch, t ecmp.Tuple, ask func(name, address string) (*Switch, error)) (r Trace) {
	for here := first; ; {
		if t.FlowLabel == 0 && t.Dst.Is6() {
			t.FlowLabel = here.Written
		}
		h := Hop{Switch: name, FlowLabel: t.FlowLabel}
		m, why := here.next(&t, &h)
		r.Hops = append(r.Hops, h)
		switch {
		case why != "":
			r.Reason = name + ": " + why
			return r
		case m.Via == "", m.Edge:
			r.Arrives = true
			return r
		case m.Neighbor == "":
			r.Reason = fmt.Sprintf("%s: the switch behind %s is not known: give %s a row DEVICE_NEIGHBOR|%s with its name", name, m.Port, name, m.Port)
			return r
		case slices.ContainsFunc(r.Hops, func(h Hop) bool { return h.Switch == m.Neighbor }):
			r.Reason = fmt.Sprintf("a loop: the flow comes back to %s", m.Neighbor)
			return r
		case len(r.Hops) == MaxHops:
			r.Reason = fmt.Sprintf("after %d switches the flow has not arrived; %s would be next", MaxHops, m.Neighbor)
			return r
		}
		next, err := ask(m.Neighbor, m.Address)
		if err != nil {
			r.Reason = fmt.Sprintf("%s: %v", m.Neighbor, err)
			return r
		}
		name, here = m.Neighbor, next
	}
}

// next returns the member that the switch takes, or the reason why it is unknown or
// missing. It fills in h.
func (s *Switch) next(t *ecmp.Tuple, h *Hop) (m Member, why string) {
	at := 0
	if s.Choose == nil {
		if len(s.Members) != 1 {
			for _, m := range s.Members {
				h.OneOf = append(h.OneOf, m.Port)
			}
			return m, fmt.Sprintf("one of %d uplinks: %s: %v", len(s.Members), strings.Join(h.OneOf, " "), s.Unknown)
		}
	} else {
		var alive bool
		if at, alive = s.Choose(t); !alive {
			return m, "no next hop is alive"
		}
	}
	m = s.Members[at]
	h.Port, h.Via, h.Neighbor, h.Behind = m.Port, m.Via, m.Neighbor, m.Behind
	return m, ""
}
