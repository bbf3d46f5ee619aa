// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/testbed/fabric"
)

// forgedAMs is how many messages are forged in a millisecond.
const forgedAMs = 100

// message returns a frame with a PFCM (draft-yang) from a neighbor that asks the switch at a port to
// pause a stream for 40 ms.
func message(port, neighbor *fabric.Interface, src netip.Addr, hopLimit byte, stream uint16) []byte {
	const size = 44
	b := make([]byte, atIP+40+size)
	copy(b, port.MAC)
	copy(b[6:], neighbor.MAC)
	binary.BigEndian.PutUint16(b[12:], etherIPv6)
	ip := b[atIP:]
	ip[0], ip[5], ip[6], ip[7] = 6<<4, size, protocolICMPv6, hopLimit
	from, to := src.As16(), port.LinkLocal.As16()
	copy(ip[8:], from[:])
	copy(ip[24:], to[:])
	m := ip[40:]
	m[0] = 200
	binary.BigEndian.PutUint16(m[6:], stream)
	m[9] = 1 << 6
	binary.BigEndian.PutUint16(m[10:], 40_000)
	dst, victim := fabric.HostB.Addr().As16(), fabric.HostA.Addr().As16()
	copy(m[12:], dst[:])
	copy(m[28:], victim[:])
	sum := uint32(size + protocolICMPv6)
	for i := 8; i < len(ip); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	sum = sum>>16 + sum&0xffff
	binary.BigEndian.PutUint16(m[2:], ^uint16(sum+sum>>16))
	return b
}

// damage makes a message's checksum wrong.
func damage(frame []byte) []byte {
	frame[atIP+40+2] ^= 1
	return frame
}

// forge sends messages that a switch is not to obey in by a port until a time: routed ones, such of
// another node on the link, of a host, and damaged ones.
func forge(port *fabric.Interface, until time.Time) error {
	neighbor := port.Peer()
	frames := [][]byte{
		message(port, neighbor, neighbor.LinkLocal, 64, 1), message(port, neighbor, netip.MustParseAddr("fe80::bad"), 255, 2),
		message(port, neighbor, fabric.HostB.Addr(), 255, 3), damage(message(port, neighbor, neighbor.LinkLocal, 255, 4)),
	}
	sender, err := neighbor.Sender()
	if err != nil {
		return err
	}
	done := make(chan error)
	go func() {
		fabric.GoFirst()
		tick := unix.NsecToTimespec(int64(pourTick))
		begin, sent := time.Now(), 0
		var err error
		for time.Now().Before(until) && err == nil {
			for due := int(time.Since(begin).Microseconds()) * forgedAMs / 1000; sent < due && err == nil; sent++ {
				err = sender.Send(frames[sent%len(frames)])
			}
			_ = unix.Nanosleep(&tick, nil)
		}
		done <- err
	}()
	return errors.Join(<-done, sender.Close())
}
