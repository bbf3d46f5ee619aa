// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// shown runs a command of the tool about this switch and returns its output and exit status.
func (l *leaf) shown(words ...string) (string, int) {
	l.t.Helper()
	out, err := exec.Command(bin+"sluice", append(words, "--db-config", l.redis.Config)...).CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		l.t.Fatal(err)
	}
	if ended != nil {
		return string(out), ended.ExitCode()
	}
	return string(out), 0
}

// TestFirstHourShowMarksADeadDaemon: seconds after kill -9 each command that shows what
// sluiced wrote marks that as stale, and ends with a status of its own.
func TestFirstHourShowMarksADeadDaemon(t *testing.T) {
	t.Parallel()
	l := newLeaf(t)
	l.start()
	l.awaitFields("SLUICE_STATE", "global", "state", "running")
	l.until("the first sign of life", func() bool { return l.row("SLUICE_STATE", "global")["alive"] != "" })
	commands := [][]string{{"show", "status"}, {"show", "ports"}, {"show", "config", "--json"}, {"show", "counters"}, {"version"}}
	for _, words := range commands {
		if out, status := l.shown(words...); status != 0 || strings.Contains(out, "stale") {
			t.Errorf("sluice %v of a running sluiced: status %d\n%s", words, status, out)
		}
	}
	l.sluiced.Kill()
	l.until("the status is stale", func() bool { _, status := l.shown("show", "status"); return status == 3 })
	for _, words := range commands {
		if out, _ := l.shown(words...); strings.Count(out, "stale: ") > 1 {
			t.Errorf("sluice %v of a dead sluiced marks it twice:\n%s", words, out)
		}
		if out, status := l.shown(words...); status != 3 || words[len(words)-1] != "--json" && !strings.Contains(out, "stale: ") {
			t.Errorf("sluice %v of a dead sluiced: status %d\n%s", words, status, out)
		}
	}
	if out, status := l.shown("top", "--once"); status != 0 || !strings.Contains(out, "  stale") {
		t.Errorf("sluice top of a dead sluiced: status %d\n%s", status, out)
	}
	l.start()
	l.until("it is alive again", func() bool { _, status := l.shown("show", "status"); return status == 0 })
	l.stop()
	for _, v := range []string{"status", "ports", "capability", "flows", "counters"} {
		if out, status := l.shown("show", v); status != 3 || strings.Count(out, "not running: ") != 1 || strings.Contains(out, "active") {
			t.Errorf("show %s after sluiced ended in order: status %d\n%s", v, status, out)
		}
	}
	if out, status := l.shown("show", "config"); status != 0 {
		t.Errorf("show config after sluiced ended in order: status %d\n%s", status, out)
	}
}
