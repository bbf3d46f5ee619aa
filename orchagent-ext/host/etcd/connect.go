// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"slices"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// Connect calls use with a client that is made of the files' contents. The context of
// use ends when the contents change, or when etcd wants a new login: its cause is the
// reason. Config is complete.
func (c *Config) Connect(ctx context.Context, why *Cause, use func(context.Context, *clientv3.Client) error) error {
	used, err := c.read()
	if err != nil {
		return err
	}
	made, err := c.client(used)
	if err != nil {
		return err
	}
	why.using(c.CertFile, made.TLS)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go c.watchFiles(ctx, used, stop)
	made.Context = ctx
	made.DialOptions = append(made.DialOptions, grpc.WithChainUnaryInterceptor(why.intercept, endWithToken(stop)))
	// with a user it asks etcd for a token, and fails when etcd is not there
	client, err := clientv3.New(*made)
	if err != nil {
		return why.Add(err)
	}
	defer client.Close()
	return use(ctx, client)
}

var errTokenRefused = errors.New("etcd refuses the token of this connection: logging in again")

// endWithToken ends a connection whose token etcd refuses. The client would log in again by itself, but
// sends its old token with that login, which a member that was restarted has forgotten, and within the time
// of the call that was refused, which a busy etcd needs to check a password: another client has
// time of its own. Other tokens are ended with where the login fails.
func endWithToken(stop context.CancelCauseFunc) grpc.UnaryClientInterceptor {
	stale := []error{rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthOldRevision, rpctypes.ErrUserEmpty}
	return func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		err := invoker(ctx, method, request, reply, conn, opts...)
		is := rpctypes.Error(err)
		if is == rpctypes.ErrInvalidAuthToken || method == etcdserverpb.Auth_Authenticate_FullMethodName && slices.Contains(stale, is) {
			stop(errTokenRefused)
		}
		return err
	}
}
