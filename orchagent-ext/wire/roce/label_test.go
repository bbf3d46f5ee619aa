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

// A new flow label is that, in the 20 bits of the outermost IPv6 header, and nothing
// else: ICRC and UDP checksum stay right.
//
//conformance:draft-hu/write draft-hu/only-label
func TestSetFlowLabel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := anyPacket.Draw(t, "packet")
		label := rapid.Uint32().Draw(t, "label")
		want := slices.Clone(m.frame)
		if outermost := len(m.want.Link); m.want.PathSrc.Is6() {
			first := binary.BigEndian.Uint32(want[outermost:])
			binary.BigEndian.PutUint32(want[outermost:], first&^0xfffff|label&0xfffff)
			m.want.FlowLabel = label & 0xfffff
		}

		var p roce.Packet
		if err := p.Parse(m.frame, len(m.frame)); err != nil {
			t.Fatal(err)
		}
		p.SetFlowLabel(label)
		if !bytes.Equal(m.frame, want) {
			t.Errorf("label %05x: %x, want %x", label, m.frame, want)
		}
		m.check(t)
	})
}
