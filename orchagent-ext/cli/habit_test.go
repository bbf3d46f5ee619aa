// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"sluice/orchagent-ext/cli/kit"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// onTerminal runs a command line on a terminal of a width, and returns its output.
func onTerminal(t *testing.T, width uint16, args ...string) string {
	t.Helper()
	p := newPTY(t, width, 24)
	var errs bytes.Buffer
	if code := run(context.Background(), args, nil, p.slave, &errs); code != 0 {
		t.Fatalf("%v: exit code %d: %s", args, code, &errs)
	}
	if _, err := p.slave.WriteString("the end"); err != nil {
		t.Fatal(err)
	}
	p.has(t, "the end")
	return strings.TrimSuffix(strings.ReplaceAll(p.all(), "\r\n", "\n"), "the end")
}

// TestFirstHourEveryTableHasItsOutputFlag: whatever prints JSON has -o with all its forms.
func TestFirstHourEveryTableHasItsOutputFlag(t *testing.T) {
	count := 0
	each(NewRootCommand(true), func(cmd *cobra.Command) {
		if cmd.Flags().Lookup("json") == nil {
			return
		}
		count++
		f := cmd.Flags().ShorthandLookup("o")
		if f == nil || f.Value.Type() != "table|wide|json|yaml" {
			t.Errorf("%s has no -o", cmd.CommandPath())
		}
	})
	if count < 25 {
		t.Errorf("only %d commands print JSON", count)
	}
}

// TestFirstHourYAMLMeansTheSameAsJSON: -o json is --json, and YAML has the same values.
func TestFirstHourYAMLMeansTheSameAsJSON(t *testing.T) {
	file := captures + "cnp-uc-icrc-vectors-ipv4.pcap"
	for _, args := range [][]string{{"decode", file}, {"decode", file, "--flows"}, {"decode", file, "--flows", "--health"}, {"balance", file}, {"doctor", file}} {
		flagged, _ := good(t, append(args, "--json")...)
		lines, _ := good(t, append(args, "-o", "json")...)
		if flagged != lines {
			t.Errorf("%v: --json and -o json differ", args)
		}
		documents, _ := good(t, append(args, "-o", "yaml")...)
		fromJSON, fromYAML := json.NewDecoder(strings.NewReader(lines)), yaml.NewDecoder(strings.NewReader(documents))
		count := 0
		for {
			var a, b any
			if err := fromJSON.Decode(&a); err != nil {
				break
			}
			count++
			if err := fromYAML.Decode(&b); err != nil {
				t.Fatalf("%v: %v\n%s", args, err, documents)
			}
			again, err := json.Marshal(b)
			if err == nil {
				err = json.Unmarshal(again, &b)
			}
			if diff := cmp.Diff(a, b); diff != "" || err != nil {
				t.Errorf("%v: %v, JSON to YAML %s", args, err, diff)
			}
		}
		if count == 0 || strings.ContainsAny(documents, "{}") && !strings.Contains(documents, "{}") {
			t.Errorf("%v: %d values\n%s", args, count, documents)
		}
	}
}

// TestFirstHourTablesFitTheTerminal: columns are left out where there is no room, and
// only there.
func TestFirstHourTablesFitTheTerminal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "v6.pcap")
	good(t, "gen", file, "--qps", "4", "--packets", "40")
	for _, args := range [][]string{{"decode", file}, {"decode", file, "--flows"}, {"decode", file, "--flows", "--health"}, {"balance", file}} {
		widest := func(out string) (most int) {
			for line := range strings.Lines(out) {
				most = max(most, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")))
			}
			return most
		}
		t.Setenv("NO_COLOR", "1")
		piped, _ := good(t, args...)
		table := piped
		if i := strings.Index(piped, "\n\n"); args[0] == "balance" && i > 0 { // sentences below it may be longer
			table = piped[:strings.LastIndex(piped, "\n\n")]
		}
		for _, width := range []uint16{100, 120} {
			narrow := onTerminal(t, width, args...)
			if args[0] == "balance" {
				narrow = narrow[:strings.LastIndex(narrow, "\n\n")]
			}
			if got := widest(narrow); got > int(width) || widest(table) > int(width) && !strings.Contains(narrow, "DST") && args[0] != "balance" {
				t.Errorf("%v: %d wide on %d\n%s", args, got, width, narrow)
			}
		}
		if wide := onTerminal(t, 100, append(args, "-o", "wide")...); args[0] != "balance" && wide != piped {
			t.Errorf("%v -o wide is not what a pipe gets:\n%s\n%s", args, wide, piped)
		}
	}
}

// TestFirstHourColorIsForTerminals: marks of congestion are colored on a terminal, unless
// the user wants none.
func TestFirstHourColorIsForTerminals(t *testing.T) {
	args := []string{"decode", captures + "cnp-uc-icrc-vectors-ipv4.pcap", "-o", "wide"}
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	if out := onTerminal(t, 200, args...); !strings.Contains(out, "\x1b[33mCNP\x1b[0m") {
		t.Errorf("no color:\n%q", out)
	}
	piped, _ := good(t, args...)
	t.Setenv("NO_COLOR", "1")
	none := onTerminal(t, 200, args...)
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "dumb")
	if dumb := onTerminal(t, 200, args...); strings.Contains(piped+none+dumb, "\x1b") || none != piped {
		t.Errorf("color where there is to be none:\n%q\n%q\n%q", piped, none, dumb)
	}
}

// TestFirstHourDevicesAreCompleted: a Tab after --dev lists the network devices.
func TestFirstHourDevicesAreCompleted(t *testing.T) {
	for command, any := range map[string]bool{"observe": true, "doctor": true, "listen": false, "gen": false, "send pfc": false} {
		out, _ := good(t, append(append([]string{"__complete"}, strings.Fields(command)...), "--dev", "")...)
		words := strings.Split(out, "\n")
		for _, name := range kit.Devices() {
			if !slices.Contains(words, name) {
				t.Errorf("%s: %s is missing in %q", command, name, out)
			}
		}
		if slices.Contains(words, "any") != any {
			t.Errorf("%s: %q", command, out)
		}
	}
}

// TestFirstHourTopWantsAFlowAtLeast: 0 flows are no request.
func TestFirstHourTopWantsAFlowAtLeast(t *testing.T) {
	for _, command := range []string{"top", "show flows"} {
		if _, errs, code := sluice(nil, append(strings.Fields(command), "--top", "0")...); code != 1 || !strings.Contains(errs, "--top 0: must be 1 or more") {
			t.Errorf("%s: exit code %d, %q", command, code, errs)
		}
	}
}

// TestFirstHourExpertsHaveTheirOwnFlags: the help of a command lists code points apart, and
// completion knows them.
func TestFirstHourExpertsHaveTheirOwnFlags(t *testing.T) {
	for _, command := range []string{"decode", "observe", "listen", "advise listen"} {
		help, _ := good(t, append(strings.Fields(command), "--help")...)
		own, special, found := strings.Cut(help, "\nFlags for experts:\n")
		if !found || strings.Contains(own, "code point") || !strings.Contains(own, "  -h, --help ") {
			t.Errorf("%s:\n%s", command, help)
		}
		for _, flag := range []string{"--pfcm-type", "--pfcm-option", "--ppfc-port", "--ppfc-code-v6", "--rate-advice-opcode"} {
			if strings.Contains(own, flag+" ") || strings.Count(special, flag+" ") != 1 {
				t.Errorf("%s: %s is not apart", command, flag)
			}
		}
		words, _ := good(t, append(append([]string{"__complete"}, strings.Fields(command)...), "--pfcm-t")...)
		if !strings.Contains(words, "--pfcm-type") {
			t.Errorf("%s: %q", command, words)
		}
	}
	if help, _ := good(t, "balance", "--help"); strings.Contains(help, "for experts") {
		t.Error(help)
	}
}

// TestFirstHourHelpBeginsWithWhatIsUsed: the answer, the picture and the screen are in the first group.
func TestFirstHourHelpBeginsWithWhatIsUsed(t *testing.T) {
	help, _ := good(t, "--help")
	_, group, _ := strings.Cut(help, "Use it:\n")
	group, _, _ = strings.Cut(group, "\n\n")
	for _, name := range []string{"balance", "config", "doctor", "show", "top"} {
		if !strings.Contains(group, "  "+name+" ") {
			t.Errorf("%s is missing in\n%s", name, group)
		}
	}
}

// TestOnlyLinesThatCompleteWordsKeepCompletions: cobra keeps completions until the process ends, and a
// process may run many lines.
func TestOnlyLinesThatCompleteWordsKeepCompletions(t *testing.T) {
	for _, c := range []struct {
		line string
		keep bool
	}{{"__complete show --json", true}, {"version", false}, {"__completeNoDesc gen --pcap", true}, {"gen --help", false}} {
		good(t, strings.Fields(c.line)...)
		kept := 0
		eachCommand(func(cmd *cobra.Command) {
			cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
				if _, is := cmd.GetFlagCompletionFunc(f.Name); is {
					kept++
				}
			})
		})
		if (kept > 0) != c.keep {
			t.Errorf("after %q commands are made with %d completions", c.line, kept)
		}
	}
}
