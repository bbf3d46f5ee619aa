// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// TestRecordsInOnePassAreThoseOfTheirFields: a record of each variant is, octet by octet, that which
// the fields of its template write one by one.
func TestRecordsInOnePassAreThoseOfTheirFields(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	all := templates(DefaultRegistry, false)
	for v := range variant(numVariants) {
		for range 8 {
			var r Record
			octets := make([]byte, binary.Size(r))
			for i := range octets {
				octets[i] = byte(random.Uint32())
			}
			if _, err := binary.Decode(octets, binary.NativeEndian, &r); err != nil {
				t.Fatal(err)
			}
			if !all[v].whole {
				t.Fatalf("variant %b lacks fields", v)
			}
			want := []byte("before")
			for _, put := range all[v].puts {
				want = put(want, &r)
			}
			if got := appendRecord([]byte("before"), &r, v, all[v].length); !bytes.Equal(got, want) {
				t.Errorf("variant %b:\n got %x\nwant %x", v, got, want)
			}
		}
	}
}

// TestTemplatesThatLackFields: where IANA has numbered the draft's elements alone, or messages are
// short, records are written field by field.
func TestTemplatesThatLackFields(t *testing.T) {
	ids := [drafted]uint16{600, 601, 602, 603, 604, 605, 606, 607}
	for name, all := range map[string][numVariants]template{
		"IANA": templates(Registry{IDs: ids}, false), "short": templates(DefaultRegistry, true),
	} {
		if all[ipv6|srcQP].whole {
			t.Errorf("%s: templates are whole", name)
		}
	}
}
