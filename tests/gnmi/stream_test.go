// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"context"
	"io"
	"maps"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"

	"sluice/gnmi-server/paths"
)

// stream is a Subscribe RPC.
type stream struct {
	s   *server
	rpc grpc.BidiStreamingClient[gpb.SubscribeRequest, gpb.SubscribeResponse]
	// end cancels it.
	end context.CancelFunc
}

func (s *server) subscribe(r *gpb.SubscribeRequest) *stream {
	s.t.Helper()
	return s.subscribeWith(s.client(), r)
}

func (s *server) subscribeWith(c gpb.GNMIClient, r *gpb.SubscribeRequest) *stream {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(limited(s.t), patience)
	s.t.Cleanup(cancel)
	rpc, err := c.Subscribe(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	// EOF: the server has ended the RPC before, and what is received says why.
	if err := rpc.Send(r); err != nil && err != io.EOF {
		s.t.Fatal(err)
	}
	return &stream{s, rpc, cancel}
}

// list makes the request of a subscription of paths in a mode.
func list(mode gpb.SubscriptionList_Mode, of ...*gpb.Subscription) *gpb.SubscribeRequest {
	return &gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: &gpb.SubscriptionList{
		Mode: mode, Subscription: of, Encoding: gpb.Encoding_PROTO,
	}}}
}

func on(p string, mode gpb.SubscriptionMode) *gpb.Subscription {
	return &gpb.Subscription{Path: path(p), Mode: mode}
}

func sample(p string, every time.Duration) *gpb.Subscription {
	return &gpb.Subscription{Path: path(p), Mode: gpb.SubscriptionMode_SAMPLE, SampleInterval: uint64(every)}
}

// next returns the next message.
func (s *stream) next() *gpb.SubscribeResponse {
	s.s.t.Helper()
	m, err := s.rpc.Recv()
	if err != nil {
		s.s.t.Fatal(err)
	}
	return m
}

// fails returns the error that ends the stream.
func (s *stream) fails() error {
	for {
		if _, err := s.rpc.Recv(); err != nil {
			return err
		}
	}
}

// initial returns the notifications before the sync_response.
func (s *stream) initial() []*gpb.Notification {
	s.s.t.Helper()
	var all []*gpb.Notification
	for {
		m := s.next()
		if m.GetSyncResponse() {
			return all
		}
		all = append(all, m.GetUpdate())
	}
}

// until collects notifications until what they say together, deletes included as
// the value "deleted", has all of want; it returns them.
func (s *stream) until(want map[string]string) []*gpb.Notification {
	s.s.t.Helper()
	var all []*gpb.Notification
	for {
		n := s.next().GetUpdate()
		all = append(all, n)
		got := make(map[string]string)
		for _, n := range all {
			for _, d := range n.GetDelete() {
				full := &gpb.Path{Elem: append(append([]*gpb.PathElem{}, n.GetPrefix().GetElem()...), d.GetElem()...)}
				got[paths.Text(full)] = "deleted"
			}
			maps.Copy(got, values(n))
		}
		missing := false
		for p, v := range want {
			missing = missing || got[p] != v
		}
		if !missing {
			return all
		}
	}
}
