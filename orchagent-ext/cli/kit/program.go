// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/spf13/cobra"

	"sluice/yang/text"
)

// ErrInterrupted is the error of a command that the user ended, after its summary.
var ErrInterrupted = errors.New("interrupted")

// Interrupted returns [ErrInterrupted] where the user's Ctrl-C caused err, else err.
func Interrupted(cmd *cobra.Command, err error) error {
	if err != nil && cmd.Context().Err() != nil {
		return ErrInterrupted
	}
	return err
}

// Exited is the error of a command that printed its errors itself.
type Exited struct{ Status int }

// Error implements error.
func (e Exited) Error() string { return fmt.Sprintf("exit status %d", e.Status) }

// Group is commands that the help lists together.
type Group struct {
	Title    string
	Commands []*cobra.Command
}

// Root returns the command of a program, with its groups of commands.
func Root(cmd *cobra.Command, groups []Group) *cobra.Command {
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.Args, cmd.RunE = Words, Help
	for _, g := range groups {
		cmd.AddGroup(&cobra.Group{ID: g.Title, Title: g.Title + ":"})
		for _, c := range g.Commands {
			c.GroupID = g.Title
			cmd.AddCommand(c)
		}
	}
	cmd.SetFlagErrorFunc(FlagError)
	cmd.SetUsageFunc(printUsage)
	CompleteFlags(cmd)
	return cmd
}

// Execute runs a command line of a program and returns its exit status: 130, as of shells,
// where the user interrupted a command that ended well; else status(err), and one line on
// stderr, which begins with prefix.
func Execute(ctx context.Context, cmd *cobra.Command, prefix string, args []string, stdin io.Reader, stdout, stderr io.Writer, status func(error) int) int {
	cmd.SetArgs(args)
	cmd.SetIn(stdin)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrInterrupted):
		return 128 + int(syscall.SIGINT)
	}
	if exited := (Exited{}); errors.As(err, &exited) {
		return exited.Status
	}
	fmt.Fprintf(stderr, "%s: %s\n", prefix, text.Lines(err.Error()))
	return status(err)
}
