// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sample = "# Title\n" +
	"$ not a command\n" +
	"```console\n" +
	"$ one\n" +
	"first\n" +
	"\n" +
	"  $ indented\n" +
	"$ two --flag | sort\n" +
	"$ three\n" +
	"…\n" +
	"```\n" +
	"```json\n" +
	"$ not this either\n" +
	"```\n" +
	"```sh norun\n" +
	"sudo reboot\n" +
	"```\n" +
	"```sh box\n" +
	"one\n" +
	"  two\n" +
	"```\n" +
	"```console box\n" +
	"$ five\n" +
	"5\n" +
	"```\n" +
	"```sh ipsec state\n" +
	"ip xfrm state\n" +
	"```\n" +
	"```console demo\n" +
	"$ make demo\n" +
	"6\n" +
	"```\n" +
	"```console switch\n" +
	"$ show version\n" +
	"```\n" +
	"```console\n" +
	"$ four\n" +
	"```\n" +
	"The end.\n"

func TestParseFindsBlocks(t *testing.T) {
	found, err := parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	want := []command{
		{text: "one", line: 4, output: []string{"first", "", "  $ indented"}, from: 4, to: 7},
		{text: "two --flag | sort", line: 8, from: 8, to: 8},
		{text: "three", line: 9, output: []string{"…"}, from: 9, to: 10},
		{text: "four", line: 37, from: 37, to: 37},
	}
	if d := cmp.Diff(want, found.run, cmp.AllowUnexported(command{})); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]command{{text: "make demo", line: 30, output: []string{"6"}, from: 30, to: 31}}, found.demo, cmp.AllowUnexported(command{})); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"sudo reboot"}, found.notRun); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]block{{line: 19, text: "one\n  two\n"}, {line: 23, text: "$ five\n5\n", commands: []command{{text: "five", line: 23, output: []string{"5"}, from: 23, to: 24}}}}, found.box, cmp.AllowUnexported(block{}, command{})); d != "" {
		t.Error(d)
	}
}

func TestParseRefusesWhatItWouldNotTest(t *testing.T) {
	for page, problem := range map[string]string{
		"text\n```console\n$ one\n":                          "line 2: the block does not end",
		"```console\nfirst\n$ one\n```\n":                    `line 2: "first" precedes`,
		"```console\n$ one\n```\n```console\nfirst\n```\n":   `line 5: "first" precedes`,
		"```sh\none\n```\n":                                  `line 1: block "` + "```sh" + `"`,
		"```bash\none\n```\n":                                "line 1: block",
		"```console \n$ one\n```\n":                          "line 1: block",
		"1. item\n   ```console\n   $ one\n   ```\n":         "line 2: block",
		"```sh  norun\none\n```\n":                           "line 1: block",
		"```json\n```\n```text\n```console\n```\n```console": "line 6: the block does not end",
	} {
		_, err := parse(page)
		if err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%q: error %v, want %s", page, err, problem)
		}
	}
}

func TestMatchesIgnoresFigures(t *testing.T) {
	for _, c := range []struct {
		want, got string // lines apart by blanks
		ok        bool
	}{
		{"", "", true},
		{"a b", "a b", true},
		{"a b", "a", false},
		{"a", "a b", false},
		{"a", "A", false},
		{"", "a", false},
		{"a", "", false},
		{"…", "", true},
		{"…", "a b", true},
		{"a …", "a", true},
		{"a … d", "a b c d", true},
		{"a … d", "a b c", false},
		{"a … c d", "a c c d", true},
		{"… b … d", "a b c d", true},
		{"… b … d", "a d c b", false},
		{"a… d", "a b d", false}, // only a line of its own
	} {
		if got := matches(strings.Fields(c.want), strings.Fields(c.got)); got != c.ok {
			t.Errorf("page %q, printed %q: %v", c.want, c.got, got)
		}
	}
}

func TestReplaceWritesOutput(t *testing.T) {
	found, err := parse(sample)
	if err != nil {
		t.Fatal(err)
	}
	var same [][]string
	for _, c := range found.run {
		same = append(same, c.output)
	}
	if d := cmp.Diff(sample, replace(sample, found.run, same)); d != "" {
		t.Errorf("the same outputs changed the page:\n%s", d)
	}
	got := replace(sample, found.run, [][]string{{"1"}, {"2", "zwei"}, nil, {"4"}})
	want := strings.NewReplacer("first\n\n  $ indented\n", "1\n", "sort\n", "sort\n2\nzwei\n", "…\n", "", "four\n", "four\n4\n").Replace(sample)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
