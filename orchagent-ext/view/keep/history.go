// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"sluice/orchagent-ext/view/frame"
)

// Defaults of [Options].
const (
	Octets = 216 << 20 // a process with 128 switches has some 300 MiB
	For    = time.Hour
)

// blockSpan is the time of the frames of one block, until it is thinned.
const blockSpan = 8 * time.Second

// patience is how many frames may be added before one who plays the past asks again, for whom two frames
// stay in memory.
const patience = 2

// Options are the bounds of a history.
type Options struct {
	Octets int64         // of blocks and of the newest frames; 0: [Octets]
	For    time.Duration // of which there are frames; 0: [For]
	// Heap gets the octets that Octets leaves to the heap of Go, each time that they change, such as
	// for [debug.SetMemoryLimit]; nil where the process has others to keep.
	Heap func(octets int64)
}

// A History has the last frames that were added: the newest ones all, and one a minute of those before, where
// they would need more than the octets. It implements [frame.Source], and is used by several goroutines.
type History struct {
	options Options

	mu        sync.Mutex
	blocks    blocks
	thinned   int   // so many of the blocks, the oldest ones
	octets    int64 // of blocks
	heap      int64 // that Options.Heap got
	open      frame.Encoder
	f, before *frame.Frame // the newest
	reader    frame.Reader
	unused    int // frames that were added since the reader was asked
	changed   chan struct{}
}

// block is an ended block.
type block struct {
	frame.Head
	octets memory
}

// blocks implements [frame.Blocks].
type blocks []block

// Len implements [frame.Blocks].
func (b blocks) Len() int { return len(b) }

// Head implements [frame.Blocks].
func (b blocks) Head(i int) frame.Head { return b[i].Head }

// Block implements [frame.Blocks].
func (b blocks) Block(i int) ([]byte, error) { return b[i].octets, nil }

// New returns an empty history.
func New(o Options) *History {
	if o.Octets == 0 {
		o.Octets = Octets
	}
	if o.For == 0 {
		o.For = For
	}
	return &History{options: o, changed: make(chan struct{})}
}

// Close frees the memory of the blocks. The history is empty then.
func (h *History) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop(len(h.blocks))
	h.open, h.f, h.before, h.reader = frame.Encoder{}, nil, nil, frame.Reader{}
}

// Add adds a frame, and makes room for it. Frames of its time and later ones go: the clock was set back. Until
// the next frame it has none before it then: how long ago that was is unknown.
func (h *History) Add(f *frame.Frame) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.f != nil && !f.At.After(h.f.At) {
		if err := h.back(f.At); err != nil {
			return err
		}
	}
	if h.open.Frames() > 0 && (h.open.Full() || h.open.Span() >= blockSpan) {
		if err := h.end(); err != nil {
			return err
		}
	}
	added, err := h.open.Add(f)
	if err != nil {
		return fmt.Errorf("keep a frame: %w", err)
	}
	h.f, h.before = added, h.f
	if h.unused++; h.unused > patience {
		h.reader = frame.Reader{}
	}
	if err := h.bound(); err != nil {
		return err
	}
	close(h.changed)
	h.changed = make(chan struct{})
	return nil
}

// end ends the open block.
func (h *History) end() error {
	if h.open.Frames() == 0 {
		return nil
	}
	b, err := ended(&h.open)
	if err != nil {
		return err
	}
	h.replace(len(h.blocks), len(h.blocks), b)
	return nil
}

// ended returns the open block of an encoder, which has a frame.
func ended(e *frame.Encoder) (block, error) {
	packed := e.Block()
	head, err := frame.ParseHead(packed)
	if err != nil {
		return block{}, err
	}
	m, err := allocate(packed)
	if err != nil {
		return block{}, fmt.Errorf("keep frames: %w", err)
	}
	return block{head, m}, nil
}

// replace frees the blocks from a place to another, and puts others there.
func (h *History) replace(from, to int, by ...block) {
	for _, b := range h.blocks[from:to] {
		h.octets -= b.octets.size()
		b.octets.free()
	}
	for _, b := range by {
		h.octets += b.octets.size()
	}
	h.blocks = slices.Replace(h.blocks, from, to, by...)
}

// back removes the frames from a time on.
func (h *History) back(t time.Time) error {
	if err := h.end(); err != nil {
		return err
	}
	h.f, h.before, h.reader = nil, nil, frame.Reader{}
	n := len(h.blocks)
	for n > 0 && h.blocks[n-1].Last >= t.UnixNano() {
		n--
	}
	if n < len(h.blocks) {
		if err := h.keepUntil(h.blocks[n].octets, t); err != nil {
			return err
		}
	}
	h.replace(n, len(h.blocks))
	h.thinned = min(h.thinned, n)
	return h.end()
}

// keepUntil adds the frames of a block that are before a time again.
func (h *History) keepUntil(block []byte, t time.Time) error {
	d, err := frame.NewDecoder(block)
	if err != nil {
		return err
	}
	for {
		if at, more := d.Peek(); !more || !at.Before(t) {
			return nil
		}
		f, err := d.Next()
		if err != nil {
			return err
		}
		if _, err := h.open.Add(f); err != nil {
			return err
		}
	}
}

// bound makes room: blocks beyond the time go. Of those beyond the octets a frame a minute stays, from the
// oldest block on, and if these are still too many, the oldest blocks go.
func (h *History) bound() error {
	most := h.options.For
	if h.thinned > 0 { // the frame of the oldest time is up to so much before it
		most += sparse
	}
	n := 0
	for n < len(h.blocks) && h.f.At.UnixNano()-h.blocks[n].Last > int64(most) {
		n++
	}
	h.drop(n)
	left := h.options.Octets - int64(h.open.Size()) - newest*cost(h.f)
	for h.octets > left && h.thinned < len(h.blocks) {
		if err := h.thin(); err != nil {
			return err
		}
	}
	for h.octets > left && len(h.blocks) > 0 {
		h.drop(1)
	}
	h.limit()
	return nil
}

// limit calls Options.Heap, where much has changed.
func (h *History) limit() {
	const much = 1 << 20
	left := max(h.options.Octets-h.octets, newest*cost(h.f))
	if h.options.Heap != nil && (h.heap == 0 || left > h.heap+much || left < h.heap-much) {
		h.heap = left
		h.options.Heap(left)
	}
}

// drop removes the oldest blocks.
func (h *History) drop(n int) {
	h.replace(0, n)
	h.thinned = max(0, h.thinned-n)
}

// newest is how many frames are in memory as they are: the newest two, one that is read, the two that were
// sought last, and garbage. Two that follow each other share rows.
const newest = 5

// cost is about how many octets of memory a frame has.
func cost(f *frame.Frame) int64 {
	const row, field = 120, 60
	n := int64(0)
	for i := range f.Switches {
		n += row * int64(len(f.Switches[i].Rows))
		for j := range f.Switches[i].Rows {
			n += field * int64(len(f.Switches[i].Rows[j].Fields))
		}
	}
	return n
}

// Changed returns a channel that the next frame closes.
func (h *History) Changed() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changed
}

// Octets is how much memory the blocks have.
func (h *History) Octets() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.octets + int64(h.open.Size())
}

// Span implements [frame.Source].
func (h *History) Span() (first, last time.Time, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.f == nil {
		return first, last, false
	}
	if len(h.blocks) > 0 {
		first, _ = h.blocks[0].Span()
	} else {
		first, _ = h.open.Open().Peek()
	}
	return first, h.f.At, true
}

// At implements [frame.Source].
func (h *History) At(_ context.Context, t time.Time) (f, before *frame.Frame, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.f == nil:
		return nil, nil, nil
	case !t.Before(h.f.At):
		return h.f, h.before, nil
	}
	d := h.open.Open()
	if first, any := d.Peek(); !any || first.After(t) {
		h.unused = 0
		return h.reader.At(h.blocks, t)
	}
	if err := d.Seek(t); err != nil {
		return nil, nil, err
	}
	for {
		if at, more := d.Peek(); !more || at.After(t) {
			break
		}
		next, err := d.Next()
		if err != nil {
			return nil, nil, err
		}
		f, before = next, f
	}
	if before == nil && len(h.blocks) > 0 {
		before, err = frame.Last(h.blocks, len(h.blocks)-1)
	}
	return f, before, err
}
