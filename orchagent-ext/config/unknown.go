// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strings"

	"sluice/yang/rows"
	"sluice/yang/text"
)

// prefixOurs begins the names of our tables.
const prefixOurs = "SLUICE"

// unknownTable says why a row of a table that begins like ours is not in force, and
// which table may be meant.
func unknownTable(n name) Rejection {
	tables := rows.Tables("CONFIG_DB")
	r := Rejection{Table: text.Cut(n.table, rows.LongestQuote), Key: n.key, Reason: "no such table; there are " + strings.Join(tables, ", ")}
	best, least := "", len(n.table)/3+1 // more than a third wrong: another word
	for _, t := range tables {
		if d := distance(n.table, t, least); d < least {
			best, least = t, d
		}
	}
	if best != "" {
		r.Reason = fmt.Sprintf("no such table; %s is one", best)
	}
	return r
}

// distance is how many octets to add, to remove or to replace until a is b; most, where
// it is that many or more.
func distance(a, b string, most int) int {
	if max(len(a)-len(b), len(b)-len(a)) >= most {
		return most
	}
	row := make([]int, len(b)+1) // distances from the part of a so far to the parts of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0]++
		for j := range len(b) {
			d := min(row[j+1], row[j]) + 1
			if a[i] == b[j] {
				d = min(d, corner)
			} else {
				d = min(d, corner+1)
			}
			corner, row[j+1] = row[j+1], d
		}
	}
	return min(row[len(b)], most)
}
