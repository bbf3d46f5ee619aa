// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"log/slog"
	"strconv"

	"sluice/orchagent-ext/sonicdb"
	"sluice/orchagent-ext/telemetry/metrics"
)

// noMetrics is the value that turns metrics off.
const noMetrics = "off"

// metricsOptions say what Prometheus gets.
type metricsOptions struct {
	address string
	flows   int    // that get metrics of their own
	asic    string // label of all metrics; empty: there is one ASIC
}

// define defines the flags. or returns the value of a variable of the environment,
// or the other one.
func (o *metricsOptions) define(f *flag.FlagSet, or func(name, fallback string) string) error {
	const variable = "SLUICE_METRICS_FLOWS"
	flows, err := strconv.Atoi(or(variable, "0"))
	if err != nil {
		return fmt.Errorf("%s=%s: it must be a number of flows, 0 or more", variable, or(variable, ""))
	}
	f.IntVar(&o.flows, "metrics-flows", flows, "`number` of flows, the heaviest, that have metrics of their own ("+variable+")")
	f.StringVar(&o.address, "metrics", or("SLUICE_METRICS", metrics.DefaultAddress), "`address` where Prometheus finds /metrics, and others /healthz; off: none (SLUICE_METRICS)")
	if id := or("NAMESPACE_ID", ""); id != "" {
		o.asic = "asic" + id
	}
	return nil
}

// server returns what serves the metrics; nil: nothing is to.
func (o *metricsOptions) server(d *sonicdb.Databases, namespace string, log *slog.Logger, hangs func() string) (*metrics.Server, error) {
	if o.address == noMetrics {
		return nil, nil
	}
	if namespace != "" {
		o.asic = namespace
	}
	return metrics.New(metrics.Config{Address: o.address, Databases: d, ASIC: o.asic, Flows: o.flows, Log: log, Hangs: hangs})
}
