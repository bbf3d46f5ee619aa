// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
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

// Counters reads the counters of ports and queues in COUNTERS_DB. It is for one goroutine, which
// may be another than the driver's.
type Counters struct {
	db    *sonicdb.DB
	names []string // of ports
	ports counterCache
	queue queueCache
}

// Counters returns a reader for the ports of the last SetPorts.
func (d *Driver) Counters() *Counters {
	return &Counters{db: d.db.counters, names: slices.Clone(d.ports)}
}

// Port returns a port's counters, at most as old as half a second.
func (c *Counters) Port(name string) (PortCounters, error) {
	if time.Since(c.ports.at) > cached {
		ports, err := c.readPorts()
		c.ports = counterCache{time.Now(), ports, err}
	}
	if c.ports.err != nil {
		return PortCounters{}, c.ports.err
	}
	is, ok := c.ports.ports[name]
	if !ok {
		return is, fmt.Errorf("COUNTERS_DB has no counters of port %s", name)
	}
	return is, nil
}

// readPorts reads the counters of all ports, by their names in COUNTERS_PORT_NAME_MAP.
func (c *Counters) readPorts() (map[string]PortCounters, error) {
	oids, err := getOne(c.db, rows.Row{Table: mapPorts})
	if err != nil {
		return nil, err
	}
	var names []string
	var wanted []rows.Row
	for _, name := range c.names {
		if oid := oids[name]; oid != "" {
			names, wanted = append(names, name), append(wanted, rows.Row{Table: tableCounters, Key: oid})
		}
	}
	found, err := get(c.db, wanted...)
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
func (c *Counters) Queues(ports map[string]bool) ([]QueueCounters, error) {
	if c.ports.err != nil && time.Since(c.ports.at) < cached {
		return nil, c.ports.err
	}
	if now := time.Now(); now.Sub(c.queue.at) > queuesCached || !maps.Equal(c.queue.ports, ports) {
		queues, err := c.readQueues(ports)
		if err != nil {
			return nil, err
		}
		c.queue = queueCache{now, maps.Clone(ports), queues}
	}
	return c.queue.queues, nil
}

// readQueues reads the counters of the egress queues of ports; queue names are
// PORT:QUEUE.
func (c *Counters) readQueues(ports map[string]bool) ([]QueueCounters, error) {
	oids, err := getOne(c.db, rows.Row{Table: mapQueues})
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
	found, err := get(c.db, wanted...)
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
