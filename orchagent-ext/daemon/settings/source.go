// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
	"sluice/yang/model"
)

// addSource adds PPFC and Rate Advice to a configuration.
func (r *resolved) addSource(c *flowcontrol.Config) {
	c.Router4, c.Router6 = parsed(r.Global.RouterId), parsed(r.Global.RouterIdV6)
	if r.usesPPFC() {
		c.PPFC, c.Ingress = gateways(r.PPFC, r.PPFCGateways), r.ingress(c)
		if len(c.PPFC.Gateways) == 0 {
			c.PPFC = nil
		}
	}
	if r.advises() {
		c.Advice = advice(r.RateAdvice, r.RateAdviceHosts, r.RatePolicies)
		c.Codes.RateAdviceOpcode = roce.Opcode(*r.RateAdvice.Opcode)
	}
}

// source returns the settings of holds at senders: by Rate Advice where that is enabled, unless
// clients of PPFC are to get CNPs.
func (r *resolved) source() flowcontrol.Source {
	return flowcontrol.Source{
		Hosts:    prefixesOf(r.RateAdviceHosts),
		Advise:   r.advises() && (!r.usesPPFC() || clientMessages[r.PPFC.ClientMessage] != flowcontrol.ClientCNP),
		Receiver: r.RateAdvice.Source == model.SonicSluice_SonicSluice_SLUICE_RATE_ADVICE_Global_Source_receiver,
	}
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

// gateways returns the settings of PPFC that is sent.
func gateways(row *config.PPFC, rows map[string]*config.PPFCGateway) *flowcontrol.PPFC {
	p := &flowcontrol.PPFC{ByQueue: row.PrioritySource == model.SonicSluice_SonicSluice_SLUICE_PPFC_Global_PrioritySource_queue, Send: perTenth(*row.TxRate)}
	if row.Transport == model.SonicSluice_SonicSluice_SLUICE_PPFC_Global_Transport_udp {
		p.Transport = notify.OverUDP
	}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		if prefix, err := netip.ParsePrefix(key); err == nil {
			p.Gateways = append(p.Gateways, flowcontrol.Gateway{Prefix: prefix.Masked(), Addrs: gatewaysOf(rows[key])})
		}
	}
	return p
}

// gatewaysOf returns the router ids of a row, which the model has validated.
func gatewaysOf(row *config.PPFCGateway) []netip.Addr {
	all := []netip.Addr{parsed(row.Gateway)}
	for _, text := range row.OtherGateways {
		if other := parsed(&text); !slices.Contains(all, other) {
			all = append(all, other)
		}
	}
	return all
}

var clientMessages = map[model.E_SonicSluice_SonicSluice_SLUICE_PPFC_Global_ClientMessage]flowcontrol.Client{
	model.SonicSluice_SonicSluice_SLUICE_PPFC_Global_ClientMessage_none:        flowcontrol.ClientNone,
	model.SonicSluice_SonicSluice_SLUICE_PPFC_Global_ClientMessage_rate_advice: flowcontrol.ClientRateAdvice,
	model.SonicSluice_SonicSluice_SLUICE_PPFC_Global_ClientMessage_cnp:         flowcontrol.ClientCNP,
}

// ingress returns the settings of this node as a gateway: it serves the prefixes whose gateway
// is its own router id.
func (r *resolved) ingress(c *flowcontrol.Config) *flowcontrol.Ingress {
	in := &flowcontrol.Ingress{
		Peers: prefixesOf(r.PPFCPeers), Client: clientMessages[r.PPFC.ClientMessage], Hosts: prefixesOf(r.RateAdviceHosts), MinRate: *r.RateAdvice.MinRateMbps,
		Receive: flowcontrol.Rate{PerSecond: *r.PPFC.RxRate, Burst: *r.PPFC.RxBurst}, ReceiveBySource: perTenth(*r.PPFC.RxRatePerSource), HoldLimit: time.Duration(*r.PPFC.HoldLimitMs) * time.Millisecond,
	}
	for _, key := range slices.Sorted(maps.Keys(r.PPFCGateways)) {
		serves := func(gateway netip.Addr) bool { return gateway == c.Router4 || gateway == c.Router6 }
		if prefix, err := netip.ParsePrefix(key); err == nil && slices.ContainsFunc(gatewaysOf(r.PPFCGateways[key]), serves) {
			in.Serves = append(in.Serves, prefix.Masked())
		}
	}
	if r.PPFC.RequireMark != nil {
		in.Mark = *r.PPFC.RequireMark
	}
	return in
}

// advice returns the settings of Rate Advice.
func advice(row *config.RateAdvice, hosts map[string]*config.RateAdviceHost, policies map[string]*config.RatePolicy) *flowcontrol.Advice {
	a := &flowcontrol.Advice{
		Copy:     row.DestinationQp == model.SonicSluice_SonicSluice_SLUICE_RATE_ADVICE_Global_DestinationQp_copy,
		Receiver: row.Source == model.SonicSluice_SonicSluice_SLUICE_RATE_ADVICE_Global_Source_receiver,
		Target:   congestion.Target{Bytes: *row.TargetBytes, Delay: time.Duration(*row.TargetDelayUs) * time.Microsecond, Min: *row.MinRateMbps},
		Pace:     congestion.Pace{Interval: time.Duration(*row.IntervalMs) * time.Millisecond, Lifetime: int(*row.LifetimeIntervals)},
		Hold:     row.NotFollowing == model.SonicSluice_SonicSluice_SLUICE_RATE_ADVICE_Global_NotFollowing_hold,
		Hosts:    prefixesOf(hosts),
	}
	if row.RttUs != nil {
		a.Pace.RTT = time.Duration(*row.RttUs) * time.Microsecond
	}
	if row.Capability == model.SonicSluice_SonicSluice_SLUICE_RATE_ADVICE_Global_Capability_bit {
		a.Mask = *row.CapabilityMask
	}
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		limit := policies[name]
		p := congestion.Policy{DSCP: -1}
		if limit.Dscp != nil {
			p.DSCP = int(*limit.Dscp)
		}
		if limit.RateMbps != nil {
			p.Rate = *limit.RateMbps
		}
		if limit.PortPercent != nil {
			p.Percent = *limit.PortPercent
		}
		for text, to := range map[*string]*netip.Prefix{limit.SrcPrefix: &p.Src, limit.DstPrefix: &p.Dst} {
			if text != nil {
				*to, _ = netip.ParsePrefix(*text) // the model has validated it
			}
		}
		a.Policies = append(a.Policies, p)
	}
	return a
}

// sourceWarnings returns the warnings about PPFC and Rate Advice.
func (r *resolved) sourceWarnings(c *flowcontrol.Config) (w []string) {
	noRouter := !c.Router4.IsValid() && !c.Router6.IsValid()
	if r.usesPPFC() {
		if noRouter {
			w = append(w, "SLUICE_PPFC|global is enabled, and SLUICE|global has neither router_id nor router_id_v6: no PPFC is sent or taken")
		}
		if len(r.PPFCGateways) == 0 {
			w = append(w, "SLUICE_PPFC|global is enabled, and SLUICE_PPFC_GATEWAY has no row: no gateway can be notified, and no source is served here")
		}
		// A node without peers that notifies its clients is the gateway of its own flows.
		if c.Ingress != nil && len(c.Ingress.Serves) > 0 && len(c.Ingress.Peers) == 0 && c.Ingress.Client == flowcontrol.ClientNone {
			w = append(w, "this node serves prefixes of SLUICE_PPFC_GATEWAY, and SLUICE_PPFC_PEER has no row: no PPFC is obeyed")
		}
	}
	if c.Ingress != nil && c.Ingress.Client == flowcontrol.ClientCNP && len(c.Ingress.Hosts) == 0 {
		w = append(w, "client_message of SLUICE_PPFC|global is cnp, and SLUICE_RATE_ADVICE_HOST has no row: no client is notified")
	}
	if !r.advises() {
		if c.Ingress != nil && c.Ingress.Client == flowcontrol.ClientRateAdvice {
			w = append(w, "client_message of SLUICE_PPFC|global is rate-advice, and SLUICE_RATE_ADVICE|global is not enabled: no client is notified")
		}
		return w
	}
	if noRouter && !c.Advice.Receiver {
		w = append(w, "SLUICE_RATE_ADVICE|global is enabled, and SLUICE|global has neither router_id nor router_id_v6: no advice is sent")
	}
	if len(c.Advice.Hosts) == 0 && c.Advice.Mask == 0 {
		w = append(w, "SLUICE_RATE_ADVICE|global is enabled, and no host may receive it: list hosts in SLUICE_RATE_ADVICE_HOST, or set capability=bit")
	}
	if opcode := roce.Opcode(*r.RateAdvice.Opcode); opcode == roce.RCAtomicWrite {
		w = append(w, "opcode 29 of SLUICE_RATE_ADVICE|global is RC ATOMIC WRITE (IBTA 1.5): an adapter that does not know Rate Advice takes rate and version for an address")
	}
	return w
}
