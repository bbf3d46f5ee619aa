// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/daemon/process"
)

// TestMetricsOptions: by default metrics are served, on the loopback alone, and the 10
// heaviest flows have some of their own.
func TestMetricsOptions(t *testing.T) {
	const loopback = "127.0.0.1:9475"
	for _, tt := range []struct {
		name string
		env  map[string]string
		args []string
		want process.Metrics
		err  string
	}{
		{name: "default", want: process.Metrics{Address: loopback, Flows: 10}},
		{name: "environment", env: map[string]string{"SLUICE_METRICS": ":80", "SLUICE_METRICS_FLOWS": "5"}, want: process.Metrics{Address: ":80", Flows: 5}},
		{
			name: "flags before environment", env: map[string]string{"SLUICE_METRICS": ":80", "SLUICE_METRICS_FLOWS": "5"},
			args: []string{"--metrics", "off", "--metrics-flows", "7"}, want: process.Metrics{Address: "off", Flows: 7},
		},
		{name: "several ASICs", env: map[string]string{"NAMESPACE_ID": "2"}, want: process.Metrics{Address: loopback, Flows: 10, ASIC: "asic2"}},
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
			if diff := cmp.Diff(tt.want, o.Metrics); diff != "" {
				t.Error(diff)
			}
		})
	}
}
