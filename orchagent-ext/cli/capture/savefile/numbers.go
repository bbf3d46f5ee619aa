// SPDX-License-Identifier: Apache-2.0

package savefile

import (
	"encoding/binary"
	"math/bits"
)

// numbers reads the numbers of a file in its byte order.
type numbers struct {
	big bool // the most significant octet comes first
}

func (n *numbers) u16(b []byte) uint16 {
	v := binary.LittleEndian.Uint16(b)
	if n.big {
		v = bits.ReverseBytes16(v)
	}
	return v
}

func (n *numbers) u32(b []byte) uint32 {
	v := binary.LittleEndian.Uint32(b)
	if n.big {
		v = bits.ReverseBytes32(v)
	}
	return v
}

func (n *numbers) u64(b []byte) uint64 {
	v := binary.LittleEndian.Uint64(b)
	if n.big {
		v = bits.ReverseBytes64(v)
	}
	return v
}
