// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// TestGzipIsAccepted: a request that is compressed is answered, and one that would fill the
// memory is refused.
func TestGzipIsAccepted(t *testing.T) {
	AcceptGzip()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	healthpb.RegisterHealthServer(s, health.NewServer())
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	c, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.UseCompressor(gzip.Name)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	check := func(service string) error {
		_, err := healthpb.NewHealthClient(c).Check(t.Context(), &healthpb.HealthCheckRequest{Service: service}, grpc.WaitForReady(true))
		return err
	}
	if err := check(""); err != nil {
		t.Error(err)
	}
	if err := check(strings.Repeat("x", unpacked-100)); err == nil || !strings.Contains(err.Error(), "unknown service") {
		t.Errorf("within the bound: %v", err)
	}
	if err := check(strings.Repeat("x", unpacked+1)); err == nil || !strings.Contains(err.Error(), "send it without compression") {
		t.Errorf("above the bound: %v", err)
	}
}
