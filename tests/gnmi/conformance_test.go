// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"context"
	"slices"
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
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
	free, leaves := make(chan *server, 3), 0
	for range cap(free) {
		s := start(t)
		free <- s
		leaves = s.leaves()
	}
	for _, m := range alike {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			shared := <-free
			t.Cleanup(func() { free <- shared })
			s := *shared
			s.t = t
			t.Cleanup(func() { s.empty(leaves) })
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

// empty removes all rows, and waits until streams begin with so many leaves.
func (s *server) empty(leaves int) {
	ctx := context.Background() // that of the case has ended
	for _, db := range []*sonicdb.DB{s.config, s.state, s.counter} {
		all, err := db.Read(ctx, append(rows.Tables(db.Name), "PORT")...)
		if err != nil {
			s.t.Fatal(err)
		}
		var gone []sonicdb.Change
		for _, r := range all {
			if r.Table == own {
				continue
			}
			gone = append(gone, sonicdb.Change{Row: r, Deleted: true})
		}
		if err := db.Write(ctx, gone...); err != nil {
			s.t.Fatal(err)
		}
	}
	s.eventually("streams know that no row is left", func() bool { return s.leaves() == leaves })
}

// leaves counts the leaves that a stream of everything else begins with: without a row they
// are the defaults of tables of one row.
func (s *server) leaves() int {
	conn, err := grpc.NewClient("unix:"+s.socket(), insecureOption)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	rpc, err := gpb.NewGNMIClient(conn).Subscribe(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := rpc.Send(list(gpb.SubscriptionList_STREAM, on("/", gpb.SubscriptionMode_ON_CHANGE))); err != nil {
		s.t.Fatal(err)
	}
	st := &stream{s, rpc, cancel}
	n := 0
	for p := range values(st.initial()...) {
		if !strings.Contains(p, own) {
			n++
		}
	}
	return n
}
