// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/orchagent-ext/db/telemetry"
	"sluice/yang/rows"
	"sluice/yang/text"
)

// Bounds of sentences that become labels: these live long in a Prometheus.
const (
	maxSentences = 20
	maxRunes     = 300
)

// Metrics of the collector itself.
var (
	redisUp = prometheus.NewDesc(join(prefix, "redis_up"),
		"Whether the rows of STATE_DB and COUNTERS_DB could be read; while not, nothing else of them is here.", nil, nil)
	skippedFields = prometheus.NewDesc(join(prefix, "skipped_fields"),
		"Fields of the rows read last that are not as the model has them, and so are not here.", nil, nil)
)

// collector turns rows into metrics.
type collector struct {
	read   func(context.Context) ([]rows.Row, error)
	tables map[string]*table
	flows  int // of SLUICE_FLOW, so many of the heaviest
	failed func(error)
	broken atomic.Bool // the failure was reported
}

// Describe sends every metric that there can be.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	ch <- redisUp
	ch <- skippedFields
	sent := make(map[*prometheus.Desc]bool)
	for _, t := range c.tables {
		if t.info != nil {
			ch <- t.info
		}
		for _, l := range t.leaves {
			if l.desc != nil && !sent[l.desc] {
				sent[l.desc] = true
				ch <- l.desc
			}
		}
	}
}

// Collect reads the rows and sends their metrics.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	all, err := c.read(context.Background())
	if err != nil {
		if !c.broken.Swap(true) {
			c.failed(err)
		}
		ch <- prometheus.MustNewConstMetric(redisUp, prometheus.GaugeValue, 0)
		return
	}
	c.broken.Store(false)
	ch <- prometheus.MustNewConstMetric(redisUp, prometheus.GaugeValue, 1)
	skipped := 0
	for _, r := range heaviest(all, c.flows) {
		if t := c.tables[r.Table]; t != nil {
			skipped += t.send(r, ch)
		}
	}
	ch <- prometheus.MustNewConstMetric(skippedFields, prometheus.GaugeValue, float64(skipped))
}

// heaviest leaves out the rows of flows but those n that sent most.
func heaviest(all []rows.Row, n int) []rows.Row {
	var flows, others []rows.Row
	for _, r := range all {
		if r.Table == telemetry.TableFlow {
			flows = append(flows, r)
		} else {
			others = append(others, r)
		}
	}
	slices.SortFunc(flows, func(a, b rows.Row) int {
		return cmp.Or(cmp.Compare(octets(b), octets(a)), cmp.Compare(a.Key, b.Key))
	})
	return append(others, flows[:min(n, len(flows))]...)
}

// octets returns the octets of a flow's row, by which the heaviest are found.
func octets(r rows.Row) uint64 {
	// what is no number sent nothing
	n, _ := strconv.ParseUint(r.Fields["bytes"], 10, 64)
	return n
}

// send sends the metrics of a row, and returns the number of fields that it left out
// since they or their values are outside the model.
func (t *table) send(r rows.Row, ch chan<- prometheus.Metric) (skipped int) {
	fields, skipped := valid(r)
	if len(fields) == 0 {
		return skipped
	}
	var key []string
	if t.only == "" {
		key = strings.SplitN(r.Key, "|", len(t.keys))
		for i := range key {
			key[i] = visible(key[i])
		}
	}
	for name, value := range fields {
		if l := t.leaves[name]; l != nil && l.kind != infoLabel {
			l.send(key, value, ch)
		}
	}
	if t.info != nil {
		names := make([]string, len(t.names))
		for i, name := range t.names {
			names[i] = visible(fields[name])
		}
		ch <- prometheus.MustNewConstMetric(t.info, prometheus.GaugeValue, 1, names...)
	}
	return skipped
}

// valid returns the fields of a row that conform to the model, and the number of the
// others. With a wrong key all are others.
func valid(r rows.Row) (fields map[string]string, skipped int) {
	r.Fields = maps.Clone(r.Fields)
	for {
		_, err := rows.Decode(r)
		if err == nil {
			return r.Fields, skipped
		}
		e := rows.AsError(err)
		if e == nil || e.Field == "" {
			return nil, skipped + len(r.Fields)
		}
		if _, ok := r.Fields[e.Field]; !ok {
			return nil, skipped + len(r.Fields)
		}
		delete(r.Fields, e.Field)
		skipped++
	}
}

// send sends the metrics of a value that the model knows.
func (l *leaf) send(key []string, value string, ch chan<- prometheus.Metric) {
	one := func(v float64, last ...string) {
		ch <- prometheus.MustNewConstMetric(l.desc, l.value, v, slices.Concat(key, l.labels, last)...)
	}
	switch l.kind {
	case number:
		v, _ := strconv.ParseFloat(value, 64) // one by the model
		one(v * l.scale)
	case truth:
		one(float(value == "true"))
	case instant:
		at, _ := time.Parse(time.RFC3339Nano, value) // as above
		one(float64(at.UnixNano()) / 1e9)
	case choice:
		for _, v := range l.values {
			one(float(v == value), v)
		}
	case sentences:
		for _, s := range split(value) {
			one(1, visible(s))
		}
	}
}

// visible returns a label in which each character that terminals hide is an escape
// sequence, as in Go: two names that differ stay two.
func visible(label string) string {
	if text.Printable(label) == label {
		return label
	}
	quoted := strconv.Quote(label)
	return quoted[1 : len(quoted)-1]
}

// split returns the sentences of a text, sorted, each once.
func split(text string) []string {
	var all []string
	for s := range strings.SplitSeq(text, "; ") {
		if r := []rune(s); len(r) > maxRunes {
			s = string(r[:maxRunes]) + "…"
		}
		all = append(all, s)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), maxSentences)]
}

// float returns 1 or 0, as Prometheus has booleans.
func float(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
