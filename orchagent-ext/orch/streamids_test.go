// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/asic"
	"sluice/orchagent-ext/flow"
)

// entry is a flow of a host pair.
func entry(label uint32) asic.FlowEntry {
	return asic.FlowEntry{Src: netip.MustParseAddr("2001:db8::1"), Dst: netip.MustParseAddr("2001:db8::2"), DestQP: 10 * label, Label: label}
}

func entries(labels ...uint32) []asic.FlowEntry {
	var all []asic.FlowEntry
	for _, label := range labels {
		all = append(all, entry(label))
	}
	return all
}

// tableScope has the ids that are in it, and records its calls.
type tableScope struct {
	noScope
	ids     map[uint32]uint16 // by label
	full    bool
	life    bool
	wanted  map[uint32]bool
	stopped *int
}

func (s *tableScope) want(k flow.Key) (uint16, error) {
	if s.full {
		return 0, flow.ErrNoStreamID
	}
	s.wanted[k.FlowLabel] = true
	return s.ids[k.FlowLabel], nil
}
func (s *tableScope) release(k flow.Key) { delete(s.wanted, k.FlowLabel) }
func (s *tableScope) keeps() bool        { return s.life }
func (s *tableScope) lost() uint64       { return 1 }
func (s *tableScope) stop()              { *s.stopped++ }

func begin(s scope) func(map[flow.Key]*streamFlow) scope {
	return func(map[flow.Key]*streamFlow) scope { return s }
}

func TestStreamIDsOfWhatIsShown(t *testing.T) {
	stopped := 0
	table := &tableScope{ids: map[uint32]uint16{}, wanted: map[uint32]bool{}, stopped: &stopped}
	var s streamIDs
	s.use(scopeSettings{seed: 7}, begin(table))
	live := entries(1, 2, 3, 4)
	v4 := asic.FlowEntry{Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), DestQP: 1}
	twin := entry(1)
	twin.DestQP++ // of another queue pair, with the same label: one flow
	for i, step := range []struct {
		do    func()
		shown []asic.FlowEntry
		ids   []uint16 // of the shown ones
		want  streamCounts
		held  []uint32
	}{
		{nil, append(entries(1, 2), v4), []uint16{0, 0, 0}, streamCounts{Waiting: 2, LeasesLost: 1}, []uint32{1, 2}},
		{func() { table.ids[1], table.ids[2] = 7, 8 }, append(entries(1, 2), twin), []uint16{7, 8, 7}, streamCounts{Flows: 2, Allocated: 2, LeasesLost: 1}, []uint32{1, 2}},
		{func() { table.ids[2] = 0 }, entries(1, 2), []uint16{7, 0}, streamCounts{Flows: 1, Waiting: 1, Allocated: 2, LeasesLost: 1}, []uint32{1, 2}},
		{func() { table.ids[2] = 8 }, entries(1, 2), []uint16{7, 8}, streamCounts{Flows: 2, Allocated: 2, LeasesLost: 1}, []uint32{1, 2}},
		{func() { table.ids[2] = 9 }, entries(1, 2), []uint16{7, 9}, streamCounts{Flows: 2, Allocated: 2, Changed: 1, LeasesLost: 1}, []uint32{1, 2}},
		{func() { table.ids[3] = 9 }, entries(1, 2, 3), []uint16{7, 9, 9}, streamCounts{Flows: 3, Conflicts: 2, Allocated: 3, Changed: 1, LeasesLost: 1}, []uint32{1, 2, 3}},
		{nil, entries(3), []uint16{9}, streamCounts{Flows: 1, Allocated: 3, Changed: 1, LeasesLost: 1}, []uint32{3}},
		{func() { table.life = true }, entries(2, 3), []uint16{9, 9}, streamCounts{Flows: 2, Conflicts: 2, Allocated: 4, Changed: 1, LeasesLost: 1}, []uint32{2, 3}},
		{nil, entries(3), []uint16{9}, streamCounts{Flows: 1, Allocated: 4, Changed: 1, LeasesLost: 1}, []uint32{2, 3}},
		{func() { live = entries(3, 4) }, entries(3), []uint16{9}, streamCounts{Flows: 1, Allocated: 4, Changed: 1, LeasesLost: 1}, []uint32{3}},
		{func() { table.full = true }, entries(3, 4), []uint16{0, 0}, streamCounts{Waiting: 2, Allocated: 4, Changed: 1, Failed: 2, LeasesLost: 1}, []uint32{3}},
		{nil, entries(3, 4), []uint16{0, 0}, streamCounts{Waiting: 2, Allocated: 4, Changed: 1, Failed: 2, LeasesLost: 1}, []uint32{3}},
	} {
		if step.do != nil {
			step.do()
		}
		s.show(step.shown, slices.Values(live))
		for n, f := range step.shown {
			if got := s.id(f); got != step.ids[n] {
				t.Errorf("step %d, flow %d: id %d, want %d", i, n, got, step.ids[n])
			}
		}
		if diff := cmp.Diff(step.want, s.stats); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
		if diff := cmp.Diff(step.held, slices.Sorted(maps.Keys(table.wanted))); diff != "" {
			t.Errorf("step %d, wanted (-want +got):\n%s", i, diff)
		}
	}
	s.use(scopeSettings{seed: 7}, func(map[flow.Key]*streamFlow) scope { t.Error("the same scope was made again"); return nil })
	s.use(scopeSettings{}, func(map[flow.Key]*streamFlow) scope { return nil })
	s.show(live, slices.Values(live))
	if name, _ := s.name(); name != "" || s.id(live[0]) != 0 || stopped != 1 || s.stats.Waiting != 0 {
		t.Errorf("scope %q, id %d, stopped %d times, %d wait", name, s.id(live[0]), stopped, s.stats.Waiting)
	}
}

func TestHashScope(t *testing.T) {
	var s streamIDs
	s.use(scopeSettings{seed: 5}, begin(hashScope{seed: 5}))
	flows := entries(1, 2)
	s.show(flows, nil)
	for _, f := range flows {
		if want := flow.HashStreamID(5, f.Src.As16(), f.Dst.As16(), f.Label); s.id(f) != want {
			t.Errorf("%v: id %d, want %d", f, s.id(f), want)
		}
	}
	if name, why := s.name(); name != "hash" || why != nil {
		t.Errorf("%s, %v", name, why)
	}
}

// TestLocalScopeOutlivesTheDaemon: the rows in STATE_DB say which ids flows have.
func TestLocalScopeOutlivesTheDaemon(t *testing.T) {
	start := func(before *streamIDs, shown []asic.FlowEntry) *streamIDs {
		s := &streamIDs{}
		if before != nil {
			l := flowLog{}
			l.adopt(slices.Values(entries(1, 2, 3)), time.Time{})
			s.remember(encoded(t, l.rows(l.heaviest(), before.id)))
		}
		s.use(scopeSettings{seed: 6}, func(have map[flow.Key]*streamFlow) scope { return newLocalScope(s.remembered, have) })
		s.show(shown, slices.Values(shown))
		return s
	}
	first := start(nil, entries(3, 1, 2))
	second := start(first, entries(4, 5, 1, 3)) // 2 is gone
	seen := map[uint16]bool{}
	for _, f := range entries(1, 3, 4, 5) {
		id := second.id(f)
		if id == 0 || seen[id] || f.Label < 4 && id != first.id(f) {
			t.Errorf("label %d: id %d, it was %d", f.Label, id, first.id(f))
		}
		seen[id] = true
	}
	if second.stats.Allocated != 2 || len(second.flows) != 4 {
		t.Errorf("%+v, %d flows", second.stats, len(second.flows))
	}
}

func TestRememberTakesNoRubbish(t *testing.T) {
	l := flowLog{}
	l.adopt(slices.Values(entries(1)), time.Time{})
	for field, value := range map[string]string{"src": "x", "dst": "", "flow_label": "-1", "stream_id": "65536"} {
		all := encoded(t, l.rows(l.heaviest(), func(asic.FlowEntry) uint16 { return 1 }))
		all[0].Fields[field] = value
		var s streamIDs
		s.remember(all)
		if len(s.remembered) > 0 {
			t.Errorf("%s %q: %v", field, value, s.remembered)
		}
	}
}

func TestNoScopeSaysWhy(t *testing.T) {
	var s streamIDs
	s.use(scopeSettings{seed: 8}, begin(noScope{why: errors.New("no etcd")}))
	s.show(entries(1), nil)
	if name, why := s.name(); name != "none" || fmt.Sprint(why) != "no etcd" || s.stats.Waiting != 1 {
		t.Errorf("%s, %v, %d wait", name, why, s.stats.Waiting)
	}
}
