// SPDX-License-Identifier: Apache-2.0

package orchagenttest

import (
	"context"
	"maps"
	"slices"
	"strings"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

// restore takes all rows that there are when warm is closed, and returns those of CONFIG_DB; false: it
// ends before.
func (o *Orchagent) restore(ctx context.Context, warm <-chan struct{}, config, producers *sonicdb.DB) (known []rows.Row, ok bool) {
	o.warmState("initialized")
	known, _ = config.Read(ctx, tables...)
	produced, _ := producers.Read(ctx, slices.Collect(maps.Keys(appl))...)
	select {
	case <-ctx.Done():
		return nil, false
	case <-warm:
	}
	var b sonicdb.Batch
	for _, r := range produced {
		r.Table = appl[r.Table]
		if r.Table != tableNeighbor {
			r.Key = strings.ReplaceAll(r.Key, ":", "|")
		}
		b.Changes = append(b.Changes, sonicdb.Change{Row: r})
	}
	o.takeOf(b, true)
	b.Changes = nil
	for _, r := range known {
		b.Changes = append(b.Changes, sonicdb.Change{Row: r})
	}
	o.takeOf(b, false)
	o.warmState("restored")
	o.applyView()
	o.warmState("reconciled")
	return known, true
}

// applyView takes entries off the switch that no rule has.
func (o *Orchagent) applyView() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for rule, fields := range o.view {
		if !maps.Equal(o.taken["ACL_RULE"][rule], fields) {
			o.off(rule, fields)
		}
	}
	o.view = nil
}

// warmState publishes the state of the restart.
func (o *Orchagent) warmState(is string) {
	amend(o.state, rows.Row{Table: "WARM_RESTART_TABLE", Key: "orchagent", Fields: map[string]string{"state": is}})
}

// unknown leaves out rows that were read already, once.
func unknown(b sonicdb.Batch, known *[]rows.Row) sonicdb.Batch {
	b.Changes = slices.DeleteFunc(slices.Clone(b.Changes), func(c sonicdb.Change) bool {
		i := slices.IndexFunc(*known, func(r rows.Row) bool { return r.Name() == c.Row.Name() })
		return !c.Deleted && i >= 0 && maps.Equal((*known)[i].Fields, c.Row.Fields)
	})
	*known = nil
	return b
}
