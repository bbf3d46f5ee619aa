// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/cli/settings"
)

// newRollbackCommand returns `sluice rollback`.
func newRollbackCommand() *cobra.Command {
	s := &settingsCommand{}
	var last int
	var force, list bool
	cmd := &cobra.Command{
		Use:   "rollback",
		Short: "Take back the last changes by sluice config",
		Long: `Take back the last change by "sluice config", or the last N, all or nothing. Rows that others have
changed since stay as they are, and so does all else: --force takes them back all the same. The last
50 changes are known.

With --target it takes back the last change of each of these switches that "sluice config --target" made from this
machine, on all or none, as that does.`,
		Example: `  sluice rollback --list
  sluice rollback --dry-run
  sluice rollback
  sluice rollback --target all --dry-run`,
		Args: kit.Exactly(),
	}
	flags := cmd.Flags()
	s.databases = addDatabases(flags)
	s.addJournal(flags)
	s.addDry(flags)
	flags.IntVar(&last, "last", 1, "take back so many changes")
	flags.BoolVarP(&force, "force", "f", false, "also rows that have changed since")
	flags.BoolVar(&list, "list", false, "list the changes that are known, the newest first, and change nothing")
	s.fleet = addFleet(cmd, flags, "with --list, the changes with their rows; else the rows that change, or with --target an object for each switch")
	format := s.fleet.format
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if list && (force || s.dry || flags.Changed("last")) {
			return errors.New("--list changes nothing: leave the other flags out")
		}
		if err := s.fleet.check(flags); err != nil {
			return err
		}
		switch used := s.fleet.used(flags); {
		case used && list:
			return s.listTargets(cmd)
		case used:
			return s.undoTargets(cmd, last, force)
		}
		return s.open(cmd, func(w *settings.Writer) error {
			if list {
				return listChanges(cmd, w, *format)
			}
			edits, err := w.Undo(cmd.Context(), last, force)
			if err != nil {
				return err
			}
			warnOfCommit(cmd.ErrOrStderr(), edits)
			if format.Data() {
				return format.Write(cmd.OutOrStdout(), append([]settings.Edit{}, edits...))
			}
			return printLines(cmd.OutOrStdout(), settings.Lines(edits))
		})
	}
	return cmd
}

// listChanges prints the journal's entries, the newest first, with the number that
// rollback --last takes.
func listChanges(cmd *cobra.Command, w *settings.Writer, format output.Format) error {
	j, err := w.Known()
	if err != nil {
		return err
	}
	if len(j.Entries) == 0 && !format.Data() {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "No change by sluice config is known.")
		return err
	}
	out := cmd.OutOrStdout()
	if format.Data() {
		slices.Reverse(j.Entries)
		return format.Write(out, append([]settings.Entry{}, j.Entries...))
	}
	t := output.NewTable(out, format.Style(out), "Last", "Time", "By", "Rows", "Change")
	for i := len(j.Entries) - 1; i >= 0; i-- {
		e := j.Entries[i]
		t.Row(fmt.Sprint(len(j.Entries)-i), e.Time.Format(time.RFC3339), e.By, fmt.Sprint(len(e.Edits)), e.Command)
	}
	return t.End()
}
