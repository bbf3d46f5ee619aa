// SPDX-License-Identifier: Apache-2.0

package sai

// #include "shim.h"
import "C"

import (
	"errors"
	"maps"

	"sluice/sai-shim/saiattr"
)

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
		return nil, &Error{Call: "get stats of", Object: saiattr.Queue.Name, Status: C.SAI_STATUS_NOT_SUPPORTED}
	}
	ids := make([]C.uint32_t, len(stats))
	for i, stat := range stats {
		ids[i] = C.uint32_t(stat)
	}
	v, err := l.stats(saiattr.Queue, queue, ids...)
	if err != nil {
		return nil, err
	}
	values := make(map[QueueStat]uint64, len(stats))
	for i, stat := range stats {
		values[stat] = v[i]
	}
	return values, nil
}

// PortStats are counters of a port since the switch came up.
type PortStats struct {
	RxOctets, RxPackets uint64 // unicast packets
	TxOctets, TxPackets uint64
}

// PortStats reads the counters of a port.
func (l *Library) PortStats(port ObjectID) (PortStats, error) {
	v, err := l.stats(saiattr.Port, port, C.SAI_PORT_STAT_IF_IN_OCTETS, C.SAI_PORT_STAT_IF_IN_UCAST_PKTS, C.SAI_PORT_STAT_IF_OUT_OCTETS, C.SAI_PORT_STAT_IF_OUT_UCAST_PKTS)
	if err != nil {
		return PortStats{}, err
	}
	return PortStats{v[0], v[1], v[2], v[3]}, nil
}

// PortDiscards reads how many packets a port was to send, and dropped.
func (l *Library) PortDiscards(port ObjectID) (packets uint64, err error) {
	v, err := l.stats(saiattr.Port, port, C.SAI_PORT_STAT_IF_OUT_DISCARDS)
	if err != nil {
		return 0, err
	}
	return v[0], nil
}

// PolicerRed reads how many packets were red for a policer.
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
	l.enter("get stats of", k.Name, id)
	return v, l.check(Status(C.shim_stats(l.shim, C.int32_t(k.Number), C.uint64_t(id), &ids[0], C.uint32_t(len(ids)), (*C.uint64_t)(&v[0]))))
}
