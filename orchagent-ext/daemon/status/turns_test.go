// SPDX-License-Identifier: Apache-2.0

package status

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/switch/gate"
)

func TestTurnsAreRowsByPriority(t *testing.T) {
	if all := TurnRows(nil); len(all) != 0 {
		t.Errorf("without a gate: %v", all)
	}
	synctest.Test(t, func(t *testing.T) {
		var g gate.Gate
		for _, d := range []time.Duration{5, 7, 90} {
			if err := g.Do(t.Context(), gate.Depth, func() { time.Sleep(d * time.Millisecond) }); err != nil {
				t.Fatal(err)
			}
		}
		e := Encoder{Log: slog.New(slog.DiscardHandler)}
		var names []string
		for row := range e.Encode(TurnRows(&g)...) {
			if names = append(names, row.Name()); row.Key != "depth" {
				continue
			}
			if f := row.Fields; f["turns"] != "3" || f["turn_us_max"] != "90000.0" || f["wait_us_max"] != "0.0" {
				t.Errorf("depth is %v", f)
			}
		}
		if diff := cmp.Diff([]string{"SLUICE_TURN_STATS|programming", "SLUICE_TURN_STATS|holds", "SLUICE_TURN_STATS|depth", "SLUICE_TURN_STATS|statistics"}, names); diff != "" || e.Err() != nil {
			t.Errorf("%v %s", e.Err(), diff)
		}
	})
}
