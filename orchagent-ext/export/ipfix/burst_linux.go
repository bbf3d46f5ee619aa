// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"encoding/binary"
	"errors"
	"net"
	"unsafe"

	"golang.org/x/sys/unix"
)

// control is the control message by which the kernel cuts octets into datagrams (UDP_SEGMENT, Linux 4.18).
type control struct {
	head unix.Cmsghdr
	size [8]byte // of a datagram, 16 bits in the machine's order, and padding
}

// write writes octets as datagrams of size octets each; the last may be shorter.
func (c *control) write(u *net.UDPConn, octets []byte, size int) error {
	c.head.Level, c.head.Type = unix.SOL_UDP, unix.UDP_SEGMENT
	c.head.SetLen(unix.CmsgLen(2))
	binary.NativeEndian.PutUint16(c.size[:], uint16(size))
	all := unsafe.Slice((*byte)(unsafe.Pointer(c)), unix.CmsgSpace(2)) // the two fields follow one another
	_, _, err := u.WriteMsgUDP(octets, all, nil)
	return err
}

// unsegmented reports whether the kernel does not cut octets into datagrams here: it is too old, the device lacks
// checksums, or the datagrams exceed its MTU.
func unsegmented(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EIO) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOPROTOOPT)
}
