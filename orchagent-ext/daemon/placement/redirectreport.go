// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"errors"
	"fmt"
	"time"

	"github.com/openconfig/ygot/ygot"

	"sluice/orchagent-ext/daemon/status"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/yang/rows"
)

// slowLink is how long the rules to a link may take to go before the operator is warned.
const slowLink = 200 * time.Millisecond

// slowSwitch returns the warning of a switch that takes too long for the entries of a link, each
// time for one; "" for one that is fast enough.
func slowSwitch(perLink int, each time.Duration) string {
	most := time.Duration(perLink) * each
	if most <= slowLink {
		return ""
	}
	return fmt.Sprintf("the switch takes %v for an entry: where a link goes down, packets of flows that are redirected there are lost for up to %v. A lower max_entries_per_link of SLUICE_PLACEMENT|global bounds that",
		each.Round(time.Millisecond), most.Round(10*time.Millisecond))
}

// describe adds the state to a report, and returns the rows of groups and of their members.
func (r *redirects) describe(s *status.Report, e *status.Encoder) (groups, members []ygot.GoStruct) {
	is := r.part.Report()
	if is == nil {
		return nil, nil // it has just begun
	}
	state := telemetry.Active
	if why := errors.Join(is.Err, is.err, is.Refused); why != nil {
		state = telemetry.Degraded
		e.Fill(&s.Row, "placement_reason", task.FirstLine(why))
		s.Warn("flows are not placed: " + task.FirstLine(why))
	}
	e.Fill(&s.Row, "placement", state)
	if w := slowSwitch(r.part.Settings().Config.PerLink, is.RuleTime); w != "" {
		s.Warn(w)
	}
	for _, w := range is.Warnings {
		s.Warn(w)
	}
	for i := range is.Groups {
		g := &is.Groups[i]
		row := &telemetry.PlacementGroup{
			Name: &g.Name, Flows: telemetry.Small(g.Flows), Unknown: telemetry.Small(g.Unknown), Entries: telemetry.Small(g.Rules),
			WorstOverMean: status.Rounded(g.Worst, 3), HashWorstOverMean: status.Rounded(g.Hash, 3), Floor: status.Rounded(g.Floor, 3),
			Moves: telemetry.Count(g.Moves), UnsafeMoves: &g.Unsafe, MovesRefused: telemetry.Count(g.Refused),
			EntriesFree: telemetry.Small(g.Free), Held: telemetry.Small(g.Held), Waiting: telemetry.Small(g.Waiting), Refused: telemetry.Small(g.Obstacles.Refused), Bounded: telemetry.Small(g.Bounded),
			EntryMs: status.Rounded(is.RuleTime.Seconds()*1000, 1),
		}
		rows.SetEnum(&row.State, telemetry.Active)
		rows.SetEnum(&row.Scope, "local")
		groups = append(groups, row)
		for k := range g.Members {
			m := &g.Members[k]
			members = append(members, &telemetry.PlacementMember{Group: &g.Name, Name: &m.Name, Weight: status.Rounded(m.Weight, 3), Flows: telemetry.Small(m.Flows)})
		}
	}
	return groups, members
}
