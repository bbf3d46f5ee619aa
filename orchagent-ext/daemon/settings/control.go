// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"sluice/orchagent-ext/daemon/control"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/wire/notify"
	"sluice/yang/model"
)

var encapsulations = map[model.E_SonicSluice_SonicSluice_SLUICE_PFCM_Global_Encapsulation]notify.Encapsulation{
	model.SonicSluice_SonicSluice_SLUICE_PFCM_Global_Encapsulation_icmpv6:              notify.ICMPv6,
	model.SonicSluice_SonicSluice_SLUICE_PFCM_Global_Encapsulation_hop_by_hop:          notify.HopByHop,
	model.SonicSluice_SonicSluice_SLUICE_PFCM_Global_Encapsulation_destination_options: notify.DestinationOptions,
}

// control returns the settings of flow control.
func (r *resolved) control() control.Settings {
	s := control.Settings{PFCM: r.sendsPFCM(), PPFC: r.usesPPFC(), Advice: r.advises()}
	if !s.On() {
		return s
	}
	s.Task = r.task()
	s.Source = r.source()
	s.FiveTuple = r.Global.Classification == config.Classify5Tuple
	for _, p := range r.switchPorts() {
		s.Ports = append(s.Ports, p.Name)
	}
	s.Devices, s.Thresholds = r.devices(), r.thresholds()
	s.Read, s.Unread = r.watchedQueues()
	s.Warnings = append(r.sourceWarnings(&s.Task), r.pfcmWarnings()...)
	return s
}

// task returns the configuration of the task, all but its ports, its queues, and where flows
// are held.
func (r *resolved) task() flowcontrol.Config {
	p, on := r.PFCM, r.sendsPFCM()
	c := flowcontrol.Config{
		Generate: on && *p.Generate, Obey: on && *p.Enforce, Translate: on && *p.TranslatePfc,
		Encapsulation: encapsulations[p.Encapsulation], Codes: codePoints(r.PFCM, r.PPFC), Seed: *r.Global.StreamIdSeed,
		HoldPair:        p.UnknownStream == model.SonicSluice_SonicSluice_SLUICE_PFCM_Global_UnknownStream_pair,
		HoldLimit:       time.Duration(*p.HoldLimitMs) * time.Millisecond,
		Receive:         flowcontrol.Rate{PerSecond: *p.RxRate, Burst: *p.RxBurst},
		ReceiveBySource: perTenth(*p.RxRatePerSource),
		Send:            perTenth(*p.TxRate), SendClient: perTenth(*r.RateAdvice.TxRate),
		Mark: value(p.RequireMark),
	}
	r.addSource(&c)
	return c
}

// codePoints returns the configured code points.
func codePoints(pfcm *config.PFCM, ppfc *config.PPFC) notify.CodePoints {
	c := notify.DefaultCodePoints()
	c.PFCMType, c.PFCMCode, c.PFCMOption = *pfcm.Icmpv6Type, *pfcm.Icmpv6Code, *pfcm.OptionType
	c.PPFCTypeV6, c.PPFCCodeV6 = *ppfc.Icmpv6Type, *ppfc.Icmpv6Code
	c.PPFCTypeV4, c.PPFCCodeV4 = *ppfc.Icmpv4Type, *ppfc.Icmpv4Code
	c.PPFCPort = *ppfc.UdpPort
	c.Figure2 = ppfc.Figure2 == model.SonicSluice_SonicSluice_SLUICE_PPFC_Global_Figure2_accept
	return c
}

// perTenth returns a rate with bursts of a tenth of a second.
func perTenth(rate uint32) flowcontrol.Rate {
	return flowcontrol.Rate{PerSecond: rate, Burst: max(rate/10, 1)}
}

// devices returns the netdevs of SLUICE_PORT that have the addresses, sorted by name: of a member
// its PortChannel, whose own row takes precedence.
func (r *resolved) devices() []control.Device {
	rows, members := map[string]*config.Port{}, map[string][]control.Member{}
	for _, p := range r.switchPorts() {
		device := p.Name
		if p.Channel != "" {
			device = p.Channel
		}
		members[device] = append(members[device], control.Member{Name: p.Name, SpeedMbps: r.SwitchPorts[p.Name].SpeedMbps})
		if row := r.ports[p.Name]; row != nil && rows[device] == nil {
			if own := r.Ports[device]; own != nil {
				row = own
			}
			rows[device] = row
		}
	}
	var all []control.Device
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		row := rows[name]
		edge := row.Role == config.RoleEdge
		all = append(all, control.Device{
			Port: flowcontrol.Port{
				Name: name, Notify: !edge || row.UpstreamNeighbor != nil && row.Threshold != nil,
				Border: row.Role == config.RoleBorder, Edge: edge,
			},
			Watched: !edge || row.UpstreamNeighbor != nil, Upstream: parsed(row.UpstreamNeighbor), Members: members[name],
		})
	}
	return all
}

// thresholds returns the thresholds of queues, by port. One that is rejected is left out.
func (r *resolved) thresholds() map[string]control.Threshold {
	all := map[string]control.Threshold{}
	for name, row := range r.ports {
		if t := r.Thresholds[value(row.Threshold)]; t != nil {
			all[name] = control.Threshold{Threshold: threshold(t), Queues: t.Queues, Buffer: value(t.BufferBytes), SpeedMbps: r.SwitchPorts[name].SpeedMbps}
		}
	}
	return all
}

// threshold returns the threshold of a row of SLUICE_THRESHOLD.
func threshold(t *config.Threshold) congestion.Threshold {
	c := congestion.Threshold{
		High: *t.HighBytes, Low: config.LowBytes(t), Average: time.Duration(*t.AverageUs) * time.Microsecond,
		Action: notify.Pause, Duration: time.Duration(*t.DurationUs) * time.Microsecond,
	}
	if t.Action == model.SonicSluice_SonicSluice_SLUICE_THRESHOLD_SLUICE_THRESHOLD_LIST_Action_reduce {
		c.Action = notify.Reduce(int(*t.Reduction))
	}
	return c
}

// pfcmWarnings returns the warnings about rows that PFCM does not follow.
func (r *resolved) pfcmWarnings() (w []string) {
	if !r.sendsPFCM() {
		return nil
	}
	if r.PFCM.AllowLoss != nil {
		w = append(w, "SLUICE_PFCM|global allow_loss is ignored: a hold that drops breaks RoCEv2")
	}
	if r.Global.StreamIdScope != config.ScopeHash {
		w = append(w, "stream_id_scope of SLUICE|global is not hash: PFCM names flows by scope hash nonetheless, and so must its neighbors")
	}
	return w
}

// parsed returns an address that the model has validated; the zero value where text is nil.
func parsed(text *string) (a netip.Addr) {
	if text != nil {
		a, _ = netip.ParseAddr(*text)
	}
	return a
}
