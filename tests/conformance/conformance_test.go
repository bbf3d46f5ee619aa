// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPagesAreWhatTheMarksSay(t *testing.T) {
	pages, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) != 5 {
		t.Errorf("%d drafts", len(pages))
	}
	for name, want := range pages {
		got, err := os.ReadFile(filepath.Join(root, "docs/conformance", name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("docs/conformance/%s is out of date; go generate ./tests/conformance writes it (- now, + the page):\n%s", name, diff)
		}
	}
}

// TestEveryRequirementIsMarked: code that implements it, or a reason; where there is
// code, a test.
func TestEveryRequirementIsMarked(t *testing.T) {
	drafts, err := readDrafts(".")
	if err != nil {
		t.Fatal(err)
	}
	marks, err := marksBelow(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems(drafts, marks) {
		t.Error(problem)
	}
}

func problems(drafts []draft, marks []mark) (all []string) {
	known := make(map[string]bool)
	for _, d := range drafts {
		for _, r := range d.requirements {
			code, tests := of(marks, r.id, false), of(marks, r.id, true)
			switch {
			case known[r.id]:
				all = append(all, r.id+" is there twice")
			case len(code) == 0 && r.note == "":
				all = append(all, r.id+": no code has its mark, and there is no reason")
			case len(code) > 0 && len(tests) == 0:
				all = append(all, r.id+": no test has its mark")
			case len(code) == 0 && len(tests) > 0:
				all = append(all, r.id+": a test has its mark, and no code")
			}
			known[r.id] = true
		}
	}
	for _, m := range marks {
		switch {
		case !known[m.requirement]:
			all = append(all, m.file+": no draft has the requirement "+m.requirement)
		case m.symbol == "":
			all = append(all, m.file+": the mark "+m.requirement+" is not in the comment of a declaration")
		case m.test && !strings.Contains(m.symbol, ".Test"):
			all = append(all, m.file+": the mark "+m.requirement+" is on no test: "+m.symbol)
		}
	}
	return all
}

func TestProblemsNameRequirementsWithoutMarks(t *testing.T) {
	d := func(note string) []draft {
		return []draft{{requirements: []requirement{{id: "draft-a/x", note: note}}}}
	}
	code, test := mark{"draft-a/x", "a.go", "a.F", false, false}, mark{"draft-a/x", "a_test.go", "a.TestF", true, false}
	for want, got := range map[string][]string{
		"":                       append(problems(d(""), []mark{code, test}), problems(d("why"), nil)...),
		"there is no reason":     problems(d(""), nil),
		"no test has its mark":   problems(d(""), []mark{code}),
		"and no code":            problems(d("why"), []mark{test}),
		"has the requirement":    problems(d("why"), []mark{{"draft-a/y", "a.go", "a.F", false, false}}),
		"not in the comment":     problems(d(""), []mark{code, test, {"draft-a/x", "b.go", "", false, false}}),
		"on no test: a.helper":   problems(d(""), []mark{code, test, {"draft-a/x", "a_test.go", "a.helper", true, false}}),
		"draft-a/x is there twi": problems(append(d("why"), d("why")...), nil),
	} {
		if all := strings.Join(got, "\n"); (all == "") != (want == "") || !strings.Contains(all, want) {
			t.Errorf("got %q, want %q", all, want)
		}
	}
}

func TestMarksAreReadFromComments(t *testing.T) {
	got, err := marksOfGo([]byte(`package p

// F does it.
//
//conformance:draft-a/x draft-a/y
func F() {
	//conformance:draft-a/inside
}

//conformance:draft-a/method
func (t *T[K]) M() {}

//conformance:draft-a/type
type T[K any] struct{}

//conformance:draft-a/var
var V = 1

//conformance:draft-a/long
func TestF(t *testing.T) {
	soakOnly(t)
}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []mark{
		{"draft-a/x", "", "p.F", false, false}, {"draft-a/y", "", "p.F", false, false}, {"draft-a/inside", "", "", false, false},
		{"draft-a/method", "", "p.T.M", false, false}, {"draft-a/type", "", "p.T", false, false}, {"draft-a/var", "", "p.V", false, false}, {"draft-a/long", "", "p.TestF", false, true},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(mark{})); diff != "" {
		t.Error(diff)
	}
	c := marksOfC("/* conformance: draft-a/x draft-a/y */\nstatic int f(int a)\n{\n}\n/* conformance: draft-a/z */\n\n")
	want = []mark{{"draft-a/x", "", "f", false, false}, {"draft-a/y", "", "f", false, false}, {"draft-a/z", "", "", false, false}}
	if diff := cmp.Diff(want, c, cmp.AllowUnexported(mark{})); diff != "" {
		t.Error(diff)
	}
}

// TestStatesNameTheProgramThatHasTheCode: what is in sluiced, in the tool, or in neither.
func TestStatesNameTheProgramThatHasTheCode(t *testing.T) {
	l := linked{daemon: map[string]bool{"a": true, "both": true}, tool: map[string]bool{"b": true, "both": true}}
	at := func(files ...string) (marks []mark) {
		for _, f := range files {
			marks = append(marks, mark{file: f})
		}
		return marks
	}
	wire := at("a/f_test.go", "tests/e2e/f_test.go")
	for _, c := range []struct {
		code  []mark
		tests []mark
		acts  bool
		want  string
	}{
		{nil, nil, true, absent},
		{at("a/f.go"), wire, true, live},
		{at("a/f.go"), at("a/f_test.go"), true, parts},
		{at("a/f.go"), []mark{{file: "tests/e2e/f_test.go", soak: true}}, true, parts},
		{at("a/f.go", "sai-shim/softsai/src/bpf/f.h"), wire, true, live},
		{at("a/f.go"), wire, false, library},
		{at("both/f.go"), wire, false, tool},
		{at("b/f.go", "a/f.go"), wire, true, library},
		{at("b/f.go"), wire, true, tool},
		{at("c/f.go"), wire, true, library},
	} {
		if got := stateOf(c.code, c.tests, c.acts, l); got != c.want {
			t.Errorf("%v, acts %t: %s, want %s", c.code, c.acts, got, c.want)
		}
	}
}
