// SPDX-License-Identifier: Apache-2.0

package packetpath

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	"sluice/orchagent-ext/daemon/policy"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/export/ipfix"
	"sluice/yang/model"
)

// meterConfig returns the settings of the meter; times in CONFIG_DB are in seconds.
func meterConfig(s *config.Snapshot) ipfix.MeterConfig {
	return ipfix.MeterConfig{
		Active:      time.Duration(*s.IPFIX.ActiveTimeoutS) * time.Second,
		PerPacket:   s.IPFIX.Mode == model.SonicSluice_SonicSluice_SLUICE_IPFIX_Global_Mode_packet,
		OrFlags:     s.IPFIX.Flags == model.SonicSluice_SonicSluice_SLUICE_IPFIX_Global_Flags_or,
		OmitInvalid: s.IPFIX.Invalid == model.SonicSluice_SonicSluice_SLUICE_IPFIX_Global_Invalid_omit,
	}
}

// transports are the transports by their value in the model.
var transports = map[model.E_SonicSluice_SonicSluice_SLUICE_IPFIX_COLLECTOR_SLUICE_IPFIX_COLLECTOR_LIST_Transport]ipfix.Transport{
	model.SonicSluice_SonicSluice_SLUICE_IPFIX_COLLECTOR_SLUICE_IPFIX_COLLECTOR_LIST_Transport_udp:  ipfix.UDP,
	model.SonicSluice_SonicSluice_SLUICE_IPFIX_COLLECTOR_SLUICE_IPFIX_COLLECTOR_LIST_Transport_tcp:  ipfix.TCP,
	model.SonicSluice_SonicSluice_SLUICE_IPFIX_COLLECTOR_SLUICE_IPFIX_COLLECTOR_LIST_Transport_tls:  ipfix.TLS,
	model.SonicSluice_SonicSluice_SLUICE_IPFIX_COLLECTOR_SLUICE_IPFIX_COLLECTOR_LIST_Transport_dtls: ipfix.DTLS,
}

// registry numbers the elements.
func registry(s *config.Snapshot) ipfix.Registry {
	if *s.IPFIX.Pen != 0 {
		return ipfix.Registry{PEN: *s.IPFIX.Pen, First: cmp.Or(policy.Value(s.IPFIX.FirstElementId), 1)}
	}
	return ipfix.Registry{IDs: [8]uint16(s.IPFIX.ElementIds)} // the model asks for eight
}

// exporterSettings are the settings of the exporter. With the zero value it is off.
type exporterSettings struct {
	registry   ipfix.Registry
	domain     uint32
	rate       uint32
	refresh    time.Duration
	messages   uint32 // until templates are sent again
	health     bool
	collectors []ipfix.Collector
}

// exporterSettingsOf returns those of a configuration. One of rate packets is sampled.
func exporterSettingsOf(s *config.Snapshot, rate uint32) exporterSettings {
	return exporterSettings{
		registry: registry(s), domain: *s.IPFIX.ObservationDomain, rate: rate,
		refresh: time.Duration(*s.IPFIX.TemplateRefreshS) * time.Second, messages: *s.IPFIX.TemplateRefreshPackets,
		health:     policy.ExportsHealth(s),
		collectors: collectors(s),
	}
}

// collectors returns the collectors in the order of their names.
func collectors(s *config.Snapshot) []ipfix.Collector {
	var all []ipfix.Collector
	for _, name := range slices.Sorted(maps.Keys(s.IPFIXCollectors)) {
		row := s.IPFIXCollectors[name]
		all = append(all, ipfix.Collector{
			Name:      name,
			Address:   net.JoinHostPort(policy.Value(row.Address), strconv.Itoa(int(config.CollectorPort(row)))),
			Transport: transports[row.Transport],
			CAFile:    policy.Value(row.CaFile), CertFile: policy.Value(row.CertFile), KeyFile: policy.Value(row.KeyFile),
			PathMTU: int(policy.Value(row.PathMtu)),
		})
	}
	return all
}

// exporter is the exporter while it runs.
type exporter struct {
	*ipfix.Exporter
	ignored *ipfix.Ignored // counts of packets that are left out
}

// newExporter returns an exporter. The error names the collector and its setting.
func newExporter(s *exporterSettings, env *Environment) (*exporter, error) {
	c := s.config(env)
	e, err := ipfix.New(c)
	if err != nil {
		return nil, err
	}
	return &exporter{e, c.Ignored}, nil
}

// config returns the configuration of the exporter.
func (e *exporterSettings) config(env *Environment) ipfix.Config {
	return ipfix.Config{
		Process:    ipfix.Process{Registry: e.registry, Domain: e.domain, SamplingRate: e.rate, Now: env.Now, Ignored: new(ipfix.Ignored), Health: e.health},
		Collectors: e.collectors, Refresh: e.refresh, RefreshMessages: e.messages, Log: env.Log, Read: env.Read,
	}
}
