// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"sluice/orchagent-ext/cli/kit"

	"github.com/spf13/cobra"
)

// labProgram is the program of the laboratory, and the name of its package.
const labProgram = "sluice-lab"

// newMoved returns a hidden command that sluice-lab has now.
func newMoved(name string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: "A command of " + labProgram, Hidden: true, DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return inLab(cmd, append([]string{name}, args...))
		},
	}
}

// inLab runs a command line of sluice-lab, where that is beside this program.
func inLab(cmd *cobra.Command, args []string) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if program, err = filepath.EvalSymlinks(program); err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	beside := filepath.Join(filepath.Dir(program), labProgram)
	if _, err := os.Stat(beside); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%q is a command of %s, the laboratory, which is not installed beside sluice: install the package %s", args[0], labProgram, labProgram)
	}
	c := exec.CommandContext(cmd.Context(), beside, args...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.Stdin, c.Stdout, c.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	err = c.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return kit.Exited{Status: exit.ExitCode()}
	}
	return err
}

// newCaptureCommand returns `sluice capture`: commands that write captures, or compute labels.
func newCaptureCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "capture", Short: "Compute flow labels; write a capture with other labels, or in IPv6",
		Long: "Compute the flow label of a queue pair, or copy a capture: with the labels that Sluice would\nwrite, or carried over from IPv4 into IPv6.",
		Example: `  sluice capture label --dst-qp 17 --src 2001:db8::1 --dst 2001:db8::2 --algorithm crc32
  sluice capture relabel in.pcap out.pcap`,
		Args: kit.Words, RunE: kit.Help,
	}
	cmd.AddCommand(captureCommands()...)
	return cmd
}

// captureCommands returns the commands of `sluice capture`.
func captureCommands() []*cobra.Command {
	return []*cobra.Command{newLabelCommand(), newRelabelCommand(), newLift6Command()}
}

// hidden returns commands under names that they had before.
func hidden() []*cobra.Command {
	all := slices.Concat(captureCommands(), []*cobra.Command{newMoved("demo"), newMoved("gen"), newMoved("send")})
	for _, c := range all {
		c.Hidden = true
		kit.CompleteFlags(c)
	}
	return all
}
