// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sluice/orchagent-ext/wire/roce"
)

// Whatever lengths and checksums were before, Finish sets them right.
func TestFinishSetsLengthsAndChecksums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := whole.Draw(t, "packet")
		b := slices.Clone(m.frame[:len(m.frame)-roce.ICRCLen])
		junk := octets(t, 4)
		copy(b[m.udp+4:], junk) // length and checksum
		if m.want.Is4 {
			copy(b[m.ip+2:], junk[:2])
			copy(b[m.ip+10:], junk[2:])
		} else {
			copy(b[m.ip+4:], junk[:2])
		}
		got, err := roce.Finish(b, m.ip)
		if err != nil || !bytes.Equal(got, m.frame) {
			t.Errorf("%v: %x, want %x", err, got, m.frame)
		}
	})
}

func TestFinishErrors(t *testing.T) {
	ack := datagram(roce.RCAck, 4)
	ipv6 := frame6(udp, ack)
	for name, c := range map[string]struct {
		frame []byte
		ip    int
	}{
		"negative offset":                     {ipv6, -1},
		"offset behind the packet":            {ipv6, len(ipv6) + 1},
		"the largest offset":                  {ipv6, math.MaxInt},
		"no octet":                            {nil, 0},
		"no BTH":                              {frame6(udp, ack[:8+11]), ipAt},
		"half an IPv6 header":                 {ipv6[:ipAt+30], ipAt},
		"half an IPv4 header":                 {frame4(nil, udp, nil)[:ipAt+12], ipAt},
		"not IP":                              {make([]byte, 100), ipAt},
		"another UDP port":                    {frame6(udp, with16(ack, 2, 53)), ipAt},
		"TCP":                                 {frame4(nil, 6, ack), ipAt},
		"the outer of two IP headers":         {frame6(ipv6InIP, packet6(udp, ack)), ipAt},
		"first fragment":                      {with16(frame4(nil, udp, ack), ipAt+6, 0x2000), ipAt},
		"longer than IPv4 can say":            {frame4(nil, udp, append(ack, make([]byte, 0xffff-20-len(ack)-3)...)), ipAt},
		"options header longer than the rest": {frame6(hopByHop, []byte{udp, 9, 1, 4, 0, 0, 0, 0}), ipAt},
	} {
		got, err := roce.Finish(c.frame, c.ip)
		if _, ok := errors.AsType[*roce.Error](err); !ok && !errors.Is(err, roce.ErrNotRoCE) || len(got) != len(c.frame) {
			t.Errorf("%s: %v, and %d octets instead of %d", name, err, len(got), len(c.frame))
		}
	}
}

func TestFinishLongestPacket(t *testing.T) {
	b := frame4(nil, udp, append(datagram(roce.RCSendOnly, 0), make([]byte, 0xffff-20-8-12-4)...))
	b, err := roce.Finish(b, ipAt)
	if err != nil {
		t.Fatal(err)
	}
	var p roce.Packet
	if err := p.Parse(b, len(b)); err != nil || p.Len() != 0xffff {
		t.Errorf("%v, length %d", err, p.Len())
	}
}

// A UDP checksum that comes out 0 is sent as 0xffff: 0 would say that there is
// none.
func TestUDPChecksumIsNeverZero(t *testing.T) {
	const port = 33911 // found by trying
	b := frame4(nil, udp, with16(datagram(roce.RCSendOnly, 0), 0, port))
	b, err := roce.Finish(b, ipAt)
	if err != nil {
		t.Fatal(err)
	}
	if sum := binary.BigEndian.Uint16(b[ipAt+20+6:]); sum != 0xffff {
		t.Errorf("checksum %04x, want ffff", sum)
	}
}

func TestChecksumIsThatOfRFC1071(t *testing.T) {
	for _, c := range []struct {
		partial uint32
		b       []byte
		want    uint16
	}{
		{0, nil, 0xffff},
		{0, []byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}, 0x220d}, // RFC 1071 section 3
		{0, []byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7, 0x22, 0x0d}, 0},
		{0, []byte{0xab}, 0x54ff},
		{0x1_0001, []byte{0, 0}, 0xfffd},
		{0, bytes.Repeat([]byte{0xff}, 65535), 0x00ff},
	} {
		if got := roce.Checksum(c.partial, c.b); got != c.want {
			t.Errorf("%#x and %d octets: %04x, want %04x", c.partial, len(c.b), got, c.want)
		}
	}
}
