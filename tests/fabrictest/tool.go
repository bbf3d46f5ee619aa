// SPDX-License-Identifier: Apache-2.0

package fabrictest

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"sluice/orchagent-ext/testbed/fabric"
)

// AsTool is the environment variable that makes a test binary the program that it tests: its
// TestMain runs that where the variable is set.
const AsTool = "SLUICE_TEST_AS_TOOL"

// Hosts are two hosts with a program, the test binary.
type Hosts struct {
	Program string
	A, B    *fabric.Interface
}

// NewHosts sets [AsTool] for the test.
func NewHosts(t *testing.T, a, b *fabric.Interface) Hosts {
	t.Helper()
	t.Setenv(AsTool, "1")
	return Hosts{Program: os.Args[0], A: a, B: b}
}

// Run runs a command on a host to its end, and returns all that it printed.
func (Hosts) Run(host *fabric.Interface, args ...string) (output string, err error) {
	var out strings.Builder
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &out
	p, err := host.Node.Start(cmd)
	if err == nil {
		err = p.Wait()
	}
	return out.String(), err
}
