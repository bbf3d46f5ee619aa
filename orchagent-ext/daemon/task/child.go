// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"reflect"
)

// Runner is a part of sluiced that works until its context ends.
type Runner interface {
	Run(ctx context.Context) error
}

// closer is a Runner that ends by itself soon after Close: it has something left to send.
type closer interface{ Close() }

// Child runs at most one T, made from settings S: it starts one where the configuration
// wants it, keeps it while the settings are deeply equal, and replaces it where they differ.
// The zero value of S wants no task. A Child is for one goroutine.
type Child[S any, T Runner] struct {
	settings S // of the task that runs; the zero value: no task runs
	task     T
	cancel   context.CancelFunc
	done     chan struct{} // closed once Run has returned
}

// Reconcile brings the task to the settings that are wanted. start makes a task from them,
// after the one before has ended. Where start fails no task runs, and the next Reconcile
// tries again.
func (c *Child[S, T]) Reconcile(ctx context.Context, g Group, want S, start func() (T, error)) error {
	if c.Has(want) {
		return nil
	}
	c.Stop()
	if reflect.ValueOf(want).IsZero() {
		return nil
	}
	is, err := start()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	c.settings, c.task, c.cancel, c.done = want, is, cancel, done
	g.Go(func() error {
		defer close(done)
		return is.Run(ctx)
	})
	return nil
}

// Has reports whether the task that runs, or its absence, is as wanted. A task that has
// ended by itself counts as running until Stop.
func (c *Child[S, T]) Has(want S) bool { return reflect.DeepEqual(want, c.settings) }

// Task returns the task that runs; the zero value of T where no task does. Check
// [Child.Runs] before a method of a pointer is called.
func (c *Child[S, T]) Task() T { return c.task }

// Runs reports whether a task runs.
func (c *Child[S, T]) Runs() bool { return c.done != nil }

// Settings returns those of the task that runs; the zero value where no task does. They
// are those that it was started with, and shared: for reading only.
func (c *Child[S, T]) Settings() S { return c.settings }

// Stop ends the task, and returns when it has ended. A task that ignores its context
// holds up the caller.
func (c *Child[S, T]) Stop() {
	if done := c.Cancel(); done != nil {
		<-done
	}
}

// Cancel ends the task, and returns at once; done is closed when the task has ended, and nil
// where none ran.
func (c *Child[S, T]) Cancel() (done <-chan struct{}) {
	if c.done == nil {
		return nil
	}
	if t, ok := any(c.task).(closer); ok {
		t.Close()
	}
	c.cancel()
	done = c.done
	*c = Child[S, T]{}
	return done
}
