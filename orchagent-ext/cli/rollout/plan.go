// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sluice/orchagent-ext/cli/settings"
	"sluice/orchagent-ext/cli/targets"
	"sluice/yang/rows"
	"sluice/yang/text"
)

// Result is the state of a switch after a change.
type Result string

// Results. The empty one is of a change that is still to be written.
const (
	Written    Result = "written"        // and confirmed
	Unchanged  Result = "nothing to do"  // its rows were so before
	NotWritten Result = "not written"    // because of another switch
	Refused    Result = "refused"        // and its rows are as before
	Unanswered Result = "did not answer" // to the reading, or to [Disable], which it may have carried out
	TakenBack  Result = "taken back"     // it has nothing of the change
	FallsBack  Result = "falls back"     // by itself, when its commit is over
	Left       Result = "left changed"   // to take it back failed
	Unknown    Result = "unknown"        // its answers were lost
)

// Switch is one switch of a change.
type Switch struct {
	targets.Target
	// Endpoint is the network address, by which it is the same switch under each name.
	Endpoint string
	// Before is the configuration that was read.
	Before settings.Config
	// Edits are the rows that differ; empty: they are as wanted.
	Edits  []settings.Edit
	Result Result
	// Why is the reason of a result; nil: the result is enough.
	Why error
	// Until is when an unconfirmed commit is over, at the latest; zero: the change has yet to begin.
	Until time.Time
	// Silent reports that an answer of the switch is missing.
	Silent bool

	number    int  // in the fleet
	begun     bool // a commit may wait there
	asked     bool // for the confirmation, which may have arrived
	confirmed bool
}

// end sets the result, and the reason where it is missing.
func (s *Switch) end(r Result, why error) {
	s.Result = r
	if s.Why == nil {
		s.Why = why
	}
}

// Plan is the change of switches, to be written.
type Plan struct {
	Switches []*Switch // in the order of the targets
	fleet    *targets.Fleet
}

// tables returns those by which a change is judged. The ports are those at which sluiced counts.
func tables() map[string][]string {
	return map[string][]string{
		"CONFIG_DB":   append(rows.Tables("CONFIG_DB"), settings.References()...),
		"COUNTERS_DB": {tablePortStats},
	}
}

// tablePortStats has a row for each port at which sluiced counts.
const tablePortStats = "SLUICE_PORT_STATS"

// members returns the switches of a fleet.
func members(f *targets.Fleet) []*Switch {
	var all []*Switch
	for i, t := range f.Targets() {
		all = append(all, &Switch{Target: t, Endpoint: f.Endpoint(i), number: i})
	}
	return all
}

// twice returns an error where two names are of one switch, which has one commit at a time.
func twice(all []*Switch) error {
	names := map[string]string{}
	for _, s := range all {
		if other, known := names[s.Endpoint]; known {
			return errors.New(text.Printable(fmt.Sprintf("%s and %s are one switch, at %s: name it once", other, s.Name, s.Endpoint)))
		}
		names[s.Endpoint] = s.Name
	}
	return nil
}

// Read reads all switches, and judges the change of each by its rows. change returns the change
// of a switch, whose rows are known then. Switches that are silent, or refuse, have a result; then
// the others have [NotWritten].
func Read(ctx context.Context, f *targets.Fleet, change func(*Switch) (settings.Change, error)) (*Plan, error) {
	all := members(f)
	if err := twice(all); err != nil {
		return nil, err
	}
	p := &Plan{Switches: all, fleet: f}
	for i, r := range f.Read(ctx, tables()) {
		s := all[i]
		if r.Err != nil {
			s.Silent = true
			s.end(Unanswered, r.Err)
			continue
		}
		if err := s.judge(r.Rows, change); err != nil {
			s.end(Refused, err)
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if !p.Good() {
		for _, s := range all {
			if s.Result == "" {
				s.Result = NotWritten
			}
		}
	}
	return p, nil
}

// judge computes the edits of a switch by the rows that it has.
func (s *Switch) judge(all []rows.Row, change func(*Switch) (settings.Change, error)) error {
	counted := false
	for _, r := range all {
		counted = counted || r.Table == tablePortStats
	}
	s.Before = settings.NewConfig(all)
	wanted, err := change(s)
	if err != nil {
		return err
	}
	_, edits, err := s.Before.Apply(settings.OfSwitch(counted, wanted))
	s.Edits = settings.Canonical(edits)
	return err
}

// Good reports whether all switches answered, and take the change.
func (p *Plan) Good() bool {
	for _, s := range p.Switches {
		if s.Result == Unanswered || s.Result == Refused {
			return false
		}
	}
	return true
}

// changing returns the switches whose rows differ; the others are [Unchanged].
func (p *Plan) changing() []*Switch {
	var some []*Switch
	for _, s := range p.Switches {
		if len(s.Edits) == 0 {
			s.Result = Unchanged
			continue
		}
		some = append(some, s)
	}
	return some
}

// each calls f for all switches at the same time.
func each(all []*Switch, f func(*Switch)) {
	var done sync.WaitGroup
	for _, s := range all {
		done.Go(func() { f(s) })
	}
	done.Wait()
}

// refused returns the refusal in an error, or nil.
func refused(err error) *targets.RefusedError {
	var r *targets.RefusedError
	errors.As(err, &r)
	return r
}
