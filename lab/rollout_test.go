// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// playbook runs ansible-playbook from the management network, as an operator does.
func (l *lab) playbook(t *testing.T, gnmi string, args ...string) (said string, err error) {
	t.Helper()
	var out strings.Builder
	cmd := exec.Command("ansible-playbook", append([]string{"-i", "ansible/inventory.yml", "ansible/rollout.yml", "-e", "gnmi_cli=" + gnmi}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "HOME="+t.TempDir(), "ANSIBLE_NOCOLOR=1")
	p, err := l.management.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	err = p.Wait()
	return out.String(), err
}

// client builds OpenConfig's gnmi_cli.
func client(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "gnmi_cli")
	if out, err := exec.Command("go", "build", "-modfile=../tools/go.mod", "-o", program, "github.com/openconfig/gnmi/cmd/gnmi_cli").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// rows are the rows of Sluice in a leaf's CONFIG_DB.
func (l *lab) rows(t *testing.T, leaf string) string {
	t.Helper()
	return strings.TrimSpace(l.in(t, leaf, "redis-cli", "-n", "4", "KEYS", "SLUICE_*"))
}

// The playbook goes from a leaf to its pod and to the fleet. Where a leaf does not label it
// puts that one back, and goes no further; when all is well all leaves label all traffic.
func TestPlaybookRollsOutFromALeafToTheFleet(t *testing.T) {
	if os.Getenv("SLUICE_SOAK") == "" {
		t.Skip("takes half a minute: make soak")
	}
	if _, err := exec.LookPath("ansible-playbook"); err != nil {
		t.Skip("needs ansible-playbook: apt-get install ansible-core")
	}
	gnmi, l := client(t), start(t)

	// sluiced of leaf2 is away: what is set there is not in force.
	l.processes["leaf2 sluiced"].Kill()
	said, err := l.playbook(t, gnmi, "-e", "watch_tries=5")
	if err == nil || !strings.Contains(said, "leaf2 does not label, and is as before") {
		t.Fatalf("with leaf2 away: %v\n%s", err, said)
	}
	if got := l.rows(t, "leaf1"); strings.Count(got, "SLUICE_PORT|") != 2 || !strings.Contains(got, "SLUICE_FLOW_LABEL|global") {
		t.Errorf("leaf1, which was confirmed, has the rows %q", got)
	}
	for _, leaf := range []string{"leaf2", "leaf3", "leaf4"} {
		if got := l.rows(t, leaf); got != "" {
			t.Errorf("%s has the rows %q", leaf, got)
		}
	}

	if err := l.sluice("leaf2", l.Topology.Nodes["leaf2"], "sluiced"); err != nil {
		t.Fatal(err)
	}
	if said, err = l.playbook(t, gnmi); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for from, to := range map[string]string{"host1": "host8", "host3": "host6", "host5": "host4", "host7": "host2"} {
		if right, other := l.traffic(t, from, to); right == 0 || other != 0 {
			t.Errorf("%s to %s: %d packets with the right label, %d with another", from, to, right, other)
		}
	}
}
