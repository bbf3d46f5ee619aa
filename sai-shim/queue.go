package sai

// #include "shim.h"
import "C"

// Queues returns the egress queues of a port, by their number.
func (l *Library) Queues(port ObjectID) ([]ObjectID, error) {
	return getList[ObjectID](l, kindPort, port, C.SAI_PORT_ATTR_QOS_QUEUE_LIST, "SAI_PORT_ATTR_QOS_QUEUE_LIST")
}

// QueueStats are statistics of an egress queue.
type QueueStats struct {
	Octets          uint64 // in the queue now
	Watermark       uint64 // most octets since the statistic was cleared
	SharedWatermark uint64 // of these, in the shared buffer
	Dropped         uint64 // packets
	Marked          uint64 // packets, with CE
}

// QueueStats reads statistics of a queue.
func (l *Library) QueueStats(queue ObjectID) (QueueStats, error) {
	ids := [...]C.uint32_t{
		C.SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES, C.SAI_QUEUE_STAT_WATERMARK_BYTES, C.SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES,
		C.SAI_QUEUE_STAT_DROPPED_PACKETS, C.SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS,
	}
	var v [len(ids)]C.uint64_t
	err := l.check("get stats of", kindQueue.name, C.shim_stats(l.shim, kindQueue.number, C.uint64_t(queue), &ids[0], C.uint32_t(len(ids)), &v[0]))
	return QueueStats{uint64(v[0]), uint64(v[1]), uint64(v[2]), uint64(v[3]), uint64(v[4])}, err
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
