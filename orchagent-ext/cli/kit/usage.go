// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice/yang/text"
)

// Help prints the help of a command that is a group of others.
func Help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// Words rejects an unknown command of a group, and lists those that exist.
func Words(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if near := text.Nearest(args[0], names); near != "" {
		return Usage(cmd, fmt.Errorf("unknown command %q for %q: did you mean %s?", args[0], cmd.CommandPath(), near))
	}
	return Usage(cmd, fmt.Errorf("unknown command %q for %q; there are: %s", args[0], cmd.CommandPath(), strings.Join(names, ", ")))
}

// Exactly wants the words of these names.
func Exactly(names ...string) cobra.PositionalArgs { return Between(len(names), names...) }

// Between wants at least so many words of these names.
func Between(least int, names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least {
			return Usage(cmd, fmt.Errorf("%s: %s is missing", cmd.CommandPath(), strings.Join(names[len(args):least], " ")))
		}
		if len(args) > len(names) {
			return Usage(cmd, fmt.Errorf("%s: %q is one word too many", cmd.CommandPath(), args[len(names)]))
		}
		return nil
	}
}

// kinds are the names of values of the library's own types of flags.
var kinds = map[string]string{
	"duration": "a time, such as 500ms, 10s or 2h", "bool": "true or false", "int": "a whole number", "int64": "a whole number",
	"uint": "a whole number, 0 or more", "uint16": "a whole number, 0 to 65535", "uint32": "a whole number, 0 to 4294967295",
	"uint64": "a whole number, 0 or more", "uint8": "a whole number, 0 to 255", "float64": "a number",
	"intSlice": "whole numbers with commas between", "uintSlice": "whole numbers, 0 or more, with commas between",
}

// Usage adds to an error of usage the command whose help has the rest.
func Usage(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%w (%s --help)", err, cmd.CommandPath())
}

// FlagError returns the flag that is wrong, the values that it takes, and the command's
// help.
func FlagError(cmd *cobra.Command, err error) error { return Usage(cmd, wrongFlag(cmd, err)) }

// wrongFlag is flagError, except for the help.
func wrongFlag(cmd *cobra.Command, err error) error {
	var wrong *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	var bare *pflag.ValueRequiredError
	switch {
	case errors.As(err, &wrong):
		kind, ours := kinds[wrong.GetFlag().Value.Type()]
		if !ours {
			kind = wrong.Unwrap().Error()
			return fmt.Errorf("--%s: %s", wrong.GetFlag().Name, kind)
		}
		return fmt.Errorf("--%s %q: must be %s", wrong.GetFlag().Name, wrong.GetValue(), kind)
	case errors.As(err, &bare):
		return fmt.Errorf("--%s needs a value: %s", bare.GetFlag().Name, bare.GetFlag().Usage)
	case errors.As(err, &unknown):
		names := flagNames(cmd)
		name := unknown.GetSpecifiedName()
		if near := text.Nearest(name, names); near != "" {
			return fmt.Errorf("unknown flag: --%s: did you mean --%s?", name, near)
		}
		return fmt.Errorf("unknown flag: --%s; %s has --%s", name, cmd.CommandPath(), strings.Join(names, ", --"))
	}
	return err
}

// flagNames returns the names of a command's visible flags, sorted.
func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	slices.Sort(names)
	return names
}

// completing is whether the line that runs completes words for a shell. cobra keeps each completion,
// and by it the flag and what it sets, until the process ends: other lines register none.
var completing bool

// Completing notes, before the commands of a line are made, whether it completes words for a shell.
func Completing(args []string) {
	completing = len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// Register adds the completion of a flag that is there, where the line completes words.
func Register(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if !completing {
		return
	}
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(fmt.Sprintf("%s --%s: %v", cmd.CommandPath(), flag, err))
	}
}

// AnyDevice is the name for all devices, where several may be given.
const AnyDevice = "any"

// Devices returns the network devices of this machine, but loopback.
func Devices() []string {
	all, _ := net.Interfaces() // none: rows of PORT decide
	var names []string
	for _, d := range all {
		if d.Flags&net.FlagLoopback == 0 {
			names = append(names, d.Name)
		}
	}
	return names
}

// completeDevices are the network devices of this machine; "any" means all of them where
// several may be given.
func completeDevices(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	all := Devices()
	if f := cmd.Flags().Lookup("dev"); f != nil && f.Value.Type() == "stringSlice" {
		all = append(all, AnyDevice)
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

// OnFirst completes the first word only.
func OnFirst(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, begun)
	}
}

// CompleteFlags adds the completion of every flag that takes one of a few words, or a
// network device, where the line completes words: it would take other lines as long as all
// else that makes their commands.
func CompleteFlags(cmd *cobra.Command) {
	if !completing {
		return
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "dev" {
			Register(cmd, f.Name, completeDevices)
			return
		}
		choices := strings.Split(f.Value.Type(), "|")
		if _, known := cmd.GetFlagCompletionFunc(f.Name); !known && len(choices) > 1 {
			Register(cmd, f.Name, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp))
		}
	})
	for _, c := range cmd.Commands() {
		CompleteFlags(c)
	}
}

// Plural returns a count with its noun.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Hide takes a flag out of the help.
func Hide(flags *pflag.FlagSet, name string) {
	if err := flags.MarkHidden(name); err != nil {
		panic(err)
	}
}

// experts marks a flag that the help lists in a group of its own.
const experts = "experts"

// ForExperts puts flags into the group that the help has for experts.
func ForExperts(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := flags.SetAnnotation(name, experts, []string{}); err != nil {
			panic(err)
		}
	}
}

// printUsage prints the usage of a command, with the flags for experts at the end.
func printUsage(cmd *cobra.Command) error {
	special := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if _, is := f.Annotations[experts]; is && !f.Hidden {
			f.Hidden = true
			special.AddFlag(f)
		}
	})
	err := new(cobra.Command).UsageFunc()(cmd)
	special.VisitAll(func(f *pflag.Flag) { f.Hidden = false })
	if special.HasAvailableFlags() {
		cmd.Printf("\nFlags for experts:\n%s", special.FlagUsages())
	}
	return err
}
