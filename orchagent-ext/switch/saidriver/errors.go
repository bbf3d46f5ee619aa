// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"errors"
	"fmt"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
)

// refusal marks errors by the use of another attempt.
func refusal(err error) error {
	answer := (*sai.Error)(nil)
	switch {
	case err == nil, errors.Is(err, engine.ErrRefused), !errors.As(err, &answer): // it is marked, or no answer
		return err
	case errors.Is(err, sai.ErrNotSupported), errors.Is(err, sai.ErrNoRoom):
		return fmt.Errorf("%w: %w", engine.ErrRefused, err)
	case errors.Is(err, sai.ErrNotFound):
		return fmt.Errorf("%w: %w", engine.ErrGone, err)
	}
	return fmt.Errorf("%w: %w", engine.ErrFailing, err)
}

// uncreated marks errors of calls that create or set: a missing object is then one that
// the call refers to.
func uncreated(err error) error {
	if err = refusal(err); errors.Is(err, engine.ErrGone) {
		return fmt.Errorf("%w: %w", engine.ErrFailing, err)
	}
	return err
}

// unreadable reports whether a library cannot read an attribute.
func unreadable(err error) bool { return err != nil && !errors.Is(err, sai.ErrNotFound) }

// errUnreadable returns the error for a record whose object has no attribute to compare.
func errUnreadable(r *engine.Record) error { return fmt.Errorf("%s cannot be read", r.ID) }
