// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"sluice/orchagent-ext/cli/output"
)

// liveInterface is a device whose frames have a type of header, which becomes an interface
// of a pcapng file.
type liveInterface struct {
	device string
	link   layers.LinkType
}

// CreateLive creates a pcapng file for live frames: each has its device as interface, and
// its direction, with times in ns.
func CreateLive(to output.Target) (*Writer, error) {
	return create(to, func(w *Writer) error {
		w.live = map[liveInterface]int{}
		return nil
	})
}

// writeLive writes a live frame.
func (w *Writer) writeLive(f *Frame) error {
	from := liveInterface{f.In, f.Link}
	direction := pcapgo.NgEpbFlagDirectionInbound
	if f.Out != "" {
		from.device, direction = f.Out, pcapgo.NgEpbFlagDirectionOutbound
	}
	id, known := w.live[from]
	if !known {
		var err error
		description := pcapgo.NgInterface{Name: from.device, LinkType: from.link, SnapLength: maxSnaplen, TimestampResolution: nanoseconds}
		if w.ng == nil {
			w.ng, err = pcapgo.NewNgWriterInterface(w.file, description, pcapgo.DefaultNgWriterOptions)
		} else {
			id, err = w.ng.AddInterface(description)
		}
		if err != nil {
			return err
		}
		w.live[from] = id
	}
	info := f.Info
	info.InterfaceIndex = id
	return w.ng.WritePacketWithOptions(info, f.Data, pcapgo.NgPacketOptions{Flags: &pcapgo.NgEpbFlags{Direction: direction}})
}

// nanoseconds is pcapng's option if_tsresol for 10^-9 s.
const nanoseconds = 9
