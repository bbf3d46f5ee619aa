// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// yieldTime is how long Sluice makes room for a rule of the operator. Releases up to 202511 try it on
// each pass. 202605 tries it again only when another rule of its table goes.
const yieldTime = 10 * time.Second

// yields are the operator's rules that wait for room, TABLE|key, and since when.
type yields map[string]time.Time

// take takes the rules that wait now, and returns how many are new.
func (y yields) take(waiting []string, now time.Time) (fresh int) {
	maps.DeleteFunc(y, func(row string, _ time.Time) bool { return !slices.Contains(waiting, row) })
	for _, row := range waiting {
		if _, known := y[row]; !known {
			y[row] = now
			fresh++
		}
	}
	return fresh
}

// stuck are the rules that have waited for longer than Sluice makes room, sorted.
func (y yields) stuck(now time.Time) (all []string) {
	for row, since := range y {
		if now.Sub(since) > yieldTime {
			all = append(all, row)
		}
	}
	slices.Sort(all)
	return all
}

// warnings name the rules that are stuck.
func (y yields) warnings(now time.Time) (all []string) {
	for _, row := range y.stuck(now) {
		all = append(all, fmt.Sprintf("%s of the operator still waits for room, which Sluice has made: orchagent of 202605 tries a rule again only when another one of its table goes, so delete this row and add it again", row))
	}
	return all
}
