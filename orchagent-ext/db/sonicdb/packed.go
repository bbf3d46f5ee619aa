// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"encoding/binary"
	"maps"
	"slices"
)

// packed is the fields of a row, as Redis holds them, in a third of the memory of a map: names
// and values in turn, by rising name, each after its length (uvarint). "" is a missing row.
type packed string

// pack packs fields. A row without any is packed with the placeholder of [stored].
func pack(fields map[string]string) packed {
	var b []byte
	fields = stored(fields)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		for _, s := range [...]string{name, fields[name]} {
			b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
		}
	}
	return packed(b)
}

// unpack returns the fields, which are empty for a missing row.
func (p packed) unpack() map[string]string {
	fields := map[string]string{}
	next := func() (s packed) {
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
