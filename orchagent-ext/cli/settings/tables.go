// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"slices"
	"strings"

	"sluice/yang/rows"
)

// database is where the rows are.
const database = "CONFIG_DB"

// idle are fields that the daemon ignores: commands remove them, and set others alone.
var idle = map[string][]string{"SLUICE": {"classification", "etcd_allow_plaintext"}, "SLUICE_PFCM": {"allow_loss"}}

// Table is a table with the command that changes it.
type Table struct {
	rows.Description
	Command string // ipfix-collector
}

// Tables returns the tables that commands change, in the order of their names.
func Tables() []Table {
	var all []Table
	for _, name := range rows.Tables(database) {
		d, _ := rows.Describe(name)
		d.Leaves = slices.DeleteFunc(d.Leaves, func(l rows.Leaf) bool { return slices.Contains(idle[name], l.Name) })
		all = append(all, Table{Description: d, Command: commandOf(name)})
	}
	return all
}

// commandOf returns the name of a table in commands: SLUICE_IPFIX_COLLECTOR is
// ipfix-collector.
func commandOf(table string) string {
	short, ours := strings.CutPrefix(table, "SLUICE_")
	if !ours {
		return "global"
	}
	return Option(strings.ToLower(short))
}

// Option returns the name of a leaf in commands, with dashes.
func Option(leaf string) string { return strings.ReplaceAll(leaf, "_", "-") }

// Leaf returns the leaf that a command calls so; the model's own name is understood, too.
func (t *Table) Leaf(option string) (rows.Leaf, bool) {
	return t.Description.Leaf(strings.ReplaceAll(option, "-", "_"))
}

// Options returns the names of the leaves in commands.
func (t *Table) Options() []string {
	var all []string
	for _, l := range t.Leaves {
		all = append(all, Option(l.Name))
	}
	return all
}

// References are SONiC's tables that rows of Sluice refer to.
func References() []string {
	var all []string
	for _, t := range Tables() {
		for _, l := range slices.Concat(t.Keys, t.Leaves) {
			for _, name := range l.Tables {
				if _, ours := rows.Describe(name); !ours && !slices.Contains(all, name) {
					all = append(all, name)
				}
			}
		}
	}
	return all
}
