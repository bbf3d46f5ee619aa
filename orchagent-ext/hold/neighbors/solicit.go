// SPDX-License-Identifier: Apache-2.0

package neighbors

import (
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// solicit makes the routers on a port's link known to the kernel: an echo request to all
// routers makes them resolve this node's address, and so the kernel learns theirs. The
// kernel then asks those that it has learned itself, since only their answer shows that
// they are routers (the R flag of a neighbor advertisement).
func (w *Watcher) solicit(handle *netlink.Handle, p Port) error {
	known, err := handle.NeighList(int(p.Index), unix.AF_INET6)
	if err != nil {
		return fmt.Errorf("list neighbors: %w", err)
	}
	for _, n := range known {
		if n.IP.IsLinkLocalUnicast() && n.State&(netlink.NUD_STALE|netlink.NUD_NOARP) == netlink.NUD_STALE {
			// The kernel sends to a stale neighbor at once, and checks it soon.
			_ = handle.NeighSet(&netlink.Neigh{LinkIndex: int(p.Index), Family: unix.AF_INET6, IP: n.IP, HardwareAddr: n.HardwareAddr,
				State: netlink.NUD_PROBE, Flags: netlink.NTF_USE}) // it may have gone meanwhile
		}
	}
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_ICMPV6)
	if err != nil {
		return fmt.Errorf("open a raw socket (CAP_NET_RAW): %w", err)
	}
	defer func() { _ = unix.Close(fd) }()    // nothing is read from it
	echo := []byte{128, 0, 0, 0, 0, 0, 0, 0} // the kernel sets the checksum
	to := &unix.SockaddrInet6{ZoneId: p.Index, Addr: [16]byte{0xff, 0x02, 15: 2}}
	if err := unix.Sendto(fd, echo, 0, to); err != nil {
		return fmt.Errorf("send to all routers: %w", err)
	}
	return nil
}
