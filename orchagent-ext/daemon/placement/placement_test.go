// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/entries"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/spread/placement"
	"sluice/orchagent-ext/spread/placer"
	"sluice/orchagent-ext/spread/redirect"
	"sluice/orchagent-ext/switch/engine"
)

// chosen are the inputs of a switch that is the kernel, with a method.
func chosen(m engine.Method) Inputs {
	return Inputs{Outcome: &engine.Outcome{Choices: engine.Choices{engine.NeedPlacement: {Method: m}}}, Kernel: true}
}

func TestPlacementFollowsTheMethodOfTheSwitch(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	g, _ := task.NewGroup(t.Context(), log)
	env := &Environment{Engine: &engine.Engine{}, Flows: &entries.Entries{}, Log: log, Now: time.Now}
	f := engine.FlowEntry{Src: netip.MustParseAddr("2001:db8::1"), Dst: netip.MustParseAddr("2001:db8::2"), DestQP: 5, Label: 7}
	var p Placement
	for i, tt := range []struct {
		on                bool
		method            engine.Method
		labels, redirects bool
	}{
		{true, engine.Entries, true, false},
		{true, engine.Redirect, false, true},
		{true, engine.Entries, true, false},
		{true, engine.None, false, false},
		{true, engine.Redirect, false, true},
		{false, engine.Redirect, false, false},
		{false, engine.Entries, false, false},
	} {
		want, in := &Settings{On: tt.on, Labels: placer.Config{Table: placement.Config{Capacity: 16}}, Rules: Rules{On: tt.on, Config: redirect.Config{PerLink: 8}}}, chosen(tt.method)
		p.Reconcile(g, want, in, env)
		if (p.labels != nil) != tt.labels || p.redirects.runs() != tt.redirects || want.ChoosesLabels(tt.method) != tt.labels {
			t.Errorf("step %d: labels %v, redirects %v", i, p.labels != nil, p.redirects.runs())
		}
		labels, calls := p.labels, p.Requests()
		if p.Reconcile(g, want, in, env); p.labels != labels || p.Requests() != calls {
			t.Errorf("step %d: equal settings began placement again", i)
		}
		if tt.on {
			want.Labels.Table.Moves, want.Rules.Config.Moves = placement.MovesNever, redirect.MovesNever
			if p.Reconcile(g, want, in, env); p.labels != labels || p.Requests() != calls {
				t.Errorf("step %d: another value of moves began placement again", i)
			}
		}
		if polls := p.Events().Polls; (polls != nil) != tt.labels || (calls != nil) != tt.redirects {
			t.Errorf("step %d: polls %v, calls %v", i, polls, calls)
		}
	}
	p.Prepare([]packetio.NewFlow{{}}, time.Now())
	one := &placer.Flow{FlowEntry: f}
	if p.Place(one, time.Now()); one.FlowEntry != f {
		t.Errorf("placement that is off gives %v the label %d", f, one.Label)
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

func TestDetachedPlacementHasNoEvents(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	g, _ := task.NewGroup(t.Context(), log)
	var p Placement
	want := &Settings{On: true, Labels: placer.Config{Table: placement.Config{Capacity: 16}}}
	p.Reconcile(g, want, chosen(engine.Entries), &Environment{Engine: &engine.Engine{}, Flows: &entries.Entries{}, Log: log, Now: time.Now})
	p.Detach()
	if e := p.Events(); e != (Events{}) {
		t.Errorf("events %+v", e)
	}
	p.HopsChanged()
	p.Poll(nil)
	p.Move(nil)
}

// slowHolds are those of a flow control whose answers the test gives.
type slowHolds chan placer.Held

func (s slowHolds) Held() placer.Held { return <-s }

// A flow control that is slow to answer holds up the poll, and not the loop.
func TestPollWaitsForFlowControlBesideTheLoop(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	g, _ := task.NewGroup(t.Context(), log)
	var p Placement
	want := &Settings{On: true, Labels: placer.Config{Table: placement.Config{Capacity: 16}}}
	p.Reconcile(g, want, chosen(engine.Entries), &Environment{Engine: &engine.Engine{}, Flows: &entries.Entries{}, Log: log, Now: time.Now})
	<-p.Events().Polls
	answer := make(slowHolds)
	p.Poll(answer)
	held := p.Events().Held
	select {
	case <-held:
		t.Error("flows move before flow control has answered")
	default:
	}
	answer <- func(engine.FlowEntry) bool { return false }
	p.Move(<-held)
	<-p.Events().Polls // the next one is due

	// An answer to a placement that has ended moves no flow of the next one.
	p.Poll(answer)
	p.Detach()
	if p.Reconcile(g, want, chosen(engine.Entries), p.env); p.Events().Held == held {
		t.Error("the next placement waits for answers to the one before")
	}
	answer <- nil
}
