// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"log/slog"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

// idle is a library with marks and without events.
type idle struct{ marking }

func (idle) WatchFlows() (int, error)                     { return -1, nil }
func (idle) SetFlowKey(sai.FlowKey) error                 { return nil }
func (idle) SetStreamSeed(uint32) error                   { return nil }
func (idle) ReadFlowEvents([]sai.FlowEvent) (int, uint64) { return 0, 0 }
func (idle) FlowStats() (is sai.FlowStats, unread error)  { return is, sai.ErrNotSupported }
func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// Stop ends the goroutines, closes the sockets and removes the marks; then the same Control
// starts again.
func TestStopEndsAllThatReconcileStarted(t *testing.T) {
	s := &Settings{
		PFCM: true, Task: flowcontrol.Config{Generate: true, Obey: true, Codes: notify.DefaultCodePoints()}, Ports: []string{"Ethernet0", "Ethernet4"},
		Devices:    []Device{{Port: flowcontrol.Port{Name: "Ethernet4", Notify: true}, Watched: true, Members: []Member{{Name: "Ethernet4"}}}},
		Thresholds: map[string]Threshold{"Ethernet4": {Threshold: congestion.Threshold{High: 100_000, Low: 50_000}}},
	}
	in := Inputs{Choices: engine.Choices{engine.NeedThreshold: {Method: engine.Exact}, engine.NeedHold: {Method: engine.Exact}}}
	log := slog.New(slog.DiscardHandler)
	g, _ := task.NewGroup(t.Context(), log)
	library := &idle{marking{set: map[sai.ObjectID]marks{}}}
	env := &Environment{Switch: Switch{Library: library, Ports: fakePorts{}}, Log: log}
	var c Control
	files := 0
	for round := range 3 {
		c.Reconcile(g, s, in, env)
		if errors.Is(c.err, unix.EPERM) {
			t.Skip("the sockets of notifications need CAP_NET_RAW: ", c.err)
		}
		if c.err != nil {
			t.Fatal(c.err)
		}
		for deadline := time.After(time.Minute); !c.Active(); c.Reconcile(g, s, in, env) {
			select {
			case <-c.Changed():
			case <-deadline:
				t.Fatalf("flow control does not run: %v", c.err)
			}
		}
		if !c.Active() || c.Changed() == nil || c.learner.Load() == nil || library.set[503] == (marks{}) {
			t.Fatalf("flow control does not run: %v, marks %v", c.err, library.set)
		}
		before := c.part.Worker()
		if c.Reconcile(g, s, in, env); c.part.Worker() != before {
			t.Error("the same settings started flow control again")
		}
		if round == 2 {
			c.Reconcile(g, &Settings{}, in, env)
		} else {
			c.Stop()
		}
		c.Learn(packetio.Pair{})
		if c.Active() || c.Changed() != nil || c.learner.Load() != nil {
			t.Error("flow control runs after its end")
		}
		for queue, is := range library.set {
			if is != (marks{}) {
				t.Errorf("queue %d has marks %v", queue, is)
			}
		}
		// The first round opens files of Go's runtime, too.
		if is := openFiles(t); round == 0 {
			files = is
		} else if is != files {
			t.Errorf("%d files are open, %d were after the first round", is, files)
		}
	}
	if err := g.Wait(); err != nil { // returns once all goroutines have
		t.Error(err)
	}
}

func TestFlowControlIsRefusedWithTheReasonOfTheSwitch(t *testing.T) {
	var c Control
	c.Reconcile(task.Group{}, &Settings{PFCM: true}, Inputs{Choices: engine.Choices{engine.NeedThreshold: {Method: engine.None, Reason: "no events"}}}, &Environment{})
	if c.err == nil || c.err.Error() != "no events" || c.Active() {
		t.Errorf("refused with %v", c.err)
	}
}
