// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/targets"
	"sluice/orchagent-ext/cli/top"
)

// manySwitches are switches that top watches together.
type manySwitches struct {
	*fleet
	histories []top.History
	unread    []string        // why each did not answer last; empty: it did
	skews     []time.Duration // how far the clock of each is ahead
}

// newManySwitches returns the switches of a fleet, none of which was read yet.
func newManySwitches(f *fleet) *manySwitches {
	n := len(f.Targets())
	return &manySwitches{f, make([]top.History, n), make([]string, n), make([]time.Duration, n)}
}

// topTables are those of a frame, by database.
var topTables = map[string][]string{"COUNTERS_DB": top.CountersTables, "STATE_DB": top.StateTables, "CONFIG_DB": top.ConfigTables}

// checkMany rejects flags about the flows and ports of one switch.
func (t *watcher) checkMany(flags *pflag.FlagSet) error {
	for _, name := range []string{"sort", "port", "top"} {
		if flagIn(flags, name) {
			t.many.Close()
			return fmt.Errorf("--%s is about one switch, and --target names several", name)
		}
	}
	return nil
}

// add takes readings into the histories.
func (m *manySwitches) add(all []targets.Reading) {
	for i, r := range all {
		if r.Err != nil {
			m.unread[i] = r.Err.Error()
			continue
		}
		m.unread[i] = ""
		at := r.At
		if at.IsZero() {
			at = time.Now()
		} else {
			m.skews[i] = r.Skew
		}
		m.histories[i].Add(top.Parse(r.Rows, at))
	}
}

// view is the view at a time, with the state of each switch by its own clock.
func (m *manySwitches) view(now time.Time) *top.Fleet {
	var views []*top.View
	for i, t := range m.Targets() {
		views = append(views, m.histories[i].View(t.Name, now.Add(m.skews[i]), m.unread[i]))
	}
	return top.NewFleet(now, views)
}

// missing returns the exit status where a switch did not answer last.
func (m *manySwitches) missing() error {
	if slices.ContainsFunc(m.unread, func(why string) bool { return why != "" }) {
		return kit.Exited{Status: statusUnanswered}
	}
	return nil
}

// readMany asks all switches, each with one question.
func (t *watcher) readMany(ctx context.Context) reading {
	return reading{many: t.many.Read(ctx, topTables), at: time.Now()}
}
