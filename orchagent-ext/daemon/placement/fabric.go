// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"sluice/orchagent-ext/daemon/status"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/host/etcd"
	"sluice/orchagent-ext/spread/placer"
	"sluice/orchagent-ext/spread/plan"
	"sluice/yang/rows"
	"sluice/yang/text"
)

// boardName is that of the leaves' board in etcd.
const boardName = "placement"

// mostShared bounds the rows of all leaves that are kept.
const mostShared = 64 << 20

// sharing is scope fabric.
type sharing struct {
	*placer.Share        // nil: loads are not shared
	err           error  // why they are not; nil: they are
	reason        string // missing part of the row of this leaf, or ""
}

// Run shares until ctx ends.
func (s *sharing) Run(ctx context.Context) error {
	if s.Share == nil {
		<-ctx.Done()
		return nil
	}
	return s.Share.Run(ctx)
}

// Report implements [task.Worker].
func (s *sharing) Report() placer.ShareState {
	if s.Share == nil {
		return placer.ShareState{Fabric: placer.Fabric{Err: s.err}}
	}
	return s.State()
}

// Share begins to share the loads of this leaf, or ends that, as configured. It may be called
// without a switch.
func (p *Placement) Share(g task.Group, want Fabric, access *etcd.Access, log *slog.Logger) {
	if p.labels == nil {
		want = Fabric{}
	}
	if p.sharing.Has(want) {
		return
	}
	p.sharing.Cancel() // etcd may take its time
	_ = p.sharing.Reconcile(g, want, func() (*sharing, error) { return newSharing(want, access, log), nil })
}

// newSharing returns sharing that begins with Run. Where etcd cannot be used its err is set.
func newSharing(s Fabric, access *etcd.Access, log *slog.Logger) *sharing {
	board, err := etcd.NewBoard(etcd.BoardConfig{
		Config: access.Apply(s.Etcd), Name: boardName, Node: s.Leaf,
		MostRows: plan.MaxLeaves, MostOctets: plan.MaxRowOctets, MostTotal: mostShared, Log: log,
	})
	if err != nil {
		log.Warn("cannot share loads with other leaves", "error", err)
		return &sharing{err: err}
	}
	return &sharing{Share: placer.NewShare(board, log)}
}

// Exchange gives other leaves the loads of this one, and placement those of the others.
func (p *Placement) Exchange(e *status.Encoder) {
	s := p.sharing.Worker()
	switch {
	case p.labels == nil:
		return
	case s == nil:
		p.labels.SetFabric(placer.Fabric{Err: errors.New("scope is local")})
		return
	case s.Share != nil:
		var row plan.Row
		row, s.reason = p.labels.Row()
		if err := s.Tell(&row); err != nil {
			e.Unwritten(err)
		}
	}
	p.labels.SetFabric(s.Report().Fabric)
}

// describeScope returns the row of scope fabric; nil: scope is local. groups are those of
// placement.
func (p *Placement) describeScope(s *status.Report, groups []placer.Report) *telemetry.PlacementFabric {
	is := p.sharing.Worker()
	if is == nil {
		return nil
	}
	known := is.Report()
	row := &telemetry.PlacementFabric{
		Leaf: telemetry.Text(p.sharing.Settings().Leaf), Planner: telemetry.Text(text.Printable(known.Planner)),
		Leaves: telemetry.Small(known.Leaves), RowsRejected: telemetry.Small(len(known.Aside)),
	}
	if known.Plan != 0 {
		row.Plan = &known.Plan
	}
	scope := "fabric"
	followed := slices.ContainsFunc(groups, func(r placer.Report) bool { return r.Plan != 0 })
	if reason := whyLocal(&known, is.reason, followed); reason != "" {
		scope, row.Reason = "local", telemetry.Text(reason)
		s.Warn("placement fills the uplinks of this switch only: " + reason)
	}
	rows.SetEnum(&row.Scope, scope)
	if n := len(known.Aside); n > 0 {
		s.Warn(fmt.Sprintf("rows of %d other leaves cannot be used: %s: %s", n, text.Printable(known.Aside[0].Key), text.Printable(known.Aside[0].Reason.Error())))
	}
	return row
}

// whyLocal returns why the scope is local although fabric is configured; "": it is fabric.
func whyLocal(known *placer.ShareState, lacks string, followed bool) string {
	switch {
	case known.Err != nil:
		return task.FirstLine(known.Err)
	case followed:
		return ""
	case lacks != "":
		return lacks
	case known.Plan == 0 && known.Why != "":
		return "there is no plan yet: " + known.Why
	case known.Plan == 0:
		return "there is no plan yet"
	case known.Quotas == nil:
		return fmt.Sprintf("plan %d has nothing for this leaf", known.Plan)
	}
	return fmt.Sprintf("next hops are others than those of plan %d", known.Plan)
}
