// SPDX-License-Identifier: Apache-2.0

package nic

import (
	"math"
	"time"
)

// Parameters of the reaction to CNPs: those of DCQCN (Zhu et al., SIGCOMM 2015, section
// 3.1 and figure 14), with the timer and without the byte counter.
const (
	cnpGain     = 1. / 16                      // g: weight of a CNP in alpha
	cnpSpacing  = int64(50 * time.Microsecond) // no two cuts are closer
	alphaTimer  = int64(55 * time.Microsecond) // alpha falls each time without a CNP
	rateTimer   = int64(1500 * time.Microsecond)
	fastSteps   = 5         // halvings of the distance to the target before it grows
	additive    = 5_000_000 // bit/s by which the target grows then
	leastOfRate = 100       // part of the offered rate that always remains
)

// slowed is a flow's reaction to CNPs. The zero value is a flow before its first CNP.
type slowed struct {
	offered         float64 // bit/s; 0: no CNP, no limit
	current, target float64
	alpha           float64
	cut, alphaAt    int64
	raised          int64
	steps           int
}

// notify takes a CNP at now for a flow that offers a rate in bit/s.
func (s *slowed) notify(now int64, offered uint64) {
	if s.offered == 0 {
		*s = slowed{offered: float64(offered), current: float64(offered), target: float64(offered), alpha: 1, alphaAt: now, raised: now, cut: now - cnpSpacing}
	}
	s.rate(now)
	if now-s.cut < cnpSpacing {
		return
	}
	s.target = s.current
	s.current = max(s.current*(1-s.alpha/2), s.offered/leastOfRate)
	s.alpha = (1-cnpGain)*s.alpha + cnpGain
	s.cut, s.alphaAt, s.raised, s.steps = now, now, now, 0
}

// rate returns the flow's permitted rate at now, in bit/s; math.MaxUint64 before its
// first CNP.
func (s *slowed) rate(now int64) uint64 {
	if s.offered == 0 {
		return math.MaxUint64
	}
	for ; now-s.alphaAt >= alphaTimer && s.alpha > 1e-6; s.alphaAt += alphaTimer {
		s.alpha *= 1 - cnpGain
	}
	for ; now-s.raised >= rateTimer; s.raised += rateTimer {
		if s.steps++; s.steps > fastSteps {
			s.target = min(s.target+additive, s.offered)
		}
		s.current = (s.current + s.target) / 2
		if s.offered-s.current < 1 {
			s.offered = 0
			return math.MaxUint64
		}
	}
	return uint64(s.current)
}
