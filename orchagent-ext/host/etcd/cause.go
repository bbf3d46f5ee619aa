// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"crypto/tls"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Cause keeps the reason why the last request failed. The etcd client's error is a
// timeout even where the certificates of all members are untrusted, and a member that
// refuses this node's certificate closes the connection without a reason.
type Cause struct {
	mu   sync.Mutex
	last string

	cert string    // file of this node's certificate, or ""
	ends time.Time // when that expires
}

// using sets the certificate that this node has shown since.
func (c *Cause) using(file string, identity *tls.Config) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cert = ""
	if identity != nil && len(identity.Certificates) > 0 {
		c.cert, c.ends = file, identity.Certificates[0].Leaf.NotAfter
	}
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

// Add appends the cause to the error, if it is known; nil stays nil.
func (c *Cause) Add(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil && c.last != "" {
		err = fmt.Errorf("%w (%s)", err, c.last)
	}
	if err != nil && c.cert != "" && time.Now().After(c.ends) {
		err = fmt.Errorf("etcd_cert_file %s expired at %s: %w", c.cert, c.ends.UTC().Format(time.RFC3339), err)
	}
	return err
}
