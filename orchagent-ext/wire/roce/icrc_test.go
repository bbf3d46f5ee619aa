// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sluice/orchagent-ext/wire/roce"
)

// plainICRC computes the ICRC bit by bit over the IP header and the datagram
// without its last 4 octets.
func plainICRC(header, datagram []byte) uint32 {
	h, d := slices.Clone(header), slices.Clone(datagram)
	masked := []int{1, 8, 10, 11} // TOS, TTL, checksum
	if h[0]>>4 == 6 {
		h[0] |= 0x0f
		masked = []int{1, 2, 3, 7} // traffic class, flow label, hop limit
	}
	for _, i := range masked {
		h[i] = 0xff
	}
	d[6], d[7], d[8+4] = 0xff, 0xff, 0xff
	crc := ^uint32(0)
	for _, octet := range slices.Concat(slices.Repeat([]byte{0xff}, 8), h, d) {
		crc ^= uint32(octet)
		for range 8 {
			if crc&1 != 0 {
				crc = crc>>1 ^ 0xedb88320
			} else {
				crc >>= 1
			}
		}
	}
	return ^crc
}

// The ICRC is that of the bit loop; extension and authentication headers do not count.
func TestICRCBitByBit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := whole.Draw(t, "packet")
		end := len(m.frame) - 4
		header := m.frame[m.ip:m.udp]
		if !m.want.Is4 {
			header = slices.Clone(header[:40])
			binary.BigEndian.PutUint16(header[4:], uint16(len(m.frame)-m.udp))
			header[6] = udp
			copy(header[24:], m.want.Dst.AsSlice())
		} else {
			header = slices.Clone(header[:4*int(header[0]&0xf)])
			binary.BigEndian.PutUint16(header[2:], uint16(len(header)+len(m.frame)-m.udp))
			header[9] = udp
		}
		want := plainICRC(header, m.frame[m.udp:end])
		if got := binary.LittleEndian.Uint32(m.frame[end:]); got != want {
			t.Errorf("ICRC %08x, bit by bit %08x, of %x", got, want, m.frame)
		}
		// what is left of others in the room for the masked headers does not count
		used := bytes.Repeat([]byte{0xa5}, 2*len(m.frame)+1024)
		again, err := roce.Finish(append(used[:0], m.frame[:end]...), m.ip)
		if err != nil || !bytes.Equal(again, m.frame) {
			t.Errorf("behind the packet was room that had been used: %x, %v, want %x", again, err, m.frame)
		}
	})
}
