package ipfix

import (
	"net"

	"golang.org/x/sys/unix"
)

// pathMTU is the path MTU that the kernel knows of a connected socket, octets;
// 0: none.
func pathMTU(u *net.UDPConn, v6 bool) int {
	raw, err := u.SyscallConn()
	if err != nil {
		return 0
	}
	level, name := unix.IPPROTO_IP, unix.IP_MTU
	if v6 {
		level, name = unix.IPPROTO_IPV6, unix.IPV6_MTU
	}
	mtu := 0
	if err := raw.Control(func(fd uintptr) {
		if v, err := unix.GetsockoptInt(int(fd), level, name); err == nil {
			mtu = v
		}
	}); err != nil {
		return 0
	}
	return mtu
}
