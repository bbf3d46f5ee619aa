// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/testbed/nic"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// live has the flags of `sluice-lab gen --dev`.
type live struct {
	// device is the one to send out of; "" means that gen writes a file.
	device   string
	to, from *netip.Addr
	// next is the Ethernet address of the next hop; the zero value has the kernel resolve
	// it.
	next       roce.MAC
	rate, line uint64 // bit/s
	// span is the longest time of sending; count ends it earlier, 0 for no such end.
	span  time.Duration
	count uint64
	// obey names the notifications to obey.
	obey []string
	// labels has flows sent with the labels of draft-hu.
	labels bool
	// backlog has packets that wait during a hold sent afterwards.
	backlog bool
	// capability sets the bit by which a sender declares that it takes Rate Advice.
	capability bool
	// dscp is that of all packets, 0 to 63; priority is the one that PFC pauses, 0 to 7.
	dscp     uint8
	priority uint8
	seed     uint32
	format   *output.Format
	points   func() (notify.CodePoints, error)
}

// Defaults of the adapter model.
const (
	liveFirstQP = 0x100
	// liveLabel: flow labels of the queue pairs count from here, where they are asked for
	liveLabel    = 0x10000
	liveLifetime = 30 * time.Millisecond
	liveAckEvery = 8
)

// liveOnly are the flags of gen that need --dev; without it they are an error rather than
// ignored.
var liveOnly = []string{"dst", "src", "next-hop-mac", "rate", "line-rate", "for", "count", "obey", "flow-labels", "backlog", "capability-bit", "dscp", "priority", "stream-id-seed", "json", "output"}

// genAlias gives flags the names that they have in other commands.
func genAlias(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "live":
		name = "dev"
	case "to":
		name = "dst"
	case "from":
		name = "src"
	case "duration":
		name = "for"
	}
	return pflag.NormalizedName(name)
}

// add adds the flags of sending from a device, each marked "device:" in help.
func (l *live) add(flags *pflag.FlagSet) {
	flags.StringVarP(&l.device, "dev", "i", "", "send out of this device, now, as an adapter that obeys; instead of OUT")
	l.to = kit.AddAddr(flags, "dst", "device: address of the receiver, of IPv6 or IPv4")
	l.from = kit.AddAddr(flags, "src", "device: address of the sender (default: the one that the kernel would use)")
	flags.Var(kit.MAC(&l.next), "next-hop-mac", "device: Ethernet address to send to (default: as the kernel resolves it)")
	l.rate, l.line = 10e6, 1e9
	flags.Var(kit.Rate(&l.rate), "rate", "device: rate of each queue pair: 100Mbps, 1Gbps, or a number of Mbit/s")
	flags.Var(kit.Rate(&l.line), "line-rate", "device: rate of the link, of all queue pairs together")
	flags.DurationVar(&l.span, "for", 10*time.Second, "device: how long to send at most")
	flags.Uint64Var(&l.count, "count", 0, "device: how many packets to send at most, of all queue pairs together; 0: no limit")
	flags.StringSliceVar(&l.obey, "obey", nil, "device: obey these notifications: pfcm, pfc, advice, cnp")
	flags.BoolVar(&l.labels, "flow-labels", false, "device: each queue pair has a flow label of its own (default: 0)")
	flags.BoolVar(&l.backlog, "backlog", false, "device: send later what was held (default: it is not offered)")
	flags.BoolVar(&l.capability, "capability-bit", false, "device: set the bit in the BTH by which a sender declares that it takes Rate Advice")
	flags.Uint8Var(&l.dscp, "dscp", 26, "device: DSCP of the packets")
	flags.Uint8Var(&l.priority, "priority", 3, "device: 802.1Qbb priority of the packets")
	flags.Uint32Var(&l.seed, "stream-id-seed", 0, "device: seed of Stream IDs, as in SLUICE|global stream_id_seed")
	l.format = kit.AddFormat(flags, "device: the counters as one object")
	l.points = kit.AddCodePoints(flags)
}

// obeys returns the notifications in --obey, or an error for an unknown word.
func (l *live) obeys() (o nic.Obey, err error) {
	for _, word := range l.obey {
		switch word {
		case "pfcm":
			o.PFCM = true
		case "pfc":
			o.PFC = true
		case "advice":
			o.Advice = true
		case "cnp":
			o.CNP = true
		default:
			return o, fmt.Errorf("--obey %s: allowed are pfcm, pfc, advice, cnp", word)
		}
	}
	return o, nil
}

// check returns an error for addresses or limits that contradict each other. It also
// brings IPv4 addresses mapped into IPv6 to their short form.
func (l *live) check() error {
	*l.to, *l.from = l.to.Unmap(), l.from.Unmap()
	switch {
	case !l.to.IsValid():
		return errors.New("--dev needs --dst, the address of the receiver")
	case l.from.IsValid() && l.from.Is4() != l.to.Is4():
		return fmt.Errorf("--src %s and --dst %s are of two families", l.from, l.to)
	case l.labels && l.to.Is4():
		return errors.New("--flow-labels: IPv4 has none")
	case slices.Contains(l.obey, "pfcm") && l.to.Is4():
		return errors.New("--obey pfcm: PFCM is about flows over IPv6")
	case l.span <= 0:
		return fmt.Errorf("--for %v: it must be more than 0", l.span)
	case l.dscp > 63:
		return fmt.Errorf("--dscp %d: 0 to 63 are possible", l.dscp)
	case l.priority > 7:
		return fmt.Errorf("--priority %d: 0 to 7 are possible", l.priority)
	}
	return nil
}

// config is the adapter with so many queue pairs.
func (l *live) config(qps, payload int) (c nic.Config, err error) {
	if err := l.check(); err != nil {
		return c, err
	}
	if qps < 1 || qps > 1<<16 {
		return c, fmt.Errorf("--qps %d: 1 to %d are possible", qps, 1<<16)
	}
	if payload < nic.StampLen || payload > 4096 || payload%4 != 0 {
		return c, fmt.Errorf("--payload %d: a multiple of 4 from %d to 4096 is possible", payload, nic.StampLen)
	}
	if c.Obey, err = l.obeys(); err != nil {
		return c, err
	}
	if c.Points, err = l.points(); err != nil {
		return c, err
	}
	c.Next = l.next
	if c.Next == (roce.MAC{}) || !l.from.IsValid() {
		mac, from, err := nic.Next(l.device, *l.to)
		if !l.from.IsValid() && from.IsValid() {
			*l.from = from
		}
		if c.Next == (roce.MAC{}) {
			if err != nil {
				return c, err
			}
			c.Next = mac
		}
	}
	if !l.from.IsValid() {
		return c, fmt.Errorf("device %s has no address to send to %s from: give --src", l.device, l.to)
	}
	c.LineRate, c.Priority, c.StreamSeed, c.Lifetime = l.line, l.priority, l.seed, liveLifetime
	c.Packets = l.count
	run := rand.Uint32()
	for i := range uint32(qps) {
		f := nic.Flow{
			Src: *l.from, Dst: *l.to, SrcQP: liveFirstQP + i, DestQP: liveFirstQP + i, SrcPort: 0xc000,
			TrafficClass: l.dscp<<2 | 2, Payload: payload, Rate: l.rate, Backlog: l.backlog,
			AckEvery: liveAckEvery, Run: run,
		}
		if l.labels {
			f.Label = liveLabel + i
		}
		if l.capability {
			f.CapabilityBits = 1
		}
		c.Flows = append(c.Flows, f)
	}
	return c, nil
}

// run sends until the time or the number of packets is reached, or the user interrupts,
// and prints the sums of all queue pairs: sent, held, received notifications, and the
// arrivals that a receiver acknowledged.
func (l *live) run(cmd *cobra.Command, qps, payload int) error {
	c, err := l.config(qps, payload)
	if err != nil {
		return err
	}
	fd, mac, err := nic.Open(l.device)
	if err != nil {
		return err
	}
	c.MAC = mac
	fmt.Fprintf(cmd.ErrOrStderr(), "sending %d queue pairs of %v from %s to %s out of %s for %v\n", qps, kit.Rate(&l.rate), l.from, l.to, l.device, l.span)
	start := nic.Monotonic()
	n, err := nic.Run(cmd.Context(), fd, c, start, start+int64(l.span))
	if err = errors.Join(err, nic.Close(fd)); err != nil {
		return err
	}
	rate := float64(n.Octets*8) / 1e6 / n.Took.Seconds()
	if l.format.Data() {
		return l.format.Encoder(cmd.OutOrStdout()).Encode(struct {
			Packets  uint64  `json:"packets"`
			Octets   uint64  `json:"octets"`
			Seconds  float64 `json:"seconds"`
			Rate     float64 `json:"rate_mbps"`
			HeldUS   int64   `json:"held_us"`
			PFCM     uint64  `json:"pfcm"`
			PFC      uint64  `json:"pfc"`
			Advice   uint64  `json:"rate_advice"`
			CNP      uint64  `json:"cnp"`
			Refused  uint64  `json:"refused"`
			QueuePrs int     `json:"queue_pairs"`
			Acks     uint64  `json:"acknowledgements"`
			// packets up to the last one of each queue pair that was
			Acked   uint64 `json:"acknowledged"`
			Arrived uint64 `json:"arrived"` // of those
		}{n.Packets, n.Octets, n.Took.Seconds(), rate, n.Held.Microseconds(), n.PFCM, n.PFC, n.Advice, n.CNP, n.Refused, qps, n.Acks, n.Acknowledged, n.Arrived})
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), `packets      %d
octets       %d
rate         %.1f Mbit/s
held         %v, of all queue pairs together
received     %d PFCM, %d PFC, %d Rate Advice, %d CNP
refused      %d
arrived      %s
`, n.Packets, n.Octets, rate, n.Held.Round(time.Microsecond), n.PFCM, n.PFC, n.Advice, n.CNP, n.Refused, arrived(n))
	return err
}

// arrived returns the summary of the receiver's answers.
func arrived(n nic.Counters) string {
	if n.Acks == 0 {
		return `not known: no "sluice-lab verify" answers`
	}
	return fmt.Sprintf("%d of %d that were acknowledged", n.Arrived, n.Acknowledged)
}
