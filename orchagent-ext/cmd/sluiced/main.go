// SPDX-License-Identifier: Apache-2.0

// Command sluiced is the daemon: it watches CONFIG_DB, programs the switch
// through a SAI library or through orchagent, and writes its state to STATE_DB.
// It parses the command line; package process does the rest.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"sluice/orchagent-ext/daemon/process"
	"sluice/orchagent-ext/host/files"
	"sluice/orchagent-ext/host/flags"
	"sluice/orchagent-ext/host/garbage"
	"sluice/yang/text"
)

// version is set at build time.
var version = "dev"

// main runs until SIGINT or SIGTERM, and exits with 1 after an error.
func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	garbage.Limit(ctx)
	o, err := parse(os.Args[1:], os.Getenv, os.Stderr)
	switch {
	case errors.Is(err, flags.ErrHelp):
		return
	case err == nil && o == nil:
		fmt.Println("sluiced", version)
		return
	case err == nil:
		o.Reserved = files.PathsIn(os.Environ(), "SLUICE_")
		err = process.Run(ctx, o, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "sluiced: %s\n", text.Lines(err.Error()))
		os.Exit(1)
	}
}
