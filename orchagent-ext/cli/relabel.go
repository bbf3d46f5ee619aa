// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/roce"
)

// newRelabelCommand returns `sluice capture relabel`, which writes into a capture the labels that
// a switch would.
func newRelabelCommand() *cobra.Command {
	var algorithm flow.Algorithm
	cmd := &cobra.Command{
		Use:   "relabel IN OUT",
		Short: "Write the flow labels of draft-hu into a capture",
		Long: `Write flow labels into the packets of a capture as a switch would: into packets that carry
RoCEv2 directly over IPv6, with --tunnels outer also into the outermost header of IPv6 tunnels (SRv6).
Fragments are never labelled. Everything else of every packet stays as it was, octet by octet; UDP
checksum and ICRC do not cover the flow label. A flow's label is fixed by its first packet: an
unknown source queue pair counts as 0, and learning it later does not move the label.

By default only a label of 0 is written (RFC 6437 lets a forwarding node do no more);
--rewrite always also replaces labels that the sender set.`,
		Example: `  sluice capture relabel in.pcap out.pcap
  sluice capture relabel in.pcapng out.pcapng --algorithm crc32 --rewrite always`,
		Args: kit.Exactly("IN", "OUT"),
	}
	flags := cmd.Flags()
	addAlgorithm(flags, &algorithm)
	rewrite := kit.AddChoice(flags, "rewrite", "which labels to write", "zero-only", "always")
	tunnels := kit.AddChoice(flags, "tunnels", "what to write in IPv6 tunnels", "skip", "outer")
	target := kit.AddForce(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r, err := capture.Open(cmd.Context(), args[0], cmd.InOrStdin())
		if err != nil {
			return err
		}
		defer r.Close()
		w, err := capture.CreateLike(target(args[1]), r)
		if err != nil {
			return err
		}
		defer w.Abort()
		l := labeller{table: newFlowTable(r, nil), algorithm: algorithm, always: *rewrite == "always", outer: *tunnels == "outer"}
		s, err := scanFrames(cmd, r, func(f *capture.Frame, p *roce.Packet, err error) error {
			if err == nil {
				l.label(p, f.Nanos())
			}
			return w.WriteFrame(f)
		})
		if err != nil && !damaged(err) {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%s\n%s\n", s, &l)
		return err
	}
	return cmd
}

// labeller writes flow labels into packets, and counts the packets by result.
type labeller struct {
	table     *flow.Table
	algorithm flow.Algorithm
	always    bool
	outer     bool // labels tunnels, too

	written, labelled, ipv4, tunnelled, fragments int
}

// label writes the label of a packet's flow into p, or counts the reason to leave it
// alone. A flow keeps the label of its first packet, as on the switch.
func (l *labeller) label(p *roce.Packet, now int64) {
	f := l.table.Observe(p, now)
	switch {
	case p.Fragment():
		l.fragments++
	case p.Tunnelled() && !l.outer:
		l.tunnelled++
	case p.Is4() && !p.Tunnelled():
		l.ipv4++
	case !l.always && p.FlowLabel() != 0:
		l.labelled++
	default:
		p.SetFlowLabel(l.table.Label(f, l.algorithm))
		l.written++
	}
}

// String returns the sums for people, one line or two.
func (l *labeller) String() string {
	text := fmt.Sprintf("labels written: %d; left alone: %d labelled already, %d IPv4, %d tunnelled", l.written, l.labelled, l.ipv4, l.tunnelled)
	if l.fragments > 0 {
		text += fmt.Sprintf(", %d fragments", l.fragments)
	}
	if l.labelled > 0 {
		share := 100 * float64(l.labelled) / float64(l.labelled+l.written)
		text += fmt.Sprintf("\n%.1f %% of the packets that could be labelled had a label (--rewrite always replaces it)", share)
	}
	return text
}
