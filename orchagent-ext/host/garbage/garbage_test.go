// SPDX-License-Identifier: Apache-2.0

package garbage

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

func TestPercentFollowsTheRateOfGarbage(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct {
		made, used uint64
		want       int
	}{
		{0, 400 * mib, least},
		{1 * mib, 400 * mib, least},
		{160 * mib, 400 * mib, 10},
		{1 * mib, 20 * mib, 80},
		{1000 * mib, 100 * mib, most},
		{mib, 0, most},
		{0, 0, most},
	} {
		if got := percent(tt.made, tt.used); got != tt.want {
			t.Errorf("%d MiB made beside %d in use: %d %%, want %d", tt.made/mib, tt.used/mib, got, tt.want)
		}
	}
}

// TestAtRestLittleGarbageMayStay: after periods in which next to nothing is made the percentage is the
// least, and with GOGC in the environment it stays as it was.
func TestAtRestLittleGarbageMayStay(t *testing.T) {
	for env, want := range map[string]int{"": least, "80": 80} {
		t.Setenv("GOGC", env)
		was := debug.SetGCPercent(80)
		ballast := make([]byte, 400<<20)
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			runtime.GC()
			Limit(ctx)
			time.Sleep(3 * period)
			synctest.Wait()
			cancel()
		})
		runtime.KeepAlive(ballast)
		if got := debug.SetGCPercent(was); got != want {
			t.Errorf("GOGC=%q: %d %%, want %d", env, got, want)
		}
	}
}
