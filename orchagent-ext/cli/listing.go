// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"time"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/flows/health"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// listing is a packetList while it is printed. RoCEv2 packets that are in memory at once are
// observed in one burst.
type listing struct {
	*packetList
	source  frameSource
	encoder output.Encoder
	rows    *output.Table // nil: the encoder is used
	at      []int         // places of the columns
	cells   []string      // of the last row
	start   time.Time     // of the first frame
	message notify.Packet
	seen    verdicts
	kept    int // number of the last frame that was kept

	health  *healthTable
	waiting burst
	frames  [flow.MaxBurst]capture.Frame
	passes  [flow.MaxBurst]bool // by filters of frames
	events  [flow.MaxBurst]health.Event
	missing [flow.MaxBurst]uint32 // PSNs
	record  record                // of the last packet
}

// place returns the packet that the next frame is parsed into.
func (l *listing) place() *roce.Packet { return &l.waiting.packets[l.waiting.n] }

// frame takes a frame. A RoCEv2 packet waits for those behind it, as far as they are in memory.
func (l *listing) frame(f *capture.Frame, p *roce.Packet, err error) error {
	if l.start.IsZero() {
		l.start = f.Time
	}
	passes, filterErr := l.filter.passes(f, l.start)
	if filterErr != nil {
		return filterErr
	}
	if err != nil {
		return l.other(f, p, passes)
	}
	l.frames[l.waiting.n], l.passes[l.waiting.n] = *f, passes
	l.waiting.put(f)
	if l.waiting.n < flow.MaxBurst && l.limit == 0 && f.Carrier() == f && l.source.Stays() {
		return nil
	}
	return l.showAll()
}

// other shows a frame that is not RoCEv2, where it has a notification; p has its parse.
func (l *listing) other(f *capture.Frame, p *roce.Packet, passes bool) error {
	if err := l.showAll(); err != nil {
		return err
	}
	n := l.notification(f, p)
	if n == nil || !passes || !l.filter.matchesMessage(&l.message.Envelope) {
		return nil
	}
	return l.show(f, newNotificationRecord(f, n, &l.message.Envelope))
}

// notification returns the one in a frame, and counts its verdict; nil for none.
func (l *listing) notification(f *capture.Frame, p *roce.Packet) *notification {
	n := newNotification(&l.message, f.ParseNotification(&l.message, p, l.codePoints))
	if n != nil {
		l.seen.add(n)
	}
	return n
}

// showAll observes and shows the packets that wait.
func (l *listing) showAll() error {
	n := l.waiting.n
	l.health.observeBurst(&l.waiting, func(i int, e health.Event, missing uint32) {
		l.events[i], l.missing[i] = e, missing
	})
	l.waiting.n = 0
	for i := range n {
		if err := l.packet(i); err != nil {
			return err
		}
	}
	return nil
}

// packet shows a packet of the burst.
func (l *listing) packet(i int) error {
	f, p, e, known := &l.frames[i], &l.waiting.packets[i], l.events[i], &l.health.seen[i]
	n := l.notification(f, p)
	if !l.passes[i] || !l.filter.matches(p, known.SrcQP, known.From, e) {
		return nil
	}
	r := &l.record
	r.set(f, p, known.SrcQP, known.From)
	r.Event, r.Notification = e.String(), n
	if e == health.Gap {
		r.Missing = l.missing[i]
	}
	return l.show(f, r)
}

// shown is a line of the output.
type shown interface {
	// row appends the cells of the table; times count from start.
	row(cells []string, start time.Time, ports bool) []string
}

// show writes a line, and passes its frame on to be kept.
func (l *listing) show(f *capture.Frame, line shown) error {
	l.shown++
	if l.rows == nil {
		record, err := l.fields.of(line)
		if err == nil {
			err = l.encoder.Encode(record)
		}
		if err != nil {
			return err
		}
	} else {
		l.cells = line.row(l.cells[:0], l.start, l.ports)
		l.rows.Row(cellsAt(l.cells, l.at)...)
	}
	if f = f.Carrier(); l.keep != nil && f.Number != l.kept {
		l.kept = f.Number
		if err := l.keep(f); err != nil {
			return err
		}
	}
	if l.shown == l.limit {
		return errEnough
	}
	return nil
}
