// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/testbed/nic"
)

// verified has the counts of packets of `sluice-lab gen` that arrived, of all queue
// pairs together.
type verified struct {
	// QueuePairs is the number of flows that sent.
	QueuePairs int    `json:"queue_pairs"`
	Packets    uint64 `json:"packets"` // each once
	Octets     uint64 `json:"octets"`  // of IP packets
	// Missing counts packets whose later ones arrived.
	Missing uint64 `json:"missing"`
	// Reordered counts packets that arrived after later ones.
	Reordered uint64 `json:"reordered"`
	// Duplicates counts packets that arrived a second time.
	Duplicates uint64 `json:"duplicates"`
	// BadICRC counts packets with a wrong ICRC, which are left out of the others.
	BadICRC uint64 `json:"bad_icrc"`
	// NoRoom: packets of more queue pairs than are told apart
	NoRoom uint64 `json:"no_room"`
	// Lost: frames that this program was too slow for
	Lost  uint64 `json:"lost"`
	Other uint64 `json:"other"` // frames of other programs
}

// newVerified returns the sums of all flows of a verifier; lost is the number of frames
// that the full socket dropped.
func newVerified(v *nic.Verifier, lost uint64) verified {
	r := verified{QueuePairs: len(v.Flows), Packets: v.Packets, BadICRC: v.BadICRC, NoRoom: v.NoRoom, Lost: lost, Other: v.Other}
	for _, f := range v.Flows {
		r.Octets += f.Octets
		r.Missing += f.Missing
		r.Reordered += f.Reordered
		r.Duplicates += f.Duplicates
	}
	return r
}

// err returns an error with the packets that differ from those that were sent;
// nil if all are as sent.
func (r *verified) err() error {
	switch {
	case r.Lost > 0:
		return fmt.Errorf("%s did not fit into the socket's buffer: what is missing is not known; send more slowly", kit.Plural(int(r.Lost), "frame"))
	case r.Packets == 0 && r.BadICRC == 0:
		return errors.New("no packet of `sluice-lab gen --dev` came")
	case r.Missing > 0 || r.BadICRC > 0 || r.NoRoom > 0:
		return fmt.Errorf("not all arrived as it was sent: %d missing, %d with a wrong ICRC, %d of too many queue pairs", r.Missing, r.BadICRC, r.NoRoom)
	}
	return nil
}

// verifier has the flags of verify.
type verifier struct {
	dev    string
	format *output.Format
	count  uint64        // packets after which it ends; 0: endless
	span   time.Duration // after which it ends; 0: endless
}

// newVerifyCommand returns `sluice-lab verify`.
func newVerifyCommand() *cobra.Command {
	var v verifier
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Receive the packets of gen, and report on each that is missing or wrong",
		Long: `Receive the packets that "sluice-lab gen --dev" sends to this host: check the ICRC and the number
of each, acknowledge it, and report at the end on those that arrived, are missing, came late, or
came twice. It exits with 1 where a packet is missing or wrong, or none came. It needs the
capability CAP_NET_RAW.`,
		Example: `  sluice-lab verify --dev eth0 --for 10s
  sluice-lab verify --dev eth0 --count 6400 --json`,
		Args: kit.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return v.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&v.dev, "dev", "i", "", "device that the packets come in by")
	v.format = kit.AddFormat(flags, "one object")
	flags.Uint64VarP(&v.count, "count", "c", 0, "end after so many packets; 0: never")
	flags.DurationVar(&v.span, "for", 0, "end after this time; 0: never")
	return cmd
}

// run receives packets, and reports on them.
func (v *verifier) run(cmd *cobra.Command) error {
	switch {
	case v.dev == "":
		return kit.Usage(cmd, errors.New("verify needs --dev, the device that the packets come in by"))
	case v.span < 0:
		return errors.New("--for must be 0 or more")
	}
	fd, _, err := nic.Open(v.dev)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	if v.span > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, v.span)
		defer cancel()
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "listening on %s for packets of sluice-lab gen\n", v.dev)
	seen := nic.NewVerifier()
	lost, err := nic.Verify(ctx, fd, seen, v.count)
	if err = errors.Join(err, nic.Close(fd)); err != nil {
		return err
	}
	r := newVerified(seen, lost)
	if v.format.Data() {
		err = v.format.Encoder(cmd.OutOrStdout()).Encode(r)
	} else {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), `queue pairs  %d
packets      %d
octets       %d
missing      %d
reordered    %d
duplicates   %d
wrong ICRC   %d
other        %s of other programs
`, r.QueuePairs, r.Packets, r.Octets, r.Missing, r.Reordered, r.Duplicates, r.BadICRC, kit.Plural(int(r.Other), "frame"))
	}
	return errors.Join(err, r.err())
}
