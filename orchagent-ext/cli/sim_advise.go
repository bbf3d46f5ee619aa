// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/sim/advise"
)

// newSimAdviseCommand makes `sluice sim advise`.
func newSimAdviseCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "advise FILE",
		Short: "Propose marks, durations, a target and a buffer for a fabric",
		Long: `Propose marks of queues, the duration of holds, the target of advice and a buffer for the fabric of a
file (- is standard input): what each rests on, and its cost where the round trip is four times
as long, or a quarter.`,
		Example: `  sluice sim advise fabric.yaml`,
		Args:    kit.Exactly("FILE"),
	}
	format := kit.AddFormat(cmd.Flags(), "one list")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := readScenario(cmd, args)
		if err != nil {
			return err
		}
		all, w := advise.Propose(s), cmd.OutOrStdout()
		if format.Data() {
			return format.Write(w, all)
		}
		for _, p := range all {
			if _, err := fmt.Fprintf(w, "%-16s %s\n  rests on:   %s\n  4 × longer: %s\n  4 × shorter: %s\n", p.Setting, p.Value, p.Why, p.Longer, p.Shorter); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}
