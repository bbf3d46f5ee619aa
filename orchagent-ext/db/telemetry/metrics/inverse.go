// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sluice/yang/rows"
)

// Scraped is a metric that each scrape of a sluiced has, by which the times of scrapes are found.
const Scraped = "sluice_redis_up"

// Sample is a value of a series, as a Prometheus has it.
type Sample struct {
	Name   string            // of the metric
	Labels map[string]string // others than those of the model are left out
	Value  float64
}

// origin is a leaf of a table that a metric is of.
type origin struct {
	*table
	field string
	*leaf // nil: of the table's info
}

// Inverse turns series back into the rows that they are of. It is made of the same schema as the
// metrics.
type Inverse struct{ origins map[string][]origin }

// NewInverse returns that of all metrics, those of flows among them.
var NewInverse = sync.OnceValue(func() *Inverse {
	i := &Inverse{origins: make(map[string][]origin)}
	for _, t := range tables(true) {
		for field, l := range t.leaves {
			if l.metric != "" {
				i.origins[l.metric] = append(i.origins[l.metric], origin{t, field, l})
			}
		}
		if t.infoName != "" {
			i.origins[t.infoName] = append(i.origins[t.infoName], origin{table: t})
		}
	}
	return i
})

// Names returns the metrics of tables, sorted; of none: of all tables.
func (i *Inverse) Names(of ...string) []string {
	var all []string
	for name, origins := range i.origins {
		if len(of) == 0 || slices.ContainsFunc(origins, func(o origin) bool { return slices.Contains(of, o.name) }) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// Has reports whether rows of a table are metrics.
func (i *Inverse) Has(table string) bool { return len(i.Names(table)) > 0 }

// Rows returns the rows of samples of one scrape, sorted by table and key. It leaves out what the model
// does not have. A counter has the 53 bits of a float64.
func (i *Inverse) Rows(all []Sample) []rows.Row {
	type name struct{ table, key string }
	found := make(map[name]map[string]string)
	for _, s := range all {
		for _, o := range i.origins[s.Name] {
			key, ok := o.key(s.Labels)
			if !ok {
				continue
			}
			at := name{o.name, key}
			if found[at] == nil {
				found[at] = make(map[string]string)
			}
			o.set(found[at], &s)
		}
	}
	out := make([]rows.Row, 0, len(found))
	for at, fields := range found {
		if r, ok := conforming(rows.Row{Table: at.table, Key: at.key, Fields: fields}); ok {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b rows.Row) int {
		if a.Table != b.Table {
			return strings.Compare(a.Table, b.Table)
		}
		return strings.Compare(a.Key, b.Key)
	})
	return out
}

// conforming returns the row with the fields that the model allows.
func conforming(r rows.Row) (rows.Row, bool) {
	fields, _ := valid(r)
	r.Fields = fields
	return r, len(fields) > 0
}

// key returns the key of the row that labels name; false: a label is missing.
func (t *table) key(labels map[string]string) (string, bool) {
	if t.only != "" {
		return t.only, true
	}
	values := make([]string, len(t.keys))
	for i, label := range t.keys {
		value, has := labels[label]
		if !has {
			return "", false
		}
		values[i] = value
	}
	return strings.Join(values, "|"), true
}

// set sets the field that a sample is of.
func (o *origin) set(fields map[string]string, s *Sample) {
	if o.leaf == nil {
		for _, name := range o.names {
			if value := s.Labels[name]; value != "" {
				fields[name] = value
			}
		}
		return
	}
	last := s.Labels[o.last]
	switch o.kind {
	case number:
		if o.last == "" || last == o.labels[0] {
			fields[o.field] = o.number(s.Value)
		}
	case truth:
		fields[o.field] = strconv.FormatBool(s.Value != 0)
	case instant:
		// a float64 has microseconds; the model's times have milliseconds at most
		fields[o.field] = time.UnixMilli(int64(math.Round(s.Value * 1000))).UTC().Format(time.RFC3339Nano)
	case choice:
		if s.Value != 0 {
			fields[o.field] = last
		}
	case sentences:
		all := []string{last}
		if before := fields[o.field]; before != "" {
			all = append(all, strings.Split(before, "; ")...)
			slices.Sort(all)
		}
		fields[o.field] = strings.Join(all, "; ")
	}
}

// number returns the value of a leaf as the model writes it.
func (l *leaf) number(v float64) string {
	v /= l.scale
	if l.digits == 0 {
		return strconv.FormatFloat(math.Round(v), 'f', -1, 64)
	}
	text := strconv.FormatFloat(v, 'f', l.digits, 64)
	text = strings.TrimRight(text, "0")
	if strings.HasSuffix(text, ".") {
		text += "0"
	}
	return text
}
