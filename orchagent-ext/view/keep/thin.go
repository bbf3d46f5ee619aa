// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"math"
	"time"

	"sluice/orchagent-ext/view/frame"
)

const (
	// sparse is the time between two frames of thinned blocks, at least.
	sparse = time.Minute
	// A thinned block gets another frame while it has fewer than these, and fewer octets before they are
	// compressed. The first of its frames is a whole one, and has some times the octets of another.
	sparseFrames = 4
	sparseOctets = 8 << 20
	// denseOctets are those of a block, before they are compressed, whose frames fit behind these.
	denseOctets = 32 << 20
)

// thin thins the oldest block that is not: of its frames those stay that are a minute after the one before.
// They are put into the thinned block before it, where that has room.
func (h *History) thin() error {
	at := h.thinned
	from := at // the first block that is written again
	if at > 0 && h.blocks[at-1].Frames < sparseFrames && h.blocks[at-1].Raw < sparseOctets && h.blocks[at].Raw < denseOctets {
		from--
	}
	if h.blocks[at].Last < h.sparseFrom(at) {
		h.replace(at, at+1)
		return nil
	}
	h.reader = frame.Reader{} // its frames make room
	var e frame.Encoder
	next := h.sparseFrom(from)
	for _, b := range h.blocks[from : at+1] {
		d, err := frame.NewDecoder(b.octets)
		if err != nil {
			return err
		}
		for b.Last >= next {
			if err := d.Seek(time.Unix(0, next)); err != nil {
				return err
			}
			f, err := d.Next()
			if err != nil {
				return err
			}
			if f.At.UnixNano() < next {
				continue
			}
			if _, err := e.Add(f); err != nil {
				return err
			}
			next = f.At.Add(sparse).UnixNano()
		}
	}
	b, err := ended(&e)
	if err != nil {
		return err
	}
	h.replace(from, at+1, b)
	h.thinned = from + 1
	return nil
}

// sparseFrom is the earliest time of the first frame of a thinned block, ns since 1970.
func (h *History) sparseFrom(at int) int64 {
	if at == 0 {
		return math.MinInt64
	}
	return h.blocks[at-1].Last + int64(sparse)
}
