package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cmd/sluice/internal/capture"
	"sluice/orchagent-ext/roce"
)

func newDecodeCommand() *cobra.Command {
	var asJSON, byFlow bool
	cmd := &cobra.Command{
		Use:   "decode FILE",
		Short: "Decode the RoCEv2 packets of a capture, or sum them up by flow",
		Long: `Decode the RoCEv2 packets of a capture (pcap or pcapng, - is standard input).

SRC-QP is in the packet only for datagrams. For connections it is learned, and FROM says how:
deth (it stands in the packet), cm (RDMA-CM, REQ joined with REP), ack (the reverse direction's
answers prove it). Until it is learned it is unknown: shown as ?, in JSON null; never guessed.`,
		Example: `  sluice decode capture.pcap
  sluice decode --flows capture.pcapng
  tcpdump -w - udp port 4791 | sluice decode --json -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if byFlow {
				return decodeFlows(cmd, args[0], asJSON)
			}
			return decodePackets(cmd, args[0], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	cmd.Flags().BoolVar(&byFlow, "flows", false, "sum up by flow")
	return cmd
}

func decodePackets(cmd *cobra.Command, name string, asJSON bool) error {
	r, err := capture.Open(name, cmd.InOrStdin())
	if err != nil {
		return err
	}
	defer r.Close()
	out := bufio.NewWriter(cmd.OutOrStdout())
	encoder := json.NewEncoder(out)
	var rows *table
	if !asJSON {
		rows = newTable(out, recordHeader...)
	}
	flows := newFlowTable(nil)
	var start time.Time
	s, err := scanFrames(cmd, r, func(f *capture.Frame, p *roce.Packet, err error) error {
		if start.IsZero() {
			start = f.Info.Timestamp
		}
		if err != nil {
			return nil
		}
		qp, from := flows.SrcQP(flows.Observe(p, f.Info.Timestamp.UnixNano()))
		r := newRecord(f, p, qp, from)
		if asJSON {
			return encoder.Encode(r)
		}
		rows.row(r.cells(start)...)
		return nil
	})
	// What was decoded before an error is worth showing, too.
	if rows != nil {
		if tableErr := rows.end(); err == nil {
			err = tableErr
		}
	}
	if flushErr := out.Flush(); err == nil {
		err = flushErr
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(cmd.ErrOrStderr(), s)
	return nil
}
