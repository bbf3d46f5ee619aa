// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cmd/sluice/internal/capture"
	"sluice/orchagent-ext/diagnosis"
	"sluice/orchagent-ext/notify"
	"sluice/orchagent-ext/roce"
)

// packetList prints packets one by one, for decode and observe.
type packetList struct {
	json       bool
	ports      bool // columns for the ports
	codePoints notify.CodePoints
	filter     packetFilter
	limit      int // ends after so many were shown; 0: never

	shown int
}

// print prints the packets of r as they come, and at the end what there was.
func (l *packetList) print(cmd *cobra.Command, r frameSource) error {
	out := bufio.NewWriter(cmd.OutOrStdout())
	encoder := json.NewEncoder(out)
	var rows *table
	if !l.json {
		rows = newTable(out, recordHeader(l.ports)...)
	}
	r.BeforeWaiting(func() {
		if rows != nil {
			rows.flush()
		}
		_ = out.Flush() // the error comes again at the end
	})
	health := newHealth()
	var start time.Time
	var message notify.Packet
	var seen verdicts
	show := func(record any, cells func(time.Time, bool) []string) error {
		l.shown++
		err := error(nil)
		if l.json {
			err = encoder.Encode(record)
		} else {
			rows.row(cells(start, l.ports)...)
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
		n := newNotification(&message, f.ParseNotification(&message, l.codePoints))
		if n != nil {
			seen.add(n)
		}
		if err != nil {
			if n == nil || !l.filter.matchesMessage(&message.Envelope) {
				return nil
			}
			r := newNotificationRecord(f, n, &message.Envelope)
			return show(r, r.cells)
		}
		qp, from, e, missing := health.observe(f, p)
		if !l.filter.matches(p, qp, from, e) {
			return nil
		}
		r := newRecord(f, p, qp, from)
		r.Event, r.Missing = e.String(), missing
		if e != diagnosis.Gap {
			r.Missing = 0
		}
		r.Notification = n
		return show(r, r.cells)
	})
	if err == errEnough {
		err = nil
	}
	// What was decoded before an error is worth showing, too.
	if rows != nil {
		if tableErr := rows.end(); err == nil {
			err = tableErr
		}
	}
	if flushErr := out.Flush(); err == nil {
		err = flushErr
	}
	if err = interrupted(cmd, err); err != nil && err != errInterrupted {
		return err
	}
	text := s.String()
	if !l.filter.empty() {
		text += fmt.Sprintf("; %d shown", l.shown)
	}
	fmt.Fprintln(cmd.ErrOrStderr(), text)
	if seen.total > 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), &seen)
	}
	return err
}
