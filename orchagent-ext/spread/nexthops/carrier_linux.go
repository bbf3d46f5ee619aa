// SPDX-License-Identifier: Apache-2.0

package nexthops

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

const (
	// skipStats is RTEXT_FILTER_SKIP_STATS of linux/rtnetlink.h.
	skipStats = 1 << 3

	// carriersAtOnce is how many netdevs one message asks for: their answers, of 2 to 4 KiB with
	// the kernel's overhead, fit in the socket's buffer of 208 KiB.
	carriersAtOnce = 32

	answerOctets = 64 << 10 // of one read
	answerFlags  = 8        // offset of the flags in struct ifinfomsg
)

// Uncarried returns those of some netdevs that have no carrier now; netdevs that do not exist are
// among them. [News] and the flags of routes can be a second late: the kernel reports carriers that
// go down at most once a second (net/core/link_watch.c, linkwatch_urgent_event), unless the netdev
// is one end of a pair with different indexes. The flag IFF_LOWER_UP is that of the driver
// (netif_carrier_ok).
//
// The kernel answers under its lock of netdevs, which others hold for some 80 ms while they remove
// namespaces. It is asked for all netdevs in one message, and so waits once.
func Uncarried(indexes []int) (down map[int]bool, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, os.NewSyscallError("netlink socket", err)
	}
	defer func() { _ = unix.Close(fd) }()
	down = map[int]bool{}
	for some := range slices.Chunk(indexes, carriersAtOnce) {
		if err := askCarriers(fd, some, down); err != nil {
			return nil, fmt.Errorf("read carriers: %w", err)
		}
	}
	return down, nil
}

// askCarriers adds those of some netdevs to down that have no carrier. The kernel has answered
// when it returns from sending.
func askCarriers(fd int, indexes []int, down map[int]bool) error {
	var requests []byte
	for seq, index := range indexes {
		request := nl.NewNetlinkRequest(unix.RTM_GETLINK, 0)
		request.Seq = uint32(seq)
		message := nl.NewIfInfomsg(unix.AF_UNSPEC)
		message.Index = int32(index)
		request.AddData(message)
		request.AddData(nl.NewRtAttr(unix.IFLA_EXT_MASK, nl.Uint32Attr(skipStats)))
		requests = append(requests, request.Serialize()...)
	}
	if err := unix.Sendto(fd, requests, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return os.NewSyscallError("send", err)
	}
	buffer := make([]byte, answerOctets)
	for answered := 0; answered < len(indexes); {
		n, _, err := unix.Recvfrom(fd, buffer, unix.MSG_DONTWAIT)
		if err != nil {
			return os.NewSyscallError("receive", err)
		}
		answers, err := syscall.ParseNetlinkMessage(buffer[:n])
		if err != nil {
			return err
		}
		for i := range answers {
			up, err := carrierOf(&answers[i])
			if err != nil {
				return err
			}
			if seq := int(answers[i].Header.Seq); !up && seq < len(indexes) {
				down[indexes[seq]] = true
			}
			answered++
		}
	}
	return nil
}

// carrierOf reads an answer: whether a netdev exists and has a carrier.
func carrierOf(m *syscall.NetlinkMessage) (up bool, err error) {
	switch {
	case m.Header.Type == unix.NLMSG_ERROR && len(m.Data) >= 4:
		if number := syscall.Errno(-int32(binary.NativeEndian.Uint32(m.Data))); !errors.Is(number, unix.ENODEV) {
			return false, number
		}
		return false, nil
	case m.Header.Type == unix.RTM_NEWLINK && len(m.Data) >= unix.SizeofIfInfomsg:
		return binary.NativeEndian.Uint32(m.Data[answerFlags:])&unix.IFF_LOWER_UP != 0, nil
	}
	return false, errShort
}
