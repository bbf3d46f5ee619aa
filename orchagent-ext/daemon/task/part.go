// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"reflect"
)

// Worker does the work of a part by settings that stay as they are.
type Worker[R any] interface {
	// Run works until ctx ends.
	Run(ctx context.Context) error

	// Report returns the state of the work, an immutable value.
	Report() R
}

// finisher is a Worker that has something left to send: its Run returns soon after Finish.
type finisher interface{ Finish() }

// Part is a part of sluiced, which works while the configuration wants it: it starts a worker W by
// settings S, keeps it while the settings are deeply equal, and replaces it where they differ.
// The zero value of S wants no worker. A Part is for one goroutine.
type Part[S, R any, W Worker[R]] struct {
	settings S // of the worker; the zero value: there is none
	worker   W
	cancel   context.CancelFunc
	done     chan struct{} // closed once Run has returned
}

// Reconcile brings the part to the settings that are wanted. start makes a worker by them,
// after the one before has ended. Where start fails there is no worker, and the next Reconcile
// tries again.
func (p *Part[S, R, W]) Reconcile(g Group, want S, start func() (W, error)) error {
	if p.Has(want) {
		return nil
	}
	p.Stop()
	if reflect.ValueOf(want).IsZero() {
		return nil
	}
	w, err := start()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(g.ctx)
	done := make(chan struct{})
	p.settings, p.worker, p.cancel, p.done = want, w, cancel, done
	g.Go(func() error {
		defer close(done)
		return w.Run(ctx)
	})
	return nil
}

// Has reports whether the worker, or its absence, is as wanted. A worker that has
// ended by itself counts until Stop.
func (p *Part[S, R, W]) Has(want S) bool { return reflect.DeepEqual(want, p.settings) }

// Worker returns the worker; the zero value of W where there is none. Check [Part.Runs] before
// a method of a pointer is called.
func (p *Part[S, R, W]) Worker() W { return p.worker }

// Runs reports whether there is a worker.
func (p *Part[S, R, W]) Runs() bool { return p.done != nil }

// Report returns that of the worker; the zero value of R where there is none.
func (p *Part[S, R, W]) Report() (r R) {
	if p.Runs() {
		r = p.worker.Report()
	}
	return r
}

// Settings returns those of the worker; the zero value where there is none. They
// are those that it was started with, and shared: for reading only.
func (p *Part[S, R, W]) Settings() S { return p.settings }

// Stop ends the worker, and returns when it has ended. A worker that ignores its context
// holds up the caller.
func (p *Part[S, R, W]) Stop() {
	if done := p.Cancel(); done != nil {
		<-done
	}
}

// Cancel ends the worker, and returns at once; done is closed when it has ended, and nil
// where there was none.
func (p *Part[S, R, W]) Cancel() (done <-chan struct{}) {
	if p.done == nil {
		return nil
	}
	if w, ok := any(p.worker).(finisher); ok {
		w.Finish()
	}
	p.cancel()
	done = p.done
	*p = Part[S, R, W]{}
	return done
}
