// SPDX-License-Identifier: Apache-2.0

package config

import (
	"sluice/yang/rows"
	"sluice/yang/text"
)

// prefixOurs begins the names of our tables.
const prefixOurs = "SLUICE"

// unknownTable returns the rejection of a row whose unknown table begins like Sluice's,
// with the table that may be meant.
func unknownTable(n name) Rejection {
	return Rejection{Table: text.Cut(n.table, rows.LongestQuote), Key: n.key, Reason: rows.NoTable("CONFIG_DB", n.table)}
}
