// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// calls returns the calls of systemctl so far, without queries.
func calls() string {
	text, _ := os.ReadFile(systemctlIn)
	var all []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "is-") && !strings.HasPrefix(line, "show") && !strings.HasPrefix(line, "list-") {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return strings.Join(all, "\n")
}

// reboots runs the scripts of warm and fast reboot up to the kernel that they load, and then a warm reboot's next steps.
func (m *machine) reboots(ctx context.Context) error {
	m.Programs = append(m.Programs, "generate_shutdown_order.py")
	m.runs(ctx, "reboot: SONiC computes its order", "/usr/local/bin/generate_shutdown_order.py")
	var order []byte
	for _, kind := range []string{"fast", "warm"} {
		var err error
		order, err = os.ReadFile("/etc/sonic/" + kind + "-reboot_order")
		m.judge("reboot: sluiced ends before swss and syncd in a "+kind+" reboot", "sluice swss syncd <nil>", fmt.Sprint(string(order), " ", err))
		res := m.run(ctx, kind+"-reboot", "-v")
		// This machine has no kernel of SONiC to boot: the script ends there, or earlier.
		m.holds("reboot: "+kind+"-reboot refuses without a kernel to boot", res.code != 0, "an exit status that is not 0", fmt.Sprintf("exit %d: %s", res.code, tail(res.output, 1)))
		m.judge("reboot: the container still runs after "+kind+"-reboot", true, running(ctx))
	}

	m.skip("warm-reboot and fast-reboot beyond their checks", "there is no kernel of SONiC to load; the steps that concern Sluice follow one by one")
	// As the script does for each name in that file, with warm restart enabled.
	m.runs(ctx, "reboot: config warm_restart enable", "config", "warm_restart", "enable", "system")
	for _, name := range strings.Fields(string(order)) {
		m.run(ctx, "systemctl", "stop", name)
	}
	m.judge("reboot: the container is killed, not stopped", "137", container(ctx, "{{.State.ExitCode}}"))
	m.runs(ctx, "reboot: the unit starts again", "systemctl", "start", "sluice")
	m.holds("reboot: the container runs again", until(ctx, "the container runs", func() bool { return running(ctx) }) == nil, "true", running(ctx))
	m.holds("reboot: sluiced reports its state of warm restart", until(ctx, "sluiced reports reconciled", func() bool {
		return strings.Contains(m.stateField(ctx, "WARM_RESTART_TABLE|sluiced", "state"), "reconciled")
	}) == nil, "reconciled", m.stateField(ctx, "WARM_RESTART_TABLE|sluiced", "state"))
	m.runs(ctx, "reboot: config warm_restart disable", "config", "warm_restart", "disable", "system")
	return nil
}

// stateField returns a field of a row of STATE_DB.
func (m *machine) stateField(ctx context.Context, key, field string) string {
	out, err := exec.CommandContext(ctx, "redis-cli", "-s", m.redis.Socket, "-n", "6", "HGET", key, field).Output()
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(out))
}
