// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/cli/rollout"
	"sluice/orchagent-ext/cli/settings"
	"sluice/orchagent-ext/cli/targets"
	"sluice/yang/rows"
	"sluice/yang/text"
)

// diffAnswer is the JSON of a switch beside others: its differences, as diff has them of one.
type diffAnswer struct {
	Switch string          `json:"switch"`
	Answer []settings.Edit `json:"answer"`
}

// checkTargets judges the flags of diff with --target: the journal of the last changes there is that
// of --target-journal.
func (s *settingsCommand) checkTargets(cmd *cobra.Command, t *targetFlags) error {
	if flagIn(cmd.Flags(), "target-journal") && !t.used(cmd.Flags()) {
		return errors.New("--target-journal goes with --target")
	}
	return t.check(cmd.Flags(), "journal")
}

// diffOf is the differences of one switch.
type diffOf struct {
	targets.Target
	edits []settings.Edit
	err   error // it did not answer
}

// diffTargets prints how the rows of switches differ from those of a file, or from what they were
// before the last changes with --target. Rows of PORT, which gNMI does not serve, are left out.
func (s *settingsCommand) diffTargets(cmd *cobra.Command, t *targetFlags, last int, args []string, folder string, format output.Format) error {
	f, err := t.open(cmd)
	if err != nil {
		return err
	}
	defer f.Close()
	differ, named := s.sinceChange(f, last, folder), "before the last change"
	if last > 1 {
		named = fmt.Sprintf("before the last %d changes", last)
	}
	if len(args) > 0 {
		if differ, err = s.fromFile(cmd, args[0]); err != nil {
			return err
		}
		named = args[0]
	}
	read := f.Read(cmd.Context(), map[string][]string{"CONFIG_DB": rows.Tables("CONFIG_DB")})
	if cmd.Context().Err() != nil {
		return kit.ErrInterrupted
	}
	var all []diffOf
	for i, r := range read {
		d := diffOf{Target: r.Target, err: r.Err}
		if r.Err == nil {
			if d.edits, err = differ(i, settings.NewConfig(r.Rows)); err != nil {
				return err
			}
		}
		all = append(all, d)
	}
	if f.one {
		if all[0].err != nil {
			return &unanswered{all[0].Target, all[0].err}
		}
		return printDiff(cmd, format, all[0].edits, named)
	}
	return printDiffs(cmd, format, all, named)
}

// A differ returns the edits that make of another configuration that of the switch of a number.
type differ func(i int, now settings.Config) ([]settings.Edit, error)

// fromFile compares with the rows of a file.
func (s *settingsCommand) fromFile(cmd *cobra.Command, name string) (differ, error) {
	file, err := s.readConfig(cmd, name)
	if err != nil {
		return nil, err
	}
	file.Rows = settings.OfModels(file.Rows)
	return func(_ int, now settings.Config) ([]settings.Edit, error) {
		return append([]settings.Edit{}, settings.Compare(settings.NewConfig(file.In(now)), now)...), nil
	}, nil
}

// sinceChange compares with what the switches had before their last changes from this machine.
func (s *settingsCommand) sinceChange(f *fleet, last int, folder string) differ {
	journals := &rollout.Journals{Folder: folder}
	return func(i int, now settings.Config) ([]settings.Edit, error) {
		known, err := &settings.Journal{}, error(nil)
		if folder != "" {
			if known, err = journals.Read(f.Endpoint(i)); err != nil {
				return nil, err
			}
		}
		before, err := known.Before(last)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: only changes with --target from this machine are; give a FILE to compare with", text.Printable(f.Targets()[i].Name), err)
		}
		return append([]settings.Edit{}, settings.Compare(before, now)...), nil
	}
}

// editsOf are the edits of one switch.
type editsOf struct {
	name  string
	edits []settings.Edit
}

// printEditsOf prints the edits of several switches in one table, and those without any with
// what that means.
func printEditsOf(out io.Writer, format output.Format, all []editsOf, none string) error {
	var same []string
	table := output.NewTable(out, format.Style(out), "Switch", "Row", "Field", "Value")
	lines := 0
	for _, s := range all {
		if len(s.edits) == 0 {
			same = append(same, s.name)
		}
		for _, l := range settings.Lines(s.edits) {
			lines++
			table.Row(s.name, l.Sign()+" "+l.Row, l.Field, l.Value)
		}
	}
	if lines > 0 {
		if err := table.End(); err != nil {
			return err
		}
	}
	if same == nil {
		return nil
	}
	_, err := fmt.Fprintf(out, "%s: %s\n", text.Printable(none), text.Printable(strings.Join(same, ", ")))
	return err
}

// printDiffs prints the differences of several switches: a table of all, those without any, and
// those that did not answer.
func printDiffs(cmd *cobra.Command, format output.Format, all []diffOf, named string) error {
	out := cmd.OutOrStdout()
	var values []any
	var compared []editsOf
	var missing []*unanswered
	for _, d := range all {
		if d.err != nil {
			missing = append(missing, &unanswered{d.Target, d.err})
			continue
		}
		values = append(values, diffAnswer{d.Name, d.edits})
		compared = append(compared, editsOf{d.Name, d.edits})
	}
	for _, m := range missing {
		values = append(values, unread{m.Name, m.Address, m.why.Error()})
	}
	if format.Data() {
		if err := format.Write(out, values); err != nil {
			return err
		}
	} else {
		if err := printEditsOf(out, format, compared, "No difference from "+named); err != nil {
			return err
		}
		for _, m := range missing {
			fmt.Fprintln(out, m)
		}
	}
	if missing != nil {
		return kit.Exited{Status: statusUnanswered}
	}
	return nil
}
