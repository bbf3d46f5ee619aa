// SPDX-License-Identifier: Apache-2.0

package control

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/hold/neighbors"
)

// warnings returns the warnings about notifications while they work by a configuration.
func (s *Settings) warnings(c *flowcontrol.Config, known map[string]neighbors.Port) []string {
	w := slices.Concat(s.Warnings, lowTargets(c))
	if needsThreshold(c) && len(c.Queues) == 0 {
		w = append(w, "notifications are to be sent, and no port of SLUICE_PORT has a threshold")
	}
	if !s.PFCM {
		return w
	}
	for i := range c.Ports {
		p := &c.Ports[i]
		if why := known[p.Name].Why; why != "" && p.Notify && (!p.Border || !c.Translate) {
			w = append(w, fmt.Sprintf("PFCM: no neighbor by %s: %s", p.Name, why))
		}
		if p.Border && c.Translate && p.Speed == 0 {
			w = append(w, fmt.Sprintf("PFCM: the speed of %s is not known, so no pause is translated: set it in PORT", p.Name))
		}
	}
	return w
}

// lowTargets returns the warnings about a target of advice below one bandwidth-delay product, one
// for each speed.
func lowTargets(c *flowcontrol.Config) (w []string) {
	if c.Advice == nil {
		return nil
	}
	trip, warned := c.Advice.Pace.RTT, map[uint32]bool{}
	for _, id := range slices.Sorted(maps.Keys(c.Queues)) {
		speed := uint32(0)
		for i := range c.Ports {
			if slices.Contains(c.Ports[i].Members, c.Queues[id].Port) {
				speed = c.Ports[i].Speed
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

// needsThreshold reports whether nothing is done without a threshold. A node that obeys PFCM may
// have none. Rate Advice has other causes: a policy of rates, and at the gateway of its own sources the
// PPFC that it receives for clients.
func needsThreshold(c *flowcontrol.Config) bool {
	clients := c.Source != nil || c.Ingress != nil && c.Ingress.Client != flowcontrol.ClientNone
	if c.Generate && !c.Obey || c.Translate && c.Obey || c.Advice != nil && !clients && len(c.Advice.Policies) == 0 {
		return true
	}
	if c.PPFC == nil {
		return false
	}
	isOther := func(gateway netip.Addr) bool { return gateway != c.Router4 && gateway != c.Router6 }
	return slices.ContainsFunc(c.PPFC.Gateways, func(g flowcontrol.Gateway) bool { return slices.ContainsFunc(g.Addrs, isOther) })
}
