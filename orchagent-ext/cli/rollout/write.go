// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/codes"

	"sluice/orchagent-ext/cli/settings"
	"sluice/orchagent-ext/host/clock"
	"sluice/yang/text"
)

// Options are those of a write.
type Options struct {
	// ID is the id of the commits. No other change may have it.
	ID string
	// Wait is how long a switch waits for the confirmation before it takes the change back.
	Wait time.Duration
	// Keep is called when all switches hold the change, before it is confirmed, also where all
	// had it before. After an error all take it back. nil: there are no journals.
	Keep func() error
}

const (
	// confirmations is how often a silent switch is asked to confirm.
	confirmations = 2
	// looks is how often rows are read back until they are as they must be, and pause the time
	// between: sluice-gnmi serves rows from a mirror.
	looks = 10
	pause = 100 * time.Millisecond
)

// writer is one write of a plan.
type writer struct {
	*Plan
	Options
}

// Write changes all switches or none; each has its result then. The error is that of Keep, or of a
// context that was over before the change was confirmed.
func (p *Plan) Write(ctx context.Context, o Options) error {
	w := &writer{p, o}
	all := p.changing()
	if len(all) == 0 {
		return w.held(ctx, nil)
	}
	// What has begun goes on to a known state when the user wants to end it.
	lasting := context.WithoutCancel(ctx)
	each(all, func(s *Switch) { w.begin(ctx, s) })
	if err := w.held(ctx, all); err != nil || !good(all) {
		each(all, func(s *Switch) { w.takeBack(lasting, s) })
		return err
	}
	each(all, func(s *Switch) { w.confirm(lasting, s) })
	if !good(all) {
		each(all, func(s *Switch) { w.takeBack(lasting, s) })
		return nil
	}
	for _, s := range all {
		s.Result = Written
	}
	return nil
}

// good reports whether no switch has a reason against the change.
func good(all []*Switch) bool {
	return !slices.ContainsFunc(all, func(s *Switch) bool { return s.Why != nil })
}

// held decides whether a change that all switches hold is to be confirmed; nil, too, where one of
// them lacks it.
func (w *writer) held(ctx context.Context, all []*Switch) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case good(all) && w.Keep != nil:
		return w.Keep()
	}
	return nil
}

// begin writes the change of a switch, to be confirmed, and checks its rows.
func (w *writer) begin(ctx context.Context, s *Switch) {
	r, err := request(s.Edits)
	if err != nil {
		s.end(Refused, err)
		return
	}
	err = w.fleet.Set(ctx, s.number, committed(r, w.ID, w.Wait), false)
	if no := refused(err); no != nil {
		if no.Commit != "" {
			err = fmt.Errorf("%w, or try again when it is over by itself: one of sluice config is after its --target-rollback, 60 s by default", err)
		}
		s.end(Refused, err)
		return
	}
	s.begun, s.Until = true, time.Now().Add(w.Wait) // it counts from when it took the change
	if err == nil {
		err = w.check(ctx, s, s.Edits, settings.Edit.Done)
	} else {
		err = silent(err)
		s.Silent = ctx.Err() == nil
	}
	if ctx.Err() == nil {
		s.Why = err
	}
}

// silent is the reason of a switch whose answer is missing.
func silent(err error) error { return fmt.Errorf("did not answer: %w", err) }

// check reads rows back until each edit is as it must be. The error is that of a silent switch, or names
// the row that differs.
func (w *writer) check(ctx context.Context, s *Switch, edits []settings.Edit, good func(settings.Edit, settings.Config) bool) error {
	for look := 1; ; look++ {
		now, err := w.read(ctx, s)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(edits, func(e settings.Edit) bool { return !good(e, now) })
		switch {
		case at < 0:
			return nil
		case look == looks || !clock.Sleep(ctx, pause):
			return &undoneError{edits[at]}
		}
	}
}

// read returns the configuration of a switch in the tables that change.
func (w *writer) read(ctx context.Context, s *Switch) (settings.Config, error) {
	var names []string
	for _, e := range s.Edits {
		names = append(names, e.Table)
	}
	r := w.fleet.ReadOne(ctx, s.number, map[string][]string{"CONFIG_DB": names})
	if r.Err != nil {
		s.Silent = s.Silent || ctx.Err() == nil
		return nil, silent(r.Err)
	}
	return settings.NewConfig(r.Rows), nil
}

// undoneError is that a switch took a change, and one of its rows differs.
type undoneError struct{ settings.Edit }

// Error names the row.
func (e *undoneError) Error() string {
	return fmt.Sprintf("it took the change, and %s is not so", text.Printable(e.Table+"|"+e.Key))
}

// over are the codes of a switch where the commit is over.
var over = []codes.Code{codes.FailedPrecondition, codes.InvalidArgument}

// confirm keeps the change of a switch. After an answer that was lost the rows tell whether it was
// kept: a commit that is over, and rows that are as wanted.
func (w *writer) confirm(ctx context.Context, s *Switch) {
	var err error
	for range confirmations {
		s.asked = true
		err = w.fleet.Set(ctx, s.number, confirm(w.ID), true)
		if err == nil || refused(err) != nil {
			break
		}
	}
	switch r := refused(err); {
	case err == nil:
		s.confirmed = true
	case r == nil:
		s.Silent, s.Why = true, fmt.Errorf("did not answer when it was to confirm: %w", err)
	case slices.Contains(over, r.Code) && w.check(ctx, s, s.Edits, settings.Edit.Done) == nil:
		s.confirmed = true
	default:
		s.Why = fmt.Errorf("it did not confirm: %w", err)
	}
}

// takeBack makes a switch as it was: by canceling its commit, or by the inverse of its change
// where that is confirmed. The switch has the rows to which a canceled commit goes back: others may have
// written them since they were read here, so it is the change that must be gone.
func (w *writer) takeBack(ctx context.Context, s *Switch) {
	switch {
	case !s.begun && s.Result == "":
		s.Result = NotWritten
		return
	case !s.begun:
		return
	case s.confirmed:
		w.invert(ctx, s)
		return
	}
	err := w.fleet.Set(ctx, s.number, cancel(w.ID), true)
	if r := refused(err); err != nil && (r == nil || !slices.Contains(over, r.Code)) { // it still waits
		result := FallsBack
		if s.asked && s.Silent {
			result = Unknown // the confirmation may have arrived
		}
		if r == nil {
			s.Silent, err = true, silent(err)
		}
		s.end(result, err)
		return
	}
	canceled := err == nil
	left := w.check(ctx, s, s.Edits, settings.Edit.Undone)
	var undone *undoneError
	switch {
	case left == nil && s.Why != nil && !s.Silent:
		s.Result = Refused
	case left == nil, canceled && !errors.As(left, &undone):
		s.Result = TakenBack
	case canceled:
		s.Result, s.Why = Left, fmt.Errorf("it said that it took the change back, and %s is not as before", text.Printable(undone.Table+"|"+undone.Key))
	case errors.As(left, &undone):
		w.invert(ctx, s) // the commit is over: it was confirmed
	default:
		s.end(Unknown, left)
	}
}

// inverse returns the edits that take edits back.
func inverse(edits []settings.Edit) []settings.Edit {
	var all []settings.Edit
	for _, e := range slices.Backward(edits) {
		all = append(all, e.Inverse())
	}
	return all
}

// invert writes the inverse of a change that was confirmed. Rows that others have changed since stay
// as they are.
func (w *writer) invert(ctx context.Context, s *Switch) {
	now, err := w.read(ctx, s)
	if err != nil {
		s.Result, s.Why = Left, fmt.Errorf("its change is confirmed, and cannot be taken back: %w", err)
		return
	}
	ours := slices.DeleteFunc(slices.Clone(s.Edits), func(e settings.Edit) bool { return !e.Done(now) })
	r, err := request(inverse(ours))
	if err == nil {
		err = w.fleet.Set(ctx, s.number, r, true)
	}
	if err == nil {
		err = w.check(ctx, s, ours, settings.Edit.Undone)
	}
	switch {
	case err != nil:
		s.Silent = s.Silent || refused(err) == nil
		s.Result, s.Why = Left, fmt.Errorf("its change is confirmed, and cannot be taken back: %w", err)
	case len(ours) < len(s.Edits):
		s.Result = Left
		s.Why = errors.New("its change is confirmed, and rows that others have changed since are as they made them")
	default:
		s.Result = TakenBack
	}
}
