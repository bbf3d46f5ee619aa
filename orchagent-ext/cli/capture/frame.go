// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"sluice/orchagent-ext/wire/sflow"
)

// Frame is one packet of a capture file. Data is valid until the next frame is
// read.
type Frame struct {
	Number int // from 1, as Wireshark counts
	// Data has the frame's octets as far as the capture has them, and is valid until the
	// next one.
	Data []byte
	// Info has time, lengths and interface of the frame.
	Info gopacket.CaptureInfo
	// Time: that of Info, or the nearest time that fits ns since 1970 (1677 to 2262)
	Time time.Time
	// Link is the type of the first header.
	Link    layers.LinkType
	In, Out string // of a live frame: the port that it came in or left by
	// Sample is that of sFlow which the frame is; the zero value: it is a frame of its own.
	Sample  sflow.Sample
	carrier *Frame // of a sample: the frame with the datagram; nil: the frame itself
	options pcapgo.NgPacketOptions
	section int // of a pcapng file
	ng      *pcapgo.NgReader
}
