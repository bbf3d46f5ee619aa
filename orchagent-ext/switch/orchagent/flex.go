// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/switch/engine"
	"sluice/yang/rows"
)

// Sluice's own group of counters, which syncd polls: a row of the group, and one of each queue.
// syncd takes rows of FLEX_COUNTER_DB in their order, of any group, at any interval; it does not
// say whether it took them. Since [sonic-swss]'s swss.sh empties the database when it restarts,
// and with it the names of queues' objects, the rows are compared each second.
//
// [sonic-swss]: https://github.com/sonic-net/sonic-swss
const (
	tableGroup = "FLEX_COUNTER_GROUP_TABLE"
	tableFlex  = "FLEX_COUNTER_TABLE"
	nameGroup  = "SLUICE_QUEUE"

	fieldInterval = engine.AttrPolls // ms
	fieldCounters = "QUEUE_COUNTER_ID_LIST"
	objectPrefix  = "oid:"
)

// Counters of a queue. None is cleared by reading.
const (
	statDepth     = "SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES"
	statPackets   = "SAI_QUEUE_STAT_PACKETS"
	statOctets    = "SAI_QUEUE_STAT_BYTES"
	statDropped   = "SAI_QUEUE_STAT_DROPPED_PACKETS"
	statWatermark = "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES" // of SONiC's own group
)

// queueCounters are those that are polled or streamed.
var queueCounters = []string{statDepth, statPackets, statOctets, statDropped}

// inOrder reports whether a table's consumer takes changes in their order.
func inOrder(table string) bool { return table == tableGroup || table == tableFlex }

// groupRow is the row of the group.
func groupRow(interval time.Duration) rows.Row {
	return rows.Row{Table: tableGroup, Key: nameGroup, Fields: map[string]string{
		fieldInterval: fmt.Sprint(interval.Milliseconds()), "STATS_MODE": "STATS_MODE_READ", "FLEX_COUNTER_STATUS": "enable",
	}}
}

// queueRow is the row of a queue in the group, by its object's id; where COUNTERS_DB has no id
// of the queue, by its name.
func queueRow(id string) rows.Row {
	return rows.Row{Table: tableFlex, Key: nameGroup + ":" + id, Fields: map[string]string{
		fieldCounters: strings.Join(queueCounters, ","),
	}}
}

// depthObjects are the rows by which syncd polls queues. ids has their objects by name.
func depthObjects(d engine.Depths, ids map[string]string) []engine.Object {
	if len(d.Queues) == 0 {
		return nil
	}
	group := rowObject(groupRow(max(d.Interval, time.Millisecond)))
	all := []engine.Object{group}
	for _, name := range d.Queues {
		id := ids[name]
		if id == "" {
			id = name
		}
		all = append(all, rowObject(queueRow(id), group.Key))
	}
	return all
}

// Set implements [engine.Setter], for the interval of the group. syncd forgets a group with its last
// queue, and takes rows of the group and of queues in any order: so the queues are set once more.
func (d *Driver) Set(_ *engine.Record, o *engine.Object, attr string, existing map[string]*engine.Record) error {
	if attr != engine.AttrPolls {
		return fmt.Errorf("%w: rows of orchagent are not changed in place", engine.ErrRefused)
	}
	changes := []sonicdb.Change{{Row: rowOf(o)}}
	for _, key := range slices.Sorted(maps.Keys(existing)) {
		if row := rowOf(&existing[key].Object); row.Table == tableFlex {
			changes = append(changes, sonicdb.Change{Row: row})
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	return d.db.flex.Enqueue(ctx, changes...)
}

// unlisted returns why a row of a queue cannot be written; nil: it can.
func (d *Driver) unlisted(r rows.Row) error {
	id := strings.TrimPrefix(r.Key, nameGroup+":")
	if r.Table != tableFlex || strings.HasPrefix(id, objectPrefix) {
		return nil
	}
	ids, err := d.queueObjects()
	if err != nil || ids[id] != "" {
		return err // Objects will have its id
	}
	return fmt.Errorf("%w: %s of COUNTERS_DB has no queue %s: \"counterpoll queue enable\" makes orchagent list queues", engine.ErrRefused, mapQueues, id)
}

// listed reports whether a row of a queue has an object that COUNTERS_DB still lists: orchagent
// gives queues other ones when it starts again.
func (d *Driver) listed(r rows.Row) (bool, error) {
	if r.Table != tableFlex {
		return true, nil
	}
	ids, err := d.queueObjects()
	if err != nil || ids == nil {
		return err == nil, err // orchagent starts, and has yet to list them
	}
	id := strings.TrimPrefix(r.Key, nameGroup+":")
	for _, is := range ids {
		if is == id {
			return true, nil
		}
	}
	return false, nil
}

// removeQueues removes the rows of queues that are left, of objects that have gone.
func (d *store) removeQueues() error {
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	named, err := d.flex.EnqueuedKeys(ctx, tableFlex, nameGroup+":")
	if err != nil || len(named) == 0 {
		return err
	}
	changes := make([]sonicdb.Change, len(named))
	for i, r := range named {
		changes[i] = sonicdb.Change{Row: r, Deleted: true}
	}
	return d.flex.Enqueue(ctx, changes...)
}

// queueIDs are the objects of queues by name, PORT:NUMBER, as of a second ago at most.
type queueIDs struct {
	at  time.Time
	all map[string]string
}

// queueObjects returns the objects of queues by name; nil: COUNTERS_DB lists none. The map is
// the driver's.
func (d *Driver) queueObjects() (map[string]string, error) {
	if now := time.Now(); now.Sub(d.queueIDs.at) > queueIDsCached {
		all, err := getOne(d.db.counters, rows.Row{Table: mapQueues})
		if err != nil {
			return nil, err
		}
		d.queueIDs.at, d.queueIDs.all = now, all
	}
	return d.queueIDs.all, nil
}

// queueIDsCached is less than the time between two looks for drift.
const queueIDsCached = 500 * time.Millisecond

// flexLeft returns the rows of the group that an earlier process left, as objects: those that
// are as Sluice writes them.
func (d *store) flexLeft() (all []engine.Object, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	there, err := d.flex.Enqueued(ctx, groupRow(0))
	if err != nil || len(there) == 0 {
		return nil, err
	}
	ms, _ := strconv.ParseInt(there[0].Fields[fieldInterval], 10, 32)
	named, err := d.flex.EnqueuedKeys(ctx, tableFlex, nameGroup+":")
	if err != nil {
		return nil, err
	}
	group := rowObject(groupRow(time.Duration(ms) * time.Millisecond))
	all = append(all, group)
	for _, r := range named {
		all = append(all, rowObject(queueRow(strings.TrimPrefix(r.Key, nameGroup+":")), group.Key))
	}
	return all, nil
}
