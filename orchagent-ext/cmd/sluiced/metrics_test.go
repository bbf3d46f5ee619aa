// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMetricsOptions: by default metrics are served, on the loopback alone, and no
// flow has any of its own.
func TestMetricsOptions(t *testing.T) {
	const loopback = "127.0.0.1:9475"
	for _, tt := range []struct {
		name string
		env  map[string]string
		args []string
		want metricsOptions
		err  string
	}{
		{name: "default", want: metricsOptions{address: loopback}},
		{name: "environment", env: map[string]string{"SLUICE_METRICS": ":80", "SLUICE_METRICS_FLOWS": "5"}, want: metricsOptions{address: ":80", flows: 5}},
		{
			name: "flags before environment", env: map[string]string{"SLUICE_METRICS": ":80", "SLUICE_METRICS_FLOWS": "5"},
			args: []string{"--metrics", "off", "--metrics-flows", "7"}, want: metricsOptions{address: "off", flows: 7},
		},
		{name: "several ASICs", env: map[string]string{"NAMESPACE_ID": "2"}, want: metricsOptions{address: loopback, asic: "asic2"}},
		{name: "no number", env: map[string]string{"SLUICE_METRICS_FLOWS": "many"}, err: "SLUICE_METRICS_FLOWS=many: it must be a number of flows, 0 or more"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, err := parse(tt.args, func(name string) string { return tt.env[name] }, io.Discard)
			if err != nil || tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Fatalf("%v, want %s", err, tt.err)
				}
				return
			}
			if diff := cmp.Diff(tt.want, o.metrics, cmp.AllowUnexported(metricsOptions{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNoMetrics(t *testing.T) {
	o := metricsOptions{address: "off"}
	s, err := o.server(nil, "", nil, nil)
	if s != nil || err != nil {
		t.Errorf("%v %v", s, err)
	}
}
