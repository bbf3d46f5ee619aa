// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"

	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/hold/sampled"
	"sluice/yang/model"
	"sluice/yang/rows"
)

// SendsPFCM reports whether PFCM is enabled. It is false with the kill switch, see
// [Disabled].
func SendsPFCM(s *config.Snapshot) bool { return !Disabled(s) && s.PFCM.AdminState == config.Enabled }

// UsesPPFC reports whether PPFC is enabled, for both roles: the congested node, and the
// gateway.
func UsesPPFC(s *config.Snapshot) bool { return !Disabled(s) && s.PPFC.AdminState == config.Enabled }

// Advises reports whether Rate Advice is enabled. Which hosts may receive advice is
// apart: SLUICE_RATE_ADVICE_HOST, and the capability bit.
func Advises(s *config.Snapshot) bool {
	return !Disabled(s) && s.RateAdvice.AdminState == config.Enabled
}

// Learns reports whether flows and their source queue pairs are learned, by packets to the
// CPU: a rate policy is for all flows that pass, whichever queue pair messages name.
func Learns(s *config.Snapshot) bool {
	copies := s.RateAdvice.DestinationQp == model.SonicSluice_SonicSluice_SLUICE_RATE_ADVICE_Global_DestinationQp_copy
	return Advises(s) && (!copies || len(s.RatePolicies) > 0) || UsesPPFC(s) || SendsPFCM(s) && *s.PFCM.Enforce && len(s.RateAdviceHosts) > 0
}

// Controls reports whether notifications are sent or obeyed. Only then the real-time task
// runs.
func Controls(s *config.Snapshot) bool { return SendsPFCM(s) || UsesPPFC(s) || Advises(s) }

// Watches returns the lowest sampling rate of the thresholds of ports, one of so many packets; 0:
// flows in queues are not to be estimated by samples.
func Watches(s *config.Snapshot) (rate uint32) {
	if !Controls(s) {
		return 0
	}
	for _, row := range s.Resolve() {
		t := s.Thresholds[Value(row.Threshold)]
		if t != nil && t.SamplingRate != nil && (rate == 0 || *t.SamplingRate < rate) {
			rate = *t.SamplingRate
		}
	}
	return rate
}

// WatchedQueues returns the queues whose depth is read by the method sampled: the first ones that
// thresholds with sampling_rate name, PORT:NUMBER; more is how many others they name.
func WatchedQueues(s *config.Snapshot) (names []string, more int) {
	if !Controls(s) {
		return nil, 0
	}
	for port, row := range s.Resolve() {
		t := s.Thresholds[Value(row.Threshold)]
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

// Exports reports whether flows are exported: IPFIX is enabled and has a collector.
func Exports(s *config.Snapshot) bool {
	return s.IPFIX.AdminState == config.Enabled && len(s.IPFIXCollectors) > 0
}

// ExportsHealth reports whether records of the health of connections are exported, too.
// [Exports] reports whether records are sent at all.
func ExportsHealth(s *config.Snapshot) bool { return s.IPFIX.Health == config.Enabled }

// Places reports whether placement is enabled. Whether the switch has a method is apart,
// see [engine.NeedPlacement].
func Places(s *config.Snapshot) bool {
	return !Disabled(s) && s.Placement.AdminState == config.Enabled
}

// Disabled reports whether the kill switch is on: SLUICE|global admin_state is disabled.
func Disabled(s *config.Snapshot) bool { return s.Global.AdminState == config.Disabled }

// Outlives reports whether objects on the switch outlive the daemon. Otherwise they are
// removed when the process ends.
func Outlives(s *config.Snapshot) bool { return s.Global.WarmRestart == config.Enabled }

// Value returns the value of an optional leaf; the zero value where its row lacks it. A
// leaf with a default always has a value in a [config.Snapshot].
func Value[T any](leaf *T) (v T) {
	if leaf != nil {
		v = *leaf
	}
	return v
}
