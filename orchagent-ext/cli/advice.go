// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/advised"
	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/cli/socket"
	"sluice/orchagent-ext/wire/notify"
)

// newAdviceCommand makes `sluice advise`.
func newAdviceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "advise",
		Aliases: []string{"advice"},
		Short:   "Rate Advice on the side of the sender",
		Long: `Rate Advice (draft-zz) on the side of the sender: which rate holds for which of its queue pairs.

Each command has its own --help.`,
		Example: `  sluice advise listen --json`,
		Args:    kit.Exactly(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAdviceListenCommand())
	return cmd
}

// adviceLifetime is three intervals of SLUICE_RATE_ADVICE's default.
const adviceLifetime = 30 * time.Millisecond

// newAdviceListenCommand makes `sluice advise listen`.
func newAdviceListenCommand() *cobra.Command {
	l := &adviceListener{}
	cmd := &cobra.Command{
		Use:   "listen",
		Short: "Print the rate that holds for each queue pair, whenever it changes",
		Long: `Listen for Rate Advice to this host and print the rate that holds for each of its queue pairs,
whenever that changes: the lowest of the advice that has not expired. Rate 0 says that no advice
holds any more: the sender is free. CNPs come first: the first of several is printed at once, and while
they come the rate falls with lower advice and does not rise.

With --json it prints an object a line, as a controller of a NIC's congestion control or a plugin of
a collective library reads it. An advice counts when its ICRC is right, its version known and its rate
above 0; the rest is counted by reason. Nothing proves who sent it: --from names who may advise.
It needs the capability CAP_NET_RAW.`,
		Example: `  sluice advise listen
  sluice advise listen --dev eth0 --json --from 2001:db8::/32 --for 10s`,
		Args: kit.Exactly(),
	}
	flags := cmd.Flags()
	flags.StringVarP(&l.dev, "dev", "i", "", "device; without it all")
	l.format = kit.AddFormat(flags, "one object a line")
	flags.DurationVar(&l.lifetime, "lifetime", adviceLifetime, "how long an advice holds: 3 intervals of the nodes that advise")
	flags.DurationVar(&l.span, "for", 0, "end after this time; 0: never")
	flags.IntVarP(&l.count, "count", "c", 0, "end after so many changes; 0: never")
	flags.StringSliceVar(&l.prefixes, "from", nil, "prefixes of the nodes that may advise; without it all")
	codePoints := kit.AddCodePoints(flags)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var err error
		if l.codePoints, err = codePoints(); err != nil {
			return err
		}
		if l.count < 0 || l.span < 0 || l.lifetime <= 0 {
			return errors.New("--count and --for must be 0 or more, --lifetime more than 0")
		}
		for _, text := range l.prefixes {
			p, err := netip.ParsePrefix(text)
			if err != nil {
				return fmt.Errorf("--from %s: want a prefix such as 2001:db8::/32", text)
			}
			l.from = append(l.from, p.Masked())
		}
		return l.run(cmd)
	}
	return cmd
}

// adviceListener has the flags of `sluice advise listen` and its state.
type adviceListener struct {
	dev        string
	format     *output.Format
	lifetime   time.Duration
	span       time.Duration
	count      int
	prefixes   []string
	from       []netip.Prefix
	codePoints notify.CodePoints

	table  *advised.Table
	own    map[netip.Addr]bool
	seen   verdicts
	foes   int // advice from who may not
	shown  int
	output func(advised.Rate, time.Time) error
}

// advisedRate is a change as --json prints it.
type advisedRate struct {
	Time     time.Time   `json:"time"`
	Host     netip.Addr  `json:"host"`
	QP       uint32      `json:"qp"`
	Mbps     uint32      `json:"rate_mbps"`
	By       *netip.Addr `json:"by,omitempty"`
	Receiver *uint32     `json:"receiver_qp,omitempty"`
	CNP      bool        `json:"cnp,omitempty"` // congestion was indicated: the rate stays or falls meanwhile
}

// run receives advice on the devices until the user ends it, or count rates are
// shown.
func (l *adviceListener) run(cmd *cobra.Command) error {
	link, err := socket.OpenLink(l.dev)
	if err != nil {
		return err
	}
	defer link.Close()
	if l.own, err = socket.OwnAddresses(); err != nil {
		return err
	}
	l.table = advised.New(l.lifetime)
	l.output = l.text(cmd)
	if l.format.Data() {
		l.output = l.object(cmd)
	}
	return listening(cmd, "listening for Rate Advice", l.dev, l.span, func(ctx context.Context) error {
		err := l.loop(ctx, link)
		fmt.Fprintf(cmd.ErrOrStderr(), "%v; %d from elsewhere, %d without room\n", &l.seen, l.foes, l.table.Full)
		return err
	})
}

// loop shows the rate of each queue pair whenever it changes, also when advice
// expires.
func (l *adviceListener) loop(ctx context.Context, link *socket.Link) error {
	var p notify.Packet
	start := time.Now()
	for l.count == 0 || l.shown < l.count {
		frame, err := l.receive(ctx, link, start)
		now := time.Now()
		for _, r := range l.table.Expire(int64(now.Sub(start))) {
			if err := l.show(r, now); err != nil {
				return err
			}
		}
		if errors.Is(err, errNothingCame) {
			continue
		}
		if err != nil {
			return err
		}
		n := newNotification(&p, p.Parse(frame.Data, l.codePoints))
		if n == nil || n.kind() != notify.KindRateAdvice.String() && n.kind() != notify.KindCNP.String() || !l.own[p.Envelope.Dst] {
			continue
		}
		l.seen.add(n)
		if n.Verdict != "accepted" {
			continue
		}
		rate, changed := l.take(int64(now.Sub(start)), &p)
		if !changed {
			continue
		}
		if err := l.show(rate, now); err != nil {
			return err
		}
	}
	return nil
}

// take takes an advice, or a CNP: any node may send that, as receivers do.
func (l *adviceListener) take(now int64, p *notify.Packet) (rate advised.Rate, changed bool) {
	if p.Kind == notify.KindCNP {
		return l.table.Congested(now, advised.QueuePair{Host: p.Envelope.Dst, QP: p.CNP.DestQP})
	}
	if !l.may(p.Envelope.Src) {
		l.foes++
		return rate, false
	}
	m := &p.RateAdvice
	return l.table.Take(now, advised.QueuePair{Host: p.Envelope.Dst, QP: m.DestinationQP}, advised.Source{Node: p.Envelope.Src, QP: m.SourceQP}, m.Rate)
}

// errNothingCame means that the next advice expires before a frame came. The loop shows
// the expiry and goes on.
var errNothingCame = errors.New("nothing came before an advice expired")

// receive waits for a frame until an advice expires.
func (l *adviceListener) receive(ctx context.Context, link *socket.Link, start time.Time) (socket.Frame, error) {
	at, ok := l.table.Next()
	if !ok {
		at = math.MaxInt64 / 2
	}
	until, cancel := context.WithDeadline(ctx, start.Add(time.Duration(at)))
	defer cancel()
	frame, err := link.Receive(until)
	if err != nil && until.Err() != nil && ctx.Err() == nil {
		err = errNothingCame
	}
	return frame, err
}

// may reports whether a node is among those whose advice is accepted.
//
//conformance:draft-zz/security
func (l *adviceListener) may(node netip.Addr) bool {
	for _, p := range l.from {
		if p.Contains(node) {
			return true
		}
	}
	return l.from == nil
}

// show prints one rate with the time at which it became the one in force, and counts it
// for --count.
func (l *adviceListener) show(r advised.Rate, at time.Time) error {
	l.shown++
	return l.output(r, at)
}

// text returns the function that prints rates as a table.
func (l *adviceListener) text(cmd *cobra.Command) func(advised.Rate, time.Time) error {
	return func(r advised.Rate, at time.Time) error {
		what := "free: no advice holds"
		if r.Mbps != 0 {
			what = fmt.Sprintf("%d Mbit/s, by %s for receiver %#06x", r.Mbps, r.By.Node, r.By.QP)
		}
		if r.CNP {
			what += "; CNPs come"
		}
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s  %s  queue pair %#06x  %s\n", at.Format("15:04:05.000000"), r.Host, r.QP, what)
		return err
	}
}

// object returns the function that prints rates as JSON, an object a line.
func (l *adviceListener) object(cmd *cobra.Command) func(advised.Rate, time.Time) error {
	encoder := l.format.Encoder(cmd.OutOrStdout())
	return func(r advised.Rate, at time.Time) error {
		o := advisedRate{Time: at.UTC(), Host: r.Host, QP: r.QP, Mbps: r.Mbps, CNP: r.CNP}
		if r.Mbps != 0 {
			o.By, o.Receiver = &r.By.Node, &r.By.QP
		}
		return encoder.Encode(o)
	}
}
