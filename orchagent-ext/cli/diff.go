// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/cli/settings"
	"sluice/yang/text"
)

// newDiffCommand returns `sluice diff`: changes since the journal's last entry, its last
// N, or against a file.
func newDiffCommand() *cobra.Command {
	s := &settingsCommand{}
	var last int
	cmd := &cobra.Command{
		Use:   "diff [FILE]",
		Short: "Show how CONFIG_DB differs from what it was before the last change, or from a file",
		Long: `Show how Sluice's tables in CONFIG_DB differ from what they were before the last change by "sluice
config", or before the last N: also what gNMI and others have changed since. With FILE, in the form
of config_db.json (- is standard input): how they differ from it.

A line with - has what is not in CONFIG_DB any more, one with + what is there instead.

With --target it compares other switches, which it asks by gNMI, with FILE, or with what each was before
its last change by "sluice config --target" from this machine; rows of PORT are left out.`,
		Example: `  sluice diff
  sluice diff --last 3 --json
  sluice diff config_db.json
  sluice diff config_db.json --target leaf1,leaf2
  sluice diff --target all`,
		Args: kit.Between(0, "FILE"),
	}
	s.databases = addDatabases(cmd.Flags())
	s.addJournal(cmd.Flags())
	switches := addTargets(cmd.Flags())
	completeTargets(cmd)
	var folder string
	addTargetJournal(cmd.Flags(), &folder)
	kit.ForExperts(cmd.Flags(), "target-journal")
	cmd.Flags().IntVar(&last, "last", 1, "compare with what was there before the last so many changes")
	format := kit.AddFormat(cmd.Flags(), "a list of rows with their fields before and after")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && cmd.Flags().Changed("last") {
			return errors.New("--last and FILE do not go together")
		}
		if err := s.checkTargets(cmd, switches); err != nil {
			return err
		}
		if switches.used(cmd.Flags()) {
			return s.diffTargets(cmd, switches, last, args, folder, *format)
		}
		return s.open(cmd, func(w *settings.Writer) error {
			now, err := settings.Read(cmd.Context(), w.Store)
			if err != nil {
				return err
			}
			before, named, err := s.point(cmd, w, last, args, now)
			if err != nil {
				return err
			}
			return printDiff(cmd, *format, settings.Compare(before, now), named)
		})
	}
	return cmd
}

// printDiff prints the differences of CONFIG_DB from a configuration of that name.
func printDiff(cmd *cobra.Command, format output.Format, edits []settings.Edit, named string) error {
	out := cmd.OutOrStdout()
	if format.Data() {
		return format.Write(out, append([]settings.Edit{}, edits...))
	}
	if len(edits) == 0 {
		_, err := fmt.Fprintf(out, "No difference from %s.\n", text.Printable(named))
		return err
	}
	fmt.Fprintf(out, "--- %s\n+++ CONFIG_DB\n", text.Printable(named))
	return printLines(out, settings.Lines(edits))
}

// point returns the configuration that CONFIG_DB, which is now so, is compared with, and its name.
func (s *settingsCommand) point(cmd *cobra.Command, w *settings.Writer, last int, args []string, now settings.Config) (settings.Config, string, error) {
	if len(args) > 0 {
		f, err := s.readConfig(cmd, args[0])
		if err != nil {
			return nil, "", err
		}
		return settings.NewConfig(f.In(now)), args[0], nil
	}
	j, err := w.Known()
	if err != nil {
		return nil, "", err
	}
	before, err := j.Before(last)
	if err != nil {
		return nil, "", fmt.Errorf("%w: give a FILE to compare with", err)
	}
	e := j.Entries[len(j.Entries)-last]
	return before, fmt.Sprintf("before %q, %s", e.Command, e.Time.Format(time.RFC3339)), nil
}

// readConfig reads rows out of a file; - is standard input.
func (s *settingsCommand) readConfig(cmd *cobra.Command, name string) (*settings.File, error) {
	content, err := readText(cmd.Context(), name, cmd.InOrStdin())
	if err != nil {
		return nil, err
	}
	f, err := settings.Parse(bytes.NewReader(content), s.databases.namespace)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	return f, nil
}

// printLines prints the differences in columns.
func printLines(w io.Writer, lines []settings.Line) error {
	t := output.NewTable(w, output.Style{})
	for _, l := range lines {
		t.Row(l.Sign()+" "+l.Row, l.Field, l.Value)
	}
	return t.End()
}
