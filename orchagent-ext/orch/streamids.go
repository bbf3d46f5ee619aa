// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"errors"
	"iter"
	"net/netip"
	"strconv"

	"sluice/orchagent-ext/asic"
	"sluice/orchagent-ext/flow"
	"sluice/yang/rows"
)

// streamIDs are the Stream IDs of the flows that are shown, by the scope that is
// configured. Nothing in it waits: a flow without an id is asked for again at the
// next look.
type streamIDs struct {
	scope      scope         // nil: no flow is to have one
	made       scopeSettings // scope
	flows      map[flow.Key]*streamFlow
	remembered map[flow.Key]uint16 // of an earlier process
	stats      streamCounts
	lost       uint64 // leases of scopes that are no more
}

// streamCounts counts Stream IDs, of the flows of SLUICE_FLOW.
type streamCounts struct {
	Flows, Waiting uint64 // that have an id now, that are to have one and have none
	Conflicts      uint64 // of those with an id: whose id another flow has, too

	Allocated, Changed, Failed uint64 // flows that got an id, another one, none since all are in use
	LeasesLost                 uint64 // in etcd
}

// streamFlow is a flow that is shown, or that keeps its id though it is not.
type streamFlow struct {
	id     uint16 // 0: none now
	last   uint16 // the one it had last
	failed bool   // that there is none for it was counted
}

// scope is where ids come from.
type scope interface {
	// want says that a flow is to have an id until release, and returns the one
	// that it has now; 0: none yet. The error is flow.ErrNoStreamID.
	want(k flow.Key) (uint16, error)
	release(k flow.Key)

	// keeps says whether a flow keeps its id as long as it lives, shown or not.
	keeps() bool

	name() string // as SLUICE_STATE has it
	// err says why no flow has an id.
	err() error
	// lost counts leases that were lost.
	lost() uint64
	// stop ends it, and does not wait.
	stop()
}

// streamKey is what nodes call one flow: with the label that its packets leave with.
func streamKey(f asic.FlowEntry) flow.Key {
	return flow.Key{Src: f.Src.As16(), Dst: f.Dst.As16(), FlowLabel: f.Label}
}

// use changes to another scope; made tells it from others. All ids are given again
// but those that begin says flows have.
func (s *streamIDs) use(made scopeSettings, begin func(have map[flow.Key]*streamFlow) scope) {
	if s.flows != nil && s.made == made {
		return
	}
	if s.scope != nil {
		s.scope.stop()
		s.lost += s.scope.lost()
	}
	s.made, s.flows = made, map[flow.Key]*streamFlow{}
	s.scope = begin(s.flows)
}

// name says which scope gives ids: none, and why, where no flow has one. It is
// empty where none is to have one.
func (s *streamIDs) name() (name string, why error) {
	if s.scope == nil {
		return "", nil
	}
	if why = s.scope.err(); why != nil {
		return "none", why
	}
	return s.scope.name(), nil
}

// show says which flows are shown, of those that live, and brings their ids and the
// counts up to date. IPv4 has no PFCM, so its flows get none.
func (s *streamIDs) show(shown []asic.FlowEntry, live iter.Seq[asic.FlowEntry]) {
	s.stats.Flows, s.stats.Waiting, s.stats.Conflicts = 0, 0, 0
	if s.scope == nil {
		return
	}
	keep := map[flow.Key]bool{}
	for _, f := range shown {
		if k := streamKey(f); f.Src.Is6() && !keep[k] {
			keep[k] = true
			s.look(k)
		}
	}
	sharing := map[uint16]uint64{}
	for k := range keep {
		if id := s.flows[k].id; id != 0 {
			sharing[id]++
			s.stats.Flows++
		} else {
			s.stats.Waiting++
		}
	}
	for _, n := range sharing {
		if n > 1 {
			s.stats.Conflicts += n
		}
	}
	s.stats.LeasesLost = s.lost + s.scope.lost()
	if s.scope.keeps() && len(s.flows) > len(keep) {
		for f := range live {
			keep[streamKey(f)] = true
		}
	}
	for k := range s.flows {
		if !keep[k] {
			delete(s.flows, k)
			s.scope.release(k)
		}
	}
}

// look asks for the id of a flow.
func (s *streamIDs) look(k flow.Key) {
	f := s.flows[k]
	if f == nil {
		f = &streamFlow{}
		s.flows[k] = f
	}
	var err error
	f.id, err = s.scope.want(k)
	switch {
	case errors.Is(err, flow.ErrNoStreamID) && !f.failed:
		s.stats.Failed++
		f.failed = true
	case f.id == 0:
	case f.last == 0:
		s.stats.Allocated++
	case f.last != f.id:
		s.stats.Changed++
	}
	if f.id != 0 {
		f.last, f.failed = f.id, false
	}
}

// id is the id of a flow that is shown; 0: it has none.
func (s *streamIDs) id(f asic.FlowEntry) uint16 {
	if known := s.flows[streamKey(f)]; known != nil && f.Src.Is6() {
		return known.id
	}
	return 0
}

// remember reads off rows of SLUICE_FLOW which ids an earlier process gave.
func (s *streamIDs) remember(of []rows.Row) {
	s.remembered = map[flow.Key]uint16{}
	for _, r := range of {
		src, err1 := netip.ParseAddr(r.Fields["src"])
		dst, err2 := netip.ParseAddr(r.Fields["dst"])
		label, err3 := strconv.ParseUint(r.Fields["flow_label"], 10, 20)
		id, err4 := strconv.ParseUint(r.Fields["stream_id"], 10, 16)
		if errors.Join(err1, err2, err3, err4) == nil {
			s.remembered[streamKey(asic.FlowEntry{Src: src, Dst: dst, Label: uint32(label)})] = uint16(id)
		}
	}
}
