// SPDX-License-Identifier: Apache-2.0

package packetpath

import (
	"time"

	"sluice/orchagent-ext/export/ipfix"
)

// Export are the settings of the export of flows.
type Export struct {
	Meter    ipfix.MeterConfig
	Idle     time.Duration // after which a flow ends
	Biflow   bool          // both directions of a connection are one record
	Exporter Exporter
}

// Exporter are the settings of the exporter. With the zero value it is off.
type Exporter struct {
	Registry   ipfix.Registry
	Domain     uint32 // of observation
	Refresh    time.Duration
	Messages   uint32 // until templates are sent again
	Health     bool   // records of the health of connections are sent, too
	Collectors []ipfix.Collector

	rate uint32 // one of so many packets is sampled
}

// exporter is the exporter while it runs.
type exporter struct {
	*ipfix.Exporter
	ignored *ipfix.Ignored // counts of packets that are left out
}

// Report implements [task.Worker].
func (e *exporter) Report() []ipfix.Stats { return e.Stats() }

// Finish ends the input of records: those that wait are sent.
func (e *exporter) Finish() { e.Close() }

// newExporter returns an exporter. The error names the collector and its setting.
func newExporter(s *Exporter, env *Environment) (*exporter, error) {
	c := s.config(env)
	e, err := ipfix.New(c)
	if err != nil {
		return nil, err
	}
	return &exporter{e, c.Ignored}, nil
}

// config returns the configuration of the exporter.
func (e *Exporter) config(env *Environment) ipfix.Config {
	return ipfix.Config{
		Process:    ipfix.Process{Registry: e.Registry, Domain: e.Domain, SamplingRate: e.rate, Now: env.Now, Ignored: new(ipfix.Ignored), Health: e.Health},
		Collectors: e.Collectors, Refresh: e.Refresh, RefreshMessages: e.Messages, Log: env.Log, Read: env.Read,
	}
}
