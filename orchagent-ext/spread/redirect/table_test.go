// SPDX-License-Identifier: Apache-2.0

package redirect_test

import (
	"slices"
	"testing"
	"time"

	"sluice/orchagent-ext/spread/redirect"
)

// feed samples the flows in turn, each so many times, with the member that hash or rule gives,
// over a second that begins at a time.
func feed(t *redirect.Table, hash []string, times []int, begin time.Duration) (end int64) {
	at := map[redirect.Flow]string{}
	for _, r := range t.Rules() {
		at[r.Flow] = r.Member
	}
	most := slices.Max(times)
	for k := range most {
		now := int64(begin) + int64(k+1)*int64(time.Second)/int64(most)
		for i, n := range times {
			if k*n/most == (k+1)*n/most {
				continue
			}
			link := hash[i]
			if m, ruled := at[flowOf(i)]; ruled {
				link = m
			}
			t.Sample(flowOf(i), 1, link, 1000, now)
		}
	}
	return int64(begin + time.Second)
}

// collided are four flows on the first of two members.
var (
	collided = []string{"up0", "up0", "up0", "up0"}
	alike    = []int{400, 400, 400, 400}
)

func decided(t *testing.T, c redirect.Config) (*redirect.Table, int64) {
	t.Helper()
	table := redirect.NewTable(c)
	table.SetMembers(names(2))
	now := feed(table, collided, alike, 0)
	if !table.Decide(now, 8) {
		t.Fatal("four flows share one of two members, and no rule is decided")
	}
	return table, now
}

func TestTableMovesHalfOfFlowsThatCollide(t *testing.T) {
	table, now := decided(t, redirect.Config{Moves: redirect.MovesAny})
	rules := table.Rules()
	if len(rules) != 2 || rules[0].Member != "up1" || rules[1].Member != "up1" {
		t.Fatalf("rules are %v: want two to up1", rules)
	}
	if r := table.Report(now); r.Worst > 1.01 || r.Hash < 1.99 || r.Rules != 2 || r.Flows != 4 {
		t.Errorf("report is %+v", r)
	}
	if table.Decide(feed(table, collided, alike, time.Second), 8) {
		t.Error("an even load is changed")
	}
}

// Packets of a held flow wait at the port of its member: later ones would overtake them.
func TestTableMovesNoHeldFlow(t *testing.T) {
	table := redirect.NewTable(redirect.Config{Moves: redirect.MovesAny})
	table.SetMembers(names(2))
	held := flowOf(0)
	table.SetHeld(func(f redirect.Flow) bool { return f != held })
	if !table.Decide(feed(table, collided, alike, 0), 8) {
		t.Fatal("no flow moves, though one is not held")
	}
	if rules := table.Rules(); len(rules) != 1 || rules[0].Flow != held {
		t.Errorf("rules are %v: want one, of the flow that is not held", rules)
	}
	table.SetHeld(func(f redirect.Flow) bool { return f == held })
	if changed := table.Decide(int64(40*time.Second), 8); changed || len(table.Rules()) != 1 {
		t.Errorf("the rule of a held flow that sends nothing is removed: %v", table.Rules())
	}
	table.SetHeld(nil)
	if !table.Decide(int64(41*time.Second), 8) || len(table.Rules()) != 0 {
		t.Errorf("the rule stays after the hold: %v", table.Rules())
	}
}

func TestTableRemovesRulesOfAMemberThatDies(t *testing.T) {
	table, _ := decided(t, redirect.Config{Moves: redirect.MovesAny})
	members := names(2)
	members[1].Weight = 0
	if !table.SetMembers(members) || len(table.Rules()) != 0 {
		t.Errorf("rules to a dead member stay: %v", table.Rules())
	}
	if now := feed(table, collided, alike, time.Second); table.Decide(now, 8) {
		t.Errorf("with one member that is alive, rules are decided: %v", table.Rules())
	}
}

func TestTableKeepsRulesWhereTheGroupGrows(t *testing.T) {
	table, _ := decided(t, redirect.Config{Moves: redirect.MovesAny})
	before := table.Rules()
	if table.SetMembers(append([]redirect.Member{{Name: "new", Weight: 1}}, names(2)...)) || !slices.Equal(table.Rules(), before) {
		t.Errorf("rules were %v and are %v: want the same, since their members stay", before, table.Rules())
	}
}

func TestTableRemovesTheRuleOfAFlowThatGoesHome(t *testing.T) {
	table, _ := decided(t, redirect.Config{Moves: redirect.MovesAny})
	// Those by hash end. The two with rules share up1 now; one goes home, without a rule.
	times := []int{0, 0, 0, 0}
	for i := range times {
		if slices.ContainsFunc(table.Rules(), func(r redirect.Rule) bool { return r.Flow == flowOf(i) }) {
			times[i] = 400
		}
	}
	for second := range 20 {
		table.Decide(feed(table, collided, times, time.Duration(second+1)*time.Second), 8)
	}
	if rules := table.Rules(); len(rules) != 1 {
		t.Errorf("rules are %v: want one, since a flow by hash needs none", rules)
	}
}

func TestTableWaitsUntilFlowsAreIdle(t *testing.T) {
	table := redirect.NewTable(redirect.Config{Moves: redirect.MovesIdle})
	table.SetMembers(names(2))
	now := feed(table, collided, alike, 0)
	if table.Decide(now, 8) {
		t.Fatal("flows that send were moved")
	}
	// A gap of 2.5 ms is usual: 30 ms later they are idle.
	if now += int64(40 * time.Millisecond); !table.Decide(now, 8) || len(table.Rules()) != 2 {
		t.Errorf("idle flows are not moved: %v", table.Rules())
	}
	if c := table.Counts(); c.Unsafe != 0 || c.Moves != 2 {
		t.Errorf("counts are %+v", c)
	}
}

func TestTableKeepsToItsBounds(t *testing.T) {
	for name, c := range map[string]redirect.Config{
		"a member": {PerLink: 1}, "a port": {PerPort: 1}, "the switch": {Rules: 1},
	} {
		c.Moves = redirect.MovesAny
		if table, _ := decided(t, c); len(table.Rules()) != 1 {
			t.Errorf("with one rule for %s: %v", name, table.Rules())
		}
	}
	table := redirect.NewTable(redirect.Config{Flows: 2})
	table.SetMembers(names(2))
	feed(table, collided, alike, 0)
	if r := table.Report(int64(time.Second)); r.Flows != 2 || table.Counts().Unfollowed == 0 {
		t.Errorf("with room for two flows: %+v, %+v", r, table.Counts())
	}
}

func TestTableLeavesRefusedFlowsByHash(t *testing.T) {
	table, now := decided(t, redirect.Config{Moves: redirect.MovesAny})
	for _, r := range table.Rules() {
		table.Refused(r.Flow, true, now)
	}
	if len(table.Rules()) != 0 || table.Decide(now+int64(time.Second), 8) {
		t.Errorf("a switch without room is offered rules: %v", table.Rules())
	}
	if !table.Decide(feed(table, collided, alike, 11*time.Second), 8) {
		t.Error("after 10 seconds no rule is tried")
	}
}

func TestTableForgetsFlowsThatEnd(t *testing.T) {
	table, now := decided(t, redirect.Config{Moves: redirect.MovesAny})
	if !table.Decide(now+int64(31*time.Second), 8) || len(table.Rules()) != 0 || table.Report(now).Flows != 0 {
		t.Errorf("rules of flows that ended stay: %v", table.Rules())
	}
}

func TestTableWithoutMembersOrSamplesDecidesNothing(t *testing.T) {
	table := redirect.NewTable(redirect.Config{})
	if table.Decide(1, 8) {
		t.Error("a rule without a flow")
	}
	table.Sample(flowOf(0), 1, "other", 1000, 2)
	if table.Decide(3, 8) || table.Counts().Foreign != 1 {
		t.Errorf("counts are %+v: want a sample that left by another port", table.Counts())
	}
	table.SetMembers(nil)
	_ = table.Report(4)
}

func TestTableNeverMoves(t *testing.T) {
	table := redirect.NewTable(redirect.Config{Moves: redirect.MovesNever})
	table.SetMembers(names(2))
	if table.Decide(feed(table, collided, alike, 0), 8) {
		t.Error("moves never, and a flow moved")
	}
}

// TestTableForgetsHashMembersWhereTheGroupChanges: over other next hops the switch hashes again.
func TestTableForgetsHashMembersWhereTheGroupChanges(t *testing.T) {
	table, now := decided(t, redirect.Config{Moves: redirect.MovesAny})
	table.SetMembers(names(3))
	if r := table.Report(now); r.Unknown != 2 || len(table.Rules()) != 2 {
		t.Errorf("of four flows, two with rules, %d are at a member that is unknown: want 2; rules %v", r.Unknown, table.Rules())
	}
}

// TestTableMakesHardlyMoreRulesThanEvenLoadsNeed: early decisions come from few samples; rules that
// they took and that are not needed are saved later. The fewest are those of flows beyond the mean.
func TestTableMakesHardlyMoreRulesThanEvenLoadsNeed(t *testing.T) {
	more, most := 0, 0
	const seeds = 20
	for seed := range uint64(seeds) {
		s := simulate(seed, equal(64), 5000, redirect.Config{Moves: redirect.MovesAny})
		s.run(4 * time.Second)
		fewest, by := 0, make([]int, simulatedUplinks)
		for _, m := range s.hash {
			by[m]++
		}
		for _, n := range by {
			fewest += max(0, n-64/simulatedUplinks)
		}
		beyond := len(s.table.Rules()) - fewest
		more, most = more+beyond, max(most, beyond)
		if even := evenness(s.rates, s.at); even > 1.13 {
			t.Errorf("seed %d: max ÷ mean is %.3f", seed, even)
		}
	}
	t.Logf("%d rules beyond the fewest in %d runs, at most %d", more, seeds, most)
	if most > 1 {
		t.Errorf("%d rules beyond the fewest in %d runs, at most %d: want 1", more, seeds, most)
	}
}

// TestTableRemovesRulesWithoutEffect: the switch reports a rule that is not there, and its flow goes
// by hash; then others are tried. One that takes effect late stays.
func TestTableRemovesRulesWithoutEffect(t *testing.T) {
	for name, tt := range map[string]struct {
		late time.Duration // until rules take effect
		want uint64
	}{
		"no effect": {time.Hour, 2},
		"late":      {9 * time.Second, 0},
		"at once":   {0, 0},
	} {
		table, _ := decided(t, redirect.Config{Moves: redirect.MovesAny})
		for at := time.Second; at < 12*time.Second; at += time.Second {
			for i := range 400 {
				now := int64(at) + int64(i)*int64(time.Second)/400
				for k := range collided {
					link := collided[k]
					for _, r := range table.Rules() {
						if r.Flow == flowOf(k) && at-time.Second >= tt.late {
							link = r.Member
						}
					}
					table.Sample(flowOf(k), 1, link, 1000, now)
				}
			}
			table.Decide(int64(at+time.Second), 8)
		}
		if got := table.Counts(); got.Astray != tt.want || got.Refused != tt.want || tt.want == 0 && len(table.Rules()) != 2 {
			t.Errorf("%s: %+v, rules %v: want %d removed", name, got, table.Rules(), tt.want)
		}
	}
}
