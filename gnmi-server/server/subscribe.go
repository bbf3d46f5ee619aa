// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"sluice/gnmi-server/auth"
	"sluice/gnmi-server/encoding"
	"sluice/gnmi-server/paths"
	"sluice/gnmi-server/subscribe"
)

const (
	// shortest is the shortest interval between samples and heartbeats.
	shortest = 100 * time.Millisecond

	// counters is the interval between samples of TARGET_DEFINED's counters.
	counters = 10 * time.Second

	// readyTimeout is for how long a stream waits for the databases.
	readyTimeout = 5 * time.Second
)

// Subscribe serves a subscription (specification section 3.5).
func (s *Server) Subscribe(rpc grpc.BidiStreamingServer[gpb.SubscribeRequest, gpb.SubscribeResponse]) error {
	if n := s.Stats.Streams.Add(1); n > int64(s.Streams) {
		s.Stats.Streams.Add(-1)
		return status.Errorf(codes.ResourceExhausted, "%d Subscribe RPCs are open, which is the limit", s.Streams)
	}
	defer s.Stats.Streams.Add(-1)

	first, err := rpc.Recv()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	list := first.GetSubscribe()
	if list == nil {
		return status.Error(codes.InvalidArgument, "there is no subscription yet: the first message must have subscribe")
	}
	ctx := rpc.Context()
	stream, err := s.stream(ctx, first)
	if err != nil {
		return err
	}
	stream.Send = rpc.Send
	switch list.GetMode() {
	case gpb.SubscriptionList_ONCE:
		return s.once(ctx, stream)
	case gpb.SubscriptionList_POLL:
		return s.poll(rpc, stream)
	}
	return s.follow(rpc, stream)
}

// stream checks a request and returns the stream that it asks for.
func (s *Server) stream(ctx context.Context, r *gpb.SubscribeRequest) (*subscribe.Stream, error) {
	list := r.GetSubscribe()
	if len(list.GetSubscription()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "the list has no subscription")
	}
	if n := len(list.GetSubscription()); n > pathsAtOnce {
		return nil, status.Errorf(codes.ResourceExhausted, "the list has %d subscriptions; %d are allowed", n, pathsAtOnce)
	}
	if !encoding.IsSupported(list.GetEncoding()) {
		return nil, status.Errorf(codes.Unimplemented, "encoding %v is not supported; there are: %v", list.GetEncoding(), encoding.Supported)
	}
	if _, ok := gpb.SubscriptionList_Mode_name[int32(list.GetMode())]; !ok {
		return nil, status.Errorf(codes.InvalidArgument, "mode %v must be STREAM, ONCE or POLL", list.GetMode())
	}
	ext, err := extensions(r.GetExtension(), "depth")
	if err != nil {
		return nil, err
	}
	ofModels, err := models(list.GetUseModels())
	if err != nil {
		return nil, err
	}
	access := s.Policy.For(user(ctx), auth.Read)
	out := &subscribe.Stream{
		Live: s.live, Encoding: list.GetEncoding(), UpdatesOnly: list.GetUpdatesOnly(), Target: list.GetPrefix().GetTarget(),
		Limit: s.QueueLimit, Pay: s.pay(ctx),
	}
	if access != nil {
		out.Allow = access.Allows
	}
	for _, sub := range list.GetSubscription() {
		q, err := paths.Resolve(list.GetPrefix(), sub.GetPath())
		if err != nil {
			return nil, reading(err)
		}
		if !access.AllowsSome(q) {
			return nil, status.Errorf(codes.PermissionDenied, "%s may not read %s", user(ctx), q)
		}
		if !q.Shallow(ext.depth) {
			q.Within(func(*paths.Table) bool { return false })
		}
		q.Within(ofModels)
		modes := []subscribe.Subscription{{Query: q}}
		if list.GetMode() == gpb.SubscriptionList_STREAM {
			if modes, err = subscriptions(q, sub); err != nil {
				return nil, status.Errorf(codes.InvalidArgument, "subscription %s: %v", q, err)
			}
		}
		out.Subscriptions = append(out.Subscriptions, modes...)
	}
	return out, nil
}

// subscriptions returns a subscription of a STREAM; TARGET_DEFINED is two: counters are
// sampled, the rest is sent on change.
func subscriptions(q *paths.Query, r *gpb.Subscription) ([]subscribe.Subscription, error) {
	sub := subscribe.Subscription{Query: q, Suppress: r.GetSuppressRedundant()}
	interval := func(ns uint64, name string) (time.Duration, error) {
		if ns > 0 && ns < uint64(shortest) || ns > uint64(time.Duration(1<<63-1)) {
			return 0, fmt.Errorf("%s %v is not supported; it must be %v or more, or 0", name, time.Duration(ns), shortest) //nolint:gosec // for people
		}
		return time.Duration(ns), nil //nolint:gosec // compared above
	}
	var err error
	if sub.Interval, err = interval(r.GetSampleInterval(), "sample_interval"); err != nil {
		return nil, err
	}
	if sub.Heartbeat, err = interval(r.GetHeartbeatInterval(), "heartbeat_interval"); err != nil {
		return nil, err
	}
	switch r.GetMode() {
	case gpb.SubscriptionMode_ON_CHANGE:
		return []subscribe.Subscription{{Query: q, Mode: subscribe.OnChange, Heartbeat: sub.Heartbeat}}, nil
	case gpb.SubscriptionMode_SAMPLE:
		sub.Mode = subscribe.Sample
		if sub.Interval == 0 {
			sub.Interval = shortest
		}
		return []subscribe.Subscription{sub}, nil
	case gpb.SubscriptionMode_TARGET_DEFINED:
		if sub.Interval != 0 {
			return nil, errors.New("sample_interval is not for mode TARGET_DEFINED, in which the server chooses it")
		}
		sampled := sub
		sampled.Mode, sampled.Interval = subscribe.Sample, counters
		sampled.Only = func(t *paths.Table, leaf string) bool { return t.Counts(leaf) }
		return []subscribe.Subscription{
			{Query: q, Mode: subscribe.OnChange, Heartbeat: sub.Heartbeat, Only: func(t *paths.Table, leaf string) bool { return !t.Counts(leaf) }},
			sampled,
		}, nil
	}
	return nil, fmt.Errorf("mode %v must be TARGET_DEFINED, ON_CHANGE or SAMPLE", r.GetMode())
}

// once sends the leaves that the databases have now, and then sync_response
// (specification sections 3.5.1.5.1 and 3.5.1.5.3).
func (s *Server) once(ctx context.Context, stream *subscribe.Stream) error {
	var queries []*paths.Query
	for _, sub := range stream.Subscriptions {
		queries = append(queries, sub.Query)
	}
	if stream.UpdatesOnly {
		queries = nil
	}
	at := time.Now()
	snapshot, err := s.reader.Read(ctx, queries...)
	if err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	if err := stream.Pay(snapshot.Fields()); err != nil {
		return err
	}
	return stream.Once(snapshot, at)
}

// poll answers the subscription and each poll, until the client closes. The specification has
// answers to polls alone (section 3.5.1.5.3); OpenConfig's server and SONiC's send all at first, too,
// and gnmi_cli waits for that before it polls.
func (s *Server) poll(rpc grpc.BidiStreamingServer[gpb.SubscribeRequest, gpb.SubscribeResponse], stream *subscribe.Stream) error {
	for {
		if err := s.once(rpc.Context(), stream); err != nil {
			return err
		}
		r, err := rpc.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case r.GetPoll() == nil:
			return status.Error(codes.InvalidArgument, "the subscription cannot be changed: only poll is allowed now")
		}
	}
}

// follow runs a STREAM until the client leaves or falls too far behind.
func (s *Server) follow(rpc grpc.BidiStreamingServer[gpb.SubscribeRequest, gpb.SubscribeResponse], stream *subscribe.Stream) error {
	ctx, cancel := context.WithCancel(rpc.Context())
	defer cancel()
	select {
	case <-s.live.Ready():
	case <-time.After(readyTimeout):
		return status.Error(codes.Unavailable, "the databases have not been read yet")
	case <-ctx.Done():
		return ctx.Err()
	}
	var began atomic.Int64 // when a Send began; 0: none runs
	stream.Send = func(m *gpb.SubscribeResponse) error {
		began.Store(time.Now().UnixNano())
		defer began.Store(0)
		return rpc.Send(m)
	}
	ended := make(chan error, 2)
	go func() { ended <- stream.Run(ctx) }()
	go func() {
		r, err := rpc.Recv()
		if err == nil {
			err = status.Errorf(codes.InvalidArgument, "the subscription cannot be changed: %T is not allowed now", r.GetRequest())
		}
		// a client that only closes its side goes on reading
		if !errors.Is(err, io.EOF) {
			ended <- err
		}
	}()
	look := time.NewTicker(max(s.Stall/4, time.Millisecond))
	defer look.Stop()
	for {
		select {
		case err := <-ended:
			if errors.Is(err, subscribe.ErrSlow) {
				return s.slow(ctx, fmt.Sprintf("more than %d leaves have changed and wait for this client", s.QueueLimit))
			}
			return err
		case <-s.stopping:
			return status.Error(codes.Unavailable, "the server stops")
		case <-look.C:
			if since := began.Load(); since != 0 && time.Since(time.Unix(0, since)) > s.Stall {
				return s.slow(ctx, fmt.Sprintf("the client has taken nothing for %v", s.Stall))
			}
		}
	}
}

// slow ends a stream whose client falls too far behind.
func (s *Server) slow(ctx context.Context, why string) error {
	n := s.Stats.Slow.Add(1)
	s.Log.Warn("stream ended: the client does not keep up", "user", user(ctx), "peer", peerOf(ctx), "reason", why, "ended so far", n)
	return status.Error(codes.ResourceExhausted, why)
}
