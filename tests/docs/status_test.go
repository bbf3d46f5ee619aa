// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os/exec"
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
	acts := strings.Contains("\n"+string(out), "\nsluice/orchagent-ext/hold/flowcontrol\n")
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
