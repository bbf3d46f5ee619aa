// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"encoding/binary"
	"fmt"

	"sluice/orchagent-ext/cli/capture/link"
)

// Ports returns the ports that the frame came in or left by, "" for unknown: of a
// live frame [Frame.In] and [Frame.Out]; of a file the interface of pcapng with
// its direction (in, where that is missing), or that of a Linux cooked header, by
// its index; of a sample of sFlow those of the agent.
func (f *Frame) Ports() (in, out string) {
	name, outgoing := "", false
	switch {
	case f.carrier != nil:
		return f.Sample.In.String(), f.Sample.Out.String()
	case f.In != "" || f.Out != "":
		return f.In, f.Out
	case f.Link == link.SLL2 && len(f.Data) >= link.SLL2Len:
		name, outgoing = fmt.Sprintf("if%d", binary.BigEndian.Uint32(f.Data[4:])), f.Data[10] == sllOutgoing
	default:
		if f.face != nil {
			name = f.face.Name
		}
		outgoing = f.sent || f.Link == link.SLL && len(f.Data) >= link.SLLLen && binary.BigEndian.Uint16(f.Data) == sllOutgoing
	}
	if outgoing {
		return "", name
	}
	return name, ""
}

// Point is a number for where the frame passed: that of the interface, as far as there are
// several.
func (f *Frame) Point() uint32 {
	if f.Link == link.SLL2 && len(f.Data) >= link.SLL2Len {
		return binary.BigEndian.Uint32(f.Data[4:])
	}
	return uint32(f.Index)
}

// sllOutgoing is the packet type of a Linux cooked header for packets that this
// host sent.
const sllOutgoing = 4
