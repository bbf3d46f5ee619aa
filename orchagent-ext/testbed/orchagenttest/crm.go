// SPDX-License-Identifier: Apache-2.0

package orchagenttest

import (
	"context"
	"fmt"
	"strings"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

// crm are the objects of ACL tables and counters, and the resources that CrmOrch publishes.
type crm struct {
	counters, asic *sonicdb.DB

	objects map[string]string // by the name of an ACL table, or of a rule, TABLE|RULE: its object, or its counter's
	had     map[string]bool   // ACL tables that have rules, or had some
	next    uint64
}

// Tables of COUNTERS_DB and ASIC_DB with rules' counters.
const (
	mapRules     = "ACL_COUNTER_RULE_MAP" // TABLE:RULE
	tableASIC    = "ASIC_STATE"
	counterOf    = "SAI_OBJECT_TYPE_ACL_COUNTER:"
	counterTable = "SAI_ACL_COUNTER_ATTR_TABLE_ID"
	tableCRM     = "CRM"
	tableStats   = "ACL_TABLE_STATS:"
)

// created gives an ACL table or a rule its object.
func (c *crm) created(t task) {
	switch t.Table {
	case "ACL_TABLE":
		if c.objects[t.Key] == "" {
			c.objects[t.Key] = c.object(0x7000000000000)
		}
	case "ACL_RULE":
		id := c.object(0x9000000000000)
		c.had[t.aclTable()] = true
		c.objects[t.Key] = id
		amend(c.counters, rows.Row{Table: mapRules, Fields: map[string]string{strings.ReplaceAll(t.Key, "|", ":"): id}})
		amend(c.asic, rows.Row{Table: tableASIC, Key: counterOf + id, Fields: map[string]string{counterTable: c.objects[t.aclTable()]}})
	}
}

// object makes an object of a type.
func (c *crm) object(kind uint64) string {
	c.next++
	return fmt.Sprintf("oid:%#x", kind+c.next)
}

// destroyed takes the counter of a rule away.
func (c *crm) destroyed(rule string) {
	id := c.objects[rule]
	delete(c.objects, rule)
	amend(c.counters, rows.Row{Table: mapRules}, strings.ReplaceAll(rule, "|", ":"))
	_ = c.asic.Write(context.Background(), sonicdb.Change{Row: rows.Row{Table: tableASIC, Key: counterOf + id}, Deleted: true})
}

// tableGone takes the object of an ACL table away, and its resources (CrmOrch::decCrmAclUsedCounter).
func (c *crm) tableGone(table string) {
	if id := c.objects[table]; id != "" {
		_ = c.counters.Write(context.Background(), sonicdb.Change{Row: rows.Row{Table: tableCRM, Key: tableStats + strings.TrimPrefix(id, "oid:")}, Deleted: true})
	}
	delete(c.objects, table)
}

// PollCRM has CrmOrch read the resources of ACL tables, as it does each 300 s by default: of those
// that have rules, or had some.
func (o *Orchagent) PollCRM() {
	o.mu.Lock()
	defer o.mu.Unlock()
	used := map[string]int{}
	for table := range o.taken["ACL_TABLE"] {
		if o.crm.had[table] {
			used[table] = 0
		}
	}
	for rule := range o.taken["ACL_RULE"] {
		used[task{Row: rows.Row{Key: rule}}.aclTable()]++
	}
	for table, n := range used {
		amend(o.crm.counters, rows.Row{Table: tableCRM, Key: tableStats + strings.TrimPrefix(o.crm.objects[table], "oid:"), Fields: map[string]string{
			"crm_stats_acl_entry_used": fmt.Sprint(n), "crm_stats_acl_entry_available": fmt.Sprint(max(0, o.asic.Entries-len(o.taken["ACL_RULE"]))),
		}})
	}
}

// amend changes fields of a row. Redis may be away in a test.
func amend(db *sonicdb.DB, r rows.Row, remove ...string) {
	_ = db.Amend(context.Background(), r, remove...)
}
