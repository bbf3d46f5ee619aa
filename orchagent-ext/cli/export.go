// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/export/ipfix"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/flows/health"
	"sluice/orchagent-ext/wire/roce"
	"sluice/yang/text"
)

// newExportCommand makes `sluice export`.
func newExportCommand() *cobra.Command {
	x := &export{}
	cmd := &cobra.Command{
		Use:   "export (FILE | --dev DEVICE) (--collector HOST[:PORT]… | --file OUT)",
		Short: "Export the flows or packets of a capture, or of devices, by IPFIX",
		Long: `Export the RoCEv2 flows or packets of a capture (pcap or pcapng, - is standard input), or of those that
pass on devices (--dev; needs the capability CAP_NET_RAW), by IPFIX, with the elements of draft-lin: to
collectors over UDP, TCP, TLS or DTLS 1.2, or into an IPFIX file. It needs no sluiced and no database.

A flow's record is made when it was idle, when it lasted for the active timeout, and at the end, by
the capture's time. The elements go out under an enterprise number, since IANA has assigned none yet;
the default is for documentation only. Their names and types go out, too (RFC 5610).
Once IANA has assigned them: --pen 0, and the eight numbers one by one with --element-ids.`,
		Example: `  sluice export capture.pcap --file flows.ipfix
  sluice export capture.pcap --collector 127.0.0.1:4739
  sluice export --dev eth0 --for 1h --collector 127.0.0.1:4739
  sluice export capture.pcap --mode packet --sampling 100 --collector 10.0.0.9 --transport tcp
  sluice export capture.pcap --collector flows.example --transport tls --ca ca.pem --cert me.pem --key me.key`,
		Args: kit.Between(0, "FILE"),
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&x.devices, "dev", "i", nil, "device, or any for all of them, whose packets are exported; again for more")
	flags.DurationVar(&x.span, "for", 0, "with --dev: end after this time; 0: at Ctrl-C")
	flags.StringArrayVar(&x.collectors, "collector", nil, "address of a collector; again for more. Without port: 4739, with tls and dtls 4740")
	flags.StringVar(&x.file, "file", "", "write an IPFIX file; - is standard output")
	flags.Var(kit.Text(&x.transport, "udp|tcp|tls|dtls"), "transport", "how messages travel")
	flags.StringVar(&x.ca, "ca", "", "PEM file of the CAs that may have signed the collector's certificate")
	flags.StringVar(&x.cert, "cert", "", "PEM file of our certificate")
	flags.StringVar(&x.key, "key", "", "PEM file of its key")
	x.target = kit.AddForce(cmd)
	pathMTU := kit.AddNumber(flags, "path-mtu", 16, 1280, "octets; messages over udp and dtls fit into it")
	x.pace = defaultPace
	flags.Var(kit.Rate(&x.pace), "pace", "rate over udp and dtls, to each collector; with --dev there is none unless this is given")
	x.mode = kit.AddChoice(flags, "mode", "records of flows, or of packets", "flow", "packet")
	x.flags = kit.AddChoice(flags, "flags", "flag elements of a flow: of the last packet, or of all OR-ed", "last", "or")
	sampling := kit.AddNumber(flags, "sampling", 32, 1, "one of so many packets is looked at")
	flags.DurationVar(&x.active, "active", time.Minute, "a flow that lasts so long is reported")
	flags.DurationVar(&x.idle, "idle", 15*time.Second, "a flow without packets for so long has ended")
	flags.BoolVar(&x.biflow, "biflow", false, "one record for both directions of a connection, where both queue pairs are known (RFC 5103)")
	domain := kit.AddNumber(flags, "domain", 32, 1, "observation domain")
	flags.BoolVar(&x.process.Health, "health", false, "also records of the health of each direction of a connection, as options")
	flags.BoolVar(&x.process.SingleSet, "single-set", false, "one set a message and no options, for collectors that read no more, such as go-ipfix")
	pen := kit.AddNumber(flags, "pen", 32, ipfix.DocumentationPEN, "private enterprise number of the elements; 0: IANA's")
	first := kit.AddNumber(flags, "first-element", 16, 1, "number of rdmaOpCode; the others follow. Not with --pen 0")
	ids := flags.UintSlice("element-ids", nil, "with --pen 0: the numbers that IANA assigned to the eight elements, in draft-lin's order")
	flags.DurationVar(&x.timeout, "timeout", 5*time.Second, "for a collector that is not there")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0 && x.devices == nil:
			return kit.Usage(cmd, fmt.Errorf("%s: FILE is missing, or --dev DEVICE", cmd.CommandPath()))
		case len(args) > 0 && x.devices != nil:
			return errors.New("either --dev or a FILE, not both")
		case x.span < 0 || flags.Changed("for") && x.devices == nil:
			return errors.New("--for goes with --dev, and is 0 or more")
		}
		if (x.file == "") == (len(x.collectors) == 0) {
			return errors.New("give either --collector or --file")
		}
		if *sampling == 0 || x.active <= 0 || x.idle <= 0 || x.timeout <= 0 {
			return errors.New("--sampling, --active, --idle and --timeout must be more than 0")
		}
		x.pathMTU, x.sampling = int(*pathMTU), *sampling
		if x.devices != nil && !flags.Changed("pace") {
			x.pace = 0 // packets do not wait
		}
		registry, err := exportRegistry(*pen, uint16(*first), flags.Changed("first-element"), *ids)
		if err != nil {
			return err
		}
		x.process.Registry, x.process.Domain, x.process.SamplingRate, x.process.Systematic = registry, *domain, *sampling, true
		x.process.Ignored = new(ipfix.Ignored)
		return x.run(cmd, strings.Join(args, ""))
	}
	return cmd
}

// exportRegistry returns the numbers of the elements by the flags.
func exportRegistry(pen uint32, first uint16, firstGiven bool, ids []uint) (ipfix.Registry, error) {
	r := ipfix.Registry{PEN: pen}
	if len(ids) > 0 && len(ids) != len(r.IDs) {
		return r, fmt.Errorf("--element-ids %d: %d are wanted, one for each element of draft-lin, in its order", ids, len(r.IDs))
	}
	if pen != 0 || firstGiven {
		r.First = first
	}
	for i, id := range ids {
		r.IDs[i] = uint16(min(id, math.MaxUint16))
	}
	return r, r.Check()
}

// biflowCapacity is how many records wait for the other direction's.
const biflowCapacity = 1 << 16

// export is one run of the command.
type export struct {
	devices               []string
	span                  time.Duration // how long devices are read; 0: until Ctrl-C
	collectors            []string
	file                  string
	target                func(name string) output.Target // with --force
	transport             ipfix.Transport
	ca, cert, key         string
	pathMTU               int
	mode, flags           *string
	sampling              uint32
	pace                  uint64 // bit/s; 0: any
	biflow                bool
	active, idle, timeout time.Duration
	process               ipfix.Process

	records, healths int
}

// run exports a capture to a file or to collectors.
func (x *export) run(cmd *cobra.Command, name string) error {
	if w := x.process.Registry.Warning(); w != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", w)
	}
	if x.file != "" {
		return x.toFile(cmd, name)
	}
	return x.toCollectors(cmd, name)
}

// source is frames that are read, and closed in the end.
type source interface {
	frameSource
	Close() error
}

// open opens the capture of that name, or the devices. The context of the command ends when
// these have been read for long enough.
func (x *export) open(cmd *cobra.Command, name string) (source, error) {
	if x.devices == nil {
		return capture.Open(cmd.Context(), name, cmd.InOrStdin())
	}
	if x.span > 0 {
		ctx, cancel := context.WithTimeout(cmd.Context(), x.span)
		context.AfterFunc(ctx, cancel)
		cmd.SetContext(ctx)
	}
	l, err := openLive(cmd.Context(), x.devices)
	if err == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "exporting what passes on %s\n", text.Printable(l.String()))
	}
	return l, err
}

// meter reads the capture and hands its records to to, and to toHealth.
func (x *export) meter(cmd *cobra.Command, name string, to func([]ipfix.Record) error, toHealth func([]ipfix.Health) error) (scan, error) {
	r, err := x.open(cmd, name)
	if err != nil {
		return scan{}, err
	}
	defer func() { _ = r.Close() }()
	var failed error
	out := func(r []ipfix.Record) {
		if failed == nil {
			failed = to(r)
			x.records += len(r)
		}
	}
	// Two directions meet in one record: it waits for the other one for the active timeout at most.
	var join *ipfix.Biflows
	if x.biflow {
		join = ipfix.NewBiflows(biflowCapacity, x.active, out)
		out = join.Export
	}
	m := ipfix.NewMeter(ipfix.MeterConfig{Capacity: capacityFor(r), Active: x.active, PerPacket: *x.mode == "packet", OrFlags: *x.flags == "or"}, out)
	flows := newFlowTable(r, m.Removed)
	m.Follow(flows)
	exported := x.newHealth(capacityFor(r), func(h []ipfix.Health) {
		if failed == nil {
			failed = toHealth(h)
			x.healths += len(h)
		}
	})
	// Samples are systematic, by count: RFC 5475 section 5.1. Flows expire by the time of every frame,
	// those included that are left out.
	seen := uint32(0)
	s, err := scan{look: roce.LookCopies}.read(cmd, r, samePacket(), func(f *capture.Frame, p *roce.Packet, err error) error {
		now := f.Nanos()
		if err != nil {
			if !errors.Is(err, roce.ErrNotRoCE) {
				x.process.Ignored.Add(1, uint64(f.Length), now)
			}
			return nil
		}
		if now != flow.NoTime {
			flows.Expire(now, int64(x.idle), flow.MaxBurst)
		}
		if seen++; (seen-1)%x.sampling == 0 {
			of := flows.Observe(p, now)
			m.Observe(p, of, 0, 0, now)
			if exported != nil {
				qp, from := flows.SrcQP(of)
				if now != flow.NoTime {
					exported.Tick(now, flowCapacity+1)
				}
				exported.table.Observe(p, health.Seen{Time: now, Point: f.Point(), SrcQP: qp, From: from, Slot: of.Slot(), Part: x.sampling > 1})
			}
		}
		return failed
	})
	if x.devices != nil && cmd.Context().Err() != nil { // they were read for long enough
		err = nil
	}
	if err != nil && !damaged(err) {
		return s, err
	}
	m.Flush()
	if join != nil {
		join.Flush()
	}
	if exported != nil {
		exported.Flush()
	}
	return s, cmp.Or(failed, err)
}

// exportedHealth follows connections, and makes records of how they fare.
type exportedHealth struct {
	*ipfix.HealthMeter
	table *health.Table
}

// newHealth returns the exporter of health; nil without --health.
func (x *export) newHealth(capacity int, to func([]ipfix.Health)) *exportedHealth {
	if !x.process.Health {
		return nil
	}
	m := ipfix.NewHealthMeter(ipfix.HealthConfig{Active: x.active, Whole: x.sampling == 1, Timed: true}, to)
	h := &exportedHealth{m, health.NewTable(health.Config{Capacity: capacity, Removed: m.Removed})}
	m.Follow(h.table)
	return h
}

// made counts the records that were made.
func (x *export) made() string {
	text := kit.Plural(x.records, "record")
	if x.process.Health {
		text += ", " + kit.Plural(x.healths, "health record")
	}
	return text
}

// toFile writes the flows of a capture to a file in the form of RFC 5655. The file
// appears as a whole, or an error leaves the old one.
func (x *export) toFile(cmd *cobra.Command, name string) error {
	f, err := output.Create(x.target(x.file))
	if err != nil {
		return err
	}
	defer f.Abort()
	w, err := ipfix.NewWriter(f, x.process)
	if err != nil {
		return err
	}
	s, err := x.meter(cmd, name, func(r []ipfix.Record) error {
		w.Export(r)
		return nil
	}, func(h []ipfix.Health) error {
		w.ExportHealth(h)
		return nil
	})
	if err != nil && !damaged(err) {
		return err
	}
	if err := w.Close(); err != nil {
		return f.Wrap(err)
	}
	if err := f.Close(); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s; %s in %s\n", s, x.made(), x.file)
	return err
}

// toCollectors sends the flows of a capture to all collectors, and returns once each has
// its records or x.timeout is over. Lost records are an error.
func (x *export) toCollectors(cmd *cobra.Command, name string) error {
	c := ipfix.Config{Process: x.process, GiveUp: x.timeout, Drain: x.timeout, Pace: x.pace}
	var addresses []string
	for _, address := range x.collectors {
		address = withPort(address, x.transport.Port())
		addresses = append(addresses, address)
		c.Collectors = append(c.Collectors, ipfix.Collector{Address: address, Transport: x.transport, CAFile: x.ca, CertFile: x.cert, KeyFile: x.key, PathMTU: x.pathMTU})
	}
	exporter, err := ipfix.New(c)
	if err != nil {
		return err
	}
	lost := watchLosses(addresses)
	ctx, stop := context.WithCancel(cmd.Context())
	if x.devices != nil { // the end of the reading is no end of the sending
		ctx, stop = context.WithCancel(context.WithoutCancel(cmd.Context()))
	}
	defer stop()
	// The exporter sends while the capture is read; a full queue makes reading wait, so that a file
	// is exported whole.
	ended := make(chan error, 1)
	go func() {
		ended <- exporter.Run(ctx)
		stop()
	}()
	s, err := x.meter(cmd, name, func(r []ipfix.Record) error { return exporter.ExportAll(ctx, r) }, func(h []ipfix.Health) error { return exporter.ExportAllHealth(ctx, h) })
	// What is queued is still sent, until the drain time is over.
	exporter.Close()
	if runErr := <-ended; runErr != nil {
		return runErr
	}
	if cmd.Context().Err() != nil && x.devices == nil {
		return fmt.Errorf("stopped after packet %d: %s", s.Packets, strings.Join(sent(exporter.Stats()), ", "))
	}
	if err != nil && !damaged(err) {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s; %s\n", s, x.made())
	stats := exporter.Stats()
	for i, line := range sent(stats) {
		to := &stats[i]
		note, lossErr := lost.of(i, to)
		fmt.Fprintln(cmd.ErrOrStderr(), line+note)
		switch {
		case lossErr != nil:
			err = errors.Join(err, lossErr)
		case to.Refused > 0:
			err = errors.Join(err, fmt.Errorf("%s (%s): %s", to.Name, to.Transport, to.Error))
		case to.Dropped > 0:
			err = errors.Join(err, fmt.Errorf("%s (%s): %s not sent", to.Name, to.Transport, kit.Plural(int(to.Dropped), "record")))
		case !to.Connected && to.Error != "":
			err = errors.Join(err, fmt.Errorf("%s (%s): %s: not all may have arrived", to.Name, to.Transport, to.Error))
		}
	}
	return err
}

// sent returns, for each collector, the counts of records that it was sent.
func sent(all []ipfix.Stats) (each []string) {
	for _, to := range all {
		records := kit.Plural(int(to.Records), "record")
		if to.Health > 0 {
			records += ", " + kit.Plural(int(to.Health), "health record")
		}
		each = append(each, fmt.Sprintf("%s (%s): %s in %s", to.Name, to.Transport, records, kit.Plural(int(to.Messages), "message")))
	}
	return each
}

// withPort returns the address, with the port where it lacks one.
func withPort(address string, port uint16) string {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	host := strings.TrimSuffix(strings.TrimPrefix(address, "["), "]")
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}
