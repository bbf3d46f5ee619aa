// SPDX-License-Identifier: Apache-2.0

package entries

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"sluice/orchagent-ext/daemon/status"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/spread/placer"
	"sluice/orchagent-ext/switch/engine"
	"sluice/yang/rows"
)

// Entries is the registry of flows with an entry. It has when each last sent a packet, by the
// counter of the entry: that keeps its packets from the CPU. Placement has its part in each. The
// zero value has no flow. It outlives the switch that is open, as entries do. It is for one
// goroutine.
type Entries struct {
	seen  map[flowKey]*flowSeen // there is one entry a flow, whatever its label
	next  []*flowSeen           // flows still to be looked at in this round; some may be gone
	total uint64                // packets of all flows, those that are gone, too
	ports map[string]*portFlows // that flows came in by when they got their entry

	heaviest []*flowSeen // as Heaviest has them; nil: flows or their counters have changed
	admission
}

type flowSeen struct {
	placer.Flow
	packets, octets uint64
	// it was seen to have sent a packet since the time before
	at              time.Time
	gap             time.Duration // the longest time without a packet
	rate            float64       // packets a second when it was last looked at
	port            string        // of portFlows; "": unknown
	place           int           // there
	ingress, egress string        // ports by which the CPU saw it last; "": unknown
}

// flowKey identifies a flow in half of the memory of an entry.
type flowKey struct {
	src, dst [16]byte
	destQP   uint32
}

// keyOf returns the key of a flow.
func keyOf(f engine.FlowEntry) flowKey { return flowKey{f.Src.As16(), f.Dst.As16(), f.DestQP} }

// unlabelled returns the flow without what may change: its label and source port.
func unlabelled(f engine.FlowEntry) engine.FlowEntry {
	f.Label, f.SrcPort = 0, 0
	return f
}

const (
	flowIdle      = 5 * time.Minute        // behind that a flow loses its entry
	flowsPerRound = 5000                   // a tick
	roundTime     = 100 * time.Millisecond // of these, with a slow library
)

// counter reads the counter of a flow's entry, or fails with [engine.ErrGone].
type counter func(engine.FlowEntry) (packets, octets uint64, err error)

// Adopt notes flows whose entries are on the switch already.
func (l *Entries) Adopt(flows iter.Seq[engine.FlowEntry], now time.Time) {
	for f := range flows {
		l.add(f, "", now)
	}
}

// add notes that a flow has an entry, and returns it. port is the one that it came in by.
func (l *Entries) add(f engine.FlowEntry, port string, now time.Time) *flowSeen {
	key := keyOf(f)
	if s := l.seen[key]; s != nil {
		return s
	}
	if l.seen == nil {
		l.seen, l.ports = map[flowKey]*flowSeen{}, map[string]*portFlows{}
	}
	s := &flowSeen{Flow: placer.Flow{FlowEntry: f}, at: now}
	l.seen[key], l.heaviest = s, nil
	l.join(s, port)
	return s
}

// remove forgets a flow.
func (l *Entries) remove(f engine.FlowEntry) {
	if s := l.seen[keyOf(f)]; s != nil {
		delete(l.seen, keyOf(f))
		l.heaviest = nil
		l.part(s)
		s.Leave()
	}
}

// Find implements [placer.Registry].
func (l *Entries) Find(f engine.FlowEntry) *placer.Flow {
	if s := l.seen[keyOf(f)]; s != nil {
		return &s.Flow
	}
	return nil
}

// Clear forgets the flows, whose entries are gone; their packets stay counted.
func (l *Entries) Clear() {
	for f := range l.Flows {
		f.Leave()
	}
	l.seen, l.next, l.heaviest = nil, nil, nil
}

// move notes the ports of a flow; "" leaves a port as it is.
func (l *Entries) move(f engine.FlowEntry, ingress, egress string) {
	s := l.seen[keyOf(f)]
	if s == nil {
		return
	}
	s.ingress, s.egress = cmp.Or(ingress, s.ingress), cmp.Or(egress, s.egress)
	if s.port == "" && ingress != "" {
		l.part(s)
		l.join(s, ingress)
	}
}

// Recall takes the ports of flows out of the rows of an earlier process: packets of flows
// with an entry pass by the CPU.
func (l *Entries) Recall(all []rows.Row) {
	fields := make(map[string]map[string]string, len(all))
	for _, r := range all {
		fields[r.Key] = r.Fields
	}
	if len(fields) == 0 {
		return
	}
	for _, s := range l.seen {
		if was := fields[name(s.FlowEntry)]; was != nil {
			l.move(s.FlowEntry, cmp.Or(s.ingress, was["ingress_port"]), cmp.Or(s.egress, was["egress_port"]))
		}
	}
}

// Len returns how many flows have an entry.
func (l *Entries) Len() int { return len(l.seen) }

// Packets returns how many packets entries have counted, those that are gone too.
func (l *Entries) Packets() uint64 { return l.total }

// Expire reads the counters of some flows for roundTime at most, others with the next call, and
// removes the entries of flows that are idle for long. now is the clock.
func (l *Entries) Expire(sw Switch, now func() time.Time) error {
	began := now()
	return sw.RemoveFlows(l.readCounters(sw.CountFlow, began, func() bool { return now().Sub(began) < roundTime }))
}

// readCounters reads the counters of the next flows while there is time, of one at least. It returns
// those that sent nothing for long, or have lost their entry.
func (l *Entries) readCounters(count counter, now time.Time, time func() bool) (idle []engine.FlowEntry) {
	if len(l.next) == 0 {
		l.next = slices.AppendSeq(make([]*flowSeen, 0, len(l.seen)), maps.Values(l.seen))
	}
	for n := 0; n < flowsPerRound && len(l.next) > 0 && (n == 0 || time()); n++ {
		s := l.next[0]
		f := unlabelled(s.FlowEntry)
		if l.next = l.next[1:]; l.seen[keyOf(f)] != s {
			continue
		}
		if gone := l.read(s, count, now); gone || now.Sub(s.at) > flowIdle {
			idle = append(idle, f)
			l.remove(f)
		}
	}
	return idle
}

// read reads the counter of a flow. A failure leaves the flow as it is; gone: it has lost
// its entry.
func (l *Entries) read(s *flowSeen, count counter, now time.Time) (gone bool) {
	packets, octets, err := count(unlabelled(s.FlowEntry))
	if err != nil {
		return errors.Is(err, engine.ErrGone)
	}
	if packets == s.packets {
		return false
	}
	more := uint64(0)
	if packets > s.packets {
		more = packets - s.packets
		l.total += more
	}
	pause := now.Sub(s.at)
	if s.packets > 0 {
		s.gap = max(s.gap, pause)
	}
	s.rate = float64(more) / max(pause, time.Millisecond).Seconds()
	s.packets, s.octets, s.at = packets, octets, now
	l.heaviest = nil
	return false
}

// Flows implements [placer.Registry].
func (l *Entries) Flows(yield func(*placer.Flow) bool) {
	for _, s := range l.seen {
		if !yield(&s.Flow) {
			return
		}
	}
}

// All yields the flows as entries, with the labels that they have.
func (l *Entries) All(yield func(engine.FlowEntry) bool) {
	for _, s := range l.seen {
		if !yield(s.FlowEntry) {
			return
		}
	}
}

// Heaviest returns the flows that are shown, at most status.FlowRows.
func (l *Entries) Heaviest() []engine.FlowEntry {
	if l.heaviest == nil {
		all := slices.AppendSeq(make([]*flowSeen, 0, len(l.seen)), maps.Values(l.seen))
		heavier := func(a, b *flowSeen) int {
			return cmp.Or(cmp.Compare(b.octets, a.octets), a.Src.Compare(b.Src), a.Dst.Compare(b.Dst), cmp.Compare(a.DestQP, b.DestQP))
		}
		l.heaviest = slices.Clone(status.First(all, status.FlowRows, heavier))
	}
	flows := make([]engine.FlowEntry, len(l.heaviest))
	for i, s := range l.heaviest {
		flows[i] = s.FlowEntry
	}
	return flows
}

// Rows returns the rows of flows. id returns a flow's Stream ID; 0: it lacks one.
func (l *Entries) Rows(flows []engine.FlowEntry, id func(engine.FlowEntry) uint16) []*telemetry.Flow {
	all := make([]*telemetry.Flow, len(flows))
	for i, f := range flows {
		s := l.seen[keyOf(f)]
		all[i] = &telemetry.Flow{
			Id: telemetry.Text(name(f)), Src: telemetry.Text(f.Src.String()), Dst: telemetry.Text(f.Dst.String()), DestQp: &f.DestQP, FlowLabel: &f.Label,
			SrcPort: srcPort(s.FlowEntry), Packets: telemetry.Count(s.packets), Bytes: telemetry.Count(s.octets), IngressPort: telemetry.Text(s.ingress), EgressPort: telemetry.Text(s.egress),
		}
		if id := id(f); id != 0 {
			all[i].StreamId = &id
		}
		link, movedAt := s.Path()
		if all[i].Path = telemetry.Text(link); !movedAt.IsZero() {
			all[i].MovedAt = telemetry.FineStamp(movedAt)
		}
	}
	return all
}

func name(f engine.FlowEntry) string { return fmt.Sprintf("%s,%s,%06x", f.Src, f.Dst, f.DestQP) }

// srcPort returns a flow's source port; nil: it is unknown.
func srcPort(f engine.FlowEntry) *uint16 {
	if f.SrcPort == 0 {
		return nil
	}
	return &f.SrcPort
}
