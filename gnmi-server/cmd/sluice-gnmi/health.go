// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// healthPatience is for how long the server may take to answer.
const healthPatience = 5 * time.Second

// checkHealth asks the server at a unix socket whether it serves, which it does while
// the databases answer.
func checkHealth(ctx context.Context, socket string) error {
	ctx, stop := context.WithTimeout(ctx, healthPatience)
	defer stop()
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	answer, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		return fmt.Errorf("ask for the health at %s: %w", socket, err)
	}
	if answer.Status != healthpb.HealthCheckResponse_SERVING {
		return fmt.Errorf("the server at %s is %v: do the databases answer?", socket, answer.Status)
	}
	return nil
}
