// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/doctor"
	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/cli/targets"
	"sluice/orchagent-ext/host/clock"
)

// judgeFleet judges the switches of --target: twice with an interval between, where that is not 0.
func judgeFleet(cmd *cobra.Command, t *targetFlags, interval time.Duration, format output.Format, failOn string) error {
	f, err := t.open(cmd)
	if err != nil {
		return err
	}
	defer f.Close()
	var before []targets.Reading
	if interval > 0 {
		before = f.Read(cmd.Context(), doctor.FabricTables)
		if !clock.Sleep(cmd.Context(), interval) {
			return kit.ErrInterrupted
		}
	}
	all := f.Read(cmd.Context(), doctor.FabricTables)
	if cmd.Context().Err() != nil {
		return kit.ErrInterrupted
	}
	faults := doctor.JudgeFabric(all, before)
	if err := printFaults(cmd, faults, len(all), format); err != nil {
		return err
	}
	var verdicts []doctor.Verdict
	for i := range faults {
		verdicts = append(verdicts, faults[i].Verdict)
	}
	if err := failed(verdicts, failOn); err != nil {
		return err
	}
	for _, r := range all {
		if r.Err != nil {
			return kit.Exited{Status: statusUnanswered}
		}
	}
	return nil
}

// printFaults prints a line for each fault of so many switches, and for people one that sums up.
func printFaults(cmd *cobra.Command, all []doctor.Fault, switches int, format output.Format) error {
	out := cmd.OutOrStdout()
	if format.Data() {
		e := format.Encoder(out)
		for _, f := range all {
			if err := e.Encode(f); err != nil {
				return err
			}
		}
		return nil
	}
	at := map[string]bool{}
	t := output.NewTable(out, output.Style{})
	for i := range all {
		f := &all[i]
		at[f.Switch] = true
		found := f.Found
		if f.Do != "" {
			found += " → " + f.Do
		}
		t.Row(string(f.Level), f.Switch, f.Check, found)
	}
	if err := t.End(); err != nil {
		return err
	}
	of := kit.Plural(switches, "switch")
	if switches != 1 {
		of = strings.TrimSuffix(of, "s") + "es"
	}
	if len(all) == 0 {
		_, err := fmt.Fprintf(out, "no fault on %s\n", of)
		return err
	}
	_, err := fmt.Fprintf(out, "%s on %d of %s\n", kit.Plural(len(all), "fault"), len(at), of)
	return err
}

// checkFleet judges the flags and words of doctor with --target.
func checkFleet(cmd *cobra.Command, t *targetFlags, args []string) error {
	if err := t.check(cmd.Flags(), "dev", "paths", "sampled", "switch"); err != nil {
		return err
	}
	if t.used(cmd.Flags()) && len(args) > 0 {
		return errors.New("either --target or a FILE, not both")
	}
	return nil
}
