package sai

// #include "shim.h"
import "C"

// Queues returns the egress queues of a port, in the order of their index.
func (l *Library) Queues(port ObjectID) ([]ObjectID, error) {
	return getList[ObjectID](l, kindPort, port, C.SAI_PORT_ATTR_QOS_QUEUE_LIST, "SAI_PORT_ATTR_QOS_QUEUE_LIST")
}

// QueueStat is a statistic of an egress queue.
type QueueStat uint32

// The statistics. Counters begin when the switch comes up; occupancy and
// watermarks are in bytes.
const (
	QueuePackets         QueueStat = C.SAI_QUEUE_STAT_PACKETS
	QueueBytes           QueueStat = C.SAI_QUEUE_STAT_BYTES
	QueueDropped         QueueStat = C.SAI_QUEUE_STAT_DROPPED_PACKETS
	QueueOccupancy       QueueStat = C.SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES
	QueueWatermark       QueueStat = C.SAI_QUEUE_STAT_WATERMARK_BYTES
	QueueSharedWatermark QueueStat = C.SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES
	QueueECNMarked       QueueStat = C.SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS
)

// QueueStats reads statistics of a queue, in the order asked for. A library that
// lacks one of them refuses all.
func (l *Library) QueueStats(queue ObjectID, ids ...QueueStat) ([]uint64, error) {
	return stats(l, kindQueue, queue, ids)
}

// QueueScheduler returns the scheduler of a queue; Null for the switch's default.
func (l *Library) QueueScheduler(queue ObjectID) (ObjectID, error) {
	v, err := l.get(kindQueue, queue, C.SAI_QUEUE_ATTR_SCHEDULER_PROFILE_ID, "SAI_QUEUE_ATTR_SCHEDULER_PROFILE_ID")
	return ObjectID(asU64(v)), err
}

// SetQueueScheduler puts a queue under a scheduler; Null is the switch's default.
func (l *Library) SetQueueScheduler(queue, scheduler ObjectID) error {
	l.oid(C.SAI_QUEUE_ATTR_SCHEDULER_PROFILE_ID, "SAI_QUEUE_ATTR_SCHEDULER_PROFILE_ID", scheduler)
	return l.set(kindQueue, queue)
}

// Scheduling says by what a queue gets its turn.
type Scheduling int32

// The kinds of scheduling.
const (
	Strict Scheduling = C.SAI_SCHEDULING_TYPE_STRICT
	WRR    Scheduling = C.SAI_SCHEDULING_TYPE_WRR
	DWRR   Scheduling = C.SAI_SCHEDULING_TYPE_DWRR
)

// Scheduler is how a queue is served, and how fast at most.
type Scheduler struct {
	Scheduling Scheduling
	Weight     uint8  // of WRR and DWRR; 0: SAI's default
	MaxRate    uint64 // bytes/s; 0: no limit
	MaxBurst   uint64 // bytes; 0: the library's choice
}

// CreateScheduler creates a scheduler for queues.
func (l *Library) CreateScheduler(s Scheduler) (ObjectID, error) {
	l.enum(C.SAI_SCHEDULER_ATTR_SCHEDULING_TYPE, "SAI_SCHEDULER_ATTR_SCHEDULING_TYPE", int32(s.Scheduling))
	if s.Weight > 0 {
		l.u8(C.SAI_SCHEDULER_ATTR_SCHEDULING_WEIGHT, "SAI_SCHEDULER_ATTR_SCHEDULING_WEIGHT", s.Weight)
	}
	l.enum(C.SAI_SCHEDULER_ATTR_METER_TYPE, "SAI_SCHEDULER_ATTR_METER_TYPE", C.SAI_METER_TYPE_BYTES)
	l.u64(C.SAI_SCHEDULER_ATTR_MAX_BANDWIDTH_RATE, "SAI_SCHEDULER_ATTR_MAX_BANDWIDTH_RATE", s.MaxRate)
	if s.MaxBurst > 0 {
		l.u64(C.SAI_SCHEDULER_ATTR_MAX_BANDWIDTH_BURST_RATE, "SAI_SCHEDULER_ATTR_MAX_BANDWIDTH_BURST_RATE", s.MaxBurst)
	}
	return l.create(KindScheduler)
}

// SetSchedulerRate changes the most that a scheduler lets through, in bytes/s; 0
// is no limit.
func (l *Library) SetSchedulerRate(id ObjectID, rate uint64) error {
	l.u64(C.SAI_SCHEDULER_ATTR_MAX_BANDWIDTH_RATE, "SAI_SCHEDULER_ATTR_MAX_BANDWIDTH_RATE", rate)
	return l.set(KindScheduler, id)
}

// RemoveScheduler removes a scheduler that no queue is under.
func (l *Library) RemoveScheduler(id ObjectID) error { return l.remove(KindScheduler, id) }
