// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/testbed/orchagenttest"
	"sluice/tests/redistest"
	"sluice/yang/rows"
)

// TestRoomIsTheLastReadingLessRulesSince: a reading of CRM is minutes old.
func TestRoomIsTheLastReadingLessRulesSince(t *testing.T) {
	now := time.Unix(1000, 0)
	for name, tt := range map[string]struct {
		prepare     func(r *room)
		own, others int
		after       time.Duration
		more        int
		known       bool
	}{
		"nothing is read":                 {func(*room) {}, 5, 5, 0, 0, false},
		"as it was read":                  {func(r *room) { r.read(reading{100, 10}, 5) }, 10, 5, 0, 84, true},
		"Sluice has made more since":      {func(r *room) { r.read(reading{100, 10}, 5) }, 30, 5, 0, 64, true},
		"Sluice has removed some":         {func(r *room) { r.read(reading{100, 10}, 5) }, 4, 5, 0, 90, true},
		"the operator has made more":      {func(r *room) { r.read(reading{100, 10}, 5) }, 10, 15, 0, 74, true},
		"the operator has removed some":   {func(r *room) { r.read(reading{100, 10}, 5) }, 10, 0, 0, 84, true},
		"the reserve is short":            {func(r *room) { r.read(reading{5, 10}, 5) }, 10, 5, 0, -11, true},
		"the same reading again":          {func(r *room) { r.read(reading{100, 10}, 5); r.read(reading{100, 10}, 9) }, 10, 9, 0, 80, true},
		"another reading":                 {func(r *room) { r.read(reading{100, 10}, 5); r.read(reading{90, 20}, 5) }, 20, 5, 0, 74, true},
		"a rule found no room":            {func(r *room) { r.full(18, 2, 0); r.backOff(now) }, 18, 2, 0, -16, true},
		"the reserve is free then":        {func(r *room) { r.full(18, 2, 0); r.backOff(now) }, 2, 2, 0, 0, true},
		"a rule of the operator waits":    {func(r *room) { r.full(18, 3, 1); r.backOff(now) }, 18, 3, 0, -17, true},
		"and has its room":                {func(r *room) { r.full(18, 3, 1); r.backOff(now) }, 1, 3, 0, 0, true},
		"CRM contradicts, as before":      {func(r *room) { r.read(reading{90, 10}, 2); r.full(18, 2, 0); r.backOff(now); r.read(reading{98, 2}, 2) }, 2, 2, 0, 0, true},
		"CRM has other entries in all":    {func(r *room) { r.read(reading{90, 10}, 2); r.full(18, 2, 0); r.read(reading{60, 2}, 2) }, 2, 2, 0, 44, true},
		"none is added during a back-off": {func(r *room) { r.read(reading{90, 10}, 2); r.backOff(now) }, 10, 2, 0, 0, true},
		"the back-off is over":            {func(r *room) { r.full(18, 2, 0); r.backOff(now) }, 2, 2, firstBackOff, 0, false},
	} {
		r := room{reserve: DefaultReserve}
		tt.prepare(&r)
		if more, known := r.budget(tt.own, tt.others, now.Add(tt.after)); more != tt.more || known != tt.known {
			t.Errorf("%s: %d more, known %v; want %d, %v", name, more, known, tt.more, tt.known)
		}
	}
}

// TestBackOffsGrow until a rule is in force after one.
func TestBackOffsGrow(t *testing.T) {
	now := time.Unix(1000, 0)
	r := room{}
	var got []time.Duration
	for range 6 {
		r.backOff(now)
		r.backOff(now.Add(time.Second)) // another rule of the same attempt
		got = append(got, r.pause)
		now = now.Add(r.pause)
	}
	m := time.Minute
	if want := []time.Duration{2 * m, 4 * m, 8 * m, 16 * m, 32 * m, 32 * m}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("back-offs %v, want %v", got, want)
	}
	r.taken(now)
	if r.backOff(now); r.pause != firstBackOff {
		t.Errorf("after a rule is in force the back-off is %v", r.pause)
	}
}

// flows are redirections to one neighbor.
func flowsOf(n int) (all []engine.Redirection) {
	for port := range n {
		all = append(all, redirection(port+1, "Ethernet48:10.255.0.1"))
	}
	return all
}

// burst has the operator write rules at once.
func (p *rulePlace) burst(n int) {
	for i := range n {
		p.set("ACL_RULE", fmt.Sprint("USER|RULE_", i), "PRIORITY", fmt.Sprint(10+i), "SRC_IP", "192.0.2.1/32", "PACKET_ACTION", "DROP")
	}
}

// active counts the operator's rules in force.
func (p *rulePlace) active() (n int) {
	for _, name := range p.orchagent.Taken() {
		if strings.HasPrefix(name, "ACL_RULE|USER|") {
			n++
		}
	}
	return n
}

// TestOperatorsBurstFindsRoomInAFullTable: 202605 parks a rule without room for good, so that there is
// to be room before. Whether the room is known by CRM or by a rule that found none.
func TestOperatorsBurstFindsRoomInAFullTable(t *testing.T) {
	for _, release := range []string{"202505", "202605"} {
		for _, polled := range []bool{false, true} {
			t.Run(fmt.Sprint(release, " CRM ", polled), func(t *testing.T) {
				p := newRulePlace(t, release, orchagenttest.ASIC{Entries: 40})
				p.set("ACL_TABLE", "USER", "type", "L3", "stage", "ingress", "ports@", "Ethernet0")
				if polled {
					p.settle(flowsOf(4)...)
					p.orchagent.PollCRM()
					p.again()
				}
				p.settle(flowsOf(45)...)
				p.settle(flowsOf(45)...)
				if n := len(p.to()); n != 24 {
					t.Fatalf("%d rules of Sluice in a table of 40 entries: want 24", n)
				}
				if refused := len(p.orchagent.Refused()); polled && refused > 0 {
					t.Errorf("%d rules found no room, which CRM shows", refused)
				}
				p.burst(8)
				p.until("the operator's rules are in force", func() bool { return p.active() == 8 })
				if waits := p.orchagent.Pending(); len(waits) > 0 {
					t.Errorf("tasks wait, which fails a warm restart: %v", waits)
				}
				p.again()
				p.settle(flowsOf(45)...)
				if n := len(p.to()); n != 16 {
					t.Errorf("%d rules of Sluice beside eight of the operator: want 16, and the reserve is free again", n)
				}
				if more, known := p.rules.Room(); more != 0 || !known {
					t.Errorf("%d more rules are possible, known %v: want 0", more, known)
				}
				if !polled {
					return
				}
				// Where Sluice has none left, rules come back with the operator's room.
				p.rules.SetReserve(40)
				p.settle(flowsOf(45)...)
				p.rules.SetReserve(DefaultReserve)
				for i := range 8 {
					p.remove("ACL_RULE", fmt.Sprint("USER|RULE_", i))
				}
				p.until("the operator's rules are gone", func() bool { return p.active() == 0 })
				p.orchagent.PollCRM()
				p.again()
				p.settle(flowsOf(45)...)
				p.again()
				p.settle(flowsOf(45)...)
				if n := len(p.to()); n != 24 {
					t.Errorf("%d rules of Sluice when the operator has none: want 24", n)
				}
			})
		}
	}
}

// TestRoomComesBackWithoutAFlow: where there is no room the redirector asks for no rule.
func TestRoomComesBackWithoutAFlow(t *testing.T) {
	p := newRulePlace(t, "202605", orchagenttest.ASIC{Entries: 24})
	p.set("ACL_TABLE", "USER", "type", "L3", "stage", "ingress", "ports@", "Ethernet0")
	p.settle(flowsOf(4)...)
	p.orchagent.PollCRM()
	p.again()
	p.settle(flowsOf(8)...)
	p.burst(8)
	p.until("the operator's rules are in force", func() bool { return p.active() == 8 })
	p.orchagent.PollCRM()
	p.again()
	p.settle(flowsOf(8)...)
	if more, known := p.rules.Room(); len(p.to()) != 0 || more != 0 || !known {
		t.Fatalf("%d rules of Sluice, room for %d more, known %v: want none beside eight of the operator and the reserve", len(p.to()), more, known)
	}
	p.settle()
	for i := range 8 {
		p.remove("ACL_RULE", fmt.Sprint("USER|RULE_", i))
	}
	p.until("the operator's rules are gone", func() bool { return p.active() == 0 })
	p.orchagent.PollCRM()
	p.again()
	p.settle()
	if more, known := p.rules.Room(); more != 8 || !known {
		t.Errorf("room for %d more rules, known %v: want 8 when the operator has none", more, known)
	}
}

// TestOperatorIsAskedToAddARuleAgain: 202605 does not try it again when rules of another table go.
func TestOperatorIsAskedToAddARuleAgain(t *testing.T) {
	p := newRulePlace(t, "202605", orchagenttest.ASIC{Entries: 3})
	p.set("ACL_TABLE", "USER", "type", "L3", "stage", "ingress", "ports@", "Ethernet0")
	p.rules.SetReserve(0)
	p.settle(flowsOf(3)...)
	p.burst(1)
	p.until("the operator's rule waits for room", func() bool { return len(p.orchagent.Pending()) > 0 })
	p.again()
	p.settle(flowsOf(3)...)
	if w := p.rules.Warnings(); len(p.to()) != 2 || len(w) > 0 {
		t.Errorf("%d rules of Sluice, warnings %q: want two, and none yet", len(p.to()), w)
	}
	p.pass(yieldTime + time.Second)
	p.settle(flowsOf(3)...)
	if w := p.rules.Warnings(); len(w) != 1 || !strings.Contains(w[0], "ACL_RULE|USER|RULE_0") || !strings.Contains(w[0], "delete this row and add it again") {
		t.Errorf("warnings %q", w)
	}
	if n := len(p.to()); n != 2 {
		t.Errorf("%d rules of Sluice after that, want two", n)
	}
	p.remove("ACL_RULE", "USER|RULE_0")
	p.until("the operator's rule is gone", func() bool { return len(p.orchagent.Pending()) == 0 })
	p.burst(1)
	p.until("the operator's rule is in force", func() bool { return p.active() == 1 })
	p.again()
	p.settle(flowsOf(3)...)
	if w := p.rules.Warnings(); len(w) > 0 || len(p.to()) != 2 {
		t.Errorf("warnings %q, %d rules of Sluice", w, len(p.to()))
	}
	// The warning ends without a flow, too.
	p.rules.yields["ACL_RULE|USER|RULE_0"] = time.Time{}
	p.settle()
	p.again()
	if p.settle(); len(p.rules.Warnings()) > 0 {
		t.Errorf("warnings %q of a rule that is in force", p.rules.Warnings())
	}
}

// TestTableWithoutRoomIsTakenBack: while it waits a warm restart is impossible, and placement is not
// active.
func TestTableWithoutRoomIsTakenBack(t *testing.T) {
	const denied = "ACL_TABLE|SLUICE_PLACE4"
	p := newPlace(t).start("202605")
	p.orchagent.Deny(denied)
	p.set("SFLOW", "global", "admin_state", "up")
	d := p.driver()
	d.said.pause = time.Hour
	e := p.engine(d)
	p.reconcile(e, placements)
	if changed, err := e.CheckDrift(); !changed || err != nil {
		t.Fatal(changed, err)
	}
	by := p.reconcile(e, placements).Choices[engine.NeedPlacement]
	if by.Method != engine.None || !strings.Contains(by.Reason, "the switch has no room for ACL_TABLE_TABLE|SLUICE_PLACE4") {
		t.Errorf("method %+v: want none, for want of room", by)
	}
	p.until("a warm restart is possible", func() bool { return len(p.orchagent.Pending()) == 0 })
	p.orchagent.Allow(denied)
	p.over(d)
	if changed, err := e.CheckDrift(); !changed || err != nil {
		t.Fatal(changed, err)
	}
	if by := p.reconcile(e, placements).Choices[engine.NeedPlacement]; by.Method != engine.Redirect || by.State != engine.Active {
		t.Errorf("method %+v when there is room", by)
	}
	// A later orchagent has less room.
	p.orchagent.Stop()
	p.put("ACL_TABLE_TABLE", "SLUICE_PLACE4", map[string]string{"status": "Pending creation"})
	if changed, err := e.CheckDrift(); !changed || err != nil {
		t.Fatal(changed, err)
	}
	row, err := p.appl.Produced(t.Context(), rows.Row{Table: tableACL, Key: nameTable4})
	if by := p.reconcile(e, placements).Choices[engine.NeedPlacement]; by.Method != engine.None || len(row) > 0 || err != nil {
		t.Errorf("method %+v, rows %v, %v when the room is gone", by, row, err)
	}
}

// TestRefusedCountersAreTriedRarely: each attempt may cost orchagent a reference to the next hop.
func TestRefusedCountersAreTriedRarely(t *testing.T) {
	p := newRulePlace(t, "202605", orchagenttest.ASIC{})
	p.orchagent.RefuseCounters(true)
	leaked := func() (n int) {
		for _, refs := range p.orchagent.Leaked() {
			n += refs
		}
		return n
	}
	pass := func(seconds int) {
		for range seconds {
			p.pass(time.Second)
			if refused := p.settle(flowsOf(4)...); len(refused) == 0 {
				return
			}
		}
	}
	if refused := p.settle(flowsOf(4)...); !errors.Is(refused[flowsOf(1)[0].Key()], engine.ErrRefused) {
		t.Fatalf("refused %v", refused)
	}
	p.until("orchagent has no task", func() bool { return len(p.orchagent.Pending()) == 0 })
	first := leaked()
	if pass(100); leaked() != first || first == 0 {
		t.Errorf("%d references are lost at once, and %d after 100 s: want no other attempt", first, leaked())
	}
	p.orchagent.RefuseCounters(false)
	pass(30)
	if n := len(p.to()); n != 4 {
		t.Errorf("%d rules are in force when the switch takes counters: want 4", n)
	}
}

// TestLostNeighborAndPortThatIsDownAreLacking: the next hop stays in orchagent while a route's group
// has it, and the netdev of a port keeps its carrier.
func TestLostNeighborAndPortThatIsDownAreLacking(t *testing.T) {
	p := newRulePlace(t, "202505", orchagenttest.ASIC{})
	one, two := redirection(1, "Ethernet48:10.255.0.1"), redirection(2, "Ethernet52:10.255.0.3")
	p.settle(one, two)
	hops := []engine.NextHop{one.To, two.To}
	neighbors, ports, err := p.rules.Lacking(hops)
	if err != nil || len(neighbors)+len(ports) > 0 {
		t.Fatal(neighbors, ports, err)
	}
	p.orchagent.Routes("Ethernet48:10.255.0.1", "Ethernet52:10.255.0.3")
	p.neighbor("Ethernet48:10.255.0.1", false)
	p.until("orchagent takes the removal", func() bool { return len(p.orchagent.Pending()) > 0 })
	p.produce("PORT_TABLE", "Ethernet52", map[string]string{"oper_status": "down"})
	if neighbors, ports, err = p.rules.Lacking(hops); err != nil || !neighbors[one.To] || len(neighbors) != 1 || !ports[two.To] || len(ports) != 1 {
		t.Errorf("lacks %v and %v, %v", neighbors, ports, err)
	}
	if !strings.Contains(fmt.Sprint(p.orchagent.Neighbors()), "Ethernet48:10.255.0.1") {
		t.Error("orchagent removed a next hop that a route has")
	}
	p.produce("PORT_TABLE", "Ethernet52", map[string]string{"oper_status": "up"})
	p.produce("LAG_TABLE", "Ethernet52", map[string]string{"oper_status": "down"})
	if _, ports, err = p.rules.Lacking(hops); err != nil || !ports[two.To] {
		t.Errorf("a PortChannel that is down: %v, %v", ports, err)
	}
}

// produce writes a row of APPL_DB that the little orchagent does not consume.
func (p *rulePlace) produce(table, key string, fields map[string]string) {
	p.t.Helper()
	if err := p.appl.Amend(p.t.Context(), rows.Row{Table: table, Key: key, Fields: fields}); err != nil {
		p.t.Fatal(err)
	}
}

// TestCRMIsReadOfATableWithoutRules: Sluice has withdrawn all rules for the operator, whose rules go again.
func TestCRMIsReadOfATableWithoutRules(t *testing.T) {
	d := redistest.Databases(t)
	counters, asic := redistest.Open(t, d, "COUNTERS_DB"), redistest.Open(t, d, "ASIC_DB")
	rule := rows.Row{Table: "ACL_RULE_TABLE", Key: "SLUICE_PLACE4:f1a"}
	publish := func(available, used string) {
		redistest.Write(t, counters, rows.Row{Table: "CRM", Key: "ACL_TABLE_STATS:0x7", Fields: map[string]string{crmAvailable: available, crmUsed: used}})
	}
	redistest.Write(t, counters, rows.Row{Table: "ACL_COUNTER_RULE_MAP", Fields: map[string]string{rule.Key: "oid:0x9"}})
	redistest.Write(t, asic, rows.Row{Table: "ASIC_STATE", Key: "SAI_OBJECT_TYPE_ACL_COUNTER:oid:0x9", Fields: map[string]string{counterTable: "oid:0x7"}})
	c := crm{counters: counters, asic: asic, tables: map[string]string{}}
	publish("5", "3")
	if got, ok, err := c.read([]rows.Row{rule}); err != nil || !ok || got != (reading{5, 3}) {
		t.Fatalf("with a rule: %v, %v, %v", got, ok, err)
	}
	publish("16", "0")
	if got, ok, err := c.read(nil); err != nil || !ok || got != (reading{16, 0}) {
		t.Errorf("without rules: %v, %v, %v", got, ok, err)
	}
	if err := counters.Write(t.Context(), sonicdb.Change{Row: rows.Row{Table: "CRM", Key: "ACL_TABLE_STATS:0x7"}, Deleted: true}); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := c.read(nil); err != nil || ok || len(c.tables) != 0 {
		t.Errorf("without the table: %v, %v, %v; known %v", got, ok, err, c.tables)
	}
}
