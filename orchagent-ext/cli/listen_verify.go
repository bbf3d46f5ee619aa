// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/nic"
)

// verified has the counts of packets of `sluice gen` that arrived, of all queue
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
		return fmt.Errorf("%s did not fit into the socket's buffer: what is missing is not known; send more slowly", plural(int(r.Lost), "frame"))
	case r.Packets == 0 && r.BadICRC == 0:
		return errors.New("no packet of `sluice gen --dev` came")
	case r.Missing > 0 || r.BadICRC > 0 || r.NoRoom > 0:
		return fmt.Errorf("not all arrived as it was sent: %d missing, %d with a wrong ICRC, %d of too many queue pairs", r.Missing, r.BadICRC, r.NoRoom)
	}
	return nil
}

// verify receives the packets that `sluice gen` sends to this host, and reports
// on them.
func (l *listener) verify(cmd *cobra.Command) error {
	if l.dev == "" {
		return errors.New("--verify needs --dev, the device that the packets come in by")
	}
	fd, _, err := nic.Open(l.dev)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	if l.span > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.span)
		defer cancel()
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "listening on %s for what sluice gen sends\n", l.dev)
	v := nic.NewVerifier()
	lost, err := nic.Verify(ctx, fd, v, uint64(l.count))
	if err = errors.Join(err, nic.Close(fd)); err != nil {
		return err
	}
	r := newVerified(v, lost)
	if l.format.Data() {
		err = l.format.Encoder(cmd.OutOrStdout()).Encode(r)
	} else {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), `queue pairs  %d
packets      %d
octets       %d
missing      %d
reordered    %d
duplicates   %d
wrong ICRC   %d
other        %s of other programs
`, r.QueuePairs, r.Packets, r.Octets, r.Missing, r.Reordered, r.Duplicates, r.BadICRC, plural(int(r.Other), "frame"))
	}
	return errors.Join(err, r.err())
}
