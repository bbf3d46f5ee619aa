// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/cli/socket"
	"sluice/orchagent-ext/host/clock"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// newSendCommand returns `sluice-lab send` with a command for each kind of message.
func newSendCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "send",
		Short: "Send a notification: PFCM, PPFC, Rate Advice, CNP or PFC",
		Long: `Send a notification, or write it to a file or as hexadecimal digits.

Every field has a flag, and every flag a default. Sending takes raw sockets and so the capability
CAP_NET_RAW; --write and --hex take no rights.`,
		Example: `  sluice-lab send pfcm --dev eth0 --dst fe80::2 --action pause --time 500
  sluice-lab send ppfc --hex --transport udp --flow qps --flow-dst-qp 0x11
  sluice-lab send rate-advice --dst 2001:db8::11 --dest-qp 0x11 --rate 25000 --count 10 --interval 1ms
  sluice-lab send pfc --write pfc.pcap --priority 3 --time 10 --speed 100000`,
		Args: kit.Exactly(),
		RunE: func(*cobra.Command, []string) error {
			return errors.New("send what? One of pfcm, ppfc, rate-advice, cnp, pfc")
		},
	}
	cmd.AddCommand(newSendPFCM(), newSendPPFC(), newSendRateAdvice(), newSendCNP(), newSendPFC())
	return cmd
}

// Defaults of addresses: the documentation ranges (RFC 3849, RFC 5737, RFC 7042).
var (
	exampleSrc6, exampleDst6 = netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	exampleSrc4, exampleDst4 = netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	exampleLink1             = netip.MustParseAddr("fe80::200:5eff:fe00:5301")
	exampleLink2             = netip.MustParseAddr("fe80::200:5eff:fe00:5302")
	exampleMAC1              = roce.MAC{0, 0, 0x5e, 0, 0x53, 1}
	exampleMAC2              = roce.MAC{0, 0, 0x5e, 0, 0x53, 2}
)

// sender has the flags that the five messages share: destination, and
// encapsulation.
type sender struct {
	cmd        *cobra.Command
	kind       notify.Kind
	codePoints func() (notify.CodePoints, error)

	dev, write string
	target     func(name string) output.Target // with --force
	hex        bool
	count      int
	interval   time.Duration

	src, dst                               *netip.Addr
	srcMAC, dstMAC                         roce.MAC
	dscp, ecn, label, hopLimit, sourcePort *uint32
}

// newSend makes the command that sends messages of one kind. build makes the
// message for the addresses that it travels between.
func newSend(kind notify.Kind, short string, example string, build func(flags *pflag.FlagSet) func(src, dst netip.Addr) (notify.Message, error)) *cobra.Command {
	s := &sender{kind: kind, srcMAC: exampleMAC1, dstMAC: exampleMAC2}
	s.cmd = &cobra.Command{Use: kind.String(), Short: short, Example: example, Args: kit.Exactly()}
	flags := s.cmd.Flags()
	flags.SortFlags = false
	message := build(flags)

	flags.StringVarP(&s.dev, "dev", "i", "", "device to send out of; without it the routes say")
	flags.StringVar(&s.write, "write", "", "write a pcap file instead of sending; - is standard output")
	s.target = kit.AddForce(s.cmd)
	flags.BoolVar(&s.hex, "hex", false, "print the frame in hexadecimal digits instead of sending")
	flags.IntVarP(&s.count, "count", "c", 1, "how many times")
	flags.DurationVar(&s.interval, "interval", 100*time.Millisecond, "time between two")
	flags.Var(kit.MAC(&s.srcMAC), "eth-src", "source MAC address; sending PFC: that of the device")
	if kind != notify.KindPFC {
		e := notify.DefaultEnvelope(kind)
		flags.Var(kit.MAC(&s.dstMAC), "eth-dst", "destination MAC address; when given, the frame goes out of --dev as it is, past routes and neighbors")
		s.src = kit.AddAddr(flags, "src", "IP source; default: that of --dev, or by the routes; of what is not sent, a documentation address")
		s.dst = kit.AddAddr(flags, "dst", "IP destination; needed for sending; default else: a documentation address")
		s.dscp = kit.AddNumber(flags, "dscp", 6, uint32(e.TrafficClass>>2), "DSCP")
		s.ecn = kit.AddNumber(flags, "ecn", 2, uint32(e.TrafficClass&3), "ECN")
		s.label = kit.AddHex(flags, "flow-label", 20, 0, "IPv6 flow label")
		s.hopLimit = kit.AddNumber(flags, "hop-limit", 8, uint32(e.HopLimit), "hop limit, TTL")
		s.sourcePort = kit.AddNumber(flags, "sport", 16, uint32(e.SrcPort), "UDP source port")
	}
	s.codePoints = kit.AddCodePoints(flags)
	s.cmd.MarkFlagsMutuallyExclusive("write", "hex")
	s.cmd.MarkFlagsMutuallyExclusive("write", "dev")
	s.cmd.MarkFlagsMutuallyExclusive("hex", "dev")
	s.cmd.RunE = func(*cobra.Command, []string) error { return s.run(message) }
	return s.cmd
}

// run builds the message and writes it as hexadecimal digits, to a file, out of a device
// (PFC, and with --eth-dst) or by the kernel's routes, s.count times. A message that its
// format forbids is an error.
func (s *sender) run(build func(src, dst netip.Addr) (notify.Message, error)) error {
	if s.count < 1 || s.interval < 0 {
		return errors.New("--count must be 1 or more, --interval 0 or more")
	}
	codePoints, err := s.codePoints()
	if err != nil {
		return err
	}
	e := notify.Envelope{}
	if s.kind != notify.KindPFC {
		if e, err = s.envelope(); err != nil {
			return err
		}
	}
	if err := s.macs(&e); err != nil {
		return err
	}
	m, err := build(e.Src, e.Dst)
	if err != nil {
		return err
	}
	frame, err := notify.AppendFrame(nil, m, &e, codePoints)
	if err != nil {
		return err
	}
	switch {
	case s.hex:
		return s.each(func() error {
			_, err := fmt.Fprintf(s.cmd.OutOrStdout(), "%x\n", frame)
			return err
		}, 0)
	case s.write != "":
		return s.toFile(frame)
	case s.kind == notify.KindPFC || s.cmd.Flags().Changed("eth-dst"):
		return s.toLink(frame)
	}
	packet, err := m.AppendPacket(nil, &e, codePoints)
	if err != nil {
		return err
	}
	return s.toRoutes(packet)
}

// sending reports whether the message goes to the network, instead of a file or the
// output.
func (s *sender) sending() bool { return !s.hex && s.write == "" }

// envelope returns the envelope by the flags, with the addresses filled in.
func (s *sender) envelope() (notify.Envelope, error) {
	e := notify.Envelope{
		Src: *s.src, Dst: *s.dst, TrafficClass: uint8(*s.dscp<<2 | *s.ecn),
		FlowLabel: *s.label, HopLimit: uint8(*s.hopLimit), SrcPort: uint16(*s.sourcePort),
	}
	if s.sending() && !e.Dst.IsValid() {
		return e, errors.New("sending needs --dst, or --write FILE or --hex")
	}
	v4 := e.Dst.Is4() || !e.Dst.IsValid() && e.Src.Is4()
	neighbor := s.kind == notify.KindPFCM
	if !e.Src.IsValid() && s.sending() {
		var err error
		onLink := neighbor || e.Dst.IsLinkLocalUnicast()
		switch {
		case s.dev != "":
			e.Src, err = socket.Address(s.dev, v4, onLink)
		case onLink:
			err = errors.New("sending needs --src, or --dev whose address to take")
		default:
			e.Src, err = socket.RoutedAddress(e.Dst)
		}
		if err != nil {
			return e, err
		}
	}
	src, dst := exampleSrc6, exampleDst6
	switch {
	case neighbor:
		src, dst = exampleLink1, exampleLink2
	case v4:
		src, dst = exampleSrc4, exampleDst4
	}
	if !e.Src.IsValid() {
		e.Src = src
	}
	if !e.Dst.IsValid() {
		e.Dst = dst
	}
	if e.Src.Zone() != "" || e.Dst.Zone() != "" {
		return e, errors.New("addresses are given without a zone: --dev says the device")
	}
	if e.Src.Is4() != e.Dst.Is4() {
		return e, fmt.Errorf("%s and %s are not of one family", e.Src, e.Dst)
	}
	return e, nil
}

// macs fills in the MAC addresses: a frame that is sent bears that of the device.
func (s *sender) macs(e *notify.Envelope) error {
	e.SrcMAC, e.DstMAC = s.srcMAC, s.dstMAC
	if !s.sending() || s.dev == "" || s.cmd.Flags().Changed("eth-src") {
		return nil
	}
	mac, err := socket.MAC(s.dev)
	e.SrcMAC = mac
	return err
}

// toFile writes the frames to a capture, s.interval apart.
func (s *sender) toFile(frame []byte) error {
	w, err := capture.Create(s.target(s.write))
	if err != nil {
		return err
	}
	defer w.Abort()
	at := time.Now()
	err = s.each(func() error {
		defer func() { at = at.Add(s.interval) }()
		return w.Write(at, frame)
	}, 0)
	if err != nil {
		return err
	}
	return w.Close()
}

// toLink sends frames out of a device, bypassing the kernel's routes and neighbors.
func (s *sender) toLink(frame []byte) error {
	if s.dev == "" {
		return errors.New("sending a frame needs --dev, or --write FILE or --hex")
	}
	link, err := socket.OpenLink(s.dev)
	if err != nil {
		return err
	}
	defer link.Close()
	return s.each(func() error { return link.Send(frame) }, s.interval)
}

// toRoutes sends IP packets by the kernel's routes, which resolve the next hop.
func (s *sender) toRoutes(packet []byte) error {
	out, err := socket.NewIPSender(s.dev)
	if err != nil {
		return err
	}
	defer out.Close()
	return s.each(func() error { return out.Send(packet) }, s.interval)
}

// each calls send as often as asked for, with pauses between.
func (s *sender) each(send func() error, pause time.Duration) error {
	for i := range s.count {
		if i > 0 && pause > 0 {
			clock.Sleep(s.cmd.Context(), pause)
		}
		if s.cmd.Context().Err() != nil {
			return fmt.Errorf("stopped: %d of %d sent", i, s.count)
		}
		if err := send(); err != nil {
			return err
		}
	}
	if s.sending() {
		fmt.Fprintf(s.cmd.ErrOrStderr(), "%d sent\n", s.count)
	}
	return nil
}
