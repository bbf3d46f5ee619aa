// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// threadPriority is the SCHED_FIFO priority of the threads that receive: below those of a
// switch.
const threadPriority = 5

// GoFirst gives the calling goroutine a thread of its own that goes before all others, where
// this process may give it the priority: else a busy machine delays it. The goroutine waits
// by calls of the kernel, since Go's timers are of other threads. The thread ends with it.
func GoFirst() {
	runtime.LockOSThread() // locked to the end: the thread ends with its priority
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: threadPriority}, 0)
}

// ErrNoThreads is the error of a kernel that cannot receive by threads.
var ErrNoThreads = errors.New("this kernel has no threads that receive")

// ThreadReceive gives each of the node's interfaces a kernel thread that receives
// its packets (threaded NAPI). It is as with hardware that forwards beside the
// CPU: the sender of a packet is spared the receiver's work, and a switch's
// real-time thread waits for a few packets at most. One thread receives all
// packets of an interface, so they stay in order.
//
// The threads have real-time priority where the kernel (Linux 6.8) names them,
// and this process has the right to set it.
func (n *Node) ThreadReceive() error {
	if err := n.sysfs(threadAll); err != nil {
		return fmt.Errorf("receive by threads in %s: %w", n.Name, err)
	}
	pids, _ := n.receivers()
	for _, pid := range pids {
		// The number is that in the first PID namespace, which may be another.
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if err == nil && strings.HasPrefix(string(name), "napi/") {
			_ = unix.SchedSetAttr(int(pid), &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: threadPriority}, 0)
		}
	}
	return nil
}

// ReceiveInOrder has one thread, or where the kernel has none (before Linux 5.12) one CPU, receive
// all packets of an interface: else CPUs that forward to each other may swap packets that came by
// two ways, such as held ones and others.
func (n *Node) ReceiveInOrder() error {
	err := n.ThreadReceive()
	if errors.Is(err, ErrNoThreads) {
		err = n.SteerReceive()
	}
	return err
}

// threadAll gives each interface of this namespace a thread.
func threadAll() error {
	interfaces, err := filepath.Glob("/sys/class/net/*")
	if err != nil {
		return err
	}
	for _, i := range interfaces {
		name := filepath.Base(i)
		if name == "lo" {
			continue
		}
		switch err := os.WriteFile(filepath.Join(i, "threaded"), []byte("1"), 0); {
		case errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
			return ErrNoThreads
		case errors.Is(err, unix.EOPNOTSUPP): // a switch's own, such as a TAP
		case err != nil:
			return err
		}
	}
	return nil
}

// Of linux/netdev.h.
const (
	netdevFamily  = "netdev"
	napiGet       = 11
	napiInterface = 1
	napiPid       = 4
)

// receivers are the threads of the node's interfaces.
func (n *Node) receivers() (pids []uint32, err error) {
	family, err := n.netlink.GenlFamilyGet(netdevFamily)
	if err != nil {
		return nil, err
	}
	links, err := n.netlink.LinkList()
	if err != nil {
		return nil, err
	}
	err = n.Do(func() error {
		for _, link := range links {
			// One interface at a time, since the library stops reading after the first answer
			// of this family.
			request := nl.NewNetlinkRequest(int(family.ID), unix.NLM_F_DUMP)
			request.AddData(&nl.Genlmsg{Command: napiGet, Version: 1})
			request.AddData(nl.NewRtAttr(napiInterface, nl.Uint32Attr(uint32(link.Attrs().Index))))
			answers, err := request.Execute(unix.NETLINK_GENERIC, 0)
			if err != nil {
				return err
			}
			for _, a := range answers {
				attributes, err := nl.ParseRouteAttr(a[nl.SizeofGenlmsg:])
				if err != nil {
					return err
				}
				for _, a := range attributes {
					if a.Attr.Type == napiPid && len(a.Value) == 4 {
						pids = append(pids, nl.NativeEndian().Uint32(a.Value))
					}
				}
			}
		}
		return nil
	})
	return pids, err
}
