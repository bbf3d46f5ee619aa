// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/testbed/traffic"
)

// genStart is the time of the first generated packet: fixed, so that the same
// seed gives the same file.
var genStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// interruptSteps is how many packets are written between two checks for Ctrl-C.
const interruptSteps = 1 << 14

// fileOnly are the flags that concern only a file.
var fileOnly = []string{"force", "pairs", "packets", "cm", "seed", "service", "sport", "start-psn"}

// newGenCommand returns `sluice-lab gen`, which writes a capture or, with --dev, sends
// packets.
func newGenCommand() *cobra.Command {
	config, adapter := traffic.Config{Start: genStart}, &live{}
	cmd := &cobra.Command{
		Use:   "gen OUT | --dev DEVICE --dst ADDRESS",
		Short: "Generate RoCEv2 traffic of many queue pairs, into a file or onto a device",
		Long: `Generate a pcap of RoCEv2/IPv6 traffic with right ICRCs and UDP checksums. Host A of each
pair sends RDMA writes of 4 packets on every queue pair in turn, host B acknowledges them.
QPNs are sequential from a random start, flow labels are 0, as most RDMA stacks leave them.

Some stacks derive the UDP source port from the queue pairs (Linux, mlx5: --sport per-qp),
others keep it constant (--sport constant); only the latter leave ECMP nothing to hash.

With --dev it sends out of a device instead, as the adapter of a host would: --qps queue pairs,
each at --rate, all together at --line-rate at most, RDMA writes of one packet; for --for, or until
--count packets were sent, over IPv6 or IPv4. It asks the next hop for its Ethernet address. It obeys the notifications
that --obey names (PFCM holds the flow of its Stream ID, PFC the priority, Rate Advice and CNP the
rate of a queue pair) and counts all. Where "sluice-lab verify" receives, it says how many
packets arrived. It needs the capability CAP_NET_RAW.`,
		Example: `  sluice-lab gen out.pcap --pairs 1 --qps 64 --packets 10000
  sluice-lab gen - --service ud --start-psn random --seed 7 | sluice decode --flows -
  sluice-lab gen --dev eth0 --dst 2001:db8:0:2::b --qps 64 --line-rate 1Gbps --rate 1Gbps --for 2s
  sluice-lab gen --dev eth0 --dst 2001:db8:0:2::b --qps 2 --rate 100Mbps --count 1000 --obey pfcm,pfc
  sluice-lab gen --dev eth0 --dst 10.0.2.2 --qps 16 --rate 100Mbps --for 2s`,
		Args: kit.Between(0, "OUT"),
	}
	flags := cmd.Flags()
	target := kit.AddForce(cmd)
	flags.SetNormalizeFunc(genAlias)
	flags.IntVar(&config.Pairs, "pairs", 1, "host pairs")
	flags.IntVar(&config.QPs, "qps", 64, "queue pairs of each host pair")
	flags.IntVar(&config.Packets, "packets", 10000, "data packets in all, acknowledgements and CM not counted")
	flags.IntVar(&config.Payload, "payload", 1024, "octets of payload a packet, a multiple of 4")
	flags.BoolVar(&config.CM, "cm", false, "set the connections up and end them by RDMA-CM")
	flags.Uint64Var(&config.Seed, "seed", 1, "seed of everything random: the same seed gives the same file")
	adapter.add(flags)
	service := kit.AddChoice(flags, "service", "reliable connection or unreliable datagram", "rc", "ud")
	sport := kit.AddChoice(flags, "sport", "UDP source port: one for all, or derived from the queue pairs", "constant", "per-qp")
	psn := kit.AddChoice(flags, "start-psn", "first PSN of each queue pair", "zero", "random")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if adapter.device != "" {
			if len(args) > 0 {
				return errors.New("either OUT or --dev: a file or a device")
			}
			for _, name := range fileOnly {
				if flags.Changed(name) {
					return fmt.Errorf("--%s is not for --dev", name)
				}
			}
			return adapter.run(cmd, config.QPs, config.Payload)
		}
		if len(args) == 0 {
			return errors.New("a file for the packets is missing: sluice-lab gen OUT (or - for standard output), or --dev DEVICE")
		}
		for _, name := range liveOnly {
			if flags.Changed(name) {
				return fmt.Errorf("--%s needs --dev", name)
			}
		}
		config.Datagram = *service == "ud"
		config.SportPerQP = *sport == "per-qp"
		config.RandomPSN = *psn == "random"
		if err := config.Validate(); err != nil {
			return err
		}
		w, err := capture.Create(target(args[0]))
		if err != nil {
			return err
		}
		defer w.Abort()
		frames := 0
		err = traffic.Generate(config, func(at time.Time, frame []byte) error {
			frames++
			if frames%interruptSteps == 0 && cmd.Context().Err() != nil {
				return fmt.Errorf("stopped after packet %d", frames)
			}
			return w.Write(at, frame)
		})
		if err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		summary := cmd.OutOrStdout()
		if args[0] == "-" { // which has the packets
			summary = cmd.ErrOrStderr()
		}
		fmt.Fprintf(summary, "%s, %d of them data of %s\n", kit.Plural(frames, "packet"), config.Packets, kit.Plural(config.Pairs*config.QPs, "queue pair"))
		return nil
	}
	return cmd
}
