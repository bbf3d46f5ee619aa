// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice/orchagent-ext/cli/settings"
	"sluice/orchagent-ext/cli/targets"
	"sluice/yang/text"
)

// disabled is the value of a field that switches something off.
const disabled = "disabled"

// admin is the field that [Disable] writes.
const admin = "admin_state"

// Disables reports whether fields of a row, by their leaves, disable it and are the only ones.
func Disables(fields map[string]string) bool {
	return len(fields) == 1 && fields[admin] == disabled
}

// attempts is how often a switch is asked to disable while commits of others wait there.
const attempts = 5

// Disable disables a row on each switch that answers, at once and for good: the switches are
// independent of each other, and the change needs no confirmation. A commit that waits there to be
// confirmed is canceled first: it would refuse the change, and may undo it later. A switch may have two names.
func Disable(ctx context.Context, f *targets.Fleet, table, key string) *Plan {
	p := &Plan{Switches: members(f), fleet: f}
	w := &writer{Plan: p}
	each(p.Switches, func(s *Switch) {
		s.Edits = []settings.Edit{{Table: table, Key: key, Before: map[string]string{}, After: map[string]string{admin: disabled}}}
		w.disable(ctx, s)
	})
	return p
}

// disable is [Disable] of one switch.
func (w *writer) disable(ctx context.Context, s *Switch) {
	note, err := w.setDisabled(ctx, s)
	if err == nil {
		var undone *undoneError
		if err := w.check(ctx, s, s.Edits, settings.Edit.Done); errors.As(err, &undone) {
			s.end(Refused, err)
			return
		}
		s.Silent = false // it took the change
		s.end(Written, note)
		return
	}
	if note != nil {
		err = fmt.Errorf("%w (%w)", err, note)
	}
	if refused(err) != nil {
		s.end(Refused, err)
		return
	}
	s.Silent = true
	s.end(Unanswered, err)
}

// setDisabled sends the change of a switch, and cancels commits that are in its way; note is the last one.
func (w *writer) setDisabled(ctx context.Context, s *Switch) (note, err error) {
	r, err := request(s.Edits)
	if err != nil {
		return nil, err
	}
	for range attempts {
		err = w.fleet.Set(ctx, s.number, r, false)
		waits := refused(err)
		if waits == nil || waits.Commit == "" {
			break
		}
		switch no := w.fleet.Set(ctx, s.number, cancel(waits.Commit), false); {
		case no == nil:
			note = fmt.Errorf("commit %s, which waited there, was canceled for it", text.Printable(fmt.Sprintf("%q", waits.Commit)))
		case refused(no) == nil: // silent
			return note, no
		case !slices.Contains(over, refused(no).Code):
			return note, fmt.Errorf("%w; canceling it: %w", err, no)
		}
	}
	return note, err
}
