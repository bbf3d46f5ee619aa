// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/lift"
	"sluice/orchagent-ext/wire/roce"
)

// newLift6Command returns `sluice capture lift6`. It makes test data: real captures of RoCEv2
// over IPv6 are rare.
func newLift6Command() *cobra.Command {
	prefix := netip.MustParsePrefix("2001:db8:64::/96")
	cmd := &cobra.Command{
		Use:   "lift6 IN OUT",
		Short: "Carry RoCEv2/IPv4 packets of a capture over into IPv6",
		Long: `Carry the RoCEv2/IPv4 packets of a capture over into IPv6, since real captures of
RoCEv2 over IPv6 are hard to come by. a.b.c.d becomes 2001:db8:64::a.b.c.d (RFC 6052's form;
--prefix takes another one). MAC addresses, VLAN tags, TOS, TTL, UDP source port, BTH and all
behind it stay; ICRC and UDP checksum are computed again. Other packets are left out, and counted.`,
		Example: "  sluice capture lift6 roce-ipv4.pcap roce-ipv6.pcap",
		Args:    kit.Exactly("IN", "OUT"),
	}
	cmd.Flags().Var(kit.Text(&prefix, "prefix"), "prefix", "IPv6 prefix of 96 bits for the addresses")
	target := kit.AddForce(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		lifter, err := lift.NewLifter(prefix)
		if err != nil {
			return err
		}
		w, err := capture.Create(target(args[1]))
		if err != nil {
			return err
		}
		defer w.Abort()
		lifted, left := 0, 0
		s, err := scanFile(cmd, args[0], func(f *capture.Frame, p *roce.Packet, err error) error {
			if err != nil {
				return nil
			}
			frame, err := lifter.Lift(p)
			if errors.Is(err, lift.ErrNotLifted) {
				left++
				return nil
			}
			if err != nil {
				return fmt.Errorf("packet %d: %w", f.Number, err)
			}
			lifted++
			return w.Write(f.Time, frame)
		})
		if err != nil && !damaged(err) {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%s; %d lifted", s, lifted)
		if left > 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), ", %d left out (%v)", left, lift.ErrNotLifted)
		}
		fmt.Fprintln(cmd.ErrOrStderr())
		return err
	}
	return cmd
}
