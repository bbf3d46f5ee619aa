// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/show"
)

// version is that of the program: [Run] sets it, before any command is made.
var version = "dev"

// summed reports whether the summary of a pass over a capture is shown: also after an
// interrupt, and where the file is cut off, or a part of it was left out.
func summed(err error) bool {
	return err == nil || errors.Is(err, kit.ErrInterrupted) || damaged(err)
}

// damaged reports whether err is about a part of a capture that could not be read, beside
// which all was.
func damaged(err error) bool {
	var left *capture.LeftError
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &left)
}

// statusStale is the exit status where sluiced does not run, or is silent.
const statusStale = 3

// Run executes one command line of the program of that version and returns the exit
// status: 1, and one line on stderr, for every error; 2 where sai-check found no method; 3
// where sluiced does not run, or is silent, and what is shown is stale; 5 where a switch of
// --target did not answer, 6 where some were left changed; 130, as of shells, where the user interrupted a command that ended well.
func Run(ctx context.Context, programVersion string, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	version = programVersion
	return run(ctx, args, stdin, stdout, stderr)
}

// run executes the arguments on a new tree of commands and returns the exit status.
// Called under a name of SONiC's own tools (asSONiC) it takes the abbreviations and the
// prefix of errors that these have.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	kit.Completing(args)
	cmd, prefix := NewRootCommand(configures(args)), "sluice"
	cobra.EnablePrefixMatching = false
	if sonic := asSONiC(cmd); sonic != nil {
		cmd, prefix = sonic, "Error"
		cobra.EnablePrefixMatching = true // as SONiC's own commands
	}
	return kit.Execute(ctx, cmd, prefix, args, stdin, stdout, stderr, func(err error) int {
		stale, silent := (*show.StaleError)(nil), (*unanswered)(nil)
		switch {
		case errors.Is(err, errNoMethod):
			return 2
		case errors.As(err, &stale):
			return statusStale
		case errors.As(err, &silent):
			return statusUnanswered
		}
		return 1
	})
}

// configures reports whether a command line may be one of config. Its commands
// are made from the model, which takes half of the time of a start.
func configures(args []string) bool {
	return os.Getenv(sonicVerb) == "config" || slices.Contains(args, "config")
}

// NewRootCommand makes all commands; with tables, config has the commands of its
// tables.
func NewRootCommand(tables bool) *cobra.Command {
	cmd := kit.Root(&cobra.Command{
		Use:     "sluice",
		Short:   "Look at RoCEv2 flows: decode, observe, balance; judge a fabric; watch and configure a switch",
		Long:    "sluice looks at RoCEv2 traffic in capture files and on devices: which RDMA session a packet\nis of, how healthy it is, and how ECMP spreads it. It shows the notifications about\ncongestion that arrive. Where sluiced runs it shows what that does (show, top), changes it\n(config, diff, rollback), and gathers it (techsupport).",
		Version: version,
	}, groups(tables))
	cmd.AddCommand(hidden()...)
	restrict(cmd, runtime.GOOS)
	return cmd
}

// groups returns all commands in the order of the help; with tables, config has the
// commands of its tables.
func groups(tables bool) []kit.Group {
	return []kit.Group{
		{Title: "Use it", Commands: []*cobra.Command{newDoctorCommand(), newShowCommand(), newTopCommand(), newViewCommand(), newBalanceCommand(), newConfigCommand(tables), newDiffCommand(), newRollbackCommand(), newClearCommand(), newRecordCommand()}},
		{Title: "Look", Commands: []*cobra.Command{newObserveCommand(), newPathCommand(), newListenCommand(), newAdviceCommand()}},
		{Title: "Captures", Commands: []*cobra.Command{newDecodeCommand(), newExportCommand(), newCaptureCommand()}},
		{Title: "Plan", Commands: []*cobra.Command{newSimCommand()}},
		{Title: "For experts", Commands: []*cobra.Command{newSAICheckCommand(), newTechsupportCommand(), newVersionCommand()}},
	}
}
