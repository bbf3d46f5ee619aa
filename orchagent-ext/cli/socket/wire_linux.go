// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// open makes a raw socket. Its error names the capability that the process lacks.
func open(domain, protocol int) (int, error) {
	fd, err := unix.Socket(domain, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, protocol)
	if errors.Is(err, unix.EPERM) {
		return 0, errors.New("raw sockets need the capability CAP_NET_RAW: run as root, or `setcap cap_net_raw+ep` the program")
	}
	return fd, os.NewSyscallError("socket", err)
}

// IPSender sends IP packets that are complete from their header on.
type IPSender struct {
	device *net.Interface // nil: by the routes
	v4, v6 *os.File       // opened when first needed
}

// NewIPSender returns a sender out of a device; "" leaves the choice to the
// routes.
func NewIPSender(device string) (*IPSender, error) {
	if device == "" {
		return &IPSender{}, nil
	}
	i, err := net.InterfaceByName(device)
	if err != nil {
		return nil, fmt.Errorf("device %s: %w", device, err)
	}
	return &IPSender{device: i}, nil
}

// Send sends an IPv4 or IPv6 packet to the address in its header. The kernel
// sets length, checksum and, if 0, the identification of an IPv4 header.
func (s *IPSender) Send(packet []byte) error {
	if len(packet) < 20 {
		return errors.New("send: no IP header")
	}
	if packet[0]>>4 == 4 {
		to := &unix.SockaddrInet4{Addr: [4]byte(packet[16:20])}
		return s.send(&s.v4, unix.AF_INET, packet, to)
	}
	if len(packet) < 40 {
		return errors.New("send: no IPv6 header")
	}
	to := &unix.SockaddrInet6{Addr: [16]byte(packet[24:40])}
	if a := netip.AddrFrom16(to.Addr); a.IsLinkLocalUnicast() || a.IsLinkLocalMulticast() {
		if s.device == nil {
			return fmt.Errorf("send to %s: a link-local address needs a device", a)
		}
		to.ZoneId = uint32(s.device.Index)
	}
	return s.send(&s.v6, unix.AF_INET6, packet, to)
}

// send opens the raw socket of a family at its first packet and sends one packet, whose
// header is the caller's.
func (s *IPSender) send(file **os.File, domain int, packet []byte, to unix.Sockaddr) error {
	if *file == nil {
		fd, err := open(domain, unix.IPPROTO_RAW) // includes the header
		if err != nil {
			return err
		}
		*file = os.NewFile(uintptr(fd), "raw socket")
		if s.device != nil {
			if err := unix.BindToDevice(fd, s.device.Name); err != nil {
				return os.NewSyscallError("setsockopt SO_BINDTODEVICE", err)
			}
		}
	}
	return write(*file, func(fd int) error { return unix.Sendto(fd, packet, 0, to) })
}

// Close closes the sockets.
func (s *IPSender) Close() {
	for _, f := range []*os.File{s.v4, s.v6} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// write waits until the socket takes the packet.
func write(file *os.File, send func(fd int) error) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var sendErr error
	err = conn.Write(func(fd uintptr) bool {
		sendErr = send(int(fd))
		return !errors.Is(sendErr, unix.EAGAIN)
	})
	return errors.Join(err, os.NewSyscallError("sendto", sendErr))
}

// Link is a packet socket: whole frames of one device, or of all.
type Link struct {
	file  *os.File
	buf   []byte
	names names
}

// OpenLink opens a packet socket on a device; "" is every device, for receiving only. It
// receives frames to this host and to the groups; frames that this host sends are left
// out.
func OpenLink(device string, groups ...[6]byte) (*Link, error) {
	to := &unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ALL)}
	if device != "" {
		i, err := net.InterfaceByName(device)
		if err != nil {
			return nil, fmt.Errorf("device %s: %w", device, err)
		}
		to.Ifindex = i.Index
	}
	fd, err := open(unix.AF_PACKET, 0) // reception begins with bind
	if err != nil {
		return nil, err
	}
	l := &Link{os.NewFile(uintptr(fd), "packet socket"), make([]byte, 1<<16), names{}}
	if err := l.prepare(fd, to, groups); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// prepare sets the options of the socket, joins the groups and binds it.
func (l *Link) prepare(fd int, to *unix.SockaddrLinklayer, groups [][6]byte) error {
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
		return os.NewSyscallError("setsockopt PACKET_IGNORE_OUTGOING", err)
	}
	for _, g := range groups {
		if to.Ifindex == 0 {
			break // a group is joined on one device
		}
		join := &unix.PacketMreq{Ifindex: int32(to.Ifindex), Type: unix.PACKET_MR_MULTICAST, Alen: uint16(len(g))}
		copy(join.Address[:], g[:])
		if err := unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, join); err != nil {
			return os.NewSyscallError("setsockopt PACKET_ADD_MEMBERSHIP", err)
		}
	}
	return os.NewSyscallError("bind", unix.Bind(fd, to))
}

// networkOrder returns v with its octets in the order of the network, as sockaddr_ll
// wants the protocol.
func networkOrder(v uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v))
}

// Send sends a frame.
func (l *Link) Send(frame []byte) error {
	_, err := l.file.Write(frame)
	return err
}

// Receive waits for the next frame that came in for this host, one of its
// groups or all, on a device with Ethernet headers. It returns the context's error when that
// ends first; it may be called again with another context.
func (l *Link) Receive(ctx context.Context) (Frame, error) {
	if err := l.file.SetReadDeadline(time.Time{}); err != nil {
		return Frame{}, err
	}
	stop := context.AfterFunc(ctx, func() { _ = l.file.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	conn, err := l.file.SyscallConn()
	if err != nil {
		return Frame{}, err
	}
	for {
		var n int
		var from unix.Sockaddr
		var readErr error
		err = conn.Read(func(fd uintptr) bool {
			n, from, readErr = unix.Recvfrom(int(fd), l.buf, 0)
			return !errors.Is(readErr, unix.EAGAIN)
		})
		if ctx.Err() != nil {
			return Frame{}, ctx.Err()
		}
		// of an earlier call's context, set late
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if err = l.file.SetReadDeadline(time.Time{}); err == nil {
				continue
			}
		}
		if err := errors.Join(err, os.NewSyscallError("recvfrom", readErr)); err != nil {
			return Frame{}, err
		}
		link, ok := from.(*unix.SockaddrLinklayer)
		if ok && link.Pkttype != unix.PACKET_OTHERHOST && (link.Hatype == unix.ARPHRD_ETHER || link.Hatype == unix.ARPHRD_LOOPBACK) {
			return Frame{Data: l.buf[:n], Device: l.names.of(link.Ifindex), Time: time.Now()}, nil
		}
	}
}

// Close closes the socket.
func (l *Link) Close() { _ = l.file.Close() }
