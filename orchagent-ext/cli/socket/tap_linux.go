// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Tap is a packet socket that receives every frame of devices, in both directions, those
// for other hosts included. It only receives.
type Tap struct {
	ctx     context.Context
	file    *os.File
	buf     []byte
	oob     [256]byte
	names   names
	devices []int // interface indexes; nil: all
	lost    uint64
	stop    func() bool
}

// Sizes of a tap, and bits of its control messages (linux/if_packet.h).
const (
	tapBuffer   = 16 << 20 // octets that wait in the kernel
	longestTap  = 1 << 18  // of a frame, as of those in captures
	vlanTagLen  = 4
	addressesAt = 12 // the VLAN tag is after both MAC addresses

	// Of struct tpacket_auxdata.
	statusVLANValid = 1 << 4
	statusTPIDValid = 1 << 6
	auxLen          = 20
)

// OpenTap opens a tap on devices in promiscuous mode; without any on all devices as they
// are. It also joins groups on those devices. Receive fails once ctx ends.
func OpenTap(ctx context.Context, devices []string, groups ...[6]byte) (*Tap, error) {
	t := &Tap{ctx: ctx, buf: make([]byte, longestTap), names: names{}}
	to := &unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ALL)}
	for _, device := range devices {
		i, err := net.InterfaceByName(device)
		if err != nil {
			return nil, fmt.Errorf("device %s: %w", device, err)
		}
		t.devices = append(t.devices, i.Index)
	}
	if len(t.devices) == 1 {
		to.Ifindex = t.devices[0]
	}
	fd, err := open(unix.AF_PACKET, 0) // reception begins with bind
	if err != nil {
		return nil, err
	}
	t.file = os.NewFile(uintptr(fd), "packet socket")
	t.stop = context.AfterFunc(ctx, func() { _ = t.file.SetReadDeadline(time.Unix(1, 0)) })
	if err := t.prepare(fd, to, groups); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// prepare sets the options of the socket, binds it to a device or to all of them, and
// joins the groups. PACKET_AUXDATA has the VLAN tag that the kernel takes out of a frame.
func (t *Tap) prepare(fd int, to *unix.SockaddrLinklayer, groups [][6]byte) error {
	for _, option := range []struct {
		name          string
		level, option int
	}{
		{"PACKET_AUXDATA", unix.SOL_PACKET, unix.PACKET_AUXDATA},
		{"SO_TIMESTAMPNS", unix.SOL_SOCKET, unix.SO_TIMESTAMPNS},
	} {
		if err := unix.SetsockoptInt(fd, option.level, option.option, 1); err != nil {
			return os.NewSyscallError("setsockopt "+option.name, err)
		}
	}
	// Without CAP_NET_ADMIN the buffer keeps its size.
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, tapBuffer)
	for _, device := range t.devices {
		join := []unix.PacketMreq{{Type: unix.PACKET_MR_PROMISC}}
		for _, g := range groups {
			m := unix.PacketMreq{Type: unix.PACKET_MR_MULTICAST, Alen: uint16(len(g))}
			copy(m.Address[:], g[:])
			join = append(join, m)
		}
		for i := range join {
			join[i].Ifindex = int32(device)
			if err := unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &join[i]); err != nil {
				return os.NewSyscallError("setsockopt PACKET_ADD_MEMBERSHIP", err)
			}
		}
	}
	return os.NewSyscallError("bind", unix.Bind(fd, to))
}

// Receive returns the next frame. before is called where it has to be waited for. It
// returns the context's error once that has ended.
func (t *Tap) Receive(before func()) (Passing, error) {
	conn, err := t.file.SyscallConn()
	if err != nil {
		return Passing{}, err
	}
	for {
		var n, oobn int
		var from unix.Sockaddr
		var readErr error
		err := conn.Read(func(fd uintptr) bool {
			n, oobn, _, from, readErr = unix.Recvmsg(int(fd), t.buf[vlanTagLen:], t.oob[:], unix.MSG_TRUNC)
			if errors.Is(readErr, unix.EAGAIN) {
				before()
				return false
			}
			return true
		})
		if t.ctx.Err() != nil {
			return Passing{}, t.ctx.Err()
		}
		if errors.Is(readErr, unix.EINTR) {
			continue
		}
		if errors.Is(readErr, unix.ENETDOWN) {
			continue // a device went down: it may come back
		}
		if err := errors.Join(err, os.NewSyscallError("recvmsg", readErr)); err != nil {
			return Passing{}, err
		}
		link, ok := from.(*unix.SockaddrLinklayer)
		if !ok || t.devices != nil && !slices.Contains(t.devices, link.Ifindex) {
			continue
		}
		// A packet on the loopback device passes the socket twice, when it is sent and when it
		// is received. Only the second counts.
		outgoing := link.Pkttype == unix.PACKET_OUTGOING
		if outgoing && link.Hatype == unix.ARPHRD_LOOPBACK {
			continue
		}
		p := Passing{Length: n, Index: link.Ifindex, Frame: Frame{Device: t.names.of(link.Ifindex), Time: time.Now()}, Outgoing: outgoing}
		p.Data = t.buf[vlanTagLen:][:min(n, len(t.buf)-vlanTagLen)]
		switch link.Hatype {
		case unix.ARPHRD_ETHER, unix.ARPHRD_LOOPBACK:
			p.Kind = Ethernet
		case unix.ARPHRD_NONE:
			p.Kind = IP
		}
		t.beside(&p, t.oob[:oobn])
		return p, nil
	}
}

// beside reads the control messages of a frame: its time, and the VLAN tag that the
// kernel removed, which it puts back (packet(7), PACKET_AUXDATA).
func (t *Tap) beside(p *Passing, oob []byte) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return
	}
	for _, m := range messages {
		switch {
		case m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPNS && len(m.Data) >= int(unsafe.Sizeof(unix.Timespec{})):
			ts := (*unix.Timespec)(unsafe.Pointer(&m.Data[0]))
			p.Time = time.Unix(ts.Unix())
		case m.Header.Level == unix.SOL_PACKET && m.Header.Type == unix.PACKET_AUXDATA && len(m.Data) >= auxLen:
			status, tci, tpid := binary.NativeEndian.Uint32(m.Data), binary.NativeEndian.Uint16(m.Data[16:]), binary.NativeEndian.Uint16(m.Data[18:])
			if status&statusVLANValid == 0 || p.Kind != Ethernet || len(p.Data) < addressesAt {
				continue
			}
			if status&statusTPIDValid == 0 {
				tpid = unix.ETH_P_8021Q
			}
			copy(t.buf, p.Data[:addressesAt])
			binary.BigEndian.PutUint16(t.buf[addressesAt:], tpid)
			binary.BigEndian.PutUint16(t.buf[addressesAt+2:], tci)
			p.Data, p.Length = t.buf[:len(p.Data)+vlanTagLen], p.Length+vlanTagLen
		}
	}
}

// Lost returns the number of frames that the kernel dropped for want of room.
func (t *Tap) Lost() uint64 {
	conn, err := t.file.SyscallConn()
	if err != nil {
		return t.lost
	}
	_ = conn.Control(func(fd uintptr) {
		// which sets them to 0
		if stats, err := unix.GetsockoptTpacketStats(int(fd), unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
			t.lost += uint64(stats.Drops)
		}
	})
	return t.lost
}

// Close closes the socket.
func (t *Tap) Close() {
	t.stop()
	_ = t.file.Close()
}
