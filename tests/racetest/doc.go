// SPDX-License-Identifier: Apache-2.0

// Package racetest gives tests fewer rounds under the race detector, where each takes ten times
// as long: the detector sees all of a single goroutine in the first. The check rounds of make
// soak runs each round, and leaves the detector out.
package racetest

// Rounds returns how many rounds a test runs: raced of them under the race detector, else full.
func Rounds[N int | uint32 | uint64](full, raced N) N {
	if enabled {
		return raced
	}
	return full
}
