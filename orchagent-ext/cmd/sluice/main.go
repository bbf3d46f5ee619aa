// SPDX-License-Identifier: Apache-2.0

// Command sluice looks at RoCEv2 traffic in capture files: which RDMA session
// a packet is of, which flow label it would get, and how ECMP would spread it.
// That takes no rights, no switch and no SONiC. It also sends the notifications
// about congestion, and listens for them, which takes CAP_NET_RAW. Its demo runs
// the daemon in a network of namespaces, which takes root. Beside a daemon it
// changes and shows what that does, and gathers it for an engineer far away.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"sluice/yang/text"
)

// version is set at build time.
var version = "dev"

// errInterrupted says that the user ended a command, which has said what it did.
var errInterrupted = errors.New("interrupted")

// interrupted is errInterrupted where err is what the user's Ctrl-C caused, else err.
func interrupted(cmd *cobra.Command, err error) error {
	if err != nil && cmd.Context().Err() != nil {
		return errInterrupted
	}
	return err
}

// run executes one command line and returns the exit code: 1, and one line on
// stderr, for anything that went wrong; 2 where sai-check found no method; 130, as of shells, where a command ended well
// before its input did since the user interrupted it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	cmd, prefix := newRootCommand(configures(args)), "sluice"
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
		fmt.Fprintf(stderr, "%s: %s\n", prefix, text.Lines(err.Error()))
		if errors.Is(err, errNoMethod) {
			return 2
		}
		return 1
	}
	return 0
}

// configures says whether a command line may be one of config. Its commands are made of the
// model, which takes half of the time of a start.
func configures(args []string) bool {
	return os.Getenv(sonicVerb) == "config" || slices.Contains(args, "config")
}

// newRootCommand makes all commands; tables says whether config has those of its tables.
func newRootCommand(tables bool) *cobra.Command {
	cmd := &cobra.Command{
		Use:           "sluice",
		Short:         "Look at RoCEv2 flows: decode, observe, label, balance; send and hear notifications; watch a switch",
		Long:          "sluice looks at RoCEv2 traffic in capture files: which RDMA session a packet is of,\nwhich IPv6 flow label it would get, and how ECMP would spread it. It makes, sends and\nreads the notifications about congestion: PFCM, PPFC, Rate Advice, CNP and PFC.\nWhere sluiced runs it shows what that does (show, top), changes it (config, diff, rollback), and\ngathers it (techsupport).",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          words,
		RunE:          help,
	}
	cmd.AddCommand(
		newLabelCommand(),
		newDecodeCommand(),
		newRelabelCommand(),
		newLift6Command(),
		newBalanceCommand(),
		newGenCommand(),
		newSendCommand(),
		newListenCommand(),
		newAdviceCommand(),
		newDemoCommand(),
		newExportCommand(),
		newShowCommand(),
		newConfigCommand(tables),
		newDiffCommand(),
		newRollbackCommand(),
		newClearCommand(),
		newTopCommand(),
		newObserveCommand(),
		newPathCommand(),
		newTechsupportCommand(),
		newVersionCommand(),
		newSAICheckCommand(),
	)
	cmd.SetFlagErrorFunc(flagError)
	completeChoices(cmd)
	return cmd
}
