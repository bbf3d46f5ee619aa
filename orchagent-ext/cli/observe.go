// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/wire/notify"
	"sluice/yang/text"
)

// newObserveCommand returns `sluice observe`.
func newObserveCommand() *cobra.Command {
	o := &observer{}
	cmd := &cobra.Command{
		Use:   "observe [FILE]",
		Short: "Show RoCEv2 packets as they pass: on devices, from a pipe, from a capture",
		Long: `Show RoCEv2 packets and notifications line by line as they pass: on network devices (--dev, any for
all; needs the capability CAP_NET_RAW), from a pipe (-), or from a capture (pcap or pcapng). It changes
nothing and sends nothing. The columns are those of decode, and IN and OUT: the port that a packet came
in or left by. A router shows a packet that it forwards twice: as it comes in, and as it leaves.

Filters of different kinds must all match; of one kind one value is enough. SRC-QP of a connection is
learned, and --qp finds packets by it from then on. --nak, --cnp and --retransmit are events: one of
them is enough.

FLAGS has what the PSN says, too: GAP:n (n are missing before it), REORDERED (it was missing, and was
overtaken), RETRANSMIT, RESTART (another connection). --health sums up by queue pair.

Ctrl-C ends it with a summary and exit code 0.`,
		Example: `  sluice observe --dev eth0
  sluice observe --dev any --nak --cnp
  sluice observe --dev eth0 --qp 0x11 --ecn ce --json --for 10s
  sluice observe --dev eth0 --health --for 10s
  sluice observe --dev eth0 --not --opcode ACKNOWLEDGE --write data.pcapng --for 10s
  sluice observe capture.pcap --since 1.5s --fields time,src,dst_qp,psn,event
  tcpdump -U -w - udp port 4791 | sluice observe --opcode write -
  sluice observe --src 192.168.70.0/24 --opcode ACKNOWLEDGE capture.pcap`,
		Args: kit.Between(0, "FILE"),
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&o.devices, "dev", "i", nil, "device, or any for all of them; again for more")
	flags.BoolVar(&o.health, "health", false, "instead of packets, at the end how each queue pair fared, by direction")
	format := kit.AddFormat(flags, "one object a line")
	flags.IntVarP(&o.list.limit, "count", "c", 0, "end after so many were shown; 0: never")
	flags.DurationVar(&o.span, "for", 0, "end after this time; 0: never")
	addPacketFilter(flags, &o.list.filter)
	addFields(flags, &o.list.fields)
	flags.StringVarP(&o.write, "write", "w", "", "also write the frames that are shown into this file: pcapng from devices, of a capture the same format")
	target := kit.AddForce(cmd)
	codePoints := kit.AddCodePoints(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0 && o.devices == nil:
			return errors.New("nothing to observe: give --dev DEVICE (or any), or a capture FILE (- is standard input)")
		case len(args) > 0 && o.devices != nil:
			return errors.New("either --dev or a FILE, not both")
		case o.health && !o.list.filter.flowsOnly():
			return errors.New("--health takes no filter but --src and --dst: with a part of a flow's packets the figures were wrong")
		case o.write != "" && o.health:
			return errors.New("--write is for packets that are shown: leave --health out")
		case o.write == "-":
			return errors.New("--write wants a file: standard output has the packets in text")
		case o.list.limit < 0 || o.span < 0:
			return errors.New("--count and --for must be 0 or more")
		}
		if err := o.list.filter.check(); err != nil {
			return err
		}
		o.list.format, o.target = *format, target
		var err error
		if o.list.codePoints, err = codePoints(); err != nil {
			return err
		}
		return o.run(cmd, args)
	}
	return cmd
}

// observer has the flags of observe.
type observer struct {
	devices []string
	span    time.Duration
	health  bool
	write   string // file for the frames that are shown, or ""
	target  func(string) output.Target
	list    packetList
}

// run observes devices, a pipe or a capture until its end, the time, or an interrupt. The
// end of a live observation is a success.
func (o *observer) run(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	if o.span > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.span)
		defer cancel()
		cmd.SetContext(ctx)
	}
	o.list.ports = true
	var err error
	if len(args) > 0 {
		err = o.file(cmd, args[0])
	} else {
		err = o.live(cmd)
	}
	// the time is over, or the user ended it
	if errors.Is(err, kit.ErrInterrupted) {
		return nil
	}
	return err
}

// file observes a capture or, with name "-", a pipe.
func (o *observer) file(cmd *cobra.Command, name string) error {
	r, err := capture.Open(cmd.Context(), name, cmd.InOrStdin())
	if err != nil {
		return err
	}
	defer r.Close()
	return o.print(cmd, r, func(to output.Target) (*capture.Writer, error) { return capture.CreateLike(to, r) })
}

// print prints the frames of a source: connections with --health, else packets, which it
// also writes into the file that create makes.
func (o *observer) print(cmd *cobra.Command, r frameSource, create func(output.Target) (*capture.Writer, error)) error {
	if o.health {
		return printHealth(cmd, r, o.list.format, false, &o.list.filter)
	}
	if o.write == "" {
		return o.list.print(cmd, r)
	}
	w, err := create(o.target(o.write))
	if err != nil {
		return err
	}
	defer w.Abort()
	o.list.keep = w.WriteFrame
	err = o.list.print(cmd, r)
	if !summed(err) {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s in %s\n", kit.Plural(o.list.shown, "frame"), o.write)
	return err
}

// live observes devices. It reports frames that the kernel dropped: the output is
// incomplete then.
func (o *observer) live(cmd *cobra.Command) error {
	l, err := openLive(cmd.Context(), o.devices, notify.PFCAddress)
	if err != nil {
		return err
	}
	defer l.Close()
	fmt.Fprintf(cmd.ErrOrStderr(), "observing %s\n", text.Printable(l.String()))
	err = o.print(cmd, l, capture.CreateLive)
	if n := l.Lost(); n > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s not seen: they came faster than they were read\n", kit.Plural(int(n), "packet"))
	}
	return err
}
