// SPDX-License-Identifier: Apache-2.0

//go:build manual

package main

import (
	"sluice/orchagent-ext/cli"
	"sluice/orchagent-ext/cli/manual"
)

// version is set at build time.
var version = "dev"

// main, with the build tag manual, writes the manual pages of all commands.
func main() { manual.Main(cli.NewRootCommand(true), version) }
