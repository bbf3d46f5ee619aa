// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"context"
	"net"
	"path/filepath"
	"sync"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc"
)

// between is a gNMI server in front of a real one, which passes RPCs on. A fault may take the
// place of a Set.
type between struct {
	gpb.UnimplementedGNMIServer
	to     gpb.GNMIClient
	socket string

	mu    sync.Mutex
	fault setFault
}

// setFault answers a Set in place of the real server, or by pass, which passes it on. nil passes all on.
type setFault func(ctx context.Context, r *gpb.SetRequest, pass func() error) error

// front serves a front of a server until the test ends.
func (s *server) front(t *testing.T) *between {
	t.Helper()
	b := &between{to: s.client(), socket: filepath.Join(s.dir, "front.sock")}
	l, err := net.Listen("unix", b.socket)
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer()
	gpb.RegisterGNMIServer(g, b)
	done := make(chan struct{})
	go func() { defer close(done); _ = g.Serve(l) }()
	t.Cleanup(func() { g.Stop(); <-done })
	return b
}

// set replaces the fault.
func (b *between) set(f setFault) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fault = f
}

// Subscribe passes one question on, and its answer back.
func (b *between) Subscribe(stream grpc.BidiStreamingServer[gpb.SubscribeRequest, gpb.SubscribeResponse]) error {
	r, err := stream.Recv()
	if err != nil {
		return err
	}
	real, err := b.to.Subscribe(stream.Context())
	if err != nil {
		return err
	}
	if err := real.Send(r); err != nil {
		return err
	}
	for {
		answer, err := real.Recv()
		if err != nil {
			return err
		}
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
}

// Set passes a Set on, unless there is a fault.
func (b *between) Set(ctx context.Context, r *gpb.SetRequest) (*gpb.SetResponse, error) {
	b.mu.Lock()
	fault := b.fault
	b.mu.Unlock()
	answer := &gpb.SetResponse{}
	pass := func() (err error) {
		answer, err = b.to.Set(ctx, r)
		return err
	}
	if fault == nil {
		return answer, pass()
	}
	if err := fault(ctx, r, pass); err != nil {
		return nil, err
	}
	return answer, nil
}

// action returns the action of the commit extension of a Set: begin, confirm, cancel, or "".
func action(r *gpb.SetRequest) string {
	for _, e := range r.GetExtension() {
		switch e.GetCommit().GetAction().(type) {
		case *gnmi_ext.Commit_Commit:
			return "begin"
		case *gnmi_ext.Commit_Confirm:
			return "confirm"
		case *gnmi_ext.Commit_Cancel:
			return "cancel"
		}
	}
	return ""
}
