// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/goyang/pkg/yang"
)

// Every must statement of the models has a rule, with the model's own text, and
// there is no rule without a statement. load panics where a rule is missing;
// that the schema lost none on its way from the YANG is counted here.
func TestEveryMustHasItsRule(t *testing.T) {
	inYANG, statements := make(map[string]int), 0
	for _, file := range []string{"../sonic-sluice.yang", "../sonic-sluice-state.yang"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`must "([^"]*)" \{\s*error-message "([^"]*)"`).FindAllStringSubmatch(string(text), -1) {
			inYANG[m[1]+": "+m[2]]++
		}
		statements += strings.Count(string(text), "must \"")
	}
	if statements != len(inYANG) {
		t.Errorf("%d must statements, of which %d have an error-message", statements, len(inYANG))
	}
	inSchema, used := make(map[string]int), make(map[string]bool)
	for _, table := range byName() {
		for _, e := range slices.AppendSeq([]*yang.Entry{table.entry}, maps.Values(table.entry.Dir)) {
			for _, m := range e.Extra["must"] {
				expression, message := statement(m)
				inSchema[expression+": "+message]++
				used[expression] = true
			}
		}
	}
	if diff := cmp.Diff(inYANG, inSchema); diff != "" {
		t.Errorf("must statements (-YANG +schema):\n%s", diff)
	}
	for expression := range musts {
		if !used[expression] {
			t.Errorf("no must statement %q has this rule", expression)
		}
	}
}
