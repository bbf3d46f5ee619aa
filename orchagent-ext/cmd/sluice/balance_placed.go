// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	"sluice/orchagent-ext/ecmp"
	"sluice/orchagent-ext/flow"
	"sluice/orchagent-ext/place"
	"sluice/orchagent-ext/roce"
)

// lookEvery is how often, by the capture's clock, flows that are idle may move.
const lookEvery = 100 * time.Millisecond

// placement chooses the labels of a capture as package place would: for what is sent, by
// what was sent until then.
type placement struct {
	table  *place.Table
	labels *flow.Table
	sent   map[place.Flow]uint64 // in the unit of the bars
	looked int64
	now    int64
}

func newPlacement(hash ecmp.Hash, paths int) (*placement, error) {
	model, err := ecmp.OfHash(hash, paths)
	if err != nil {
		return nil, err
	}
	var members []place.Member
	for i := range paths {
		members = append(members, place.Member{Name: fmt.Sprint("path ", i), Weight: 1})
	}
	p := &placement{table: place.New(place.Config{Capacity: flowCapacity}), labels: newFlowTable(nil), sent: map[place.Flow]uint64{}}
	_, err = p.table.SetGroup(model, members)
	return p, err
}

// label returns the label of a packet, which arrived at a time in nanoseconds and weighs
// so much; 0: the packet does not count.
func (p *placement) label(packet *roce.Packet, now int64, weight uint64) uint32 {
	f := p.labels.Observe(packet, now)
	if packet.Is4() || packet.Tunnelled() || weight == 0 {
		return packet.FlowLabel()
	}
	p.look(now)
	key := place.Flow{Src: packet.Src(), Dst: packet.Dst(), DestQP: packet.DestQP(), SrcPort: packet.SrcPort()}
	label := p.table.Place(key, -1, p.labels.Label(f, flow.DraftLiteral)).Label
	p.sent[key] += weight
	p.table.Sample(key, p.sent[key], p.now)
	return label
}

// look shows the table the counters, and lets it move flows, when it is time. The clock of
// a capture may step back: then it waits.
func (p *placement) look(now int64) {
	if p.now = max(p.now, now); p.looked != 0 && p.now-p.looked < int64(lookEvery) {
		return
	}
	p.looked = p.now
	for f, sent := range p.sent {
		p.table.Sample(f, sent, p.now)
	}
	p.table.Look(p.now)
}

// floor is the worst ÷ mean below which no placement of the capture's flows is: a flow
// does not divide.
func (p *placement) floor(paths int) float64 {
	var sum, largest uint64
	for _, sent := range p.sent {
		sum += sent
		largest = max(largest, sent)
	}
	if sum == 0 {
		return 0
	}
	return max(1, float64(largest)*float64(paths)/float64(sum))
}
