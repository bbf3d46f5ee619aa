// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"net"

	"golang.org/x/sys/unix"
)

// pathMTU returns the path MTU in octets that the kernel has for a connected
// socket; 0: unknown. From then on the kernel refuses longer messages (EMSGSIZE),
// also when it learns a smaller MTU: messages must be sent unfragmented (RFC 7011
// section 10.3.3).
func pathMTU(u *net.UDPConn, v6 bool) int {
	raw, err := u.SyscallConn()
	if err != nil {
		return 0
	}
	level, name, discover, do := unix.IPPROTO_IP, unix.IP_MTU, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO
	if v6 {
		level, name, discover, do = unix.IPPROTO_IPV6, unix.IPV6_MTU, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DO
	}
	mtu := 0
	if err := raw.Control(func(fd uintptr) {
		if unix.SetsockoptInt(int(fd), level, discover, do) != nil {
			return
		}
		if v, err := unix.GetsockoptInt(int(fd), level, name); err == nil {
			mtu = v
		}
	}); err != nil {
		return 0
	}
	return mtu
}
