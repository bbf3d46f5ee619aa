// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/cli/show"
	"sluice/orchagent-ext/cli/terminal"
	"sluice/orchagent-ext/host/files"
	"sluice/yang/rows"
)

// newShowCommand returns `sluice show` with a command for each verb of package show.
func newShowCommand() *cobra.Command {
	s := &showCommand{}
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show what Sluice does: status, ports, flows, counters",
		Long: `Show what Sluice does: what sluiced writes of itself into STATE_DB and COUNTERS_DB once a second, and
what CONFIG_DB asks of it. It only reads.

With --target it asks other switches by gNMI, all at the same time, and their answers have a column of
the switch. Those that did not answer are named at the end, and the exit status is 5.

With --at it shows what it did at a time, of what sluice record wrote or of a Prometheus; --target then
chooses among the switches that these have. Counters are those since the start of sluiced.`,
		Example: `  sluice show status
  sluice show flows --top 10 --json
  sluice show queues --port Ethernet0 --watch --interval 5s
  sluice show config --json
  sluice show ports --target leaf1,leaf2
  sluice show status --target @hosts.ini:leaf --json
  sluice show queues --at 14:05 --from leaf1.record
  sluice show ports --at -10m --prometheus http://127.0.0.1:9090`,
		Args: kit.Words,
		RunE: kit.Help,
	}
	flags := cmd.PersistentFlags()
	s.databases = addDatabases(flags)
	s.targets = addTargets(flags)
	completeTargets(cmd)
	s.past = addPast(flags)
	s.format = kit.AddFormat(flags, "numbers are numbers, but for show config, which config load reads; with --watch an object a line")
	flags.BoolVarP(&s.watch, "watch", "w", false, "print again and again, until Ctrl-C")
	flags.DurationVar(&s.interval, "interval", 2*time.Second, "time between prints, with --watch")
	for _, v := range show.Verbs {
		cmd.AddCommand(s.verb(&v))
	}
	return cmd
}

// showCommand has the flags that the commands of show share.
type showCommand struct {
	databases *databaseFlags
	targets   *targetFlags
	past      *pastFlags
	format    *output.Format
	watch     bool
	interval  time.Duration
	encoder   output.Encoder // of the format, to standard output
	many      bool           // answers are of several switches
}

// verb is the command of a verb.
func (s *showCommand) verb(v *show.Verb) *cobra.Command {
	var o show.Options
	var qp uint32
	cmd := &cobra.Command{Use: v.Name, Short: v.Short, Args: kit.Exactly()}
	flags := cmd.Flags()
	for _, name := range v.Flags {
		switch name {
		case "top":
			flags.IntVarP(&o.Top, "top", "n", 0, "only so many flows, the heaviest (default: all)")
		case "port":
			flags.StringVarP(&o.Port, "port", "p", "", "only this port, or the members of this PortChannel")
			kit.Register(cmd, "port", s.complete("CONFIG_DB", "PORT", "PORTCHANNEL"))
		case "qp":
			flags.Var(kit.Number(&qp, 24), "qp", "only flows to this destination queue pair")
			kit.Register(cmd, "qp", s.completeQPs)
		case "congested":
			flags.BoolVar(&o.Congested, "congested", false, "only flows that fill a queue, or are held, the fullest first")
		case "all":
			flags.BoolVarP(&o.All, "all", "a", false, "also what is 0")
		}
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case o.Top < 0 || flags.Changed("top") && o.Top == 0:
			return fmt.Errorf("--top %d: must be 1 or more", o.Top)
		case s.interval < shortestInterval || s.interval > longestInterval:
			return fmt.Errorf("--interval %v: from %v to %v are possible", s.interval, shortestInterval, longestInterval)
		case flagIn(flags, "interval") && !s.watch:
			return errors.New("--interval goes with --watch")
		}
		if flags.Changed("qp") {
			o.QP = &qp
		}
		if err := s.targets.check(flags); err != nil {
			return err
		}
		if err := s.past.check(flags, s.watch); err != nil {
			return err
		}
		return s.run(cmd, v, o)
	}
	return cmd
}

// flagIn reports whether the user set a flag, as opposed to its default.
func flagIn(flags *pflag.FlagSet, name string) bool {
	f := flags.Lookup(name)
	return f != nil && f.Changed
}

// asker asks for an answer.
type asker func(ctx context.Context) (*fleetAnswer, error)

// asker returns what asks the past, the switches of --target, or the databases here, and what closes the
// connections to them.
func (s *showCommand) asker(cmd *cobra.Command, v *show.Verb, o show.Options) (asker, func(), error) {
	if s.past.used() {
		p, err := s.past.open(cmd, s.targets, v)
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context) (a *fleetAnswer, err error) {
			a, s.many, err = p.ask(ctx, v, o, !s.format.Data())
			return a, err
		}, p.close, nil
	}
	if s.targets.used(cmd.Flags()) {
		f, err := s.targets.open(cmd)
		if err != nil {
			return nil, nil, err
		}
		s.many = !f.one
		return func(ctx context.Context) (*fleetAnswer, error) { return f.show(ctx, v, o, !s.format.Data()) }, f.Close, nil
	}
	dbs, err := s.databases.open("CONFIG_DB", "STATE_DB", "COUNTERS_DB")
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) (*fleetAnswer, error) {
		a, err := s.answer(ctx, dbs, v, o)
		return &fleetAnswer{Answer: a}, err
	}, func() { _ = dbs.close() }, nil
}

// run prints an answer, or one after the other.
func (s *showCommand) run(cmd *cobra.Command, v *show.Verb, o show.Options) error {
	ask, done, err := s.asker(cmd, v, o)
	if err != nil {
		return err
	}
	defer done()
	out := cmd.OutOrStdout()
	s.encoder = s.format.Encoder(out)
	if !s.watch {
		a, err := ask(cmd.Context())
		if err != nil {
			return err
		}
		return s.only(out, a)
	}
	ticker := time.NewTicker(s.interval)
	defer ticker.Stop()
	_, screen := terminal.Is(out)
	for first := true; ; first = false {
		a, err := ask(cmd.Context())
		switch {
		case cmd.Context().Err() != nil:
			return nil
		case err != nil && first:
			return err
		case err != nil: // Redis, or the switch, may come back
			a = &fleetAnswer{Answer: &show.Answer{JSON: map[string]string{"error": err.Error()}, Blocks: []show.Block{{Text: err.Error()}}}}
		}
		switch {
		case screen && !s.format.Data():
			fmt.Fprint(out, terminal.Clear)
		case !first && !s.format.Data():
			fmt.Fprintln(out)
		}
		if err := s.print(out, a.Answer); err != nil {
			return err
		}
		select {
		case <-cmd.Context().Done():
			return nil
		case <-ticker.C:
		}
	}
}

// only prints the only answer, and returns the exit status: of a switch that did not answer, or
// of rows that are stale.
func (s *showCommand) only(out io.Writer, a *fleetAnswer) error {
	err := s.print(out, a.Answer)
	switch {
	case err != nil:
		return errors.Join(err, a.Stale.Err())
	case a.missing > 0:
		return kit.Exited{Status: statusUnanswered}
	case a.Stale == nil:
		return nil
	case s.format.Data() && !s.many:
		return a.Stale
	}
	return kit.Exited{Status: statusStale} // the answer has it
}

// answer reads the tables that a verb wants and returns its answer, with the baseline of
// `sluice clear counters` taken off.
func (s *showCommand) answer(ctx context.Context, dbs databases, v *show.Verb, o show.Options) (*show.Answer, error) {
	var all []rows.Row
	for database, tables := range v.Wanted() {
		some, err := dbs.read(ctx, database, tables...)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	o.Baseline, o.Now = s.databases.baseline(), time.Now()
	return v.Show(show.NewData(all), o, !s.format.Data())
}

// print writes an answer: text, indented JSON, or with --watch one JSON object a line.
func (s *showCommand) print(w io.Writer, a *show.Answer) error {
	switch {
	case s.format.Data() && s.watch:
		return s.encodeAll(a.JSON)
	case s.format.Data():
		return s.format.Write(w, a.JSON)
	}
	_, err := io.WriteString(w, a.Text(s.format.Style(w)))
	return err
}

// encodeAll writes a value, or each of those of several switches.
func (s *showCommand) encodeAll(value any) error {
	all, several := value.([]any)
	if !several || !s.many {
		return s.encoder.Encode(value)
	}
	for _, one := range all {
		if err := s.encoder.Encode(one); err != nil {
			return err
		}
	}
	return nil
}

// complete returns the completion of an argument by the keys of tables.
func (s *showCommand) complete(database string, tables ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return keysOf(cmd.Context(), s.databases, database, tables...), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeQPs are the destination queue pairs of flows that are known.
func (s *showCommand) completeQPs(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
	defer cancel()
	dbs, err := s.databases.open("STATE_DB")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer func() { _ = dbs.close() }()
	all, err := dbs.read(ctx, "STATE_DB", "SLUICE_FLOW")
	var qps []string
	for _, r := range all {
		if n, parseErr := strconv.ParseUint(r.Fields["dest_qp"], 10, 24); err == nil && parseErr == nil {
			qps = append(qps, fmt.Sprintf("0x%06x", n))
		}
	}
	slices.Sort(qps)
	return slices.Compact(qps), cobra.ShellCompDirectiveNoFileComp
}

// newClearCommand returns `sluice clear`. It keeps a baseline in a file of the user; the
// counters themselves go on.
func newClearCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "clear", Short: "Let show count from now on", Args: kit.Words, RunE: kit.Help,
		Long:    "Let sluice show count from now on. Nothing of the switch changes.",
		Example: "  sluice clear counters",
	}
	counters := &cobra.Command{
		Use:   "counters",
		Short: "Let sluice show count from now on, for the user who calls it",
		Long: `Let sluice show count from now on, for the user who calls it. The counters themselves belong to
sluiced and to the switch, and run on: what they are now is kept in the user's cache, and taken off.`,
		Example: "  sluice clear counters",
		Args:    kit.Exactly(),
	}
	dbs := addDatabases(counters.Flags())
	counters.RunE = func(cmd *cobra.Command, _ []string) error {
		opened, err := dbs.open("STATE_DB", "COUNTERS_DB")
		if err != nil {
			return err
		}
		defer func() { _ = opened.close() }()
		state, err := opened.read(cmd.Context(), "STATE_DB", "SLUICE_STATE")
		if err != nil {
			return err
		}
		stats, err := opened.read(cmd.Context(), "COUNTERS_DB", show.Cleared...)
		if err != nil {
			return err
		}
		b, counted := show.NewBaseline(show.NewData(append(state, stats...)))
		if !counted {
			return errors.New("there are no counters: is sluiced running?")
		}
		file, err := dbs.baselineFile()
		if err == nil {
			err = files.WriteState(file, b)
		}
		if err != nil {
			return fmt.Errorf("keep the baseline: %w", err)
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), "Cleared sluice counters")
		return err
	}
	cmd.AddCommand(counters)
	return cmd
}

// baselineFile returns the name of the file where `sluice clear counters` keeps
// counters.
func (d *databaseFlags) baselineFile() (string, error) {
	folder, err := os.UserCacheDir()
	name := "host"
	if d.namespace != "" {
		name = filepath.Base(d.namespace)
	}
	return filepath.Join(folder, "sluice", name+".json"), err
}

// baseline returns the counters in that file, empty where it cannot be read: it
// is a cache.
func (d *databaseFlags) baseline() show.Baseline {
	var b show.Baseline
	if file, err := d.baselineFile(); err != nil || files.ReadState(file, &b) != nil {
		return show.Baseline{}
	}
	return b
}
