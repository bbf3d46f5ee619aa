// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// order are the callers in the order of their turns.
type order struct {
	mu    sync.Mutex
	names []string
}

// call makes a call of 10 ms in a turn, in a goroutine of its own, and returns once that waits.
func (o *order) call(t *testing.T, g *Gate, ctx context.Context, p Priority, name string) {
	t.Helper()
	go func() {
		_ = g.Do(ctx, p, func() { // what was canceled is not in the order
			o.mu.Lock()
			o.names = append(o.names, name)
			o.mu.Unlock()
			time.Sleep(10 * time.Millisecond)
		})
	}()
	synctest.Wait()
}

// check compares the order once all callers are through.
func (o *order) check(t *testing.T, want ...string) {
	t.Helper()
	time.Sleep(time.Second)
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.Equal(o.names, want) {
		t.Errorf("turns of %v, want %v", o.names, want)
	}
}

func TestTurnsGoByPriorityThenByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		var o order
		o.call(t, &g, t.Context(), Depth, "first")
		for _, p := range []Priority{Statistics, Depth, Programming, Holds} {
			for i := range 2 {
				o.call(t, &g, t.Context(), p, fmt.Sprintf("%v%d", p, i))
			}
		}
		o.check(t, "first", "programming0", "programming1", "holds0", "holds1", "depth0", "depth1", "statistics0", "statistics1")
	})
}

func TestCallerThatIsCanceledHasNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		var o order
		if err := g.Enter(t.Context(), Programming); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		o.call(t, &g, ctx, Holds, "canceled")
		o.call(t, &g, t.Context(), Depth, "depth")
		cancel()
		synctest.Wait()
		if err := g.Do(ctx, Depth, func() { t.Error("it was called") }); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		g.Leave()
		o.check(t, "depth")
	})
}

// TestTurnThatComesWithTheCancellationIsPassedOn: a context ends in the moment in which the turn is
// granted.
func TestTurnThatComesWithTheCancellationIsPassedOn(t *testing.T) {
	for range 200 {
		var g Gate
		if err := g.Enter(t.Context(), Programming); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- g.Enter(ctx, Depth) }()
		go cancel()
		g.Leave()
		if err := <-done; err == nil {
			g.Leave()
		}
		if err := g.Enter(t.Context(), Holds); err != nil || !g.taken {
			t.Fatal(err)
		}
		g.Leave()
	}
}

func TestPanicInATurnEndsIt(t *testing.T) {
	var g Gate
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was kept")
			}
		}()
		_ = g.Do(t.Context(), Programming, func() { panic("of the library") })
	}()
	if err := g.Do(t.Context(), Statistics, func() {}); err != nil {
		t.Error(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("Leave without a turn is taken")
		}
	}()
	g.Leave()
}

// TestStatisticsWaitUntilTheSwitchIsLeftAlone: a program of many calls waits for one call of statistics
// at most, however many of these wait.
func TestStatisticsWaitUntilTheSwitchIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		var read atomic.Int32
		ctx, cancel := context.WithCancel(t.Context())
		for range 2 {
			go func() {
				for g.Do(ctx, Statistics, func() { time.Sleep(20 * time.Millisecond); read.Add(1) }) == nil {
				}
			}()
		}
		time.Sleep(50 * time.Millisecond) // in the middle of a call
		before := read.Load()
		for range 100 {
			if err := g.Do(ctx, Programming, func() { time.Sleep(10 * time.Millisecond) }); err != nil {
				t.Fatal(err)
			}
			time.Sleep(Pause / 2)
		}
		if read.Load()-before > 1 {
			t.Errorf("%d calls of statistics during the program, want the one under way", read.Load()-before)
		}
		if waited := g.Times(Programming).Waited; waited.Sum != uint64(10*time.Millisecond) {
			t.Errorf("programming waited %v, want the rest of one call", time.Duration(waited.Sum))
		}
		before = read.Load()
		time.Sleep(Pause + 21*time.Millisecond)
		if read.Load() == before {
			t.Error("statistics have no turn though the switch is left alone")
		}
		cancel()
		time.Sleep(time.Second) // for calls under way
	})
}

// TestTimesOfTurns: the longest wait and turn of each priority are known while a turn lasts.
func TestTimesOfTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		go func() {
			_ = g.Do(t.Context(), Statistics, func() { time.Sleep(90 * time.Millisecond) })
		}()
		time.Sleep(30 * time.Millisecond)
		for _, d := range []time.Duration{time.Millisecond, 3 * time.Millisecond, 2 * time.Millisecond} {
			if err := g.Do(t.Context(), Depth, func() { time.Sleep(d); g.Times(Depth) }); err != nil {
				t.Fatal(err)
			}
		}
		if is := g.Times(Depth); is.Held.Count != 3 || is.Held.Max != uint64(3*time.Millisecond) || is.Waited.Max != uint64(60*time.Millisecond) || is.Waited.Count != 3 {
			t.Errorf("depth: %d turns up to %d ns, %d waits up to %d ns", is.Held.Count, is.Held.Max, is.Waited.Count, is.Waited.Max)
		}
		if is := g.Times(Statistics); is.Held.Count != 1 || is.Held.Max != uint64(90*time.Millisecond) || is.Waited.Max != 0 {
			t.Errorf("statistics: %d turns up to %d ns, waits up to %d ns", is.Held.Count, is.Held.Max, is.Waited.Max)
		}
	})
}

// TestTurnBeginsOnceItsCallerRuns: a caller that is granted a turn and lacks a CPU is still waiting,
// and the turn is as long as its call.
func TestTurnBeginsOnceItsCallerRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		if err := g.Enter(t.Context(), Programming); err != nil {
			t.Fatal(err)
		}
		w := g.enter(Depth)
		g.Leave() // grants the turn
		time.Sleep(13 * time.Millisecond)
		g.begin(w)
		time.Sleep(2 * time.Millisecond)
		g.Leave()
		if is := g.Times(Depth); is.Held.Max != uint64(2*time.Millisecond) || is.Waited.Max != uint64(13*time.Millisecond) {
			t.Errorf("a turn of %d ns after a wait of %d ns, want 2 ms after 13 ms", is.Held.Max, is.Waited.Max)
		}
	})
}
