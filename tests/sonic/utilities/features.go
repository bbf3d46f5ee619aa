// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"sluice/orchagent-ext/testbed/fabric/child"
)

// featured starts SONiC's featured, which starts and stops units as FEATURE rows say. It returns
// how to end it.
func (m *machine) featured(ctx context.Context) (func(), error) {
	m.Programs = append(m.Programs, "featured")
	log, err := os.Create("/tmp/featured.log")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "/usr/local/bin/featured")
	cmd.Stdout, cmd.Stderr = log, log
	if err := child.Start(cmd); err != nil {
		return nil, err
	}
	end := func() {
		_ = cmd.Process.Kill() // fails if it ended
		_ = cmd.Wait()
		log.Close()
	}
	// It has read all rows when it has started a unit that they enable.
	if err := until(ctx, "featured starts swss", func() bool { return unitNamed("swss").is("active") }); err != nil {
		text, _ := os.ReadFile(log.Name())
		end()
		return nil, fmt.Errorf("%w: %s", err, tail(string(text), 5))
	}
	return end, nil
}

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

// reboots: the script of warm reboot up to the kernel that it loads, and its next steps.
func (m *machine) reboots(ctx context.Context) error {
	m.Programs = append(m.Programs, "generate_shutdown_order.py")
	m.runs(ctx, "reboot: SONiC computes its order", "/usr/local/bin/generate_shutdown_order.py")
	order, err := os.ReadFile("/etc/sonic/warm-reboot_order")
	m.judge("reboot: sluiced ends before swss and syncd", "sluice swss syncd <nil>", fmt.Sprint(string(order), " ", err))
	res := m.run(ctx, "warm-reboot", "-v")
	// This machine has no kernel of SONiC to boot: the script ends there, or earlier.
	m.holds("reboot: warm-reboot refuses without a kernel to boot", res.code != 0, "an exit status that is not 0", fmt.Sprintf("exit %d: %s", res.code, tail(res.output, 3)))
	m.judge("reboot: the container still runs after it", true, running(ctx))

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
