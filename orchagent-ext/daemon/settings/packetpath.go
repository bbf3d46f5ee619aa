// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	"sluice/orchagent-ext/daemon/packetpath"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/export/ipfix"
	"sluice/yang/model"
)

// path returns the settings of the packet path.
func (r *resolved) path() packetpath.Settings {
	return packetpath.Settings{Learns: r.learns(), Library: driverOf(r.Global) == SAI, Export: r.export()}
}

// export returns the settings of the export of flows; nil: none are exported. Times in CONFIG_DB
// are in seconds.
func (r *resolved) export() *packetpath.Export {
	if !r.exports() {
		return nil
	}
	x := r.IPFIX
	return &packetpath.Export{
		Meter: ipfix.MeterConfig{
			Active:      time.Duration(*x.ActiveTimeoutS) * time.Second,
			PerPacket:   x.Mode == model.SonicSluice_SonicSluice_SLUICE_IPFIX_Global_Mode_packet,
			OrFlags:     x.Flags == model.SonicSluice_SonicSluice_SLUICE_IPFIX_Global_Flags_or,
			OmitInvalid: x.Invalid == model.SonicSluice_SonicSluice_SLUICE_IPFIX_Global_Invalid_omit,
		},
		Idle:   time.Duration(*x.IdleTimeoutS) * time.Second,
		Biflow: x.Mode == model.SonicSluice_SonicSluice_SLUICE_IPFIX_Global_Mode_biflow,
		Exporter: packetpath.Exporter{
			Registry: registry(x), Domain: *x.ObservationDomain,
			Refresh: time.Duration(*x.TemplateRefreshS) * time.Second, Messages: *x.TemplateRefreshPackets,
			Health: x.Health == config.Enabled, Collectors: collectors(r.IPFIXCollectors),
		},
	}
}

// registry numbers the elements.
func registry(x *config.IPFIX) ipfix.Registry {
	if *x.Pen != 0 {
		return ipfix.Registry{PEN: *x.Pen, First: cmp.Or(value(x.FirstElementId), 1)}
	}
	return ipfix.Registry{IDs: [8]uint16(x.ElementIds)} // the model asks for eight
}

// transports are the transports by their value in the model.
var transports = map[model.E_SonicSluice_SonicSluice_SLUICE_IPFIX_COLLECTOR_SLUICE_IPFIX_COLLECTOR_LIST_Transport]ipfix.Transport{
	model.SonicSluice_SonicSluice_SLUICE_IPFIX_COLLECTOR_SLUICE_IPFIX_COLLECTOR_LIST_Transport_udp:  ipfix.UDP,
	model.SonicSluice_SonicSluice_SLUICE_IPFIX_COLLECTOR_SLUICE_IPFIX_COLLECTOR_LIST_Transport_tcp:  ipfix.TCP,
	model.SonicSluice_SonicSluice_SLUICE_IPFIX_COLLECTOR_SLUICE_IPFIX_COLLECTOR_LIST_Transport_tls:  ipfix.TLS,
	model.SonicSluice_SonicSluice_SLUICE_IPFIX_COLLECTOR_SLUICE_IPFIX_COLLECTOR_LIST_Transport_dtls: ipfix.DTLS,
}

// collectors returns the collectors in the order of their names.
func collectors(rows map[string]*config.IPFIXCollector) []ipfix.Collector {
	var all []ipfix.Collector
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		row := rows[name]
		all = append(all, ipfix.Collector{
			Name:      name,
			Address:   net.JoinHostPort(value(row.Address), strconv.Itoa(int(config.CollectorPort(row)))),
			Transport: transports[row.Transport],
			CAFile:    value(row.CaFile), CertFile: value(row.CertFile), KeyFile: value(row.KeyFile),
			PathMTU: int(value(row.PathMtu)),
		})
	}
	return all
}
