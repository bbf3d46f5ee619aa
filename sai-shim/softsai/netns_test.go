// SPDX-License-Identifier: Apache-2.0

package softsai_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	testbed "sluice/orchagent-ext/testbed/fabric"
)

// enterNamespace gives the test a network namespace of its own. It is the calling
// thread's, which is never unlocked: the namespace ends with the thread.
func enterNamespace(t testing.TB) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root for a network namespace and BPF")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("needs iproute2:", err)
	}
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skip("needs a network namespace:", err)
	}
}

// ip hands lines to iproute2.
func ip(t testing.TB, lines ...string) {
	t.Helper()
	cmd := exec.Command("ip", "-batch", "-")
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("ip -batch: %v: %s", err, out)
	}
}

// link makes a pair of netdevs that are up, without neighbor discovery: a frame
// sent on near comes in by far, and the reverse.
func link(t testing.TB, near, far string) {
	t.Helper()
	linkAs(t, near, "", far)
}

// linkAs is link with options for near, such as its index.
func linkAs(t testing.TB, near, options, far string) {
	t.Helper()
	ip(t, fmt.Sprintf("link add name %s %s address 02:00:00:00:00:01 arp off type veth peer name %s address 02:00:00:00:00:02", near, options, far),
		"link set "+near+" up", "link set "+far+" up")
	for _, end := range []string{near, far} { // else packets of two CPUs overtake each other in the test's own link
		if err := testbed.LikeWire(end); err != nil {
			t.Fatal(err)
		}
	}
}

func sysctl(t testing.TB, name string, value int) {
	t.Helper()
	if err := os.WriteFile("/proc/sys/net/"+name, []byte(strconv.Itoa(value)), 0); err != nil {
		t.Fatal(err)
	}
}

func readSysctl(t *testing.T, name string) int {
	t.Helper()
	text, err := os.ReadFile("/proc/sys/net/" + name)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

func ifindex(t testing.TB, name string) int {
	t.Helper()
	i, err := net.InterfaceByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return i.Index
}

// wire is a packet socket of the namespace that sees every netdev.
type wire struct {
	t  testing.TB
	fd int
}

func openWire(t testing.TB) *wire {
	t.Helper()
	all := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ALL))
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, int(all))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	patience := unix.NsecToTimeval((100 * time.Millisecond).Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &patience); err != nil {
		t.Fatal(err)
	}
	return &wire{t, fd}
}

// send sends a frame. Where the link or the socket has no room for it, it is sent again until it has.
func (w *wire) send(index int, frame []byte) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		err := unix.Sendto(w.fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: index})
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if errors.Is(err, unix.ENOBUFS) && time.Now().Before(deadline) {
			runtime.Gosched()
			continue
		}
		if err != nil {
			w.t.Fatal(err)
		}
		return
	}
}

// receive returns the next frame that came in, and where; ok is false when none
// came for a while.
func (w *wire) receive() (index int, frame []byte, ok bool) {
	w.t.Helper()
	buf := make([]byte, 4096)
	for {
		n, from, err := unix.Recvfrom(w.fd, buf, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if errors.Is(err, unix.EAGAIN) {
			return 0, nil, false
		}
		if err != nil {
			w.t.Fatal(err)
		}
		if ll, isLink := from.(*unix.SockaddrLinklayer); isLink && ll.Pkttype != unix.PACKET_OUTGOING {
			return ll.Ifindex, buf[:n], true
		}
	}
}
