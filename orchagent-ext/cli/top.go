// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/cli/terminal"
	"sluice/orchagent-ext/cli/top"
	"sluice/yang/rows"
	"sluice/yang/text"
)

// Limits of --interval: below the first, Redis has more to do than it should for
// one who looks on.
const (
	shortestInterval = 100 * time.Millisecond
	longestInterval  = time.Hour
)

// newTopCommand returns `sluice top`.
func newTopCommand() *cobra.Command {
	t := &watcher{}
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch a running Sluice: ports, path share, heaviest flows, CPU path",
		Long: `Watch a running Sluice: state and warnings, the rates of its ports and how evenly the fabric ports
share the load, its heaviest flows, and what the CPU path does. It reads what sluiced writes into
STATE_DB and COUNTERS_DB once a second, and changes nothing.

On a terminal: q quits, s sorts by the next column, p pauses, j and k scroll, / searches, ? explains
keys and columns. Elsewhere frames come one behind the other, without escape codes. Rates need two readings, so the first
frame of these comes after one interval.

Redis may be down: the frame says so, what was read last stays, and it goes on by itself.

With --target it watches another switch by gNMI. Several have a line each, the worst first; one that does
not answer costs its own line.`,
		Example: `  sluice top
  sluice top --sort packets --port Ethernet0
  sluice top --once
  sluice top --json --interval 10s --count 6
  sluice top --target leaf1
  sluice top --target all`,
		Args: kit.Exactly(),
	}
	flags := cmd.Flags()
	dbs := addDatabases(flags)
	switches := addTargets(flags)
	completeTargets(cmd)
	flags.DurationVar(&t.interval, "interval", time.Second, "time between frames")
	flags.IntVarP(&t.count, "count", "c", 0, "end after so many frames; 0: never")
	once := flags.Bool("once", false, "print one frame, plain, and end")
	t.format = kit.AddFormat(flags, "one object a frame, a line each")
	order := kit.AddChoice(flags, "sort", "by what flows are sorted", string(top.ByRate), string(top.ByPackets), string(top.ByBytes), string(top.ByQP), string(top.ByPort))
	flags.StringVarP(&t.port, "port", "p", "", "only this port, and the flows whose rows name it")
	kit.Register(cmd, "port", func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return keysOf(cmd.Context(), dbs, "CONFIG_DB", "PORT"), cobra.ShellCompDirectiveNoFileComp
	})
	flags.IntVarP(&t.flows, "top", "n", 0, "so many flows at most (default: as many as fit, where there is no screen 20)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if t.interval < shortestInterval || t.interval > longestInterval {
			return fmt.Errorf("--interval %v: from %v to %v are possible", t.interval, shortestInterval, longestInterval)
		}
		if t.count < 0 {
			return errors.New("--count must be 0 or more")
		}
		if flags.Changed("top") && t.flows < 1 {
			return fmt.Errorf("--top %d: must be 1 or more", t.flows)
		}
		if *once {
			if t.count != 0 {
				return errors.New("--once is one frame: leave --count out")
			}
			t.count = 1
		}
		t.order = top.Order(*order)
		if err := switches.check(flags); err != nil {
			return err
		}
		done, err := t.connect(cmd, dbs, switches)
		if err != nil {
			return err
		}
		defer done()
		if t.many == nil {
			if err := t.checkPort(cmd.Context()); err != nil {
				return err
			}
		}
		in, typed := terminal.Is(cmd.InOrStdin())
		out, shown := terminal.Is(cmd.OutOrStdout())
		if typed && shown && !t.format.Data() && !*once && os.Getenv("TERM") != "dumb" {
			return t.live(cmd.Context(), in, out)
		}
		return t.print(cmd.Context(), cmd.OutOrStdout(), *once)
	}
	return cmd
}

// checkPort rejects an unknown port. While Redis is down it accepts any.
func (t *watcher) checkPort(ctx context.Context) error {
	if t.port == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completionPatience)
	defer cancel()
	ports, err := t.databases.read(ctx, "CONFIG_DB", "PORT")
	counted, errCounted := t.databases.read(ctx, "COUNTERS_DB", "SLUICE_PORT_STATS")
	if err != nil || errCounted != nil {
		return nil // the frame shows it
	}
	var names []string
	for _, r := range append(ports, counted...) {
		names = append(names, r.Key)
	}
	slices.SortFunc(names, rows.Natural)
	names = slices.Compact(names)
	if len(names) == 0 || slices.Contains(names, t.port) {
		return nil
	}
	if near := text.Nearest(t.port, names); near != "" {
		return fmt.Errorf("--port %s: there is no such port: did you mean %s?", t.port, near)
	}
	return fmt.Errorf("--port %s: there is no such port; there are: %s", t.port, strings.Join(names[:min(len(names), 8)], ", "))
}

// watcher is one run of the command.
type watcher struct {
	interval    time.Duration
	count       int // frames; 0: endless
	format      *output.Format
	encoder     output.Encoder // of the format, to standard output
	order       top.Order
	port        string
	search      string // in flows
	flows       int
	host        string
	databases   rowSource
	skew        func() time.Duration // how far the clock of the switch is ahead; nil: it is this machine
	history     top.History
	unread      string
	unreadSince time.Time
	many        *manySwitches // nil: one switch is watched
}

// drawing is the content of a screen: a switch, or several.
type drawing interface {
	Frame(l top.Layout) string
	Skip(n int) int
}

// plainFlows is how many flows a frame has on standard output, which has no
// height.
const plainFlows = 20

// print writes frames one after the other. once writes a single frame; an error
// of reading is then an error of the command.
func (t *watcher) print(ctx context.Context, w io.Writer, once bool) error {
	t.encoder = t.format.Encoder(w)
	if t.flows == 0 && !t.format.Data() {
		t.flows = plainFlows
	}
	ticker := time.NewTicker(t.interval)
	defer ticker.Stop()
	t.add(t.read(ctx))
	for n := 0; t.count == 0 || n < t.count; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		r := t.read(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if once && r.err != nil {
			return r.err
		}
		t.add(r)
		if err := t.write(w, n > 0); err != nil {
			return err
		}
	}
	if once && t.many != nil {
		return t.many.missing()
	}
	return nil
}

// write writes one frame, or with --json one object a line; apart adds an empty line
// between frames of text.
func (t *watcher) write(w io.Writer, apart bool) error {
	v := t.view(t.now())
	if t.format.Data() {
		return t.encoder.Encode(v)
	}
	frame := v.Frame(top.Layout{UTF8: terminal.UTF8(os.Getenv), Order: t.order})
	if apart {
		frame = "\n" + frame
	}
	_, err := io.WriteString(w, frame)
	return err
}

// view is the view as the flags want it.
func (t *watcher) view(now time.Time) drawing {
	if t.many != nil {
		return t.many.view(now)
	}
	unread := ""
	if t.unread != "" {
		unread = fmt.Sprintf("the databases cannot be read since %s: %s", t.unreadSince.UTC().Format("15:04:05"), t.unread)
	}
	v := t.history.View(t.host, now, unread)
	if t.port != "" {
		v.Only(t.port)
	}
	if t.search != "" {
		v.Find(t.search)
	}
	v.Sort(t.order)
	v.Limit(t.flows)
	return v
}
