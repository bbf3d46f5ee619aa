// SPDX-License-Identifier: Apache-2.0

package streamids

import (
	"context"
	"errors"
	"log/slog"

	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/flows/streamid"
	"sluice/orchagent-ext/host/etcd"
	"sluice/yang/model"
)

// errNoPort is the reason against IDs by 5-tuple in scopes that need the source port.
var errNoPort = errors.New("classification is 5-tuple, and the source port of a flow is not known here: stream_id_scope must be hash, or classification flow-label")

// Settings are the settings of a scope. The zero value is that of Stream IDs that are off.
type Settings struct {
	Scope model.E_SonicSluice_SonicSluice_SLUICE_Global_StreamIdScope
	// source ports distinguish flows: the scope hash alone can give IDs
	FiveTuple bool
	Seed      uint32      // of the scopes hash and global
	Etcd      etcd.Config // of scope global, but for [etcd.Access]
}

// Reconcile brings the IDs to their settings. A flow keeps its ID where the settings are as
// before.
func (s *IDs) Reconcile(g task.Group, want Settings, access *etcd.Access, log *slog.Logger) {
	s.use(want, func(have map[flow.Key]*streamFlow) scope {
		switch {
		case want.FiveTuple:
			return noScope{why: errNoPort}
		case want.Scope == config.ScopeHash:
			return hashScope{seed: want.Seed}
		case want.Scope == config.ScopeLocal:
			return newLocalScope(s.remembered, have)
		case want.Scope == config.ScopeGlobal:
			err := s.global.Reconcile(g, want, func() (*globalTask, error) {
				ids, err := streamid.New(streamid.Config{Config: access.Apply(want.Etcd), Seed: want.Seed, Log: log})
				return &globalTask{ids, log}, err
			})
			if err != nil {
				log.Warn("cannot allocate Stream IDs", "error", err)
				return noScope{why: err}
			}
			return globalScope{s.global.Worker()}
		}
		return nil
	})
	s.remembered = nil // IDs that are given from now on differ
}

// noScope is that of Stream IDs that are off.
type noScope struct{ why error }

// want implements scope.
func (noScope) want(flow.Key) (uint16, error) { return 0, nil }

// release implements scope.
func (noScope) release(flow.Key) {}

// name implements scope.
func (noScope) name() string { return "none" }

// keeps implements scope.
func (noScope) keeps() bool { return false }

// err implements scope.
func (n noScope) err() error { return n.why }

// lost implements scope.
func (noScope) lost() uint64 { return 0 }

// hashScope computes.
type hashScope struct {
	noScope
	seed uint32
}

// name implements scope.
func (hashScope) name() string { return "hash" }

// want implements scope: the ID is computed from the flow's addresses and label.
func (h hashScope) want(k flow.Key) (uint16, error) {
	return flow.HashStreamID(h.seed, k.Src, k.Dst, k.FlowLabel), nil
}

// localScope allocates.
type localScope struct {
	noScope
	ids *flow.LocalStreamIDs
}

// newLocalScope begins with the IDs of an earlier process, and puts their flows into have.
func newLocalScope(earlier map[flow.Key]uint16, have map[flow.Key]*streamFlow) localScope {
	l := localScope{ids: flow.NewLocalStreamIDs()}
	for k, id := range earlier {
		if l.ids.Take(k, id) {
			have[k] = &streamFlow{last: id}
		}
	}
	return l
}

// want implements scope.
func (l localScope) want(k flow.Key) (uint16, error) { return l.ids.Allocate(context.Background(), k) }

// release implements scope.
func (l localScope) release(k flow.Key) { l.ids.Release(k) }

// name implements scope.
func (localScope) name() string { return "local" }

// keeps implements scope: an ID that moved to another flow could hold the wrong one at a
// neighbor.
func (localScope) keeps() bool { return true }

// globalTask is the session in etcd of scope global.
type globalTask struct {
	*streamid.Global
	log *slog.Logger
}

// Run keeps the lease until ctx ends. Errors of the end are of interest for debugging
// only.
func (t *globalTask) Run(ctx context.Context) error {
	if err := t.Global.Run(ctx); err != nil {
		t.log.Debug("global stream ids", "close", err)
	}
	return nil
}

// globalReport is the state of the session.
type globalReport struct {
	err  error  // why flows lack an ID; nil: they have one
	lost uint64 // leases
}

// Report implements [task.Worker].
func (t *globalTask) Report() globalReport { return globalReport{t.Err(), t.Stats().Lost} }

// globalScope asks etcd.
type globalScope struct{ ids *globalTask }

// want implements scope: 0 until etcd has answered.
func (s globalScope) want(k flow.Key) (uint16, error) {
	if err := s.ids.Want(k); err != nil {
		return 0, err
	}
	id, _ := s.ids.ID(k)
	return id, nil
}

// release implements scope.
func (s globalScope) release(k flow.Key) { s.ids.Release(k) }

// name implements scope.
func (globalScope) name() string { return "global" }

// keeps implements scope.
func (globalScope) keeps() bool { return false }

// err implements scope.
func (s globalScope) err() error { return s.ids.Report().err }

// lost implements scope.
func (s globalScope) lost() uint64 { return s.ids.Report().lost }
