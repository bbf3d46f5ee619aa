// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// program builds the command lab, for the lab of this folder, and the certificates that
// `make lab` makes.
func program(t *testing.T) string {
	t.Helper()
	if os.Getenv("SLUICE_SOAK") == "" {
		t.Skip("the lab of this folder, which an operator may have started: make soak")
	}
	if s, err := read("../" + folder); err == nil && s.alive() {
		t.Skipf("a lab is running, process %d", s.Pid)
	}
	program := filepath.Join(t.TempDir(), "lab")
	for _, words := range [][]string{{"go", "build", "-buildvcs=false", "-o", program, "."}, {"./tls.sh", "../build/lab/tls"}} {
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", words, err, out)
		}
	}
	return program
}

// What make lab and make lab-down call.
func TestLabComesUpAndLeavesNothing(t *testing.T) {
	program := program(t)
	lab := func(args ...string) (string, error) {
		cmd := exec.Command(program, args...)
		cmd.Dir = ".."
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if said, err := lab("up"); err != nil || !strings.Contains(said, "the lab sluice is running: 14 nodes") {
		t.Fatalf("%v: %s", err, said)
	}
	s, err := read("../" + folder)
	if err != nil {
		t.Fatal(err)
	}
	if said, err := lab("up"); err == nil || !strings.Contains(said, "a lab is running") {
		t.Errorf("a second one: %v: %s", err, said)
	}
	if said, err := lab("exec", "leaf3", "sh", "-c", "ip -br address show Ethernet4; echo $SLUICE_METRICS"); err != nil || !strings.Contains(said, "2001:db8:3:6::1/64") || !strings.Contains(said, "0.0.0.0:9475") {
		t.Errorf("%v: %s", err, said)
	}
	if said, err := lab("exec", "leaf9", "true"); err == nil || !strings.Contains(said, "the lab has host1, ") {
		t.Errorf("a node that is not there: %v: %s", err, said)
	}
	if said, err := lab("down"); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	for name, at := range s.Nodes {
		if _, err := os.Stat("/run/netns/" + at.Namespace); err == nil {
			t.Errorf("the namespace of %s is left", name)
		}
	}
	if said, err := lab("down"); err != nil || !strings.Contains(said, "no lab is running") {
		t.Errorf("again: %v: %s", err, said)
	}
}

// TestFirstHourLab runs the first block of docs/lab.md as a user does, but for sudo and make,
// and finds what the page says.
func TestFirstHourLab(t *testing.T) {
	program := program(t)
	page, err := os.ReadFile("../docs/lab.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "```sh norun\nsudo make lab\n")
	block, _, found := strings.Cut(block, "sudo make lab-down\n```\n")
	if !found {
		t.Fatal("the page has no block from make lab to make lab-down")
	}
	block = strings.NewReplacer("sudo ", "", "build/lab/lab", program).Replace(block)
	more := "on leaf2 bin/sluice diff; on leaf2 bin/sluice show config\n"
	script := exec.Command("bash", "-c", program+" up && "+block+more+program+" down")
	script.Dir = ".."
	text, err := script.CombinedOutput()
	out := string(text)
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
	shares := regexp.MustCompile(`path share: max ÷ mean ([0-9.]+)`).FindAllStringSubmatch(out, -1)
	if len(shares) != 2 || shares[0][1] != "2.00" || shares[1][1] > "1.30" {
		t.Errorf("max ÷ mean before and after: %v", shares)
	}
	for text, times := range map[string]int{"missing      0\n": 2, "wrong ICRC   0\n": 2, "\nleaf1  ": 2, "+ SLUICE_FLOW_LABEL|global": 2, "no change by sluice config is known": 1} {
		if got := strings.Count(out, text); got < times {
			t.Errorf("%q is there %d times, want %d", text, got, times)
		}
	}
	for _, file := range []string{"/var/lib/sluice/" + journal, filepath.Join("..", folder, "leaf1", journal)} {
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s outlives the lab: %v", file, err)
		}
	}
}
