// SPDX-License-Identifier: Apache-2.0

//go:build !manual

// Command sluice-lab is the laboratory: package lab has its commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"sluice/orchagent-ext/testbed/lab"
)

// version is set at build time.
var version = "dev"

// main exits with the code of [lab.Run].
func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(lab.Run(ctx, version, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
