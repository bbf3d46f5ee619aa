// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/testbed/orchagenttest"
	"sluice/yang/rows"
)

// polledPlace is a place with a little syncd that polls two queues of each of two ports. Octets
// leave them, and so many wait.
type polledPlace struct {
	*place
	syncd       *orchagenttest.Syncd
	counters    *sonicdb.DB
	flex        *sonicdb.DB
	left, waits atomic.Uint64
	driver      *Driver
	engine      *engine.Engine
}

func newPolled(t *testing.T) *polledPlace {
	t.Helper()
	p := &polledPlace{place: newPlace(t).start("202305")}
	p.syncd = orchagenttest.StartSyncd(t, p.databases, []string{"Ethernet0:0", "Ethernet0:1", "Ethernet4:0", "Ethernet4:1"}, func(string) map[string]uint64 {
		left := p.left.Add(1000)
		return map[string]uint64{statDepth: p.waits.Load(), statOctets: left, statPackets: left / 1000, statDropped: 0}
	})
	for name, db := range map[string]**sonicdb.DB{"COUNTERS_DB": &p.counters, "FLEX_COUNTER_DB": &p.flex} {
		var err error
		if *db, err = sonicdb.Open(p.databases, name, nil); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = (*db).Close() })
	}
	p.set("SFLOW", "global", "admin_state", "up")
	p.driver = p.place.driver()
	p.engine = p.place.engine(p.driver)
	return p
}

// polls is a policy that has queues polled at an interval.
func polls(interval time.Duration, queues ...string) engine.Policy {
	p := exports(256, "Ethernet0", "Ethernet4")
	p.SingleFlows, p.Watch, p.Depths = true, 256, engine.Depths{Queues: queues, Interval: interval}
	return p
}

// group waits until syncd has Sluice's group with so many queues at an interval; 0 queues: without the group.
func (p *polledPlace) group(queues int, interval time.Duration) {
	p.t.Helper()
	p.until(fmt.Sprintf("syncd polls %d queues each %v", queues, interval), func() bool {
		g := p.syncd.Groups()[nameGroup]
		if queues == 0 {
			return g == nil
		}
		return g["objects"] == fmt.Sprint(queues) && g[fieldInterval] == fmt.Sprint(interval.Milliseconds()) && g["FLEX_COUNTER_STATUS"] == "enable" && g["STATS_MODE"] == "STATS_MODE_READ"
	})
}

// depths reads a queue, and waits until the answer is good.
func (p *polledPlace) depths(r *Depths, queue int, good func(Depth) bool) (d Depth) {
	p.t.Helper()
	p.until("the depth is good", func() bool {
		ids, err := p.driver.QueueIDs("Ethernet0")
		if err != nil || len(ids) != 2 {
			return false
		}
		d = r.Read(p.t.Context(), ids[queue:queue+1])[0]
		return good(d)
	})
	return d
}

// TestQueuesArePolledByAGroupOfSluice: queues that rows name are polled by syncd in a group of
// Sluice, at the interval that is asked for; when they are not named any more nothing is left.
func TestQueuesArePolledByAGroupOfSluice(t *testing.T) {
	p := newPolled(t)
	p.waits.Store(5000)
	o := p.reconcile(p.engine, polls(10*time.Millisecond, "Ethernet0:1", "Ethernet4:0"))
	if o.Method(engine.NeedThreshold) != engine.Sampled {
		t.Fatalf("%+v", o.Choices[engine.NeedThreshold])
	}
	p.group(2, 10*time.Millisecond)
	r := p.driver.Depths()
	before := p.depths(r, 1, func(d Depth) bool { return d.Err == nil && d.Octets == 5000 && d.Left > 0 })
	p.depths(r, 1, func(d Depth) bool { return d.Left > before.Left && d.Packets > before.Packets && d.Doubt == "" })
	if d := r.Read(t.Context(), must(p.driver.QueueIDs("Ethernet0"))[:1])[0]; d.Err == nil {
		t.Errorf("a queue that no row names is polled: %+v", d)
	}
	p.reconcile(p.engine, polls(40*time.Millisecond, "Ethernet0:1"))
	p.group(1, 40*time.Millisecond)
	p.reconcile(p.engine, engine.Policy{})
	p.group(0, 0)
	p.until("no row is left", func() bool { return len(p.syncd.Rows()) == 0 })
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestRowsOfTheGroupComeBack: after FLEX_COUNTER_DB was emptied, and after swss started again,
// which gives queues other objects, the rows are those of the present objects.
func TestRowsOfTheGroupComeBack(t *testing.T) {
	p := newPolled(t)
	policy := polls(20*time.Millisecond, "Ethernet0:0", "Ethernet4:1")
	p.reconcile(p.engine, policy)
	p.group(2, 20*time.Millisecond)
	was := p.syncd.Rows()
	p.syncd.Flush()
	p.drifts(policy)
	p.until("the same rows are there", func() bool { return slices.Equal(p.syncd.Rows(), was) })
	list := make(chan struct{})
	p.syncd.Restart(list)
	p.until("it is seen that orchagent lists no queue", func() bool {
		changed, err := p.engine.CheckDrift()
		return err == nil && changed && p.reconcile(p.engine, policy).Method(engine.NeedThreshold) == engine.None
	})
	close(list)
	p.until("the rows are those of other objects", func() bool {
		if changed, err := p.engine.CheckDrift(); err == nil && changed {
			p.reconcile(p.engine, policy)
		}
		return slices.ContainsFunc(p.syncd.Rows(), func(row string) bool { return !slices.Contains(was, row) })
	})
	p.group(2, 20*time.Millisecond)
	p.depths(p.driver.Depths(), 0, func(d Depth) bool { return d.Err == nil && d.Left > 0 })
	p.reconcile(p.engine, engine.Policy{})
	p.until("no row is left, of present objects or of former ones", func() bool { return len(p.syncd.Rows()) == 0 })
}

// drifts waits until drift is seen, and reconciles until there is none.
func (p *polledPlace) drifts(policy engine.Policy) {
	p.t.Helper()
	p.until("drift is seen", func() bool {
		changed, err := p.engine.CheckDrift()
		return err == nil && changed
	})
	p.until("and corrected", func() bool {
		p.reconcile(p.engine, policy)
		changed, err := p.engine.CheckDrift()
		return err == nil && !changed
	})
}

// TestQueuesAreNamedAgainAtOnce: syncd takes rows of groups before those of queues, and forgets a group
// with its last queue. The group is written again when it has taken the removals.
func TestQueuesAreNamedAgainAtOnce(t *testing.T) {
	p := newPolled(t)
	policy := polls(10*time.Millisecond, "Ethernet0:1")
	p.reconcile(p.engine, policy)
	p.group(1, 10*time.Millisecond)
	p.syncd.Busy(true)
	p.reconcile(p.engine, engine.Policy{})
	time.AfterFunc(100*time.Millisecond, func() { p.syncd.Busy(false) })
	p.reconcile(p.engine, policy)
	p.until("syncd has taken the rows", func() bool {
		return !must(p.flex.EnqueuedWaits(t.Context(), tableGroup, "")) && !must(p.flex.EnqueuedWaits(t.Context(), tableFlex, ""))
	})
	p.waits.Store(6000)
	p.depths(p.driver.Depths(), 1, func(d Depth) bool { return d.Octets == 6000 })
}

// TestQueuesAreNamedWhileSyncdTakesNothing: the group is refused with its reason, and written when syncd
// takes rows again.
func TestQueuesAreNamedWhileSyncdTakesNothing(t *testing.T) {
	p := newPolled(t)
	p.driver.said.patience, p.driver.said.pause = 50*time.Millisecond, time.Millisecond
	policy := polls(10*time.Millisecond, "Ethernet0:1")
	p.reconcile(p.engine, policy)
	p.group(1, 10*time.Millisecond)
	p.syncd.Busy(true)
	p.reconcile(p.engine, engine.Policy{})
	o := p.reconcile(p.engine, policy)
	if !slices.ContainsFunc(o.Problems, func(s string) bool {
		return strings.Contains(s, "syncd did not take within 50ms that queues are removed from FLEX_COUNTER_GROUP_TABLE|SLUICE_QUEUE")
	}) {
		t.Errorf("%q", o.Problems)
	}
	p.waits.Store(6000)
	p.syncd.Busy(false)
	p.drifts(policy)
	p.depths(p.driver.Depths(), 1, func(d Depth) bool { return d.Octets == 6000 })
}

// TestTheNextProcessRemovesTheGroup: after kill -9, where queues are named no more, the next
// process removes the rows; also where nothing remembers that they were written, and where syncd has
// yet to take them.
func TestTheNextProcessRemovesTheGroup(t *testing.T) {
	for name, forget := range map[string]bool{"by the ledger": false, "by their names": true} {
		t.Run(name, func(t *testing.T) {
			p := newPolled(t)
			p.reconcile(p.engine, polls(20*time.Millisecond, "Ethernet0:0", "Ethernet4:1"))
			p.group(2, 20*time.Millisecond)
			if forget {
				clear(p.ledger.rows)
			}
			next := p.place.engine(p.place.driver()) // nothing of the first one is closed
			p.reconcile(next, engine.Policy{})
			p.group(0, 0)
			p.until("no row is left", func() bool { return len(p.syncd.Rows()) == 0 })
			if len(p.ledger.rows) > 0 {
				t.Errorf("the ledger has %v", p.ledger.rows)
			}
		})
	}
}

// TestAnotherOwnersGroupStays: a group with the name of Sluice's that is not as Sluice writes it is
// left alone, with its queues, and the operator is told.
func TestAnotherOwnersGroupStays(t *testing.T) {
	p := newPolled(t)
	theirs := rows.Row{Table: tableGroup, Key: nameGroup, Fields: map[string]string{fieldInterval: "10000", "STATS_MODE": "STATS_MODE_READ_AND_CLEAR", "FLEX_COUNTER_STATUS": "enable"}}
	queue := queueRow("oid:0x1500000000000b")
	queue.Fields = map[string]string{fieldCounters: statPackets}
	if err := p.flex.Enqueue(t.Context(), sonicdb.Change{Row: theirs}, sonicdb.Change{Row: queue}); err != nil {
		t.Fatal(err)
	}
	var before []rows.Row
	p.until("syncd has taken the group", func() bool {
		before = must(p.flex.Read(t.Context(), tableGroup, tableFlex))
		return len(before) == 2 && p.syncd.Groups()[nameGroup]["objects"] == "1"
	})
	o := p.reconcile(p.engine, polls(10*time.Millisecond, "Ethernet0:1"))
	if !slices.ContainsFunc(o.Problems, func(s string) bool {
		return strings.Contains(s, "there is a row FLEX_COUNTER_GROUP_TABLE|SLUICE_QUEUE that Sluice did not write")
	}) {
		t.Errorf("problems %q", o.Problems)
	}
	p.reconcile(p.engine, engine.Policy{})
	if diff := cmp.Diff(before, must(p.flex.Read(t.Context(), tableGroup, tableFlex))); diff != "" {
		t.Error(diff)
	}
	clear(p.ledger.rows)
	p.reconcile(p.place.engine(p.place.driver()), engine.Policy{})
	if diff := cmp.Diff(before, must(p.flex.Read(t.Context(), tableGroup, tableFlex))); diff != "" {
		t.Errorf("the next process: %s", diff)
	}
}

// TestQueuesThatAreNotListed: a queue that COUNTERS_DB does not list is told, and polled once it is.
func TestQueuesThatAreNotListed(t *testing.T) {
	p := newPolled(t)
	policy := polls(10*time.Millisecond, "Ethernet0:1", "Ethernet8:0")
	o := p.reconcile(p.engine, policy)
	if !slices.ContainsFunc(o.Problems, func(s string) bool { return strings.Contains(s, "has no queue Ethernet8:0") }) {
		t.Errorf("problems %q", o.Problems)
	}
	p.group(1, 10*time.Millisecond)
	if _, err := p.driver.QueueIDs("Ethernet8"); err == nil || !strings.Contains(err.Error(), "counterpoll queue enable") {
		t.Error(err)
	}
	if err := p.counters.Amend(t.Context(), rows.Row{Table: mapQueues, Fields: map[string]string{"Ethernet8:0": "oid:0x15000000000100"}}); err != nil {
		t.Fatal(err)
	}
	p.drifts(policy)
	p.until("its row is there", func() bool {
		return slices.Contains(p.syncd.Rows(), "FLEX_COUNTER_TABLE|SLUICE_QUEUE:oid:0x15000000000100")
	})
}

// TestDepthWithoutTheCounter: where the SAI library has no CURR_OCCUPANCY_BYTES SONiC's own watermarks are
// read while they are polled each second, and that is doubted; else there is no depth.
func TestDepthWithoutTheCounter(t *testing.T) {
	p := newPolled(t)
	p.syncd.Lack(statDepth)
	p.reconcile(p.engine, polls(10*time.Millisecond, "Ethernet0:0"))
	p.group(1, 10*time.Millisecond)
	r := p.driver.Depths()
	p.depths(r, 0, func(d Depth) bool {
		return d.Err != nil && strings.Contains(d.Err.Error(), "counterpoll watermark interval")
	})
	ids, err := p.driver.queueObjects()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.counters.Amend(t.Context(), rows.Row{Table: tableCounters, Key: ids["Ethernet0:0"], Fields: map[string]string{statWatermark: "7000"}}); err != nil {
		t.Fatal(err)
	}
	p.depths(r, 0, func(d Depth) bool { return d.Err != nil }) // SONiC's interval is a minute
	p.set("FLEX_COUNTER_TABLE", "QUEUE_WATERMARK", "FLEX_COUNTER_STATUS", "enable", "POLL_INTERVAL", "100")
	p.depths(r, 0, func(d Depth) bool { return d.Err == nil && d.Octets == 7000 && strings.Contains(d.Doubt, "100ms") })
}

// TestSONiCsOwnPollsAreWatched: while octets leave queues and SONiC's counters of ports stay the
// same for three of their intervals, queues are to be read less often.
func TestSONiCsOwnPollsAreWatched(t *testing.T) {
	var p pulse
	now := time.Unix(0, 0)
	next := func(ports, queues uint64) string {
		now = now.Add(time.Second)
		return p.take(ports, queues, time.Second, now)
	}
	for i := range uint64(5) {
		if why := next(100*i, 50*i); why != "" {
			t.Errorf("they go on: %s", why)
		}
	}
	for range 5 {
		if why := next(400, 200); why != "" {
			t.Errorf("nothing leaves: %s", why)
		}
	}
	for i := range uint64(3) {
		if why := next(400, 201+i); why != "" {
			t.Errorf("after %d s: %s", i+1, why)
		}
	}
	if why := next(400, 210); why != "SONiC polls its counters of ports each 1s, and has not for 4s" {
		t.Errorf("after 4 s: %q", why)
	}
	if why := next(500, 220); why != "" {
		t.Errorf("they go on: %s", why)
	}
	if why := p.take(500, 230, 0, now.Add(time.Hour)); why != "" {
		t.Errorf("they are disabled: %s", why)
	}
}

// TestClassesOfPorts: which queue a packet waits in is by the maps that a port names, in both forms,
// or by the switch's map of DSCP; without one all packets have class 0.
func TestClassesOfPorts(t *testing.T) {
	p := newPlace(t)
	p.set("DSCP_TO_TC_MAP", "AZURE", "0", "1", "26", "3", "63", "7", "64", "1", "x", "2")
	p.set("DSCP_TO_TC_MAP", "ALL", "26", "4")
	p.set("TC_TO_QUEUE_MAP", "AZURE", "3", "5", "4", "4")
	p.set("PORT_QOS_MAP", "Ethernet0", "dscp_to_tc_map", "AZURE", "tc_to_queue_map", "AZURE")
	p.set("PORT_QOS_MAP", "Ethernet4", "dscp_to_tc_map", "[DSCP_TO_TC_MAP|AZURE]")
	got, err := p.driver().Classes([]string{"Ethernet0", "Ethernet4", "Ethernet8"})
	if err != nil {
		t.Fatal(err)
	}
	queue := func(port string, dscp uint8) uint8 { c := got[port]; return c.Queue[c.Class[dscp]] }
	if queue("Ethernet0", 26) != 5 || queue("Ethernet0", 63) != 7 || queue("Ethernet0", 0) != 1 || queue("Ethernet4", 26) != 3 || queue("Ethernet8", 26) != 0 {
		t.Errorf("%+v", got)
	}
	p.set("PORT_QOS_MAP", "global", "dscp_to_tc_map", "ALL")
	if got, err = p.driver().Classes([]string{"Ethernet0", "Ethernet8"}); err != nil || queue("Ethernet0", 26) != 5 || queue("Ethernet8", 26) != 4 {
		t.Errorf("%+v: %v", got, err)
	}
}
