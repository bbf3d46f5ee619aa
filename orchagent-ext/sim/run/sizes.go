// SPDX-License-Identifier: Apache-2.0

package run

import "slices"

// Size is the slowdown of messages of one class of sizes: those above the class before, and of at
// most Octets.
type Size struct {
	Octets   int64   `json:"octets_to"` // 0: all above
	Messages uint64  `json:"messages"`
	P50      float64 `json:"slowdown_p50"`
	P95      float64 `json:"slowdown_p95"`
	P99      float64 `json:"slowdown_p99"`
}

// bounds of the classes, octets.
var bounds = []int64{1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000}

// sizes has the slowdowns, in thousandths, by class.
type sizes [10]*Histogram

// add counts a message.
func (s *sizes) add(octets, slowdown int64) {
	i, _ := slices.BinarySearch(bounds, octets)
	if s[i] == nil {
		s[i] = &Histogram{}
	}
	s[i].Add(slowdown)
}

// report returns the classes that have messages.
func (s *sizes) report() (all []Size) {
	for i, h := range s {
		if h == nil {
			continue
		}
		x := Size{Messages: h.Count(), P50: h.Quantile(0.5) / 1000, P95: h.Quantile(0.95) / 1000, P99: h.Quantile(0.99) / 1000}
		if i < len(bounds) {
			x.Octets = bounds[i]
		}
		all = append(all, x)
	}
	return all
}
