// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"regexp"
	"strings"
	"testing"

	"sluice/orchagent-ext/testbed/lab"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// each calls f with a command and all below it.
func each(cmd *cobra.Command, f func(*cobra.Command)) {
	cmd.InheritedFlags() // from here on Flags has them, as when it runs
	f(cmd)
	for _, c := range cmd.Commands() {
		each(c, f)
	}
}

// eachCommand calls f with each command of sluice and of sluice-lab.
func eachCommand(f func(*cobra.Command)) {
	each(NewRootCommand(true), f)
	each(lab.NewRootCommand(version), f)
}

// ofALibrary are words of errors that are for programmers.
var ofALibrary = regexp.MustCompile(`strconv|parsing|invalid argument|time: (invalid|missing|unknown)|accepts `)

func TestFlagsSayWhatTheyTake(t *testing.T) {
	tried := 0
	eachCommand(func(cmd *cobra.Command) {
		path := strings.Fields(cmd.CommandPath())[1:]
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Set("nonsense,") == nil {
				return // it takes any text, which is judged later
			}
			tried++
			out, errs, code := sluice(nil, append(path, "--"+f.Name+"=nonsense,")...)
			if code != 1 || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "--"+f.Name) || ofALibrary.MatchString(errs) {
				t.Errorf("%s --%s: exit code %d, %q, %q", cmd.CommandPath(), f.Name, code, out, errs)
			}
		})
	})
	if tried < 50 {
		t.Errorf("only %d flags reject nonsense", tried)
	}
}

func TestWordsThatDoNotExistAreAnsweredWithThoseThatDo(t *testing.T) {
	for line, want := range map[string]string{
		"explode":                          `unknown command "explode" for "sluice"; there are: advise, balance, `,
		"dcode":                            `unknown command "dcode" for "sluice": did you mean decode?`,
		"config prot set":                  `unknown command "prot" for "sluice config": did you mean port?`,
		"config port explode":              `unknown command "explode" for "sluice config port"; there are: del, set`,
		"config port set Ethernet0 --rol":  "unknown flag: --rol: did you mean --role?",
		"diff --nonsense":                  "unknown flag: --nonsense; sluice diff has --db-config, ",
		"config port set Ethernet0 --role": "--role needs a value: What the port faces: one of edge, fabric, border; default fabric",
		"config port set":                  "sluice config port set: NAME is missing",
		"config port del a b c":            `sluice config port del: "c" is one word too many`,
		"diff a b":                         `sluice diff: "b" is one word too many`,
		"top --interval 5":                 `--interval "5": must be a time, such as 500ms, 10s or 2h`,
	} {
		out, errs, code := sluice(nil, strings.Fields(line)...)
		if code != 1 || out != "" || strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, "sluice: "+want) {
			t.Errorf("%s: exit code %d, %q, %q", line, code, out, errs)
		}
	}
}

func TestCompletionKnowsTheValuesOfEveryChoice(t *testing.T) {
	tried := 0
	eachCommand(func(cmd *cobra.Command) {
		path := strings.Fields(cmd.CommandPath())[1:]
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			values := strings.Split(f.Value.Type(), "|")
			if len(values) < 2 {
				return
			}
			tried++
			out, _, code := sluice(nil, append(append([]string{cobra.ShellCompNoDescRequestCmd}, path...), "--"+f.Name, "")...)
			if want := strings.Join(values, "\n") + "\n:"; code != 0 || !strings.HasPrefix(out, want) {
				t.Errorf("%s --%s: %d, %q, want %q", cmd.CommandPath(), f.Name, code, out, want)
			}
		})
	})
	if tried < 30 {
		t.Errorf("only %d flags have choices", tried)
	}
}
