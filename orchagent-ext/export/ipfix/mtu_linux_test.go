// SPDX-License-Identifier: Apache-2.0

package ipfix_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"sluice/orchagent-ext/export/ipfix"
	"sluice/orchagent-ext/testbed/ipfixtest"
)

const insideVariable = "SLUICE_TEST_NAMESPACE"

// TestKernelKnowsASmallerMTU: messages fit the MTU that the kernel knows of, and
// when it becomes smaller the session restarts with shorter ones. The test
// runs itself in a network namespace, which ends with it.
func TestKernelKnowsASmallerMTU(t *testing.T) {
	if os.Getenv(insideVariable) == "" {
		if os.Getuid() != 0 {
			t.Skip("needs root for a network namespace")
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKernelKnowsASmallerMTU$", "-test.count=1")
		cmd.Env = append(os.Environ(), insideVariable+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	mtu := func(mtu string) {
		t.Helper()
		if out, err := exec.Command("ip", "link", "set", "lo", "up", "mtu", mtu).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	longest := func(d *ipfixtest.Decoder) (n int) {
		for _, length := range d.Lengths {
			n = max(n, length)
		}
		return n
	}
	mtu("900")
	collector := ipfixtest.Listen(t, "udp", "127.0.0.1:0", nil)
	e, _ := start(t, ipfix.Config{Collectors: []ipfix.Collector{{Address: collector.Addr, PathMTU: 9000}}})
	e.Export(numbered(100))
	collector.WaitRecords(t, 100)
	mtu("600")
	e.Export(numbered(100))
	collector.WaitRecords(t, 200)
	collector.Look(func(s []*ipfixtest.Decoder) {
		if len(s) != 2 || longest(s[0]) > 900-28 || longest(s[0]) < 700 || longest(s[1]) > 600-28 || len(s[1].Gaps) > 0 || s[1].Unknown > 0 {
			t.Errorf("%d sessions, messages of up to %d and %d octets", len(s), longest(s[0]), longest(s[len(s)-1]))
		}
	})
}
