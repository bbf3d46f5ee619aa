// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"syscall"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
)

// The server's counters are in COUNTERS_DB while it runs.
func TestServerShowsItsCounters(t *testing.T) {
	s, ca := secure(t, "--max-streams", "1", "--max-sessions", "2", "--max-stall", "100ms")
	ctx := limited(t)
	shown := func(name, want string) {
		t.Helper()
		s.eventually(name+" is "+want, func() bool {
			all, err := s.counter.Read(ctx, "SLUICE_GNMI_STATS")
			return err == nil && len(all) == 1 && all[0].Key == "global" && all[0].Fields[name] == want
		})
	}
	c := s.client()
	shown("sets", "0")
	if _, err := c.Set(ctx, algorithm("crc32", nil)); err != nil {
		t.Fatal(err)
	}
	shown("sets", "1")
	shown("sessions", "1")
	_, err := c.Set(ctx, algorithm("md5", nil))
	fails(t, "a wrong value", err, codes.InvalidArgument)
	shown("sets_refused", "1")
	fails(t, "a wrong password", capabilities(as(ctx, "alice", "alice"), s.tls(ca.trust())), codes.Unauthenticated)
	shown("clients_refused", "1")
	fails(t, "a second connection", capabilities(ctx, s.client()), codes.OK)
	fails(t, "a third connection", capabilities(ctx, s.client()), codes.Unavailable)
	shown("sessions_refused", "1")
	shown("sessions", "2")

	if err := s.state.Write(ctx, flows(3000, 0)...); err != nil { // more than gRPC takes ahead
		t.Fatal(err)
	}
	s.eventually("the rows are seen", func() bool {
		got, err := c.Get(ctx, &gpb.GetRequest{Path: []*gpb.Path{path("/sonic-sluice-state/SLUICE_FLOW/*/rate_mbps")}, Encoding: gpb.Encoding_PROTO})
		return err == nil && len(got.Notification[0].Update) == 3000
	})
	stalled := s.subscribeWith(c, list(gpb.SubscriptionList_STREAM, on("/sonic-sluice-state/SLUICE_FLOW", gpb.SubscriptionMode_ON_CHANGE)))
	shown("streams_slow", "1")
	shown("streams", "0")
	fails(t, "the stalled client", stalled.fails(), codes.ResourceExhausted)

	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.process.Wait(); err != nil {
		t.Error(err)
	}
	if all, err := s.counter.Read(ctx, "SLUICE_GNMI_STATS"); err != nil || len(all) > 0 {
		t.Errorf("after the server has ended: %v, %v", all, err)
	}
}
