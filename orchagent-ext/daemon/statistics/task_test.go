// SPDX-License-Identifier: Apache-2.0

package statistics

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry"
)

// counting is a switch that takes a time for each call, and counts the calls for ports by name.
type counting struct {
	takes time.Duration

	mu    sync.Mutex
	reads map[string]int
}

func (c *counting) Queues([]string) (map[string]int, error) { return nil, nil }
func (c *counting) AtOnce(bool) int                         { return 1 }
func (c *counting) ReadQueues(queues []Object) ([]*telemetry.QueueStats, error) {
	return make([]*telemetry.QueueStats, len(queues)), nil
}

func (c *counting) ReadPorts(names []string) []*telemetry.PortStats {
	time.Sleep(c.takes)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads[names[0]]++
	return []*telemetry.PortStats{{Name: &names[0]}}
}

func (c *counting) read(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reads[name]
}

// TestReconcileWaitsForNoCall: a switch is replaced while it does not return from a call, which ends
// later. Its answer is dropped, the other switch is read at once, and a closed one no more.
func TestReconcileWaitsForNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		task := New(sonicdb.NewMirror(&sonicdb.DB{}, telemetry.TablePortStats, telemetry.TableQueueStats), log, time.Now)
		slow := &counting{takes: time.Minute, reads: map[string]int{}}
		fast := &counting{reads: map[string]int{}}
		task.Reconcile(Settings{slow, []Port{{Name: "a"}, {Name: "b"}}})
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- task.Run(ctx) }()
		time.Sleep(time.Second / 2) // in the call for a
		began := time.Now()
		task.Reconcile(Settings{fast, []Port{{Name: "c"}}})
		_ = task.Report()
		if waited := time.Since(began); waited > 0 {
			t.Errorf("Reconcile waited %v", waited)
		}
		time.Sleep(time.Minute)
		if a, b, c, other := slow.read("a"), slow.read("b"), fast.read("c"), fast.read("b"); a != 1 || b != 0 || c == 0 || other != 0 {
			t.Errorf("the slow switch was read %d and %d times, the other one %d and %d", a, b, c, other)
		}
		task.Reconcile(Settings{})
		time.Sleep(time.Second)
		before := fast.read("c")
		if time.Sleep(3 * time.Second); fast.read("c") != before {
			t.Error("a switch that is closed is read")
		}
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if _, shown := task.shown["a"]; shown {
			t.Error("a port of the switch before has a row")
		}
	})
}
