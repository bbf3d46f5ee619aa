// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/cli/doctor"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/roce"
)

// scan is the result of one pass over a capture file.
type scan struct {
	doctor.Census

	ICRC *icrcs // of RoCE; nil: not asked for

	look    roce.Look
	samples bool                                   // those of sFlow are read
	other   func(f *capture.Frame, p *roce.Packet) // called for frames of MAC control; may be nil
	dropped uint64                                 // packets that the capturing machine lost, by the file
}

// icrcs counts packets by their ICRC.
type icrcs struct {
	right, wrong int
	cut          int // by the capture, or fragments
}

// add verifies the ICRC of a packet (IBTA annex A17) and counts the result; a packet that
// the capture cut is counted apart.
func (c *icrcs) add(p *roce.Packet) {
	switch got, want, ok := p.ICRC(); {
	case !ok:
		c.cut++
	case got == want:
		c.right++
	default:
		c.wrong++
	}
}

// scanFile reads a capture from beginning to end. each is called for every frame;
// err is the result of Parse, and p is valid when that is nil.
func scanFile(cmd *cobra.Command, name string, each func(f *capture.Frame, p *roce.Packet, err error) error) (scan, error) {
	r, err := capture.Open(cmd.Context(), name, cmd.InOrStdin())
	if err != nil {
		return scan{}, err
	}
	defer r.Close()
	return scanFrames(cmd, r, each)
}

// frameSource is packets one after the other: of a capture, or as they pass.
type frameSource interface {
	// Next returns the next frame, which the call after it reuses; io.EOF behind the last.
	Next() (*capture.Frame, error)
	// BeforeWaiting calls f whenever the next frame may have to be waited for.
	BeforeWaiting(f func())
	// Stays reports whether the data of earlier frames stay valid when the next
	// one is read.
	Stays() bool
	// Progress returns the share that was read, 0 to 1; ok is false where the
	// length is unknown.
	Progress() (share float64, ok bool)
	String() string
}

// scanFrames reads frames to the end. Packets in copies and in tunnels other than those of IPv6
// count as other than RoCEv2.
func scanFrames(cmd *cobra.Command, r frameSource, each func(f *capture.Frame, p *roce.Packet, err error) error) (scan, error) {
	return scan{look: roce.LookLink}.read(cmd, r, samePacket(), each)
}

// samePacket returns a place of a scan that parses each frame into the same packet.
func samePacket() (place func() *roce.Packet) {
	p := new(roce.Packet)
	return func() *roce.Packet { return p }
}

// read passes each frame of r to each, parsed into the packet of place, until the end or the
// first error of each. err is the parser's. It returns the sums of the scan.
func (s scan) read(cmd *cobra.Command, r frameSource, place func() *roce.Packet, each func(f *capture.Frame, p *roce.Packet, err error) error) (scan, error) {
	progress := newProgress(cmd.Context(), cmd.ErrOrStderr(), r)
	defer progress.end()
	for {
		f, err := s.next(r, progress)
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return s, err
		}
		if err := s.frame(f, place, each); err != nil {
			return s, err
		}
	}
}

// frame passes a frame to each, or the packets of the sFlow datagram in it.
func (s *scan) frame(f *capture.Frame, place func() *roce.Packet, each func(f *capture.Frame, p *roce.Packet, err error) error) error {
	p := place()
	err := s.parse(f, p)
	samples, ok := s.datagram(f, p, err)
	if !ok {
		return each(f, p, err)
	}
	n := 0
	for sample := new(capture.Frame); samples.Next(sample); n++ {
		p := place()
		if err := each(sample, p, s.parse(sample, p)); err != nil {
			return err
		}
	}
	s.Sampled(n)
	return nil
}

// datagram returns the samples in a frame, if they are wanted and it has them.
func (s *scan) datagram(f *capture.Frame, p *roce.Packet, err error) (capture.Samples, bool) {
	if err == nil || !s.samples {
		return capture.Samples{}, false
	}
	return f.Samples(p, err)
}

// next reads a frame.
func (s *scan) next(r frameSource, progress *progress) (*capture.Frame, error) {
	f, err := r.Next()
	if err != nil {
		if file, is := r.(*capture.Reader); is {
			s.dropped = file.Dropped()
		}
		return nil, err
	}
	if err := progress.step(); err != nil {
		return nil, err
	}
	s.Packets++
	return f, nil
}

// parse parses a frame, and counts its kind.
func (s *scan) parse(f *capture.Frame, p *roce.Packet) error {
	err := f.Parse(p, s.look)
	s.Count(p, err)
	return err
}

// burst is RoCEv2 packets in a row, whose data are valid together.
type burst struct {
	n       int
	packets [flow.MaxBurst]roce.Packet
	times   [flow.MaxBurst]int64  // ns, or flow.NoTime
	points  [flow.MaxBurst]uint32 // where they passed
	parts   [flow.MaxBurst]bool   // others passed with them
	rates   [flow.MaxBurst]uint32 // one of so many was sampled; 0: each is there
}

// put adds the packet in the next place, which came in f.
func (b *burst) put(f *capture.Frame) {
	b.times[b.n], b.points[b.n], b.parts[b.n], b.rates[b.n] = f.Nanos(), f.Point(), f.Part(), f.Sample.Rate
	b.n++
}

// scanBursts is scanFrames for RoCEv2 packets alone, several at once: as many as
// can be read at once. keep reports whether a packet is wanted; nil: each is.
// With icrc it checks the ICRC of those.
func scanBursts(cmd *cobra.Command, r frameSource, icrc bool, keep func(p *roce.Packet) bool, each func(b *burst)) (scan, error) {
	s := scan{look: roce.LookThrough, samples: true}
	if icrc {
		s.ICRC = &icrcs{}
	}
	return s.bursts(cmd, r, keep, each)
}

// bursts is scanBursts with the settings of s.
func (s scan) bursts(cmd *cobra.Command, r frameSource, keep func(p *roce.Packet) bool, each func(b *burst)) (scan, error) {
	progress := newProgress(cmd.Context(), cmd.ErrOrStderr(), r)
	defer progress.end()
	b := new(burst)
	for {
		if b.n == len(b.packets) || b.n > 0 && !r.Stays() {
			each(b)
			b.n = 0
		}
		f, err := s.next(r, progress)
		if err != nil && b.n > 0 {
			each(b)
		}
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return s, err
		}
		p := &b.packets[b.n]
		err = s.parse(f, p)
		samples, ok := s.datagram(f, p, err)
		if !ok {
			s.add(b, f, err, keep)
			continue
		}
		n := 0
		for sample := new(capture.Frame); samples.Next(sample); n++ {
			if b.n == len(b.packets) {
				each(b)
				b.n = 0
			}
			s.add(b, sample, s.parse(sample, &b.packets[b.n]), keep)
		}
		s.Sampled(n)
	}
}

// add adds the packet that was parsed into the next place of a burst, if it is wanted.
func (s *scan) add(b *burst, f *capture.Frame, err error, keep func(p *roce.Packet) bool) {
	p := &b.packets[b.n]
	if err != nil {
		if s.other != nil && p.Other() == macControl && errors.Is(err, roce.ErrNotRoCE) {
			s.other(f, p)
		}
		return
	}
	if keep != nil && !keep(p) {
		return
	}
	if s.ICRC != nil {
		s.ICRC.add(p)
	}
	b.put(f)
}

// macControl is the kind of the frames of PFC.
var macControl = roce.Other{Kind: roce.OtherEtherType, Value: 0x8808}

// String returns the summary for the operator, which counts every frame of the
// file.
func (s scan) String() string {
	text := s.Census.String()
	if c := s.ICRC; c != nil {
		text += fmt.Sprintf("; ICRC: %d right, %d wrong, %d cut", c.right, c.wrong, c.cut)
	}
	if s.dropped > 0 {
		text += fmt.Sprintf("; the capture itself dropped %d more, so that gaps may be its own", s.dropped)
	}
	return text
}

// advise prints the next step where no RoCEv2 with data was found.
func (s scan) advise(cmd *cobra.Command) {
	if step := s.Advice(); step != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "→ %s\n", step)
	}
}

// progress shows on a terminal how much of a long file was read.
type progress struct {
	ctx   context.Context
	w     io.Writer
	r     frameSource
	steps int
	start time.Time
	shown bool
}

const (
	// Progress is shown at most so often, and only if a scan takes longer than
	// progressDelay.
	progressSteps = 1 << 14 // packets between two looks at the clock
	progressDelay = time.Second
)

// newProgress returns the progress of a scan, which is shown on w if that is a terminal.
func newProgress(ctx context.Context, w io.Writer, r frameSource) *progress {
	p := &progress{ctx: ctx, r: r, start: time.Now()}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.w = f
	}
	return p
}

// step counts a packet; it returns an error when the user ended the command.
func (p *progress) step() error {
	p.steps++
	if p.steps%progressSteps != 0 {
		return nil
	}
	if err := p.ctx.Err(); err != nil {
		return fmt.Errorf("%s: stopped after packet %d", p.r, p.steps)
	}
	if p.w == nil || time.Since(p.start) < progressDelay {
		return nil
	}
	p.shown = true
	if share, ok := p.r.Progress(); ok {
		fmt.Fprintf(p.w, "\r%3.0f %%  %d packets", 100*min(share, 1), p.steps)
	} else {
		fmt.Fprintf(p.w, "\r%d packets", p.steps)
	}
	return nil
}

// end erases the line of progress.
func (p *progress) end() {
	if p.shown {
		fmt.Fprint(p.w, "\r\033[K")
	}
}
