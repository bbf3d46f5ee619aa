// SPDX-License-Identifier: Apache-2.0

package saicheck

import (
	"cmp"
	"fmt"
	"io"
	"strings"
)

// String is the call in one line: name, object and its attributes with their values.
func (c *Call) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", c.Call, c.Object)
	if c.ID != "" {
		fmt.Fprintf(&b, " %s", c.ID)
	}
	for _, a := range c.Attributes {
		fmt.Fprintf(&b, " %s (%#x)", a.Name, a.ID)
		if a.Value != "" {
			fmt.Fprintf(&b, "=%s", a.Value)
		}
	}
	return b.String()
}

// Text writes the report for people: each method, and with all each call, else those that
// were refused.
func (r *Report) Text(w io.Writer, all bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "library  %s\nSAI      %s\nport     %s\n", r.Library, cmp.Or(r.Version, "unknown"), cmp.Or(r.Port, "none"))
	if r.Extension != "" {
		fmt.Fprintf(&b, "\nthe extension: no: %s\n", r.Extension)
	}
	if r.Queries != "" {
		fmt.Fprintf(&b, "\nqueries of capabilities: no: %s\n", r.Queries)
	}
	calls := func(list []Call) {
		for i := range list {
			c := &list[i]
			if all || c.Code != "SUCCESS" {
				fmt.Fprintf(&b, "    %s: %s\n", c, cmp.Or(codeOf(c), "no answer"))
			}
		}
	}
	if all || r.Error != "" {
		calls(r.Opening)
	}
	for _, m := range r.order {
		is := r.Methods[m.Need][m.Method]
		if is == nil {
			fmt.Fprintf(&b, "\n%s by %s: not tried\n", m.Need, m.Method)
			continue
		}
		word := "no"
		if is.Works {
			word = "works"
		}
		fmt.Fprintf(&b, "\n%s by %s: %s: %s\n", m.Need, m.Method, word, is.Reason)
		for _, problem := range is.Problems {
			fmt.Fprintf(&b, "  without %s\n", problem)
		}
		if all && is.EntryMS > 0 {
			room := ""
			if is.Room != nil {
				room = fmt.Sprintf("; the table has room for %d more", *is.Room)
			}
			fmt.Fprintf(&b, "  an entry takes %.1f ms%s\n", is.EntryMS, room)
		}
		for _, t := range is.Trials {
			fmt.Fprintf(&b, "  %s: %s\n", t.Name, map[bool]string{true: "taken", false: "no: " + t.Reason}[t.Taken])
		}
		calls(is.Calls)
	}
	for _, row := range r.Left {
		fmt.Fprintf(&b, "left on the switch: %s %s\n", row.Fields["type"], row.ID)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// codeOf is the status of a call with its number.
func codeOf(c *Call) string {
	if c.Code == "" {
		return ""
	}
	return fmt.Sprintf("%s (%d)", c.Code, c.Status)
}
