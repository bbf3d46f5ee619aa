// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"
	"slices"

	"github.com/openconfig/ygot/ygot"

	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/yang/rows"
)

// Changes are the rows of a table that differ from those before.
type Changes struct {
	Set   []ygot.GoStruct // rows that are new or others
	Gone  []string        // keys
	Whole bool            // Set has all rows, and others are gone
}

// Rejected returns how many rows are not in force as they are configured.
func (s *State) Rejected() int { return len(s.snapshot.Rejections) }

// Rejections returns the changes of SLUICE_CONFIG_ERROR since the call before. A change costs
// what changed: rejected rows may be very many.
func (s *State) Rejections() Changes {
	was, is := s.shown, s.snapshot
	s.shown = is
	if was == nil {
		return s.allRejections()
	}
	old, now := was.Rejections, is.Rejections
	if len(old) == len(now) && (len(now) == 0 || &old[0] == &now[0]) {
		return Changes{}
	}
	var set, gone []*config.Rejection
	for i := range now {
		r := &now[i]
		for ; len(old) > 0 && config.ByName(old[0], *r) < 0; old = old[1:] {
			gone = append(gone, &old[0])
		}
		same := false
		if len(old) > 0 && config.ByName(old[0], *r) == 0 {
			same = old[0] == *r && maps.Equal(was.LastGood[name(r)].Fields, is.LastGood[name(r)].Fields)
			old = old[1:]
		}
		if !same {
			set = append(set, r)
		}
	}
	for i := range old {
		gone = append(gone, &old[i])
	}
	for _, r := range gone {
		delete(s.rejectedAt, name(r))
	}
	// a long key is cut, and so may be that of several rows
	if slices.ContainsFunc(slices.Concat(set, gone), func(r *config.Rejection) bool { return len(r.Key) > rows.LongestQuote }) {
		return s.allRejections()
	}
	var c Changes
	for _, r := range set {
		c.Set = append(c.Set, s.rejection(r))
	}
	for _, r := range gone {
		c.Gone = append(c.Gone, name(r))
	}
	return c
}

// allRejections returns all rows of SLUICE_CONFIG_ERROR.
func (s *State) allRejections() Changes {
	c := Changes{Whole: true}
	for i := range s.snapshot.Rejections {
		c.Set = append(c.Set, s.rejection(&s.snapshot.Rejections[i]))
	}
	return c
}

// rejection returns the row of SLUICE_CONFIG_ERROR of a row that is not in force.
func (s *State) rejection(r *config.Rejection) ygot.GoStruct {
	var good *rows.Row
	if row, ok := s.snapshot.LastGood[name(r)]; ok {
		good = &row
	}
	return telemetry.ConfigError(r, s.rejectedAt[name(r)], good)
}

// name returns the name of a row in CONFIG_DB, which is also its key in SLUICE_CONFIG_ERROR.
func name(r *config.Rejection) string { return r.Table + "|" + r.Key }
