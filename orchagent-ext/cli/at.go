// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice/orchagent-ext/cli/show"
	"sluice/orchagent-ext/cli/targets"
	"sluice/orchagent-ext/view/frame"
	"sluice/orchagent-ext/view/framefile"
	"sluice/orchagent-ext/view/past"
	"sluice/yang/rows"
	"sluice/yang/text"
)

// pastFlags are the flags by which show answers from the past.
type pastFlags struct{ at, from, prometheus string }

// addPast adds them.
func addPast(flags *pflag.FlagSet) *pastFlags {
	p := &pastFlags{}
	flags.StringVar(&p.at, "at", "", "show the state at `TIME`, of --from or --prometheus: 14:05, 14:05:30, 2026-11-27T14:05:00Z, or -10m, before the end of the record or now")
	flags.StringVar(&p.from, "from", "", "with --at: `FILE` that sluice record wrote")
	flags.StringVar(&p.prometheus, "prometheus", "", "with --at: `URL` of a Prometheus, or of what has its API, that scrapes the switches")
	return p
}

// used reports whether the command line asks for the past.
func (p *pastFlags) used() bool { return p.at != "" }

// check judges the flags; watch is that of show.
func (p *pastFlags) check(flags *pflag.FlagSet, watch bool) error {
	for _, name := range []string{"from", "prometheus"} {
		if flagIn(flags, name) && !p.used() {
			return fmt.Errorf("--%s goes with --at", name)
		}
	}
	switch {
	case flagIn(flags, "at") && !p.used():
		return errors.New("--at is empty")
	case !p.used():
		return nil
	case p.from == "" && p.prometheus == "":
		return errors.New("--at needs a source: --from FILE, which sluice record wrote, or --prometheus URL, which scrapes the switches")
	case p.from != "" && p.prometheus != "":
		return errors.New("--at has one source: either --from or --prometheus")
	case watch:
		return errors.New("--watch shows the state now: leave it out with --at")
	}
	for _, name := range local {
		if flagIn(flags, name) {
			return fmt.Errorf("--%s is about this machine now: leave it out with --at", name)
		}
	}
	_, err := parseAt(p.at, time.Now())
	return err
}

// parseAt returns the time that a text is, where the series ends at end: a time of the day is the last one
// before that.
func parseAt(s string, end time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	if d, err := time.ParseDuration(s); err == nil && strings.HasPrefix(s, "-") {
		return end.Add(d), nil
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		clock, err := time.Parse(layout, s)
		if err != nil {
			continue
		}
		day := end.In(time.Local)
		t := time.Date(day.Year(), day.Month(), day.Day(), clock.Hour(), clock.Minute(), clock.Second(), clock.Nanosecond(), time.Local)
		if t.After(end) {
			t = time.Date(day.Year(), day.Month(), day.Day()-1, clock.Hour(), clock.Minute(), clock.Second(), clock.Nanosecond(), time.Local)
		}
		return t, nil
	}
	return time.Time{}, fmt.Errorf("--at %q is no time, such as 14:05, 14:05:30, 2026-11-27T14:05:00Z, or -10m", text.Cut(s, rows.LongestQuote))
}

// pastAsker answers a verb from the past.
type pastAsker struct {
	*pastFlags
	cmd    *cobra.Command
	source frame.Source
	end    time.Time // of the series
	choice *targets.Choice
	note   string
	lacks  []string // tables that the source never has
	close  func()
}

// open opens the source for the tables of a verb.
func (p *pastFlags) open(cmd *cobra.Command, switches *targetFlags, v *show.Verb) (*pastAsker, error) {
	a := &pastAsker{pastFlags: p, cmd: cmd, close: func() {}}
	if switches.used(cmd.Flags()) && !slices.Equal(switches.words, []string{targets.All}) {
		var err error
		if a.choice, err = targets.Choose(switches.words, inventory()); err != nil {
			return nil, err
		}
	}
	if p.from != "" {
		f, err := framefile.Open(p.from)
		if err != nil {
			return nil, err
		}
		a.source, a.note, a.close = f, f.Note(), func() { _ = f.Close() }
		_, last, ok := f.Span()
		if !ok {
			a.close()
			return nil, fmt.Errorf("%s has no frame%s", text.Printable(p.from), behind(f.Note()))
		}
		a.end = last
		return a, nil
	}
	o := past.Options{}
	for _, tables := range v.Wanted() {
		o.Tables = append(o.Tables, tables...)
	}
	if a.choice != nil {
		for _, t := range a.choice.Targets {
			o.Switches = append(o.Switches, t.Name, t.Address, hostOf(t.Address))
		}
	}
	s, err := past.New(p.prometheus, o)
	if err != nil {
		return nil, fmt.Errorf("--prometheus: %w", err)
	}
	a.source, a.end = s, time.Now()
	for _, table := range o.Tables {
		if !s.Has(table) {
			a.lacks = append(a.lacks, table)
		}
	}
	return a, nil
}

// hostOf returns the host of an address, which may have a port.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return strings.Trim(address, "[]")
}

// behind returns a note in the form that follows a sentence.
func behind(note string) string {
	if note == "" {
		return ""
	}
	return ": " + note
}

// name is that of the source.
func (a *pastAsker) name() string { return text.Printable(a.from + a.prometheus) }

// ask answers as the verb did at the time.
func (a *pastAsker) ask(ctx context.Context, v *show.Verb, o show.Options, people bool) (answer *fleetAnswer, many bool, err error) {
	t, err := parseAt(a.at, a.end)
	if err != nil {
		return nil, false, err
	}
	f, _, err := a.source.At(ctx, t)
	switch {
	case err != nil:
		return nil, false, err
	case f == nil && a.from != "":
		first, _, _ := a.source.Span()
		return nil, false, fmt.Errorf("%s has nothing at %s: it begins at %s", a.name(), shortTime(t), shortTime(first))
	case f == nil:
		return nil, false, fmt.Errorf("%s has nothing of Sluice at %s: no switch was scraped in the 5 minutes before", a.name(), shortTime(t))
	}
	a.tell(f)
	readings, one := a.readings(f, v)
	answer, err = joinAnswers(ctx, readings, one, v, o, people)
	return answer, !one, err
}

// tell says on standard error what the answer is of, and what is not in it.
func (a *pastAsker) tell(f *frame.Frame) {
	a.cmd.PrintErrf("as of %s, by %s\n", shortTime(f.At), a.name())
	if a.note != "" {
		a.cmd.PrintErrf("note: %s: %s\n", a.name(), text.Printable(a.note))
	}
	if len(a.lacks) > 0 {
		a.cmd.PrintErrf("note: Prometheus does not have %s\n", strings.Join(a.lacks, ", "))
	}
}

// shortTime is a time in UTC as people read it, to the second.
func shortTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// readings returns the switches of a frame that the command line names as if they had answered now; one:
// it is a single switch, whose answer needs no name.
func (a *pastAsker) readings(f *frame.Frame, v *show.Verb) (all []targets.Reading, one bool) {
	wanted := v.Wanted()
	read := func(s *frame.Switch, name string) {
		r := targets.Reading{Target: targets.Target{Name: name, Address: cmp.Or(s.Address, s.Name)}, At: s.At, Rows: rowsOf(s.Rows, wanted)}
		if r.At.IsZero() {
			r.At = f.At
		}
		if s.Missing != "" {
			r.Err = errors.New(s.Missing)
		}
		all = append(all, r)
	}
	if a.choice == nil {
		for i := range f.Switches {
			read(&f.Switches[i], f.Switches[i].Name)
		}
		return all, len(all) == 1
	}
	for _, t := range a.choice.Targets {
		scraped := "" // a Prometheus knows a switch by its host: the port is that of its metrics
		if a.prometheus != "" {
			scraped = hostOf(t.Address)
		}
		at := slices.IndexFunc(f.Switches, func(s frame.Switch) bool {
			return s.Name == t.Name || s.Name == scraped || s.Address != "" && (s.Address == t.Address || s.Address == t.Name)
		})
		if at < 0 {
			all = append(all, targets.Reading{Target: t, Err: fmt.Errorf("%s does not have it then", a.name())})
			continue
		}
		name := f.Switches[at].Name
		if name == scraped {
			name = t.Name
		}
		read(&f.Switches[at], name)
	}
	return all, a.choice.One
}

// isOf reports whether a table is one of those that are wanted, by database.
func isOf(table string, wanted map[string][]string) bool {
	database := "CONFIG_DB"
	if d, known := rows.Describe(table); known {
		database = d.Database
	}
	return slices.ContainsFunc(wanted[database], func(name string) bool {
		begin, all := strings.CutSuffix(name, "*")
		return name == table || all && strings.HasPrefix(table, begin)
	})
}
