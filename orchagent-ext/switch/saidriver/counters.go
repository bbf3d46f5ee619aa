// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"errors"
	"fmt"
	"maps"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// Counters reads the counters of ports and queues, beside the driver. It is for one goroutine,
// which may be another than the driver's.
type Counters struct {
	lib   *sai.Library
	ports map[string]sai.ObjectID // by name; immutable

	queues map[string][]sai.ObjectID // of ports, as far as they were asked for
}

// Counters returns a reader for the ports of the last [Ports.Set], by a handle of its own.
func (p *Ports) Counters(lib *sai.Library) *Counters {
	return &Counters{lib: lib, ports: p.byName, queues: map[string][]sai.ObjectID{}}
}

// SamePorts reports whether the switch has the ports that the reader was made for.
func (c *Counters) SamePorts(p *Ports) bool { return maps.Equal(c.ports, p.byName) }

// Queues returns how many egress queues each of some ports has, which it reads once for each port. A
// port that the switch lacks, or whose library refuses to list queues, has 0. The error is that of
// another port.
func (c *Counters) Queues(names []string) (map[string]int, error) {
	numbers := make(map[string]int, len(names))
	var failed error
	for _, name := range names {
		ids, known := c.queues[name]
		if port, there := c.ports[name]; there && !known {
			var err error
			ids, err = c.lib.GetObjects(saiattr.Port, port, saiattr.PortQueues)
			switch err := refusal(err); {
			case err == nil:
				c.queues[name] = ids
			case !errors.Is(err, engine.ErrRefused) && !errors.Is(err, engine.ErrGone):
				failed = fmt.Errorf("queues of port %s: %w", name, err)
			}
		}
		numbers[name] = len(ids)
	}
	return numbers, failed
}

// AtOnce returns of how many ports, or of how many queues, one call reads statistics. It
// is 1 for a library without calls for many.
func (c *Counters) AtOnce(ports bool) int {
	if ports {
		return c.lib.PortsAtOnce()
	}
	return c.lib.QueuesAtOnce()
}

// PortStats reads the counters of ports, in their order; nil: a port has none. Ports that
// are missing, or whose counters fail, are nil.
func (c *Counters) PortStats(names []string) []*sai.PortStats {
	return portStats(c.lib, c.ports, names)
}

// portStats reads the counters of ports by a handle.
func portStats(lib *sai.Library, ports map[string]sai.ObjectID, names []string) []*sai.PortStats {
	all, ids, places := make([]*sai.PortStats, len(names)), []sai.ObjectID{}, []int{}
	for i, name := range names {
		if id, ok := ports[name]; ok {
			ids, places = append(ids, id), append(places, i)
		}
	}
	stats, errs := lib.AllPortStats(ids)
	for i, place := range places {
		if errs[i] == nil {
			all[place] = &stats[i]
		}
	}
	return all
}

// Queue is an egress queue of a port, by its number.
type Queue struct {
	Port  string
	Queue int
}

// QueueStats reads the statistics of egress queues that [Counters.Queues] found, in their order; nil: a
// queue has none. The error is that of a queue which is there and has a library that counts.
func (c *Counters) QueueStats(queues []Queue) ([]map[sai.QueueStat]uint64, error) {
	all, ids, places := make([]map[sai.QueueStat]uint64, len(queues)), []sai.ObjectID{}, []int{}
	for i, q := range queues {
		if of := c.queues[q.Port]; q.Queue < len(of) {
			ids, places = append(ids, of[q.Queue]), append(places, i)
		}
	}
	stats, errs := c.lib.AllQueueStats(ids)
	var failed error
	for i, place := range places {
		all[place] = stats[i]
		if err := refusal(errs[i]); err != nil && !errors.Is(err, engine.ErrRefused) && !errors.Is(err, engine.ErrGone) {
			failed = fmt.Errorf("queue %d of port %s: %w", queues[place].Queue, queues[place].Port, err)
		}
	}
	return all, failed
}

// count reads an ACL counter, as [Driver.Count] has it.
func count(lib *sai.Library, counter *engine.Record) (packets, octets uint64, err error) {
	id, err := sai.ParseObjectID(string(counter.ID))
	if err != nil {
		return 0, 0, err
	}
	if packets, err = lib.Get(saiattr.ACLCounter, id, saiattr.ACLCounterPackets); err != nil {
		return 0, 0, refusal(err)
	}
	octets, err = lib.Get(saiattr.ACLCounter, id, saiattr.ACLCounterOctets)
	return packets, octets, refusal(err)
}
