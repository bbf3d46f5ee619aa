// SPDX-License-Identifier: Apache-2.0

package orchagenttest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// errSecond: the ASIC refuses a second rule of a match. SAI_STATUS_ITEM_ALREADY_EXISTS in its place
// would count as success (AclRule::createRule).
var errSecond = errors.New("SAI_STATUS_FAILURE")

// errCounter: the switch refuses the counter of a rule.
var errCounter = errors.New("the switch refuses a counter")

const fieldRedirect = "REDIRECT_ACTION"

// neighbor takes a row of NEIGH_TABLE. A neighbor that a rule or the group of a route refers to
// stays, and its removal is tried again until these go (NeighOrch::removeNeighbor).
func (o *Orchagent) neighbor(t task) (done bool) {
	if !t.deleted {
		o.hops.neighbors[t.Key] = true
		return true
	}
	if o.hops.routes[t.Key] || o.hops.leaked[t.Key] > 0 {
		return false
	}
	for _, fields := range o.taken["ACL_RULE"] {
		if neighborOf(fields) == t.Key {
			return false
		}
	}
	delete(o.hops.neighbors, t.Key)
	return true
}

// Routes has routes whose groups refer to some neighbors, INTERFACE:ADDRESS, and to no other.
func (o *Orchagent) Routes(neighbors ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.hops.routes = map[string]bool{}
	for _, n := range neighbors {
		o.hops.routes[n] = true
	}
}

// RefuseCounters has the switch refuse counters of rules, or end that. Each attempt adds a reference
// to the next hop of the rule that is never released (AclRule::create, AclRulePacket::getRedirectObjectId).
func (o *Orchagent) RefuseCounters(on bool) { o.mu.Lock(); o.hops.counters = on; o.mu.Unlock() }

// Leaked returns the references to next hops that nothing releases, by neighbor.
func (o *Orchagent) Leaked() map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.hops.leaked)
}

// neighborOf is the key of the neighbor that a rule refers to; "": it redirects to none.
func neighborOf(fields map[string]string) string {
	ip, link, found := strings.Cut(fields[fieldRedirect], "@")
	if !found {
		return ""
	}
	return link + ":" + ip
}

// program puts a rule on the switch. A rule of that name is removed before: meanwhile packets
// go where they went without it (AclOrch::updateAclRule).
func (o *Orchagent) program(t task) error {
	if t.Table != "ACL_RULE" {
		return nil
	}
	o.unprogram(t.Key)
	to := neighborOf(t.Fields)
	if t.Fields[fieldRedirect] != "" && !o.hops.neighbors[to] {
		return fmt.Errorf("it has no neighbor %s", to)
	}
	if o.hops.counters {
		o.hops.leaked[to]++
		return errCounter
	}
	if is, on := o.view[t.Key]; on && maps.Equal(is, t.Fields) {
		return nil // the switch has it from before the warm restart
	}
	if o.asic.OneMatch && slices.ContainsFunc(slices.Collect(maps.Values(o.taken["ACL_RULE"])), func(f map[string]string) bool { return sameMatch(f, t.Fields) }) {
		return errSecond
	}
	time.Sleep(o.asic.RuleTime)
	switch {
	case to != "" && o.asic.Redirect != nil:
		return o.asic.Redirect(t.Key, t.Fields, to)
	case t.Fields["PACKET_ACTION"] == "DROP" && o.asic.Drop != nil:
		return o.asic.Drop(t.Key, t.Fields, true)
	}
	return nil
}

// full reports whether a rule finds no room.
func (o *Orchagent) full(t task) bool {
	rules := o.taken["ACL_RULE"]
	return t.Table == "ACL_RULE" && rules[t.Key] == nil && o.asic.Entries > 0 && len(rules) >= o.asic.Entries
}

// unprogram takes a rule off the switch. It returns whether there was one.
func (o *Orchagent) unprogram(rule string) bool {
	fields := o.taken["ACL_RULE"][rule]
	if fields == nil {
		return false
	}
	o.off(rule, fields)
	delete(o.taken["ACL_RULE"], rule)
	o.crm.destroyed(rule)
	return true
}

// off takes the entry of a rule off the switch.
func (o *Orchagent) off(rule string, fields map[string]string) {
	time.Sleep(o.asic.RuleTime)
	// Of a switch that has gone, nothing is left.
	switch {
	case o.asic.Redirect != nil && neighborOf(fields) != "":
		_ = o.asic.Redirect(rule, fields, "")
	case o.asic.Drop != nil && fields["PACKET_ACTION"] == "DROP":
		_ = o.asic.Drop(rule, fields, false)
	}
}

// sameMatch reports whether two rules match the same packets.
func sameMatch(a, b map[string]string) bool {
	match := func(f map[string]string) map[string]string {
		f = maps.Clone(f)
		maps.DeleteFunc(f, func(name, _ string) bool { return name == "PRIORITY" || strings.HasSuffix(name, "_ACTION") })
		return f
	}
	return maps.Equal(match(a), match(b))
}

// Neighbors are those that it has, INTERFACE:ADDRESS, sorted.
func (o *Orchagent) Neighbors() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Sorted(maps.Keys(o.hops.neighbors))
}
