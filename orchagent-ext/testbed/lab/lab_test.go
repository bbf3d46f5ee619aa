// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"os"
	"testing"

	"sluice/tests/fabrictest"
)

// TestMain runs the tests, or the program, for tests that need a process.
func TestMain(m *testing.M) {
	if os.Getenv(fabrictest.AsTool) != "" {
		os.Exit(Run(context.Background(), "test", os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}
