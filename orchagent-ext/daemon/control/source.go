// SPDX-License-Identifier: Apache-2.0

package control

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"sluice/orchagent-ext/daemon/policy"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
	"sluice/yang/model"
)

// addSource adds PPFC and Rate Advice to a configuration.
func addSource(c *flowcontrol.Config, s *config.Snapshot) {
	c.Router4, c.Router6 = parsed(s.Global.RouterId), parsed(s.Global.RouterIdV6)
	if policy.UsesPPFC(s) {
		c.PPFC, c.Ingress = ppfc(s), ingress(s, c)
		if len(c.PPFC.Gateways) == 0 {
			c.PPFC = nil
		}
	}
	if policy.Advises(s) {
		c.Advice = advice(s)
		c.Codes.RateAdviceOpcode = roce.Opcode(*s.RateAdvice.Opcode)
	}
}

// sourceOf returns the settings of holds at senders: by Rate Advice where that is enabled, unless
// clients of PPFC are to get CNPs.
func sourceOf(s *config.Snapshot) *flowcontrol.Source {
	return &flowcontrol.Source{
		Hosts:    prefixesOf(s.RateAdviceHosts),
		Advise:   policy.Advises(s) && (!policy.UsesPPFC(s) || clientMessages[s.PPFC.ClientMessage] != flowcontrol.ClientCNP),
		Receiver: s.RateAdvice.Source == model.SonicSluice_SonicSluice_SLUICE_RATE_ADVICE_Global_Source_receiver,
	}
}

// parsed returns an address that the model has validated; the zero value where text is nil.
func parsed(text *string) (a netip.Addr) {
	if text != nil {
		a, _ = netip.ParseAddr(*text)
	}
	return a
}

// prefixesOf returns keys that the model has validated, in their order.
func prefixesOf[Row any](rows map[string]Row) (list []netip.Prefix) {
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		if p, err := netip.ParsePrefix(key); err == nil {
			list = append(list, p.Masked())
		}
	}
	return list
}

func ppfc(s *config.Snapshot) *flowcontrol.PPFC {
	p := &flowcontrol.PPFC{ByQueue: s.PPFC.PrioritySource == model.SonicSluice_SonicSluice_SLUICE_PPFC_Global_PrioritySource_queue, Send: perTenth(*s.PPFC.TxRate)}
	if s.PPFC.Transport == model.SonicSluice_SonicSluice_SLUICE_PPFC_Global_Transport_udp {
		p.Transport = notify.OverUDP
	}
	for _, key := range slices.Sorted(maps.Keys(s.PPFCGateways)) {
		if prefix, err := netip.ParsePrefix(key); err == nil {
			p.Gateways = append(p.Gateways, flowcontrol.Gateway{Prefix: prefix.Masked(), Addr: parsed(s.PPFCGateways[key].Gateway)})
		}
	}
	return p
}

var clientMessages = map[model.E_SonicSluice_SonicSluice_SLUICE_PPFC_Global_ClientMessage]flowcontrol.Client{
	model.SonicSluice_SonicSluice_SLUICE_PPFC_Global_ClientMessage_none:        flowcontrol.ClientNone,
	model.SonicSluice_SonicSluice_SLUICE_PPFC_Global_ClientMessage_rate_advice: flowcontrol.ClientRateAdvice,
	model.SonicSluice_SonicSluice_SLUICE_PPFC_Global_ClientMessage_cnp:         flowcontrol.ClientCNP,
}

// ingress returns the settings of this node as a gateway: it serves the prefixes whose gateway
// is its own router id.
func ingress(s *config.Snapshot, c *flowcontrol.Config) *flowcontrol.Ingress {
	in := &flowcontrol.Ingress{
		Peers: prefixesOf(s.PPFCPeers), Client: clientMessages[s.PPFC.ClientMessage], Hosts: prefixesOf(s.RateAdviceHosts), MinRate: *s.RateAdvice.MinRateMbps,
		Receive: flowcontrol.Rate{PerSecond: *s.PPFC.RxRate, Burst: *s.PPFC.RxBurst}, ReceiveBySource: perTenth(*s.PPFC.RxRatePerSource), HoldLimit: time.Duration(*s.PPFC.HoldLimitMs) * time.Millisecond,
	}
	for _, key := range slices.Sorted(maps.Keys(s.PPFCGateways)) {
		gateway := parsed(s.PPFCGateways[key].Gateway)
		if prefix, err := netip.ParsePrefix(key); err == nil && (gateway == c.Router4 || gateway == c.Router6) {
			in.Serves = append(in.Serves, prefix.Masked())
		}
	}
	if s.PPFC.RequireMark != nil {
		in.Mark = *s.PPFC.RequireMark
	}
	return in
}

func advice(s *config.Snapshot) *flowcontrol.Advice {
	r := s.RateAdvice
	a := &flowcontrol.Advice{
		Copy:     r.DestinationQp == model.SonicSluice_SonicSluice_SLUICE_RATE_ADVICE_Global_DestinationQp_copy,
		Receiver: r.Source == model.SonicSluice_SonicSluice_SLUICE_RATE_ADVICE_Global_Source_receiver,
		Target:   congestion.Target{Bytes: *r.TargetBytes, Delay: time.Duration(*r.TargetDelayUs) * time.Microsecond, Min: *r.MinRateMbps},
		Pace:     congestion.Pace{Interval: time.Duration(*r.IntervalMs) * time.Millisecond, Lifetime: int(*r.LifetimeIntervals)},
		Hold:     r.NotFollowing == model.SonicSluice_SonicSluice_SLUICE_RATE_ADVICE_Global_NotFollowing_hold,
		Hosts:    prefixesOf(s.RateAdviceHosts),
	}
	if r.RttUs != nil {
		a.Pace.RTT = time.Duration(*r.RttUs) * time.Microsecond
	}
	if r.Capability == model.SonicSluice_SonicSluice_SLUICE_RATE_ADVICE_Global_Capability_bit {
		a.Mask = *r.CapabilityMask
	}
	for _, name := range slices.Sorted(maps.Keys(s.RatePolicies)) {
		row := s.RatePolicies[name]
		p := congestion.Policy{DSCP: -1, Rate: *row.RateMbps}
		if row.Dscp != nil {
			p.DSCP = int(*row.Dscp)
		}
		for text, to := range map[*string]*netip.Prefix{row.SrcPrefix: &p.Src, row.DstPrefix: &p.Dst} {
			if text != nil {
				*to, _ = netip.ParsePrefix(*text) // the model has validated it
			}
		}
		a.Policies = append(a.Policies, p)
	}
	return a
}

// sourceWarnings returns the warnings about PPFC and Rate Advice.
func sourceWarnings(s *config.Snapshot, c *flowcontrol.Config) (w []string) {
	noRouter := !c.Router4.IsValid() && !c.Router6.IsValid()
	if policy.UsesPPFC(s) {
		if noRouter {
			w = append(w, "SLUICE_PPFC|global is enabled, and SLUICE|global has neither router_id nor router_id_v6: no PPFC is sent or taken")
		}
		if len(s.PPFCGateways) == 0 {
			w = append(w, "SLUICE_PPFC|global is enabled, and SLUICE_PPFC_GATEWAY has no row: no gateway can be told, and no source is served here")
		}
		// A node without peers that notifies its clients is the gateway of its own flows.
		if c.Ingress != nil && len(c.Ingress.Serves) > 0 && len(c.Ingress.Peers) == 0 && c.Ingress.Client == flowcontrol.ClientNone {
			w = append(w, "this node serves prefixes of SLUICE_PPFC_GATEWAY, and SLUICE_PPFC_PEER has no row: no PPFC is obeyed")
		}
	}
	if c.Ingress != nil && c.Ingress.Client == flowcontrol.ClientCNP && len(c.Ingress.Hosts) == 0 {
		w = append(w, "client_message of SLUICE_PPFC|global is cnp, and SLUICE_RATE_ADVICE_HOST has no row: no client is told")
	}
	if !policy.Advises(s) {
		if c.Ingress != nil && c.Ingress.Client == flowcontrol.ClientRateAdvice {
			w = append(w, "client_message of SLUICE_PPFC|global is rate-advice, and SLUICE_RATE_ADVICE|global is not enabled: no client is told")
		}
		return w
	}
	if noRouter && !c.Advice.Receiver {
		w = append(w, "SLUICE_RATE_ADVICE|global is enabled, and SLUICE|global has neither router_id nor router_id_v6: no advice is sent")
	}
	if len(c.Advice.Hosts) == 0 && c.Advice.Mask == 0 {
		w = append(w, "SLUICE_RATE_ADVICE|global is enabled, and no host may receive it: list hosts in SLUICE_RATE_ADVICE_HOST, or set capability=bit")
	}
	if opcode := roce.Opcode(*s.RateAdvice.Opcode); opcode == roce.RCAtomicWrite {
		w = append(w, "opcode 29 of SLUICE_RATE_ADVICE|global is RC ATOMIC WRITE (IBTA 1.5): an adapter that does not know Rate Advice takes rate and version for an address")
	}
	trip, warned := c.Advice.Pace.RTT, map[uint32]bool{}
	for _, id := range slices.Sorted(maps.Keys(c.Queues)) {
		speed := uint32(0)
		for _, p := range c.Ports {
			if slices.Contains(p.Members, c.Queues[id].Port) {
				speed = p.Speed
			}
		}
		product := uint64(speed) * uint64(trip.Microseconds()) / 8 // octets: Mbit/s × µs are bits
		if c.Advice.Target.Bytes < product && !warned[speed] {
			warned[speed] = true
			w = append(w, fmt.Sprintf("target_bytes %d of SLUICE_RATE_ADVICE|global is below one bandwidth-delay product of %d Mbit/s and %v: %d fits, or the egress runs empty", c.Advice.Target.Bytes, speed, trip, product))
		}
	}
	return w
}

// needsThreshold reports whether a threshold is the only cause of messages. Rate Advice has others:
// a policy of rates, and at the gateway of its own sources the PPFC that it receives for clients.
func needsThreshold(c *flowcontrol.Config) bool {
	clients := c.Source != nil || c.Ingress != nil && c.Ingress.Client != flowcontrol.ClientNone
	if c.Generate || c.Translate && c.Obey || c.Advice != nil && !clients && len(c.Advice.Policies) == 0 {
		return true
	}
	if c.PPFC == nil {
		return false
	}
	for _, g := range c.PPFC.Gateways {
		if g.Addr != c.Router4 && g.Addr != c.Router6 {
			return true
		}
	}
	return false
}
