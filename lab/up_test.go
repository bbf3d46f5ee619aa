// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What make lab and make lab-down call.
func TestLabComesUpAndLeavesNothing(t *testing.T) {
	if os.Getenv("SLUICE_SOAK") == "" {
		t.Skip("the lab of this folder, which an operator may have started: make soak")
	}
	if s, err := read("../" + folder); err == nil && s.alive() {
		t.Skipf("a lab is running, process %d", s.Pid)
	}
	program := filepath.Join(t.TempDir(), "lab")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lab := func(args ...string) (string, error) {
		cmd := exec.Command(program, args...)
		cmd.Dir = ".."
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := exec.Command("./tls.sh", "../build/lab/tls").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
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
	if said, err := lab("down"); err == nil || !strings.Contains(said, "no lab is running") {
		t.Errorf("again: %v: %s", err, said)
	}
}
