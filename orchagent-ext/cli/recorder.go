// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/cli/terminal"
	"sluice/orchagent-ext/cli/units"
	"sluice/orchagent-ext/view/frame"
	"sluice/orchagent-ext/view/framefile"
	"sluice/yang/text"
)

// sizeFlag is a number of octets, as operators write it.
type sizeFlag struct{ octets *int64 }

// Set implements [pflag.Value].
func (f sizeFlag) Set(s string) error {
	n, err := units.Parse(s, "octets")
	if err != nil {
		return err
	}
	const most = 1 << 50
	if n > most {
		return fmt.Errorf("%q is more than a file has", s)
	}
	*f.octets = int64(n)
	return nil
}

// String implements [pflag.Value].
func (f sizeFlag) String() string { return octetsText(*f.octets) }

// Type implements [pflag.Value].
func (f sizeFlag) Type() string { return "size" }

// octetsText is a number of octets for people.
func octetsText(n int64) string {
	of, unit := float64(n), "B"
	for _, larger := range []string{"kB", "MB", "GB", "TB"} {
		if of < 999.5 { // else three digits would be 1e+03
			break
		}
		of, unit = of/1000, larger
	}
	return strconv.FormatFloat(of, 'g', 3, 64) + unit
}

// recorder is one run of `sluice record`.
type recorder struct {
	size         int64
	every, span  time.Duration
	cmd          *cobra.Command
	file         *framefile.Writer
	name         string
	shown        time.Time // when progress was
	of, answered int       // switches of the last frame
}

// newRecordCommand returns `sluice record`.
func newRecordCommand() *cobra.Command {
	r := &recorder{size: 1e9}
	cmd := &cobra.Command{
		Use:   "record FILE",
		Short: "Record what Sluice does into a file, which show --at reads",
		Long: `Record the state of this machine's Sluice into FILE, or that of the switches of --target: the rows
that show and top read, once a second. sluice show --at TIME --from FILE then shows what show did at that
time.

The file has --size at most: the oldest frames go. A record that exists goes on, behind what it has; --force
starts a new one. Each ten seconds are written at once: a process that is killed loses these at most, and
a file that is cut is read up to there. It holds what show config shows: give it to those who may see that.

Ctrl-C ends the command, with all that was read in the file.`,
		Example: `  sluice record leaf1.record --for 10m
  sluice record fabric.record --target all --size 4GB`,
		Args: kit.Exactly("FILE"),
	}
	flags := cmd.Flags()
	dbs := addDatabases(flags)
	switches := addTargets(flags)
	completeTargets(cmd)
	flags.Var(sizeFlag{&r.size}, "size", "how much of the disk the file may have; the oldest frames go")
	flags.DurationVar(&r.every, "every", time.Second, "time between frames")
	flags.DurationVar(&r.span, "for", 0, "end after this time; 0: never")
	target := kit.AddForce(cmd)
	format := kit.AddFormat(flags, "one object, at the end")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case r.every < shortestInterval || r.every > longestInterval:
			return fmt.Errorf("--every %v: from %v to %v are possible", r.every, shortestInterval, longestInterval)
		case r.span < 0:
			return errors.New("--for must be 0 or more")
		}
		if err := switches.check(flags); err != nil {
			return err
		}
		from, err := newFrameReader(cmd, dbs, switches)
		if err != nil {
			return err
		}
		defer from.close()
		r.cmd, r.name = cmd, args[0]
		return r.run(from, target(r.name).Force, *format)
	}
	return cmd
}

// run records, and sums up.
func (r *recorder) run(from *frameReader, replace bool, format output.Format) error {
	ctx := r.cmd.Context()
	var ended <-chan time.Time // switches have their time to answer until then, too
	if r.span > 0 {
		timer := time.NewTimer(r.span)
		defer timer.Stop()
		ended = timer.C
	}
	first := from.read(ctx)
	if ctx.Err() == nil && from.fleet == nil && answered(first) == 0 {
		return errors.New(first.Switches[0].Missing)
	}
	var err error
	if r.file, err = framefile.Create(r.name, framefile.Options{Size: r.size, Replace: replace}); err != nil {
		return err
	}
	err = r.record(ctx, ended, from, first)
	r.progressEnds()
	if closed := r.file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	if err := r.sum(r.cmd.OutOrStdout(), format); err != nil {
		return err
	}
	switch {
	case r.cmd.Context().Err() != nil:
		return kit.ErrInterrupted
	case r.answered < r.of:
		return kit.Exited{Status: statusUnanswered}
	}
	return nil
}

// record adds frames until the context, or the time, ends.
func (r *recorder) record(ctx context.Context, ended <-chan time.Time, from *frameReader, first *frame.Frame) error {
	ticker := time.NewTicker(r.every)
	defer ticker.Stop()
	for f := first; ctx.Err() == nil; f = from.read(ctx) {
		if err := r.file.Add(f); err != nil {
			return err
		}
		r.of, r.answered = len(f.Switches), answered(f)
		r.progress()
		select {
		case <-ctx.Done():
		case <-ended:
			return nil
		case <-ticker.C:
		}
	}
	return nil
}

// progress shows on a terminal how far the record is.
func (r *recorder) progress() {
	w := r.cmd.ErrOrStderr()
	if _, is := terminal.Is(w); !is || time.Since(r.shown) < time.Second/2 {
		return
	}
	r.shown = time.Now()
	n, first, last := r.file.Added()
	fmt.Fprintf(w, "\r\x1b[K%s in %v, %s of %s, %d of %d switches answer", kit.Plural(int(n), "frame"), last.Sub(first).Round(time.Second), octetsText(r.file.Size()), octetsText(r.size), r.answered, r.of)
}

// progressEnds removes the line.
func (r *recorder) progressEnds() {
	if !r.shown.IsZero() {
		fmt.Fprint(r.cmd.ErrOrStderr(), "\r\x1b[K")
	}
}

// recordReport is the JSON of a recording.
type recordReport struct {
	File     string    `json:"file"`
	Frames   uint64    `json:"frames"`
	Switches int       `json:"switches"`
	Answer   int       `json:"answer"` // of the switches, at the end
	First    time.Time `json:"first,omitzero"`
	Last     time.Time `json:"last,omitzero"`
	Octets   int64     `json:"octets"`
}

// sum prints the size and the span of a recording.
func (r *recorder) sum(w io.Writer, format output.Format) error {
	n, first, last := r.file.Added()
	if format.Data() {
		return format.Write(w, recordReport{r.name, n, r.of, r.answered, first.UTC(), last.UTC(), r.file.Size()})
	}
	if n == 0 {
		_, err := fmt.Fprintf(w, "no frame in %s\n", text.Printable(r.name))
		return err
	}
	_, err := fmt.Fprintf(w, "%s from %s to %s in %s, %s; %d of %d switches answer\n", kit.Plural(int(n), "frame"), shortTime(first), shortTime(last), text.Printable(r.name), octetsText(r.file.Size()), r.answered, r.of)
	return err
}
