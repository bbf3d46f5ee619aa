// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// Connect calls use with a client for the credentials in the files. The context of use
// ends when a file changes, with that as its cause. Config is complete.
func (c *Config) Connect(ctx context.Context, why *Cause, use func(context.Context, *clientv3.Client) error) error {
	used, err := c.read()
	if err != nil {
		return err
	}
	made, err := c.client(used)
	if err != nil {
		return err
	}
	ctx, stop := c.whileFilesAre(ctx, used)
	defer stop()
	made.Context = ctx
	made.DialOptions = append(made.DialOptions, grpc.WithChainUnaryInterceptor(why.intercept))
	client, err := clientv3.New(*made) // with a user it asks etcd for a token, and fails when etcd is not there
	if err != nil {
		return why.Add(err)
	}
	defer client.Close()
	return use(ctx, client)
}
