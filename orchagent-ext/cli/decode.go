// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/wire/notify"
)

// newDecodeCommand makes `sluice decode`.
func newDecodeCommand() *cobra.Command {
	var byFlow, health, icrc bool
	list := packetList{}
	var format *output.Format
	var codePoints func() (notify.CodePoints, error)
	cmd := &cobra.Command{
		Use:   "decode FILE",
		Short: "Decode the RoCEv2 packets and notifications of a capture, or sum up by flow",
		Long: `Decode the RoCEv2 packets of a capture (pcap or pcapng, - is standard input), and the
notifications in it: PFCM, PPFC, Rate Advice, CNP and PFC, with what the receive rules say of each.

SRC-QP is in the packet only for datagrams. For connections it is learned, and FROM says how:
deth (it is in the packet), cm (RDMA-CM, REQ joined with REP), ack (the reverse direction's
answers prove it). Until it is learned it is unknown: shown as ?, in JSON null; never guessed.

What comes by a pipe is shown as it comes. Ctrl-C ends the command with its summary and exit code 130,
or 0 where the input has ended, too.`,
		Example: `  sluice decode capture.pcap
  sluice decode --flows capture.pcapng
  sluice decode --flows --health capture.pcap
  sluice decode --nak --cnp -o yaml capture.pcap
  tcpdump -U -w - udp port 4791 | sluice decode --json -`,
		Args: kit.Exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := list.filter.check(); err != nil {
				return err
			}
			switch {
			case byFlow && (!list.filter.flowsOnly() || list.fields != nil):
				return errors.New("--flows takes no filter but --src and --dst, and no --fields: with a part of a flow's packets the figures were wrong")
			case health && !byFlow:
				return errors.New("--health is of flows: give --flows, too")
			case icrc && !byFlow:
				return errors.New("--icrc goes with --flows: without it the ICRC of each packet is shown")
			case health:
				return decodeHealth(cmd, args[0], *format, icrc, &list.filter)
			case byFlow:
				return decodeFlows(cmd, args[0], *format, icrc, &list.filter)
			}
			var err error
			if list.codePoints, err = codePoints(); err != nil {
				return err
			}
			list.format = *format
			return decodePackets(cmd, args[0], &list)
		},
	}
	format = kit.AddFormat(cmd.Flags(), "one object a line")
	cmd.Flags().BoolVar(&byFlow, "flows", false, "sum up by flow")
	cmd.Flags().BoolVar(&health, "health", false, "with --flows: the health of each queue pair, by direction: packets lost, late, sent again, refused, marked; times")
	cmd.Flags().BoolVar(&icrc, "icrc", false, "with --flows: check the ICRC of each packet; the last line says how many are right")
	addPacketFilter(cmd.Flags(), &list.filter)
	addFields(cmd.Flags(), &list.fields)
	codePoints = kit.AddCodePoints(cmd.Flags())
	return cmd
}

// decodePackets prints a capture packet by packet; name "-" is stdin.
func decodePackets(cmd *cobra.Command, name string, list *packetList) error {
	r, err := capture.Open(cmd.Context(), name, cmd.InOrStdin())
	if err != nil {
		return err
	}
	defer r.Close()
	return list.print(cmd, r)
}

// decodeHealth prints the health of each connection of a capture. With icrc it also
// verifies the ICRC of each packet, which takes most of the time.
func decodeHealth(cmd *cobra.Command, name string, format output.Format, icrc bool, filter *packetFilter) error {
	r, err := capture.Open(cmd.Context(), name, cmd.InOrStdin())
	if err != nil {
		return err
	}
	defer r.Close()
	return printHealth(cmd, r, format, icrc, filter)
}
