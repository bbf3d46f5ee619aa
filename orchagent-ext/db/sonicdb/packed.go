// SPDX-License-Identifier: Apache-2.0

package sonicdb

import (
	"encoding/binary"
	"slices"
	"strings"
)

// Packed is the fields of a row in a third of the memory of a map: names and values in turn, by
// rising name, each after its length (uvarint, twice; one more where words are shortened). A
// [Mirror] and the view of sluice-gnmi keep rows so.
type Packed string

// words make up two thirds of the rows of flows in the ledger, of which there may be 100,000. Each is
// packed as an octet that UTF-8 never has, in values that begin with a name of SAI.
var words = [...]string{
	"SAI_ACL_ENTRY_ATTR_ACTION_SET_IPV6_FLOW_LABEL=0x", "\xf8",
	" SAI_ACL_ENTRY_ATTR_ACTION_COUNTER=oid:0x", "\xf9",
	" SAI_ACL_ENTRY_ATTR_ACTION_INGRESS_SAMPLEPACKET_ENABLE=@", "\xfa",
	" udp-source-port=", "\xfb",
}

// shorten and widen replace words by their octets, and octets by their words.
var shorten, widen = func() (there, back *strings.Replacer) {
	turned := slices.Clone(words[:])
	slices.Reverse(turned)
	return strings.NewReplacer(words[:]...), strings.NewReplacer(turned...)
}()

// short returns a text in the form of [Packed], with its length.
func short(s string) (length uint64, text string) {
	if strings.HasPrefix(s, "SAI_") {
		if shorter := shorten.Replace(s); widen.Replace(shorter) == s { // else it has such octets itself
			return 2*uint64(len(shorter)) + 1, shorter
		}
	}
	return 2 * uint64(len(s)), s
}

// room is for a row while it is packed: most fit into it, and take no memory but the result.
type room [1024]byte

// Pack packs fields. No fields are "".
func Pack(fields map[string]string) Packed { return Packed(appendPacked(new(room)[:0], fields)) }

// appendPacked appends the packed form of fields.
func appendPacked(b []byte, fields map[string]string) []byte {
	var names [64]string // most rows have fewer
	sorted := names[:0]
	for name := range fields {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	for _, name := range sorted {
		for _, s := range [...]string{name, fields[name]} {
			length, text := short(s)
			b = append(binary.AppendUvarint(b, length), text...)
		}
	}
	return b
}

// pack packs the fields of a row as Redis holds them: one without any has the placeholder of
// [stored], and "" is a missing row.
func pack(fields map[string]string) Packed { return Pack(stored(fields)) }

// Unpack returns the fields, which are the caller's.
func (p Packed) Unpack() map[string]string {
	fields := map[string]string{}
	next := func() string {
		length, n := binary.Uvarint([]byte(p[:min(len(p), binary.MaxVarintLen64)]))
		end := n + int(length/2)
		text := string(p[n:end])
		if p = p[end:]; length%2 == 1 {
			text = widen.Replace(text)
		}
		return text
	}
	for len(p) > 0 {
		name := next()
		fields[name] = next()
	}
	return fields
}
