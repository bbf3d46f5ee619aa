// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"strings"

	"sluice/orchagent-ext/cli/kit"

	"github.com/spf13/cobra"
)

// sonicVerb is set by the plugins of SONiC's show, config and sonic-clear: the command of
// this program that they are the face of, and then it presents itself as theirs.
const sonicVerb = "SLUICE_SONIC_VERB"

// sonicNames are the names of the commands there.
var sonicNames = map[string]string{"show": "show sluice", "config": "config sluice", "clear": "sonic-clear sluice"}

// asSONiC returns the command of a root that this program is called for as one of SONiC's;
// nil: it is called as itself.
func asSONiC(root *cobra.Command) *cobra.Command {
	name, is := sonicNames[os.Getenv(sonicVerb)]
	if !is {
		return nil
	}
	commands := make(map[string]*cobra.Command)
	for _, c := range root.Commands() {
		c.GroupID = "" // groups are those of the root
		commands[c.Name()] = c
	}
	cmd := commands[os.Getenv(sonicVerb)]
	root.RemoveCommand(cmd)
	if cmd.Name() == "config" {
		cmd.AddCommand(commands["diff"], commands["rollback"])
	}
	cmd.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetFlagErrorFunc(kit.FlagError)
	cmd.CompletionOptions.DisableDefaultCmd = true
	presentAs(cmd)
	return cmd
}

// presentAs lets texts name the commands as they are called on SONiC.
func presentAs(cmd *cobra.Command) {
	sonic := strings.NewReplacer("sluice show ", "show sluice ", "sluice config ", "config sluice ", "sluice clear ", "sonic-clear sluice ",
		"sluice config\"", "config sluice\"", "sluice diff", "config sluice diff", "sluice rollback", "config sluice rollback")
	cmd.Long, cmd.Example, cmd.Short = sonic.Replace(cmd.Long), sonic.Replace(cmd.Example), sonic.Replace(cmd.Short)
	for _, c := range cmd.Commands() {
		presentAs(c)
	}
}
