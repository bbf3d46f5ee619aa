package e2e

import (
	"strings"
	"testing"
	"time"
)

// TestEndsInEveryPhase: the feature is switched off while sluiced starts, over what
// an earlier one left standing. Whenever SIGTERM comes, nothing of ours is left.
func TestEndsInEveryPhase(t *testing.T) {
	l := newLeaf(t)
	before := l.forwarding()
	for i := range 16 {
		l.set("FEATURE", "sluice", "state", "enabled")
		l.start()
		l.enable()
		l.stop() // warm_restart is enabled: what stands outlives it
		if len(l.objects()) == 0 {
			t.Fatal("nothing stands")
		}
		l.set("FEATURE", "sluice", "state", "disabled")
		said := len(l.log.String())
		l.launch()
		time.Sleep(time.Duration(i) * 2 * time.Millisecond) // this is the phase, not a wait for something
		err := l.sluiced.Stop(patience)
		if !strings.Contains(l.log.String()[said:], "sluiced starts") {
			continue // it had not begun
		}
		if err != nil {
			t.Errorf("SIGTERM after %d ms: %v", 2*i, err)
		}
		if objects := l.objects(); len(objects) > 0 {
			t.Errorf("SIGTERM after %d ms: left: %v", 2*i, objects)
		}
		if after := l.forwarding(); after != before {
			t.Fatalf("SIGTERM after %d ms: forwarding was\n%sand is\n%s", 2*i, before, after)
		}
		if row := l.row("SLUICE_STATE", "global"); row != nil {
			t.Errorf("SIGTERM after %d ms: STATE_DB says %v", 2*i, row)
		}
	}
}

// TestRedisComesLater: sluiced waits for a Redis that is not up when it starts.
func TestRedisComesLater(t *testing.T) {
	l := newLeaf(t)
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
}
