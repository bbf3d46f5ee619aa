// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
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

// TestAuthorsAreOtherProcesses: what Sluice puts back itself has no author, by whichever of its sockets;
// nor has a change by a port of netlink that means nothing.
func TestAuthorsAreOtherProcesses(t *testing.T) {
	const index = 7
	author := func(port uint32) string {
		n := &news{authors: map[string]author{}}
		m := &syscall.NetlinkMessage{Header: syscall.NlMsghdr{Type: unix.RTM_DELQDISC, Pid: port}, Data: make([]byte, 20)}
		binary.NativeEndian.PutUint32(m.Data[4:], index)
		n.note(m)
		return n.authors[strconv.Itoa(index)].who
	}
	own, parent := uint32(os.Getpid()), uint32(os.Getppid())
	for _, port := range []uint32{0, own, own | 1<<22, own | 511<<22, 1 << 31, math.MaxUint32 - 4096} {
		if who := author(port); who != "" {
			t.Errorf("port %#x is of %s", port, who)
		}
	}
	for _, port := range []uint32{parent, parent | 3<<22} {
		if who := author(port); !strings.HasSuffix(who, fmt.Sprintf("(pid %d)", parent)) {
			t.Errorf("port %#x is of %q, want process %d", port, who, parent)
		}
	}
}
