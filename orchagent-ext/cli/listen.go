// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/cli/socket"
	"sluice/orchagent-ext/wire/notify"
)

// newListenCommand returns `sluice listen`.
func newListenCommand() *cobra.Command {
	l := &listener{}
	cmd := &cobra.Command{
		Use:   "listen",
		Short: "Print the notifications that come in, and what the receive rules say of each",
		Long: `Print the notifications that come in (PFCM, PPFC, Rate Advice, CNP, PFC), and what the receive
rules say of each: accepted, or refused and why. What is addressed to others is passing: a router
sees it and does not obey it. Nothing is answered or obeyed. Needs the capability CAP_NET_RAW.

It listens below the kernel's IP, so that messages with a wrong checksum are seen, too.
The packets of generated traffic are verified by sluice-lab verify.`,
		Example: `  sluice listen
  sluice listen --dev eth0 --json --for 10s
  sluice listen --count 1`,
		Args: kit.Exactly(),
	}
	flags := cmd.Flags()
	flags.StringVarP(&l.dev, "dev", "i", "", "device; without it all, but then PFC only where a device receives its group already")
	l.format = kit.AddFormat(flags, "one object a line")
	flags.IntVarP(&l.count, "count", "c", 0, "end after so many; 0: never")
	flags.DurationVar(&l.span, "for", 0, "end after this time; 0: never")
	verify := flags.Bool("verify", false, "sluice-lab verify")
	kit.Hide(flags, "verify")
	codePoints := kit.AddCodePoints(flags)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var err error
		if l.codePoints, err = codePoints(); err != nil {
			return err
		}
		if l.count < 0 || l.span < 0 {
			return errors.New("--count and --for must be 0 or more")
		}
		if *verify {
			return inLab(cmd, l.verifyArguments(cmd))
		}
		return l.run(cmd)
	}
	return cmd
}

// verifyArguments returns the command line of sluice-lab for --verify, which was a flag here.
func (l *listener) verifyArguments(cmd *cobra.Command) []string {
	args := []string{"verify"}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "dev", "count", "for", "output":
			args = append(args, "--"+f.Name, f.Value.String())
		case "json":
			args = append(args, "--json")
		}
	})
	return args
}

// listener has the flags of listen, this host's addresses and the sums of the verdicts.
type listener struct {
	// dev is the device, "" for all; count and span end the listening, 0 for neither.
	dev        string
	format     *output.Format
	count      int
	span       time.Duration
	codePoints notify.CodePoints
	own        map[netip.Addr]bool
	seen       verdicts
}

// heard is one message as --json prints it.
type heard struct {
	Time   time.Time `json:"time"`
	Device string    `json:"dev"`
	*notification
}

// run opens the link, prints notifications until the count, the time or an interrupt, and
// then the sums.
func (l *listener) run(cmd *cobra.Command) error {
	link, err := socket.OpenLink(l.dev, notify.PFCAddress)
	if err != nil {
		return err
	}
	defer link.Close()
	if l.own, err = socket.OwnAddresses(); err != nil {
		return err
	}
	return listening(cmd, "listening", l.dev, l.span, func(ctx context.Context) error {
		err := l.loop(ctx, cmd, link)
		fmt.Fprintln(cmd.ErrOrStderr(), &l.seen)
		return err
	})
}

// listening runs f until it returns, span (0: no limit) is over, or the user ends it; the last two
// are no errors. doing and the device ("": all) are printed before.
func listening(cmd *cobra.Command, doing, dev string, span time.Duration, f func(context.Context) error) error {
	ctx := cmd.Context()
	if span > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, span)
		defer cancel()
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s on %s\n", doing, cmp.Or(dev, "all devices"))
	if err := f(ctx); ctx.Err() == nil {
		return err
	}
	return nil
}

// loop prints a line for each notification. Frames other than notifications are skipped.
// A message to another host is "passing": a router forwards it, whatever it holds.
func (l *listener) loop(ctx context.Context, cmd *cobra.Command, link *socket.Link) error {
	encoder := l.format.Encoder(cmd.OutOrStdout())
	var p notify.Packet
	for l.count == 0 || l.seen.total < l.count {
		frame, err := link.Receive(ctx)
		if err != nil {
			return err
		}
		n := newNotification(&p, p.Parse(frame.Data, l.codePoints))
		if n == nil {
			continue
		}
		if to := p.Envelope.Dst; to.IsValid() && !to.IsMulticast() && !l.own[to] {
			n.Verdict, n.Reason, n.why = "passing", "", ""
		}
		l.seen.add(n)
		if l.format.Data() {
			err = encoder.Encode(heard{frame.Time.UTC(), frame.Device, n})
		} else {
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s  %s  %s  %s  %s\n", frame.Time.Format("15:04:05.000000"), frame.Device, n.kind(), n, n.says())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
