// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"fmt"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
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

	shown int // packets
}

// print prints the packets of r as they come, and at the end the summary.
func (l *packetList) print(cmd *cobra.Command, r frameSource) error {
	out := bufio.NewWriterSize(cmd.OutOrStdout(), 1<<16)
	p := listing{packetList: l, source: r, encoder: l.format.Encoder(out), health: newHealth(r)}
	if !l.format.Data() {
		var columns output.Columns
		columns, p.at = l.fields.columns(recordColumns(l.ports))
		p.rows = columns.Table(out, l.format.Style(cmd.OutOrStdout()))
	}
	r.BeforeWaiting(func() {
		if p.rows != nil {
			p.rows.Flush()
		}
		_ = out.Flush() // the error comes again at the end
	})
	s, err := scan{look: roce.LookThrough, samples: true}.read(cmd, r, p.place, p.frame)
	// The packets that were decoded before an error are shown, too.
	if showErr := p.showAll(); err == nil {
		err = showErr
	}
	if err == errEnough {
		err = nil
	}
	if p.rows != nil {
		if tableErr := p.rows.End(); err == nil {
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
	if p.seen.total > 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), &p.seen)
	} else if s.RoCE == 0 {
		s.advise(cmd)
	}
	return err
}
