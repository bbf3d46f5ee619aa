// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/cli/rollout"
	"sluice/orchagent-ext/cli/settings"
	"sluice/yang/text"
)

// statusMixed is the exit status where switches of --target are left changed while others are not.
const statusMixed = 6

// everySwitch is more switches than an inventory has: none waits until others have answered.
const everySwitch = 1 << 16

// Bounds of --target-rollback.
const (
	commitWait   = 60 * time.Second
	shortestWait = time.Second
	longestWait  = 24 * time.Hour
)

// fleetFlags are the flags of commands that change other switches.
type fleetFlags struct {
	*targetFlags
	wait    time.Duration
	journal string // folder
	format  *output.Format
}

// addFleet adds --target of a command that changes switches, with its flags. json says what JSON has.
func addFleet(cmd *cobra.Command, flags *pflag.FlagSet, json string) *fleetFlags {
	f := &fleetFlags{targetFlags: addTargets(flags)}
	completeTargets(cmd)
	flags.DurationVar(&f.wait, "target-rollback", commitWait, "with --target, the time after which a switch takes a change back by itself that was not confirmed")
	addTargetJournal(flags, &f.journal)
	f.format = kit.AddFormat(flags, json)
	kit.ForExperts(flags, "target-rollback", "target-journal")
	return f
}

// addTargetJournal adds --target-journal. The default is a folder of the user, or that of
// SLUICE_TARGET_JOURNAL.
func addTargetJournal(flags *pflag.FlagSet, folder *string) {
	value, set := os.LookupEnv("SLUICE_TARGET_JOURNAL")
	if !set {
		value = userState("targets")
	}
	flags.StringVar(folder, "target-journal", value, "`folder` that keeps what the last changes of each switch with --target replaced (SLUICE_TARGET_JOURNAL); empty: none")
	if !set {
		flags.Lookup("target-journal").DefValue = "~/.local/state/sluice/targets"
	}
}

// userState returns the name of a file of the user that outlives reboots (XDG Base Directory
// Specification, XDG_STATE_HOME).
func userState(name string) string {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			home = "/var/lib"
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "sluice", name)
}

// check judges the flags as a whole.
func (f *fleetFlags) check(flags *pflag.FlagSet) error {
	if err := f.targetFlags.check(flags, "journal"); err != nil {
		return err
	}
	for _, name := range []string{"target-rollback", "target-journal"} {
		if flagIn(flags, name) && !f.used(flags) {
			return fmt.Errorf("--%s goes with --target", name)
		}
	}
	if f.wait < shortestWait || f.wait > longestWait {
		return fmt.Errorf("--target-rollback %v: from %v to %v are possible", f.wait, shortestWait, longestWait)
	}
	return nil
}

// fleetChange is a change of switches.
type fleetChange struct {
	// of returns the change of a switch, of which the journal is known.
	of func(s *rollout.Switch, known *settings.Journal) (settings.Change, error)
	// next returns the journal of a switch after the change; nil: it stays as it is.
	next func(s *rollout.Switch, known *settings.Journal) *settings.Journal
	// needed reports that there is no change without a journal.
	needed bool
}

// changeTargets makes a change of the switches of --target, or prints it in a dry run.
func (s *settingsCommand) changeTargets(cmd *cobra.Command, change fleetChange) error {
	f, err := s.fleet.open(cmd)
	if err != nil {
		return err
	}
	defer f.Close()
	journals := &rollout.Journals{Folder: s.fleet.journal}
	var unkept error // why the journals stay as they are
	switch {
	case s.fleet.journal == "" && change.needed:
		return errors.New("without a journal no change can be taken back")
	case s.fleet.journal != "" && !s.dry:
		var unlock func()
		unlock, unkept = journals.Lock(cmd.Context(), f.Endpoints())
		defer unlock()
		if unkept != nil && !change.needed {
			return kit.Interrupted(cmd, fmt.Errorf("nothing was written: %w; --target-journal '' keeps none", unkept))
		}
	}
	plan, err := rollout.Read(cmd.Context(), f.Fleet, func(s *rollout.Switch) (settings.Change, error) {
		known := &settings.Journal{}
		if change.needed {
			var err error
			if known, err = journals.Read(s.Endpoint); err != nil {
				return nil, err
			}
		}
		return change.of(s, known)
	})
	switch {
	case err != nil:
		return kit.Interrupted(cmd, err)
	case s.dry:
		return s.printPlan(cmd, f, plan)
	}
	if !plan.Good() {
		return s.printResults(cmd, f, plan)
	}
	err = s.write(cmd, plan, journals, change, unkept)
	printed := s.printResults(cmd, f, plan)
	if err != nil && errors.Is(printed, kit.Exited{Status: statusMixed}) {
		cmd.PrintErrf("warning: %v\n", err)
		err = nil
	}
	return cmp.Or(err, printed)
}

// write writes a plan, with the journals of its switches. unkept is why these stay as they are; nil: they follow.
// What takes changes back is written all the same.
func (s *settingsCommand) write(cmd *cobra.Command, plan *rollout.Plan, journals *rollout.Journals, change fleetChange, unkept error) error {
	o := rollout.Options{ID: "sluice-" + rand.Text(), Wait: s.fleet.wait}
	if s.fleet.journal != "" {
		o.Keep = func() error {
			if unkept == nil {
				unkept = journals.Keep(plan, change.next)
			}
			if unkept == nil || !change.needed {
				return unkept
			}
			cmd.PrintErrf("warning: the journal that rollback goes by does not say what it took back: %v\n", unkept)
			return nil
		}
	}
	err := plan.Write(cmd.Context(), o)
	if back := journals.Settle(plan); back != nil {
		cmd.PrintErrf("warning: switches are as before, and the journal that rollback goes by does not say so: %v\n", back)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return kit.ErrInterrupted
	case err != nil:
		return fmt.Errorf("the change was not confirmed: %w; --target-journal '' keeps none", err)
	}
	return nil
}

// setTargets makes one change of all switches of --target.
func (s *settingsCommand) setTargets(cmd *cobra.Command, change settings.Change) error {
	by, command, now := whoami(), commandLine(cmd), time.Now().UTC().Truncate(time.Second)
	return s.changeTargets(cmd, fleetChange{
		of: func(*rollout.Switch, *settings.Journal) (settings.Change, error) { return change, nil },
		next: func(s *rollout.Switch, known *settings.Journal) *settings.Journal {
			if len(s.Edits) == 0 {
				return nil
			}
			known.Add(s.Before, settings.Entry{Time: now, By: by, Command: command, Edits: s.Edits})
			return known
		},
	})
}

// disableTargets disables a row of the switches of --target that answer.
func (s *settingsCommand) disableTargets(cmd *cobra.Command, table, key string) error {
	s.fleet.atOnce = everySwitch
	f, err := s.fleet.open(cmd)
	if err != nil {
		return err
	}
	defer f.Close()
	return s.printResults(cmd, f, rollout.Disable(cmd.Context(), f.Fleet, table, key))
}

// outcome is the JSON of a switch after a change.
type outcome struct {
	// Switch and Address are those of the target.
	Switch  string `json:"switch"`
	Address string `json:"address"`
	// Result is what became of the change; empty: in a dry run.
	Result rollout.Result `json:"result,omitempty"`
	Error  string         `json:"error,omitempty"`
	// Until is when a change that is not confirmed is taken back, at the latest.
	Until *time.Time `json:"until,omitempty"`
	// Edits are the rows that differ.
	Edits []settings.Edit `json:"edits"`
}

// outcomes returns the results of a plan.
func outcomes(plan *rollout.Plan) []outcome {
	var all []outcome
	for _, s := range plan.Switches {
		o := outcome{Switch: s.Name, Address: s.Address, Result: s.Result, Edits: append([]settings.Edit{}, s.Edits...)}
		if s.Why != nil {
			o.Error = s.Why.Error()
		}
		if s.Result == rollout.FallsBack || s.Result == rollout.Unknown {
			until := s.Until.UTC().Truncate(time.Second)
			o.Until = &until
		}
		all = append(all, o)
	}
	return all
}

// alone returns why a switch that was named alone did not take a change, or nil: it is an error as on
// the switch itself.
func alone(f *fleet, plan *rollout.Plan) error {
	only := plan.Switches[0]
	switch {
	case !f.one || !only.Until.IsZero():
		return nil
	case only.Result == rollout.Unanswered:
		return &unanswered{only.Target, only.Why}
	case only.Result == rollout.Refused:
		return only.Why
	}
	return nil
}

// printResults prints a line for each switch, and returns the exit status as an error.
func (s *settingsCommand) printResults(cmd *cobra.Command, f *fleet, plan *rollout.Plan) error {
	if err := alone(f, plan); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	all := outcomes(plan)
	if s.fleet.format.Data() {
		if err := s.fleet.format.Write(out, all); err != nil {
			return err
		}
		return exitOf(plan)
	}
	t := output.NewTable(out, s.fleet.format.Style(out))
	for i := range all {
		t.Row(all[i].Switch, string(all[i].Result), all[i].detail())
	}
	if err := t.End(); err != nil {
		return err
	}
	return exitOf(plan)
}

// detail is the text of a line behind the result.
func (o *outcome) detail() string {
	detail := o.Error
	switch {
	case o.Result == rollout.Unanswered && o.Address != o.Switch:
		detail = o.Address + ": " + detail
	case o.Until != nil:
		detail += "; at " + o.Until.Local().Format(time.TimeOnly) + " at the latest it has taken the change back by itself"
		if o.Result == rollout.Unknown {
			detail += ", unless it was confirmed"
		}
	case o.Result == rollout.Written && detail == "":
		detail = kit.Plural(len(o.Edits), "row")
	}
	return detail
}

// exitOf returns the exit status of a plan as an error: nil where all is as wanted.
func exitOf(plan *rollout.Plan) error {
	status := 0
	for _, s := range plan.Switches {
		switch s.Result {
		case rollout.Left, rollout.Unknown:
			status = max(status, statusMixed)
		case rollout.Written, rollout.Unchanged:
		case "": // a dry run
		default:
			status = max(status, 1)
			if s.Silent {
				status = max(status, statusUnanswered)
			}
		}
	}
	if status == 0 {
		return nil
	}
	return kit.Exited{Status: status}
}

// printPlan prints what would change, as diff prints the differences of switches.
func (s *settingsCommand) printPlan(cmd *cobra.Command, f *fleet, plan *rollout.Plan) error {
	if err := alone(f, plan); err != nil {
		return err
	}
	out, format := cmd.OutOrStdout(), *s.fleet.format
	for _, sw := range plan.Switches {
		if sw.Result == rollout.NotWritten {
			sw.Result = ""
		}
	}
	var err error
	if format.Data() {
		err = format.Write(out, outcomes(plan))
	} else {
		err = printEdits(out, format, f.one, plan)
	}
	if err != nil {
		return err
	}
	return exitOf(plan)
}

// printEdits prints the rows that a plan would change, those switches that it leaves as they are,
// and those that do not take it.
func printEdits(out io.Writer, format output.Format, one bool, plan *rollout.Plan) error {
	var all []editsOf
	var failed []string
	for _, s := range plan.Switches {
		switch s.Result {
		case rollout.Unanswered:
			failed = append(failed, (&unanswered{s.Target, s.Why}).Error())
		case rollout.Refused:
			failed = append(failed, text.Printable(fmt.Sprintf("refused: %s: %v", s.Name, s.Why)))
		default:
			all = append(all, editsOf{s.Name, s.Edits})
		}
	}
	switch {
	case one && len(all) == 1 && len(all[0].edits) == 0:
		fmt.Fprintln(out, "Nothing to do.")
	case one && len(all) == 1:
		if err := printLines(out, settings.Lines(all[0].edits)); err != nil {
			return err
		}
	default:
		if err := printEditsOf(out, format, all, "Nothing to do"); err != nil {
			return err
		}
	}
	for _, line := range failed {
		fmt.Fprintln(out, line)
	}
	return nil
}
