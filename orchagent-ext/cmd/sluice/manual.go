// SPDX-License-Identifier: Apache-2.0

//go:build manual

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra/doc"
)

// main, with the build tag manual, writes the manual pages of all commands into the
// folder that it is given. The program that is shipped has no part of this.
func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run -tags manual ./orchagent-ext/cmd/sluice FOLDER")
		os.Exit(2)
	}
	cmd := newRootCommand()
	cmd.DisableAutoGenTag = true
	header := &doc.GenManHeader{Section: "1", Source: "Sluice " + version, Manual: "Sluice"}
	if err := doc.GenManTree(cmd, header, os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "write manual pages: %v\n", err)
		os.Exit(1)
	}
}
