// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// recent is for how long after a change of a netdev its author is taken for that of a loss there.
const recent = 3 * time.Second

// author is who changed a netdev last.
type author struct {
	who string
	at  time.Time
}

// news are changes of netdevs, their qdiscs and filters, by rtnetlink.
type news struct {
	socket  *os.File
	changed chan struct{} // of one element

	mu      sync.Mutex
	authors map[string]author // by index; of netdevs that are gone by name
}

// subscribe listens in the network namespace of the calling thread.
func subscribe() (*news, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: unix.RTMGRP_LINK | unix.RTMGRP_TC}); err != nil {
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("bind", err)
	}
	n := &news{socket: os.NewFile(uintptr(fd), "netlink"), changed: make(chan struct{}, 1), authors: map[string]author{}}
	go n.run()
	return n, nil
}

func (n *news) close() { _ = n.socket.Close() }

// run reads until the socket is closed. Messages that were lost are news, too.
func (n *news) run() {
	b := make([]byte, 1<<16)
	for {
		size, err := n.socket.Read(b)
		if err != nil && !isOverrun(err) {
			return
		}
		if messages, err := syscall.ParseNetlinkMessage(b[:max(size, 0)]); err == nil {
			for i := range messages {
				n.note(&messages[i])
			}
		}
		select {
		case n.changed <- struct{}{}:
		default:
		}
	}
}

// isOverrun reports whether the socket was full.
func isOverrun(err error) bool { return errors.Is(err, unix.ENOBUFS) }

// note keeps the author of a change.
func (n *news) note(m *syscall.NetlinkMessage) {
	const ifindexAt = 4 // in ifinfomsg and tcmsg
	pid := process(m.Header.Pid)
	if pid == 0 || pid == os.Getpid() || len(m.Data) < ifindexAt+4 {
		return // of the kernel, or what Sluice put back
	}
	key := fmt.Sprint(binary.NativeEndian.Uint32(m.Data[ifindexAt:]))
	if m.Header.Type == unix.RTM_DELLINK { // its index means nothing any longer
		key = nameOf(m)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.authors) > 4096 {
		clear(n.authors)
	}
	n.authors[key] = author{who(pid), time.Now()}
}

// nameOf returns the name of the netdev that a message is about; "": it has none.
func nameOf(m *syscall.NetlinkMessage) string {
	attributes, err := syscall.ParseNetlinkRouteAttr(m)
	if err != nil {
		return ""
	}
	for _, a := range attributes {
		if a.Attr.Type == unix.IFLA_IFNAME {
			return strings.TrimRight(string(a.Value), "\x00")
		}
	}
	return ""
}

// process returns the id of the process behind a port of netlink; 0: it is unknown. The port of a
// process's first socket is its id; libnl numbers the others above that, and the kernel gives them
// negative ports of no meaning.
func process(port uint32) int {
	const idBits = 22 // PID_MAX_LIMIT of the kernel, and pid_limit of libnl
	if int32(port) < 0 {
		return 0
	}
	return int(port & (1<<idBits - 1))
}

// who names a process.
func who(pid int) string {
	if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil {
		return fmt.Sprintf("%s (pid %d)", strings.TrimSpace(string(name)), pid)
	}
	return fmt.Sprintf("pid %d, which has ended", pid)
}

// by returns who changed a netdev a moment before; "": unknown.
func (n *news) by(netdev string, now time.Time) string {
	key := netdev
	if link, err := net.InterfaceByName(netdev); err == nil {
		key = fmt.Sprint(link.Index)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if a := n.authors[key]; now.Sub(a.at) < recent {
		return a.who
	}
	return ""
}
