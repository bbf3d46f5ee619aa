// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/flows/health"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// packetList prints packets one by one, for decode and observe.
type packetList struct {
	format     output.Format
	ports      bool // columns for the ports
	codePoints notify.CodePoints
	filter     packetFilter
	limit      int // ends after so many were shown, or 0
	fields     fieldChoice
	keep       func(*capture.Frame) error // gets the frames that are shown; may be nil

	shown int
}

// print prints the packets of r as they come, and at the end the summary.
func (l *packetList) print(cmd *cobra.Command, r frameSource) error {
	out := bufio.NewWriter(cmd.OutOrStdout())
	encoder := l.format.Encoder(out)
	var rows *output.Table
	var at []int // places of the columns
	if !l.format.Data() {
		var columns output.Columns
		columns, at = l.fields.columns(recordColumns(l.ports))
		rows = columns.Table(out, l.format.Style(cmd.OutOrStdout()))
	}
	r.BeforeWaiting(func() {
		if rows != nil {
			rows.Flush()
		}
		_ = out.Flush() // the error comes again at the end
	})
	table := newHealth(r)
	var start time.Time
	var message notify.Packet
	var seen verdicts
	kept := 0 // the number of the last frame
	show := func(f *capture.Frame, record any, cells func(time.Time, bool) []string) error {
		l.shown++
		err := error(nil)
		if rows == nil {
			if record, err = l.fields.of(record); err == nil {
				err = encoder.Encode(record)
			}
		} else {
			rows.Row(cellsAt(cells(start, l.ports), at)...)
		}
		if f = f.Carrier(); err == nil && l.keep != nil && f.Number != kept {
			kept, err = f.Number, l.keep(f)
		}
		if err == nil && l.shown == l.limit {
			err = errEnough
		}
		return err
	}
	s, err := scanThrough(cmd, r, func(f *capture.Frame, p *roce.Packet, err error) error {
		if start.IsZero() {
			start = f.Time
		}
		passes, filterErr := l.filter.passes(f, start)
		if filterErr != nil {
			return filterErr
		}
		n := newNotification(&message, f.ParseNotification(&message, p, l.codePoints))
		if n != nil {
			seen.add(n)
		}
		if err != nil {
			if n == nil || !passes || !l.filter.matchesMessage(&message.Envelope) {
				return nil
			}
			r := newNotificationRecord(f, n, &message.Envelope)
			return show(f, r, r.cells)
		}
		qp, from, e, missing := table.observe(f, p)
		if !passes || !l.filter.matches(p, qp, from, e) {
			return nil
		}
		r := newRecord(f, p, qp, from)
		r.Event, r.Missing = e.String(), missing
		if e != health.Gap {
			r.Missing = 0
		}
		r.Notification = n
		return show(f, r, r.cells)
	})
	if err == errEnough {
		err = nil
	}
	// The packets that were decoded before an error are shown, too.
	if rows != nil {
		if tableErr := rows.End(); err == nil {
			err = tableErr
		}
	}
	if flushErr := out.Flush(); err == nil {
		err = flushErr
	}
	if err = kit.Interrupted(cmd, err); !summed(err) {
		return err
	}
	text := s.String()
	if !l.filter.empty() {
		text += fmt.Sprintf("; %d shown", l.shown)
	}
	fmt.Fprintln(cmd.ErrOrStderr(), text)
	if seen.total > 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), &seen)
	} else if s.RoCE == 0 {
		s.advise(cmd)
	}
	return err
}
