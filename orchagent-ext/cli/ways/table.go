// SPDX-License-Identifier: Apache-2.0

package ways

import (
	"net/netip"

	"sluice/orchagent-ext/cli/evenness"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/wire/roce"
)

// Config of a [Table].
type Config struct {
	// Hash is that of ECMP.
	Hash ecmp.Hash
	// Paths has the numbers of equal-cost paths, each of which has a [Result].
	Paths []int
	// Placed: labels are chosen, too. Capacity is how many flows that takes at most.
	Placed   bool
	Capacity int
	// Redirected: rules to next hops are made, too.
	Redirected bool
	// Ended is called with each flow once all of its packets are known; nil: it is not.
	Ended func(*Flow)
}

// Flow is one flow of the capture.
type Flow struct {
	// Src and Dst are the addresses of the session, SrcPort its UDP source port.
	Src, Dst netip.Addr
	SrcPort  uint16
	// DestQP is 24 bits; so is SrcQP, as known at the first packet, 0 for an unknown one.
	DestQP, SrcQP uint32
	// Label is that of the packets, 20 bits; Literal and CRC32 those that Sluice would write
	// at the first packet.
	Label, Literal, CRC32 uint32
	// IPv4: without an IPv6 header; Tunnelled: within another IP header; Datagram: of UD.
	IPv4, Tunnelled, Datagram bool
	// Packets counts all packets, Counted those that load paths, with Load in all, in the
	// unit of the caller.
	Packets, Counted, Load uint64
}

// labelled reports whether Sluice may write a label.
func (f *Flow) labelled() bool { return !f.IPv4 && !f.Tunnelled }

// tuple returns the fields that ECMP hashes.
func (f *Flow) tuple(label uint32) ecmp.Tuple {
	return ecmp.Tuple{Src: f.Src, Dst: f.Dst, Proto: 17, SrcPort: f.SrcPort, DstPort: roce.UDPPort, FlowLabel: label}
}

// Result is the spread of all flows over a number of paths.
type Result struct {
	// Paths is that number.
	Paths int
	// FiveTuple has no label in the hash; Packet that of the packets; Literal and CRC32 that of
	// Sluice, by both algorithms; ZeroOnly that of the packets, and Literal where they have none.
	FiveTuple, Packet, Literal, CRC32, ZeroOnly evenness.Spread
	// Placed has labels that are chosen, with so many Moves. No placement is below PlacedFloor,
	// max ÷ mean; 0: no packet can have a label.
	Placed      evenness.Spread
	Moves       uint64
	PlacedFloor float64
	// Redirected has so many Rules, each for a 5-tuple, on the hash of the 5-tuple. No rules are
	// below RedirectedFloor.
	Redirected      evenness.Spread
	Rules           int
	RedirectedFloor float64
}

// entry is a flow of the flow table, in the place of its slot.
type entry struct {
	Flow
	used bool
	unit int32 // of placement, plus 1; 0: none
}

// Table has the flows of a capture.
type Table struct {
	cfg     Config
	entries []entry // by slot
	loads   []loads // for each number of paths
	placing *placing
	tuples  map[ecmp.Tuple]uint64 // load of each 5-tuple
}

// loads are those of each path.
type loads struct{ fiveTuple, packet, literal, crc32, zeroOnly, placed []uint64 }

// New returns an empty table. An error is a number of paths that the model of the hash refuses.
func New(c Config) (*Table, error) {
	t := &Table{cfg: c, tuples: map[ecmp.Tuple]uint64{}}
	for _, n := range c.Paths {
		t.loads = append(t.loads, loads{make([]uint64, n), make([]uint64, n), make([]uint64, n), make([]uint64, n), make([]uint64, n), make([]uint64, n)})
	}
	if !c.Placed {
		return t, nil
	}
	var err error
	t.placing, err = newPlacing(&t.cfg, t.loads)
	return t, err
}

// Add adds a packet of a flow that table has just observed, at a time in ns or [flow.NoTime]. weight
// is its load; counts is false for a packet that loads no path.
func (t *Table) Add(p *roce.Packet, table *flow.Table, f *flow.Flow, now int64, counts bool, weight uint64) {
	slot := f.Slot()
	if slot >= len(t.entries) {
		t.entries = append(t.entries, make([]entry, slot+1-len(t.entries))...)
	}
	e := &t.entries[slot]
	if !e.used {
		t.begin(e, p, table, f)
	}
	e.Packets++
	if !counts {
		return
	}
	e.Counted++
	e.Load += weight
	if t.placing != nil && weight > 0 && e.labelled() {
		t.placing.add(e, now, weight)
	}
}

// begin makes the entry of a flow by its first packet. Its labels are pinned here, as the switch
// pins them.
func (t *Table) begin(e *entry, p *roce.Packet, table *flow.Table, f *flow.Flow) {
	qp, _ := table.SrcQP(f)
	*e = entry{used: true, Flow: Flow{
		Src: p.Src(), Dst: p.Dst(), SrcPort: p.SrcPort(), DestQP: p.DestQP(), SrcQP: qp, Label: p.FlowLabel(),
		IPv4: p.Is4(), Tunnelled: p.Tunnelled(), Datagram: p.Opcode().Service() == roce.ServiceUD,
	}}
	e.Literal, e.CRC32 = e.Label, e.Label
	if e.labelled() {
		e.Literal, e.CRC32 = f.Label(flow.DraftLiteral, qp), f.Label(flow.CRC32, qp)
	}
}

// Removed ends a flow that leaves the flow table: its slot may be another's then.
func (t *Table) Removed(f *flow.Flow, _ flow.Reason) {
	if slot := f.Slot(); slot < len(t.entries) && t.entries[slot].used {
		t.end(&t.entries[slot])
	}
}

// end adds the load of a flow to its paths.
func (t *Table) end(e *entry) {
	if t.cfg.Ended != nil {
		t.cfg.Ended(&e.Flow)
	}
	e.used = false
	if e.Load == 0 {
		return
	}
	for i := range t.loads {
		n, l := t.cfg.Paths[i], &t.loads[i]
		bare := t.cfg.Hash.Path(e.tuple(0), false, n)
		l.fiveTuple[bare] += e.Load
		own := t.cfg.Hash.Path(e.tuple(e.Label), true, n)
		l.packet[own] += e.Load
		literal, crc := own, own
		if e.labelled() {
			literal, crc = t.cfg.Hash.Path(e.tuple(e.Literal), true, n), t.cfg.Hash.Path(e.tuple(e.CRC32), true, n)
		} else {
			l.placed[own] += e.Load
		}
		l.literal[literal] += e.Load
		if e.Label != 0 {
			literal = own
		}
		l.zeroOnly[literal] += e.Load
		l.crc32[crc] += e.Load
	}
	if t.cfg.Redirected {
		t.tuples[e.tuple(0)] += e.Load
	}
}

// Results ends all flows and returns the spread over each number of paths, in the order of the
// configuration. It is called once, after the last packet.
func (t *Table) Results() []Result {
	for i := range t.entries {
		if t.entries[i].used {
			t.end(&t.entries[i])
		}
	}
	all := make([]Result, 0, len(t.loads))
	for i := range t.loads {
		l := &t.loads[i]
		r := Result{
			Paths: t.cfg.Paths[i], FiveTuple: evenness.Of(l.fiveTuple), Packet: evenness.Of(l.packet), Literal: evenness.Of(l.literal), CRC32: evenness.Of(l.crc32), ZeroOnly: evenness.Of(l.zeroOnly),
		}
		if t.placing != nil {
			t.placing.flush()
			r.Placed, r.Moves, r.PlacedFloor = evenness.Of(l.placed), t.placing.tables[i].Report().Moves, t.placing.floor(r.Paths)
		}
		if t.cfg.Redirected {
			t.redirect(&r)
		}
		all = append(all, r)
	}
	return all
}
