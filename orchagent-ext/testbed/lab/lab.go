// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/kit"
)

// Run executes one command line of the program of that version and returns the exit status: 1,
// and one line on stderr, for every error; 130, as of shells, where the user interrupted a
// command that ended well.
func Run(ctx context.Context, version string, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	cobra.EnablePrefixMatching = false
	kit.Completing(args)
	return kit.Execute(ctx, NewRootCommand(version), "sluice-lab", args, stdin, stdout, stderr, func(error) int { return 1 })
}

// NewRootCommand makes all commands.
func NewRootCommand(version string) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "sluice-lab",
		Short:   "A laboratory for Sluice: run the demo, generate traffic, verify arrivals, send notifications",
		Long:    "sluice-lab shows what Sluice does on a machine of your own: a fabric of network namespaces,\ngenerated RDMA traffic, adapters that obey, and notifications of any content. It belongs on test\nmachines. The operator's tool is sluice.",
		Version: version,
	}
	return kit.Root(cmd, []kit.Group{
		{Title: "Show it", Commands: []*cobra.Command{newDemoCommand()}},
		{Title: "Traffic", Commands: []*cobra.Command{newGenCommand(), newVerifyCommand()}},
		{Title: "Notifications", Commands: []*cobra.Command{newSendCommand()}},
	})
}
