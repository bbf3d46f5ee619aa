// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"time"

	"sluice/orchagent-ext/cli/capture/link"
	"sluice/orchagent-ext/cli/capture/savefile"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/sflow"
)

// Frame is one packet of a capture file. Data is valid until the next frame is
// read.
type Frame struct {
	Number int // from 1, as Wireshark counts
	// Data has the frame's octets as far as the capture has them, and is valid until the
	// next one.
	Data []byte
	// Length is that on the wire, octets: at least that of Data.
	Length int
	// Index is the number of the interface; 0 where there is one alone.
	Index int
	// Time is within 1677 to 2262; the zero value: the file has none for this packet
	Time time.Time
	// Link is the type of the first header.
	Link    link.Type
	In, Out string // of a live frame: the port that it came in or left by
	// Sample is that of sFlow which the frame is; the zero value: it is a frame of its own.
	Sample  sflow.Sample
	carrier *Frame // of a sample: the frame with the datagram; nil: the frame itself

	record []byte              // of the file, with Data in it
	face   *savefile.Interface // of a pcapng file
	sent   bool                // by the capturing machine, by the file
}

// Nanos returns the time in ns since 1970, or [flow.NoTime].
func (f *Frame) Nanos() int64 {
	if f.Time.IsZero() {
		return flow.NoTime
	}
	return f.Time.UnixNano()
}
