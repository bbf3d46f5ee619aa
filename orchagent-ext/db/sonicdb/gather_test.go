// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestChangesAreGathered: one change is taken after a moment, those of a burst together, and those that come
// on and on before they end.
func TestChangesAreGathered(t *testing.T) {
	const ms = time.Millisecond
	for name, tt := range map[string]struct {
		n     int           // changes after the first one
		every time.Duration // between two
		want  time.Duration
	}{
		"one":                           {0, 0, ms},
		"the two of a row":              {1, ms / 2, 3 * ms / 2},
		"a burst":                       {10, ms / 4, 3*ms + ms/2},
		"a load of the database":        {1000, ms / 10, 10 * ms},
		"another after it was taken":    {1, 2 * ms, ms},
		"many that are far from others": {100, 2 * ms, ms},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wake := make(chan struct{}, 1)
				var writer sync.WaitGroup
				defer writer.Wait()
				writer.Go(func() {
					for range tt.n {
						time.Sleep(tt.every)
						select {
						case wake <- struct{}{}:
						default:
						}
					}
				})
				began := time.Now()
				if !defaultTiming.gather(t.Context(), wake) {
					t.Fatal("the context has not ended")
				}
				if took := time.Since(began); took != tt.want {
					t.Errorf("taken after %v, want %v", took, tt.want)
				}
			})
		})
	}
}
