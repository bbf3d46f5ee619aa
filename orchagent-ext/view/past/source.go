// SPDX-License-Identifier: Apache-2.0

package past

import (
	"context"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/orchagent-ext/db/telemetry/metrics"
	"sluice/orchagent-ext/view/frame"
	"sluice/yang/rows"
)

const (
	// lookback is how far before a time scrapes are looked for.
	lookback = 5 * time.Minute
	// late is how many intervals after its last scrape a switch is missing.
	late = 2.5
	// reach is how far back the first scrape is looked for: Prometheus keeps 15 days.
	reach = 15 * 24 * time.Hour
	steps = 1000
	// patience is how long [Source.Span] may take.
	patience = 10 * time.Second
	// fresh is how long the end of a span is used.
	fresh = 2 * time.Second
)

// Options are those of a [Source].
type Options struct {
	// Tables are those that frames have; nil: all that are metrics.
	Tables []string
	// Switches are the hosts, or values of the label instance, of those that frames have; nil: all.
	Switches []string
}

// Source is a Prometheus. It implements [frame.Source], and is used by several goroutines.
type Source struct {
	api     *api
	inverse *metrics.Inverse
	metrics string // selector of the metrics
	scraped string // selector of that which each scrape has
	now     func() time.Time

	mu          sync.Mutex
	first, last time.Time
	asked       time.Time // when last was
}

// New returns the source at the URL of a Prometheus, which is asked later.
func New(address string, o Options) (*Source, error) {
	a, err := newAPI(address)
	if err != nil {
		return nil, err
	}
	s := &Source{api: a, inverse: metrics.NewInverse(), now: time.Now}
	tables := o.Tables
	if tables != nil && slices.Contains(tables, tablePort) {
		tables = append(slices.Clone(tables), tablePortStats)
	}
	of := ""
	if o.Switches != nil {
		var some []string
		for _, name := range o.Switches {
			some = append(some, `\[?`+regexp.QuoteMeta(name)+`\]?(:[0-9]+)?`)
		}
		of = `,instance=~` + quoted(strings.Join(some, "|"))
	}
	names := s.inverse.Names(tables...)
	if tables != nil && len(names) == 0 {
		names = []string{metrics.Scraped}
	}
	s.metrics = `{__name__=~` + quoted(strings.Join(names, "|")) + of + "}"
	s.scraped = `{__name__="` + metrics.Scraped + `"` + of + "}"
	return s, nil
}

// quoted is a text as a string of PromQL.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// Tables whose keys are those of another one: Prometheus lacks CONFIG_DB, and sluiced counts at each
// port of PORT.
const (
	tablePort      = "PORT"
	tablePortStats = "SLUICE_PORT_STATS"
)

// Has reports whether a table can be in a frame.
func (s *Source) Has(table string) bool { return table == tablePort || s.inverse.Has(table) }

// scrapes are the times of the last scrapes of a switch, ms since 1970.
type scrapes struct {
	last, before, interval int64
	blind                  bool // sluiced could not read its rows in the last one
}

// newScrapes returns those of the points of a series of [metrics.Scraped].
func newScrapes(points []point) scrapes {
	n := len(points)
	c := scrapes{last: points[n-1].at, blind: points[n-1].value == 0}
	if n > 1 {
		c.before = points[n-2].at
		var all []int64
		for i := 1; i < n; i++ {
			all = append(all, points[i].at-points[i-1].at)
		}
		slices.Sort(all)
		c.interval = all[len(all)/2]
	}
	return c
}

// labelInstance is the label that says which switch a series is of.
const labelInstance = "instance"

// At implements [frame.Source]: of each switch the rows of its last scrape, and of that before.
func (s *Source) At(ctx context.Context, t time.Time) (f, before *frame.Frame, err error) {
	all, err := s.api.raw(ctx, s.scraped, lookback, t)
	if err != nil {
		return nil, nil, err
	}
	known := map[string]scrapes{}
	oldest := t.UnixMilli()
	for _, one := range all {
		if len(one.Values) == 0 {
			continue
		}
		c, instance := newScrapes(one.Values), one.Metric[labelInstance]
		if known[instance].last < c.last { // other labels may differ: a job, or a collector, had it before
			known[instance] = c
		}
	}
	if len(known) == 0 {
		return nil, nil, nil
	}
	for _, c := range known {
		if c.missing(t) == "" {
			oldest = min(oldest, c.last)
			if c.before != 0 {
				oldest = min(oldest, c.before)
			}
		}
	}
	found, err := s.api.raw(ctx, s.metrics, time.Duration(t.UnixMilli()-oldest+1)*time.Millisecond, t)
	if err != nil {
		return nil, nil, err
	}
	f, before = s.frames(known, found, t)
	return f, before, nil
}

// missing returns why a switch has no rows at a time; "": it has.
func (c scrapes) missing(t time.Time) string {
	last := time.UnixMilli(c.last).UTC().Format(time.RFC3339)
	switch {
	case c.interval > 0 && float64(t.UnixMilli()-c.last) > late*float64(c.interval):
		return "it was scraped last at " + last
	case c.blind:
		return "its sluiced could not read its databases at " + last
	}
	return ""
}

// frames returns the frame of the last scrapes of switches, and that of those before; nil where there is
// none.
func (s *Source) frames(known map[string]scrapes, found []series, t time.Time) (f, before *frame.Frame) {
	type at struct {
		instance string
		at       int64
	}
	samples := map[at][]metrics.Sample{}
	for _, one := range found {
		name, instance := one.Metric["__name__"], one.Metric[labelInstance]
		c := known[instance]
		for _, p := range one.Values {
			if p.at == c.last || p.at == c.before {
				samples[at{instance, p.at}] = append(samples[at{instance, p.at}], metrics.Sample{Name: name, Labels: one.Metric, Value: p.value})
			}
		}
	}
	f, before = &frame.Frame{}, &frame.Frame{}
	names := switchNames(slices.Sorted(maps.Keys(known)))
	for _, instance := range slices.Sorted(maps.Keys(known)) {
		c := known[instance]
		is := frame.Switch{Name: names[instance], Address: instance}
		if is.Missing = c.missing(t); is.Missing != "" {
			f.Switches = append(f.Switches, is)
			continue
		}
		for _, of := range []struct {
			*frame.Frame
			scrape int64
		}{{f, c.last}, {before, c.before}} {
			if of.scrape == 0 {
				continue
			}
			one := is
			one.At = time.UnixMilli(of.scrape).UTC()
			one.Rows = withPorts(s.inverse.Rows(samples[at{instance, of.scrape}]))
			of.Switches = append(of.Switches, one)
			if of.At.Before(one.At) {
				of.At = one.At
			}
		}
	}
	if f.At.IsZero() { // all are missing
		for _, c := range known {
			if last := time.UnixMilli(c.last).UTC(); f.At.Before(last) {
				f.At = last
			}
		}
	}
	if before.At.IsZero() || !before.At.Before(f.At) {
		before = nil
	}
	return f, before
}

// switchNames returns names of switches by their instances: the host, where it is of one alone.
func switchNames(instances []string) map[string]string {
	of := map[string][]string{}
	for _, instance := range instances {
		host, _, err := net.SplitHostPort(instance)
		if err != nil {
			host = instance
		}
		of[host] = append(of[host], instance)
	}
	names := map[string]string{}
	for host, all := range of {
		for _, instance := range all {
			if names[instance] = host; len(all) > 1 {
				names[instance] = instance
			}
		}
	}
	return names
}

// withPorts adds a row of PORT for each port that is counted.
func withPorts(all []rows.Row) []rows.Row {
	var ports []rows.Row
	for _, r := range all {
		if r.Table == tablePortStats && !rows.IsPortChannel(r.Key) {
			ports = append(ports, rows.Row{Table: tablePort, Key: r.Key})
		}
	}
	return append(ports, all...) // PORT is before all of Sluice's tables
}

// Span implements [frame.Source]. It is empty while Prometheus is silent.
func (s *Source) Span() (first, last time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.now(); now.Sub(s.asked) >= fresh {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.ask(ctx, now); err != nil {
			return time.Time{}, time.Time{}, false
		}
		s.asked = now
	}
	return s.first, s.last, !s.last.IsZero()
}

// ask asks for the times of the first and last scrapes.
func (s *Source) ask(ctx context.Context, now time.Time) error {
	end := now
	if s.first.IsZero() {
		const step = reach / steps
		// how many there were in a step, by the times at the ends of steps
		counted, err := s.api.between(ctx, "count(count_over_time("+s.scraped+"["+step.String()+"]))", now.Add(-reach), now, step)
		if err != nil {
			return err
		}
		if len(counted) == 0 || len(counted[0].Values) == 0 {
			return nil
		}
		points := counted[0].Values
		if s.first, _, err = s.ends(ctx, step, time.UnixMilli(points[0].at)); err != nil {
			return err
		}
		end = time.UnixMilli(points[len(points)-1].at)
	}
	for _, at := range []struct {
		time.Time
		span time.Duration
	}{{now, lookback}, {end, reach / steps}} {
		_, last, err := s.ends(ctx, at.span, at.Time)
		if err != nil {
			return err
		}
		if !last.IsZero() {
			s.last = last
			break
		}
	}
	return nil
}

// ends returns the times of the first and last scrapes in a span before a time; zero where there is none.
func (s *Source) ends(ctx context.Context, span time.Duration, at time.Time) (first, last time.Time, err error) {
	all, err := s.api.raw(ctx, s.scraped, span, at)
	for _, one := range all {
		for _, p := range one.Values {
			t := time.UnixMilli(p.at).UTC()
			if first.IsZero() || t.Before(first) {
				first = t
			}
			if t.After(last) {
				last = t
			}
		}
	}
	return first, last, err
}
