// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"

	sai "sluice/sai-shim"
)

// Errors of a driver that the engine distinguishes.
var (
	// ErrRefused: the switch lacks the ability, or the room: another attempt is pointless.
	ErrRefused = errors.New("the switch refuses")

	// ErrFailing: the switch answers an error that may pass, or stay. Where it stays
	// that is a refusal.
	ErrFailing = errors.New("the switch fails")

	// ErrPending: the switch is at work. The same call again returns the result.
	ErrPending = errors.New("the switch is at work")

	// ErrWaits is [ErrPending] where all that is missing waits for others than the switch.
	ErrWaits = fmt.Errorf("%w, or waits for others", ErrPending)

	// ErrNoNextHop: the switch does not have the next hop of a redirection.
	ErrNoNextHop = errors.New("the switch lacks the next hop")

	// ErrHandedOver: another process has the removal, and has yet to carry it out. The driver watches it
	// from then on.
	ErrHandedOver = errors.New("another process has yet to remove the object")

	// ErrGone: the object was removed.
	ErrGone = errors.New("the object is gone")
)

// objectError is the failure of the switch at an object.
type objectError struct {
	object *Object
	set    string // the attribute that was to change in place; "": none was
	err    error
}

// Error returns the text of the failure.
func (e *objectError) Error() string { return e.err.Error() }

// Unwrap returns the failure.
func (e *objectError) Unwrap() error { return e.err }

// failedObject returns the object at which the switch failed, or nil.
func failedObject(err error) *Object {
	if at := (*objectError)(nil); errors.As(err, &at) {
		return at.object
	}
	return nil
}

// refusedAttr returns the attribute that a SAI library refused, or "".
func refusedAttr(err error) string {
	if answer := (*sai.Error)(nil); errors.As(err, &answer) {
		return answer.Attribute
	}
	return ""
}
