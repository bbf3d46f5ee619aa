// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestNewsNameTheAuthor: a qdisc that goes is news, with the process that took it away.
func TestNewsNameTheAuthor(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root for a network namespace")
	}
	runtime.LockOSThread() // for good: the namespace ends with the thread
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skip("needs a network namespace:", err)
	}
	run := func(command string) {
		t.Helper()
		words := strings.Fields(command)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
	}
	run("ip link add near type veth peer name far")
	n, err := subscribe()
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	run("tc qdisc add dev near clsact")
	for deadline := time.Now().Add(time.Minute); !strings.Contains(n.by("near", time.Now()), "pid "); {
		select {
		case <-n.changed:
		case <-time.After(time.Until(deadline)):
			t.Fatal("no news of the qdisc")
		}
	}
	if who := n.by("far", time.Now()); who != "" {
		t.Errorf("%s is the author of a change that was none", who)
	}
	if who := n.by("near", time.Now().Add(recent)); who != "" {
		t.Errorf("%s is the author long after", who)
	}
}
