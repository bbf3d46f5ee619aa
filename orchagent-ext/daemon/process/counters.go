// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"

	"sluice/orchagent-ext/daemon/statistics"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/hold/sampled"
	"sluice/orchagent-ext/hold/watch"
	"sluice/orchagent-ext/switch/gate"
	"sluice/orchagent-ext/switch/saidriver"
	sai "sluice/sai-shim"
)

// counters are those of a SAI library as rows, for the task of statistics.
type counters struct{ *saidriver.Counters }

// ReadPorts implements [statistics.Switch].
func (c *counters) ReadPorts(names []string) []*telemetry.PortStats {
	all := make([]*telemetry.PortStats, len(names))
	for i, v := range c.PortStats(names) {
		all[i] = portRow(names[i], v)
	}
	return all
}

// portRow returns the row of a port; nil for nil.
func portRow(name string, v *sai.PortStats) *telemetry.PortStats {
	if v == nil {
		return nil
	}
	return &telemetry.PortStats{Name: &name, RxPackets: &v.RxPackets, RxBytes: &v.RxOctets, TxPackets: &v.TxPackets, TxBytes: &v.TxOctets}
}

// ReadQueues implements [statistics.Switch].
func (c *counters) ReadQueues(queues []statistics.Object) ([]*telemetry.QueueStats, error) {
	asked, all := make([]saidriver.Queue, len(queues)), make([]*telemetry.QueueStats, len(queues))
	for i, o := range queues {
		asked[i] = saidriver.Queue(o)
	}
	stats, err := c.QueueStats(asked)
	for i, v := range stats {
		if v == nil {
			continue
		}
		number := uint8(queues[i].Queue)
		all[i] = &telemetry.QueueStats{
			Port: &queues[i].Port, Queue: &number, Packets: telemetry.Count(v[sai.QueuePackets]), Bytes: telemetry.Count(v[sai.QueueOctets]), Dropped: telemetry.Count(v[sai.QueueDropped]),
		}
		if octets, ok := v[sai.QueueOccupancy]; ok {
			all[i].QueuedBytes = &octets
		}
	}
	return all, err
}

// depths returns a function that reads queues by a handle of its own. It is for one goroutine.
func depths(lib *sai.Library, g *gate.Gate) func(context.Context, []sai.ObjectID) []watch.Depth {
	return func(ctx context.Context, queues []sai.ObjectID) []watch.Depth {
		stats, errs := lib.Beside(g.At(ctx, gate.Depth)).AllQueueStats(queues)
		if ctx.Err() != nil {
			return nil
		}
		all := make([]watch.Depth, len(queues))
		for i, s := range stats {
			all[i] = watch.Depth{Reading: sampled.Reading{Octets: s[sai.QueueOccupancy], Packets: s[sai.QueuePackets], Dropped: s[sai.QueueDropped]}, Left: s[sai.QueueOctets], Err: errs[i]}
		}
		return all
	}
}
