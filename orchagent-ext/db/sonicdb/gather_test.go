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
		does  time.Duration // what is done meanwhile
		want  time.Duration
	}{
		"one":                           {0, 0, 0, ms},
		"the two of a row":              {1, ms / 2, 0, 3 * ms / 2},
		"a burst":                       {10, ms / 4, 0, 3*ms + ms/2},
		"a load of the database":        {1000, ms / 10, 0, 10 * ms},
		"another after it was taken":    {1, 2 * ms, 0, ms},
		"a short reading meanwhile":     {0, 0, ms / 2, ms},
		"a long reading meanwhile":      {0, 0, 2 * ms, 2 * ms},
		"another change in a long one":  {1, ms / 2, 2 * ms, 3 * ms},
		"many that are far from others": {100, 2 * ms, 0, ms},
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 { // what select takes first is random
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
					if !defaultTiming.gather(t.Context(), wake, func() { time.Sleep(tt.does) }) {
						t.Fatal("the context has not ended")
					}
					if took := time.Since(began); took != tt.want {
						t.Errorf("taken after %v, want %v", took, tt.want)
					}
				})
			}
		})
	}
}
