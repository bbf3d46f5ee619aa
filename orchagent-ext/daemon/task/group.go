// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"errors"
	"log/slog"

	"golang.org/x/sync/errgroup"
)

// Group is the goroutines of one run of the loop. The first fault of one cancels the
// context of all.
type Group struct {
	ctx   context.Context // of all
	group *errgroup.Group
	log   *slog.Logger
}

// NewGroup returns a group, and the context that its tasks run under. The context ends
// with ctx, with the first error of a task, and when Wait returns.
func NewGroup(ctx context.Context, log *slog.Logger) (Group, context.Context) {
	g, ctx := errgroup.WithContext(ctx)
	return Group{ctx, g, log}, ctx
}

// Go starts a task that only a canceled context ends: any error of it is a fault.
func (g Group) Go(f func() error) {
	g.group.Go(func() error {
		err := Guard(g.log, f)
		var known *Fault
		if err != nil && !errors.As(err, &known) {
			return &Fault{err}
		}
		return err
	})
}

// Lead starts the goroutine whose return, with its error as it is, ends the run.
func (g Group) Lead(f func() error) {
	g.group.Go(func() error { return Guard(g.log, f) })
}

// Wait returns the first error, once all goroutines have returned. It is nil where all of
// them returned nil. A Fault comes as *[Fault].
func (g Group) Wait() error { return g.group.Wait() }
