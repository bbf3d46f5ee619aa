// SPDX-License-Identifier: Apache-2.0

package rooms

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// softsai is the folder of the software switch, whose units are FILE.c each.
const softsai = root + "/sai-shim/softsai/src"

var (
	commentOrText = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"`)
	definition    = regexp.MustCompile(`(?m)^[a-z][\w *]*?[ *](\w+)\([^;{}]*\)\n\{|^(?:const )?(?:struct )?\w+ \*?(\w+)(?:\[\w*\])? =`)
	word          = regexp.MustCompile(`\w+`)
)

// calls returns the units that each unit of C calls: those that define a function or an object,
// other than a static one, whose name it has. A name is of one unit.
func calls(units map[string]string) map[string][]string {
	owner := map[string]string{}
	for unit, text := range units {
		for _, d := range definition.FindAllStringSubmatch(text, -1) {
			if !strings.HasPrefix(d[0], "static ") {
				owner[d[1]+d[2]] = unit
			}
		}
	}
	graph := map[string][]string{}
	for unit, text := range units {
		called := map[string]bool{}
		for _, w := range word.FindAllString(text, -1) {
			if of := owner[w]; of != "" && of != unit {
				called[of] = true
			}
		}
		graph[unit] = slices.Sorted(maps.Keys(called))
	}
	return graph
}

// inCircles returns the units of a graph that are in a circle, or on a way between two: what is
// left once units that call nothing, or are called by nothing, are taken out in turn.
func inCircles(graph map[string][]string) []string {
	left := maps.Clone(graph)
	for {
		before := len(left)
		called := map[string]bool{}
		for _, to := range left {
			for _, unit := range to {
				called[unit] = true
			}
		}
		maps.DeleteFunc(left, func(unit string, to []string) bool {
			return !called[unit] || !slices.ContainsFunc(to, func(of string) bool { _, is := left[of]; return is })
		})
		if len(left) == before {
			return slices.Sorted(maps.Keys(left))
		}
	}
}

// TestUnitsOfTheSoftwareSwitchCallInOneDirection: kinds of objects register with the unit of
// objects, which calls none of them.
func TestUnitsOfTheSoftwareSwitchCallInOneDirection(t *testing.T) {
	files, err := filepath.Glob(softsai + "/*.c")
	if err != nil {
		t.Fatal(err)
	}
	units := map[string]string{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		units[strings.TrimSuffix(filepath.Base(name), ".c")] = commentOrText.ReplaceAllString(string(text), "")
	}
	graph := calls(units)
	if circle := inCircles(graph); len(circle) > 0 {
		t.Errorf("circles of calls: %v", circle)
	}
	if got, want := graph["object"], []string{"hide", "meta", "record", "type", "value"}; !slices.Equal(got, want) {
		t.Errorf("the unit of objects calls %v, want %v", got, want)
	}
	if len(graph["api"]) < 15 || len(graph) < 40 {
		t.Errorf("%d units; api calls %v", len(graph), graph["api"])
	}
}

func TestCirclesOfCalls(t *testing.T) {
	for _, tt := range []struct {
		units map[string]string
		want  []string
	}{
		{map[string]string{"a": "int a(void)\n{\n\treturn b();\n}\n", "b": "int b(void)\n{\n\treturn c;\n}\n", "c": "const int c = 1;\n"}, nil},
		{map[string]string{"a": "int a(void)\n{\n\treturn b();\n}\n", "b": "int b(void)\n{\n\treturn c;\n}\n", "c": "const struct row c[] = { a };\n"}, []string{"a", "b", "c"}},
		{map[string]string{"a": "int a(void)\n{\n\treturn b();\n}\n", "b": "static int a(void)\n{\n\treturn 0;\n}\n"}, nil},
		{map[string]string{"a": "struct row *a(int x,\n\tint y)\n{\n\tb(x);\n}\n", "b": "void b(int x)\n{\n\ta(x, 1);\n}\n", "c": "void c(void)\n{\n\ta(1, 2);\n}\n"}, []string{"a", "b"}},
	} {
		if got := inCircles(calls(tt.units)); !slices.Equal(got, tt.want) {
			t.Errorf("circles %v, want %v", got, tt.want)
		}
	}
}
