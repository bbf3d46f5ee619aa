// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/orchagent-ext/switch/drift"
)

// ruleLosses are rules in force that another program removed or changed, or that orchagent lost. A
// part is the rules of a table: swss takes thousands of them at once.
type ruleLosses struct {
	judge drift.Judge
	log   *slog.Logger
	gone  map[string]string // faults by the keys of rows, until the rule is in force again or unwanted
	held  map[string]bool   // tables whose lost rules wait: another program takes them again and again
}

// tableOfRow is the table of a row's key.
func tableOfRow(key string) string {
	table, _, _ := strings.Cut(key, ":")
	return table
}

func partOfTable(table string) drift.Part { return drift.Part{Kind: "acl_rules", Place: table} }

// lose notes that a rule in force is gone.
func (l *ruleLosses) lose(row, fault string) {
	if l.gone == nil {
		l.gone = map[string]string{}
	}
	l.gone[row] = fault
}

// look judges the losses, after a comparison of all rows in force. awaited reports whether a rule that
// was lost is still to be put back, and there whether it is in force again.
func (l *ruleLosses) look(now time.Time, state func(row string) (awaited, there bool)) {
	faults, put := map[string][]string{}, map[string]bool{}
	for _, row := range slices.Sorted(maps.Keys(l.gone)) {
		table := tableOfRow(row)
		awaited, there := state(row)
		if !awaited {
			delete(l.gone, row)
			put[table] = put[table] || there
			continue
		}
		faults[table] = append(faults[table], l.gone[row])
	}
	for table := range put {
		if put[table] && faults[table] == nil {
			l.judge.Mended(now, partOfTable(table), nil)
			l.log.Info("put back", "part", partOfTable(table))
		}
	}
	var found []drift.Finding
	for _, table := range slices.Sorted(maps.Keys(faults)) {
		found = append(found, drift.Finding{Part: partOfTable(table), Fault: fmt.Sprintf("%s: %d rules", faults[table][0], len(faults[table])), Mendable: true})
	}
	news, mend := l.judge.Look(now, found, true)
	for _, f := range news {
		l.log.Warn("rules are other than Sluice made them", "part", f.Part, "fault", f.Fault)
	}
	l.held = map[string]bool{}
	for _, f := range found {
		l.held[f.Place] = !slices.ContainsFunc(mend, func(m drift.Finding) bool { return m.Part == f.Part })
	}
}

// waits reports whether a rule that was lost is not to be put back yet.
func (l *ruleLosses) waits(row string) bool { return l.gone[row] != "" && l.held[tableOfRow(row)] }
