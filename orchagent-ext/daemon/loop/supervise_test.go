// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/orchagent-ext/host/clock"
	"sluice/tests/redistest"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/statistics"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/switch/engine"
	"sluice/yang/rows"
)

// fakeSwitch is a switch with the method rewrite, whose objects outlive its process.
// It fails as often as its script says, at one of its calls.
type fakeSwitch struct {
	script *script
}

// script is what becomes of all switches of a test.
type script struct {
	mu      sync.Mutex
	at      string // call that fails
	left    int    // times
	err     error  // nil: it panics
	objects map[engine.ID]bool
	open    int
	removed int
}

func (s *script) call(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at != name || s.left == 0 {
		return nil
	}
	s.left--
	if s.err != nil {
		return s.err
	}
	var none *engine.Label
	return errors.New(none.Algorithm.String()) // panics
}

func (s *script) Open(Opening) (*Switch, error) {
	if err := s.call("Open"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	f := fakeSwitch{s}
	return &Switch{Driver: f, Source: f, Hardware: f}, nil
}

func (f fakeSwitch) PortsChanged() bool { return false }

func (f fakeSwitch) Close() error {
	f.script.mu.Lock()
	defer f.script.mu.Unlock()
	f.script.open--
	return nil
}

func (f fakeSwitch) Probe() (engine.Abilities, engine.Features, error) {
	a := engine.Abilities{engine.NeedFlowLabel: {engine.Rewrite: {Can: true}}}
	return a, engine.Features{}, f.script.call("Probe")
}

func (f fakeSwitch) Objects(p engine.Policy, c engine.Choices, _ engine.Features) []engine.Object {
	if c.Method(engine.NeedFlowLabel) == engine.None {
		return nil
	}
	return []engine.Object{{Key: "label", Type: engine.TypeSample}}
}

func (f fakeSwitch) Create(o *engine.Object, _ map[string]*engine.Record) (*engine.Record, error) {
	f.script.mu.Lock()
	defer f.script.mu.Unlock()
	f.script.objects[engine.ID(o.Key)] = true
	return &engine.Record{Object: *o, ID: engine.ID(o.Key)}, nil
}

func (f fakeSwitch) Remove(r *engine.Record) error {
	f.script.mu.Lock()
	defer f.script.mu.Unlock()
	delete(f.script.objects, r.ID)
	f.script.removed++
	return nil
}

func (f fakeSwitch) Exists(r *engine.Record) (bool, error) {
	f.script.mu.Lock()
	defer f.script.mu.Unlock()
	return f.script.objects[r.ID], nil
}

func (f fakeSwitch) Receive(ctx context.Context, _ []packetio.Frame) (int, error) {
	if err := f.script.call("Receive"); err != nil {
		return 0, err
	}
	clock.Sleep(ctx, packetio.Patience)
	return 0, ctx.Err()
}

func (f fakeSwitch) ReadPorts(names []string) []*telemetry.PortStats {
	_ = f.script.call("ReadPorts")
	return []*telemetry.PortStats{{Name: &names[0]}}
}

func (f fakeSwitch) Counters() statistics.Switch                                   { return f }
func (fakeSwitch) PortStats(string) *telemetry.PortStats                           { return nil }
func (fakeSwitch) ReadQueues([]statistics.Object) ([]*telemetry.QueueStats, error) { return nil, nil }

func (f fakeSwitch) SetPorts([]engine.Port) (bool, error)                            { return false, f.script.call("SetPorts") }
func (fakeSwitch) Strays(map[string]*engine.Record, map[engine.ID]bool) (int, error) { return 0, nil }
func (fakeSwitch) Expect(engine.Policy, engine.Choices)                              {}
func (fakeSwitch) PortName(uint64) string                                            { return "" }
func (fakeSwitch) Count(*engine.Record) (packets, octets uint64, e error)            { return 0, 0, nil }
func (fakeSwitch) Queues([]string) (map[string]int, error)                           { return nil, nil }
func (fakeSwitch) AtOnce(bool) int                                                   { return 1 }
func (fakeSwitch) Warnings() []string                                                { return nil }
func (fakeSwitch) SampleRate() uint32                                                { return 0 }
func (fakeSwitch) Lost() Lost                                                        { return Lost{} }

// database opens a database of a Redis of the test's own.
// awaitFields waits until a row has fields, each as name=value, or name~part of it.
func awaitFields(t *testing.T, db *sonicdb.DB, table, key string, want ...string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		all, err := db.Get(t.Context(), rows.Row{Table: table, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		met := len(all) == 1
		for _, w := range want {
			if name, part, ok := strings.Cut(w, "~"); ok {
				met = met && strings.Contains(all[0].Fields[name], part)
			} else {
				name, value, _ := strings.Cut(w, "=")
				met = met && all[0].Fields[name] == value
			}
		}
		if met {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s|%s is %v, want %q", table, key, all, want)
		}
	}
}

// TestLoopSurvivesFaults: wherever a call panics, or a task fails, the loop starts
// again, takes over the objects on the switch, and says what happened.
func TestLoopSurvivesFaults(t *testing.T) {
	for name, s := range map[string]*script{
		"panic in the loop":           {at: "SetPorts", left: 3},
		"panic while it opens":        {at: "Open", left: 2},
		"panic while it asks":         {at: "Probe", left: 2},
		"panic in statistics":         {at: "ReadPorts", left: 1},
		"panic in the packet path":    {at: "Receive", left: 2},
		"the packet path fails":       {at: "Receive", left: 2, err: errors.New("no more packets")},
		"panic of what lasts no time": {at: "Receive", left: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.objects = map[engine.ID]bool{}
			times, want := s.left, "last_fault~panic: "
			if s.err != nil {
				want = "last_fault~" + s.err.Error()
			}
			d := redistest.Databases(t)
			configDB, stateDB := redistest.Open(t, d, "CONFIG_DB"), redistest.Open(t, d, "STATE_DB")
			redistest.Write(t, configDB, rows.Row{Table: "PORT", Key: "Ethernet0", Fields: map[string]string{"lanes": "0"}})
			redistest.Write(t, configDB, rows.Row{Table: "SLUICE_PORT", Key: "Ethernet0", Fields: map[string]string{"role": "edge"}})
			redistest.Write(t, configDB, rows.Row{Table: "SLUICE_FLOW_LABEL", Key: "global", Fields: map[string]string{"admin_state": "enabled"}})
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan error, 1)
			go func() {
				ended <- Run(ctx, Config{Databases: d, Version: "1", Open: s.Open, Log: slog.New(slog.DiscardHandler), Now: time.Now})
			}()
			awaitFields(t, redistest.Open(t, d, "COUNTERS_DB"), telemetry.TableStats, "global", "loop_faults="+string(rune('0'+times)))
			awaitFields(t, stateDB, telemetry.TableState, "global", "flow_label=active", "objects=1", want, "warnings~restarted")
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if s.open != 0 || s.removed != 0 || len(s.objects) != 1 {
				t.Errorf("%d switches are open, %d objects were removed, there are %v", s.open, s.removed, s.objects)
			}
		})
	}
}
