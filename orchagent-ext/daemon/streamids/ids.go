// SPDX-License-Identifier: Apache-2.0

package streamids

import (
	"errors"
	"iter"
	"net/netip"
	"reflect"
	"strconv"

	"sluice/orchagent-ext/daemon/status"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/switch/engine"
	"sluice/yang/rows"
)

// IDs are the Stream IDs of the flows that are shown. With the zero value they are off. It is for
// one goroutine.
type IDs struct {
	scope      scope    // nil: Stream IDs are off
	settings   Settings // of the scope
	global     task.Part[Settings, globalReport, *globalTask]
	flows      map[flow.Key]*streamFlow
	remembered map[flow.Key]uint16 // of an earlier process
	stats      Counts
	lost       uint64 // leases of scopes before this one
}

// Counts counts Stream IDs, of the flows of SLUICE_FLOW.
type Counts struct {
	Flows, Waiting uint64 // that have an id now, that wait for one
	Conflicts      uint64 // of those with an id: whose id another flow has, too

	// flows that got an id, another one, and that wait since all are in use
	Allocated, Changed, Failed uint64
	LeasesLost                 uint64 // in etcd
}

// streamFlow is a flow that is shown, or that was and keeps its id.
type streamFlow struct {
	id     uint16 // 0: it waits for one
	last   uint16 // the one it had last
	failed bool   // its failure was counted
}

// scope is where ids come from.
type scope interface {
	// want gives a flow an ID until release, and returns the one that it has now; 0: it
	// waits for one. The error is flow.ErrNoStreamID.
	want(k flow.Key) (uint16, error)
	release(k flow.Key)

	// keeps reports whether a flow keeps its ID as long as it has an entry, also one that is hidden.
	keeps() bool

	name() string // as SLUICE_STATE has it
	// err returns why all flows lack an ID; nil: flows have.
	err() error
	// lost counts leases that were lost.
	lost() uint64
}

// streamKey is the flow that an ID names, with the label of its packets on the wire.
func streamKey(f engine.FlowEntry) flow.Key {
	return flow.Key{Src: f.Src.As16(), Dst: f.Dst.As16(), FlowLabel: f.Label}
}

// use changes to another scope, which begin returns. All flows get IDs again, besides those
// that begin puts into have.
func (s *IDs) use(settings Settings, begin func(have map[flow.Key]*streamFlow) scope) {
	if s.flows != nil && reflect.DeepEqual(s.settings, settings) {
		return
	}
	if s.scope != nil {
		s.lost += s.scope.lost()
	}
	s.global.Cancel()
	s.settings, s.flows = settings, map[flow.Key]*streamFlow{}
	s.scope = begin(s.flows)
}

// Counts returns the counters.
func (s *IDs) Counts() Counts { return s.stats }

// Describe adds the scope that gives IDs to a report, or the reason for which they lack one.
func (s *IDs) Describe(r *status.Report) {
	name, why := s.name()
	if name == "" {
		return
	}
	rows.SetEnum(&r.Row.StreamIds, name)
	if why != nil {
		r.Warn("stream ids: " + why.Error())
	}
}

// name returns the scope that gives IDs: "none", with the reason, where no flow has one; ""
// where no flow is to have one.
func (s *IDs) name() (name string, why error) {
	if s.scope == nil {
		return "", nil
	}
	if why = s.scope.err(); why != nil {
		return "none", why
	}
	return s.scope.name(), nil
}

// Show brings the IDs of the flows that are shown, and the counters, up to date. live are all
// flows with an entry. IPv4 has no PFCM, so its flows get no ID.
func (s *IDs) Show(shown []engine.FlowEntry, live iter.Seq[engine.FlowEntry]) {
	s.stats.Flows, s.stats.Waiting, s.stats.Conflicts = 0, 0, 0
	if s.scope == nil {
		return
	}
	keep := map[flow.Key]bool{}
	for _, f := range shown {
		if k := streamKey(f); f.Src.Is6() && !keep[k] {
			keep[k] = true
			s.update(k)
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

// update asks for the id of a flow.
func (s *IDs) update(k flow.Key) {
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

// ID returns the ID of a flow that is shown; 0 where it lacks one.
func (s *IDs) ID(f engine.FlowEntry) uint16 {
	if known := s.flows[streamKey(f)]; known != nil && f.Src.Is6() {
		return known.id
	}
	return 0
}

// Remember takes the IDs that an earlier process gave from its rows of SLUICE_FLOW.
func (s *IDs) Remember(of []rows.Row) {
	s.remembered = map[flow.Key]uint16{}
	for _, r := range of {
		src, err1 := netip.ParseAddr(r.Fields["src"])
		dst, err2 := netip.ParseAddr(r.Fields["dst"])
		label, err3 := strconv.ParseUint(r.Fields["flow_label"], 10, 20)
		id, err4 := strconv.ParseUint(r.Fields["stream_id"], 10, 16)
		if errors.Join(err1, err2, err3, err4) == nil {
			s.remembered[streamKey(engine.FlowEntry{Src: src, Dst: dst, Label: uint32(label)})] = uint16(id)
		}
	}
}
