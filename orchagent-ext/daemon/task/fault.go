// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"
)

// Fault is why the loop, or a task beside it, ended although its context had not: it
// panicked or failed.
type Fault struct{ error }

// Unwrap returns the error of the task. Find a Fault by [errors.As], its cause by
// [errors.Is].
func (f *Fault) Unwrap() error { return f.error }

// Waits before the loop starts again, doubled from fault to fault.
const (
	firstRestart = 200 * time.Millisecond
	lastRestart  = 10 * time.Second
)

// calm is how long a loop runs until its next fault counts as a first one: it restarts
// soon.
const calm = time.Minute

// warningTime is how long a fault is a warning.
const warningTime = 10 * time.Minute

// Faults are the faults of the loop so far, for STATE_DB. They outlive its restarts.
type Faults struct {
	Count uint64
	Last  error // nil: there was no fault
	At    time.Time
	Delay time.Duration // before the next start of the loop
}

// Add adds the fault of a loop that began at a time. Delay is 200 ms for a first fault,
// and doubles to 10 s while loops last less than a minute.
func (f *Faults) Add(err error, began, now time.Time) {
	if now.Sub(began) > calm {
		f.Delay = 0
	}
	f.Count++
	f.Last, f.At, f.Delay = err, now, min(max(2*f.Delay, firstRestart), lastRestart)
}

// Warning returns the warning of a recent fault; "" where the last one is ten minutes old,
// or there was none.
func (f *Faults) Warning(now time.Time) string {
	if f.Last == nil || now.Sub(f.At) > warningTime {
		return ""
	}
	return fmt.Sprintf("the loop of sluiced was restarted %d times because of faults, last: %s; please report it with the log", f.Count, FirstLine(f.Last))
}

// FirstLine returns the first line of an error's text, for a field of one line. err must
// not be nil. The rest of a panic's text is its stack, which the log has.
func FirstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// stackShown is how much of a stack the log gets, in octets.
const stackShown = 8 << 10

// Guard calls f, and returns a panic as a Fault. The stack of the panic is logged, its
// first 8 KiB. An error of f is returned as it is.
func Guard(log *slog.Logger, f func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			stack := debug.Stack()
			log.Error("panic", "error", cause, "stack", string(stack[:min(len(stack), stackShown)]))
			err = &Fault{fmt.Errorf("panic: %v", cause)}
		}
	}()
	return f()
}

// Faulted reports whether the context of a Group ended by a fault. It is false while the
// context lasts, and where the process ends as it should.
func Faulted(ctx context.Context) bool {
	var f *Fault
	return errors.As(context.Cause(ctx), &f)
}
