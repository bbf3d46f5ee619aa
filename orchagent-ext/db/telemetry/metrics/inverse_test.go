// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"sluice/yang/rows"
)

// example returns a value that a leaf may have, the n-th.
func example(l *rows.Leaf, n int) string {
	if len(l.Values) > 0 {
		return l.Values[n%len(l.Values)]
	}
	return ""
}

// exampleRows are rows with a value of each leaf that is a metric.
func exampleRows(t *testing.T) (all []rows.Row) {
	t.Helper()
	for name, of := range tables(true) {
		d, _ := rows.Describe(name)
		for n := range 2 {
			r := rows.Row{Table: name, Key: d.Only, Fields: map[string]string{}}
			if d.Only == "" {
				for i, k := range d.Keys {
					value := fmt.Sprint(n)
					if len(k.Values) > 0 {
						value = example(&k, n)
					} else if i == 0 {
						value = fmt.Sprint("Ethernet", 4*n)
					}
					if i > 0 {
						r.Key += "|"
					}
					r.Key += value
				}
				if name == "SLUICE_HOST" {
					r.Key = fmt.Sprintf("2001:db8::%d", n+1)
				}
			}
			for i, l := range d.Leaves {
				for _, value := range []string{example(&l, n+i), fmt.Sprint(7 + i + n), fmt.Sprintf("%d.5", i%90), "true", "2026-11-27T14:05:00Z", "2026-11-27T14:05:00.123Z", "one; two, three", "fe80::1"} {
					r.Fields[l.Column] = value
					if _, err := rows.Decode(rows.Row{Table: r.Table, Key: r.Key, Fields: map[string]string{l.Column: value}}); value != "" && err == nil {
						break
					}
					delete(r.Fields, l.Column)
				}
			}
			if _, err := rows.Decode(r); err != nil {
				t.Fatal(err)
			}
			maps.DeleteFunc(r.Fields, func(field, _ string) bool {
				l := of.leaves[field]
				return l == nil
			})
			if all = append(all, r); d.Only != "" {
				break
			}
		}
	}
	return all
}

func TestInverseReturnsTheRowsOfTheMetrics(t *testing.T) {
	want := exampleRows(t)
	c := &collector{tables: tables(true), flows: 10, read: func(context.Context) ([]rows.Row, error) { return want, nil }, failed: func(err error) { t.Error(err) }}
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var samples []Sample
	for _, f := range families {
		for _, m := range f.GetMetric() {
			s := Sample{Name: f.GetName(), Labels: map[string]string{"instance": "leaf1:9465", "job": "sluice"}, Value: m.GetGauge().GetValue() + m.GetCounter().GetValue()}
			for _, l := range m.GetLabel() {
				s.Labels[l.GetName()] = l.GetValue()
			}
			samples = append(samples, s)
		}
	}
	got := NewInverse().Rows(samples)
	byName := func(all []rows.Row) map[string]map[string]string {
		m := map[string]map[string]string{}
		for _, r := range all {
			m[r.Name()] = r.Fields
		}
		return m
	}
	if diff := cmp.Diff(byName(want), byName(got)); diff != "" {
		t.Error(diff)
	}
	fields := 0
	for _, r := range got {
		fields += len(r.Fields)
	}
	if len(got) < 20 || fields < 300 {
		t.Errorf("%d rows with %d fields", len(got), fields)
	}
	if !slices.IsSortedFunc(got, func(a, b rows.Row) int { return cmpNames(a, b) }) {
		t.Error("the rows are not sorted")
	}
}

// cmpNames compares rows by table and key.
func cmpNames(a, b rows.Row) int {
	return slices.Compare([]string{a.Table, a.Key}, []string{b.Table, b.Key})
}

func TestInverseLeavesOutWhatTheModelDoesNotHave(t *testing.T) {
	port := map[string]string{"port": "Ethernet0"}
	got := NewInverse().Rows([]Sample{
		{Name: "up", Labels: port, Value: 1},
		{Name: "sluice_port_rx_packets_total", Value: 1}, // of no port
		{Name: "sluice_port_rx_packets_total", Labels: port, Value: -1},
		{Name: "sluice_port_tx_packets_total", Labels: port, Value: 7},
		{Name: "sluice_port_oper_status", Labels: map[string]string{"port": "Ethernet0", "oper_status": "sideways"}, Value: 1},
	})
	want := []rows.Row{{Table: "SLUICE_PORT_STATS", Key: "Ethernet0", Fields: map[string]string{"tx_packets": "7"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
