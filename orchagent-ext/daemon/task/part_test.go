// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"errors"
	"log/slog"
	"testing"
)

// worker notes when it runs and when it is to finish.
type worker struct {
	settings int
	running  chan struct{}
	finished bool
}

func (w *worker) Run(ctx context.Context) error {
	close(w.running)
	<-ctx.Done()
	return nil
}

func (w *worker) Finish() { w.finished = true }

func (w *worker) Report() int { return w.settings }

func TestPartWorksByItsSettings(t *testing.T) {
	g, _ := NewGroup(t.Context(), slog.New(slog.DiscardHandler))
	var c Part[int, int, *worker]
	started := 0
	reconcile := func(want int) error {
		return c.Reconcile(g, want, func() (*worker, error) {
			started++
			if want < 0 {
				return nil, errors.New("refused")
			}
			return &worker{settings: want, running: make(chan struct{})}, nil
		})
	}
	if err := reconcile(0); err != nil || c.Runs() || c.Worker() != nil {
		t.Fatalf("the zero value started a task: %v", err)
	}
	if err := reconcile(1); err != nil || !c.Runs() {
		t.Fatalf("no task runs: %v", err)
	}
	first := c.Worker()
	<-first.running
	if err := reconcile(1); err != nil || c.Worker() != first || started != 1 {
		t.Fatalf("equal settings replaced the task: started %d, %v", started, err)
	}
	if err := reconcile(2); err != nil || c.Worker().settings != 2 || !first.finished {
		t.Fatalf("other settings kept the task: %+v, %v", c.Worker(), err)
	}
	if r := c.Report(); r != 2 {
		t.Errorf("report %d, want that of the worker, 2", r)
	}
	second := c.Worker()
	<-second.running
	for range 2 { // it is tried again
		if err := reconcile(-1); err == nil || c.Runs() || c.Worker() != nil {
			t.Fatalf("a task that was refused runs: %v", err)
		}
	}
	if started != 4 {
		t.Errorf("started %d, want 4", started)
	}
	if err := reconcile(3); err != nil {
		t.Fatal(err)
	}
	c.Stop()
	if c.Runs() || c.Settings() != 0 || c.Report() != 0 {
		t.Error("a stopped task runs")
	}
	if err := g.Wait(); err != nil {
		t.Errorf("tasks that were stopped are faults: %v", err)
	}
}

func TestAFaultOfATaskEndsTheGroup(t *testing.T) {
	g, ctx := NewGroup(t.Context(), slog.New(slog.DiscardHandler))
	broken := errors.New("broken")
	g.Go(func() error { return broken })
	<-ctx.Done()
	var f *Fault
	if err := g.Wait(); !errors.As(err, &f) || !errors.Is(err, broken) || !Faulted(ctx) {
		t.Errorf("%v", err)
	}
	g, ctx = NewGroup(t.Context(), slog.New(slog.DiscardHandler))
	g.Go(func() error {
		var none *worker
		none.Finish() // panics
		return nil
	})
	<-ctx.Done()
	if err := g.Wait(); !errors.As(err, &f) || !Faulted(ctx) {
		t.Errorf("a panic: %v", err)
	}
}
