// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/show"
	"sluice/yang/text"
)

// version is that of the program: [Run] sets it, before any command is made.
var version = "dev"

// errInterrupted is the error of a command that the user ended, after its
// summary.
var errInterrupted = errors.New("interrupted")

// interrupted returns errInterrupted where the user's Ctrl-C caused err, else
// err.
func interrupted(cmd *cobra.Command, err error) error {
	if err != nil && cmd.Context().Err() != nil {
		return errInterrupted
	}
	return err
}

// summed reports whether the summary of a pass over a capture is shown: also after an
// interrupt, and where the file is cut off.
func summed(err error) bool {
	return err == nil || errors.Is(err, errInterrupted) || errors.Is(err, io.ErrUnexpectedEOF)
}

// Run executes one command line of the program of that version and returns the exit
// status: 1, and one line on stderr, for every error; 2 where sai-check found no method; 3
// where sluiced does not run, or is silent, and what is shown is stale; 130, as of shells, where the user interrupted a command that ended well.
func Run(ctx context.Context, programVersion string, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	version = programVersion
	return run(ctx, args, stdin, stdout, stderr)
}

// run executes the arguments on a new tree of commands and returns the exit status.
// Called under a name of SONiC's own tools (asSONiC) it takes the abbreviations and the
// prefix of errors that these have.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	cmd, prefix := NewRootCommand(configures(args)), "sluice"
	cobra.EnablePrefixMatching = false
	if sonic := asSONiC(cmd); sonic != nil {
		cmd, prefix = sonic, "Error"
		cobra.EnablePrefixMatching = true // as SONiC's own commands
	}
	cmd.SetArgs(args)
	cmd.SetIn(stdin)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(ctx)
	if errors.Is(err, errInterrupted) {
		return 128 + int(syscall.SIGINT)
	}
	if err != nil {
		if !errors.As(err, new(shownError)) {
			fmt.Fprintf(stderr, "%s: %s\n", prefix, text.Lines(err.Error()))
		}
		if errors.Is(err, errNoMethod) {
			return 2
		}
		if stale := (*show.StaleError)(nil); errors.As(err, &stale) {
			return 3
		}
		return 1
	}
	return 0
}

// configures reports whether a command line may be one of config. Its commands
// are made from the model, which takes half of the time of a start.
func configures(args []string) bool {
	return os.Getenv(sonicVerb) == "config" || slices.Contains(args, "config")
}

// NewRootCommand makes all commands; with tables, config has the commands of its
// tables.
func NewRootCommand(tables bool) *cobra.Command {
	cmd := &cobra.Command{
		Use:           "sluice",
		Short:         "Look at RoCEv2 flows: decode, observe, label, balance; send and receive notifications; watch a switch",
		Long:          "sluice looks at RoCEv2 traffic in capture files: which RDMA session a packet is of,\nwhich IPv6 flow label it would get, and how ECMP would spread it. It makes, sends and\nreads the notifications about congestion: PFCM, PPFC, Rate Advice, CNP and PFC.\nWhere sluiced runs it shows what that does (show, top), changes it (config, diff, rollback), and\ngathers it (techsupport).",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          words,
		RunE:          help,
	}
	for _, g := range groups(tables) {
		cmd.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, c := range g.commands {
			c.GroupID = g.title
			cmd.AddCommand(c)
		}
	}
	cmd.SetFlagErrorFunc(flagError)
	completeFlags(cmd)
	return cmd
}

// group is commands that the help lists together.
type group struct {
	title    string
	commands []*cobra.Command
}

// groups returns all commands in the order of the help; with tables, config has the
// commands of its tables.
func groups(tables bool) []group {
	return []group{
		{"Use it", []*cobra.Command{newDoctorCommand(), newShowCommand(), newConfigCommand(tables), newDiffCommand(), newRollbackCommand(), newClearCommand()}},
		{"Look", []*cobra.Command{newTopCommand(), newObserveCommand(), newPathCommand(), newListenCommand(), newAdviceCommand()}},
		{"Captures", []*cobra.Command{newDecodeCommand(), newBalanceCommand(), newExportCommand(), newLabelCommand(), newRelabelCommand(), newLift6Command(), newGenCommand()}},
		{"Plan", []*cobra.Command{newSimCommand()}},
		{"For experts", []*cobra.Command{newSendCommand(), newSAICheckCommand(), newTechsupportCommand(), newDemoCommand(), newVersionCommand()}},
	}
}
