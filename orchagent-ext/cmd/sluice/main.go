// SPDX-License-Identifier: Apache-2.0

//go:build !manual

// Command sluice is the tool of operators and engineers: package cli has its commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"sluice/orchagent-ext/cli"
)

// version is set at build time.
var version = "dev"

// main exits with the code of [cli.Run].
func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(cli.Run(ctx, version, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
