// SPDX-License-Identifier: Apache-2.0

package orchagenttest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

// Tables of FLEX_COUNTER_DB that syncd consumes, and those of COUNTERS_DB with the names of objects.
const (
	tableGroup = "FLEX_COUNTER_GROUP_TABLE"
	tableFlex  = "FLEX_COUNTER_TABLE"

	mapQueues, mapPorts = "COUNTERS_QUEUE_NAME_MAP", "COUNTERS_PORT_NAME_MAP"
)

// Syncd is a little syncd of counters, with the orchagent that gives queues their objects: it takes
// groups of counters from FLEX_COUNTER_DB in their order, and publishes them in COUNTERS_DB at the
// interval of their group, as syncd's FlexCounter does.
type Syncd struct {
	tb             testing.TB
	flex, counters *sonicdb.DB
	queues         []string // PORT:NUMBER
	read           func(queue string) map[string]uint64

	mu     sync.Mutex
	groups map[string]*flexGroup
	ids    map[string]string // of objects, by the name of a queue or port
	starts uint64            // so far
	still  bool              // it polls nothing
	busy   bool              // it takes nothing
	due    time.Time         // the next poll of SONiC's own group
	lacks  map[string]bool   // counters that its SAI library does not read

	restarts sync.WaitGroup
	ended    chan struct{} // closed in the end
}

// firstObject is that of the first start; each later one begins with the next.
const firstObject = 0x1500000000000a

// flexGroup is a group of counters.
type flexGroup struct {
	fields  map[string]string
	objects map[string][]string // counters by object
	due     time.Time
}

// StartSyncd starts it until the test ends, with queues PORT:NUMBER. read reads the counters of a queue.
func StartSyncd(tb testing.TB, d *sonicdb.Databases, queues []string, read func(queue string) map[string]uint64) *Syncd {
	tb.Helper()
	s := &Syncd{tb: tb, queues: queues, read: read, ended: make(chan struct{}), lacks: map[string]bool{}}
	for name, db := range map[string]**sonicdb.DB{"FLEX_COUNTER_DB": &s.flex, "COUNTERS_DB": &s.counters} {
		var err error
		if *db, err = sonicdb.Open(d, name, nil); err != nil {
			tb.Fatal(err)
		}
	}
	s.begin()
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			s.step(ctx, time.Now())
			select {
			case <-ctx.Done():
			case <-time.After(2 * time.Millisecond):
			}
		}
	})
	tb.Cleanup(func() {
		cancel()
		close(s.ended)
		done.Wait()
		s.restarts.Wait()
		_, _ = s.flex.Close(), s.counters.Close()
	})
	return s
}

// begin gives queues and ports their objects, and publishes these.
func (s *Syncd) begin() {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groups, s.ids = map[string]*flexGroup{}, map[string]string{}
	names := map[string]map[string]string{mapQueues: {}, mapPorts: {}}
	id := firstObject + s.starts
	s.starts++
	give := func(of, name string) {
		if s.ids[name] == "" {
			s.ids[name] = fmt.Sprintf("oid:%#x", id)
			id++
			names[of][name] = s.ids[name]
		}
	}
	for _, q := range s.queues {
		port, _, _ := strings.Cut(q, ":")
		give(mapPorts, port)
		give(mapQueues, q)
	}
	for table, fields := range names {
		if err := s.counters.Write(context.Background(), sonicdb.Change{Row: rows.Row{Table: table, Fields: fields}}); err != nil {
			s.tb.Fatal(err)
		}
	}
}

// Restart is that of swss and syncd: FLEX_COUNTER_DB and COUNTERS_DB are emptied, and orchagent lists
// queues when list is closed, seconds later. They have other objects then, of which some named other queues
// before.
func (s *Syncd) Restart(list <-chan struct{}) {
	s.tb.Helper()
	s.mu.Lock()
	s.groups, s.ids = map[string]*flexGroup{}, map[string]string{}
	s.mu.Unlock()
	s.Flush()
	ctx := context.Background()
	all, err := s.counters.Read(ctx, "COUNTERS")
	if err != nil {
		s.tb.Fatal(err)
	}
	for _, r := range append(all, rows.Row{Table: mapQueues}, rows.Row{Table: mapPorts}) {
		if err := s.counters.Write(ctx, sonicdb.Change{Row: r, Deleted: true}); err != nil {
			s.tb.Fatal(err)
		}
	}
	s.restarts.Go(func() {
		select {
		case <-list:
			s.begin()
		case <-s.ended:
		}
	})
}

// Flush empties FLEX_COUNTER_DB; what syncd has taken stays with it.
func (s *Syncd) Flush() {
	s.tb.Helper()
	all, err := s.flex.Read(context.Background(), tableGroup, tableFlex)
	for _, r := range all {
		if err == nil {
			err = s.flex.Write(context.Background(), sonicdb.Change{Row: r, Deleted: true})
		}
	}
	if err != nil {
		s.tb.Fatal(err)
	}
}

// Stand has it publish nothing, or go on.
func (s *Syncd) Stand(still bool) { s.mu.Lock(); s.still = still; s.mu.Unlock() }

// Lack has the SAI library not read a counter.
func (s *Syncd) Lack(counter string) { s.mu.Lock(); s.lacks[counter] = true; s.mu.Unlock() }

// Groups returns the fields of the groups that it has, with the number of their objects.
func (s *Syncd) Groups() map[string]map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]map[string]string{}
	for name, g := range s.groups {
		all[name] = maps.Clone(g.fields)
		all[name]["objects"] = fmt.Sprint(len(g.objects))
	}
	return all
}

// Rows returns the names of the rows of FLEX_COUNTER_DB, sorted.
func (s *Syncd) Rows() (names []string) {
	s.tb.Helper()
	all, err := s.flex.Read(context.Background(), tableGroup, tableFlex)
	if err != nil {
		s.tb.Fatal(err)
	}
	for _, r := range all {
		names = append(names, r.Name())
	}
	return names
}

// Busy has it take nothing more of FLEX_COUNTER_DB once it returns, or go on.
func (s *Syncd) Busy(busy bool) { s.mu.Lock(); s.busy = busy; s.mu.Unlock() }

// step takes what waits, and polls what is due. Redis may be away in a test.
func (s *Syncd) step(ctx context.Context, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy {
		return
	}
	groups, _ := s.flex.Dequeue(ctx, tableGroup)
	objects, _ := s.flex.Dequeue(ctx, tableFlex)
	for _, c := range groups {
		s.takeGroup(c)
	}
	for _, c := range objects {
		s.takeObject(c)
	}
	if s.still {
		return
	}
	for _, g := range s.groups {
		ms, err := strconv.Atoi(g.fields["POLL_INTERVAL"])
		if err != nil || ms <= 0 || g.fields["FLEX_COUNTER_STATUS"] != "enable" || now.Before(g.due) {
			continue
		}
		g.due = now.Add(time.Duration(ms) * time.Millisecond)
		for id, counters := range g.objects {
			s.publish(ctx, id, counters)
		}
	}
	s.pollPorts(ctx, now)
}

// takeGroup takes a row of a group (Syncd::processFlexCounterGroupEvent): the removal of a group is
// that of its plugins, and its objects are polled until they are removed.
func (s *Syncd) takeGroup(c sonicdb.Change) {
	if !c.Deleted {
		maps.Copy(s.group(c.Row.Key).fields, c.Row.Fields)
	}
}

// group returns a group, which it begins where it is new.
func (s *Syncd) group(name string) *flexGroup {
	if s.groups[name] == nil {
		s.groups[name] = &flexGroup{fields: map[string]string{}, objects: map[string][]string{}}
	}
	return s.groups[name]
}

// takeObject takes a row of an object: GROUP:OBJECT (Syncd::processFlexCounterEvent). An object
// that is unknown is refused, and a group is forgotten with its last one
// (FlexCounterManager::removeCounter).
func (s *Syncd) takeObject(c sonicdb.Change) {
	name, id, _ := strings.Cut(c.Row.Key, ":")
	g := s.group(name)
	switch {
	case c.Deleted:
		if delete(g.objects, id); len(g.objects) == 0 {
			delete(s.groups, name)
		}
	case slices.Contains(slices.Collect(maps.Values(s.ids)), id):
		g.objects[id] = strings.Split(c.Row.Fields["QUEUE_COUNTER_ID_LIST"], ",")
	}
}

// publish publishes counters of a queue's object.
func (s *Syncd) publish(ctx context.Context, id string, counters []string) {
	for _, q := range s.queues {
		if s.ids[q] != id {
			continue
		}
		values, fields := s.read(q), map[string]string{}
		for _, c := range counters {
			if v, has := values[c]; has && !s.lacks[c] {
				fields[c] = fmt.Sprint(v)
			}
		}
		_ = s.counters.Amend(ctx, rows.Row{Table: "COUNTERS", Key: id, Fields: fields})
	}
}

// pollPorts publishes the octets of ports, as SONiC's own group does.
func (s *Syncd) pollPorts(ctx context.Context, now time.Time) {
	if now.Before(s.due) {
		return
	}
	s.due = now.Add(time.Second)
	octets := map[string]uint64{}
	for _, q := range s.queues {
		port, _, _ := strings.Cut(q, ":")
		octets[port] += s.read(q)["SAI_QUEUE_STAT_BYTES"]
	}
	for port, n := range octets {
		_ = s.counters.Amend(ctx, rows.Row{Table: "COUNTERS", Key: s.ids[port], Fields: map[string]string{"SAI_PORT_STAT_IF_OUT_OCTETS": fmt.Sprint(n)}})
	}
}
