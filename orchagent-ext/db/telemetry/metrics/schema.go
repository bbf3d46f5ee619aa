// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"maps"
	"slices"
	"strings"

	"github.com/openconfig/goyang/pkg/yang"
	"github.com/prometheus/client_golang/prometheus"

	"sluice/orchagent-ext/db/telemetry"
	"sluice/yang/model"
	"sluice/yang/rows"
)

// kind is the kind of metric of a leaf.
type kind int

const (
	number    kind = iota // of a counter or a gauge
	truth                 // true: 1
	instant               // seconds since 1970
	choice                // a series of each value
	sentences             // a series of each sentence
	infoLabel             // of the table's info
)

// leaf is a leaf that is exported.
type leaf struct {
	kind   kind
	desc   *prometheus.Desc
	value  prometheus.ValueType
	scale  float64  // to base units
	labels []string // values that follow those of the key
	values []string // of a choice
	metric string   // name of the metric; "" of a label of the info
	last   string   // name of the label that follows those of the key; "": none
	digits int      // of a decimal64 behind its point
}

// table is a table that is exported.
type table struct {
	name, database string
	only           string   // key of its only row
	keys           []string // labels of the key of a list
	leaves         map[string]*leaf
	info           *prometheus.Desc // or nil
	names          []string         // leaves that are the info's labels
	infoName       string           // name of the info's metric; "": it has none
}

// prefix of all names of metrics.
const prefix = "sluice"

// droppedBy begins the leaves that become the label reason.
const droppedBy = "dropped_"

// lists are the tables of STATE_DB with several rows that are exported: they have few.
var lists = []string{telemetry.TablePlacementGroup, telemetry.TablePlacementMember, telemetry.TableHost}

// tables are all that are exported. Their rows of flows are among them only where
// flows says so.
func tables(flows bool) map[string]*table {
	all := make(map[string]*table)
	for _, module := range model.SchemaTree()["Device"].Dir {
		for _, database := range []string{"STATE_DB", "COUNTERS_DB"} {
			for _, name := range rows.Tables(database) {
				e, ok := module.Dir[name]
				listed := slices.Contains(lists, name) || flows && name == telemetry.TableFlow
				if !ok || database == "STATE_DB" && rows.Only(name) == "" && !listed {
					continue
				}
				all[name] = newTable(database, e)
			}
		}
	}
	return all
}

// newTable returns the metrics of a table by its schema.
func newTable(database string, e *yang.Entry) *table {
	t := &table{name: e.Name, database: database, only: rows.Only(e.Name), leaves: make(map[string]*leaf)}
	var row *yang.Entry
	for _, row = range e.Dir { // it has one: the container global, or the list
	}
	noun := nounOf(e.Name)
	keys := strings.Fields(row.Key)
	labels := make([]string, len(keys))
	for i, key := range keys {
		if labels[i] = key; key == "name" || key == "id" {
			labels[i] = noun
		}
	}
	t.keys = labels
	listed := database == "STATE_DB" && t.only == "" && !slices.Contains(lists, e.Name)
	for _, name := range slices.Sorted(maps.Keys(row.Dir)) {
		if slices.Contains(keys, name) {
			continue
		}
		l := newLeaf(noun, labels, row.Dir[name])
		switch {
		case l == nil, listed && l.kind != number, listed && l.value == prometheus.GaugeValue && !hasUnit(name):
			// in a list of STATE_DB other leaves than amounts tell what a row is about
			continue
		case l.kind == infoLabel:
			if t.only == "" {
				continue
			}
			t.names = append(t.names, name)
		}
		t.leaves[name] = l
	}
	if len(t.names) > 0 {
		t.infoName = join(prefix, noun, "info")
		t.info = prometheus.NewDesc(t.infoName, help(e, strings.Join(t.names, ", ")), t.names, nil)
	}
	return t
}

// newLeaf returns the metric of a leaf, or nil for one that is left out.
func newLeaf(noun string, labels []string, e *yang.Entry) *leaf {
	l := &leaf{value: prometheus.GaugeValue, scale: 1, digits: e.Type.FractionDigits}
	name, text := e.Name, help(e, e.Name)
	keys := len(labels)
	stem, quantile, _ := strings.Cut(name, "_us_")
	switch {
	case quantiles[quantile] != "":
		name, text, l.scale = stem+"_seconds", "How long it took at most, for a share of all that were measured since the start.", 1e-6
		labels, l.labels = append(slices.Clip(labels), "share"), []string{quantiles[quantile]}
	case e.Type.Name == "counter" && quantile == "n":
		name, l.value = stem+"_measured_total", prometheus.CounterValue
	case e.Type.Name == "counter":
		l.value = prometheus.CounterValue
		if reason, ok := strings.CutPrefix(name, droppedBy); ok {
			name, text = "dropped", "What was dropped, by the first reason that held."
			labels, l.labels = append(slices.Clip(labels), "reason"), []string{reason}
		}
		name += "_total"
	case e.Type.Name == "timestamp":
		l.kind, name = instant, strings.TrimSuffix(name, "_time")+"_timestamp_seconds"
	case e.Type.Name == "sentence":
		return nil
	case e.Type.Name == "sentences":
		l.kind, labels = sentences, append(slices.Clip(labels), name)
	case e.Type.Kind == yang.Ybool:
		l.kind = truth
	case e.Type.Kind == yang.Yenum:
		l.kind, labels = choice, append(slices.Clip(labels), name)
		l.values = slices.Sorted(maps.Keys(e.Type.Enum.ToInt))
	case e.Type.Kind == yang.Ydecimal64, yang.Yint8 <= e.Type.Kind && e.Type.Kind <= yang.Yuint64:
		for _, u := range units {
			if stem, ok := strings.CutSuffix(name, u.of); ok {
				name, l.scale = stem+u.base, u.scale
				break
			}
		}
	default:
		l.kind = infoLabel
		return l
	}
	l.metric = join(prefix, noun, name)
	if len(labels) > keys {
		l.last = labels[keys]
	}
	l.desc = prometheus.NewDesc(l.metric, text, labels, nil)
	return l
}

// quantiles are the quantiles of leaves of times, by the ending of the name after the
// unit.
var quantiles = map[string]string{"p50": "0.5", "p99": "0.99", "p999": "0.999", "max": "1"}

// units are the endings of leaves' names by unit, with the base units of Prometheus.
var units = []struct {
	of, base string
	scale    float64
}{
	{"_percent", "_ratio", 0.01},
	{"_mbps", "_bytes_per_second", 1e6 / 8},
	{"_rate", "_bytes_per_second", 1},
	{"_bytes", "_bytes", 1},
	{"_us", "_seconds", 1e-6},
	{"_ms", "_seconds", 1e-3},
}

// hasUnit reports whether a leaf's name ends in a unit.
func hasUnit(name string) bool {
	for _, u := range units {
		if strings.HasSuffix(name, u.of) {
			return true
		}
	}
	return false
}

// nounOf returns the noun of a table in names of metrics: port for SLUICE_PORT_STATS, ""
// for SLUICE_STATS.
func nounOf(table string) string {
	noun := strings.TrimPrefix(table, "SLUICE_")
	if noun == "STATS" || noun == "STATE" {
		return ""
	}
	return strings.ToLower(strings.TrimSuffix(noun, "_STATS"))
}

// join joins the parts of a metric's name, leaving out empty ones.
func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "_")
}

// help is the description of the model, on one line; a leaf without one has its table's.
func help(e *yang.Entry, what string) string {
	if e.Description == "" {
		e, what = e.Parent.Parent, ": "+what+"."
	} else if e.Dir != nil {
		what = ": " + what + "."
	} else {
		what = ""
	}
	text := strings.Join(strings.Fields(e.Description), " ")
	if what != "" {
		text = strings.TrimSuffix(text, ".") + what
	}
	return text
}
