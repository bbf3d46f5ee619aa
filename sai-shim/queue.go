// SPDX-License-Identifier: Apache-2.0

package sai

// #include "shim.h"
import "C"

import (
	"errors"
	"maps"
)

// Queues returns the egress queues of a port, by their number.
func (l *Library) Queues(port ObjectID) ([]ObjectID, error) {
	return getList[ObjectID](l, kindPort, port, C.SAI_PORT_ATTR_QOS_QUEUE_LIST, "SAI_PORT_ATTR_QOS_QUEUE_LIST")
}

// QueueStat is a statistic of an egress queue.
type QueueStat uint32

// The statistics that Sluice reads.
const (
	QueuePackets         QueueStat = C.SAI_QUEUE_STAT_PACKETS                 // that left the queue
	QueueOctets          QueueStat = C.SAI_QUEUE_STAT_BYTES                   // of these
	QueueDropped         QueueStat = C.SAI_QUEUE_STAT_DROPPED_PACKETS         // packets
	QueueOccupancy       QueueStat = C.SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES    // octets in the queue now
	QueueWatermark       QueueStat = C.SAI_QUEUE_STAT_WATERMARK_BYTES         // most octets since the statistic was cleared
	QueueSharedWatermark QueueStat = C.SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES  // of these, in the shared buffer
	QueueMarked          QueueStat = C.SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS // packets, with CE
)

var queueStats = []QueueStat{QueuePackets, QueueOctets, QueueDropped, QueueOccupancy, QueueWatermark, QueueSharedWatermark, QueueMarked}

// QueueStats reads statistics of a queue: those that the library has. Where it has
// none it fails with [ErrNotSupported].
func (l *Library) QueueStats(queue ObjectID) (map[QueueStat]uint64, error) {
	if l.queueStats == nil {
		l.queueStats = queueStats
	}
	values, err := l.readQueue(queue, l.queueStats)
	if !errors.Is(err, ErrNotSupported) || len(l.queueStats) == 0 {
		return values, err
	}
	// The library refuses the list for one that it has not: which has it?
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
	l.queueStats = has
	if len(has) == 0 {
		return nil, err
	}
	return values, nil
}

func (l *Library) readQueue(queue ObjectID, stats []QueueStat) (map[QueueStat]uint64, error) {
	if len(stats) == 0 {
		return nil, l.check("get stats of", kindQueue.name, C.SAI_STATUS_NOT_SUPPORTED)
	}
	var v [16]C.uint64_t
	status := C.shim_stats(l.shim, kindQueue.number, C.uint64_t(queue), (*C.uint32_t)(&stats[0]), C.uint32_t(len(stats)), &v[0])
	if err := l.check("get stats of", kindQueue.name, status); err != nil {
		return nil, err
	}
	values := make(map[QueueStat]uint64, len(stats))
	for i, stat := range stats {
		values[stat] = uint64(v[i])
	}
	return values, nil
}

// CreateScheduler creates a scheduler that serves a queue at no more than rate
// octets a second; 0 is no limit.
func (l *Library) CreateScheduler(rate uint64) (ObjectID, error) {
	l.enum(C.SAI_SCHEDULER_ATTR_SCHEDULING_TYPE, "SAI_SCHEDULER_ATTR_SCHEDULING_TYPE", C.SAI_SCHEDULING_TYPE_STRICT)
	l.enum(C.SAI_SCHEDULER_ATTR_METER_TYPE, "SAI_SCHEDULER_ATTR_METER_TYPE", C.SAI_METER_TYPE_BYTES)
	l.u64(C.SAI_SCHEDULER_ATTR_MAX_BANDWIDTH_RATE, "SAI_SCHEDULER_ATTR_MAX_BANDWIDTH_RATE", rate)
	return l.create(KindScheduler)
}

// SetSchedulerRate changes the rate of a scheduler, in octets a second.
func (l *Library) SetSchedulerRate(scheduler ObjectID, rate uint64) error {
	l.u64(C.SAI_SCHEDULER_ATTR_MAX_BANDWIDTH_RATE, "SAI_SCHEDULER_ATTR_MAX_BANDWIDTH_RATE", rate)
	return l.set(KindScheduler, scheduler)
}

// RemoveScheduler removes a scheduler that no queue uses.
func (l *Library) RemoveScheduler(id ObjectID) error { return l.remove(KindScheduler, id) }

// SetQueueScheduler lets a scheduler serve a queue; Null lets the default one.
func (l *Library) SetQueueScheduler(queue, scheduler ObjectID) error {
	l.oid(C.SAI_QUEUE_ATTR_SCHEDULER_PROFILE_ID, "SAI_QUEUE_ATTR_SCHEDULER_PROFILE_ID", scheduler)
	return l.set(kindQueue, queue)
}
