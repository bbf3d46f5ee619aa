// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
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

// exporterConfig is the exporter that is configured.
func exporterConfig(s *config.Snapshot, of *Config) ipfix.Config {
	c := ipfix.Config{
		Process: ipfix.Process{
			Registry:     registry(s),
			Domain:       *s.IPFIX.ObservationDomain,
			SamplingRate: *s.IPFIX.SamplingRate,
			Now:          of.Now,
		},
		Refresh:         time.Duration(*s.IPFIX.TemplateRefreshS) * time.Second,
		RefreshMessages: *s.IPFIX.TemplateRefreshPackets,
		Log:             of.Log,
		Read:            of.Files.Read,
	}
	for _, name := range slices.Sorted(maps.Keys(s.IPFIXCollectors)) {
		row := s.IPFIXCollectors[name]
		c.Collectors = append(c.Collectors, ipfix.Collector{
			Name:      name,
			Address:   net.JoinHostPort(orEmpty(row.Address), strconv.Itoa(int(config.CollectorPort(row)))),
			Transport: transports[row.Transport],
			CAFile:    orEmpty(row.CaFile), CertFile: orEmpty(row.CertFile), KeyFile: orEmpty(row.KeyFile),
			PathMTU: int(number(row.PathMtu)),
		})
	}
	return c
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

// exporting is the exporter while it runs, and what it was configured with.
type exporting struct {
	*ipfix.Exporter
	ignored *ipfix.Ignored // what is not metered for it
	config  string
	stop    context.CancelFunc
	done    chan struct{}
}

// restart makes the exporter one of config; nil is none. before is called first
// where the running one ends: no exporter may run after that.
func (e *exporting) restart(ctx context.Context, g tasks, c *ipfix.Config, before func()) (*exporting, error) {
	name := ""
	if c != nil {
		name = fmt.Sprint(c.Registry, c.Domain, c.SamplingRate, c.Refresh, c.RefreshMessages, c.Collectors)
	}
	if e != nil {
		if name == e.config {
			return e, nil
		}
		before()
		e.Close()
		e.stop()
		<-e.done
	}
	if c == nil {
		return nil, nil
	}
	c.Ignored = new(ipfix.Ignored)
	exporter, err := ipfix.New(*c)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	e = &exporting{exporter, c.Ignored, name, stop, make(chan struct{})}
	g.Go(func() error {
		defer close(e.done)
		return exporter.Run(ctx)
	})
	return e, nil
}
