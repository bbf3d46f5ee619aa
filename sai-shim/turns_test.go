// SPDX-License-Identifier: Apache-2.0

package sai_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
	"sluice/sai-shim/saitest"
)

// turns count the calls that the library gets within and without a turn.
type turns struct {
	taken         bool
	turns, calls  int
	without, more int   // calls without a turn, and those after the first of a turn
	inTurn        int   // calls of this turn
	fails         error // of Enter
}

func (t *turns) Enter() error {
	if t.fails == nil {
		t.taken, t.inTurn = true, 0
		t.turns++
	}
	return t.fails
}

func (t *turns) Leave() { t.taken = false }

// Calling implements [sai.Watcher].
func (t *turns) Calling(*sai.Call) int {
	t.calls++
	if !t.taken {
		t.without++
	}
	if t.inTurn++; t.inTurn > 1 {
		t.more++
	}
	return 0
}

// Called implements [sai.Watcher].
func (t *turns) Called(int, *sai.Call, sai.Status) {
	if !t.taken {
		t.without++
	}
}

// TestEachPieceOfAnAuditTakesATurn: an audit of three pieces, of which the last has more parts than
// there is room for at first.
func TestEachPieceOfAnAuditTakesATurn(t *testing.T) {
	library := saitest.New(t)
	all := &turns{taken: true}
	l, err := sai.Open(library.Path, library.Profile("EXTENSION", "0x1000003", "AUDIT", "3"), all)
	if err == nil {
		err = l.CreateSwitch(true)
	}
	if err != nil {
		t.Fatal(err)
	}
	*all = turns{}
	l.TakeTurns(all)
	found, err := l.Audit()
	if err != nil || len(found) != 10+20 || found[9] != (sai.Drift{Part: "part 1", Place: "place 9", Mendable: true}) || found[29].Part != "part 2" {
		t.Errorf("found %+v, %v", found, err)
	}
	if all.turns != 4 || all.calls != 4 || all.without > 0 || all.more > 0 || all.taken {
		t.Errorf("%d calls in %d turns, %d without one, %d beyond one a turn", all.calls, all.turns, all.without, all.more)
	}
	all.fails = context.Canceled
	if _, err := l.Audit(); !errors.Is(err, context.Canceled) {
		t.Errorf("an audit without a turn: %v", err)
	}
	all.fails = nil
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// TestEachCallTakesATurn makes each call of a handle: a turn has one call, and no call is outside.
func TestEachCallTakesATurn(t *testing.T) {
	library := saitest.New(t)
	all := &turns{taken: true} // of Open and CreateSwitch, which come before handles
	l, err := sai.Open(library.Path, library.Profile("BULK", "yes"), all)
	if err == nil {
		err = l.CreateSwitch(true)
	}
	if err != nil {
		t.Fatal(err)
	}
	*all = turns{}
	l.TakeTurns(all)
	ports, err := l.GetObjects(saiattr.Switch, l.Switch, saiattr.SwitchPorts)
	if err != nil || len(ports) < 2 {
		t.Fatalf("ports %v: %v", ports, err)
	}
	queues, err := l.GetObjects(saiattr.Port, ports[0], saiattr.PortQueues)
	if err != nil || len(queues) < 2 {
		t.Fatalf("queues %v: %v", queues, err)
	}
	sample, err := l.Create(saiattr.Sample, saiattr.SampleRate.Of(256))
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func(*sai.Library) error{
		"get": func(l *sai.Library) error { _, err := l.Get(saiattr.Sample, sample, saiattr.SampleRate); return err },
		"set": func(l *sai.Library) error { return l.Set(saiattr.Sample, sample, saiattr.SampleRate.Of(512)) },
		"numbers": func(l *sai.Library) error {
			_, err := l.GetNumbers(saiattr.Port, ports[0], saiattr.PortLanes)
			return err
		},
		"list":         func(l *sai.Library) error { _, err := l.Objects(saiattr.Sample); return err },
		"port stats":   func(l *sai.Library) error { _, errs := l.AllPortStats(ports); return errors.Join(errs...) },
		"queue stats":  func(l *sai.Library) error { _, err := l.QueueStats(queues[0]); return err },
		"queues stats": func(l *sai.Library) error { _, errs := l.AllQueueStats(queues); return errors.Join(errs...) },
		"watch flows":  func(l *sai.Library) error { _, err := l.WatchFlows(); return err },
		"flow key":     func(l *sai.Library) error { return l.SetFlowKey(sai.FlowKeyLabel) },
		"marks":        func(l *sai.Library) error { return l.SetQueueMarks(queues[0], 2000, 1000) },
		"exists": func(l *sai.Library) error {
			if !l.Exists(saiattr.Sample, sample) {
				return errors.New("it does not")
			}
			return nil
		},
		"capability": func(l *sai.Library) error { l.CanCreate(saiattr.Sample, saiattr.SampleRate); return nil },
		"values":     func(l *sai.Library) error { l.Takes(saiattr.Hash, saiattr.HashFields, "DST_IP"); return nil },
	} {
		before := all.calls
		if err := call(l); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if all.calls == before || all.taken {
			t.Errorf("%s: %d calls, and the turn has ended: %v", name, all.calls-before, !all.taken)
		}
		if all.without > 0 || all.more > 0 {
			t.Errorf("%s: %d calls without a turn, %d beyond one a turn", name, all.without, all.more)
		}
		all.without, all.more = 0, 0
	}

	all.fails = context.Canceled
	before := all.calls
	if err := l.Set(saiattr.Sample, sample, saiattr.SampleRate.Of(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("set without a turn: %v", err)
	}
	if _, errs := l.AllQueueStats(queues); !errors.Is(errs[0], context.Canceled) || !errors.Is(errs[1], context.Canceled) {
		t.Errorf("statistics without a turn: %v", errs)
	}
	if _, err := l.GetObjects(saiattr.Switch, l.Switch, saiattr.SwitchPorts); !errors.Is(err, context.Canceled) || all.calls != before {
		t.Errorf("list without a turn: %v, %d calls", err, all.calls-before)
	}
	all.fails = nil
	if n := l.QueuesAtOnce(); n < 2 {
		t.Errorf("%d queues at once after a call without a turn", n)
	}
	if n, err := l.Get(saiattr.Sample, sample, saiattr.SampleRate); err != nil || n != 512 {
		t.Errorf("rate %d: %v, want that of before", n, err)
	}
	if err := l.Remove(saiattr.Sample, sample); err != nil {
		t.Error(err)
	}

	beside := l.Beside(&turns{})
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := beside.QueueStats(queues[0]); !errors.Is(err, sai.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestLongListTakesATurnForEachCall: a list that is longer than the first room takes two calls.
func TestLongListTakesATurnForEachCall(t *testing.T) {
	library := saitest.New(t)
	ports := ""
	for lane := range 100 {
		ports += fmt.Sprint(lane, " ")
	}
	l, err := sai.Open(library.Path, library.Profile("PORTS", ports), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.CreateSwitch(true); err != nil {
		t.Fatal(err)
	}
	all := &turns{}
	l.TakeTurns(all)
	ids, err := l.GetObjects(saiattr.Switch, l.Switch, saiattr.SwitchPorts)
	if err != nil || len(ids) != 100 || all.turns != 2 {
		t.Errorf("%d ports in %d turns: %v", len(ids), all.turns, err)
	}
}
