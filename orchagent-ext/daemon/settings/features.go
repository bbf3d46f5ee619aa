// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"slices"

	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/hold/sampled"
	"sluice/yang/model"
	"sluice/yang/rows"
)

// sendsPFCM reports whether PFCM is enabled. It is false with the kill switch, see
// [resolved.disabled].
func (r *resolved) sendsPFCM() bool { return !r.disabled() && r.PFCM.AdminState == config.Enabled }

// usesPPFC reports whether PPFC is enabled, for both roles: the congested node, and the
// gateway.
func (r *resolved) usesPPFC() bool { return !r.disabled() && r.PPFC.AdminState == config.Enabled }

// advises reports whether Rate Advice is enabled. Which hosts may receive advice is
// apart: SLUICE_RATE_ADVICE_HOST, and the capability bit.
func (r *resolved) advises() bool {
	return !r.disabled() && r.RateAdvice.AdminState == config.Enabled
}

// learns reports whether flows and their source queue pairs are learned, by packets to the
// CPU: a rate policy is for all flows that pass, whichever queue pair messages name.
func (r *resolved) learns() bool {
	copies := r.RateAdvice.DestinationQp == model.SonicSluice_SonicSluice_SLUICE_RATE_ADVICE_Global_DestinationQp_copy
	return r.advises() && (!copies || len(r.RatePolicies) > 0) || r.usesPPFC() || r.sendsPFCM() && *r.PFCM.Enforce && len(r.RateAdviceHosts) > 0
}

// controls reports whether notifications are sent or obeyed. Only then the real-time task
// runs.
func (r *resolved) controls() bool { return r.sendsPFCM() || r.usesPPFC() || r.advises() }

// samples returns the lowest sampling rate of the thresholds of ports, one of so many packets; 0:
// flows in queues are not to be estimated by samples.
func (r *resolved) samples() (rate uint32) {
	if !r.controls() {
		return 0
	}
	for _, row := range r.ports {
		t := r.Thresholds[value(row.Threshold)]
		if t != nil && t.SamplingRate != nil && (rate == 0 || *t.SamplingRate < rate) {
			rate = *t.SamplingRate
		}
	}
	return rate
}

// watchedQueues returns the queues whose depth is read by the method sampled: the first ones that
// thresholds with sampling_rate name, PORT:NUMBER; more is how many others they name.
func (r *resolved) watchedQueues() (names []string, more int) {
	if !r.controls() {
		return nil, 0
	}
	for port, row := range r.ports {
		t := r.Thresholds[value(row.Threshold)]
		if t == nil || t.SamplingRate == nil {
			continue
		}
		for _, number := range t.Queues {
			names = append(names, fmt.Sprintf("%s:%d", port, number))
		}
	}
	slices.SortFunc(names, rows.Natural)
	names = slices.Compact(names)
	most := min(len(names), sampled.MostQueues)
	return names[:most:most], len(names) - most
}

// samplesFlows reports whether packets come to the CPU as SLUICE_IPFIX has it, also without a
// collector: then flows are shown, and none is exported.
func (r *resolved) samplesFlows() bool { return !r.disabled() && r.IPFIX.AdminState == config.Enabled }

// exports reports whether flows are exported: IPFIX is enabled and has a collector.
func (r *resolved) exports() bool {
	return r.IPFIX.AdminState == config.Enabled && len(r.IPFIXCollectors) > 0
}

// places reports whether placement is enabled. Whether the switch has a method is apart,
// see [engine.NeedPlacement].
func (r *resolved) places() bool {
	return !r.disabled() && r.Placement.AdminState == config.Enabled
}

// disabled reports whether the kill switch is on: SLUICE|global admin_state is disabled.
func (r *resolved) disabled() bool { return r.Global.AdminState == config.Disabled }
