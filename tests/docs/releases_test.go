// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/cli/doctor"
)

const (
	beginMethods = "<!-- methods by release: go test ./tests/docs -update writes this table -->\n"
	endMethods   = "<!-- end of the table -->\n"
	ofSONiC      = "sonic-2" // begins the names of releases where syncd owns the ASIC
)

// methodsOf returns the cells of a kind of switch: flow labels, placement, export, threshold, hold.
func methodsOf(s *doctor.Switch) []string {
	labels, placement, export := "none", "none", "none"
	switch {
	case s.Labels:
		labels, placement, export = "`compute`, `rewrite`, `hash`, `udf-hash`", "`entries`, `rewrite`, `redirect`", "`sample`"
	case s.HashesQueuePair:
		labels = "`hash`"
	case s.HashesLabel:
		labels = "ECMP hashes labels of senders"
	}
	if s.Redirects && !s.Labels {
		placement = "`redirect`"
	}
	if s.Samples && !s.Labels {
		export = "`sflow`"
	}
	if s.Copies && !s.Labels {
		export += "; copies of RDMA-CM and CNPs"
	}
	threshold, hold := "none", "`source`"
	if s.Samples {
		threshold = "`sampled`"
	}
	if s.Flows {
		threshold, hold = "`exact`, "+threshold, "`exact`, "+hold
	}
	return []string{labels, placement, export, threshold, hold}
}

// runs tells with which orchagent a kind of switch was tried: docs/sonic has the report of a release.
func runs(name string) string {
	release, is := strings.CutPrefix(name, "sonic-")
	if !is || !strings.HasPrefix(name, ofSONiC) {
		return "the software switch, in all tests"
	}
	report := "sonic/report-" + release + ".json"
	if _, err := os.Stat(filepath.Join(root, "docs", report)); err != nil {
		return "a small orchagent with the schema of the release"
	}
	return fmt.Sprintf("SONiC's own orchagent and syncd, its virtual switch: [report](%s)", report)
}

// methodsTable returns the table of the kinds of switches for which want is true, neighbors of equal
// rows in one. With tried it says with what each was tried.
func methodsTable(tried bool, want func(name string) bool) string {
	head := []string{"`--switch`", "flow labels", "placement", "export", "threshold", "hold"}
	if tried {
		head = append(head, "tried with")
	}
	var rows [][]string
	for i := range doctor.Switches {
		s := &doctor.Switches[i]
		if !want(s.Name) {
			continue
		}
		row := append([]string{"`" + s.Name + "`"}, methodsOf(s)...)
		if tried {
			row = append(row, runs(s.Name))
		}
		if n := len(rows); n > 0 && slices.Equal(rows[n-1][1:], row[1:]) {
			rows[n-1][0] += ", " + row[0]
			continue
		}
		rows = append(rows, row)
	}
	text := "| " + strings.Join(head, " | ") + " |\n" + strings.Repeat("|---", len(head)) + "|\n"
	for _, row := range rows {
		text += "| " + strings.Join(row, " | ") + " |\n"
	}
	return text
}

// TestMethodsByReleaseAreThoseOfTheCode: the tables on pages are those of the kinds of switches that
// `sluice doctor --switch` knows.
func TestMethodsByReleaseAreThoseOfTheCode(t *testing.T) {
	all := pages(t)
	for name, table := range map[string]string{
		"docs/compatibility.md": methodsTable(true, func(string) bool { return true }),
		"docs/sonic.md":         methodsTable(false, func(name string) bool { return strings.HasPrefix(name, ofSONiC) }),
	} {
		before, rest, begins := strings.Cut(all[name].text, beginMethods)
		have, after, ends := strings.Cut(rest, endMethods)
		switch {
		case !begins || !ends || strings.Contains(after, beginMethods):
			t.Errorf("%s: want one block from %q to %q", name, beginMethods, endMethods)
		case have == table:
		case *update:
			text := before + beginMethods + table + endMethods + after
			if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("%s: the table differs (- the page, + the code; go test ./tests/docs -update writes it):\n%s", name, cmp.Diff(have, table))
		}
	}
}

// onRelease are phrases about a release and all after it, and lists of releases.
var (
	sinceRelease = regexp.MustCompile(`\b(20[2-9]\d(?:05|11)) (?:and later|on\b)`)
	release      = regexp.MustCompile(`\b20[2-9]\d(?:05|11)\b`)
	sentence     = regexp.MustCompile(`[.:;]\s+| - `)
)

// claims are the words by which pages claim a method of the driver orchagent, and who has it.
var claims = map[string]func(s *doctor.Switch) bool{
	"redirect":        func(s *doctor.Switch) bool { return s.Redirects },
	"labels of send":  func(s *doctor.Switch) bool { return s.HashesLabel },
	"IPV6_FLOW_LABEL": func(s *doctor.Switch) bool { return s.HashesLabel },
	"copies":          func(s *doctor.Switch) bool { return s.Copies },
	"PACKET_ACTION":   func(s *doctor.Switch) bool { return s.Copies },
}

// contradictions returns the statements of a page, the tables of the code aside, that name releases
// for a method and differ from the code.
func contradictions(text string) (wrong []string) {
	if before, rest, is := strings.Cut(text, beginMethods); is {
		_, after, _ := strings.Cut(rest, endMethods)
		text = before + after
	}
	for _, part := range statements(fenced.ReplaceAllString(text, "")) {
		for word, has := range claims {
			if strings.Contains(part, word) {
				wrong = append(wrong, wrongOf(part, word, has)...)
			}
		}
	}
	return wrong
}

// statements returns the rows of tables, and the sentences of what is between them.
func statements(text string) (all []string) {
	prose := ""
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "|") {
			all, line = append(all, line), ""
		}
		prose += line + " "
		if line == "" {
			prose += "; "
		}
	}
	return append(all, sentence.Split(prose, -1)...)
}

// wrongOf returns what a statement about a method says wrong about releases.
func wrongOf(part, word string, has func(*doctor.Switch) bool) (wrong []string) {
	first := ""
	gives := map[string]bool{}
	for i := range doctor.Switches {
		s := &doctor.Switches[i]
		if name, is := strings.CutPrefix(s.Name, "sonic-"); is && strings.HasPrefix(s.Name, ofSONiC) && has(s) {
			gives[name] = true
			if first == "" {
				first = name
			}
		}
	}
	for _, m := range sinceRelease.FindAllStringSubmatch(part, -1) {
		if m[1] != first {
			wrong = append(wrong, fmt.Sprintf("%q: %s is from %s on", part, word, first))
		}
	}
	for _, name := range release.FindAllString(sinceRelease.ReplaceAllString(part, ""), -1) {
		if _, err := doctor.ParseSwitch("sonic-" + name); err == nil && !gives[name] {
			wrong = append(wrong, fmt.Sprintf("%q: %s is not in %s", part, word, name))
		}
	}
	return wrong
}

// TestNoPageContradictsTheMethodsByRelease: what pages say beside the tables agrees with them.
func TestNoPageContradictsTheMethodsByRelease(t *testing.T) {
	claimed := 0
	for name, p := range pages(t) {
		if name != "README.md" && !strings.HasPrefix(name, "docs/") {
			continue
		}
		claimed += len(release.FindAllString(p.text, -1))
		for _, wrong := range contradictions(p.text) {
			t.Errorf("%s: %s", name, wrong)
		}
	}
	if claimed < 20 {
		t.Errorf("only %d releases are named", claimed)
	}
}

func TestContradictionsAreFound(t *testing.T) {
	for text, want := range map[string]int{
		"It has redirect, 202305 and later.":                         0,
		"It has redirect, 202311 and later.":                         1,
		"| place | redirect | 202505 on |":                           1,
		"| place | redirect | 202305 on |":                           0,
		"| 202305, 202405 | copies |":                                1,
		"| 202405, 202411 | copies |":                                0,
		"With redirect. It was tried with 202605.":                   0,
		"labels of senders, 202505 and later":                        0,
		"labels of senders, 202411, 202505":                          1,
		beginMethods + "| 202305 | copies |\n" + endMethods + "more": 0,
		"```\n| 202305 | copies |\n```\n":                            0,
	} {
		if got := contradictions(text); len(got) != want {
			t.Errorf("%q: %q, want %d", text, got, want)
		}
	}
}
