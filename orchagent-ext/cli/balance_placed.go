// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"time"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/spread/placement"
	"sluice/orchagent-ext/wire/roce"
)

// lookEvery is how often, by the capture's clock, flows that are idle may move.
const lookEvery = 100 * time.Millisecond

// placedPaths chooses the labels of a capture as package placement would: online,
// each by the octets that were sent before it.
type placedPaths struct {
	table  *placement.Table
	labels *flow.Table
	sent   map[placement.Flow]uint64 // in the unit of the bars
	looked int64
	now    int64
}

// newPlacement returns the paths of package placement as a leaf would choose them:
// members of equal weight, and the model of the hash that the command was asked for. An
// error is a number of paths that the model refuses.
func newPlacement(r frameSource, hash ecmp.Hash, paths int) (*placedPaths, error) {
	model, err := ecmp.OfHash(hash, paths)
	if err != nil {
		return nil, err
	}
	var members []placement.Member
	for i := range paths {
		members = append(members, placement.Member{Name: fmt.Sprint("path ", i), Weight: 1})
	}
	p := &placedPaths{table: placement.New(placement.Config{Capacity: capacityFor(r)}), labels: newFlowTable(r, nil), sent: map[placement.Flow]uint64{}}
	_, err = p.table.SetGroup(model, members)
	return p, err
}

// label returns the label of a packet that arrived at a time in nanoseconds with
// a weight; 0: the packet is left out.
func (p *placedPaths) label(packet *roce.Packet, now int64, weight uint64) uint32 {
	f := p.labels.Observe(packet, now)
	if packet.Is4() || packet.Tunnelled() || weight == 0 {
		return packet.FlowLabel()
	}
	p.look(now)
	key := placement.Flow{Src: packet.Src(), Dst: packet.Dst(), DestQP: packet.DestQP(), SrcPort: packet.SrcPort()}
	label := p.table.Place(key, -1, p.labels.Label(f, flow.DraftLiteral)).Label
	p.sent[key] += weight
	p.table.Sample(key, p.sent[key], p.now)
	return label
}

// look shows the table the counters, and lets it move flows, when it is time. The clock of
// a capture may step back: then it waits.
func (p *placedPaths) look(now int64) {
	if p.now = max(p.now, now); p.looked != 0 && p.now-p.looked < int64(lookEvery) {
		return
	}
	p.looked = p.now
	for f, sent := range p.sent {
		p.table.Sample(f, sent, p.now)
	}
	p.table.Look(p.now)
}

// floor returns the least max ÷ mean that a placement of the capture's flows
// can reach: a flow is indivisible.
func (p *placedPaths) floor(paths int) float64 {
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
