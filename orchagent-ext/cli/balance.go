// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/cli/chart"
	"sluice/orchagent-ext/cli/evenness"
	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/cli/ways"
	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/wire/roce"
)

// Bounds of the command: the largest group that is computed, and the width of the chart
// in characters.
const (
	maxPaths   = 1024 // more than any switch's ECMP group has
	chartWidth = 78   // columns, where there is no terminal
)

// balance is how ECMP over some paths spreads the traffic of a capture.
type balance struct {
	// Hash is the name of the hash: linux, crc32 or crc16.
	Hash string `json:"hash"`
	// Seed is that of the hash.
	Seed uint32 `json:"seed"`
	// Paths is the number of equal-cost paths.
	Paths int `json:"paths"`
	// Weights is the unit of loads: packets or bytes.
	Weights string `json:"weights"`
	// Packets is the number of packets that were placed.
	Packets int `json:"packets"`
	// IPv4Packets counts those of them without an IPv6 header, which have no flow label.
	IPv4Packets int `json:"ipv4_packets"`
	// Spreads has the load of paths for each way to choose them.
	Spreads []*load `json:"spreads"`
	Placed  *placed `json:"placed,omitempty"` // with --placed
	// Redirect is what rules to next hops make of the hash of the 5-tuple.
	Redirect redirected `json:"redirect"`

	drawn []*load // the panels of the picture
}

// redirected is the result of rules to next hops, one for each 5-tuple that leaves its path.
type redirected struct {
	WorstToMean float64 `json:"worst_over_mean"` // of paths
	Rules       int     `json:"rules"`
	// Floor: no rules are below it, since queue pairs of one 5-tuple stay together
	Floor float64 `json:"floor"`
}

// placed is the result of choosing labels.
type placed struct {
	Moves uint64 `json:"moves"` // labels that changed
	// Floor: no placement of these flows is below it; 0: no packet can have a label
	Floor float64 `json:"floor"`
}

// load is that of each path when ECMP hashes on one choice of fields.
type load struct {
	By string `json:"by"`
	evenness.Spread
}

// newBalanceCommand makes `sluice balance`.
func newBalanceCommand() *cobra.Command {
	var place bool
	var svg string
	b := balance{}
	cmd := &cobra.Command{
		Use:   "balance FILE",
		Short: "Show how ECMP spreads the traffic of a capture, without and with flow labels",
		Long: `Show how equal-cost multipath (ECMP) over n paths spreads the traffic of a capture when it
hashes on the 5-tuple alone, on the 5-tuple and the flow label that is in the packets, and on the
5-tuple and the label that Sluice would write, under both algorithms. IPv4 packets have no label.

--svg draws three of these: as the packets were sent, with a label, and with labels that are chosen.

With --placed it also shows labels that are chosen so that paths fill evenly: the flow's first
packet decides, by what was sent until then; a flow that is idle for 50 ms may get another label.
sluiced does the same with SLUICE_PLACEMENT|global.

Only packets that move the application's data count (--traffic all: acknowledgements, CNPs and
others, too), since a leaf's uplinks carry one direction of a session.

Hashes: linux is the kernel's multipath hash with fib_multipath_hash_policy 3, what the software
switch uses; crc32 and crc16 over the same fields model ASICs.`,
		Example: `  sluice balance capture.pcap --paths 8
  sluice balance capture.pcap --paths 8 --placed
  sluice balance capture.pcap --paths 16 --hash crc16 --weights packets --svg balance.svg`,
		Args: kit.Exactly("FILE"),
	}
	flags := cmd.Flags()
	flags.IntVar(&b.Paths, "paths", 8, "equal-cost paths")
	weights := kit.AddChoice(flags, "weights", "what a path's load is", "bytes", "packets")
	hash := kit.AddChoice(flags, "hash", "ECMP hash", "linux", "crc32", "crc16")
	flags.Uint32Var(&b.Seed, "seed", ecmp.DefaultSeed, "seed of the linux hash, as in the sysctl net.ipv4.fib_multipath_hash_seed")
	flags.BoolVar(&place, "placed", false, "also show labels that are chosen so that paths fill evenly")
	which := kit.AddChoice(flags, "traffic", "which packets count", "data", "all")
	target := kit.AddForce(cmd)
	flags.StringVar(&svg, "svg", "", "also draw the bars into this SVG file; - is standard output")
	format := kit.AddFormat(flags, "one object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		b.Weights, b.Hash = *weights, *hash
		if b.Paths < 1 || b.Paths > maxPaths {
			return fmt.Errorf("%d paths: 1 to %d are possible", b.Paths, maxPaths)
		}
		var drawing *output.File
		if svg != "" {
			to := target(svg)
			to.Text = true
			f, err := output.Create(to)
			if err != nil {
				return err
			}
			defer f.Abort()
			drawing = f
		}
		s, err := b.measure(cmd, args[0], *which == "all", place, svg != "")
		if err != nil {
			return err
		}
		fmt.Fprintln(cmd.ErrOrStderr(), s)
		if b.Packets == 0 {
			s.advise(cmd)
			return fmt.Errorf("%s: no packet to spread (--traffic %s)", args[0], *which)
		}
		if drawing != nil {
			if err := errors.Join(drawing.Wrap(chart.SVG(drawing, b.title(), b.groups(b.drawn))), drawing.Close()); err != nil {
				return err
			}
		}
		if format.Data() {
			return format.Encoder(cmd.OutOrStdout()).Encode(b)
		}
		return b.print(cmd.OutOrStdout(), format.Style(cmd.OutOrStdout()).Width)
	}
	return cmd
}

// measure adds the packets of a capture to the loads of the paths.
func (b *balance) measure(cmd *cobra.Command, name string, all, place, draw bool) (scan, error) {
	hash, err := ecmp.Parse(b.Hash)
	if err != nil {
		return scan{}, err
	}
	if _, ok := hash.(ecmp.Linux); ok {
		hash = ecmp.Linux{Seed: b.Seed}
	}
	r, err := capture.Open(cmd.Context(), name, cmd.InOrStdin())
	if err != nil {
		return scan{}, err
	}
	defer r.Close()
	table, err := ways.New(ways.Config{Hash: hash, Paths: []int{b.Paths}, Placed: place || draw, Redirected: true, Capacity: capacityFor(r)})
	if err != nil {
		return scan{}, err
	}
	flows := newFlowTable(r, table.Removed)
	s, err := scan{look: roce.LookCopies, samples: true}.read(cmd, r, samePacket(), func(f *capture.Frame, p *roce.Packet, err error) error {
		if err != nil {
			return nil
		}
		counts := all || p.Opcode().CarriesData()
		if counts {
			b.Packets++
		}
		if counts && p.Is4() {
			b.IPv4Packets++
		}
		weight := uint64(1)
		if b.Weights == "bytes" {
			weight = uint64(p.Len())
		}
		weight *= uint64(max(f.Sample.Rate, 1)) // one of so many was sampled
		table.Add(p, flows, flows.Observe(p, f.Nanos()), f.Nanos(), counts, weight)
		return nil
	})
	b.take(table.Results()[0], place)
	return s, err
}

// take takes over the loads of the paths.
func (b *balance) take(r ways.Result, place bool) {
	b.Spreads = []*load{
		{"5-tuple", r.FiveTuple}, {"5-tuple + label in the packet", r.Packet},
		{"5-tuple + draft-literal label", r.Literal}, {"5-tuple + crc32 label", r.CRC32},
	}
	if place {
		b.Spreads = append(b.Spreads, &load{"5-tuple + placed label", r.Placed})
		b.Placed = &placed{r.Moves, r.PlacedFloor}
	}
	b.drawn = []*load{{"as sent", r.Packet}}
	if !b.unlabelled() {
		b.drawn = append(b.drawn, &load{"with a label (draft-literal)", r.Literal}, &load{"placed: labels chosen by load", r.Placed})
	}
	b.Redirect = redirected{r.Redirected.WorstToMean, r.Rules, r.RedirectedFloor}
}

// title returns the first line of the output: paths, hash, and the unit of the load.
func (b *balance) title() string {
	return fmt.Sprintf("ECMP over %d paths, %s hash: %s of each path", b.Paths, b.Hash, b.Weights)
}

// groups returns one group of bars for each of some ways to choose paths, with a bar for each path. The text of a bar is its load in the unit of the
// whole chart.
func (b *balance) groups(of []*load) []chart.Group {
	divisor, unit := b.unit()
	text := func(load uint64) string {
		if divisor == 1 {
			return fmt.Sprint(load, unit)
		}
		return fmt.Sprintf("%.2f%s", float64(load)/divisor, unit)
	}
	var groups []chart.Group
	for _, s := range of {
		groups = append(groups, s.Group(s.By, func(path int) string { return fmt.Sprint("path ", path) }, text))
	}
	return groups
}

// String returns the effect of rules, and what else to do where a 5-tuple is too large.
func (r redirected) String() string {
	text := fmt.Sprintf("redirect (docs/redirect.md): max ÷ mean %.2f with %s; no rules are below %.2f", r.WorstToMean, kit.Plural(r.Rules, "rule"), r.Floor)
	if r.Floor >= uneven {
		text += ", as a 5-tuple is one flow: where queue pairs share a UDP source port, let the adapters vary it (docs/adapters.md), or the switch hash the queue pair"
	}
	return text
}

// uneven is the max ÷ mean from which on paths are worth a change.
const uneven = 1.2

// unlabelled reports whether no packet has a place for a label.
func (b *balance) unlabelled() bool { return b.IPv4Packets == b.Packets }

// shown returns the ways to choose paths that people see: the first alone, where all
// others are the same for lack of labels.
func (b *balance) shown() []*load {
	if b.unlabelled() {
		return b.Spreads[:1]
	}
	return b.Spreads
}

// unit returns the divisor and the name of loads in print: the same for all bars.
func (b *balance) unit() (divisor float64, name string) {
	var most uint64
	for _, s := range b.Spreads {
		most = max(most, slices.Max(s.PerPath))
	}
	divisor, name = 1, ""
	if b.Weights == "bytes" {
		for _, next := range []string{" kB", " MB", " GB", " TB"} {
			if float64(most) < 1000*divisor {
				break
			}
			divisor, name = 1000*divisor, next
		}
	}
	return divisor, name
}

// print writes the chart for people, and below it max ÷ mean of each way: 1 is an even
// load, the number of paths the worst. width is that of the terminal; 0: there is none.
func (b *balance) print(w io.Writer, width int) error {
	fmt.Fprintf(w, "%s\n\n", b.title())
	if err := chart.Text(w, b.groups(b.shown()), cmp.Or(width, chartWidth)); err != nil {
		return err
	}
	var parts []string
	for _, s := range b.shown() {
		parts = append(parts, fmt.Sprintf("%s %.2f", strings.TrimPrefix(s.By, "5-tuple + "), s.WorstToMean))
	}
	_, err := fmt.Fprintf(w, "\nmax ÷ mean: %s\n", strings.Join(parts, ", "))
	if err == nil && b.IPv4Packets > 0 {
		_, err = fmt.Fprintf(w, "no flow label in %d of %d packets: IPv4 has none\n%s\n", b.IPv4Packets, b.Packets, b.Redirect)
	}
	switch {
	case err != nil || b.Placed == nil || b.unlabelled():
	case b.Placed.Floor == 0:
		_, err = fmt.Fprintln(w, "placed: no packet can have a label: in a tunnel")
	default:
		_, err = fmt.Fprintf(w, "placed: %d moves; no placement is below %.2f\n", b.Placed.Moves, b.Placed.Floor)
	}
	return err
}
