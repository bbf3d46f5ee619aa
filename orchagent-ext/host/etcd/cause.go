// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"fmt"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Cause keeps the reason why the last request failed. The etcd client's error is a
// timeout even where the certificates of all members are untrusted.
type Cause struct {
	mu   sync.Mutex
	last string
}

// intercept is a gRPC interceptor that keeps the message of a request that timed out,
// which has the reason (such as an untrusted certificate) that the etcd client hides.
func (c *Cause) intercept(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	err := invoke(ctx, method, request, reply, conn, opts...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = ""
	if status.Code(err) == codes.DeadlineExceeded {
		c.last = status.Convert(err).Message()
	}
	return err
}

// Add appends the cause to the error, if it is known.
func (c *Cause) Add(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == "" || err == nil {
		return err
	}
	return fmt.Errorf("%w (%s)", err, c.last)
}
