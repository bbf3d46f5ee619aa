// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// checksumOffloadOff makes the kernel fill checksums in before a frame leaves the
// interface; segmentation offload goes with it.
func checksumOffloadOff(name string) error { return setOffload(name, unix.ETHTOOL_STXCSUM, 0) }

// setOffload switches an offload of an interface of the thread's namespace on or off.
func setOffload(name string, command, to uint32) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	value := struct{ command, data uint32 }{command, to} // struct ethtool_value
	request := struct {                                  // struct ifreq
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
