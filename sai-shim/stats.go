// SPDX-License-Identifier: Apache-2.0

package sai

// #include "shim.h"
import "C"

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"
	"sync/atomic"

	"sluice/sai-shim/saiattr"
)

// QueueStat is a statistic of an egress queue. The value is SAI's number in
// sai_queue_stat_t (saiqueue.h).
type QueueStat uint32

// The statistics that Sluice reads.
const (
	QueuePackets QueueStat = C.SAI_QUEUE_STAT_PACKETS         // that left the queue
	QueueOctets  QueueStat = C.SAI_QUEUE_STAT_BYTES           // of these
	QueueDropped QueueStat = C.SAI_QUEUE_STAT_DROPPED_PACKETS // packets
	// octets in the queue now
	QueueOccupancy QueueStat = C.SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES
	// most octets since the statistic was cleared
	QueueWatermark QueueStat = C.SAI_QUEUE_STAT_WATERMARK_BYTES
	// of these, in the shared buffer
	QueueSharedWatermark QueueStat = C.SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES
	QueueMarked          QueueStat = C.SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS // packets, with CE
)

// queueStats are the statistics that Sluice reads of a queue.
var queueStats = []QueueStat{QueuePackets, QueueOctets, QueueDropped, QueueOccupancy, QueueWatermark, QueueSharedWatermark, QueueMarked}

// QueueStats reads statistics of a queue: those that the library has. It fails with
// [ErrNotSupported] where the library lacks all.
func (l *Library) QueueStats(queue ObjectID) (map[QueueStat]uint64, error) {
	known := l.knownQueueStats()
	values, err := l.readQueue(queue, known)
	if !errors.Is(err, ErrNotSupported) || len(known) == 0 {
		l.queueStats.CompareAndSwap(nil, &known)
		return values, err
	}
	// The library refuses the list for one that it lacks: which has it?
	has := []QueueStat{}
	values = map[QueueStat]uint64{}
	for _, stat := range queueStats {
		one, why := l.readQueue(queue, []QueueStat{stat})
		if errors.Is(why, ErrNotSupported) {
			continue
		}
		if why != nil {
			return nil, why
		}
		has = append(has, stat)
		maps.Copy(values, one)
	}
	l.queueStats.Store(&has)
	if len(has) == 0 {
		return nil, err
	}
	return values, nil
}

// knownQueueStats returns the statistics that the library has, as far as is known.
func (l *Library) knownQueueStats() []QueueStat {
	if known := l.queueStats.Load(); known != nil {
		return *known
	}
	return queueStats
}

// readQueue reads statistics of a queue by one call, which fails as a whole for one that
// the library lacks.
func (l *Library) readQueue(queue ObjectID, stats []QueueStat) (map[QueueStat]uint64, error) {
	if len(stats) == 0 {
		return nil, &Error{Call: "get stats of", Object: saiattr.Queue.Name, Status: C.SAI_STATUS_NOT_SUPPORTED}
	}
	v, err := l.stats(saiattr.Queue, queue, numbers(stats)...)
	if err != nil {
		return nil, err
	}
	return named(stats, v), nil
}

// AllQueueStats reads the statistics of queues, in one call where the library can. errs[i] is
// the reason why queue i has none.
func (l *Library) AllQueueStats(queues []ObjectID) (all []map[QueueStat]uint64, errs []error) {
	all, errs = make([]map[QueueStat]uint64, len(queues)), make([]error, len(queues))
	// which statistics the library has, one queue teaches
	known := l.queueStats.Load()
	if len(queues) == 1 || known == nil || len(*known) == 0 {
		for i, queue := range queues {
			all[i], errs[i] = l.QueueStats(queue)
		}
		return all, errs
	}
	values, errs := l.allStats(saiattr.Queue, &l.queues, queues, numbers(*known))
	for i, v := range values {
		if errs[i] == nil {
			all[i] = named(*known, v)
		}
	}
	return all, errs
}

// numbers returns the statistics as the C call takes them.
func numbers(stats []QueueStat) []C.uint32_t {
	ids := make([]C.uint32_t, len(stats))
	for i, stat := range stats {
		ids[i] = C.uint32_t(stat)
	}
	return ids
}

// named returns values by their statistic; v[i] is that of stats[i].
func named(stats []QueueStat, v []uint64) map[QueueStat]uint64 {
	values := make(map[QueueStat]uint64, len(stats))
	for i, stat := range stats {
		values[stat] = v[i]
	}
	return values
}

// PortStats are counters of a port since the switch came up.
type PortStats struct {
	RxOctets, RxPackets uint64 // unicast packets
	TxOctets, TxPackets uint64
}

// portStats are the numbers of what [PortStats] has, in its order.
var portStats = []C.uint32_t{C.SAI_PORT_STAT_IF_IN_OCTETS, C.SAI_PORT_STAT_IF_IN_UCAST_PKTS, C.SAI_PORT_STAT_IF_OUT_OCTETS, C.SAI_PORT_STAT_IF_OUT_UCAST_PKTS}

// PortStats reads the counters of a port. It fails as a whole where the library lacks one
// of the four, with [ErrNotSupported].
func (l *Library) PortStats(port ObjectID) (PortStats, error) {
	all, errs := l.AllPortStats([]ObjectID{port})
	return all[0], errs[0]
}

// AllPortStats reads the counters of ports, in one call where the library can. errs[i] is the
// reason why port i has none.
func (l *Library) AllPortStats(ports []ObjectID) (all []PortStats, errs []error) {
	all = make([]PortStats, len(ports))
	values, errs := l.allStats(saiattr.Port, &l.ports, ports, portStats)
	for i, v := range values {
		if errs[i] == nil {
			all[i] = PortStats{v[0], v[1], v[2], v[3]}
		}
	}
	return all, errs
}

// PortDiscards reads how many packets a port was to send, and dropped. It counts since
// the switch came up, all causes together.
func (l *Library) PortDiscards(port ObjectID) (packets uint64, err error) {
	v, err := l.stats(saiattr.Port, port, C.SAI_PORT_STAT_IF_OUT_DISCARDS)
	if err != nil {
		return 0, err
	}
	return v[0], nil
}

// PolicerRed reads how many packets were red for a policer: above its rate and burst.
func (l *Library) PolicerRed(policer ObjectID) (packets uint64, err error) {
	v, err := l.stats(saiattr.Policer, policer, C.SAI_POLICER_STAT_RED_PACKETS)
	if err != nil {
		return 0, err
	}
	return v[0], nil
}

// stats reads statistics of an object.
func (l *Library) stats(k saiattr.Kind, id ObjectID, ids ...C.uint32_t) ([]uint64, error) {
	v := make([]uint64, len(ids))
	if err := l.avoided("get stats of", k.Name); err != nil {
		return nil, err
	}
	if err := l.begin(); err != nil {
		return nil, err
	}
	defer l.end()
	l.enter("get stats of", k.Name, id)
	return v, l.check(Status(C.shim_stats(l.shim, C.int32_t(k.Number), C.uint64_t(id), &ids[0], C.uint32_t(len(ids)), (*C.uint64_t)(&v[0]))))
}

// Of how many objects one call reads statistics.
const (
	tryAtOnce  = 2  // the first time
	mostAtOnce = 64 // where that went well
)

// bulk is what is known of the call for statistics of many objects of a kind: of how many one call
// reads them; 0: it was not tried.
type bulk struct{ atOnce atomic.Int32 }

// PortsAtOnce returns of how many ports [Library.AllPortStats] reads the counters in one call;
// 1 where the library has no such call, or one that does not work.
func (l *Library) PortsAtOnce() int { return cmp.Or(int(l.ports.atOnce.Load()), tryAtOnce) }

// QueuesAtOnce is [Library.PortsAtOnce] of queues. The two are learned apart, as
// libraries have the bulk call for some types only.
func (l *Library) QueuesAtOnce() int { return cmp.Or(int(l.queues.atOnce.Load()), tryAtOnce) }

// allStats reads statistics of objects of a kind: values[i] are those of object i, errs[i] the
// reason why it has none. Of what a call for many gave no numbers, each object is read by itself.
func (l *Library) allStats(k saiattr.Kind, b *bulk, objects []ObjectID, stats []C.uint32_t) (values [][]uint64, errs []error) {
	values, errs = make([][]uint64, len(objects)), make([]error, len(objects))
	if known := b.atOnce.Load(); len(objects) > 1 && known != 1 {
		read := l.bulkStats(k, objects, stats, values)
		switch {
		case read < 0:
		case read == 0, known == 0 && read < len(objects):
			b.atOnce.Store(1)
		default:
			b.atOnce.Store(mostAtOnce)
		}
	}
	for i := range values {
		if values[i] == nil {
			values[i], errs[i] = l.stats(k, objects[i], stats...)
		}
	}
	return values, errs
}

// unread is in the place of a number before the library writes it: there are libraries that
// answer SUCCESS and write none.
const unread = math.MaxUint64

// bulkStats reads statistics of objects in one call, and returns of how many it did; -1: it had no
// turn. It leaves the values of the others nil.
func (l *Library) bulkStats(k saiattr.Kind, objects []ObjectID, stats []C.uint32_t, values [][]uint64) (read int) {
	const call = "get stats of many"
	if l.avoided(call, k.Name) != nil {
		return 0
	}
	all, statuses := make([]uint64, len(objects)*len(stats)), make([]C.sai_status_t, len(objects))
	for i := range all {
		all[i] = unread
	}
	for i := range statuses {
		statuses[i] = C.SAI_STATUS_FAILURE
	}
	if l.begin() != nil { // each object by itself has the same error
		return -1
	}
	defer l.end()
	l.enter(call, k.Name, Null)
	err := l.check(Status(C.shim_bulk_stats(l.shim, C.int32_t(k.Number), (*C.uint64_t)(&objects[0]), C.uint32_t(len(objects)),
		&stats[0], C.uint32_t(len(stats)), &statuses[0], (*C.uint64_t)(&all[0]))))
	for i := range objects {
		v := all[i*len(stats) : (i+1)*len(stats)]
		if (err == nil || statuses[i] == 0) && !slices.Contains(v, unread) {
			values[i] = v
			read++
		}
	}
	return read
}
