// SPDX-License-Identifier: Apache-2.0

package statistics

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPlanReadsByPriority has a port with a row and a threshold on queue 1, and one without a
// row: the first port and its queue come in each round, the others in turn.
func TestPlanReadsByPriority(t *testing.T) {
	ports := []Port{{Name: "a", Configured: true, Threshold: true, Queues: []uint8{1}}, {Name: "b"}}
	var p plan
	one := func(bool) int { return 1 }
	round := func(spent time.Duration) (all []string) {
		p.begin(ports, map[string]int{"a": 3})
		for {
			b := p.batch(one, spent)
			if b == nil {
				return all
			}
			all = append(all, fmt.Sprintf("%s%d", b[0].Port, b[0].Queue))
		}
	}
	for i, tt := range []struct {
		spent time.Duration
		want  []string
	}{
		{0, []string{"a-1", "a1", "b-1", "a0", "a2"}},
		{turnTime + 1, []string{"a-1", "a1", "b-1"}}, // a slow library: one call for the others
		{turnTime + 1, []string{"a-1", "a1", "a0"}},
		{turnTime + 1, []string{"a-1", "a1", "a2"}},
		{0, []string{"a-1", "a1", "b-1", "a0", "a2"}},
	} {
		if diff := cmp.Diff(tt.want, round(tt.spent)); diff != "" {
			t.Errorf("round %d: %s", i+1, diff)
		}
	}
}

// TestPlanBoundsCallsInTurn has more others than a round may read: two rounds read all, in
// batches of one kind.
func TestPlanBoundsCallsInTurn(t *testing.T) {
	const queues = 1500
	var p plan
	most := func(ports bool) int { return 1 }
	read := map[Object]int{}
	for round := range 2 {
		p.begin([]Port{{Name: "a"}, {Name: "b"}}, map[string]int{"a": queues})
		calls := 0
		for b := p.batch(most, 0); b != nil; b = p.batch(most, 0) {
			calls++
			read[b[0]]++
		}
		if calls != turnCalls {
			t.Errorf("round %d: %d calls, want %d", round+1, calls, turnCalls)
		}
	}
	if len(read) != queues+2 {
		t.Errorf("%d objects were read, want %d", len(read), queues+2)
	}
	p.begin([]Port{{Name: "a"}, {Name: "b"}}, map[string]int{"a": 3})
	p.next = 0
	most = func(ports bool) int { return 64 }
	for i, want := range [][]Object{{{"a", Itself}, {"b", Itself}}, {{"a", 0}, {"a", 1}, {"a", 2}}, nil} {
		if diff := cmp.Diff(want, p.batch(most, 0)); diff != "" {
			t.Errorf("batch %d: %s", i+1, diff)
		}
	}
}
