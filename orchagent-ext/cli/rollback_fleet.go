// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/cli/rollout"
	"sluice/orchagent-ext/cli/settings"
)

// undoTargets takes back the last n changes of each switch of --target, on all or none.
func (s *settingsCommand) undoTargets(cmd *cobra.Command, n int, force bool) error {
	return s.changeTargets(cmd, fleetChange{
		needed: true,
		of: func(_ *rollout.Switch, known *settings.Journal) (settings.Change, error) {
			change, _, err := known.Undo(n, force)
			if err != nil {
				err = fmt.Errorf("%w: only changes with --target from this machine are", err)
			}
			return change, err
		},
		next: func(_ *rollout.Switch, known *settings.Journal) *settings.Journal {
			_, rest, err := known.Undo(n, force)
			if err != nil { // the journal is locked since it was read without one
				return nil
			}
			return rest
		},
	})
}

// changesOf is the JSON of a switch's changes.
type changesOf struct {
	Switch string `json:"switch"`
	// Changes are the newest first.
	Changes []settings.Entry `json:"changes"`
}

// listTargets prints the changes of the switches of --target from this machine, the newest first.
func (s *settingsCommand) listTargets(cmd *cobra.Command) error {
	if s.fleet.journal == "" {
		return errors.New("without a journal no change is known")
	}
	f, err := s.fleet.open(cmd)
	if err != nil {
		return err
	}
	defer f.Close()
	journals := &rollout.Journals{Folder: s.fleet.journal}
	var all []changesOf
	for i, t := range f.Targets() {
		known, err := journals.Read(f.Endpoint(i))
		if err != nil {
			return err
		}
		slices.Reverse(known.Entries)
		all = append(all, changesOf{t.Name, append([]settings.Entry{}, known.Entries...)})
	}
	out := cmd.OutOrStdout()
	if s.fleet.format.Data() {
		return s.fleet.format.Write(out, all)
	}
	t := output.NewTable(out, s.fleet.format.Style(out), "Switch", "Last", "Time", "By", "Rows", "Change")
	for _, c := range all {
		for i, e := range c.Changes {
			t.Row(c.Switch, fmt.Sprint(i+1), e.Time.Format(time.RFC3339), e.By, fmt.Sprint(len(e.Edits)), e.Command)
		}
	}
	return t.End()
}
