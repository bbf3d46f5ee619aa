// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/kit"
)

// linuxOnly are the commands that ask the kernel of Linux, less the name of the program. With
// a flag only the command line that has it does.
var linuxOnly = []struct{ command, flag string }{
	{"observe", "dev"},
	{"export", "dev"},
	{"doctor", "dev"},
	{"listen", ""},
	{"advise listen", ""},
	{"path", ""},
	{"sai-check", ""},
}

// restrict makes the commands that need Linux say so in one line where the program runs on another
// system, by Go's name of it. Commands on captures, and those on a database, work on each.
func restrict(root *cobra.Command, system string) {
	if system == "linux" {
		return
	}
	for _, c := range linuxOnly {
		cmd, _, err := root.Find(strings.Fields(c.command))
		must(err)
		name := c.command
		if c.flag != "" {
			name += " --" + c.flag
		}
		before(cmd, func([]string) error {
			if c.flag == "" || cmd.Flags().Changed(c.flag) {
				return kit.Usage(cmd, fmt.Errorf("%s needs Linux", name))
			}
			return nil
		})
	}
	doctor, _, err := root.Find([]string{"doctor"})
	must(err)
	before(doctor, func(args []string) error {
		if len(args) == 0 && !flagIn(doctor.Flags(), "target") {
			return kit.Usage(doctor, fmt.Errorf("doctor without a FILE or --target judges this machine, and needs Linux"))
		}
		return nil
	})
}

// before adds a check that comes before what a command does, after those that it has.
func before(cmd *cobra.Command, check func(args []string) error) {
	first := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if first != nil {
			if err := first(cmd, args); err != nil {
				return err
			}
		}
		return check(args)
	}
}
