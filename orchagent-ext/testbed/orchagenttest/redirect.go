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

const fieldRedirect = "REDIRECT_ACTION"

// neighbor takes a row of NEIGH_TABLE. A neighbor that a rule refers to stays, and its removal
// is tried again until the rule goes (NeighOrch::removeNeighbor).
func (o *Orchagent) neighbor(t task) (done bool) {
	if !t.deleted {
		o.neighbors[t.Key] = true
		return true
	}
	for _, fields := range o.taken["ACL_RULE"] {
		if neighborOf(fields) == t.Key {
			return false
		}
	}
	delete(o.neighbors, t.Key)
	return true
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
	if t.Fields[fieldRedirect] != "" && !o.neighbors[to] {
		return fmt.Errorf("it has no neighbor %s", to)
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

// unprogram takes a rule off the switch.
func (o *Orchagent) unprogram(rule string) {
	fields := o.taken["ACL_RULE"][rule]
	if fields == nil {
		return
	}
	time.Sleep(o.asic.RuleTime)
	// Of a switch that has gone, nothing is left.
	switch {
	case o.asic.Redirect != nil && neighborOf(fields) != "":
		_ = o.asic.Redirect(rule, fields, "")
	case o.asic.Drop != nil && fields["PACKET_ACTION"] == "DROP":
		_ = o.asic.Drop(rule, fields, false)
	}
	delete(o.taken["ACL_RULE"], rule)
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
	return slices.Sorted(maps.Keys(o.neighbors))
}
