// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/switch/drift"
	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/testbed/orchagenttest"
	"sluice/yang/rows"
)

// rulePlace is a place with a switch that records where it sends flows.
type rulePlace struct {
	*place
	d     *Driver
	e     *engine.Engine
	rules *Rules

	mu   sync.Mutex
	by   map[string]string // the neighbor of each rule on the switch
	gaps int               // times that a flow lost its last rule
	asic orchagenttest.ASIC
}

var placements = engine.Policy{Placement: &engine.Placement{Ports: []string{"Ethernet0", "Ethernet4"}}}

func newRulePlace(t *testing.T, release string, asic orchagenttest.ASIC) *rulePlace {
	t.Helper()
	p := &rulePlace{place: newPlace(t), by: map[string]string{}, asic: asic}
	p.asic.Redirect = p.redirect
	p.startOn(release)
	p.set("SFLOW", "global", "admin_state", "up")
	p.d = p.driver()
	p.e = p.engine(p.d)
	if by := p.reconcile(p.e, placements).Choices[engine.NeedPlacement]; by.Method != engine.Redirect {
		t.Fatalf("method %+v", by)
	}
	p.rules = p.d.Rules()
	neighbors := []string{"Ethernet48:10.255.0.1", "Ethernet48:fc00::1", "Ethernet52:10.255.0.3"}
	for _, n := range neighbors {
		p.neighbor(n, true)
	}
	// A test that removes one waits until it is gone, which it also is before it comes.
	p.until("the neighbors are there", func() bool { return slices.Equal(slices.Sorted(slices.Values(p.orchagent.Neighbors())), neighbors) })
	return p
}

func (p *rulePlace) startOn(release string) {
	p.orchagent = orchagenttest.StartOn(p.t, p.databases, orchagenttest.ByName(release), p.asic)
}

// redirect is the switch.
func (p *rulePlace) redirect(rule string, _ map[string]string, neighbor string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if neighbor != "" {
		p.by[rule] = neighbor
		return nil
	}
	delete(p.by, rule)
	flow := rule[:len(rule)-1]
	for other := range p.by {
		if strings.HasPrefix(other, flow) {
			return nil
		}
	}
	p.gaps++
	return nil
}

// to is where the switch sends flows, sorted.
func (p *rulePlace) to() (all []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.by {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}

func (p *rulePlace) neighbor(key string, there bool) {
	p.t.Helper()
	row := rows.Row{Table: "NEIGH_TABLE", Key: key, Fields: map[string]string{"neigh": "02:00:00:00:00:01", "family": "IPv4"}}
	if err := p.appl.Produce(context.Background(), sonicdb.Change{Row: row, Deleted: !there}); err != nil {
		p.t.Fatal(err)
	}
}

// settle calls Redirect until nothing is pending.
func (p *rulePlace) settle(want ...engine.Redirection) (refused map[string]error) {
	p.t.Helper()
	refused = map[string]error{}
	p.until("the rules are settled", func() bool {
		no, err := p.rules.Redirect(slices.DeleteFunc(slices.Clone(want), func(r engine.Redirection) bool { return refused[r.Key()] != nil }))
		for key, why := range no {
			refused[key] = why
		}
		if err != nil && !errors.Is(err, engine.ErrPending) {
			p.t.Fatal(err)
		}
		return err == nil
	})
	return refused
}

func redirection(port int, to string) engine.Redirection {
	link, ip, _ := strings.Cut(to, ":")
	r := engine.Redirection{SrcPort: uint16(port), To: engine.NextHop{Address: netip.MustParseAddr(ip), Port: link}}
	r.Src, r.Dst = netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.1.0.2")
	if r.To.Address.Is6() {
		r.Src, r.Dst = netip.MustParseAddr("fc00:a::1"), netip.MustParseAddr("fc00:b::2")
	}
	return r
}

func (p *rulePlace) is(want ...string) {
	p.t.Helper()
	if diff := cmp.Diff(want, p.to()); diff != "" {
		p.t.Errorf("the switch sends flows to other neighbors: %s", diff)
	}
}

func TestRulesAreTakenByEachRelease(t *testing.T) {
	for _, release := range orchagenttest.Releases {
		p := newRulePlace(t, release.Name, orchagenttest.ASIC{})
		if refused := p.settle(redirection(1, "Ethernet48:10.255.0.1"), redirection(2, "Ethernet48:fc00::1")); len(refused) > 0 || len(p.orchagent.Refused()) > 0 {
			t.Errorf("%s refuses %v, %v", release.Name, refused, p.orchagent.Refused())
		}
		p.is("Ethernet48:10.255.0.1", "Ethernet48:fc00::1")
		table := p.orchagent.Fields("ACL_TABLE", "SLUICE_PLACE4")
		if table["ports"] != "Ethernet0,PortChannel1" || p.orchagent.Fields("ACL_TABLE", "SLUICE_PLACE6") == nil {
			t.Errorf("%s has the table %v", release.Name, table)
		}
		p.settle()
		p.is()
	}
}

// Flows that are exported come in by uplinks, too; those that are placed do not.
func TestRulesMatchWhatComesInByPortsOfPlacement(t *testing.T) {
	policy := engine.Policy{Placement: &engine.Placement{Ports: []string{"Ethernet0"}}, Export: &engine.Export{Rate: 1000, Ports: []string{"Ethernet0", "Ethernet48"}}}
	tables := 0
	for _, o := range objects(policy, engine.Chose(engine.NeedPlacement, engine.Redirect), capability{}, nil) {
		if o.Meets != engine.NeedPlacement {
			continue
		}
		if tables++; o.Attr("ports") != "Ethernet0" {
			t.Errorf("%s is bound to %q", o.Key, o.Attr("ports"))
		}
	}
	if tables != 2 {
		t.Errorf("%d tables: want one for each family", tables)
	}
}

// Ports of a VRF have tables of their own, so that a rule never sees packets of another VRF with
// the same addresses. A later process adopts each rule with its VRF.
func TestRulesOfAVRFAreInATableOfItsPorts(t *testing.T) {
	p := newRulePlace(t, "202505", orchagenttest.ASIC{})
	policy := engine.Policy{Placement: &engine.Placement{Ports: []string{"Ethernet0"}, VRFs: map[string][]string{"Vrf_a": {"Ethernet4"}}}}
	p.reconcile(p.e, policy)
	one, other := redirection(1, "Ethernet48:10.255.0.1"), redirection(1, "Ethernet52:10.255.0.3")
	other.VRF = "Vrf_a"
	if refused := p.settle(one, other); len(refused) > 0 {
		t.Fatal(refused)
	}
	p.is("Ethernet48:10.255.0.1", "Ethernet52:10.255.0.3")
	for table, ports := range map[string]string{"SLUICE_PLACE4": "Ethernet0", "SLUICE_PLACE4_Vrf_a": "PortChannel1", "SLUICE_PLACE6_Vrf_a": "PortChannel1"} {
		if got := p.orchagent.Fields("ACL_TABLE", table)["ports"]; got != ports {
			t.Errorf("%s is bound to %q, want %q", table, got, ports)
		}
	}
	p.rules = p.d.Rules()
	if adopted, err := p.rules.Adopt(); err != nil || len(adopted) != 2 || !slices.Contains(adopted, one) || !slices.Contains(adopted, other) {
		t.Fatalf("adopted %v, %v", adopted, err)
	}
	// After a reboot that empties the ledger the tables are adopted, too.
	clear(p.ledger.rows)
	p.e = p.engine(p.driver())
	if out := p.reconcile(p.e, policy); len(out.Problems) > 0 {
		t.Errorf("tables that were there: %v", out.Problems)
	}
	policy.Placement.VRFs = nil
	p.reconcile(p.e, policy)
	p.until("the rule goes with the table of its VRF", func() bool { return slices.Equal(p.to(), []string{"Ethernet48:10.255.0.1"}) })
	p.settle(one)
	if p.reconcile(p.e, engine.Policy{}); p.orchagent.Fields("ACL_TABLE", "SLUICE_PLACE4_Vrf_a") != nil {
		t.Error("the table of the VRF is left")
	}
}

// orchagent makes the changes that wait in the order of their names: rules to a dead link would
// wait behind others.
func TestRulesThatGoAreHandedOverAlone(t *testing.T) {
	p := newRulePlace(t, "202505", orchagenttest.ASIC{})
	goes, comes := redirection(1, "Ethernet48:10.255.0.1"), redirection(2, "Ethernet52:10.255.0.3")
	p.settle(goes)
	p.orchagent.Stop() // what it has to take is read in its place
	if _, err := p.rules.Redirect([]engine.Redirection{comes}); !errors.Is(err, engine.ErrPending) {
		t.Fatalf("%v: want that it is pending", err)
	}
	changes, err := p.appl.Take(t.Context(), tableRule)
	if err != nil || len(changes) != 1 || !changes[0].Deleted {
		t.Errorf("handed over %v, %v: want the removal alone", changes, err)
	}
}

func TestRuleMovesWithoutAGap(t *testing.T) {
	p := newRulePlace(t, "202505", orchagenttest.ASIC{RuleTime: time.Millisecond})
	to := []string{"Ethernet48:10.255.0.1", "Ethernet52:10.255.0.3"}
	for i := range 5 {
		p.settle(redirection(1, to[i%2]))
		p.is(to[i%2])
	}
	if p.gaps > 0 {
		t.Errorf("the flow was by hash %d times while it moved", p.gaps)
	}
}

func TestRuleIsRewrittenWhereTheSwitchTakesOneOfAMatch(t *testing.T) {
	p := newRulePlace(t, "202505", orchagenttest.ASIC{OneMatch: true})
	to := []string{"Ethernet48:10.255.0.1", "Ethernet52:10.255.0.3"}
	for i := range 4 {
		if refused := p.settle(redirection(1, to[i%2])); len(refused) > 0 {
			t.Fatal(refused)
		}
		// The status of the former rule stays until orchagent has made the new one.
		p.until("the switch sends the flow to "+to[i%2], func() bool { return slices.Equal(p.to(), to[i%2:i%2+1]) })
	}
	if n := len(p.orchagent.Refused()); n != 1 {
		t.Errorf("the switch refused %d rules: want the first of a move alone: %v", n, p.orchagent.Refused())
	}
}

func TestRuleWaitsForItsNeighbor(t *testing.T) {
	p := newRulePlace(t, "202505", orchagenttest.ASIC{})
	p.neighbor("Ethernet48:10.255.0.1", false)
	p.until("the neighbor is gone", func() bool { return !slices.Contains(p.orchagent.Neighbors(), "Ethernet48:10.255.0.1") })
	want := redirection(1, "Ethernet48:10.255.0.1")
	for range 10 {
		if _, err := p.rules.Redirect([]engine.Redirection{want}); !errors.Is(err, engine.ErrWaits) { // no work of the switch
			t.Fatalf("%v: want that it waits for the neighbor", err)
		}
	}
	p.neighbor("Ethernet48:10.255.0.1", true)
	if refused := p.settle(want); len(refused) > 0 || len(p.orchagent.Refused()) > 0 {
		t.Errorf("refused %v, %v", refused, p.orchagent.Refused())
	}
	p.is("Ethernet48:10.255.0.1")
}

func TestRuleWithoutANeighborIsGivenUp(t *testing.T) {
	p := newRulePlace(t, "202505", orchagenttest.ASIC{})
	p.rules.patience = 0
	want := redirection(1, "Ethernet56:10.255.0.9")
	if refused := p.settle(want); !errors.Is(refused[want.Key()], engine.ErrNoNextHop) || errors.Is(refused[want.Key()], engine.ErrRefused) {
		t.Errorf("refused %v: want that the next hop is missing, and that other rules are tried", refused)
	}
	p.is()
}

func TestNeighborIsFreeOnceItsRuleHasGone(t *testing.T) {
	p := newRulePlace(t, "202505", orchagenttest.ASIC{})
	p.settle(redirection(1, "Ethernet48:10.255.0.1"))
	p.neighbor("Ethernet48:10.255.0.1", false)
	p.until("orchagent takes the removal", func() bool {
		waits, err := p.appl.Waiting(t.Context(), "NEIGH_TABLE")
		return err == nil && len(waits) == 0
	})
	if !slices.Contains(p.orchagent.Neighbors(), "Ethernet48:10.255.0.1") {
		t.Fatal("orchagent removed a neighbor that a rule refers to")
	}
	p.settle()
	p.until("the neighbor is gone", func() bool { return !slices.Contains(p.orchagent.Neighbors(), "Ethernet48:10.255.0.1") })
}

func TestFullTableRefusesRules(t *testing.T) {
	p := newRulePlace(t, "202505", orchagenttest.ASIC{})
	want := redirection(1, "Ethernet48:10.255.0.1")
	f := ruled{flow: want}
	f.flow.To = engine.NextHop{}
	f.slots[0].to = want.To
	row := "ACL_RULE|" + keyAs(f.row(0))
	p.orchagent.Deny(row)
	if refused := p.settle(want); !errors.Is(refused[want.Key()], engine.ErrRefused) {
		t.Errorf("refused %v: want that there is no room", refused)
	}
	if left, err := namesOf(p.appl, tableRule, nameTable4+":"); err != nil || len(left) > 0 {
		t.Errorf("rows that were refused are left: %v, %v", left, err)
	}
	p.orchagent.Allow(row)
	p.pass(firstBackOff)
	p.settle(want)
	p.is("Ethernet48:10.255.0.1")
}

// pass lets time pass for the rules.
func (p *rulePlace) pass(d time.Duration) {
	now := p.rules.now
	p.rules.now = func() time.Time { return now().Add(d) }
}

// TestRulesComeBackWhereOrchagentRestarts: swss flushes APPL_DB, and neighbors come later.
func TestRulesComeBackWhereOrchagentRestarts(t *testing.T) {
	p := newRulePlace(t, "202505", orchagenttest.ASIC{})
	want := redirection(1, "Ethernet48:10.255.0.1")
	p.settle(want)
	p.orchagent.Stop()
	flushed, err := p.appl.Read(t.Context(), tableType, tableACL, tableRule, "NEIGH_TABLE")
	if err != nil || len(flushed) < 5 {
		t.Fatal(flushed, err)
	}
	p.lose(flushed...)
	p.by = map[string]string{}
	p.startOn("202505")
	p.rules.checked = time.Time{}
	if changed, err := p.e.CheckDrift(); err != nil || !changed {
		t.Fatal(changed, err)
	}
	p.reconcile(p.e, placements)
	if _, err := p.rules.Redirect([]engine.Redirection{want}); !errors.Is(err, engine.ErrPending) {
		t.Fatalf("%v: want that the rule waits for its neighbor", err)
	}
	p.neighbor("Ethernet48:10.255.0.1", true)
	p.settle(want)
	p.is("Ethernet48:10.255.0.1")
}

// TestRulesThatOthersRemoveAreCountedAndPutBack: two times at once, from the third on each 10 s at most. A rule
// without a redirection is no loss, and leaves no text behind.
func TestRulesThatOthersRemoveAreCountedAndPutBack(t *testing.T) {
	p := newRulePlace(t, "202505", orchagenttest.ASIC{})
	want := []engine.Redirection{redirection(1, "Ethernet48:10.255.0.1"), redirection(2, "Ethernet52:10.255.0.3")}
	p.settle(want...)
	remove := func() {
		t.Helper()
		all, err := p.appl.Read(t.Context(), tableRule)
		all = slices.DeleteFunc(all, func(r rows.Row) bool { return !strings.HasPrefix(r.Key, nameTable4+":") })
		if err != nil || len(all) != len(want) {
			t.Fatal(all, err)
		}
		p.lose(all...)
		p.pass(checkRules)
	}
	rulesThere := func() int {
		t.Helper()
		left, err := namesOf(p.appl, tableRule, nameTable4+":")
		if err != nil {
			t.Fatal(err)
		}
		return len(left)
	}
	for n := uint64(1); n <= 2; n++ {
		remove()
		p.settle(want...)
		p.pass(checkRules)
		p.settle(want...)
		if found, put := p.rules.Losses().Counts(); found != n || put != n || rulesThere() != 2 {
			t.Fatalf("%d losses, put back %d times, %d rules; want %d of each, and 2", found, put, rulesThere(), n)
		}
	}
	if got := p.rules.Losses().Texts(); len(got) != 1 || !strings.HasPrefix(got[0], "acl_rules SLUICE_PLACE4: another program removed or changed them: 2 rules; put back 2 times") {
		t.Errorf("texts %q", got)
	}
	remove()
	p.pass(-checkRules)
	for range 5 {
		p.pass(checkRules)
		if _, err := p.rules.Redirect(want); !errors.Is(err, engine.ErrWaits) {
			t.Fatalf("error %v, want that they wait", err)
		}
	}
	if w := p.rules.Losses().Warnings(); rulesThere() != 0 || len(w) != 1 || !strings.Contains(w[0], "again and again") {
		t.Errorf("%d rules, warnings %q; want none, and one", rulesThere(), w)
	}
	p.pass(drift.Pause)
	p.settle(want...)
	p.pass(checkRules)
	p.settle(want...)
	if found, put := p.rules.Losses().Counts(); found != 3 || put != 3 || rulesThere() != 2 {
		t.Errorf("%d losses, put back %d times, %d rules; want 3, 3, 2", found, put, rulesThere())
	}
	remove()
	p.settle() // no caller asks for the lost rules
	p.pass(drift.Window)
	p.settle()
	if got := p.rules.Losses().Texts(); len(got) > 0 {
		t.Errorf("texts %q without a rule, after the window", got)
	}
	if found, _ := p.rules.Losses().Counts(); found != 3 {
		t.Errorf("%d losses: rules that nothing asks for count", found)
	}
}

// TestRuleThatOrchagentLostIsCounted: with each release the row is there, and orchagent says nothing of it any more.
func TestRuleThatOrchagentLostIsCounted(t *testing.T) {
	for _, release := range orchagenttest.Releases {
		p := newRulePlace(t, release.Name, orchagenttest.ASIC{})
		want := redirection(1, "Ethernet48:10.255.0.1")
		p.settle(want)
		all, err := p.state.Read(t.Context(), statusTables[tableRule])
		all = slices.DeleteFunc(all, func(r rows.Row) bool { return !strings.HasPrefix(r.Key, nameTable4) })
		if err != nil || len(all) != 1 {
			t.Fatal(release.Name, all, err)
		}
		if err := p.state.Write(t.Context(), sonicdb.Change{Row: all[0], Deleted: true}); err != nil {
			t.Fatal(err)
		}
		p.pass(checkRules)
		if _, err := p.rules.Redirect([]engine.Redirection{want}); err != nil {
			t.Fatalf("%s: %v: want patience with a silent orchagent", release.Name, err)
		}
		p.pass(p.rules.patience + checkRules)
		p.settle(want)
		p.pass(checkRules)
		p.settle(want)
		if found, put := p.rules.Losses().Counts(); found != 1 || put != 1 {
			t.Errorf("%s: %d losses, put back %d times", release.Name, found, put)
		}
		if got := p.rules.Losses().Texts(); len(got) != 1 || !strings.HasPrefix(got[0], "acl_rules SLUICE_PLACE4: orchagent lost them: 1 rules; put back 1 times") {
			t.Errorf("%s: texts %q", release.Name, got)
		}
	}
}

func TestRulesOfAnEarlierProcessAreAdopted(t *testing.T) {
	p := newRulePlace(t, "202505", orchagenttest.ASIC{})
	stays, moves := redirection(1, "Ethernet48:10.255.0.1"), redirection(2, "Ethernet48:10.255.0.1")
	p.settle(stays, moves)
	moved := redirection(2, "Ethernet52:10.255.0.3")
	if _, err := p.rules.Redirect([]engine.Redirection{stays, moved}); !errors.Is(err, engine.ErrPending) {
		t.Fatal(err) // and the process is killed
	}
	p.until("both rules of the flow that moves are in force", func() bool { return len(p.to()) == 3 })
	p.set("ACL_RULE", "DATAACL|RULE_1", "PRIORITY", "1", "PACKET_ACTION", "DROP")
	p.rules = p.d.Rules()
	adopted, err := p.rules.Adopt()
	if err != nil || len(adopted) != 2 || !slices.Contains(adopted, stays) {
		t.Fatalf("adopted %v, %v", adopted, err)
	}
	p.settle(adopted...)
	if n := len(p.to()); n != 2 || p.gaps > 0 {
		t.Errorf("%d rules, %d flows were by hash: want 2 and 0", n, p.gaps)
	}
	p.reconcile(p.e, engine.Policy{})
	p.until("the rules go with their table", func() bool { return len(p.to()) == 0 })
	if left, err := namesOf(p.appl, tableRule, namesTables); err != nil || len(left) > 0 {
		t.Errorf("rows are left: %v, %v", left, err)
	}
}

func TestRowsOfOthersInSluicesTableStay(t *testing.T) {
	p := newRulePlace(t, "202505", orchagenttest.ASIC{})
	f := ruled{flow: redirection(1, "Ethernet48:10.255.0.1")}
	f.slots[0].to = f.flow.To
	for i, change := range []func(*rows.Row){
		func(r *rows.Row) { r.Key = "SLUICE_PLACE4:mine" },
		func(r *rows.Row) { r.Fields["REDIRECT_ACTION"] = "Ethernet48" },
		func(r *rows.Row) { r.Fields["DSCP"] = "3" },
		func(r *rows.Row) { r.Fields["L4_SRC_PORT"] = "4791" },
		func(r *rows.Row) { delete(r.Fields, "SRC_IP") },
	} {
		row := f.row(0)
		change(&row)
		if r, _, err := parseRule(row); err == nil {
			t.Errorf("%d: %v is taken for %v", i, row, r)
		}
	}
	if r, slot, err := parseRule(f.row(0)); err != nil || slot != 0 || r != f.flow {
		t.Errorf("%v, %d, %v", r, slot, err)
	}
	p.set("ACL_TABLE", "SLUICE_PLACE4", "type", "L3", "policy_desc", "an operator's", "stage", "ingress")
	p.reconcile(p.e, engine.Policy{})
	if out := p.reconcile(p.e, placements); !strings.Contains(fmt.Sprint(out.Problems), "that Sluice did not write") {
		t.Errorf("a table of the operator with the name of Sluice's is taken: %+v", out)
	}
}
