// SPDX-License-Identifier: Apache-2.0

package config

import (
	"sluice/yang/rows"
	"sluice/yang/text"
)

// prefixOurs begins the names of our tables.
const prefixOurs = "SLUICE"

// unknownTable says why a row of a table that begins like ours is not in force, and
// which table may be meant.
func unknownTable(n name) Rejection {
	return Rejection{Table: text.Cut(n.table, rows.LongestQuote), Key: n.key, Reason: rows.NoTable("CONFIG_DB", n.table)}
}
