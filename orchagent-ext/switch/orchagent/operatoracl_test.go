// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"errors"
	"testing"
	"time"

	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/testbed/orchagenttest"
)

// TestOperatorsRulesThatDecideOverAFlow: what of ACL_RULE leaves a flow without a rule of Sluice.
// The flow is 10.0.0.1 to 10.1.0.2, source port 1; or fc00:a::1 to fc00:b::2.
func TestOperatorsRulesThatDecideOverAFlow(t *testing.T) {
	v4, v6 := redirection(1, "Ethernet48:10.255.0.1"), redirection(1, "Ethernet48:fc00::1")
	for name, tt := range map[string]struct {
		fields map[string]string
		v4, v6 bool // it decides over the flow
	}{
		"all":                   {map[string]string{"PACKET_ACTION": "DROP"}, true, true},
		"its source":            {map[string]string{"SRC_IP": "10.0.0.1/32", "PACKET_ACTION": "DROP"}, true, false},
		"its IPv6 source":       {map[string]string{"SRC_IPV6": "fc00:a::/32", "PACKET_ACTION": "DROP"}, false, true},
		"its destination":       {map[string]string{"DST_IP": "10.1.0.2", "PACKET_ACTION": "drop"}, true, false},
		"another source":        {map[string]string{"SRC_IP": "10.0.0.2/32", "PACKET_ACTION": "DROP"}, false, false},
		"its ports":             {map[string]string{"IP_PROTOCOL": "17", "L4_DST_PORT": "4791", "L4_SRC_PORT": "0x1", "PACKET_ACTION": "DROP"}, true, true},
		"a range with its port": {map[string]string{"L4_SRC_PORT_RANGE": "1-5", "PACKET_ACTION": "DROP"}, true, true},
		"another range":         {map[string]string{"L4_SRC_PORT_RANGE": "2-5", "PACKET_ACTION": "DROP"}, false, false},
		"TCP":                   {map[string]string{"IP_PROTOCOL": "6", "PACKET_ACTION": "DROP"}, false, false},
		"IPv4 frames":           {map[string]string{"ETHER_TYPE": "2048", "PACKET_ACTION": "DROP"}, true, false},
		"IPv6 frames":           {map[string]string{"ETHER_TYPE": "0x86dd", "PACKET_ACTION": "DROP"}, false, true},
		"a DSCP":                {map[string]string{"DSCP": "26", "PACKET_ACTION": "DROP"}, true, true},
		"a field that is bad":   {map[string]string{"SRC_IP": "ten", "PACKET_ACTION": "DROP"}, true, true},
		"a redirection":         {map[string]string{"PACKET_ACTION": "REDIRECT:Ethernet4"}, true, true},
		"a redirection by name": {map[string]string{"REDIRECT_ACTION": "Ethernet4"}, true, true},
		"a trap":                {map[string]string{"PACKET_ACTION": "TRAP"}, true, true},
		"a permit":              {map[string]string{"PACKET_ACTION": "FORWARD"}, false, false},
		"a copy":                {map[string]string{"PACKET_ACTION": "COPY"}, false, false},
		"a mirror":              {map[string]string{"MIRROR_INGRESS_ACTION": "session"}, false, false},
	} {
		rule := operatorRule{"ACL_RULE|USER|R", 10, tt.fields}
		for family, r := range map[bool]*engine.Redirection{false: &v4, true: &v6} {
			o := operatorRules{tables: map[string][]operatorRule{"USER": {rule}}}
			want := map[bool]bool{false: tt.v4, true: tt.v6}[family]
			if err := o.against(r); errors.Is(err, errOperators) != want {
				t.Errorf("%s, IPv6 %v: %v, want that it decides: %v", name, family, err, want)
			}
		}
	}
}

// TestPermitBeforeADropLeavesAFlowToSluice: rules of a table count from the highest priority on;
// tables count each.
func TestPermitBeforeADropLeavesAFlowToSluice(t *testing.T) {
	r := redirection(1, "Ethernet48:10.255.0.1")
	permit := operatorRule{"permit", 20, map[string]string{"DST_IP": "10.1.0.0/16", "PACKET_ACTION": "FORWARD"}}
	partly := operatorRule{"partly", 20, map[string]string{"DSCP": "26", "PACKET_ACTION": "FORWARD"}}
	deny := operatorRule{"deny", 1, map[string]string{"ETHER_TYPE": "2048", "PACKET_ACTION": "DROP"}}
	for name, tt := range map[string]struct {
		tables map[string][]operatorRule
		places bool
	}{
		"no rule":               {nil, true},
		"permit, then deny":     {map[string][]operatorRule{"A": {permit, deny}}, true},
		"deny, then permit":     {map[string][]operatorRule{"A": {deny, permit}}, false},
		"some of it, then deny": {map[string][]operatorRule{"A": {partly, deny}}, false},
		"deny in another table": {map[string][]operatorRule{"A": {permit}, "B": {deny}}, false},
	} {
		o := operatorRules{tables: tt.tables}
		if err := o.against(&r); (err == nil) != tt.places {
			t.Errorf("%s: %v, want that the flow is placed: %v", name, err, tt.places)
		}
	}
}

// dropPlace is a place with an operator's table that is bound to a port, and to which a flow that
// is redirected comes in.
func dropPlace(t *testing.T, asic orchagenttest.ASIC) *rulePlace {
	t.Helper()
	p := newRulePlace(t, "202505", asic)
	p.set("ACL_TABLE", "USER", "type", "L3", "stage", "ingress", "ports@", "Ethernet0")
	return p
}

// again has the operator's rules read by the next call.
func (p *rulePlace) again() { p.rules.readAt = time.Time{} }

// inForce waits until the operator's rule is.
func (p *rulePlace) inForce() {
	p.t.Helper()
	p.until("the operator's rule is in force", func() bool { return p.orchagent.Fields("ACL_RULE", "USER|RULE_1") != nil })
}

func TestOperatorsDropTakesTheRuleOfItsFlow(t *testing.T) {
	p := dropPlace(t, orchagenttest.ASIC{})
	dropped, other := redirection(1, "Ethernet48:10.255.0.1"), redirection(2, "Ethernet52:10.255.0.3")
	p.settle(dropped, other)
	p.set("ACL_RULE", "USER|RULE_1", "PRIORITY", "10", "L4_SRC_PORT", "1", "PACKET_ACTION", "DROP")
	p.inForce()
	p.again()
	if refused := p.settle(dropped, other); !errors.Is(refused[dropped.Key()], errOperators) || len(refused) != 1 {
		t.Errorf("refused %v: want the flow that the operator drops", refused)
	}
	p.is("Ethernet52:10.255.0.3")
	if p.orchagent.Fields("ACL_RULE", "USER|RULE_1") == nil {
		t.Error("the operator's rule is gone")
	}
	p.remove("ACL_RULE", "USER|RULE_1")
	p.again()
	p.settle(dropped, other)
	p.is("Ethernet48:10.255.0.1", "Ethernet52:10.255.0.3")
}

// TestOperatorsTablesElsewhereLeaveRules: tables of egress, of other ports, and those that see no
// packets.
func TestOperatorsTablesElsewhereLeaveRules(t *testing.T) {
	for name, tt := range map[string]struct {
		fields []string
		drops  bool
	}{
		"the same port":   {[]string{"stage", "ingress", "ports@", "Ethernet8,Ethernet0"}, true},
		"a PortChannel":   {[]string{"ports@", "PortChannel1"}, true},
		"a VLAN":          {[]string{"stage", "INGRESS", "ports@", "Vlan100"}, true},
		"another port":    {[]string{"stage", "ingress", "ports@", "Ethernet48"}, false},
		"egress":          {[]string{"stage", "egress", "ports@", "Ethernet0"}, false},
		"no port at all":  {[]string{"stage", "ingress"}, false},
		"control packets": {[]string{"services@", "SSH"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newRulePlace(t, "202505", orchagenttest.ASIC{})
			p.set("ACL_TABLE", "USER", append([]string{"type", "L3"}, tt.fields...)...)
			p.set("ACL_RULE", "USER|RULE_1", "PRIORITY", "10", "PACKET_ACTION", "DROP")
			r := redirection(1, "Ethernet48:10.255.0.1")
			if refused := p.settle(r); (len(refused) > 0) != tt.drops {
				t.Errorf("refused %v, want that the flow has no rule: %v", refused, tt.drops)
			}
		})
	}
}

// TestOperatorsRuleThatFindsNoRoomHasThatOfSluice: the table of the operator is full with rules of
// Sluice beside it.
func TestOperatorsRuleThatFindsNoRoomHasThatOfSluice(t *testing.T) {
	p := dropPlace(t, orchagenttest.ASIC{Entries: 3})
	p.rules.SetReserve(0)
	var all []engine.Redirection
	for port := range 3 {
		all = append(all, redirection(port+1, "Ethernet48:10.255.0.1"))
	}
	p.settle(all...)
	p.set("ACL_RULE", "USER|RULE_1", "PRIORITY", "10", "L4_SRC_PORT", "9", "PACKET_ACTION", "DROP")
	p.until("the operator's rule waits for room", func() bool { return len(p.orchagent.Refused()) > 0 })
	p.again()
	if refused := p.settle(all...); len(refused) != 1 {
		t.Errorf("refused %v: want one, for want of room", refused)
	}
	p.inForce()
	p.again()
	refused := p.settle(all...)
	if len(refused) != 1 {
		t.Errorf("then refused %v: want the one that has no room", refused)
	}
	for key, why := range refused {
		if !errors.Is(why, engine.ErrRefused) {
			t.Errorf("%s: %v, want that there is no room", key, why)
		}
	}
	if p.orchagent.Fields("ACL_RULE", "USER|RULE_1") == nil || len(p.to()) != 2 {
		t.Errorf("%d rules of Sluice, want two beside the operator's", len(p.to()))
	}
}
