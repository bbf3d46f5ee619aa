// SPDX-License-Identifier: Apache-2.0

package dcqcn

import (
	"math"
	"time"
)

// Parameters of DCQCN's reaction point: table 2 of Zhu et al., "Congestion Control for
// Large-Scale RDMA Deployments", SIGCOMM 2015, for links of 40 Gbit/s. Times and octets are
// as published; the steps of rate are parts of the line rate, so that slower links keep
// their proportions. The paper gives no hyper step: adapters default to ten times the
// additive one (rpg_hai_rate 50 and rpg_ai_rate 5 Mbit/s of the mlx5 driver).
const (
	cnpGain    = 1. / 256                     // g: weight of a CNP in alpha
	cnpSpacing = int64(50 * time.Microsecond) // N: least time between two cuts
	// alphaTimer: K: alpha falls each such time that has no CNP
	alphaTimer = int64(55 * time.Microsecond)
	rateTimer  = int64(55 * time.Microsecond) // T: a step of increase
	rateOctets = 10_000_000                   // B: octets sent, the same
	// fastSteps: F: steps of either kind that only approach the target
	fastSteps = 5
	additive  = 1. / 1000     // R_AI: 40 Mbit/s of 40 Gbit/s
	hyper     = 10 * additive // R_HAI
	// leastOfLine: minimum rate: adapters stop at 10 Mbit/s of 10 Gbit/s
	leastOfLine = 1. / 1000
)

// Rate is the rate of a flow by DCQCN. The zero value is a flow before its first CNP, which
// sends at the rate that it offers. Rates are in bit/s, times in ns of one clock.
type Rate struct {
	line            float64 // of the link; 0: the flow is unlimited
	current, target float64 // R_C, R_T
	alpha           float64 // estimate of congestion, 0 to 1
	cut, alphaAt    int64   // of the last cut; of alpha's last step
	raised          int64   // of the last step by time
	octets          int64   // since the last step by octets
	byTime, byCount int     // steps since the last cut
}

// Notify takes a CNP for a flow that offers a rate on a link; the first one sets the rate
// from which it is cut.
func (s *Rate) Notify(now int64, offered, line uint64) {
	if s.line == 0 {
		r := float64(min(offered, line))
		*s = Rate{line: float64(line), current: r, target: r, alpha: 1, alphaAt: now, raised: now, cut: now - cnpSpacing}
	}
	s.advance(now)
	if now-s.cut < cnpSpacing {
		return
	}
	s.target = s.current
	s.current = max(s.current*(1-s.alpha/2), s.line*leastOfLine)
	s.alpha = (1-cnpGain)*s.alpha + cnpGain
	s.cut, s.alphaAt, s.raised, s.octets, s.byTime, s.byCount = now, now, now, 0, 0, 0
}

// Sent takes octets that the flow has sent.
func (s *Rate) Sent(octets int) {
	if s.line == 0 {
		return
	}
	for s.octets += int64(octets); s.octets >= rateOctets; s.octets -= rateOctets {
		s.byCount++
		s.raise()
	}
}

// At returns what the flow may send at now, in bit/s; the largest number where nothing
// limits it.
func (s *Rate) At(now int64) uint64 {
	s.advance(now)
	if s.line == 0 {
		return math.MaxUint64
	}
	return uint64(s.current)
}

// advance takes the steps of both timers up to now.
func (s *Rate) advance(now int64) {
	if s.line == 0 {
		return
	}
	if n := (now - s.alphaAt) / alphaTimer; n > 0 {
		s.alpha *= math.Pow(1-cnpGain, float64(n))
		s.alphaAt += n * alphaTimer
	}
	for ; s.line != 0 && now-s.raised >= rateTimer; s.raised += rateTimer {
		s.byTime++
		s.raise()
	}
}

// raise is one step of increase: fast recovery, then additive, and hyper where both time
// and octets are past fast recovery (figure 7 of the paper). At the line rate the limit
// ends.
func (s *Rate) raise() {
	switch {
	case min(s.byTime, s.byCount) > fastSteps:
		s.target += s.line * hyper
	case max(s.byTime, s.byCount) > fastSteps:
		s.target += s.line * additive
	}
	s.target = min(s.target, s.line)
	if s.current = (s.current + s.target) / 2; s.line-s.current < 1 {
		*s = Rate{}
	}
}
