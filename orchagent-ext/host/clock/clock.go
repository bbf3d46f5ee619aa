// SPDX-License-Identifier: Apache-2.0

// Package clock waits for times that a context can cut short, limits rates by a clock that is
// given, and has a heap of elements by their time.
package clock

import (
	"context"
	"time"
)

// Sleep sleeps for d, which may be 0 or below. It returns false where ctx ended first.
// Where both are over it may be either.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
