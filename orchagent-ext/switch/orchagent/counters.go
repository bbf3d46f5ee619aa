// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"sluice/yang/rows"
)

// PortCounters are a port's counters in COUNTERS_DB: packets and octets.
type PortCounters struct {
	RxPackets, RxOctets uint64
	TxPackets, TxOctets uint64
}

// QueueCounters are the counters of an egress queue in COUNTERS_DB.
type QueueCounters struct {
	Port  string
	Queue uint8

	// Watermark is the most octets that were in the shared buffer during an interval of
	// SONiC's telemetry (WATERMARK_TABLE|TELEMETRY_INTERVAL, by default 120 s), the last
	// one. It is a peak of the past rather than the present depth.
	Watermark       uint64
	Packets, Octets uint64
	Dropped         uint64 // packets
}

// counterCache has the last reading: ports are asked for one by one.
type counterCache struct {
	at    time.Time
	ports map[string]PortCounters
	err   error // why there are none: a Redis that hangs is not asked for every port
}

// queueCache is the same of the queues of some ports: a switch has thousands, which
// orchagent has polled every 10 s.
type queueCache struct {
	at     time.Time
	ports  map[string]bool
	queues []QueueCounters
}

const (
	// Tables and maps of COUNTERS_DB, and how long a reading is used again.
	tableCounters   = "COUNTERS"
	tableWatermarks = "PERIODIC_WATERMARKS"
	mapPorts        = "COUNTERS_PORT_NAME_MAP"
	mapQueues       = "COUNTERS_QUEUE_NAME_MAP" // port:queue
	cached          = 500 * time.Millisecond
	queuesCached    = 5 * time.Second
)

// PortCounters returns a port's counters, at most as old as half a second.
func (d *Driver) PortCounters(name string) (PortCounters, error) {
	if time.Since(d.counts.at) > cached {
		ports, err := d.readPorts()
		d.counts = counterCache{time.Now(), ports, err}
	}
	if d.counts.err != nil {
		return PortCounters{}, d.counts.err
	}
	c, ok := d.counts.ports[name]
	if !ok {
		return c, fmt.Errorf("COUNTERS_DB has no counters of port %s", name)
	}
	return c, nil
}

// readPorts reads the counters of all ports, by their names in COUNTERS_PORT_NAME_MAP.
func (d *Driver) readPorts() (map[string]PortCounters, error) {
	oids, err := getOne(d.db.counters, rows.Row{Table: mapPorts})
	if err != nil {
		return nil, err
	}
	var names []string
	var wanted []rows.Row
	for _, name := range d.ports {
		if oid := oids[name]; oid != "" {
			names, wanted = append(names, name), append(wanted, rows.Row{Table: tableCounters, Key: oid})
		}
	}
	found, err := get(d.db.counters, wanted...)
	if err != nil {
		return nil, err
	}
	all := make(map[string]PortCounters, len(names))
	for i, r := range found {
		if r == nil {
			continue
		}
		all[names[i]] = PortCounters{
			RxPackets: sum(r, "SAI_PORT_STAT_IF_IN_UCAST_PKTS", "SAI_PORT_STAT_IF_IN_NON_UCAST_PKTS"),
			RxOctets:  sum(r, "SAI_PORT_STAT_IF_IN_OCTETS"),
			TxPackets: sum(r, "SAI_PORT_STAT_IF_OUT_UCAST_PKTS", "SAI_PORT_STAT_IF_OUT_NON_UCAST_PKTS"),
			TxOctets:  sum(r, "SAI_PORT_STAT_IF_OUT_OCTETS"),
		}
	}
	return all, nil
}

// Queues returns the counters of the egress queues of ports, at most as old as 5 s.
func (d *Driver) Queues(ports map[string]bool) ([]QueueCounters, error) {
	if d.counts.err != nil && time.Since(d.counts.at) < cached {
		return nil, d.counts.err
	}
	if now := time.Now(); now.Sub(d.queues.at) > queuesCached || !maps.Equal(d.queues.ports, ports) {
		queues, err := d.readQueues(ports)
		if err != nil {
			return nil, err
		}
		d.queues = queueCache{now, maps.Clone(ports), queues}
	}
	return d.queues.queues, nil
}

// readQueues reads the counters of the egress queues of ports; queue names are
// PORT:QUEUE.
func (d *Driver) readQueues(ports map[string]bool) ([]QueueCounters, error) {
	oids, err := getOne(d.db.counters, rows.Row{Table: mapQueues})
	if err != nil {
		return nil, err
	}
	var all []QueueCounters
	var wanted []rows.Row
	for name, oid := range oids {
		port, number, _ := strings.Cut(name, ":")
		queue, err := strconv.ParseUint(number, 10, 8)
		if err != nil || !ports[port] {
			continue
		}
		all = append(all, QueueCounters{Port: port, Queue: uint8(queue)})
		wanted = append(wanted, rows.Row{Table: tableCounters, Key: oid}, rows.Row{Table: tableWatermarks, Key: oid})
	}
	found, err := get(d.db.counters, wanted...)
	if err != nil {
		return nil, err
	}
	for i := range all {
		q, now, periodic := &all[i], found[2*i], found[2*i+1]
		q.Packets = sum(now, "SAI_QUEUE_STAT_PACKETS")
		q.Octets = sum(now, "SAI_QUEUE_STAT_BYTES")
		q.Dropped = sum(now, "SAI_QUEUE_STAT_DROPPED_PACKETS")
		q.Watermark = sum(periodic, "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES")
	}
	return all, nil
}

// sum adds fields up; a missing one, or N/A, is 0.
func sum(fields map[string]string, names ...string) (n uint64) {
	for _, name := range names {
		v, _ := strconv.ParseUint(fields[name], 10, 64)
		n += v
	}
	return n
}
