// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"sluice/orchagent-ext/sim/network"
	"sluice/orchagent-ext/sim/paths"
	"sluice/orchagent-ext/sim/topology"
	"sluice/orchagent-ext/spread/placement"
)

// A View is the state of a run at one time. It is valid until [Spec.Watch] returns.
type View struct{ r *runner }

// Now is the simulated time since the begin.
func (v *View) Now() time.Duration { return time.Duration(v.r.net.Now() / network.Nanosecond) }

// Spec is the run.
func (v *View) Spec() *Spec { return v.r.spec }

// Topology is the fabric.
func (v *View) Topology() *topology.Fabric { return v.r.spec.Topology }

// Link returns the report of a link.
func (v *View) Link(id int) network.LinkReport { return v.r.net.Link(id) }

// Flow is a connection that is open.
type Flow struct {
	paths.Connection
	network.Flow
	Number       int32  // of the queue pair in the network
	DstQP, SrcQP uint32 // numbers that its packets have
	SrcPort      uint16
}

// Flows returns the connections that are open, sorted.
func (v *View) Flows() []Flow {
	var all []Flow
	for _, c := range slices.SortedFunc(maps.Keys(v.r.open), func(a, b paths.Connection) int {
		return cmp.Or(cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst), cmp.Compare(a.K, b.K))
	}) {
		f := Flow{Connection: c, Number: v.r.open[c], SrcPort: v.r.chooser.SourcePort(c)}
		f.Flow = v.r.net.Flow(f.Number)
		f.DstQP, f.SrcQP = v.r.chooser.QueuePairs(c)
		all = append(all, f)
	}
	return all
}

// Held returns the flows that are held now, in no order.
func (v *View) Held() []network.Held { return v.r.net.Held() }

// Placed returns what a leaf's choice of labels is, and false where it chooses none.
func (v *View) Placed(leaf int) (placement.Report, bool) { return v.r.chooser.Placed(leaf) }
