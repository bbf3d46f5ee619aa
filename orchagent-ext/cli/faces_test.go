// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice/orchagent-ext/testbed/lab"
	"sluice/yang/rows"
	"sluice/yang/text"
)

// obeyed is text that terminals obey, hide, or show in another order.
const obeyed = "x\u009b31m\u202ey\u200b\x1b[2J\x7f\u2028"

// obeyedRows are rows of all tables with such text wherever the schema does not want another
// kind of value, and once in every field.
func obeyedRows() (all []rows.Row) {
	for _, database := range []string{"CONFIG_DB", "STATE_DB", "COUNTERS_DB"} {
		for _, table := range rows.Tables(database) {
			d, _ := rows.Describe(table)
			plausible, hostile := map[string]string{}, map[string]string{}
			for _, leaf := range d.Leaves {
				hostile[leaf.Column] = obeyed
				switch {
				case leaf.Counter, leaf.Number:
					plausible[leaf.Column] = "7"
				case len(leaf.Values) > 0:
					plausible[leaf.Column] = leaf.Values[0]
				default:
					plausible[leaf.Column] = obeyed
				}
			}
			plausible[obeyed] = obeyed
			if d.Only != "" {
				all = append(all, rows.Row{Table: table, Key: d.Only, Fields: plausible})
				continue
			}
			keys := slices.Repeat([]string{obeyed}, len(d.Keys))
			all = append(all, rows.Row{Table: table, Key: strings.Join(keys, "|"), Fields: plausible}, rows.Row{Table: table, Key: "b" + obeyed, Fields: hostile})
		}
	}
	return all
}

// leaves calls f with each command that has no commands below it, and its words.
func leaves(cmd *cobra.Command, words []string, f func(cmd *cobra.Command, words []string)) {
	if !cmd.HasSubCommands() {
		f(cmd, words)
	}
	for _, c := range cmd.Commands() {
		leaves(c, append(slices.Clone(words), c.Name()), f)
	}
}

// TestNoCommandPrintsTextThatATerminalObeys: each command, with rows of all tables, arguments
// and values of flags that have such text.
func TestNoCommandPrintsTextThatATerminalObeys(t *testing.T) {
	databasesOf(t, obeyedRows()...)
	t.Chdir(t.TempDir())
	tried := map[string]bool{}
	try := func(args ...string) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		var out, errs bytes.Buffer
		runEither(ctx, args, strings.NewReader(obeyed), &out, &errs)
		for _, said := range []string{out.String(), errs.String()} {
			if text.Lines(said) != strings.ReplaceAll(said, "\t", "·") {
				at := strings.IndexFunc(said, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) })
				t.Errorf("%q: %q", args, said[max(0, at-50):min(len(said), at+50)])
			}
		}
	}
	each := func(cmd *cobra.Command, words []string) {
		if cmd.Hidden || words[0] == "demo" || words[0] == "config" && len(words) > 2 && words[1] != "flow-label" { // the tables have one code
			return
		}
		formats := [][]string{nil}
		if f := cmd.Flags().Lookup("output"); f != nil {
			formats = [][]string{{"-o", "wide"}, {"-o", "json"}, {"-o", "yaml"}}
		} else if f := cmd.Flags().Lookup("json"); f != nil {
			formats = append(formats, []string{"--json"})
		}
		for _, format := range formats {
			for arguments := range 3 {
				try(slices.Concat(words, format, slices.Repeat([]string{obeyed}, arguments))...)
			}
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if flag := words[0] + " " + f.Name; f.Name != "help" && !tried[flag] {
				tried[flag] = true
				try(slices.Concat(words, []string{"--" + f.Name + "=" + obeyed})...)
			}
		})
	}
	leaves(NewRootCommand(true), nil, each)
	leaves(lab.NewRootCommand(version), nil, each)
}
