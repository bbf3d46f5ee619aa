// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"cmp"
	"fmt"
	"strings"

	"sluice/yang/text"
)

// Row is a row of a database.
type Row struct {
	Table  string            // less the separator
	Key    string            // text after the separator
	Fields map[string]string // as HGETALL returns them; nil or NULL=NULL: empty
}

// Name returns TABLE|key, which is how operators know the row. A row of a table with one
// row has the key global.
func (r Row) Name() string { return r.Table + "|" + r.Key }

// Natural compares keys as people count: Ethernet4 comes before Ethernet16. It is for
// slices.SortFunc, and consistent also for keys without a number.
func Natural(a, b string) int {
	stemA, stemB := strings.TrimRight(a, "0123456789"), strings.TrimRight(b, "0123456789")
	if stemA != stemB {
		return strings.Compare(a, b)
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// Error is a fault of a row.
type Error struct {
	Table, Key string
	Field      string // empty when it is the row as a whole
	Value      string // of the field; cut where it is long
	Reason     string // the fault, and the allowed values
}

// Error implements [error]: row, field, quoted value and reason in one line.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s|%s: ", e.Table, text.Cut(e.Key, LongestQuote))
	if e.Field != "" {
		b.WriteString(e.Field)
		if e.Value != "" {
			fmt.Fprintf(&b, " %q", e.Value)
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Reason)
	return b.String()
}

// Bounds of what an error quotes, octets: errors are kept in a database, logged and sent,
// and a client that writes a row chooses the size of a wrong value.
const (
	LongestQuote  = 256 // of a key, a field or a value
	longestReason = 2048
)

// wrong returns the error of a field of r. Quoted values are cut; the key, which names
// the row, is whole.
func (r Row) wrong(field, value, format string, args ...any) *Error {
	return &Error{
		Table: r.Table, Key: r.Key, Field: text.Cut(field, LongestQuote), Value: text.Cut(value, LongestQuote),
		Reason: text.Cut(fmt.Sprintf(format, args...), longestReason),
	}
}
