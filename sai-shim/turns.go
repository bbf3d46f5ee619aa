// SPDX-License-Identifier: Apache-2.0

package sai

import "errors"

// Turns admits the calls of several handles one by one. A turn is one call of the library.
type Turns interface {
	// Enter waits for a turn. After an error there is none, and the call returns the error.
	Enter() error

	// Leave ends the turn.
	Leave()
}

// noTurns is for a library with one handle.
type noTurns struct{}

// Enter implements [Turns].
func (noTurns) Enter() error { return nil }

// Leave implements [Turns].
func (noTurns) Leave() {}

// ErrClosed is the error of a call after [Library.Close].
var ErrClosed = errors.New("the SAI library is closed")

// TakeTurns makes each call of the handle take a turn from now on. It comes before [Library.Beside].
func (l *Library) TakeTurns(t Turns) { l.turns = t }

// Beside returns a handle of the library for another goroutine, with turns of its own. It is for
// calls that read, and for those of [Library.SetQueueMarks], [Library.SetFlowKey],
// [Library.SetStreamSeed] and [Library.WatchFlows] in the goroutine of the first handle: only
// one goroutine creates and sets.
func (l *Library) Beside(t Turns) *Library {
	return &Library{library: l.library, turns: t, beside: true}
}

// begin waits for a turn of the handle. After nil the caller ends it; after an error there is none.
func (l *Library) begin() error {
	if err := l.turns.Enter(); err != nil {
		return err
	}
	l.turn = true
	if l.shim == nil {
		l.end()
		return ErrClosed
	}
	return nil
}

// end ends the turn of the handle, if it has one.
func (l *Library) end() {
	if l.turn {
		l.turn = false
		l.turns.Leave()
	}
}
