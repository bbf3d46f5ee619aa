// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"

	"sluice/orchagent-ext/flows/histogram"
)

// Turn takes turns of one priority, for one goroutine. A handle of a SAI library has one.
type Turn struct {
	gate     *Gate
	ctx      context.Context
	priority Priority
}

// At returns the turns of a priority. Once ctx is done Enter returns its error.
func (g *Gate) At(ctx context.Context, p Priority) *Turn { return &Turn{g, ctx, p} }

// Enter waits for a turn. The error is that of the context.
func (t *Turn) Enter() error { return t.gate.Enter(t.ctx, t.priority) }

// Leave ends the turn.
func (t *Turn) Leave() { t.gate.Leave() }

// Times are those of a priority's turns, in ns.
type Times struct {
	Waited histogram.Fine // for each turn
	Held   histogram.Fine // the turns that have ended
}

// Times returns the times of a priority since the gate was made. It returns at once.
func (g *Gate) Times(p Priority) Times {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.times[p]
}
