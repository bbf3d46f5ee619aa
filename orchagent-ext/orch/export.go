// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"cmp"
	"context"
	"maps"
	"net"
	"reflect"
	"slices"
	"strconv"
	"time"

	"sluice/orchagent-ext/config"
	"sluice/orchagent-ext/ipfix"
	"sluice/yang/model"
)

// exports says whether flows are to be exported.
func exports(s *config.Snapshot) bool {
	return s.IPFIX.AdminState == config.Enabled && len(s.IPFIXCollectors) > 0
}

// exportsHealth says whether the records of flows have company: how their connections fare.
func exportsHealth(s *config.Snapshot) bool { return s.IPFIX.Health == config.Enabled }

func meterConfig(s *config.Snapshot) ipfix.MeterConfig {
	return ipfix.MeterConfig{
		Active:    time.Duration(*s.IPFIX.ActiveTimeoutS) * time.Second,
		PerPacket: s.IPFIX.Mode == model.SonicSluice_SonicSluice_SLUICE_IPFIX_Global_Mode_packet,
		OrFlags:   s.IPFIX.Flags == model.SonicSluice_SonicSluice_SLUICE_IPFIX_Global_Flags_or,
	}
}

var transports = map[model.E_SonicSluice_SonicSluice_SLUICE_IPFIX_COLLECTOR_SLUICE_IPFIX_COLLECTOR_LIST_Transport]ipfix.Transport{
	model.SonicSluice_SonicSluice_SLUICE_IPFIX_COLLECTOR_SLUICE_IPFIX_COLLECTOR_LIST_Transport_udp:  ipfix.UDP,
	model.SonicSluice_SonicSluice_SLUICE_IPFIX_COLLECTOR_SLUICE_IPFIX_COLLECTOR_LIST_Transport_tcp:  ipfix.TCP,
	model.SonicSluice_SonicSluice_SLUICE_IPFIX_COLLECTOR_SLUICE_IPFIX_COLLECTOR_LIST_Transport_tls:  ipfix.TLS,
	model.SonicSluice_SonicSluice_SLUICE_IPFIX_COLLECTOR_SLUICE_IPFIX_COLLECTOR_LIST_Transport_dtls: ipfix.DTLS,
}

// registry numbers the elements.
func registry(s *config.Snapshot) ipfix.Registry {
	if *s.IPFIX.Pen != 0 {
		return ipfix.Registry{PEN: *s.IPFIX.Pen, First: cmp.Or(number(s.IPFIX.FirstElementId), 1)}
	}
	return ipfix.Registry{IDs: [8]uint16(s.IPFIX.ElementIds)} // the model asks for eight
}

// exporterSettings are what the exporter works by. It is restarted where they differ. The
// zero value is no exporter.
type exporterSettings struct {
	registry   ipfix.Registry
	domain     uint32
	rate       uint32
	refresh    time.Duration
	messages   uint32 // until templates come again
	health     bool
	collectors any // an array of ipfix.Collector
}

// exporterSettingsOf are those that are configured.
func exporterSettingsOf(s *config.Snapshot) exporterSettings {
	return exporterSettings{
		registry: registry(s), domain: *s.IPFIX.ObservationDomain, rate: *s.IPFIX.SamplingRate,
		refresh: time.Duration(*s.IPFIX.TemplateRefreshS) * time.Second, messages: *s.IPFIX.TemplateRefreshPackets,
		health:     exportsHealth(s),
		collectors: array(collectors(s)),
	}
}

// array is a list as an array, which can be compared.
func array[T comparable](list []T) any {
	a := reflect.New(reflect.ArrayOf(len(list), reflect.TypeFor[T]())).Elem()
	reflect.Copy(a, reflect.ValueOf(list))
	return a.Interface()
}

func collectors(s *config.Snapshot) []ipfix.Collector {
	var all []ipfix.Collector
	for _, name := range slices.Sorted(maps.Keys(s.IPFIXCollectors)) {
		row := s.IPFIXCollectors[name]
		all = append(all, ipfix.Collector{
			Name:      name,
			Address:   net.JoinHostPort(orEmpty(row.Address), strconv.Itoa(int(config.CollectorPort(row)))),
			Transport: transports[row.Transport],
			CAFile:    orEmpty(row.CaFile), CertFile: orEmpty(row.CertFile), KeyFile: orEmpty(row.KeyFile),
			PathMTU: int(number(row.PathMtu)),
		})
	}
	return all
}

// config is the exporter's own.
func (e *exporterSettings) config(to []ipfix.Collector, of *Config) ipfix.Config {
	return ipfix.Config{
		Process:    ipfix.Process{Registry: e.registry, Domain: e.domain, SamplingRate: e.rate, Now: of.Now, Ignored: new(ipfix.Ignored), Health: e.health},
		Collectors: to, Refresh: e.refresh, RefreshMessages: e.messages, Log: of.Log, Read: of.Files.Read,
	}
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func number(n *uint16) uint16 {
	if n == nil {
		return 0
	}
	return *n
}

// exporting is the exporter while it runs, and what it works by.
type exporting struct {
	*ipfix.Exporter
	ignored  *ipfix.Ignored // what is not metered for it
	settings exporterSettings
	stop     context.CancelFunc
	done     chan struct{}
}

// restart makes the exporter one of the settings. before is called first where the
// running one ends: no exporter may run after that.
func (e *exporting) restart(ctx context.Context, g tasks, s exporterSettings, to []ipfix.Collector, of *Config, before func()) (*exporting, error) {
	if e != nil {
		if e.settings == s {
			return e, nil
		}
		before()
		e.Close()
		e.stop()
		<-e.done
	}
	if s == (exporterSettings{}) {
		return nil, nil
	}
	c := s.config(to, of)
	exporter, err := ipfix.New(c)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	e = &exporting{exporter, c.Ignored, s, stop, make(chan struct{})}
	g.Go(func() error {
		defer close(e.done)
		return exporter.Run(ctx)
	})
	return e, nil
}
