// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"sluice/orchagent-ext/sim/paths"
)

// Message is octets that one connection sends.
type Message struct {
	paths.Connection
	Octets int64
	At     int64 // ps; 0: now
	Last   bool  // the connection has ended
	Tag    int32 // the program's
	Group  int32 // the collective that it is of
}

// Program is a load in the course of a run.
type Program interface {
	// First appends the messages that begin the load.
	First(to []Message) []Message
	// Arrived appends the messages that may begin now that one has arrived.
	Arrived(to []Message, tag int32) []Message
	// Connections are those that send together at the beginning: switches decide about these
	// before the run.
	Connections() []paths.Connection
	// Groups is how many collectives there are.
	Groups() int
	// Octets is about how many octets all messages have.
	Octets() float64
}

// Spec has the operator's load (an entry of the key loads of a scenario).
type Spec struct {
	Name string `yaml:"name"` // in the report; its kind unless given
	Kind string `yaml:"kind"` // one of Kinds
	// DurationMS is how long the load takes at least: the octets are those of the busiest host's
	// link in that time.
	DurationMS float64 `yaml:"duration_ms"`
	QueuePairs int     `yaml:"queue_pairs"` // between two hosts; 4
	Hosts      int     `yaml:"hosts"`       // that take part; 0: all
	// the hosts of a collective are in a random order, over all leaves
	Scattered bool `yaml:"scattered"`
	// hosts of one ring, tree or incast; 0: all, and 64 senders of an incast
	Size     int `yaml:"size"`
	Groups   int `yaml:"groups"`   // incasts side by side; 1
	Parallel int `yaml:"parallel"` // all-to-all: hosts that one sends to at a time; 8
	// incast: part of the duration for which the other hosts send, to each other
	Background   float64 `yaml:"background"`
	Distribution string  `yaml:"distribution"` // flows: web-search or hadoop
	LoadPercent  float64 `yaml:"load_percent"` // flows: of the hosts' links; 50

	// A replay sends the messages of a capture (pcap, pcapng) or the octets of an IPFIX file, at their times.
	File   string  `yaml:"file"`
	FromMS float64 `yaml:"from_ms"` // replay: where it begins; its DurationMS 0 is all
	Speed  float64 `yaml:"speed"`   // replay: 2 is twice as fast
	Trace  []Seen  `yaml:"-"`       // of File; the reader of the scenario sets it

	messages []Message
}

// longest is the most ms of a load.
const longest = 1000

// Kinds are the kinds of loads.
var Kinds = []string{"incast", "permutation", "ring", "tree", "all-to-all", "flows", "replay"}

// Fill sets defaults, and returns an error for a load that a fabric of so many hosts cannot run.
func (s *Spec) Fill(hosts int) error {
	if !slices.Contains(Kinds, s.Kind) {
		return fmt.Errorf("kind %q: one of %v", s.Kind, Kinds)
	}
	set := func(v *int, to int) {
		if *v == 0 {
			*v = to
		}
	}
	if s.Name == "" {
		s.Name = s.Kind
	}
	if s.Kind == "replay" {
		set(&s.Hosts, hosts)
		return s.replay(hosts)
	}
	set(&s.QueuePairs, 4)
	set(&s.Hosts, hosts)
	set(&s.Groups, 1)
	set(&s.Parallel, 8)
	if s.DurationMS == 0 {
		s.DurationMS = 1
	}
	if s.LoadPercent == 0 {
		s.LoadPercent = 50
	}
	if s.Kind == "incast" {
		set(&s.Size, min(64, s.Hosts-1))
	}
	set(&s.Size, s.Hosts)
	switch {
	case s.Hosts < 2 || s.Hosts > hosts:
		return fmt.Errorf("hosts %d: 2 to %d are possible", s.Hosts, hosts)
	case s.QueuePairs < 1 || s.QueuePairs > 64:
		return fmt.Errorf("queue_pairs %d: 1 to 64 are possible", s.QueuePairs)
	case s.DurationMS < 0 || s.DurationMS > longest:
		return fmt.Errorf("duration_ms %g: up to %d is possible", s.DurationMS, longest)
	case s.Kind == "incast" && s.Groups*(s.Size+1) > s.Hosts:
		return fmt.Errorf("%d incasts of %d senders need %d hosts: there are %d", s.Groups, s.Size, s.Groups*(s.Size+1), s.Hosts)
	case (s.Kind == "ring" || s.Kind == "tree") && (s.Size < 2 || s.Hosts%s.Size != 0):
		return fmt.Errorf("size %d does not divide %d hosts", s.Size, s.Hosts)
	case s.Kind == "flows" && distributions[s.Distribution] == nil:
		return fmt.Errorf("distribution %q: web-search or hadoop", s.Distribution)
	case s.LoadPercent < 0 || s.LoadPercent > 100:
		return fmt.Errorf("load_percent %g: up to 100 is possible", s.LoadPercent)
	}
	return nil
}

// New returns a load. octetsPerS is that of a host's link.
func New(s Spec, octetsPerS float64, seed uint64) Program {
	r := rand.New(rand.NewPCG(seed, 7))
	hosts := make([]int, s.Hosts)
	for i := range hosts {
		hosts[i] = i
	}
	if s.Scattered {
		r.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
	}
	total := octetsPerS * s.DurationMS / 1000 // octets of a host
	switch s.Kind {
	case "incast":
		return newIncast(s, hosts, total)
	case "permutation":
		return newPermutation(s, hosts, total, r)
	case "ring":
		return newRing(s, hosts, total)
	case "tree":
		return newTree(s, hosts, total)
	case "all-to-all":
		return newAllToAll(s, hosts, total)
	case "replay":
		return newReplay(s, hosts)
	default:
		return newFlows(s, hosts, octetsPerS, r)
	}
}

// once is a load whose messages wait for no other.
type once struct {
	messages []Message
	groups   int
}

// First implements Program.
func (o *once) First(to []Message) []Message { return append(to, o.messages...) }

// Arrived implements Program.
func (o *once) Arrived(to []Message, _ int32) []Message { return to }

// Groups implements Program.
func (o *once) Groups() int { return o.groups }

// Octets implements Program.
func (o *once) Octets() (sum float64) {
	for _, m := range o.messages {
		sum += float64(m.Octets)
	}
	return sum
}

// Connections implements Program.
func (o *once) Connections() []paths.Connection {
	seen := map[paths.Connection]bool{}
	var all []paths.Connection
	for _, m := range o.messages {
		if !seen[m.Connection] {
			seen[m.Connection] = true
			all = append(all, m.Connection)
		}
	}
	return all
}

// pair appends a message of octets, divided among the queue pairs of two hosts.
func pair(to []Message, src, dst, queuePairs int, octets float64, tag, group int32, last bool) []Message {
	each := max(int64(octets)/int64(queuePairs), 1)
	for k := range queuePairs {
		to = append(to, Message{Connection: paths.Connection{Src: src, Dst: dst, K: k}, Octets: each, Tag: tag, Group: group, Last: last})
	}
	return to
}

// newIncast is groups of senders, each to one receiver: each receiver gets as much as its link takes
// in the duration. The other hosts send to each other at the same time where Background is
// above 0: they show whom an incast harms.
func newIncast(s Spec, hosts []int, total float64) *once {
	o := &once{groups: s.Groups}
	for g := range s.Groups {
		in := hosts[g*(s.Size+1) : (g+1)*(s.Size+1)]
		for _, src := range in[1:] {
			o.messages = pair(o.messages, src, in[0], s.QueuePairs, total/float64(s.Size), 0, int32(g), true)
		}
	}
	others := hosts[s.Groups*(s.Size+1):]
	if s.Background > 0 && len(others) > 1 {
		o.groups++
		for i, src := range others {
			o.messages = pair(o.messages, src, others[(i+len(others)/2)%len(others)], s.QueuePairs, total*s.Background, 0, int32(s.Groups), true)
		}
	}
	return o
}

// newPermutation has each host send to one other, and receive of one other.
func newPermutation(s Spec, hosts []int, total float64, r *rand.Rand) *once {
	o := &once{groups: 1}
	order := slices.Clone(hosts)
	r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for i, src := range order {
		o.messages = pair(o.messages, src, order[(i+1)%len(order)], s.QueuePairs, total, 0, 0, true)
	}
	return o
}
