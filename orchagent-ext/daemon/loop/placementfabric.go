// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"sluice/orchagent-ext/daemon/policy"
	"sluice/orchagent-ext/daemon/status"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/config"
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

// shared is placement's scope fabric.
type shared struct {
	settings sharedSettings
	*placer.Share
	err    error  // why nothing is shared; nil: it is
	reason string // what the row of this leaf lacks; ""
	end    context.CancelFunc
}

// sharedSettings are what a share is made of, besides the endpoints: where they differ, it
// is made again.
type sharedSettings struct {
	leaf string
	etcd etcd.Config
}

// share begins to share the loads of this leaf, or ends it, as configured.
func (o *orch) share(ctx context.Context, g task.Group) {
	if o.sw == nil || o.sw.place == nil || o.snapshot.Placement.Scope != config.PlacementFabric {
		o.shared = o.shared.stopped()
		return
	}
	made := sharedSettings{policy.LeafName(o.snapshot), policy.Etcd(o.snapshot.Global)}
	if o.shared != nil && reflect.DeepEqual(o.shared.settings, made) {
		return
	}
	o.shared = o.shared.stopped()
	is := &shared{settings: made, end: func() {}}
	o.shared = is
	board, err := etcd.NewBoard(etcd.BoardConfig{
		Config: o.etcdAccess().Apply(made.etcd), Name: boardName, Node: made.leaf,
		MostRows: plan.MaxLeaves, MostOctets: plan.MaxRowOctets, MostTotal: mostShared, Log: o.Log,
	})
	if err != nil {
		o.Log.Warn("loads are not shared with other leaves", "error", err)
		is.err = err
		return
	}
	is.Share = placer.NewShare(board, o.Log)
	ctx, is.end = context.WithCancel(ctx)
	g.Go(func() error { return is.Run(ctx) })
}

func (s *shared) stopped() *shared {
	if s != nil {
		s.end()
	}
	return nil
}

// exchange tells the others of this leaf, and placement of the others.
func (o *orch) exchange() {
	if o.sw == nil || o.sw.place == nil {
		return
	}
	p, s := o.sw.place, o.shared
	switch {
	case s == nil:
		p.SetFabric(placer.Fabric{Err: errors.New("scope is local")})
		return
	case s.Share == nil:
		p.SetFabric(placer.Fabric{Err: s.err})
		return
	}
	var row plan.Row
	row, s.reason = p.Row()
	if err := s.Tell(&row); err != nil {
		o.encoder.Unwritten(err)
	}
	p.SetFabric(s.State().Fabric)
}

// describeScope says which scope is in force; groups are those of placement. nil: fabric is
// not configured.
func (o *orch) describeScope(s *status.Report, groups []placer.Report) *telemetry.PlacementFabric {
	is := o.shared
	if is == nil {
		return nil
	}
	known := placer.ShareState{Fabric: placer.Fabric{Err: is.err}}
	if is.Share != nil {
		known = is.State()
	}
	row := &telemetry.PlacementFabric{
		Leaf: &is.settings.leaf, Planner: telemetry.Text(text.Printable(known.Planner)),
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

// whyLocal says why the scope is local though fabric is configured; "": it is fabric.
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
