// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/roce"
)

// scan is the result of one pass over a capture file.
type scan struct {
	// Packets counts all packets of the capture.
	Packets int
	// RoCE counts those that are RoCEv2.
	RoCE      int
	Malformed map[string]int // by what was wrong
	// Other counts the others by kind.
	Other     map[roce.Other]int
	Tunnelled int // of RoCE

	ICRC *icrcs // of RoCE; nil: not asked for

	through bool // looks into tunnels
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

// scanFrames reads frames to the end. Packets in tunnels other than those of IPv6
// count as other than RoCEv2.
func scanFrames(cmd *cobra.Command, r frameSource, each func(f *capture.Frame, p *roce.Packet, err error) error) (scan, error) {
	return scan{}.read(cmd, r, each)
}

// scanThrough is scanFrames that looks into tunnels.
func scanThrough(cmd *cobra.Command, r frameSource, each func(f *capture.Frame, p *roce.Packet, err error) error) (scan, error) {
	return scan{through: true}.read(cmd, r, each)
}

// read passes each frame of r to each, parsed into the same packet, until the end or the
// first error of each. err is the parser's. It returns the sums of the scan.
func (s scan) read(cmd *cobra.Command, r frameSource, each func(f *capture.Frame, p *roce.Packet, err error) error) (scan, error) {
	s.Malformed, s.Other = map[string]int{}, map[roce.Other]int{}
	progress := newProgress(cmd.Context(), cmd.ErrOrStderr(), r)
	defer progress.end()
	var p roce.Packet
	for {
		f, err := s.next(r, progress)
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return s, err
		}
		if err := each(f, &p, s.parse(f, &p)); err != nil {
			return s, err
		}
	}
}

// next reads a frame.
func (s *scan) next(r frameSource, progress *progress) (*capture.Frame, error) {
	f, err := r.Next()
	if err != nil {
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
	parse := (*capture.Frame).Parse
	if s.through {
		parse = (*capture.Frame).ParseThrough
	}
	err := parse(f, p)
	var bad *roce.Error
	switch {
	case err == nil:
		s.RoCE++
		if p.Tunnelled() {
			s.Tunnelled++
		}
	case errors.As(err, &bad):
		s.Malformed[bad.Header.String()+" "+bad.Problem.String()]++
	default:
		s.Other[p.Other()]++
	}
	return err
}

// burst is RoCEv2 packets in a row, whose data are valid together.
type burst struct {
	n       int
	packets [flow.MaxBurst]roce.Packet
	times   [flow.MaxBurst]int64  // ns, or flow.NoTime
	points  [flow.MaxBurst]uint32 // where they passed
}

// scanBursts is scanFrames for RoCEv2 packets alone, several at once: as many as
// can be read at once. keep reports whether a packet is wanted; nil: each is.
// With icrc it checks the ICRC of those.
func scanBursts(cmd *cobra.Command, r frameSource, icrc bool, keep func(p *roce.Packet) bool, each func(b *burst)) (scan, error) {
	s := scan{through: true, Malformed: map[string]int{}, Other: map[roce.Other]int{}}
	progress := newProgress(cmd.Context(), cmd.ErrOrStderr(), r)
	defer progress.end()
	if icrc {
		s.ICRC = &icrcs{}
	}
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
		if p := &b.packets[b.n]; s.parse(f, p) == nil && (keep == nil || keep(p)) {
			if s.ICRC != nil {
				s.ICRC.add(p)
			}
			b.times[b.n], b.points[b.n] = f.Nanos(), f.Point()
			b.n++
		}
	}
}

// String returns the summary for the operator, which counts every frame of the
// file.
func (s scan) String() string {
	malformed := 0
	var reasons []string
	for reason, n := range s.Malformed {
		malformed += n
		reasons = append(reasons, fmt.Sprintf("%s: %d", reason, n))
	}
	text := fmt.Sprintf("%s: %d RoCEv2", kit.Plural(s.Packets, "packet"), s.RoCE)
	if s.Tunnelled > 0 {
		text += fmt.Sprintf(" (%d in tunnels)", s.Tunnelled)
	}
	text += fmt.Sprintf(", %d other%s", s.Packets-s.RoCE-malformed, s.others())
	if malformed > 0 {
		slices.Sort(reasons)
		text += fmt.Sprintf(", %d malformed (%s)", malformed, strings.Join(reasons, "; "))
	}
	if c := s.ICRC; c != nil {
		text += fmt.Sprintf("; ICRC: %d right, %d wrong, %d cut", c.right, c.wrong, c.cut)
	}
	return text
}

// maxOthers is how many kinds of other packets are named.
const maxOthers = 8

// others returns the names of other kinds of packets, the most frequent first.
func (s scan) others() string {
	if len(s.Other) == 0 {
		return ""
	}
	by := map[string]int{} // several numbers can have one name
	for o, n := range s.Other {
		by[o.String()] += n
	}
	names := slices.SortedFunc(maps.Keys(by), func(a, b string) int { return cmp.Or(cmp.Compare(by[b], by[a]), cmp.Compare(a, b)) })
	var list []string
	rest := 0
	for i, name := range names {
		if i < maxOthers {
			list = append(list, fmt.Sprintf("%s: %d", name, by[name]))
		} else {
			rest += by[name]
		}
	}
	if rest > 0 {
		list = append(list, fmt.Sprintf("more kinds: %d", rest))
	}
	return " (" + strings.Join(list, "; ") + ")"
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
