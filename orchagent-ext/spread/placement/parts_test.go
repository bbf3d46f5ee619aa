// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Each part uses those before it, and the table all.
var partsInOrder = []string{"meter", "entry", "flows", "group", "loads", "labels", "assignment", "check", "quotas", "windows", "settling", "patience", "rest", "rounds", "mover", "Table"}

func TestPartsUseOnlyThoseBefore(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			part := partOf(d)
			if part < 0 {
				continue
			}
			seen[partsInOrder[part]] = true
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Field: // its name may be that of a type
					ast.Inspect(n.Type, func(n ast.Node) bool {
						if id, ok := n.(*ast.Ident); ok && slices.Index(partsInOrder, id.Name) > part {
							t.Errorf("%s uses %s, which comes after it", partsInOrder[part], id.Name)
						}
						return true
					})
					return false
				case *ast.CompositeLit:
					if id, ok := n.Type.(*ast.Ident); ok && slices.Index(partsInOrder, id.Name) > part {
						t.Errorf("%s makes a %s, which comes after it", partsInOrder[part], id.Name)
					}
				}
				return true
			})
		}
	}
	if len(seen) != len(partsInOrder) {
		t.Errorf("parts found: %v", seen)
	}
}

// partOf returns the part that a type declaration or a method is of, or -1.
func partOf(d ast.Decl) int {
	name := ""
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil {
			ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					name = id.Name
				}
				return true
			})
		}
	case *ast.GenDecl:
		if s, ok := d.Specs[0].(*ast.TypeSpec); ok {
			name = s.Name.Name
		}
	}
	return slices.Index(partsInOrder, name)
}

// A meter alone: the average follows rates, and bursts count over their whole period.
func TestMeterMeasuresWholePeriods(t *testing.T) {
	c := Config{WindowNS: 100e6, IdleNS: 20e6}.withDefaults()
	var m meter
	octets, now := uint64(0), int64(0)
	for period := range int64(8) {
		for k := range int64(50) { // 1 s: a burst of 100 ms, sampled each 20 ms
			now = period*second + k*20e6
			if k < 5 {
				octets += 1000
			}
			before := m.octets
			if r, pause := m.read(octets, now); r == counted && pause >= c.IdleNS && octets != before {
				m.burst(before, now, pause, &c)
			}
		}
	}
	if m.cycle.length != second || m.rate != 5000 || !m.inCycle(now) {
		t.Errorf("period %d ns, %.1f octets/s, in a cycle %v: want 1 s and 5000", m.cycle.length, m.rate, m.inCycle(now))
	}
	if m.idle(now, c.IdleNS) != true || m.idle(now+1, c.IdleNS) {
		t.Error("a flow is idle at its last sample alone")
	}
	if m.hold(); m.idle(now, c.IdleNS) {
		t.Error("a held flow is idle")
	}
	if m.inCycle(now + 3*second) {
		t.Error("a burst is expected two periods after the last")
	}
}

func TestMeterBeginsAgain(t *testing.T) {
	var m meter
	for _, tt := range []struct {
		octets uint64
		now    int64
		want   reading
	}{{5, 10, begins}, {9, 20, counted}, {12, 20, repeated}, {20, 15, steppedBack}, {3, 30, fewer}, {4, 40, counted}} {
		if got, _ := m.read(tt.octets, tt.now); got != tt.want {
			t.Errorf("sample %d at %d: %d, want %d", tt.octets, tt.now, got, tt.want)
		}
	}
	if m.from != 3 || m.begun != 30 {
		t.Errorf("the window begins at %d with %d octets", m.begun, m.from)
	}
}

// Loads alone: what is added and taken off is 0, and an unmeasured flow counts as the mean.
func TestLoadsSumUpShares(t *testing.T) {
	g := &group{members: []Member{{"a", 1}, {"b", 3}}, weight: 4}
	l := loads{group: g}
	l.resize(2)
	if s := l.spread(); s.ratio() != 0 {
		t.Errorf("without load: %+v", s)
	}
	shares := []share{{0, 1, true, 100}, {1, 0, true, 300}, {1, -1, false, 0}, {unknown, 0, true, 200}}
	for _, s := range shares {
		l.account(s, 1)
	}
	if l.typical() != 200 || l.at(1) != 500 || l.measuredAt(1) != 300 || l.freshLoad() != 200 {
		t.Errorf("typical %.0f, member b %.0f, measured %.0f, fresh %.0f", l.typical(), l.at(1), l.measuredAt(1), l.freshLoad())
	}
	if s := l.spread(); s.ratio() != 1 || s.over(1) || !s.over(0.99) {
		t.Errorf("%+v", s)
	}
	if m := l.least(200, 1, 0); m != 1 {
		t.Errorf("the member with room is %d", m)
	}
	for _, s := range shares {
		l.account(s, -1)
	}
	if l.sum != 0 || l.count != 0 || l.unmeasured != 0 || l.at(0) != 0 || l.at(1) != 0 || slices.Max(l.toLeaf) != 0 {
		t.Errorf("after all left: %+v", l)
	}
}

func TestLabelsCountTheirFlows(t *testing.T) {
	l, u := labels{}, use{label: 7}
	if l.take(u) != 1 || l.take(u) != 2 {
		t.Error("two flows are not counted")
	}
	if l.release(u); l[u] != 1 {
		t.Errorf("%d flows, want 1", l[u])
	}
	if l.release(u); len(l) != 0 {
		t.Errorf("%d labels, want none", len(l))
	}
}

// Windows end where all flows pause, or after twice the time.
func TestWindowsEndAtPausesOrAfterTwiceTheTime(t *testing.T) {
	c := Config{WindowNS: 100, IdleNS: 20}
	for name, tt := range map[string]struct {
		loud func(now int64) bool
		want int64
	}{
		"always":   {func(int64) bool { return true }, 200},
		"never":    {func(int64) bool { return false }, 100},
		"by turns": {func(now int64) bool { return now < 130 }, 140},
	} {
		w := windows{begun: 0}
		for now := int64(10); ; now += 10 {
			if tt.loud(now) {
				w.add(1000)
			}
			if w.end(now, 1e11, &c) {
				if now != tt.want || w.number != 1 {
					t.Errorf("flows that send %s: the window ends at %d, want %d", name, now, tt.want)
				}
				break
			}
			if now > 1000 {
				t.Fatalf("flows that send %s: the window does not end", name)
			}
		}
	}
	if w := (windows{}); w.end(1e9, 1, &Config{}) {
		t.Error("a table without windows ended one")
	}
}

// A change of loads is waited out for two windows; then it is overdue, once.
func TestSettlingWaitsForTwoWindows(t *testing.T) {
	var s settling
	before, now := []float64{0.5, 0.5}, []float64{0.6, 0.4}
	for number, want := range []phase{steady, changing, changing, overdue, steady} {
		last := now
		if number == 0 || number == 4 {
			last = before
		}
		if got := s.step(int64(number), last, before); got != want {
			t.Errorf("window %d: phase %d, want %d", number, got, want)
		}
	}
	if s.step(9, now, before) != changing || s.step(10, before, before) != steady || s.since != 0 {
		t.Error("a change that was taken back is not steady")
	}
}

func TestPatienceEnds(t *testing.T) {
	c := Config{WindowNS: 1, Moves: MovesIdle, IdleNS: 50e6}
	var p patience
	for _, tt := range []struct {
		now     int64
		sending int
		want    bool
	}{{second, 3, true}, {second + 499e6, 3, true}, {second + 500e6, 3, false}, {second + 501e6, 3, true}, {second + 502e6, 0, false}} {
		if got := p.waits(tt.now, tt.sending, &c); got != tt.want {
			t.Errorf("%d flows send at %d: waits %v, want %v", tt.sending, tt.now, got, tt.want)
		}
	}
	if c.Moves = MovesAny; p.waits(second, 3, &c) {
		t.Error("flows that may move at any time are waited for")
	}
}

// Rounds alone: moves begin above the threshold, go on until the goal, are measured again, and
// rest when the load is uneven again soon after.
func TestRoundsBeginAboveTheThresholdAndEndAtTheGoal(t *testing.T) {
	c := Config{WindowNS: 1e8}.withDefaults()
	var r rounds
	at := moment{now: second, window: 1}
	look := func(ratio float64, want verdict, moves int, after float64) {
		t.Helper()
		at.now, at.window = at.now+1e8, at.window+1
		got := r.begin(at, spread{worst: ratio, mean: 1}, &c)
		if got != want {
			t.Errorf("max ÷ mean %.3f: verdict %d, want %d", ratio, got, want)
		}
		if got == uneven {
			r.end(at, moves, spread{worst: after, mean: 1}, &c)
		}
	}
	look(1.04, even, 0, 0)    // between goal and threshold
	look(1.10, uneven, 5, 1)  // begins
	look(1.03, uneven, 2, 1)  // above the goal, and measured again
	look(1.01, even, 0, 0)    // at the goal: the rounds are still open
	look(1.03, uneven, 1, 1)  // measured again
	look(1.03, uneven, 1, 1)  // and once more, the last time
	look(1.04, even, 0, 0)    // rounds have ended
	look(1.10, resting, 0, 0) // soon after
	look(1.30, uneven, 0, 1)  // much worse: another load
	at.now += 10 * second
	look(1.06, uneven, 0, 1)
	if r.stop(); r.open {
		t.Error("rounds go on after the members changed")
	}
}

// A model is wrong after two bad checks in a row, and right again after ten good ones.
func TestCheckCountsBadOnesInARow(t *testing.T) {
	c := check{predicted: make([]uint64, 2)}
	step := func(octets ...uint64) (wrong bool) {
		t.Helper()
		c.expect(0, 1<<20)
		c.expect(unknown, 1<<30)
		wrong, err := c.compare(octets)
		if err != nil {
			t.Fatal(err)
		}
		return wrong
	}
	if step(0, 1<<20) || c.degraded || c.error != 1 {
		t.Errorf("after one bad check: degraded %v, error %.2f", c.degraded, c.error)
	}
	if !step(0, 1<<20) || !c.degraded {
		t.Error("two bad checks are not noticed")
	}
	if step(0, 1<<20) {
		t.Error("a wrong model counts twice")
	}
	for range goodChecks {
		if !c.degraded {
			t.Error("right again too soon")
		}
		step(1<<20, 0)
	}
	if c.degraded {
		t.Error("ten good checks do not count")
	}
	if _, err := c.compare([]uint64{1}); err == nil {
		t.Error("counters of another number of members are taken")
	}
}
