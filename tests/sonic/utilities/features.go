// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

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
		_ = log.Close()
	}
	// It has read all rows when it has started a unit that they enable.
	if err := until(ctx, "featured starts swss", func() bool { return unitNamed("swss").is("active") }); err != nil {
		text, _ := os.ReadFile(log.Name())
		end()
		return nil, fmt.Errorf("%w: %s", err, tail(string(text), 5))
	}
	return end, nil
}

const patience = 2 * time.Minute // for what takes seconds on an idle machine

// until waits until a condition holds. It returns an error that names it after the patience.
func until(ctx context.Context, what string, holds func() bool) error {
	for deadline := time.Now().Add(patience); !holds(); {
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: not within %v", what, patience)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}
