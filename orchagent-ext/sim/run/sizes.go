// SPDX-License-Identifier: Apache-2.0

package run

import (
	"slices"

	"sluice/orchagent-ext/flows/histogram"
)

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
type sizes [10]*histogram.Finest

// add counts a message.
func (s *sizes) add(octets, slowdown int64) {
	i, _ := slices.BinarySearch(bounds, octets)
	if s[i] == nil {
		s[i] = &histogram.Finest{}
	}
	s[i].Add(uint64(slowdown))
}

// report returns the classes that have messages.
func (s *sizes) report() (all []Size) {
	for i, h := range s {
		if h == nil {
			continue
		}
		x := Size{Messages: h.Count, P50: times(h, 0.5), P95: times(h, 0.95), P99: times(h, 0.99)}
		if i < len(bounds) {
			x.Octets = bounds[i]
		}
		all = append(all, x)
	}
	return all
}

// times returns a quantile of slowdowns in thousandths.
func times(h *histogram.Finest, part float64) float64 { return float64(h.Quantile(part)) / 1000 }
