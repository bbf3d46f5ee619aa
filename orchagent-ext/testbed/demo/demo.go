// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/host/machine"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/roce"
)

// Config has the scenarios that the demo runs, and the places of its output.
type Config struct {
	Sluiced  string   // program
	Library  string   // SAI library that sluiced loads
	Profile  []string // KEY=VALUE for the library
	Captures string   // folder of real captures (*.pcap)
	// Out: folder of report.json, plots and logs; made if it is not there
	Out       string
	Scenarios []string // of [Scenarios], in this order
	// CheckOnly ends the demo once it is known whether this machine can run it.
	CheckOnly bool
	// Full: medians of several runs and many events, instead of one run of each
	Full bool

	Stdout, Stderr io.Writer // result; progress
}

// A scenario shows one thing on a network of its own. limit ends one that hangs;
// waits inside it have less.
type scenario struct {
	name    string
	shows   string        // in a few words, for the operator
	picture string        // name of the file that it writes; "" for none
	takes   time.Duration // of one run, on two processors
	limit   time.Duration
	since   machine.Kernel // first release of Linux that it runs on
	run     func(ctx context.Context, f *fabric.Fabric, c Config, folder string, say say) (result, error)
}

// say prints a line of progress, with fmt's format.
type say func(format string, args ...any)

// A result is the result of a scenario.
type result interface {
	write(folder string) error // adds to report.json, and writes plots
	print(w io.Writer) error   // shows it to people
	judge() error              // names the missed bars
}

// scenarios are run in this order. The duration is the limit after which a scenario
// fails: it ends one that hangs.
var scenarios = []scenario{
	{"spread", "labels spread queue pairs over uplinks", "balance.svg", 2 * time.Second, 55 * time.Second, machine.SoftwareSwitch, runSpread},
	{"hold", "one flow is held, others of its priority go on", "hold.svg", 25 * time.Second, 10 * time.Minute, machine.SoftwareSwitch, runHold},
	{"wan", "senders over a long path are advised of a rate", "wan.svg", 50 * time.Second, 10 * time.Minute, machine.SoftwareSwitch, runWAN},
	{"placement", "labels are chosen so that uplinks fill evenly", "", 20 * time.Second, 5 * time.Minute, machine.KnownPaths, runPlacement},
	{"stock", "rules to next hops, as on a stock ASIC", "", 20 * time.Second, 6 * time.Minute, machine.KnownPaths, runStock},
	{"wan-stock", "senders are advised by samples, as on a stock ASIC", "", time.Minute, 10 * time.Minute, machine.SoftwareSwitch, runWANStock},
}

// Scenarios are the names of the scenarios, in the order in which they are shown.
func Scenarios() (names []string) {
	for _, s := range scenarios {
		names = append(names, s.name)
	}
	return names
}

// uplinks is the number of equal-cost uplinks of the leaf in the scenarios spread and
// placement.
const uplinks = 4

// Run runs the scenarios of the demo. The error has each failure and each figure
// that missed its bar; the report is written in the latter case, too. When ctx
// ends, it ends.
func Run(ctx context.Context, c Config) error {
	chosen, err := chosen(c.Scenarios, machine.Running())
	if err != nil || c.CheckOnly {
		return err
	}
	for i, s := range chosen {
		step, began := fmt.Sprintf("%d of %d", i+1, len(chosen)), time.Now()
		fmt.Fprintf(c.Stderr, "%s: %s%s\n", step, s.shows, c.span(s))
		if err := c.show(ctx, s); err != nil {
			return err
		}
		fmt.Fprintf(c.Stderr, "%s took %.0f s\n", step, time.Since(began).Seconds())
	}
	_, err = io.WriteString(c.Stdout, closing(chosen, c.Out))
	return err
}

// span returns how long a scenario takes, for people; with Full it is not known before.
func (c Config) span(s scenario) string {
	if c.Full {
		return ""
	}
	return fmt.Sprintf(" (some %v)", s.takes)
}

// closing returns the last four lines of the demo: what was shown, where pictures and figures
// are, and what to do next.
func closing(chosen []scenario, out string) string {
	var shown, pictures []string
	for _, s := range chosen {
		shown = append(shown, s.name)
		if s.picture != "" {
			pictures = append(pictures, filepath.Join(out, s.picture))
		}
	}
	if pictures == nil {
		pictures = []string{"none of these"}
	}
	return fmt.Sprintf(`
shown     %s: each figure met its bar
pictures  %s
figures   %s
next      bin/sluice doctor CAPTURE judges your fabric; make lab starts one to try (docs/lab.md)
`, strings.Join(shown, ", "), strings.Join(pictures, " "), filepath.Join(out, "report.json"))
}

// chosen returns the scenarios of these names. The error is an unknown name, or a
// [KernelError] where one needs a later kernel than the release that runs.
func chosen(names []string, release string) ([]scenario, error) {
	var all []scenario
	for _, name := range names {
		i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("scenario %q: allowed are %s", name, strings.Join(Scenarios(), ", "))
		}
		if s := scenarios[i]; machine.ParseKernel(release).Before(s.since) {
			return nil, &KernelError{s.name, release, s.since}
		}
		all = append(all, scenarios[i])
	}
	return all, nil
}

// KernelError is of a kernel that is too old for a scenario.
type KernelError struct {
	Scenario string
	Release  string         // that runs
	Needed   machine.Kernel // the first that has the feature
}

// Error says in one sentence which kernel the scenario needs.
func (e *KernelError) Error() string {
	return fmt.Sprintf("this demo (scenario %s) needs Linux %v or later, and this machine runs %s: boot a later kernel, on Debian 12 that of bookworm-backports", e.Scenario, e.Needed, e.Release)
}

// show builds the fabric of a scenario, runs it, prints its figures and judges them. The
// fabric is removed in any case. An error names the namespaces' missing support, the
// scenario's failure, or the bars that were missed.
func (c Config) show(ctx context.Context, s scenario) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.limit, fmt.Errorf("not done within %v", s.limit))
	defer cancel()
	f, err := fabric.New()
	if errors.Is(err, fabric.ErrNotSupported) {
		return fmt.Errorf("the demo makes network namespaces and loads programs into the kernel: %w: run it as root, as by sudo bin/sluice-lab demo", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := c.check(); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "sluice-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	r, err := s.run(ctx, f, c, folder, func(format string, args ...any) { fmt.Fprintf(c.Stderr, format+"\n", args...) })
	if err != nil {
		return reason(ctx, err)
	}
	if err := r.write(c.Out); err != nil {
		return err
	}
	if err := r.print(c.Stdout); err != nil {
		return err
	}
	return r.judge()
}

// runSpread shows the effect of flow labels on the uplinks of a leaf.
func runSpread(ctx context.Context, f *fabric.Fabric, c Config, folder string, say say) (_ result, err error) {
	say("network: host A – leaf == %d uplinks == spine – host B", uplinks)
	b, err := newBench(f, c.Captures)
	if err != nil {
		return nil, err
	}
	say("control plane: Redis, and %s with %s in the leaf", c.Sluiced, c.Library)
	p, ctx, err := startPlane(ctx, c, folder, site{node: b.Leaf, log: "sluiced.log", rows: portRows(b.LeafSpine)})
	defer func() { err = errors.Join(err, p.close()) }()
	if err != nil {
		return nil, reason(ctx, err)
	}
	r, err := b.compare(ctx, p, say)
	if err != nil {
		return nil, reason(ctx, err)
	}
	return r, nil
}

// reason returns why the context ended, where that is behind an error.
func reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// check returns an error with the first prerequisite that is missing, before the
// demo changes anything.
func (c Config) check() error {
	for _, f := range []struct{ what, path string }{{"program sluiced", c.Sluiced}, {"SAI library", c.Library}, {"folder of captures", c.Captures}} {
		if _, err := os.Stat(f.path); err != nil {
			return fmt.Errorf("%s: %w (make build builds programs and libraries)", f.what, err)
		}
	}
	return os.MkdirAll(c.Out, 0o755)
}

// newBench builds the network and the traffic for it.
func newBench(f *fabric.Fabric, captures string) (*bench, error) {
	s, err := f.LeafSpine(uplinks)
	if err != nil {
		return nil, err
	}
	if err := s.ToB(liftPrefix); err != nil {
		return nil, err
	}
	b := &bench{LeafSpine: s}
	if b.generated, err = generated(s.A); err != nil {
		return nil, err
	}
	b.captured, b.files, err = captured(captures, s.A)
	return b, err
}

// compare sends the traffic before and after the row that enables flow labels.
func (b *bench) compare(ctx context.Context, p *plane, say say) (*report, error) {
	r := &report{}
	r.Balance.Paths = len(b.Uplinks)
	say("traffic: %d packets of %d captures, %d packets of %d queue pairs", len(b.captured), b.files, len(b.generated), sessions.QPs)
	before, v, err := b.round(ctx, (*roce.Packet).FlowLabel)
	if err != nil {
		return nil, err
	}
	r.Balance.Before = before
	r.count(v)
	if v.Right != v.Checked {
		return nil, fmt.Errorf("%d packets got a label before the row was there; the first: %s", v.Checked-v.Right, v.FirstWrong)
	}

	say("configuration: SLUICE_FLOW_LABEL|global %s", sorted(enableLabels().Row.Fields))
	took, method, err := p.enable(ctx)
	if err != nil {
		return nil, err
	}
	r.ConfigToSwitch, r.method = float64(took.Microseconds())/1000, method

	label := labelsAt(method, flow.DraftLiteral)
	if method == methodRewrite {
		say("the CPU learns the flows")
		if err := b.teach(ctx, label); err != nil {
			return nil, err
		}
	}
	say("the same traffic again")
	after, v, err := b.round(ctx, label)
	if err != nil {
		return nil, err
	}
	r.Balance.After = after
	r.count(v)
	r.Labels, r.firstWrong = labels{v.Checked, v.Right}, v.FirstWrong
	return r, nil
}

// teachPatience is for the entries of all flows to be on the switch.
const teachPatience = 10 * time.Second

// teach sends the traffic until every label is right: where a label is computed
// on the CPU, the first packets of a flow pass unlabelled.
func (b *bench) teach(ctx context.Context, label func(*roce.Packet) uint32) error {
	for deadline := time.Now().Add(teachPatience); ; {
		_, v, err := b.round(ctx, label)
		if err != nil || v.Right == v.Checked || time.Now().After(deadline) {
			return err
		}
	}
}
