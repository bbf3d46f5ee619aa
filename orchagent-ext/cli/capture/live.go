// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"cmp"

	"sluice/orchagent-ext/cli/capture/link"
	"sluice/orchagent-ext/cli/capture/savefile"
	"sluice/orchagent-ext/cli/output"
)

// liveInterface is a device whose frames have a type of header, which becomes an interface
// of a pcapng file.
type liveInterface struct {
	device string
	link   link.Type
}

// CreateLive creates a pcapng file for live frames: each has its device as interface, and
// its direction, with times in ns.
func CreateLive(to output.Target) (*Writer, error) {
	return create(to, func(w *Writer) error {
		w.live = map[liveInterface]uint32{}
		return w.write(savefile.AppendSection(nil))
	})
}

// writeLive writes a live frame.
func (w *Writer) writeLive(f *Frame) error {
	from := liveInterface{cmp.Or(f.Out, f.In), f.Link}
	b := w.room[:0]
	id, known := w.live[from]
	if !known {
		id = uint32(len(w.live))
		w.live[from] = id
		b = savefile.AppendInterface(b, from.device, uint16(from.link))
	}
	w.room = savefile.AppendPacket(b, id, f.Time, f.Data, f.Length, f.Out != "")
	return w.write(w.room)
}
