// SPDX-License-Identifier: Apache-2.0

package link

import (
	"encoding/binary"

	"sluice/orchagent-ext/wire/roce"
)

// wifi finds LLC in an IEEE 802.11 frame at an offset. Control and management frames, data
// frames without data, encrypted ones and those that carry several (A-MSDU) are not read.
func wifi(b []byte, at int) (int, uint16) {
	const (
		headerLen, addressLen, qosLen, controlLen = 24, 6, 2, 4
		data                                      = 2
		noData, qos                               = 4, 8 // bits of the subtype
		both                                      = 3    // to and from the distribution system
		protected, order                          = 0x40, 0x80
		several                                   = 0x80 // in the QoS control field
	)
	if at+headerLen > len(b) {
		return at + headerLen, 0
	}
	control, flags := b[at], b[at+1]
	kind, subtype := control>>2&3, control>>4
	if kind != data || subtype&noData != 0 || flags&protected != 0 {
		return 0, None
	}
	length := at + headerLen
	if flags&both == both {
		length += addressLen
	}
	if subtype&qos != 0 {
		if length+qosLen > len(b) {
			return length + qosLen, 0
		}
		if b[length]&several != 0 {
			return 0, None
		}
		length += qosLen
		if flags&order != 0 {
			length += controlLen
		}
	}
	return length, roce.EtherTypeLLC
}

// prism finds the IEEE 802.11 frame behind a header of the Prism or the AVS form; the first 8
// octets are there.
func prism(b []byte) (int, uint16) {
	const avs = 0x8021 // the upper half of the first word
	if binary.BigEndian.Uint16(b) == avs {
		return wifi(b, int(min(binary.BigEndian.Uint32(b[4:]), 1<<16)))
	}
	length := binary.LittleEndian.Uint32(b[4:])
	if length > 1<<16 {
		length = min(binary.BigEndian.Uint32(b[4:]), 1<<16)
	}
	return wifi(b, int(length))
}
