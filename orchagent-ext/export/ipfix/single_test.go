// SPDX-License-Identifier: Apache-2.0

package ipfix_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"sluice/orchagent-ext/export/ipfix"
)

// TestSingleSet: a message has one set, a set of templates one template, and there are no options,
// in a file and over TCP; a template goes before its records.
func TestSingleSet(t *testing.T) {
	var records []ipfix.Record
	for i := range byte(6) {
		r := ipfix.Record{DestQP: uint32(i), Src: [16]byte{0x20, 1, 15: i}, Dst: [16]byte{0x20, 1, 15: 9}, Packets: 1, End: 1}
		if i%2 == 1 { // IPv4, in mapped form
			r.Src, r.Dst = [16]byte{10: 0xff, 11: 0xff, 12: 10, 15: i}, [16]byte{10: 0xff, 11: 0xff, 12: 10, 15: 9}
		}
		records = append(records, r)
	}
	var file bytes.Buffer
	w, err := ipfix.NewWriter(&file, ipfix.Process{SingleSet: true, Ignored: new(ipfix.Ignored)})
	if err != nil {
		t.Fatal(err)
	}
	w.Export(records)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const templateSet, optionsSet = 2, 3
	defined, data := map[uint16]bool{}, 0
	for b := file.Bytes(); len(b) > 0; {
		message := b[:binary.BigEndian.Uint16(b[2:])]
		b = b[len(message):]
		id, length := binary.BigEndian.Uint16(message[16:]), int(binary.BigEndian.Uint16(message[18:]))
		switch {
		case length != len(message)-16:
			t.Errorf("a set of %d octets in a message of %d", length, len(message))
		case id == templateSet:
			fields := int(binary.BigEndian.Uint16(message[22:]))
			end := 24
			for range fields {
				if message[end]&0x80 != 0 { // enterprise
					end += 4
				}
				end += 4
			}
			if end != len(message) {
				t.Errorf("%d octets after a template", len(message)-end)
			}
			defined[binary.BigEndian.Uint16(message[20:])] = true
		case id == optionsSet || !defined[id]:
			t.Errorf("set %d", id)
		default:
			data++
		}
	}
	if len(defined) != 2 || data != len(records) {
		t.Errorf("%d templates, %d messages of data", len(defined), data)
	}
	if _, err := ipfix.NewWriter(&file, ipfix.Process{SingleSet: true, Health: true}); err == nil || !strings.Contains(err.Error(), "options records") {
		t.Errorf("with health: %v", err)
	}
}
