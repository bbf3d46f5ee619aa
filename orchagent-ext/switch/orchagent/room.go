// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

// DefaultReserve is how many entries of ACL tables stay free for the operator's rules by default.
const DefaultReserve = 16

// A rule that stays pending for another reason than room may cost orchagent a reference to its next
// hop at each attempt (AclRule::create, where the switch refuses the counter). So after such a refusal
// no rule is added for firstBackOff, doubled up to longestBackOff, until one is in force.
const (
	firstBackOff   = 2 * time.Minute
	longestBackOff = 32 * time.Minute
)

// room is how many more rules the switch takes in Sluice's tables, by the last reading: CRM's, which is
// up to some minutes old, or that a rule found no room. The tables count as one, since
// many switches have one pool. The zero value knows nothing.
type room struct {
	reserve int

	known  bool
	free   int // entries at the last reading
	own    int // rules of Sluice then
	others int // rules of the operator then

	last    reading // of CRM
	pause   time.Duration
	until   time.Time // no rule is added before
	refused bool      // the last reading is that a rule lacked room
}

// reading is one of CRM: entries of tables.
type reading struct{ available, used int }

// read takes a reading of CRM. own and others are the rules that there are now. The same reading
// again is no other one; nor is one of as many entries in all as before a rule found no room, which
// shows that they are not all to be had.
func (r *room) read(is reading, others int) {
	if is == r.last || r.refused && is.available+is.used == r.last.available+r.last.used {
		return
	}
	r.known, r.refused, r.free, r.own, r.others, r.last = true, false, is.available, is.used, others, is
}

// forget drops the reading of CRM, whose rows are gone.
func (r *room) forget() {
	if !r.refused {
		r.known, r.last = false, reading{}
	}
}

// full records that a rule found no room. wait: rules of the operator do.
func (r *room) full(own, others, waits int) {
	r.known, r.refused, r.free, r.own, r.others = true, true, 0, own, others-waits
}

// refuse records that a rule of Sluice found no room, and own others are on the switch or on their
// way. Others of these may be refused, too, while rules go already: they were counted.
func (r *room) refuse(own, others int, now time.Time) {
	if r.refused && now.Before(r.until) {
		r.own--
		return
	}
	r.full(own, others, 0)
	r.backOff(now)
}

// backOff has no rule added for a while, after a refusal.
func (r *room) backOff(now time.Time) {
	if now.Before(r.until) {
		return
	}
	r.pause = min(max(firstBackOff, 2*r.pause), longestBackOff)
	r.until = now.Add(r.pause)
}

// taken records that a rule came into force.
func (r *room) taken(now time.Time) {
	if !now.Before(r.until) {
		r.pause = 0
	}
}

// budget is how many rules may be added; below 0: how many are to go. known is false where the switch
// is to be asked.
func (r *room) budget(own, others int, now time.Time) (more int, known bool) {
	pausing := now.Before(r.until)
	if r.refused && !pausing {
		r.known = false // it is tried again, with one rule after the other
	}
	if !r.known {
		return 0, pausing
	}
	more = r.free - (own - r.own) - max(0, others-r.others) - r.reserve
	if pausing {
		more = min(more, 0)
	}
	return more, true
}

// Rows with the entries of ACL tables, and with the counters of rules, by which the object of a table is
// known.
const (
	tableCRM     = "CRM"
	keyStats     = "ACL_TABLE_STATS:"
	crmAvailable = "crm_stats_acl_entry_available"
	crmUsed      = "crm_stats_acl_entry_used"
	mapRules     = "ACL_COUNTER_RULE_MAP" // TABLE:RULE
	tableASIC    = "ASIC_STATE"
	keyCounter   = "SAI_OBJECT_TYPE_ACL_COUNTER:"
	counterTable = "SAI_ACL_COUNTER_ATTR_TABLE_ID"
)

// crm reads what CRM publishes of some ACL tables: a row for each object, which has had rules.
type crm struct {
	counters, asic *sonicdb.DB
	tables         map[string]string // key of the row, by ACL table
}

// read returns the reading of the tables that the given rules are in, or were, by their keys; ok is false
// while CRM has none.
func (c *crm) read(inForce []rows.Row) (sum reading, ok bool, err error) {
	rule := map[string]string{} // one of each table
	for _, r := range inForce {
		table, _, _ := strings.Cut(r.Key, ":")
		rule[table] = r.Key
	}
	var wanted []rows.Row
	for table, key := range rule {
		if c.tables[table] == "" {
			if c.tables[table], err = c.resolve(key); err != nil {
				return sum, false, err
			}
		}
	}
	for _, at := range c.tables { // those without a rule now, too
		if at != "" {
			wanted = append(wanted, rows.Row{Table: tableCRM, Key: at})
		}
	}
	found, err := get(c.counters, wanted...)
	if err != nil {
		return sum, false, err
	}
	for i, fields := range found {
		available, wrong := strconv.Atoi(fields[crmAvailable])
		used, wrong2 := strconv.Atoi(fields[crmUsed])
		if wrong != nil || wrong2 != nil {
			for table, at := range c.tables {
				if at == wanted[i].Key {
					delete(c.tables, table)
				}
			}
			continue
		}
		if !ok || available < sum.available {
			sum.available = available
		}
		sum.used += used
		ok = true
	}
	return sum, ok, nil
}

// resolve returns the key of CRM's row for the table of a rule; "": it is not known yet.
func (c *crm) resolve(rule string) (string, error) {
	counters, err := getOne(c.counters, rows.Row{Table: mapRules})
	if err != nil || counters[rule] == "" {
		return "", err
	}
	object, err := getOne(c.asic, rows.Row{Table: tableASIC, Key: keyCounter + counters[rule]})
	if err != nil {
		return "", fmt.Errorf("read the counter of rule %s: %w", rule, err)
	}
	id := object[counterTable]
	if id == "" {
		return "", nil
	}
	return keyStats + strings.TrimPrefix(id, objectPrefix), nil
}
