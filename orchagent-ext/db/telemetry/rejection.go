// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"encoding/json"
	"strings"
	"time"

	"sluice/yang/rows"
	"sluice/yang/text"
)

// ConfigError returns the row of SLUICE_CONFIG_ERROR for a rejected row of CONFIG_DB.
// good is the row's last good version, which is in force; nil: it has none.
func ConfigError(e *rows.Error, at time.Time, good *rows.Row) *Rejection {
	r := &Rejection{Table: &e.Table, Reason: &e.Reason, Time: Stamp(at)}
	if e.Field != "" {
		r.Field, r.Value = &e.Field, &e.Value
	}
	key := e.Key
	if good != nil {
		fields, _ := json.Marshal(good.Fields) // strings always can
		r.InForce = Text(string(fields))
	} else { // else it is read back by LastGood
		key = text.Cut(key, rows.LongestQuote)
	}
	r.Key = &key
	return r
}

// LastGood returns the rows in force that rows of [ConfigError] hold.
func LastGood(errs []rows.Row) []rows.Row {
	var good []rows.Row
	for _, e := range errs {
		table, key, _ := strings.Cut(e.Key, "|")
		r := rows.Row{Table: table, Key: key}
		if json.Unmarshal([]byte(e.Fields["in_force"]), &r.Fields) == nil {
			good = append(good, r)
		}
	}
	return good
}
