// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// notYet are the sentences that say that sluiced does not hold or advise flows.
var notYet = regexp.MustCompile("neither sends\\s+nor\\s+obeys|no\\s+effect(\\s+on the switch)?\\s+yet|No\\s+message\\s+uses\\s+the\\s+ids\\s+yet|" +
	"`sluiced`\\s+ignores\\s+them|`sluiced`\\s+does\\s+not\\s+send|not implemented, and no command pretends")

// TestPagesSayWhetherFlowsAreHeld: the pages say that sluiced does not act on
// notifications as long as it does not, and not a day longer.
func TestPagesSayWhetherFlowsAreHeld(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./orchagent-ext/cmd/sluiced")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	acts := strings.Contains("\n"+string(out), "\nsluice/orchagent-ext/flowcontrol\n")
	said := 0
	for name, p := range pages(t) {
		for _, sentence := range notYet.FindAllString(p.text, -1) {
			said++
			if acts {
				t.Errorf("%s says %q, and sluiced has package flowcontrol", name, strings.Join(strings.Fields(sentence), " "))
			}
		}
	}
	if !acts && said < 7 {
		t.Errorf("the pages say only %d times that sluiced does not act on notifications", said)
	}
}

// TestArchitectureHasEveryRoom: each folder of packages is in the table of rooms.
func TestArchitectureHasEveryRoom(t *testing.T) {
	text := pages(t)["docs/architecture.md"].text
	count := 0
	for _, group := range []string{"orchagent-ext", "yang", "."} {
		folders, err := os.ReadDir(filepath.Join(root, group))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range folders {
			name := filepath.Join(group, f.Name())
			files, err := filepath.Glob(filepath.Join(root, name, "*.go"))
			if err != nil {
				t.Fatal(err)
			}
			if !f.IsDir() || len(files) == 0 {
				continue
			}
			count++
			if !strings.Contains(text, "`"+name+"`") {
				t.Errorf("docs/architecture.md has no room `%s`", name)
			}
		}
	}
	if count < 20 {
		t.Errorf("only %d rooms were found", count)
	}
}
