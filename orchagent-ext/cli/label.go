// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"net/netip"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/flows/flow"
)

// newLabelCommand returns `sluice capture label`, which computes the label of draft-hu section 3
// for one session.
func newLabelCommand() *cobra.Command {
	var srcQP, dstQP uint32
	var src, dst netip.Addr
	var algorithm flow.Algorithm
	cmd := &cobra.Command{
		Use:   "label --dst-qp QPN --src ADDRESS --dst ADDRESS [--src-qp QPN]",
		Short: "Compute the IPv6 flow label of a queue pair",
		Long:  "Compute the IPv6 flow label that draft-hu gives an RDMA session: 20 bits of a hash over\nboth queue pairs and the low 16 bits of both addresses. A label of 0 becomes 1.",
		Example: `  sluice capture label --src-qp 0x123456 --dst-qp 0xABCDEF --src 2001:db8::1 --dst 2001:db8::2
  sluice capture label --dst-qp 17 --src 2001:db8::1 --dst 2001:db8::2 --algorithm crc32`,
		Args: kit.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, a := range []netip.Addr{src, dst} {
				if !a.Is6() || a.Is4In6() {
					return fmt.Errorf("%s is not an IPv6 address: flow labels are IPv6's", a)
				}
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%#x\n", algorithm.Label(srcQP, dstQP, src.As16(), dst.As16()))
			return err
		},
	}
	flags := cmd.Flags()
	flags.Var(kit.Number(&srcQP, 24), "src-qp", "source queue pair; 0 where it is not known")
	flags.Var(kit.Number(&dstQP, 24), "dst-qp", "destination queue pair")
	flags.Var(kit.Text(&src, "address"), "src", "IPv6 source address")
	flags.Var(kit.Text(&dst, "address"), "dst", "IPv6 destination address")
	addAlgorithm(flags, &algorithm)
	for _, name := range []string{"dst-qp", "src", "dst"} {
		must(cmd.MarkFlagRequired(name))
	}
	return cmd
}

// addAlgorithm adds --algorithm. Both hashes exist because the draft's text and its name
// for the hash disagree, see [flow.Algorithm].
func addAlgorithm(flags *pflag.FlagSet, algorithm *flow.Algorithm) {
	flags.Var(kit.Text(algorithm, "draft-literal|crc32"), "algorithm", "hash: as the draft's text has it, or IEEE 802.3's CRC-32")
}

// must panics on an error that only a mistake in this program can cause.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
