// SPDX-License-Identifier: Apache-2.0

package top

import (
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/orchagent-ext/cli/show"
)

// View is the content of a frame: the tables as of now, and rates a second since the
// snapshot before. --json prints it.
type View struct {
	// Host is the name of the switch.
	Host string    `json:"host"`
	Time time.Time `json:"time"` // of the frame
	// Unread is the error of reading the databases, with which the rest is as of the last
	// reading; "" after a success.
	Unread string `json:"unread,omitempty"`

	State      string `json:"state"` // empty: sluiced is down
	StaleSince string `json:"stale_since,omitempty"`
	// FlowLabel is the status of flow labels.
	FlowLabel string `json:"flow_label"`
	// Method is that of flow labels.
	Method string `json:"method"`
	Needs  []Need `json:"needs"` // capabilities of the switch
	// Started is when sluiced started.
	Started string `json:"since"`
	// TrackedFlows is the number of flows that are tracked.
	TrackedFlows Number `json:"tracked_flows"`
	// ConfigErrors is the number of rejected rows of CONFIG_DB.
	ConfigErrors Number `json:"config_errors"`
	// Warnings are those of sluiced, as text.
	Warnings []string `json:"warnings"`
	// LastError is the last error of sluiced.
	LastError string `json:"last_error,omitempty"`
	// CountersAge is the time since sluiced read the counters, s.
	CountersAge Number `json:"counters_age_s"`

	// Ports are sorted by name.
	Ports []Port `json:"ports"`
	Paths Paths  `json:"paths"`
	// Fabric is nil where placement's scope is local.
	Fabric *Fabric `json:"placement_fabric,omitempty"`
	CPU    CPU     `json:"cpu"`

	PFCM string `json:"pfcm"` // active, disabled or failed
	// Holds: requests of neighbors, the longest first
	Holds []Hold `json:"holds"`

	// AllFlows: rows of SLUICE_FLOW, of which Flows may be a part
	AllFlows int `json:"flow_rows"`
	// Flows are sorted by the chosen key.
	Flows  []Flow `json:"flows"`
	more   int    // flows that Limit took away
	above  int    // flows that Skip took away
	only   string // the port that is left
	search string // text of Find

	dropped Number // packets that egress queues dropped, a second
}

// Need is by which method the switch meets a need of SLUICE_CAPABILITY.
type Need struct {
	// Need is the name of the need.
	Need string `json:"need"`
	// Method is the one in use.
	Method string `json:"method"`
	Reason string `json:"reason"` // reason against each preferred one
	State  string `json:"state"`  // active, unproven, or "none"
}

// needs are the needs that a row of SLUICE_CAPABILITY has, sorted.
func needs(capability map[string]string) []Need {
	all := []Need{} // an empty list in JSON
	for _, field := range slices.Sorted(maps.Keys(capability)) {
		if name, ok := strings.CutSuffix(field, "_method"); ok {
			all = append(all, Need{strings.ReplaceAll(name, "_", " "), capability[field], capability[name+"_reason"], capability[name+"_state"]})
		}
	}
	return all
}

// placement returns the method by which labels are chosen, or "".
func (v *View) placement() string {
	for _, n := range v.Needs {
		if n.Need == "placement" {
			return n.Method
		}
	}
	return ""
}

// Port is a port that Sluice works on.
type Port struct {
	// Name is SONiC's name of the port.
	Name string `json:"name"`
	// Role is that of SLUICE_PORT: edge, fabric or border.
	Role string `json:"role"`
	Link string `json:"link,omitempty"` // up, down; empty: unknown
	// RxBits is the rate of received octets, bit/s.
	RxBits Number `json:"rx_bits"`
	// RxPackets is the rate of received packets a second.
	RxPackets Number `json:"rx_packets"`
	// TxBits is the rate of sent octets, bit/s.
	TxBits Number `json:"tx_bits"`
	// TxPackets is the rate of sent packets a second.
	TxPackets Number `json:"tx_packets"`
	// Share: of the rate of all ports of role fabric, 0 to 1; they are the ECMP group
	Share Number `json:"share"`
	// ByHash: the share of the placed flows with labels of the hash
	ByHash Number `json:"share_by_hash"`
	Queue  *Queue `json:"deepest_queue,omitempty"`
}

// Queue is the fullest queue of a port: by its peak, or by its present depth where the
// switch reports that.
type Queue struct {
	// Number is that of the queue on its port.
	Number string `json:"queue"`
	// Watermark: the most that was in it, as SONiC's telemetry sees it: not now
	Watermark Number `json:"watermark_bytes"`
	// Queued: its present depth, on switches that report it
	Queued Number `json:"queued_bytes"`
}

// Paths has the evenness of what the ports of role fabric send.
type Paths struct {
	// Count is the number of fabric ports.
	Count       int    `json:"count"`
	Idle        int    `json:"idle"`            // that are silent
	WorstToMean Number `json:"worst_over_mean"` // of all
	// Carrying: of those that are not idle
	Carrying Number    `json:"worst_over_mean_carrying"`
	trend    []float64 // WorstToMean of the last readings, the latest last
}

// CPU has the rates of packets that the switch sent to the CPU, and of those dropped
// there.
type CPU struct {
	Written Number `json:"label_written"` // packets that the switch labelled
	// Skipped: packets that kept a label of their own
	Skipped Number `json:"label_skipped"`
	// Copied is the rate of packets that reached the CPU, a second.
	Copied Number `json:"copied"`
	// RoCE is the rate of those that are RoCEv2, a second.
	RoCE  Number `json:"roce"`
	Known Number `json:"flows_known"` // now
	// NewFlows is the rate of flows that the CPU reported, a second.
	NewFlows Number `json:"new_flows"`
	// Drops has a rate for each reason.
	Drops []Drop `json:"dropped"`
}

// Drop is the rate of drops for one reason.
type Drop struct {
	// Reason is the cause of the drop, as text.
	Reason string `json:"reason"`
	// Rate is in packets or entries a second.
	Rate Number `json:"rate"`
}

// drops are the reasons for which a packet to the CPU, or an entry, is dropped, by field
// of SLUICE_STATS.
var drops = []struct{ field, reason string }{
	{"cpu_ring_full", "ring full"},
	{"cpu_malformed", "malformed"},
	{"cpu_not_roce", "not RoCEv2"},
	{"cpu_queue_full", "queue full"},
	{"flows_without_entry", "no entry"},
}

// Flow is a row of SLUICE_FLOW.
type Flow struct {
	// ID is the key of the flow's row.
	ID string `json:"id"`
	// Src is the source address.
	Src string `json:"src"`
	// Dst is the destination address.
	Dst string `json:"dst"`
	// DestQP is the destination queue pair.
	DestQP Number `json:"dest_qp"`
	// Label is the flow label.
	Label Number `json:"flow_label"`
	// Stream is the Stream ID.
	Stream Number `json:"stream_id"`
	// Ingress is the port that the flow comes in by; "" for an unknown one.
	Ingress string `json:"ingress_port,omitempty"`
	// Egress is the port that it leaves by; "" for an unknown one.
	Egress string `json:"egress_port,omitempty"`
	// Bits is its rate, bit/s.
	Bits Number `json:"bits"`
	// Packets is its rate in packets a second.
	Packets Number `json:"packets"`
	// Bytes is the sum of its octets.
	Bytes Number `json:"bytes_total"`
	Share Number `json:"share"` // of the traffic of all flows here, 0 to 1

	// Of flows whose packets come to the CPU.
	CE     Number `json:"ce_share"`    // of the packets since the reading before, 0 to 1
	Resent Number `json:"resent_bits"` // payload that was sent again
	// Sampled: rates and octets are estimates by one of so many packets; not known: the
	// entry counts
	Sampled Number `json:"sampling_rate"`
}

// Compare makes a View of two snapshots; before is nil where there is only one, and then
// all rates are unknown.
func Compare(before, now *Snapshot) *View {
	v := &View{
		State: now.state["state"], FlowLabel: now.state["flow_label"], Method: now.state["flow_label_method"],
		Needs: needs(now.capability), Started: now.state["since"],
		Warnings: now.warnings(), LastError: now.state["last_error"],
		PFCM: now.state["pfcm"], Fabric: newFabric(now.fabric),
	}
	if silent := show.Stale(now.state, now.read); silent != nil {
		v.StaleSince = silent.Since
	}
	v.Holds = now.sortedHolds()
	if v.Warnings == nil {
		v.Warnings = []string{} // an empty list in JSON
	}
	state := numbers(now.state)
	v.TrackedFlows, v.ConfigErrors = total(state, "flows"), total(state, "config_errors")
	var span time.Duration
	if before == nil {
		before = &Snapshot{}
	} else {
		span = now.At.Sub(before.At)
	}
	v.Ports, v.Paths = now.portRates(before, span)
	v.CPU = now.cpu(before, span)
	for queue := range now.drops {
		v.dropped = v.dropped.plus(rate(before.drops, now.drops, queue, span))
	}
	v.AllFlows, v.Flows = len(now.flows), now.flowRates(before, span)
	return v
}

// cpu returns the rates of packets to the CPU since a snapshot before.
func (s *Snapshot) cpu(before *Snapshot, span time.Duration) CPU {
	r := func(field string) Number { return rate(before.stats, s.stats, field, span) }
	c := CPU{
		Written: r("label_written"), Skipped: r("label_skipped"), Copied: r("cpu_copied"), RoCE: r("cpu_roce"),
		Known: total(s.stats, "cpu_flows"), NewFlows: r("cpu_new_flows"),
	}
	for _, d := range drops {
		c.Drops = append(c.Drops, Drop{d.reason, r(d.field)})
	}
	return c
}

// flowRates returns the flows, with their rates since a snapshot before. Each one's share is of the
// rate of all flows.
func (s *Snapshot) flowRates(before *Snapshot, span time.Duration) []Flow {
	flows := make([]Flow, 0, len(s.flows))
	var all Number
	for id, row := range s.flows {
		was := before.flows[id].counters
		f := Flow{
			ID: id, Src: row.fields["src"], Dst: row.fields["dst"],
			DestQP: total(row.counters, "dest_qp"), Label: total(row.counters, "flow_label"), Stream: total(row.counters, "stream_id"),
			Ingress: row.fields["ingress_port"], Egress: row.fields["egress_port"],
			Bits: sent(was, row.counters, "bytes", "seen_bytes", span).bits(), Packets: sent(was, row.counters, "packets", "seen_packets", span),
			Bytes:  total(row.counters, "bytes"),
			CE:     rate(was, row.counters, "ce_packets", span).over(rate(was, row.counters, "seen_packets", span)),
			Resent: rate(was, row.counters, "retransmitted_bytes", span).bits(),
		}
		if !f.Bytes.known {
			f.Sampled = total(row.counters, "sampling_rate")
			f.Bytes = estimated(row.counters, total(row.counters, "seen_bytes"))
		}
		all = all.plus(f.Bits)
		flows = append(flows, f)
	}
	for i := range flows {
		flows[i].Share = flows[i].Bits.over(all)
	}
	return flows
}

// sent returns the rate of a flow by the counter of its entry, or as an estimate by the
// CPU's samples.
func sent(was, now counters, counted, seen string, span time.Duration) Number {
	if _, ok := now[counted]; ok {
		return rate(was, now, counted, span)
	}
	if was["sampling_rate"] != now["sampling_rate"] {
		return Number{}
	}
	return estimated(now, rate(was, now, seen, span))
}

// estimated returns what the packets that the CPU saw stand for; where that is unknown, what they are.
func estimated(c counters, seen Number) Number {
	if interval := total(c, "sampling_rate"); interval.known {
		return seen.times(interval)
	}
	return seen
}
