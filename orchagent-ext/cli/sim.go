// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/cli/replay"
	"sluice/orchagent-ext/cli/report"
	"sluice/orchagent-ext/cli/terminal"
	"sluice/orchagent-ext/sim/scenario"
	"sluice/orchagent-ext/view/framefile"
)

// newSimCommand makes `sluice sim`.
func newSimCommand() *cobra.Command {
	var compare []string
	var page, frames string
	var seed uint64
	var example bool
	cmd := &cobra.Command{
		Use:   "sim [FILE]",
		Short: "Simulate a fabric and a load, packet by packet, with and without Sluice",
		Long: `Simulate a fabric of up to 1024 hosts packet by packet: what would Sluice do with this fabric, these
adapters and this load? FILE (YAML, - is standard input) has them; without one an example runs, which
--example prints. The code that decides is that of sluiced: hashes and labels, placement, plans, rules to
next hops, marks of queues, holds and advice.

A load is a collective, an incast, flows of a published distribution, or a replay of a capture or of an
IPFIX file beside FILE.

Each load runs with each feature of compare, beside those that all runs have (base); one that names pfc
or dcqcn has that alone of the two. COLLECTIVE is the
mean time of the load's collectives, CHANGE beside the first feature, SLOWEST that of the last one; UP and DOWN are max ÷ mean of the
octets of leaves' uplinks and downlinks. The same file has the same result, to the octet.

With --record the first load runs once more with the last feature, and its leaves are recorded as switches,
which show --at and the tools of records read: 600 frames, or more, one each millisecond. Its time
begins at 2000-01-01T00:00:00Z.

Ctrl-C ends the command with the results that there are.`,
		Example: `  sluice sim
  sluice sim --example > fabric.yaml
  sluice sim fabric.yaml --compare none,label,placement,plan --html report.html
  sluice sim fabric.yaml --compare none,pfc,dcqcn,label+pfcm,advice
  sluice sim fabric.yaml --compare placement --record fabric.record
  sluice sim fabric.yaml --json`,
		Args: kit.Between(0, "FILE"),
	}
	cmd.AddCommand(newSimAdviseCommand())
	flags := cmd.Flags()
	flags.StringSliceVar(&compare, "compare", nil, "features that each load runs with, in place of the file's; a + joins several")
	flags.StringVar(&page, "html", "", "also write one HTML page with tables and plots; - is standard output")
	flags.StringVar(&frames, "record", "", "also record the leaves of the first load with the last feature, in a new `FILE`")
	flags.Uint64Var(&seed, "seed", 0, "seed of all that is random; 0: the file's")
	flags.BoolVar(&example, "example", false, "print the example")
	target := kit.AddForce(cmd)
	format := kit.AddFormat(flags, "one object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if example {
			_, err := cmd.OutOrStdout().Write(scenario.Example)
			return err
		}
		s, err := readScenario(cmd, args)
		if err != nil {
			return err
		}
		if compare != nil {
			if err := s.SetCompare(compare); err != nil {
				return fmt.Errorf("--compare: %w", err)
			}
		}
		if seed != 0 {
			s.Seed = seed
		}
		var file *output.File
		if page != "" {
			to := target(page)
			to.Text = true
			if file, err = output.Create(to); err != nil {
				return err
			}
			defer file.Abort()
		}
		var recorded *framefile.Writer
		if frames != "" {
			if recorded, err = newRecord(target(frames)); err != nil {
				return err
			}
			defer func() { _ = recorded.Close() }() // after an error; else it is closed
		}
		shown := newSimProgress(cmd.ErrOrStderr())
		results, err := s.RunAll(cmd.Context(), runtime.GOMAXPROCS(0), shown.show)
		shown.end()
		if err != nil {
			return err
		}
		if recorded != nil && cmd.Context().Err() == nil {
			if err := recordRun(cmd.Context(), s, results, recorded); err != nil {
				return err
			}
		}
		d := report.New(s, results, cmd.Context().Err() != nil)
		if file != nil {
			if err := d.HTML(file); err != nil {
				return file.Wrap(err)
			}
			if err := file.Close(); err != nil {
				return err
			}
		}
		if err := printSimulation(cmd.OutOrStdout(), d, *format); err != nil {
			return err
		}
		if d.Interrupted {
			return kit.ErrInterrupted
		}
		return nil
	}
	return cmd
}

// readScenario reads the scenario that the arguments name, or the example.
func readScenario(cmd *cobra.Command, args []string) (*scenario.Scenario, error) {
	name, content := "example", scenario.Example
	if len(args) > 0 {
		var err error
		if content, err = readText(cmd.Context(), args[0], cmd.InOrStdin()); err != nil {
			return nil, err
		}
		if name = args[0]; name == "-" {
			name = "standard input"
		}
	}
	s, err := scenario.Read(bytes.NewReader(content), replay.Beside(cmd.Context(), name))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// printSimulation prints the table and a sentence for each load, or the object.
func printSimulation(w io.Writer, d *report.Document, format output.Format) error {
	if format.Data() {
		return format.Write(w, d)
	}
	table := output.Columns{Header: report.Header, Spare: report.Spare}.Table(w, format.Style(w))
	for _, r := range d.Rows() {
		table.Row(r...)
	}
	if err := table.End(); err != nil {
		return err
	}
	said := append(d.Conclusions(), d.Ports())
	if headline := d.Headline(); headline != "" {
		said = slices.Insert(said, 0, headline)
	}
	for i, sentence := range said {
		if i == 0 {
			sentence = "\n" + sentence
		}
		if _, err := fmt.Fprintln(w, sentence); err != nil {
			return err
		}
	}
	return nil
}

// simProgress shows on a terminal how far a simulation is.
type simProgress struct {
	w       io.Writer // nil: no terminal
	since   time.Time
	shownAt time.Time
}

// newSimProgress returns one for a stream, which is silent unless that is a terminal.
func newSimProgress(w io.Writer) *simProgress {
	p := &simProgress{since: time.Now()}
	if _, ok := terminal.Is(w); ok {
		p.w = w
	}
	return p
}

// show rewrites the line, a few times a second.
func (p *simProgress) show(at scenario.Progress) {
	if p.w == nil || time.Since(p.shownAt) < 200*time.Millisecond {
		return
	}
	p.shownAt = time.Now()
	fmt.Fprintf(p.w, "\r\x1b[K%3.0f %% of %d runs, %d ended, %v left: %s", 100*at.Part, at.Runs, at.Ended, report.Left(at, time.Since(p.since)), at.Name)
}

// end removes the line.
func (p *simProgress) end() {
	if p.w != nil && !p.shownAt.IsZero() {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
