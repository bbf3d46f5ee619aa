// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"maps"
	"slices"
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

// must is a case: what a section of the specification says a target MUST do.
type must struct {
	name string // section, and what
	run  func(t *testing.T, s *server)
}

// alike are the cases that leave nothing but rows behind; conformance are all cases.
// MUSTS.md has what each is for.
var (
	alike       = slices.Concat(formats, names, hostile, reads, sets, subscriptions, streams)
	conformance = slices.Concat(alike, extensions)
)

// TestConformanceCases shares a few servers among the cases that are alike: to start one
// takes longer than most cases do. A commit that waits stays with its server, so each case
// of extensions has one of its own.
func TestConformanceCases(t *testing.T) {
	free, defaults := make(chan *server, 3), map[string]string(nil)
	for range cap(free) {
		s := start(t)
		defaults = s.leaves()
		free <- s
	}
	for _, m := range alike {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			shared := <-free
			t.Cleanup(func() { free <- shared })
			s := *shared
			s.t = t
			s.empty(defaults)
			m.run(t, &s)
		})
	}
	for _, m := range extensions {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			m.run(t, start(t))
		})
	}
}

// own is the table that the server writes itself, each second.
const own = "SLUICE_GNMI_STATS"

// empty removes the rows of the case before, and waits until streams begin with the defaults alone.
func (s *server) empty(defaults map[string]string) {
	s.t.Helper()
	for _, db := range []*sonicdb.DB{s.config, s.state, s.counter} {
		all, err := db.Read(s.t.Context(), append(rows.Tables(db.Name), "PORT")...)
		if err != nil {
			s.t.Fatal(err)
		}
		var gone []sonicdb.Change
		for _, r := range all {
			if r.Table != own {
				gone = append(gone, sonicdb.Change{Row: r, Deleted: true})
			}
		}
		if err := db.Write(s.t.Context(), gone...); err != nil {
			s.t.Fatal(err)
		}
	}
	s.eventually("streams know that no row is left", func() bool { return maps.Equal(s.leaves(), defaults) })
}

// leaves are those that a stream of everything else begins with: without a row they are the
// defaults of tables of one row.
func (s *server) leaves() map[string]string {
	s.t.Helper()
	st := s.subscribe(list(gpb.SubscriptionList_STREAM, on("/", gpb.SubscriptionMode_ON_CHANGE)))
	defer st.end()
	all := values(st.initial()...)
	maps.DeleteFunc(all, func(p, _ string) bool { return strings.Contains(p, own) })
	return all
}
