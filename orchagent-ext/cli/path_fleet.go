// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/cli/trace"
	"sluice/yang/rows"
	"sluice/yang/text"
)

// pathTables are those by which a switch is asked for the path of a flow.
var pathTables = map[string][]string{"STATE_DB": {trace.TableNextHop, trace.TableHash, trace.TableFlow}}

// switchPath is the JSON of a switch beside others.
type switchPath struct {
	Switch string      `json:"switch"`
	Answer *pathAnswer `json:"answer"`
	Error  string      `json:"error,omitempty"` // why the path is not known
}

// ofTargets prints by which uplinks the switches of --target forward the flow.
func (q *pathQuery) ofTargets(cmd *cobra.Command, t *targetFlags, format output.Format) error {
	f, err := t.open(cmd)
	if err != nil {
		return err
	}
	defer f.Close()
	read := f.Read(cmd.Context(), pathTables)
	if cmd.Context().Err() != nil {
		return kit.ErrInterrupted
	}
	if f.one {
		if read[0].Err != nil {
			return &unanswered{read[0].Target, read[0].Err}
		}
		a, err := q.fromRows(read[0].Rows)
		if err != nil {
			return err
		}
		if format.Data() {
			return format.Encoder(cmd.OutOrStdout()).Encode(a)
		}
		return a.print(cmd, format.Style(cmd.OutOrStdout()))
	}
	var all []switchPath
	var missing []*unanswered
	for _, r := range read {
		if r.Err != nil {
			missing = append(missing, &unanswered{r.Target, r.Err})
			continue
		}
		p := switchPath{Switch: r.Target.Name}
		var err error
		if p.Answer, err = q.fromRows(r.Rows); err != nil {
			p.Error = err.Error()
		}
		all = append(all, p)
	}
	return q.printPaths(cmd, format, all, missing)
}

// fromRows returns the answer of another switch, by its rows.
func (q *pathQuery) fromRows(all []rows.Row) (*pathAnswer, error) {
	tables := map[string]trace.Rows{trace.TableNextHop: {}, trace.TableHash: {}}
	var flows []rows.Row
	for _, r := range all {
		switch r.Table {
		case trace.TableFlow:
			flows = append(flows, r)
		default:
			tables[r.Table][r.Key] = r.Fields
		}
	}
	if len(tables[trace.TableNextHop]) == 0 {
		return nil, errNoNextHops
	}
	s, err := trace.FromRows(tables[trace.TableNextHop], tables[trace.TableHash], q.dst)
	if err != nil {
		return nil, err
	}
	a := &pathAnswer{Sport: q.sport, choose: s.Choose}
	for _, m := range s.Members {
		a.Group = append(a.Group, pathMember{m.Port, m.Via, m.Weight, m.State})
	}
	if a.choose == nil {
		return a, &unknownChoice{len(s.Members), s.Unknown}
	}
	if s.Hash != nil {
		a.hashed(*s.Hash)
	}
	q.find(flows)
	q.paths(a)
	return a, nil
}

// errNoNextHops is of a switch that says nothing of its next hops.
var errNoNextHops = errors.New("it publishes no next hops: set SLUICE|global publish_next_hops=enabled there")

// printPaths prints the paths of several switches in one table, and why others have none there.
func (q *pathQuery) printPaths(cmd *cobra.Command, format output.Format, all []switchPath, missing []*unanswered) error {
	out := cmd.OutOrStdout()
	if format.Data() {
		e := format.Encoder(out)
		for _, p := range all {
			if err := e.Encode(p); err != nil {
				return err
			}
		}
		for _, m := range missing {
			if err := e.Encode(unread{m.Name, m.Address, m.why.Error()}); err != nil {
				return err
			}
		}
	} else if err := printPathTable(cmd, format, all, missing); err != nil {
		return err
	}
	if missing != nil {
		return kit.Exited{Status: statusUnanswered}
	}
	return nil
}

// printPathTable is printPaths for people.
func printPathTable(cmd *cobra.Command, format output.Format, all []switchPath, missing []*unanswered) error {
	out := cmd.OutOrStdout()
	table := output.NewTable(out, format.Style(out), "SWITCH", "", "LABEL", "PORT", "VIA")
	for _, p := range all {
		if p.Error != "" {
			table.Row(p.Switch, "-", "-", "-", "-")
			continue
		}
		for _, cells := range p.Answer.lines() {
			table.Row(append([]string{p.Switch}, cells...)...)
		}
	}
	if len(all) > 0 {
		if err := table.End(); err != nil {
			return err
		}
	}
	for _, p := range all {
		said := p.Error
		if said == "" {
			said = p.Answer.group()
			if p.Answer.Reason != "" {
				said += "; " + p.Answer.Reason
			}
		}
		cmd.PrintErrf("%s: %s\n", text.Printable(p.Switch), text.Printable(said))
	}
	for _, m := range missing {
		fmt.Fprintln(out, m)
	}
	return nil
}
