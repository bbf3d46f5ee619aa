// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// checksumOffloadOff makes the kernel fill checksums in before a frame leaves the
// interface; segmentation offload goes with it.
func checksumOffloadOff(name string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	value := struct{ command, data uint32 }{unix.ETHTOOL_STXCSUM, 0} // struct ethtool_value
	request := struct {                                              // struct ifreq
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}{data: unsafe.Pointer(&value)}
	copy(request.name[:unix.IFNAMSIZ-1], name)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
	runtime.KeepAlive(&value)
	if errno != 0 {
		return errno
	}
	return nil
}
