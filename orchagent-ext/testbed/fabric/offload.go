// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// LikeWire makes an interface of the thread's namespace like a wire's end: the kernel fills checksums in before a frame
// leaves (segmentation offload goes with it), and frames are received in the order in which they
// were sent. With GRO a veth receives by NAPI, one context at a time; without it each CPU has a
// backlog of its own, and frames sent by two CPUs overtake each other. GRO leaves packets of
// RoCEv2 as they are.
func LikeWire(name string) error {
	if err := setOffload(name, unix.ETHTOOL_STXCSUM, 0); err != nil {
		return fmt.Errorf("turn checksum offload of %s off: %w", name, err)
	}
	if err := setOffload(name, unix.ETHTOOL_SGRO, 1); err != nil {
		return fmt.Errorf("turn GRO of %s on: %w", name, err)
	}
	return nil
}

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
