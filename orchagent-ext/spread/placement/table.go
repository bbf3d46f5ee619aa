// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"errors"
	"fmt"
	"net/netip"

	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/wire/roce"
)

// A Flow has the fields that an entry on the switch matches, and the source port, which
// ECMP hashes. Addresses are those of the packet's outermost header, of IPv6.
type Flow struct {
	Src, Dst netip.Addr
	DestQP   uint32 // 24 bits
	SrcPort  uint16 // UDP
}

// A Member is a next hop of the group, in the order that the model counts them.
type Member struct {
	Name   string  // of its port, unique in the group
	Weight float64 // its share of the load, in any unit; 0: kept free
}

// Moves is the set of flows that may exchange their label for another.
type Moves uint8

// The permissions. A held flow stays with all of them.
const (
	MovesIdle Moves = iota // those of a steady counter for IdleNS
	MovesAny               // all; packets of the flow may arrive in another order
	// none, but for the first choice for one that [Table.Enter] added
	MovesNever
)

// Config has the operator's settings. The zero value of a field means its default.
type Config struct {
	Capacity  int     // flows at most; 16384
	Leaves    int     // destination leaves are numbered below it; 0: unknown
	Moves     Moves   // which flows may move
	IdleNS    int64   // a flow of a steady counter for so long is idle; 50 ms
	MaxMoves  int     // at most so many a look; 64
	Threshold float64 // worst ÷ mean above which flows move; 1.05
	Goal      float64 // worst ÷ mean at which they stop; 1.02
	Largest   int     // only so many flows, the largest, are considered for a move; 512
	RestNS    int64   // time between two moves of a flow; 1 s
	RateNS    int64   // time constant of the average of rates; 1 s

	// WindowNS is the least time over which rates are measured, where flows are sampled more
	// often and looked at after each round of samples: a window ends when all pause, or
	// after twice the time, so that bursts count as wholes. While loads change, flows stay
	// (settle.go). 0: each sample is a window, and moves are made at once.
	WindowNS int64
}

// withDefaults returns the configuration with its zero fields set.
func (c Config) withDefaults() Config {
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def64 := func(v *int64, d int64) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&c.Capacity, 16384)
	def(&c.MaxMoves, 64)
	def(&c.Largest, 512)
	def64(&c.IdleNS, 50e6)
	def64(&c.RestNS, 1e9)
	def64(&c.RateNS, 1e9)
	if c.Threshold <= 1 {
		c.Threshold = 1.05
	}
	if c.Goal <= 1 || c.Goal > c.Threshold {
		c.Goal = 1 + (c.Threshold-1)*0.4
	}
	return c
}

// unknown is the member of a flow whose path is unknown.
const unknown = -1

// An entry is a flow of the table.
type entry struct {
	flow       Flow
	leaf       int    // destination leaf; -1: unknown
	label      uint32 // in force
	hash       uint32 // that the flow would have by its hash
	member     int    // of the label, or unknown
	hashMember int    // of the hash label, or unknown
	told       uint32 // the label of the last observation given to the model

	class    int     // of size, see [Table.classOf]
	rate     float64 // octets/s, an average
	measured bool    // rate is known
	octets   uint64  // last sample of the entry's counter
	sampled  int64   // when
	still    int64   // the first sample that had this value
	seen     bool    // there was a sample
	last     float64 // octets/s in the last window
	from     uint64  // octets where the window began
	begun    int64   // when that was
	cycle    cycle

	// held: a hold of the flow is in force, so that it stays where it is. movedAt is in ns, and
	// holds where moved is true.
	held    bool
	first   bool // it sends with its hash label, and its first choice waits for a pause
	moved   bool
	movedAt int64
	live    bool // the slot is in use
}

// use is a label in use between two hosts.
type use struct {
	src, dst netip.Addr
	label    uint32
}

// A Table has the flows of one ECMP group.
type Table struct {
	// cfg with its defaults filled in; model and members are those of the last
	// [Table.SetGroup]: nil and empty before it.
	cfg     Config
	model   ecmp.Model
	members []Member
	weight  float64 // of all members

	// Flows by slot: free has the unused slots, index finds a flow's slot, used counts
	// the flows of two hosts that have the same label.
	entries []entry
	free    []uint32
	index   map[Flow]uint32
	used    map[use]uint32 // how many have it

	load       []float64 // by member: octets/s of flows that were measured
	fresh      []int     // by member: flows still unmeasured
	toLeaf     []int     // by leaf and member: flows
	sum        float64   // octets/s of all measured flows, also of unknown members
	count      int       // flows that were measured and send
	unmeasured int       // unmeasured flows
	predicted  []uint64  // by member: octets since the last Check

	// The zero value of each of these is the state before the first look; SetGroup drops
	// quotas and check, as members have other numbers then.
	quotas   quotas
	check    check
	settling settling
	rest     rest
	goal     float64 // worst ÷ mean at which the moves of a look stop
	evening  bool    // moves go on until the goal
	rounds   int     // of moves since then that were measured again
	// flows on members above the threshold that would have to be idle to move, at the last look
	busy    int
	recheck int64 // number of the window until which they are
	again   int   // times that the load of flows that pause for long is looked at again
	againAt int64 // when it is next, in ns; 0: unknown
	// Totals since New. moves, sorted, excluded and tuple are scratch of one look, kept
	// for their memory: moves is what [Table.Look] returned last.
	stats    Stats
	moves    []Move
	sorted   []uint32
	excluded map[uint32]bool
	tuple    ecmp.Tuple
}

// New returns a table without members: until [Table.SetGroup], flows get hash labels.
func New(cfg Config) *Table {
	return &Table{cfg: cfg.withDefaults(), index: map[Flow]uint32{}, used: map[use]uint32{}, excluded: map[uint32]bool{}}
}

// Tune sets what of the configuration may change while flows are placed: which flows move, when,
// how many, and from which load on. Flows, rates and counters stay.
func (t *Table) Tune(cfg Config) {
	c := t.cfg
	c.Moves, c.IdleNS, c.MaxMoves, c.Threshold, c.Goal = cfg.Moves, cfg.IdleNS, cfg.MaxMoves, cfg.Threshold, cfg.Goal
	t.cfg = c.withDefaults()
}

// SetGroup replaces the model and the members: at the start, and when a member, a weight,
// a bucket or the route changed. Labels stay; the paths of all flows are predicted again.
// It returns how many flows with a known path have another one now. Quotas are dropped.
// An error leaves the table as it was.
func (t *Table) SetGroup(model ecmp.Model, members []Member) (rerouted int, err error) {
	if model == nil {
		return 0, errors.New("placement: no model")
	}
	names := map[string]bool{}
	weight := 0.0
	for i, m := range members {
		if !(m.Weight >= 0 && m.Weight <= 1e18) {
			return 0, fmt.Errorf("placement: member %d (%s) has weight %v: a number of 0 or more is possible", i, m.Name, m.Weight)
		}
		if names[m.Name] {
			return 0, fmt.Errorf("placement: two members are called %q", m.Name)
		}
		names[m.Name] = true
		weight += m.Weight
	}
	before := t.members
	t.model, t.members, t.weight = model, append([]Member(nil), members...), weight
	n := len(members)
	t.load, t.fresh, t.predicted = make([]float64, n), make([]int, n), make([]uint64, n)
	t.toLeaf = make([]int, n*t.cfg.Leaves)
	t.quotas, t.check, t.evening = quotas{}, check{}, false
	for i := range t.entries {
		e := &t.entries[i]
		if !e.live {
			continue
		}
		was := e.member
		e.member, e.hashMember, e.told = t.predict(e, e.label), t.predict(e, e.hash), 0
		if was != unknown && (e.member == unknown || members[e.member].Name != before[was].Name) {
			rerouted++
		}
	}
	t.recount()
	return rerouted, nil
}

// predict is the model's member for the flow with a label, or unknown.
func (t *Table) predict(e *entry, label uint32) int {
	t.setTuple(e, label)
	return t.predictNext(label)
}

// setTuple sets the scratch tuple to a flow's packets with a label.
func (t *Table) setTuple(e *entry, label uint32) {
	t.tuple = ecmp.Tuple{Src: e.flow.Src, Dst: e.flow.Dst, Proto: 17, SrcPort: e.flow.SrcPort, DstPort: roce.UDPPort, FlowLabel: label}
}

// lookup returns the entry of a flow, or nil.
func (t *Table) lookup(f *Flow) *entry {
	if i, ok := t.index[*f]; ok {
		return &t.entries[i]
	}
	return nil
}

// Len is the number of flows.
func (t *Table) Len() int { return len(t.index) }

// Label returns the label of a flow, and its member (-1: unknown).
func (t *Table) Label(f Flow) (label uint32, member int, ok bool) {
	if e := t.lookup(&f); e != nil {
		return e.label, e.member, true
	}
	return 0, unknown, false
}

// Forget removes a flow; its label is free again.
func (t *Table) Forget(f Flow) {
	i, ok := t.index[f]
	if !ok {
		return
	}
	e := &t.entries[i]
	t.account(e, -1)
	t.release(&f, e.label)
	delete(t.index, f)
	*e = entry{}
	t.free = append(t.free, i)
}

// release frees a label between the two hosts of a flow.
func (t *Table) release(f *Flow, label uint32) {
	u := use{f.Src, f.Dst, label}
	if n := t.used[u]; n > 1 {
		t.used[u] = n - 1
	} else {
		delete(t.used, u)
	}
}

// SetLeaf sets the destination leaf of a flow; -1: unknown.
func (t *Table) SetLeaf(f Flow, leaf int) {
	e := t.lookup(&f)
	if leaf >= t.cfg.Leaves || leaf < 0 {
		leaf = -1
	}
	if e == nil || e.leaf == leaf {
		return
	}
	t.account(e, -1)
	e.leaf = leaf
	t.account(e, 1)
}

// SetHeld sets which flows are held, by their labels in force: a held flow keeps its label. Its
// packets wait on the switch while its counter rests, so it begins to be idle when the hold ends.
func (t *Table) SetHeld(held func(f Flow, label uint32) bool) {
	for i := range t.entries {
		e := &t.entries[i]
		if !e.live {
			continue
		}
		if e.held = held(e.flow, e.label); e.held {
			e.still = e.sampled
		}
	}
}
