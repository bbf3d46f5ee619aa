// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"fmt"
	"time"

	"sluice/orchagent-ext/ipfix"
	"sluice/orchagent-ext/packetio"
	"sluice/yang/rows"
)

// Counters is SLUICE_STATS:global.
type Counters struct {
	Written uint64 // packets that the switch labelled
	Skipped uint64 // packets that kept a label of their own
	Copied  uint64 // packets that the switch copied to the CPU
	Lost    uint64 // of these, what found the receive ring full
	Policed uint64 // and what cpu_rate did not let pass
	CPU     packetio.Stats

	RefusedCapacity uint64 // times that a flow got no entry since flow_capacity was used up
	RefusedSwitch   uint64 // times that it got none since the switch had no room
	Evicted         uint64 // flows that lost their entry to another flow

	Cut     uint64 // texts made shorter in STATE_DB, in errors and in the log
	Faults  uint64 // of the loop, after each of which it was started again
	Streams StreamIDs

	At time.Time // when all counters were read
}

// StreamIDs are the counts of Stream IDs, of the flows of SLUICE_FLOW.
type StreamIDs struct {
	Flows, Waiting uint64 // that have an id now, that are to have one and have none
	Conflicts      uint64 // of those with an id: whose id another flow has, too

	Allocated, Changed, Failed uint64 // flows that got an id, another one, none since all are in use
	LeasesLost                 uint64 // in etcd
}

// Row is the row. What was skipped shows as share, too: stacks that label on
// their own would go unnoticed otherwise.
func (c Counters) Row() rows.Row {
	share := 0.0
	if all := c.Written + c.Skipped; all > 0 {
		share = 100 * float64(c.Skipped) / float64(all)
	}
	fields := map[string]string{
		"label_skipped_percent": fmt.Sprintf("%.1f", share),
		"read_time":             c.At.UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano),
	}
	for name, v := range map[string]uint64{
		"label_written":       c.Written,
		"label_skipped":       c.Skipped,
		"cpu_copied":          c.Copied,
		"cpu_ring_full":       c.Lost,
		"cpu_policed":         c.Policed,
		"cpu_roce":            c.CPU.RoCE,
		"cpu_tunnelled":       c.CPU.Tunnelled,
		"cpu_not_roce":        c.CPU.NotRoCE,
		"cpu_malformed":       c.CPU.Malformed,
		"cpu_queue_full":      c.CPU.QueueFull,
		"cpu_new_flows":       c.CPU.NewFlows,
		"cpu_flows":           c.CPU.FlowsKnown,
		"cpu_seen_once":       c.CPU.SeenOnce,
		"flows_without_entry": c.RefusedCapacity + c.RefusedSwitch,

		"flows_refused_capacity": c.RefusedCapacity,
		"flows_refused_switch":   c.RefusedSwitch,
		"flows_evicted":          c.Evicted,
		"loop_faults":            c.Faults,
		"texts_cut":              c.Cut,

		"stream_id_flows":       c.Streams.Flows,
		"stream_id_waiting":     c.Streams.Waiting,
		"stream_id_conflicts":   c.Streams.Conflicts,
		"stream_id_allocated":   c.Streams.Allocated,
		"stream_id_changed":     c.Streams.Changed,
		"stream_id_failed":      c.Streams.Failed,
		"stream_id_leases_lost": c.Streams.LeasesLost,
	} {
		fields[name] = fmt.Sprint(v)
	}
	return rows.Row{Table: TableStats, Key: "global", Fields: fields}
}

// Port is SLUICE_PORT_STATS:port.
type Port struct {
	Name               string
	Oper               string // up or down; "": the port has no netdev
	RxPackets, RxBytes uint64
	TxPackets, TxBytes uint64
}

// Row is the row.
func (p Port) Row() rows.Row {
	fields := map[string]string{
		"rx_packets": fmt.Sprint(p.RxPackets), "rx_bytes": fmt.Sprint(p.RxBytes),
		"tx_packets": fmt.Sprint(p.TxPackets), "tx_bytes": fmt.Sprint(p.TxBytes),
	}
	if p.Oper != "" {
		fields["oper_status"] = p.Oper
	}
	return rows.Row{Table: TablePortStats, Key: p.Name, Fields: fields}
}

// Queue is SLUICE_QUEUE_STATS:port|queue, of an egress queue.
type Queue struct {
	Port           string
	Queue          uint8
	Queued         *uint64 // octets in the queue now; nil: the switch does not tell
	Watermark      *uint64 // most octets in it during the last interval of SONiC's telemetry; nil likewise
	Packets, Bytes uint64  // that left it
	Dropped        uint64  // packets
}

// Row is the row.
func (q Queue) Row() rows.Row {
	fields := map[string]string{"packets": fmt.Sprint(q.Packets), "bytes": fmt.Sprint(q.Bytes), "dropped": fmt.Sprint(q.Dropped)}
	for name, v := range map[string]*uint64{"queued_bytes": q.Queued, "watermark_bytes": q.Watermark} {
		if v != nil {
			fields[name] = fmt.Sprint(*v)
		}
	}
	return rows.Row{Table: TableQueueStats, Key: fmt.Sprintf("%s|%d", q.Port, q.Queue), Fields: fields}
}

// Collector is SLUICE_IPFIX_STATS:name.
func Collector(s ipfix.Stats) rows.Row {
	fields := map[string]string{
		"connected": fmt.Sprint(s.Connected),
		"records":   fmt.Sprint(s.Records), "messages": fmt.Sprint(s.Messages), "bytes": fmt.Sprint(s.Octets),
		"waiting": fmt.Sprint(s.Waiting), "dropped": fmt.Sprint(s.Dropped),
		"connects": fmt.Sprint(s.Connects), "refused": fmt.Sprint(s.Refused),
	}
	if s.Error != "" {
		fields["last_error"] = s.Error
	}
	return rows.Row{Table: TableIPFIXStats, Key: s.Name, Fields: fields}
}
