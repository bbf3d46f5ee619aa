// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestEndsInEveryPhaseByMethod: the feature is switched off while sluiced starts, over
// what an earlier one left on the switch. Whenever SIGTERM comes, nothing is left.
func TestEndsInEveryPhaseByMethod(t *testing.T) {
	byMethod(t, func(t *testing.T, l *leaf) {
		before := l.untouched()
		step := 8 // ms
		if soak {
			step = 2
		}
		for ms := 0; ms < 32; ms += step {
			l.set("FEATURE", "sluice", "state", "enabled")
			l.start()
			l.enable()
			l.learned()
			l.stop() // warm_restart is enabled: what is on the switch outlives it
			if len(l.objects()) == 0 {
				t.Fatal("no object is left for the next process")
			}
			l.set("FEATURE", "sluice", "state", "disabled")
			said := len(l.log.String())
			l.launch()
			time.Sleep(time.Duration(ms) * time.Millisecond) // this is the phase, not a wait for something
			err := l.sluiced.Stop(patience)
			if !strings.Contains(l.log.String()[said:], "sluiced starts") {
				continue // it had not begun
			}
			if err != nil {
				t.Errorf("SIGTERM after %d ms: %v", ms, err)
			}
			if objects := l.objects(); len(objects) > 0 {
				t.Errorf("SIGTERM after %d ms: left: %v", ms, objects)
			}
			l.set("FEATURE", "sluice", "state", "enabled")
			l.remove("FEATURE", "sluice")
			l.remove("SLUICE_FLOW_LABEL", "global")
			l.checkUntouched(before)
			if row := l.row("SLUICE_STATE", "global"); row != nil {
				t.Errorf("SIGTERM after %d ms: STATE_DB says %v", ms, row)
			}
		}
	})
}

// TestRedisComesLaterByMethod: sluiced waits for a Redis that is not up when it starts.
func TestRedisComesLaterByMethod(t *testing.T) {
	byMethod(t, func(t *testing.T, l *leaf) {
		if err := l.redis.Save(); err != nil {
			t.Fatal(err)
		}
		l.redis.Kill()
		l.launch()
		for deadline := time.Now().Add(patience); !strings.Contains(l.log.String(), "cannot be read; trying until it can"); time.Sleep(poll) {
			if time.Now().After(deadline) {
				t.Fatal("it does not say what it waits for")
			}
		}
		if err := l.redis.Restart(false); err != nil {
			t.Fatal(err)
		}
		l.enable()
		l.allLabelled()
		if lines := strings.Count(l.log.String(), "\n"); lines > 20 {
			t.Errorf("it wrote %d lines", lines)
		}
	})
}

// TestEndsWhileRedisHangs: a Redis that takes connections and does not answer holds up
// the end for less time than a container is given.
func TestEndsWhileRedisHangs(t *testing.T) {
	t.Parallel()
	given := patience
	if soak { // on a machine that does nothing else
		given = 10 * time.Second
	}
	for driver, known := range map[string]bool{"sai": false, "orchagent": true} { // whether it has noticed
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			l, _ := withOrchagent(t, "proposed")
			l.set("SLUICE", "global", "driver", driver)
			l.start()
			l.set("SLUICE_FLOW_LABEL", "global", "admin_state", "enabled", "manage_switch_hash", "true")
			l.awaitFields("SLUICE_STATE", "global", "state", "running", "flow_label", "active")
			if err := unix.Kill(l.redis.Pid(), unix.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = unix.Kill(l.redis.Pid(), unix.SIGCONT) }()
			for deadline := time.Now().Add(patience); known && !strings.Contains(l.log.String(), "trying"); time.Sleep(poll) {
				if time.Now().After(deadline) {
					t.Fatal("it does not say that Redis does not answer")
				}
			}
			began := time.Now()
			err := l.sluiced.Stop(patience)
			if took := time.Since(began); took > given {
				t.Errorf("it took %v: %v", took, err)
			}
		})
	}
}
