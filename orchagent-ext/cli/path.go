// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/cli/trace"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/spread/nexthops"
	"sluice/orchagent-ext/wire/roce"
	"sluice/yang/rows"
	"sluice/yang/text"
)

// newPathCommand returns `sluice path`.
func newPathCommand() *cobra.Command {
	q := &pathQuery{}
	cmd := &cobra.Command{
		Use:   "path --src ADDRESS --dst ADDRESS --dst-qp QPN [--src-qp QPN] [--sport PORT] [--trace]",
		Short: "Show which uplink a flow takes: now, with its label, when placed",
		Long: `Show by which uplink this machine forwards a flow: now, with the label of draft-hu, and with the label
that placement chose. It asks the kernel for its next hops, weights and neighbors to the destination and
for how it hashes, and computes its choice; packets that this machine itself sends can take other ways.
It changes nothing.

NOW has the label that sluiced has written into the flow, as STATE_DB says; without one the label that
the sender sets (--flow-label). A flow over IPv4 has no label, and one path.

--trace goes on from here: DEVICE_NEIGHBOR names the switch behind the uplink, whose sluice-gnmi is asked
for its next hops and its hash, and so on to the destination, through 16 switches at most. They answer if
SLUICE|global has publish_next_hops=enabled. A switch is reached at its address in
DEVICE_NEIGHBOR_METADATA or at that of --switch, else by its name, which its certificate must have.
Where a switch gives no answer, the trace ends with the reason.

--target asks other switches in place of this machine's kernel, by the same rows: by which uplink each of them
forwards the flow.`,
		Example: `  sluice path --src 2001:db8:1::1 --dst 2001:db8:2::1 --src-qp 0x11 --dst-qp 0x12
  sluice path --src 10.0.1.1 --dst 10.0.2.1 --src-qp 17 --dst-qp 18 --sport 49152 --json
  sluice path --src 2001:db8:1::1 --dst 2001:db8:2::1 --dst-qp 0x12 --trace --gnmi-ca ca.pem --gnmi-cert me.pem --gnmi-key me.key
  sluice path --src 2001:db8:1::1 --dst 2001:db8:2::1 --dst-qp 0x12 --target leaf1,leaf2`,
		Args: kit.Exactly(),
	}
	flags := cmd.Flags()
	flags.Var(kit.Text(&q.src, "address"), "src", "source address")
	flags.Var(kit.Text(&q.dst, "address"), "dst", "destination address")
	flags.Var(kit.Number(&q.srcQP, 24), "src-qp", "source queue pair; 0 where it is not known")
	flags.Var(kit.Number(&q.dstQP, 24), "dst-qp", "destination queue pair")
	sport := kit.AddNumber(flags, "sport", 16, 0, "UDP source port; 0: the one that Linux derives from the queue pairs")
	flags.Var(kit.Number(&q.label, 20), "flow-label", "flow label that the sender sets; 0: none")
	addAlgorithm(flags, &q.algorithm)
	format := kit.AddFormat(flags, "one object")
	flags.BoolVar(&q.trace, "trace", false, "follow the flow through the switches behind the uplink")
	switches := addTargets(flags)
	completeTargets(cmd)
	addSwitches(flags, switches.gnmiFlags)
	databases := addDatabases(flags)
	for _, name := range []string{"src", "dst", "dst-qp"} {
		must(cmd.MarkFlagRequired(name))
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if q.src, q.dst = q.src.Unmap(), q.dst.Unmap(); q.src.Is4() != q.dst.Is4() {
			return fmt.Errorf("--src %s and --dst %s are of two families", q.src, q.dst)
		}
		if q.sport = uint16(*sport); q.sport == 0 {
			q.sport = roce.LinuxSourcePort(q.srcQP, q.dstQP)
		}
		if err := switches.checkBeside(flags, "--trace or --target", q.trace, "trace", "switch"); err != nil {
			return err
		}
		if switches.used(flags) {
			return q.ofTargets(cmd, switches, *format)
		}
		if err := q.readState(cmd.Context(), databases); err != nil {
			q.state = "STATE_DB: " + err.Error()
		}
		var client *gnmiClient
		if q.trace {
			var err error
			if client, err = switches.client(); err != nil {
				return err
			}
		}
		a, err := q.answer()
		var unknown *unknownChoice
		if err != nil && (!q.trace || !errors.As(err, &unknown)) {
			return err
		}
		if q.trace {
			if a.Trace, err = q.follow(cmd.Context(), a, unknown, databases, client); err != nil {
				return err
			}
		}
		if format.Data() {
			return format.Encoder(cmd.OutOrStdout()).Encode(a)
		}
		return a.print(cmd, format.Style(cmd.OutOrStdout()))
	}
	return cmd
}

// pathQuery is a flow whose path is asked for.
type pathQuery struct {
	src, dst     netip.Addr
	srcQP, dstQP uint32
	// sport is the UDP source port of the flow's packets.
	sport     uint16
	label     uint32 // that the sender sets
	algorithm flow.Algorithm
	// trace asks the switches behind this one, too.
	trace bool

	// written: label that the switch writes, as STATE_DB says; nil: it does not say
	written *uint32
	placed  bool   // which placement chose
	state   string // why it does not say
}

// pathAnswer is the paths of a flow.
type pathAnswer struct {
	// Group has the next hops of the route, in the kernel's order.
	Group []pathMember `json:"next_hops"`
	Hash  string       `json:"hash,omitempty"`
	// Sport is the UDP source port that was assumed.
	Sport uint16 `json:"sport"`
	// Now is the path of packets without a label; null for an unknown one.
	Now     *flowPath `json:"now"`
	Labeled *flowPath `json:"label"`  // null: over IPv4
	Placed  *flowPath `json:"placed"` // null: it is not placed
	// Reason is the reason of an unknown choice.
	Reason string       `json:"reason,omitempty"`
	Trace  *trace.Trace `json:"trace,omitempty"`

	choose func(*ecmp.Tuple) (int, bool) // nil: it is unknown
	// blind: the hash leaves the flow label out
	blind bool
}

// pathMember is one next hop of the group.
type pathMember struct {
	// Port is the network device of the next hop.
	Port string `json:"port"`
	// Via is the address of the gateway; "" for a destination on the link.
	Via string `json:"via,omitempty"`
	// Weight is that of the next hop, 1 to 256.
	Weight int    `json:"weight"`
	State  string `json:"state"` // up, dead, unresolved
}

// flowPath is the path with one label.
type flowPath struct {
	// FlowLabel is the label of the packets, 20 bits.
	FlowLabel uint32 `json:"flow_label"`
	Port      string `json:"port"` // empty: no next hop is alive
	Via       string `json:"via,omitempty"`
}

// stateTimeout is how long the databases may take: the kernel's answer is worth printing
// without them.
const stateTimeout = 2 * time.Second

// readState asks STATE_DB which label the switch writes into the flow.
func (q *pathQuery) readState(ctx context.Context, flags *databaseFlags) (err error) {
	dbs, err := flags.open("STATE_DB")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dbs.close()) }()
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	flows, err := dbs.read(ctx, "STATE_DB", trace.TableFlow)
	if err != nil {
		return err
	}
	q.find(flows)
	return nil
}

// find finds which label a switch writes into the flow, by its rows of flows.
func (q *pathQuery) find(flows []rows.Row) {
	q.written, q.placed = nil, false
	for _, r := range flows {
		src, srcErr := netip.ParseAddr(r.Fields["src"])
		dst, dstErr := netip.ParseAddr(r.Fields["dst"])
		qp, qpErr := strconv.ParseUint(r.Fields["dest_qp"], 10, 24)
		label, labelErr := strconv.ParseUint(r.Fields["flow_label"], 10, 20)
		if errors.Join(srcErr, dstErr, qpErr, labelErr) != nil || src != q.src || dst != q.dst || uint32(qp) != q.dstQP {
			continue
		}
		written := uint32(label)
		q.written, q.placed = &written, r.Fields["path"] != ""
	}
}

// unknownChoice is the reason why the choice among next hops is unknown.
type unknownChoice struct {
	n   int
	why error
}

// Error implements [error].
func (e *unknownChoice) Error() string {
	return fmt.Sprintf("the choice among %d next hops cannot be known: %v", e.n, e.why)
}

// tuple returns the fields of the flow's packets that switches hash, with a
// label.
func (q *pathQuery) tuple(label uint32) *ecmp.Tuple {
	return &ecmp.Tuple{Src: q.src, Dst: q.dst, Proto: unix.IPPROTO_UDP, SrcPort: q.sport, DstPort: roce.UDPPort, FlowLabel: label}
}

// answer asks the kernel, and computes its choice. With the error unknownChoice the answer
// has the next hops alone.
func (q *pathQuery) answer() (*pathAnswer, error) {
	group, err := nexthops.Read(q.dst)
	if err != nil {
		return nil, err
	}
	a := &pathAnswer{Sport: q.sport}
	for _, m := range group.Members {
		member := pathMember{m.Link, "", m.Weight, m.State()}
		if m.Gateway.IsValid() {
			member.Via = m.Gateway.String()
		}
		a.Group = append(a.Group, member)
	}
	a.choose = func(*ecmp.Tuple) (int, bool) { return 0, !group.Members[0].Dead }
	if len(group.Members) > 1 {
		a.choose = nil
		hash, err := nexthops.Hash(q.dst.Is4())
		if err != nil {
			return a, &unknownChoice{len(group.Members), err}
		}
		model, err := group.Model(hash)
		if err != nil {
			return a, &unknownChoice{len(group.Members), err}
		}
		a.choose = model.Predict
		a.hashed(hash)
	}
	q.paths(a)
	return a, nil
}

// hashed takes the hash by which the choice is known.
func (a *pathAnswer) hashed(hash ecmp.Kernel) {
	a.Hash = fmt.Sprintf("policy %d", hash.Policy)
	if hash.Policy == ecmp.PolicyFields {
		a.Hash += fmt.Sprintf(", fields %#x", hash.Fields)
	}
	a.blind = !hash.HashesLabel()
}

// paths fills in the paths of the flow, by the choice.
func (q *pathQuery) paths(a *pathAnswer) {
	path := func(label uint32) *flowPath {
		p := &flowPath{FlowLabel: label}
		if i, ok := a.choose(q.tuple(label)); ok {
			p.Port, p.Via = a.Group[i].Port, a.Group[i].Via
		}
		return p
	}
	if q.dst.Is4() {
		a.Now, a.Reason = path(0), "IPv4 has no flow label"
		return
	}
	if a.blind {
		a.Reason = "the kernel's hash leaves the flow label out: labels make no difference"
	}
	a.Now = path(q.label)
	a.Labeled = path(q.algorithm.Label(q.srcQP, q.dstQP, q.src.As16(), q.dst.As16()))
	if q.written != nil {
		a.Now = path(*q.written)
	}
	switch {
	case q.placed:
		a.Placed = a.Now
	case a.Reason == "" && q.state != "":
		a.Reason = q.state
	case a.Reason == "":
		a.Reason = "the flow is not placed"
	}
}

// print prints the answer as a table: a line each for the flow as it is, with the label
// of draft-hu, and as placed; "-" for an unknown one.
func (a *pathAnswer) print(cmd *cobra.Command, style output.Style) error {
	if a.Trace != nil {
		return printTrace(cmd, style, a.Trace)
	}
	table := output.NewTable(cmd.OutOrStdout(), style, "", "LABEL", "PORT", "VIA")
	for _, cells := range a.lines() {
		table.Row(cells...)
	}
	if err := table.End(); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s; UDP source port %d\n", text.Printable(a.group()), a.Sport)
	if a.Reason != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), text.Printable(a.Reason))
	}
	return nil
}

// lines returns the cells of the paths: the flow as it is, with the label of draft-hu, and as
// placed.
func (a *pathAnswer) lines() [][]string {
	row := func(name string, p *flowPath) []string {
		switch {
		case p == nil:
			return []string{name, "-", "-", "-"}
		case p.Port == "":
			return []string{name, fmt.Sprintf("%#05x", p.FlowLabel), "none is alive", "-"}
		}
		return []string{name, fmt.Sprintf("%#05x", p.FlowLabel), p.Port, cmp.Or(p.Via, "on the link")}
	}
	return [][]string{row("now", a.Now), row("label", a.Labeled), row("placed", a.Placed)}
}

// group names the next hops, and the hash among them.
func (a *pathAnswer) group() string {
	group := kit.Plural(len(a.Group), "next hop") + ":"
	for _, m := range a.Group {
		group += " " + m.Port
		if m.Weight != 1 {
			group += fmt.Sprintf(" (weight %d)", m.Weight)
		}
		if m.State != "up" {
			group += " (" + m.State + ")"
		}
	}
	if a.Hash != "" {
		group += "; hash " + a.Hash
	}
	return group
}
