// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/testbed/demo"
)

// newDemoCommand returns `sluice-lab demo`, which needs root for namespaces and devices.
func newDemoCommand() *cobra.Command {
	var c demo.Config
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show on this machine what flow labels do to a fabric's uplinks (root)",
		Long: `Show what flow labels do to the load of a fabric's uplinks, with no switch at hand.

It builds host A - leaf == 4 uplinks == spine - host B of network namespaces, with sluiced and
a private Redis in the leaf, sends the real captures (carried over into IPv6) and the traffic of
64 queue pairs, writes the row SLUICE_FLOW_LABEL|global, and sends the same again. The bars are
what the uplinks' own counters say. Each packet that arrives is compared with what was sent, and
its label with the one that the draft's algorithm gives.

It exits with 1 when the load, a label, an ICRC or the number of packets is not as it must be.
Nothing leaves the namespaces, and nothing of it remains but the report.`,
		Example: `  sudo bin/sluice-lab demo
  sudo bin/sluice-lab demo --scenario hold
  sudo bin/sluice-lab demo --sai-profile SLUICE_HIDE=compute,rewrite`,
		Args: kit.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.Stdout, c.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			return demo.Run(cmd.Context(), c)
		},
	}
	beside := ""
	if program, err := os.Executable(); err == nil {
		beside = filepath.Dir(program)
	}
	flags := cmd.Flags()
	flags.StringVar(&c.Sluiced, "sluiced", filepath.Join(beside, "sluiced"), "program sluiced")
	flags.StringVar(&c.Library, "sai-library", filepath.Join(beside, "libsoftsai.so"), "SAI library that sluiced loads")
	flags.StringArrayVar(&c.Profile, "sai-profile", nil, "KEY=VALUE for that library's profile; may be given again")
	flags.StringSliceVar(&c.Scenarios, "scenario", []string{"spread"}, "what to show: "+strings.Join(demo.Scenarios(), ", "))
	flags.BoolVar(&c.CheckOnly, "check", false, "only check that the kernel is late enough")
	flags.BoolVar(&c.Full, "full", false, "medians of 3 runs and 1000 events, in place of one run of each")
	flags.StringVar(&c.Captures, "captures", "tests/captures", "folder of whole packets over IPv4 (*-ipv4.pcap)")
	flags.StringVar(&c.Out, "out", "build/demo", "folder for report.json, balance.svg and the log of sluiced")
	return cmd
}
