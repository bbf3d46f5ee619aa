// SPDX-License-Identifier: Apache-2.0

package garbage

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	period = 2 * time.Second        // between two looks
	worth  = 500 * time.Millisecond // of garbage may be there, at its rate

	least, most = 5, 100   // percent of the memory in use
	floor       = 16 << 20 // octets that may be there anyway: each collection reads all that is in use
	busy, rest  = 40, 20   // percent from which it falls, and below which the system gets memory back
)

// Limit follows the rate of garbage until ctx is done. GOGC in the environment
// holds instead.
func Limit(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	go follow(ctx)
}

// follow sets the percentage each period.
func follow(ctx context.Context) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	made, _ := heap()
	for now, idle := most, true; ; { // idle: a burst may have left memory
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		before, used := made, uint64(0)
		made, used = heap()
		want := percent(made-before, used)
		if want == now {
			continue
		}
		debug.SetGCPercent(want)
		idle = idle || want >= busy
		if want < rest && idle {
			idle = false
			debug.FreeOSMemory() // the runtime itself keeps a tenth and more
		}
		now = want
	}
}

// percent returns how much garbage there may be, in percent of the octets in use, where as many octets
// as made came in a period.
func percent(made, used uint64) int {
	room := max(made*uint64(worth/time.Millisecond)/uint64(period/time.Millisecond), floor)
	return int(min(max(100*room/max(used, 1), least), most))
}

// heap returns the octets that were made since the start, and those that were in use after the last
// collection.
func heap() (made, used uint64) {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64(), samples[1].Value.Uint64()
}
