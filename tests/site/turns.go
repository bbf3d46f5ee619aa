// SPDX-License-Identifier: Apache-2.0

package site

import (
	"context"
	"fmt"
	"strconv"
)

// Turns are the turns at switches, in µs: the longest, and the greatest p99.9 of a priority.
type Turns struct {
	Number    int
	Max, P999 float64
	Longest   string // priority of the longest
}

// readTurns adds the turns that sluiced has published so far.
func (s *Site) readTurns() error {
	if s.turns == nil || s.Counters == nil {
		return nil
	}
	ctx, stop := context.WithTimeout(context.Background(), Patience)
	defer stop()
	all, err := s.Counters.Read(ctx, "SLUICE_TURN_STATS")
	if err != nil {
		return err
	}
	for _, r := range all {
		values := map[string]float64{}
		for _, field := range []string{"turns", "turn_us_max", "turn_us_p999"} {
			if values[field], err = strconv.ParseFloat(r.Fields[field], 64); err != nil {
				return fmt.Errorf("SLUICE_TURN_STATS|%s: %s: %w", r.Key, field, err)
			}
		}
		s.turns.Number += int(values["turns"])
		if values["turn_us_max"] > s.turns.Max {
			s.turns.Max, s.turns.Longest = values["turn_us_max"], r.Key
		}
		s.turns.P999 = max(s.turns.P999, values["turn_us_p999"])
	}
	return nil
}
