// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
)

// The states of a requirement.
const (
	live    = "yes"
	parts   = "in parts"
	tool    = "tool only"
	library = "not yet"
	absent  = "no"
)

// page is the Markdown page of a draft, in the manner of RFC 7942. broken has the rows of which each mutant
// is killed.
func (d *draft) page(marks []mark, l linked, broken map[string]bool) []byte {
	var missing []string // of functions that sluiced has to use
	for _, name := range d.acts {
		if !l.used(name) {
			missing = append(missing, "`"+name+"`")
		}
	}
	var table bytes.Buffer
	count := make(map[string]int)
	for _, r := range d.requirements {
		code, tests := of(marks, r.id, false), of(marks, r.id, true)
		state := stateOf(code, tests, len(missing) == 0, l)
		if state == live && !broken[r.id] {
			state = parts
		}
		count[state]++
		fmt.Fprintf(&table, "| %s | %s | %s | %s | %s | %s | %s |\n", r.section, r.level, r.text, state, cell(code), cell(tests), r.note)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Conformance: %s\n\n<!-- make generate writes this page from tests/conformance/%s.txt and the marks in code and tests. -->\n\n", d.short, d.short)
	fmt.Fprintf(&b, "Implementation status of [%s](https://datatracker.ietf.org/doc/html/%s), *%s*, in the manner of RFC 7942.\n\n", d.name, d.name, d.title)
	fmt.Fprintf(&b, "| | |\n|---|---|\n| implementation | Sluice: `sluiced` (daemon), `sluice` (tool), `libsoftsai.so` (software switch) |\n")
	fmt.Fprintf(&b, "| coverage | %d requirements: %d live, %d tested in parts, %d in the tool only, %d implemented and tested but not used by `sluiced` yet, %d not implemented |\n",
		len(d.requirements), count[live], count[parts], count[tool], count[library], count[absent])
	if len(missing) > 0 {
		fmt.Fprintf(&b, "| why not live | `sluiced` does not use %s yet |\n", strings.Join(missing, ", "))
	}
	fmt.Fprintf(&b, "| license | Apache-2.0 |\n| experience | [feedback to the authors](../feedback-to-authors.md), [wire formats](../wire-formats/README.md) |\n\n")
	fmt.Fprintf(&b, "*Live* says whether `sluiced` or the software switch does it: *%s*, a test that `make test` runs drives the whole program and reads the wire, and the row's tests notice each change of `tests/mutants`; *%s*: `sluiced` has the code, and what tests it are its parts; *%s*; *%s*: code and tests are there, the daemon does not use it;\n*%s*: not implemented. Requirements are paraphrased; an empty key word means that the draft states it without one.\n\n", live, parts, tool, library, absent)
	fmt.Fprintf(&b, "| section | key word | requirement | live | code | tests | remarks |\n|---|---|---|---|---|---|---|\n%s", table.Bytes())
	return b.Bytes()
}

func of(marks []mark, id string, test bool) (found []mark) {
	for _, m := range marks {
		if m.requirement == id && m.test == test {
			found = append(found, m)
		}
	}
	return found
}

// whole are the folders whose tests drive sluiced, or the software switch, and read the wire.
var whole = []string{"tests/e2e", "sai-shim/softsai"}

// shown reports whether such a test, of those that make test runs, has the mark.
func shown(tests []mark) bool {
	return slices.ContainsFunc(tests, func(m mark) bool { return !m.soak && slices.Contains(whole, path.Dir(m.file)) })
}

// stateOf is live when all of the code is in sluiced or the software switch, sluiced acts on
// it, and a test of the whole shows it.
func stateOf(code, tests []mark, acts bool, l linked) string {
	in := func(programs ...map[string]bool) bool {
		return !slices.ContainsFunc(code, func(m mark) bool {
			folder := path.Dir(m.file)
			return !strings.HasPrefix(folder, "sai-shim/softsai") && !slices.ContainsFunc(programs, func(p map[string]bool) bool { return p[folder] })
		})
	}
	switch {
	case len(code) == 0:
		return absent
	case acts && in(l.daemon) && shown(tests):
		return live
	case acts && in(l.daemon):
		return parts
	case in(l.tool):
		return tool
	}
	return library
}

// cell links symbols to their files.
func cell(marks []mark) string {
	var links []string
	for _, m := range marks {
		links = append(links, fmt.Sprintf("[`%s`](../../%s)", m.symbol, m.file))
	}
	slices.Sort(links)
	return strings.Join(slices.Compact(links), ", ")
}
