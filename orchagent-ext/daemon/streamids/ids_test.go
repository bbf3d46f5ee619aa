// SPDX-License-Identifier: Apache-2.0

package streamids

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/switch/engine"
	"sluice/yang/rows"
)

// entry is a flow of a host pair.
func entry(label uint32) engine.FlowEntry {
	return engine.FlowEntry{Src: netip.MustParseAddr("2001:db8::1"), Dst: netip.MustParseAddr("2001:db8::2"), DestQP: 10 * label, Label: label}
}

func entries(labels ...uint32) []engine.FlowEntry {
	var all []engine.FlowEntry
	for _, label := range labels {
		all = append(all, entry(label))
	}
	return all
}

// flowRows returns the rows of SLUICE_FLOW of flows with labels.
func flowRows(t *testing.T, id func(engine.FlowEntry) uint16, labels ...uint32) (all []rows.Row) {
	t.Helper()
	for _, f := range entries(labels...) {
		is := id(f)
		row, err := rows.Encode(&telemetry.Flow{
			Id: telemetry.Text(fmt.Sprint(f.Label)), Src: telemetry.Text(f.Src.String()), Dst: telemetry.Text(f.Dst.String()), FlowLabel: &f.Label, StreamId: &is,
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	return all
}

// tableScope has the ids that are in it, and records its calls.
type tableScope struct {
	noScope
	ids    map[uint32]uint16 // by label
	full   bool
	life   bool
	wanted map[uint32]bool
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

func begin(s scope) func(map[flow.Key]*streamFlow) scope {
	return func(map[flow.Key]*streamFlow) scope { return s }
}

func TestStreamIDsOfWhatIsShown(t *testing.T) {
	table := &tableScope{ids: map[uint32]uint16{}, wanted: map[uint32]bool{}}
	var s IDs
	s.use(Settings{Seed: 7}, begin(table))
	live := entries(1, 2, 3, 4)
	v4 := engine.FlowEntry{Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), DestQP: 1}
	twin := entry(1)
	twin.DestQP++ // of another queue pair, with the same label: one flow
	for i, step := range []struct {
		do    func()
		shown []engine.FlowEntry
		ids   []uint16 // of the shown ones
		want  Counts
		held  []uint32
	}{
		{nil, append(entries(1, 2), v4), []uint16{0, 0, 0}, Counts{Waiting: 2, LeasesLost: 1}, []uint32{1, 2}},
		{func() { table.ids[1], table.ids[2] = 7, 8 }, append(entries(1, 2), twin), []uint16{7, 8, 7}, Counts{Flows: 2, Allocated: 2, LeasesLost: 1}, []uint32{1, 2}},
		{func() { table.ids[2] = 0 }, entries(1, 2), []uint16{7, 0}, Counts{Flows: 1, Waiting: 1, Allocated: 2, LeasesLost: 1}, []uint32{1, 2}},
		{func() { table.ids[2] = 8 }, entries(1, 2), []uint16{7, 8}, Counts{Flows: 2, Allocated: 2, LeasesLost: 1}, []uint32{1, 2}},
		{func() { table.ids[2] = 9 }, entries(1, 2), []uint16{7, 9}, Counts{Flows: 2, Allocated: 2, Changed: 1, LeasesLost: 1}, []uint32{1, 2}},
		{func() { table.ids[3] = 9 }, entries(1, 2, 3), []uint16{7, 9, 9}, Counts{Flows: 3, Conflicts: 2, Allocated: 3, Changed: 1, LeasesLost: 1}, []uint32{1, 2, 3}},
		{nil, entries(3), []uint16{9}, Counts{Flows: 1, Allocated: 3, Changed: 1, LeasesLost: 1}, []uint32{3}},
		{func() { table.life = true }, entries(2, 3), []uint16{9, 9}, Counts{Flows: 2, Conflicts: 2, Allocated: 4, Changed: 1, LeasesLost: 1}, []uint32{2, 3}},
		{nil, entries(3), []uint16{9}, Counts{Flows: 1, Allocated: 4, Changed: 1, LeasesLost: 1}, []uint32{2, 3}},
		{func() { live = entries(3, 4) }, entries(3), []uint16{9}, Counts{Flows: 1, Allocated: 4, Changed: 1, LeasesLost: 1}, []uint32{3}},
		{func() { table.full = true }, entries(3, 4), []uint16{0, 0}, Counts{Waiting: 2, Allocated: 4, Changed: 1, Failed: 2, LeasesLost: 1}, []uint32{3}},
		{nil, entries(3, 4), []uint16{0, 0}, Counts{Waiting: 2, Allocated: 4, Changed: 1, Failed: 2, LeasesLost: 1}, []uint32{3}},
	} {
		if step.do != nil {
			step.do()
		}
		s.Show(step.shown, slices.Values(live))
		for n, f := range step.shown {
			if got := s.ID(f); got != step.ids[n] {
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
	s.use(Settings{Seed: 7}, func(map[flow.Key]*streamFlow) scope { t.Error("the same scope was made again"); return nil })
	s.use(Settings{}, func(map[flow.Key]*streamFlow) scope { return nil })
	s.Show(live, slices.Values(live))
	if name, _ := s.name(); name != "" || s.ID(live[0]) != 0 || s.stats.Waiting != 0 {
		t.Errorf("scope %q, id %d, %d wait", name, s.ID(live[0]), s.stats.Waiting)
	}
}

func TestHashScope(t *testing.T) {
	var s IDs
	s.use(Settings{Seed: 5}, begin(hashScope{seed: 5}))
	flows := entries(1, 2)
	s.Show(flows, nil)
	for _, f := range flows {
		if want := flow.HashStreamID(5, f.Src.As16(), f.Dst.As16(), f.Label); s.ID(f) != want {
			t.Errorf("%v: id %d, want %d", f, s.ID(f), want)
		}
	}
	if name, why := s.name(); name != "hash" || why != nil {
		t.Errorf("%s, %v", name, why)
	}
}

// TestLocalScopeOutlivesTheDaemon: the rows in STATE_DB say which ids flows have.
func TestLocalScopeOutlivesTheDaemon(t *testing.T) {
	start := func(before *IDs, shown []engine.FlowEntry) *IDs {
		s := &IDs{}
		if before != nil {
			s.Remember(flowRows(t, before.ID, 1, 2, 3))
		}
		s.use(Settings{Seed: 6}, func(have map[flow.Key]*streamFlow) scope { return newLocalScope(s.remembered, have) })
		s.Show(shown, slices.Values(shown))
		return s
	}
	first := start(nil, entries(3, 1, 2))
	second := start(first, entries(4, 5, 1, 3)) // 2 is gone
	seen := map[uint16]bool{}
	for _, f := range entries(1, 3, 4, 5) {
		id := second.ID(f)
		if id == 0 || seen[id] || f.Label < 4 && id != first.ID(f) {
			t.Errorf("label %d: id %d, it was %d", f.Label, id, first.ID(f))
		}
		seen[id] = true
	}
	if second.stats.Allocated != 2 || len(second.flows) != 4 {
		t.Errorf("%+v, %d flows", second.stats, len(second.flows))
	}
}

func TestRememberTakesNoRubbish(t *testing.T) {
	for field, value := range map[string]string{"src": "x", "dst": "", "flow_label": "-1", "stream_id": "65536"} {
		all := flowRows(t, func(engine.FlowEntry) uint16 { return 1 }, 1)
		all[0].Fields[field] = value
		var s IDs
		s.Remember(all)
		if len(s.remembered) > 0 {
			t.Errorf("%s %q: %v", field, value, s.remembered)
		}
	}
}

func TestNoScopeSaysWhy(t *testing.T) {
	var s IDs
	s.use(Settings{Seed: 8}, begin(noScope{why: errors.New("no etcd")}))
	s.Show(entries(1), nil)
	if name, why := s.name(); name != "none" || fmt.Sprint(why) != "no etcd" || s.stats.Waiting != 1 {
		t.Errorf("%s, %v, %d wait", name, why, s.stats.Waiting)
	}
}
