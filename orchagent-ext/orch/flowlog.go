// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"sluice/orchagent-ext/asic"
	"sluice/orchagent-ext/telemetry"
	"sluice/yang/rows"
)

// flowLog remembers when each flow with an entry last sent a packet: the entry
// keeps its packets from the CPU, so only its counter tells.
type flowLog struct {
	seen  map[asic.FlowEntry]*flowSeen // by the entry without label, as there is one a flow
	next  []asic.FlowEntry             // flows still to be looked at in this round
	total uint64                       // packets of all flows, those that are gone, too
}

type flowSeen struct {
	label           uint32
	packets, octets uint64
	at              time.Time
	ingress, egress string // ports by which the CPU saw it last; "": not known
}

func unlabelled(f asic.FlowEntry) asic.FlowEntry {
	f.Label = 0
	return f
}

const (
	flowIdle     = 5 * time.Minute // behind that a flow loses its entry
	flowsPerLook = 5000            // a tick
	flowRows     = 1000            // the heaviest, in STATE_DB
)

func (l *flowLog) adopt(flows iter.Seq[asic.FlowEntry], now time.Time) {
	l.add(slices.Collect(flows), now)
}

func (l *flowLog) add(flows []asic.FlowEntry, now time.Time) {
	if l.seen == nil {
		l.seen = map[asic.FlowEntry]*flowSeen{}
	}
	for _, f := range flows {
		if key := unlabelled(f); l.seen[key] == nil {
			l.seen[key] = &flowSeen{label: f.Label, at: now}
		}
	}
}

// clear forgets the flows, whose entries are gone; what they sent stays counted.
func (l *flowLog) clear() { l.seen, l.next = nil, nil }

// move notes the ports of a flow; "" is not known, and changes nothing.
func (l *flowLog) move(f asic.FlowEntry, ingress, egress string) {
	if s := l.seen[unlabelled(f)]; s != nil {
		s.ingress, s.egress = cmp.Or(ingress, s.ingress), cmp.Or(egress, s.egress)
	}
}

// recall takes the ports of flows out of the rows of an earlier process: what has an
// entry need not come to the CPU again.
func (l *flowLog) recall(all []rows.Row) {
	fields := make(map[string]map[string]string, len(all))
	for _, r := range all {
		fields[r.Key] = r.Fields
	}
	for f, s := range l.seen {
		was := fields[name(f)]
		s.ingress, s.egress = cmp.Or(s.ingress, was["ingress_port"]), cmp.Or(s.egress, was["egress_port"])
	}
}

// look reads the counters of the next flows, and returns those that sent nothing
// for long. count fails for a flow that has no entry any more.
func (l *flowLog) look(count func(asic.FlowEntry) (packets, octets uint64, err error), now time.Time) (idle []asic.FlowEntry) {
	if len(l.next) == 0 {
		for f := range l.seen {
			l.next = append(l.next, f)
		}
	}
	n := min(len(l.next), flowsPerLook)
	for _, f := range l.next[:n] {
		s := l.seen[f]
		if s == nil {
			continue
		}
		packets, octets, err := count(f)
		switch {
		case err != nil:
			delete(l.seen, f)
		case packets != s.packets:
			if packets > s.packets {
				l.total += packets - s.packets
			}
			s.packets, s.octets, s.at = packets, octets, now
		case now.Sub(s.at) > flowIdle:
			idle = append(idle, f)
			delete(l.seen, f)
		}
	}
	l.next = l.next[n:]
	return idle
}

// all yields the flows, with the labels that they have.
func (l *flowLog) all(yield func(asic.FlowEntry) bool) {
	for f, s := range l.seen {
		f.Label = s.label
		if !yield(f) {
			return
		}
	}
}

// heaviest are the flows that are shown.
func (l *flowLog) heaviest() []asic.FlowEntry {
	flows := slices.AppendSeq(make([]asic.FlowEntry, 0, len(l.seen)), l.all)
	slices.SortFunc(flows, func(a, b asic.FlowEntry) int {
		if d := cmp.Compare(l.seen[unlabelled(b)].octets, l.seen[unlabelled(a)].octets); d != 0 {
			return d
		}
		return cmp.Or(a.Src.Compare(b.Src), a.Dst.Compare(b.Dst), cmp.Compare(a.DestQP, b.DestQP))
	})
	return flows[:min(len(flows), flowRows)]
}

// rows are those of the flows. id is a flow's Stream ID, 0: it has none.
func (l *flowLog) rows(flows []asic.FlowEntry, id func(asic.FlowEntry) uint16) []rows.Row {
	all := make([]rows.Row, len(flows))
	for i, f := range flows {
		s := l.seen[unlabelled(f)]
		all[i] = rows.Row{Table: telemetry.TableFlow, Key: name(f), Fields: map[string]string{
			"src": f.Src.String(), "dst": f.Dst.String(), "dest_qp": fmt.Sprint(f.DestQP),
			"flow_label": fmt.Sprint(f.Label), "packets": fmt.Sprint(s.packets), "bytes": fmt.Sprint(s.octets),
		}}
		for field, port := range map[string]string{"ingress_port": s.ingress, "egress_port": s.egress} {
			if port != "" {
				all[i].Fields[field] = port
			}
		}
		if id := id(f); id != 0 {
			all[i].Fields["stream_id"] = fmt.Sprint(id)
		}
	}
	return all
}

func name(f asic.FlowEntry) string { return fmt.Sprintf("%s,%s,%06x", f.Src, f.Dst, f.DestQP) }
