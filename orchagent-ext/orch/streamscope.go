// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"context"
	"errors"

	"sluice/orchagent-ext/config"
	"sluice/orchagent-ext/etcd"
	"sluice/orchagent-ext/flow"
	"sluice/orchagent-ext/streamid"
	"sluice/yang/model"
)

var errNoPort = errors.New("classification is 5-tuple, and the source port of a flow is not known here: stream_id_scope must be hash, or classification flow-label")

// scopeSettings are what a scope works by: where they differ, all ids are given again.
// The zero value is no scope.
type scopeSettings struct {
	scope     model.E_SonicSluice_SonicSluice_SLUICE_Global_StreamIdScope
	fiveTuple bool   // no scope can give ids
	seed      uint32 // of the scopes hash and global

	endpoints any // of scope global: an array of etcd's endpoints
	etcd      etcdSettings
}

// etcdSettings are what a connection to etcd is made of, besides the endpoints.
type etcdSettings struct {
	ca, cert, key, user, password, domain string
	plaintext                             bool
}

func etcdSettingsOf(c *etcd.Config) etcdSettings {
	return etcdSettings{c.CAFile, c.CertFile, c.KeyFile, c.User, c.PasswordFile, c.Domain, c.PlaintextPassword}
}

// chooseScope brings the Stream IDs to what is configured.
func (o *orch) chooseScope(ctx context.Context, g tasks) {
	s := &o.streams
	if o.sw == nil {
		return // what an earlier process gave is not known yet, or the driver changes
	}
	if disabled(o.snapshot) {
		s.use(scopeSettings{}, func(map[flow.Key]*streamFlow) scope { return nil })
		return
	}
	c := o.snapshot.Global
	type flows = map[flow.Key]*streamFlow
	switch {
	case c.StreamIdScope == config.ScopeHash:
		s.use(scopeSettings{scope: c.StreamIdScope, seed: *c.StreamIdSeed}, func(flows) scope { return hashScope{seed: *c.StreamIdSeed} })
	case c.Classification == config.Classify5Tuple:
		s.use(scopeSettings{fiveTuple: true}, func(flows) scope { return noScope{why: errNoPort} })
	case c.StreamIdScope == config.ScopeLocal:
		s.use(scopeSettings{scope: c.StreamIdScope}, func(have flows) scope { return newLocalScope(s.remembered, have) })
	default:
		of := globalConfig(c)
		settings := scopeSettings{
			scope: c.StreamIdScope, seed: of.Seed, endpoints: array(of.Endpoints),
			etcd: etcdSettingsOf(&of.Config),
		}
		s.use(settings, func(flows) scope {
			of.Log, of.Read = o.Log, o.Files.Read
			return newGlobalScope(ctx, g, of)
		})
	}
	s.remembered = nil // ids that are given from now on are others
}

// noScope gives no ids.
type noScope struct{ why error }

func (noScope) want(flow.Key) (uint16, error) { return 0, nil }
func (noScope) release(flow.Key)              {}
func (noScope) name() string                  { return "none" }
func (noScope) keeps() bool                   { return false }
func (n noScope) err() error                  { return n.why }
func (noScope) lost() uint64                  { return 0 }
func (noScope) stop()                         {}

// hashScope computes.
type hashScope struct {
	noScope
	seed uint32
}

func (hashScope) name() string { return "hash" }

func (h hashScope) want(k flow.Key) (uint16, error) {
	return flow.HashStreamID(h.seed, k.Src, k.Dst, k.FlowLabel), nil
}

// localScope allocates.
type localScope struct {
	noScope
	ids *flow.LocalStreamIDs
}

// newLocalScope begins with the ids of an earlier process, and puts the flows that
// have them into have.
func newLocalScope(earlier map[flow.Key]uint16, have map[flow.Key]*streamFlow) localScope {
	l := localScope{ids: flow.NewLocalStreamIDs()}
	for k, id := range earlier {
		if l.ids.Take(k, id) {
			have[k] = &streamFlow{last: id}
		}
	}
	return l
}

func (l localScope) want(k flow.Key) (uint16, error) { return l.ids.Allocate(context.Background(), k) }
func (l localScope) release(k flow.Key)              { l.ids.Release(k) }
func (localScope) name() string                      { return "local" }
func (localScope) keeps() bool                       { return true }

// globalScope asks etcd.
type globalScope struct {
	ids *streamid.Global
	end context.CancelFunc
}

func globalConfig(c *config.Global) streamid.Config {
	return streamid.Config{Config: etcdConfig(c), Seed: *c.StreamIdSeed}
}

// etcdConfig says where etcd is.
func etcdConfig(c *config.Global) etcd.Config {
	return etcd.Config{
		Endpoints: c.EtcdEndpoints,
		CAFile:    orEmpty(c.EtcdCaFile), CertFile: orEmpty(c.EtcdCertFile), KeyFile: orEmpty(c.EtcdKeyFile),
		User: orEmpty(c.EtcdUser), PasswordFile: orEmpty(c.EtcdPasswordFile), PlaintextPassword: *c.EtcdAllowPlaintext,
		Domain: *c.StreamIdDomain,
	}
}

func newGlobalScope(ctx context.Context, g tasks, of streamid.Config) scope {
	ids, err := streamid.New(of)
	if err != nil {
		of.Log.Warn("no flow gets a stream id", "error", err)
		return noScope{why: err}
	}
	ctx, end := context.WithCancel(ctx)
	g.Go(func() error {
		if err := ids.Run(ctx); err != nil {
			of.Log.Debug("global stream ids", "close", err)
		}
		return nil
	})
	return globalScope{ids, end}
}

func (s globalScope) want(k flow.Key) (uint16, error) {
	if err := s.ids.Want(k); err != nil {
		return 0, err
	}
	id, _ := s.ids.ID(k)
	return id, nil
}

func (s globalScope) release(k flow.Key) { s.ids.Release(k) }
func (globalScope) name() string         { return "global" }
func (globalScope) keeps() bool          { return false }
func (s globalScope) err() error         { return s.ids.Err() }
func (s globalScope) lost() uint64       { return s.ids.Stats().Lost }
func (s globalScope) stop()              { s.end() }
