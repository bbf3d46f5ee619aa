// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"sluice/orchagent-ext/daemon/control"
	"sluice/orchagent-ext/daemon/placement"
	"sluice/orchagent-ext/daemon/routes"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/spread/placer"
	"sluice/orchagent-ext/switch/engine"
)

// reconcilePlacement brings placement to its settings. The file of the ledger keeps labels that are chosen.
func (o *orch) reconcilePlacement(g task.Group) {
	want, sw := &o.settings().Placement, o.sw
	if want.ChoosesLabels(sw.outcome.Method(engine.NeedPlacement)) {
		o.ledger.BeginCopy()
	} else {
		o.ledger.EndCopy()
	}
	o.placement.Reconcile(g, want, placement.Inputs{Outcome: &sw.outcome, Kernel: sw.Kernel}, &placement.Environment{
		Engine: sw.engine, Rules: sw.Rules, Flows: &o.entries, Switch: sw.forEntries(), PortName: sw.PortName,
		Holds:     holds{&sw.control, func(engine.FlowEntry) uint16 { return 0 }},
		PortStats: sw.PortStats,
		Databases: o.conf.Databases, CountersDB: o.out.countersDB, Log: o.conf.Log, Now: o.conf.Now,
	})
}

// reconcileSharing brings the sharing of loads to the configuration, once there is one.
func (o *orch) reconcileSharing(g task.Group) {
	if want := o.settings(); want != nil {
		o.placement.Share(g, want.Placement.Fabric, o.etcdAccess(), o.conf.Log)
	}
}

// holds are those of flow control.
type holds struct {
	control *control.Control
	id      func(engine.FlowEntry) uint16 // Stream ID of a flow; 0: it is to be left out
}

// Held implements [placement.Holds].
func (h holds) Held() placer.Held {
	held := h.control.Held()
	return func(f engine.FlowEntry) bool { return held(f, h.id(f)) }
}

// publishRoutes brings the rows of next hops and of the hash up to date.
func (o *orch) publishRoutes(g task.Group) {
	want, kernel := &routes.Settings{}, false
	if o.sw != nil {
		want, kernel = &o.settings().Routes, o.sw.Kernel
	}
	o.routes.Reconcile(g, want, kernel)
}
