// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/cli/terminal"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/tests/fabrictest"
	"sluice/yang/rows"
)

// says writes which state sluiced has.
func (s *fakeSluiced) says(t *testing.T, state string) {
	t.Helper()
	if err := s.state.Write(t.Context(), sonicdb.Change{Row: rows.Row{Table: "SLUICE_STATE", Key: "global", Fields: map[string]string{"state": state}}}); err != nil {
		t.Fatal(err)
	}
}

// On a terminal --watch shows what changes in the place of what was, and Ctrl-C ends it well.
func TestShowWatchRedrawsUntilCtrlC(t *testing.T) {
	s := newFakeSluiced(t)
	p := newPTY(t, 80, 24)
	was := p.mode(t)
	s.says(t, "starting")
	cmd := p.start(t, nil, "show", "status", "--watch", "--interval", "100ms", "--db-config", s.Config)
	for _, state := range []string{"starting", "running", "degraded"} {
		s.says(t, state)
		for deadline := time.Now().Add(topPatience); ; time.Sleep(10 * time.Millisecond) {
			all := p.all()
			last := all[strings.LastIndex(all, terminal.Clear)+1:]
			if strings.Contains(last, state) && strings.Contains(all, terminal.Clear) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s is not shown: %q", state, all)
			}
		}
	}
	p.press(t, "\x03")
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with %v: %q", err, p.all())
		}
	case <-time.After(topPatience):
		t.Fatal("Ctrl-C does not end it")
	}
	if p.mode(t) != was || strings.Count(p.all(), terminal.Clear) < 3 {
		t.Errorf("the terminal is not as it was, or was not redrawn: %q", p.all())
	}
}

// In a pipe --watch writes each answer when it has it, without escape codes; with --json one
// a line. It ends well by an interrupt.
func TestShowWatchInAPipe(t *testing.T) {
	s := newFakeSluiced(t)
	for _, asJSON := range []bool{false, true} {
		s.says(t, "starting")
		args := []string{"show", "status", "--watch", "--interval", "100ms", "--db-config", s.Config}
		if asJSON {
			args = append(args, "--json")
		}
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), fabrictest.AsTool+"=1")
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		hung := time.AfterFunc(topPatience, func() { _ = cmd.Process.Kill() })
		for lines, next := bufio.NewScanner(out), []string{"starting", "running", "degraded"}; len(next) > 0; {
			if !lines.Scan() {
				t.Fatalf("it ended before it showed %v: %s", next, &errs)
			}
			line := lines.Text()
			if asJSON && !json.Valid(lines.Bytes()) || strings.Contains(line, "\x1b") {
				t.Fatalf("the line %q", line)
			}
			if strings.Contains(line, next[0]) {
				if next = next[1:]; len(next) > 0 {
					s.says(t, next[0])
				}
			}
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil || errs.Len() > 0 {
			t.Errorf("json %v: %v: %s", asJSON, err, &errs)
		}
		hung.Stop()
	}
}
