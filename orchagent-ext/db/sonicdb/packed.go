// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"encoding/binary"
	"slices"
)

// Packed is the fields of a row in a third of the memory of a map: names and values in turn, by
// rising name, each after its length (uvarint). A [Mirror] and the view of sluice-gnmi keep rows so.
type Packed string

// Pack packs fields. No fields are "".
func Pack(fields map[string]string) Packed {
	var names [32]string // most rows fit into these two, and take no memory but the result
	var room [1024]byte
	sorted, b := names[:0], room[:0]
	for name := range fields {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	for _, name := range sorted {
		for _, s := range [...]string{name, fields[name]} {
			b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
		}
	}
	return Packed(b)
}

// pack packs the fields of a row as Redis holds them: one without any has the placeholder of
// [stored], and "" is a missing row.
func pack(fields map[string]string) Packed { return Pack(stored(fields)) }

// Unpack returns the fields, which are the caller's.
func (p Packed) Unpack() map[string]string {
	fields := map[string]string{}
	next := func() (s Packed) {
		length, n := binary.Uvarint([]byte(p[:min(len(p), binary.MaxVarintLen64)]))
		end := n + int(length)
		s, p = p[n:end], p[end:]
		return s
	}
	for len(p) > 0 {
		name := next()
		fields[string(name)] = string(next())
	}
	return fields
}
