// SPDX-License-Identifier: Apache-2.0

// Otelcol is the OpenTelemetry collector with the parts that sonic-container/compose/otelcol.yml
// names, less the receiver for Prometheus, which brings the libraries of all clouds: any settings are
// right for its stand-in here, and promtool judges them. A test builds it and lets it judge the file.
package main

import (
	"context"
	"fmt"
	"os"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlpexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/batchprocessor"
	"go.opentelemetry.io/collector/receiver"
)

func main() {
	c := otelcol.NewCommand(otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "otelcol", Description: "OpenTelemetry collector that judges a file", Version: "0"},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory(), envprovider.NewFactory()},
		}},
	})
	if err := c.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// scrapes are settings of the receiver for Prometheus.
type scrapes struct {
	Config map[string]any `mapstructure:"config"`
}

// standIn takes the place of the receiver for Prometheus in a pipeline, and receives nothing.
type standIn struct {
	component.StartFunc
	component.ShutdownFunc
}

// factories returns the parts.
func factories() (f otelcol.Factories, err error) {
	prometheus := receiver.NewFactory(component.MustNewType("prometheus"), func() component.Config { return &scrapes{} },
		receiver.WithMetrics(func(context.Context, receiver.Settings, component.Config, consumer.Metrics) (receiver.Metrics, error) {
			return standIn{}, nil
		}, component.StabilityLevelStable))
	if f.Receivers, err = otelcol.MakeFactoryMap(prometheus); err != nil {
		return f, err
	}
	if f.Processors, err = otelcol.MakeFactoryMap[processor.Factory](batchprocessor.NewFactory()); err != nil {
		return f, err
	}
	f.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](otlpexporter.NewFactory())
	return f, err
}
