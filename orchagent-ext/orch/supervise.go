// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"
)

// fault is why the loop, or a task beside it, ended without being asked to: it
// panicked or failed.
type fault struct{ error }

// faults remembers them for STATE_DB across starts of the loop.
type faults struct {
	count uint64
	last  error
	at    time.Time
	delay time.Duration // before the next start of the loop
}

// calm is how long a loop runs until its next fault counts as a first one: it is
// restarted soon.
const calm = time.Minute

// shownFault is how long a fault is a warning.
const shownFault = 10 * time.Minute

func (f *faults) note(err error, began, now time.Time) {
	if now.Sub(began) > calm {
		f.delay = 0
	}
	f.count++
	f.last, f.at, f.delay = err, now, min(max(2*f.delay, firstRetry), lastRetry)
}

// warning is what the operator should know; "": there was no fault for some time.
func (f *faults) warning(now time.Time) string {
	if f.last == nil || now.Sub(f.at) > shownFault {
		return ""
	}
	return fmt.Sprintf("the loop of sluiced was restarted %d times because of faults, last: %s; please report it with the log", f.count, firstLine(f.last))
}

// tasks are the goroutines of one run of the loop. The first fault of one ends all.
type tasks struct {
	group *errgroup.Group
	log   *slog.Logger
}

// Go starts a task that only a canceled context ends.
func (t tasks) Go(f func() error) {
	t.group.Go(func() error {
		err := guard(t.log, f)
		var known *fault
		if err != nil && !errors.As(err, &known) {
			return &fault{err}
		}
		return err
	})
}

// stackShown is how much of a stack the log gets, in octets.
const stackShown = 8 << 10

// guard calls f, and makes a panic a fault.
func guard(log *slog.Logger, f func() error) (err error) {
	defer func() {
		if what := recover(); what != nil {
			stack := debug.Stack()
			log.Error("panic", "error", what, "stack", string(stack[:min(len(stack), stackShown)]))
			err = &fault{fmt.Errorf("panic: %v", what)}
		}
	}()
	return f()
}

// faulted says whether ctx, of tasks, ended by a fault.
func faulted(ctx context.Context) bool {
	var f *fault
	return errors.As(context.Cause(ctx), &f)
}
