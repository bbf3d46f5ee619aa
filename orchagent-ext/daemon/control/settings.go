// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"sluice/orchagent-ext/daemon/policy"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/hold/neighbors"
	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
	"sluice/yang/model"
)

var encapsulations = map[model.E_SonicSluice_SonicSluice_SLUICE_PFCM_Global_Encapsulation]notify.Encapsulation{
	model.SonicSluice_SonicSluice_SLUICE_PFCM_Global_Encapsulation_icmpv6:              notify.ICMPv6,
	model.SonicSluice_SonicSluice_SLUICE_PFCM_Global_Encapsulation_hop_by_hop:          notify.HopByHop,
	model.SonicSluice_SonicSluice_SLUICE_PFCM_Global_Encapsulation_destination_options: notify.DestinationOptions,
}

// codePoints returns the configured code points.
func codePoints(s *config.Snapshot) notify.CodePoints {
	c := notify.DefaultCodePoints()
	c.PFCMType, c.PFCMCode, c.PFCMOption = *s.PFCM.Icmpv6Type, *s.PFCM.Icmpv6Code, *s.PFCM.OptionType
	c.PPFCTypeV6, c.PPFCCodeV6 = *s.PPFC.Icmpv6Type, *s.PPFC.Icmpv6Code
	c.PPFCTypeV4, c.PPFCCodeV4 = *s.PPFC.Icmpv4Type, *s.PPFC.Icmpv4Code
	c.PPFCPort = *s.PPFC.UdpPort
	c.Figure2 = s.PPFC.Figure2 == model.SonicSluice_SonicSluice_SLUICE_PPFC_Global_Figure2_accept
	return c
}

// config returns the configuration of the task by the methods of the switch, all but its ports
// and queues.
func (s Settings) config() *flowcontrol.Config {
	c := configOf(s.Snapshot)
	if !s.watches() {
		c.Generate, c.PPFC = false, nil
	}
	if s.Choices.Method(engine.NeedHold) == engine.Source {
		c.Source = sourceOf(s.Snapshot)
	}
	return c
}

// configOf returns the configuration of the task, all but its ports, its queues, and where flows
// are held.
func configOf(s *config.Snapshot) *flowcontrol.Config {
	p := s.PFCM
	on := policy.SendsPFCM(s)
	c := &flowcontrol.Config{
		Generate: on && *p.Generate, Obey: on && *p.Enforce, Translate: on && *p.TranslatePfc,
		Encapsulation: encapsulations[p.Encapsulation], Codes: codePoints(s), Seed: *s.Global.StreamIdSeed,
		HoldPair:        p.UnknownStream == model.SonicSluice_SonicSluice_SLUICE_PFCM_Global_UnknownStream_pair,
		HoldLimit:       time.Duration(*p.HoldLimitMs) * time.Millisecond,
		Receive:         flowcontrol.Rate{PerSecond: *p.RxRate, Burst: *p.RxBurst},
		ReceiveBySource: perTenth(*p.RxRatePerSource),
		Send:            perTenth(*p.TxRate), SendClient: perTenth(*s.RateAdvice.TxRate),
	}
	if p.RequireMark != nil {
		c.Mark = *p.RequireMark
	}
	addSource(c, s)
	return c
}

// perTenth returns a rate with bursts of a tenth of a second.
func perTenth(rate uint32) flowcontrol.Rate {
	return flowcontrol.Rate{PerSecond: rate, Burst: max(rate/10, 1)}
}

// deviceRows returns the rows of SLUICE_PORT by the netdev that has the addresses: the
// PortChannel of a member. The PortChannel's own row takes precedence.
func deviceRows(s *config.Snapshot) map[string]*config.Port {
	devices := map[string]*config.Port{}
	for _, p := range policy.Ports(s) {
		row := s.Resolve()[p.Name]
		if row == nil {
			continue
		}
		device := p.Name
		if p.Channel != "" {
			device = p.Channel
		}
		if own := s.Ports[device]; own != nil {
			row = own
		}
		if devices[device] == nil {
			devices[device] = row
		}
	}
	return devices
}

// watched returns the netdevs whose neighbors are needed, each with the configured neighbor or
// the zero value. Edge ports are left out: hosts get no PFCM.
func watched(s *config.Snapshot) map[string]netip.Addr {
	configured := map[string]netip.Addr{}
	for name, row := range deviceRows(s) {
		if row.UpstreamNeighbor != nil {
			// the model has validated it
			configured[name], _ = netip.ParseAddr(*row.UpstreamNeighbor)
		} else if row.Role != config.RoleEdge {
			configured[name] = netip.Addr{}
		}
	}
	return configured
}

// portsOf returns the ports of the task, sorted by name.
func portsOf(s *config.Snapshot, known map[string]neighbors.Port, id func(name string) sai.ObjectID) []flowcontrol.Port {
	members := map[string][]engine.Port{}
	for _, p := range policy.Ports(s) {
		device := p.Name
		if p.Channel != "" {
			device = p.Channel
		}
		members[device] = append(members[device], p)
	}
	var ports []flowcontrol.Port
	rows := deviceRows(s)
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		row, n := rows[name], known[name]
		p := flowcontrol.Port{
			Name: name, Index: n.Index, MAC: n.MAC, Self: n.Self, Neighbor: n.Neighbor, Also: n.Also,
			Notify: row.Role != config.RoleEdge || row.UpstreamNeighbor != nil && row.Threshold != nil,
			Border: row.Role == config.RoleBorder, Edge: row.Role == config.RoleEdge,
		}
		for _, m := range members[name] {
			if port := id(m.Name); port != sai.Null {
				p.Members = append(p.Members, port)
				p.Speed = s.SwitchPorts[m.Name].SpeedMbps
			}
		}
		if len(p.Members) > 0 {
			ports = append(ports, p)
		}
	}
	return ports
}

// queuesOf returns the queues that have a threshold; sends reports whether the node sends
// messages about them. The error names the ports whose queues the switch does not list.
func queuesOf(s *config.Snapshot, sw Ports, sends bool) (map[sai.ObjectID]flowcontrol.Queue, error) {
	queues := map[sai.ObjectID]flowcontrol.Queue{}
	if !sends {
		return queues, nil
	}
	var errs []error
	for name, row := range s.Resolve() {
		port := sw.PortID(name)
		if row.Threshold == nil || port == sai.Null {
			continue
		}
		t := s.Thresholds[*row.Threshold]
		if t == nil {
			continue // the threshold is rejected, and so is the row
		}
		ids, err := sw.QueueIDs(name)
		if err == nil && len(ids) == 0 {
			err = errors.New("the switch has none; the software switch has some where the SAI profile says SLUICE_QUEUES=8")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("queues of port %s, which has a threshold: %w", name, err))
			continue
		}
		for i, id := range ids {
			if len(t.Queues) == 0 || slices.Contains(t.Queues, uint8(i)) {
				queues[id] = flowcontrol.Queue{Port: port, Name: name, Number: uint8(i), Threshold: threshold(t)}
			}
		}
	}
	return queues, errors.Join(errs...)
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

// warnings returns the warnings about notifications while they work.
func warnings(s *config.Snapshot, c *flowcontrol.Config, known map[string]neighbors.Port) []string {
	var w []string
	w = append(w, sourceWarnings(s, c)...)
	if needsThreshold(c) && len(c.Queues) == 0 {
		w = append(w, "notifications are to be sent, and no port of SLUICE_PORT has a threshold")
	}
	if !policy.SendsPFCM(s) {
		return w
	}
	if s.PFCM.AllowLoss != nil {
		w = append(w, "SLUICE_PFCM|global allow_loss is ignored: a hold that drops breaks RoCEv2")
	}
	if s.Global.StreamIdScope != config.ScopeHash {
		w = append(w, "stream_id_scope of SLUICE|global is not hash: PFCM names flows by scope hash nonetheless, and so must its neighbors")
	}
	for _, p := range c.Ports {
		if why := known[p.Name].Why; why != "" && p.Notify && (!p.Border || !c.Translate) {
			w = append(w, fmt.Sprintf("PFCM: no neighbor by %s: %s", p.Name, why))
		}
		if p.Border && c.Translate && p.Speed == 0 {
			w = append(w, fmt.Sprintf("PFCM: the speed of %s is not known, so no pause is translated: set it in PORT", p.Name))
		}
	}
	return w
}
