// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/view/frame"
	"sluice/yang/rows"
	"sluice/yang/text"
)

// longest is how much of a text a picture has, octets.
const longest = 256

// shown returns a text as a picture has it.
func shown(s string) string { return text.Printable(text.Cut(s, longest)) }

// fields are the fields of a row.
type fields map[string]string

// count returns a whole number; nil: there is none.
func (f fields) count(name string) *uint64 {
	if n, err := strconv.ParseUint(f[name], 10, 64); err == nil {
		return &n
	}
	return nil
}

// number returns a number; nil: there is none.
func (f fields) number(name string) *float64 {
	if n, err := strconv.ParseFloat(f[name], 64); err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) {
		return &n
	}
	return nil
}

// text returns a text that can be shown.
func (f fields) text(name string) string { return shown(f[name]) }

// time returns a time; zero: there is none.
func (f fields) time(name string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, f[name]) // zero where it is none
	return t
}

// carried returns the octets of a flow as sluice show does: the count of its entry, else an
// estimate by the samples of the CPU. ok: there is one.
func (f fields) carried() (n uint64, ok bool) {
	if c := f.count("bytes"); c != nil {
		return *c, true
	}
	seen := f.count("seen_bytes")
	if seen == nil {
		return 0, false
	}
	return f.estimated(*seen), true
}

// estimated returns a count of the CPU times the sampling rate.
func (f fields) estimated(n uint64) uint64 {
	if rate := f.count("sampling_rate"); rate != nil {
		return n * *rate
	}
	return n
}

// keyed is a row by its key.
type keyed struct {
	key string
	fields
}

// tables are the rows of a switch by table.
type tables map[string][]keyed

// tablesOf sorts the rows of a switch.
func tablesOf(all []rows.Row) tables {
	t := make(tables)
	for _, r := range all {
		t[r.Table] = append(t[r.Table], keyed{r.Key, r.Fields})
	}
	return t
}

// only returns the fields of the first row of a table.
func (t tables) only(table string) fields {
	if all := t[table]; len(all) > 0 {
		return all[0].fields
	}
	return nil
}

// byKey returns the rows of a table by their keys.
func (t tables) byKey(table string) map[string]fields {
	all := make(map[string]fields, len(t[table]))
	for _, r := range t[table] {
		all[r.key] = r.fields
	}
	return all
}

// before are the counters of a switch in the frame before.
type before struct {
	tables map[string]map[string]fields // those whose counters are compared
	at     time.Time                    // of the counters
}

// compared are the tables whose rows of the frame before are needed.
var compared = []string{"SLUICE_PORT_STATS", "SLUICE_QUEUE_STATS", "SLUICE_FLOW", "SLUICE_PLACEMENT_GROUP"}

// beforeOf returns the counters of a switch of the frame before; nil: it did not answer.
func beforeOf(f *frame.Frame, name string) *before {
	if f == nil {
		return nil
	}
	for i := range f.Switches {
		s := &f.Switches[i]
		if s.Name != name || s.Missing != "" {
			continue
		}
		t := tablesOf(s.Rows)
		b := &before{tables: map[string]map[string]fields{}, at: readAt(s, f.At)}
		for _, table := range compared {
			b.tables[table] = t.byKey(table)
		}
		return b
	}
	return nil
}

// readAt is when the counters of a switch were read: by its sluiced, else by its clock, else by
// that of the frame.
func readAt(s *frame.Switch, at time.Time) time.Time {
	if read := counted(s); !read.IsZero() {
		return read
	}
	return timeOf(s, at)
}

// counted is when sluiced of a switch read the counters; zero: unknown.
func counted(s *frame.Switch) time.Time {
	for i := range s.Rows {
		if r := &s.Rows[i]; r.Table == "SLUICE_STATS" {
			return fields(r.Fields).time("read_time")
		}
	}
	return time.Time{}
}

// timeOf is the time of a switch by its clock, else that of its frame.
func timeOf(s *frame.Switch, at time.Time) time.Time {
	if !s.At.IsZero() {
		return s.At
	}
	return at
}

// Since returns the frame that rates of f are since: before, and for the switches that have not
// counted again since then the one that earlier returns, which is asked for where there are such
// switches. So their rates stay until the counters are stale, for one who reads as often as sluiced
// counts. Each frame may be nil.
func Since(f, before *frame.Frame, earlier func() *frame.Frame) *frame.Frame {
	if before == nil {
		return nil
	}
	now := byName(f)
	var then map[string]*frame.Switch // of earlier
	out := before
	for i := range before.Switches {
		old := &before.Switches[i]
		s := now[old.Name]
		if s == nil {
			continue
		}
		read := counted(s)
		if read.IsZero() || !read.Equal(counted(old)) || timeOf(s, f.At).Sub(read) > telemetry.Silence {
			continue
		}
		if then == nil {
			then = byName(earlier())
		}
		if was := then[old.Name]; was != nil {
			if out == before {
				out = &frame.Frame{At: before.At, Switches: slices.Clone(before.Switches)}
			}
			out.Switches[i] = *was
		}
	}
	return out
}

// byName returns the switches of a frame that answered; never nil.
func byName(f *frame.Frame) map[string]*frame.Switch {
	all := map[string]*frame.Switch{}
	if f != nil {
		for i := range f.Switches {
			if s := &f.Switches[i]; s.Missing == "" {
				all[s.Name] = s
			}
		}
	}
	return all
}

// row returns the row of the frame before; nil: there is none.
func (b *before) row(table, key string) fields {
	if b == nil {
		return nil
	}
	return b.tables[table][key]
}

// difference returns how much a counter has grown; nil: it is unknown, or began again.
func difference(now, then *uint64) *uint64 {
	if now == nil || then == nil || *now < *then {
		return nil
	}
	d := *now - *then
	return &d
}

// per returns a difference over seconds; nil: there is no time between.
func per(d *uint64, seconds float64) *float64 {
	if d == nil || seconds <= 0 {
		return nil
	}
	r := float64(*d) / seconds
	return &r
}

// mbps returns octets a second as Mbit/s.
func mbps(octets *float64) *float64 {
	if octets == nil {
		return nil
	}
	r := *octets * 8 / 1e6
	return &r
}

// most returns the larger of two values, of which each may be unknown.
func most[T uint64 | float64](a, b *T) *T {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// sum returns the sum of two values, of which each may be unknown.
func sum[T uint64 | float64](a, b *T) *T {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	s := *a + *b
	return &s
}

// value returns a value; 0: it is unknown.
func value[T uint64 | float64](v *T) T {
	if v == nil {
		return 0
	}
	return *v
}

// sentences returns the sentences of a field, which semicolons separate.
func (f fields) sentences(name string) (all []string) {
	for s := range strings.SplitSeq(f[name], "; ") {
		if s != "" {
			all = append(all, shown(s))
		}
	}
	return all
}
