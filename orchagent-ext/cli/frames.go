// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/view/frame"
	"sluice/yang/rows"
)

// frameReader reads the state of switches as frames: of this machine, or of those of --target.
type frameReader struct {
	name  string    // of this machine
	here  databases // of this machine; nil: fleet is asked
	fleet *fleet
}

// newFrameReader returns the reader of the switches that the command line names, or of this machine.
func newFrameReader(cmd *cobra.Command, dbs *databaseFlags, switches *targetFlags) (*frameReader, error) {
	if switches.used(cmd.Flags()) {
		f, err := switches.open(cmd)
		return &frameReader{fleet: f}, err
	}
	name, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	opened, err := dbs.open("CONFIG_DB", "STATE_DB", "COUNTERS_DB")
	return &frameReader{name: name, here: opened}, err
}

// close closes the connections.
func (r *frameReader) close() {
	if r.fleet != nil {
		r.fleet.Close()
	}
	_ = r.here.close() // only reads went over them
}

// read returns the state now. Switches that do not answer are in it, with the reason.
func (r *frameReader) read(ctx context.Context) *frame.Frame {
	if r.fleet == nil {
		s := frame.Switch{Name: r.name}
		for database, tables := range frame.Tables {
			some, err := r.here.read(ctx, database, tables...)
			if err != nil {
				s.Missing, s.Rows = err.Error(), nil
				break
			}
			s.Rows = append(s.Rows, some...)
		}
		s.Rows = frame.Sorted(s.Rows)
		at := frameTime()
		if s.Missing == "" {
			s.At = at
		}
		return &frame.Frame{At: at, Switches: []frame.Switch{s}}
	}
	f := &frame.Frame{At: frameTime()}
	for _, a := range r.fleet.Read(ctx, frame.Tables) {
		s := frame.Switch{Name: a.Target.Name, Address: a.Target.Address, At: a.At, Rows: frame.Sorted(a.Rows)}
		if a.Err != nil {
			s.Missing = a.Err.Error()
		}
		f.Switches = append(f.Switches, s)
	}
	return f
}

// frameTime is the time now, to the millisecond: a page asks for the time of a frame with no more digits.
func frameTime() time.Time { return time.Now().Truncate(time.Millisecond) }

// answered counts the switches of a frame that answered.
func answered(f *frame.Frame) int {
	n := 0
	for i := range f.Switches {
		if f.Switches[i].Missing == "" {
			n++
		}
	}
	return n
}

// rowsOf returns the rows of tables, by the database that they are in; a name that ends in * is that of
// all which begin so.
func rowsOf(all []rows.Row, wanted map[string][]string) (some []rows.Row) {
	for _, r := range all {
		if isOf(r.Table, wanted) {
			some = append(some, r)
		}
	}
	return some
}
