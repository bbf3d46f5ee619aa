// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/cli/doctor"
	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/cli/show"
	"sluice/orchagent-ext/cli/ways"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/flows/health"
	"sluice/orchagent-ext/host/machine"
	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/spread/nexthops"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
	"sluice/yang/rows"
	"sluice/yang/text"
)

// newDoctorCommand returns `sluice doctor`.
func newDoctorCommand() *cobra.Command {
	var devices []string
	var span time.Duration
	var kind string
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor [FILE]",
		Short: "Judge whether Sluice helps here, and whether this machine is ready for it",
		Long: `Judge whether Sluice helps here, and whether this machine is ready for it: a line for each check, with
the next step below it, and at the end one answer with the commands. It changes nothing and sends nothing.

With --dev it watches devices for a while, and with a FILE (pcap or pcapng, - is standard input) it
judges that capture alone: how much passed, in which direction, and whether that is enough; whether UDP
source ports or flow labels separate the queue pairs of two hosts; how full the fullest of so many uplinks
is beside the mean, now, with labels, with rules to next hops, and with labels that are chosen (the
figures of sluice balance); who is behind marks, CNPs and PFC; and what was lost. Samples of sFlow are judged as samples; of a capture that
has one of N packets, say --sampled N. Without a FILE it judges the machine: versions, kernel, its multipath
hash and seed, rights of this user, clock, ASIC, databases, sluiced, and the methods that the switch has.

The answer is for the kind of switch that --switch names; with --dev for this machine, as its sluiced
reports.

With --target it judges the switches of a fabric by gNMI, all at the same time: a line for each fault, the
worst first, such as a sluiced that does not run, methods and rows that are not in force, holds that never
end, drops, uneven uplinks, drift, and clocks that differ; with --for by what passes in that time. The exit
status is 5 where a switch did not answer.

ok: nothing to do. note: works, with a limit. act: something is to be done. unknown: not to be read.
The exit status is 0 for each of them; with --fail-on act it is 4 where a verdict is act, and with
--fail-on note where one is act, note or unknown.`,
		Example: `  sluice doctor
  sluice doctor --dev any --for 10s
  sluice doctor capture.pcap
  sluice doctor capture.pcap --switch sonic-202505 --paths 8 --fail-on act
  sluice doctor --target all`,
		Args: kit.Between(0, "FILE"),
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&devices, "dev", "i", nil, "device whose packets are judged, too, or any for all of them; again for more")
	flags.DurationVar(&span, "for", 10*time.Second, "how long packets are watched, with --dev; time between two readings, with --target")
	flags.IntSliceVar(&o.paths, "paths", []int{4, 8, 16}, "uplinks of the leaf; several are compared")
	flags.Uint32Var(&o.sampled, "sampled", 1, "the capture has one of so many packets; sFlow says so itself")
	flags.StringVar(&kind, "switch", "", "kind of switch that the commands are for: "+doctor.Names())
	failOn := kit.AddChoice(flags, "fail-on", "exit with status 4 where a verdict is so bad or worse", "never", "act", "note")
	format := kit.AddFormat(flags, "one object a line")
	dbs := addDatabases(flags)
	switches := addTargets(flags)
	completeTargets(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.check(); err != nil {
			return err
		}
		if err := checkFleet(cmd, switches, args); err != nil {
			return err
		}
		switch {
		case len(args) > 0 && devices != nil:
			return errors.New("either --dev or a FILE, not both")
		case flags.Changed("for") && devices == nil && !switches.used(flags):
			return errors.New("--for goes with --dev or --target")
		case span <= 0:
			return fmt.Errorf("--for %v: must be more than 0", span)
		}
		if switches.used(flags) {
			if !flags.Changed("for") {
				span = 0
			}
			return judgeFleet(cmd, switches, span, *format, *failOn)
		}
		f := doctor.Facts{}
		var err error
		if kind != "" {
			if f.Switch, err = doctor.ParseSwitch(kind); err != nil {
				return fmt.Errorf("--%w", err)
			}
		}
		if len(args) > 0 {
			f.Traffic, err = o.file(cmd, args[0])
			f.Again = fmt.Sprintf("sluice balance %s --paths %d --placed", args[0], o.paths[len(o.paths)/2])
		} else if devices != nil {
			f.Traffic, err = o.watch(cmd, devices, span)
		}
		if err != nil {
			return err
		}
		if len(args) == 0 {
			// Ctrl-C ended the watching alone.
			f.Machine = factsOfMachine(context.WithoutCancel(cmd.Context()), dbs, "/")
		}
		all := doctor.Judge(f)
		if err := printVerdicts(cmd, all, *format); err != nil {
			return err
		}
		return failed(all, *failOn)
	}
	return cmd
}

// statusVerdict is the exit status of a verdict that --fail-on names.
const statusVerdict = 4

// failed returns the exit status where a verdict is as bad as a level; nil for "never".
func failed(all []doctor.Verdict, level string) error {
	for i := range all {
		if level != "never" && all[i].AtLeast(doctor.Level(level)) {
			return kit.Exited{Status: statusVerdict}
		}
	}
	return nil
}

// doctorOptions are how packets are summed up.
type doctorOptions struct {
	paths   []int
	sampled uint32
}

// check returns the first error.
func (o *doctorOptions) check() error {
	if len(o.paths) == 0 || len(o.paths) > maxCompared {
		return fmt.Errorf("--paths: 1 to %d numbers are possible", maxCompared)
	}
	for _, n := range o.paths {
		if n < 1 || n > maxPaths {
			return fmt.Errorf("%d paths: 1 to %d are possible", n, maxPaths)
		}
	}
	if o.sampled == 0 {
		return errors.New("--sampled 0: 1 or more is possible")
	}
	return nil
}

// maxCompared is how many numbers of uplinks are compared at most.
const maxCompared = 8

// traffic sums up frames to their end.
func (o *doctorOptions) traffic(cmd *cobra.Command, r frameSource) (*doctor.Traffic, error) {
	t := &doctor.Traffic{}
	table, err := ways.New(ways.Config{
		Hash: ecmp.Linux{Seed: ecmp.DefaultSeed}, Paths: o.paths, Placed: true, Redirected: true, Capacity: capacityFor(r), Ended: t.AddFlow,
	})
	if err != nil {
		return nil, err
	}
	h := &healthTable{flows: newFlowTable(r, table.Removed), table: health.NewTable(health.Config{Capacity: capacityFor(r), Removed: t.AddDirection})}
	h.flow = func(b *burst, i int, of *flow.Flow) {
		p := &b.packets[i]
		t.Rate = max(t.Rate, b.rates[i])
		weight := uint64(0)
		if !p.Tunnelled() {
			weight = uint64(p.Len()) * uint64(max(b.rates[i], 1))
		}
		table.Add(p, h.flows, of, b.times[i], p.Opcode().CarriesData(), weight)
	}
	codes := notify.DefaultCodePoints()
	pauses := func(f *capture.Frame, p *roce.Packet) {
		var n notify.Packet
		if f.ParseNotification(&n, p, codes) == nil && n.Kind == notify.KindPFC {
			t.Congestion.AddPFC(n.PFC, n.Envelope.SrcMAC)
		}
	}
	s, err := scan{look: roce.LookThrough, samples: true, other: pauses}.bursts(cmd, r, nil, func(b *burst) {
		if o.sampled > 1 {
			for i := range b.n {
				b.parts[i] = true
			}
		}
		h.observeBurst(b, nil)
	})
	t.Rate = max(t.Rate, o.sampled)
	t.Paths = table.Results()
	for d := range h.table.All() {
		t.AddDirection(d)
	}
	t.Census, t.Dropped = s.Census, s.dropped
	return t, err
}

// file sums up a capture.
func (o *doctorOptions) file(cmd *cobra.Command, name string) (*doctor.Traffic, error) {
	r, err := capture.Open(cmd.Context(), name, cmd.InOrStdin())
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return o.traffic(cmd, r)
}

// watch sums up the packets that pass in a span of time, which Ctrl-C ends.
func (o *doctorOptions) watch(cmd *cobra.Command, devices []string, span time.Duration) (*doctor.Traffic, error) {
	ctx, cancel := context.WithTimeout(cmd.Context(), span)
	defer cancel()
	l, err := openLive(ctx, devices)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	fmt.Fprintf(cmd.ErrOrStderr(), "watching %s for %v\n", text.Printable(l.String()), span)
	t, err := o.traffic(cmd, l)
	if ctx.Err() != nil {
		return t, nil
	}
	return t, err
}

// factsOfMachine collects what Judge judges. Whatever cannot be read is left unknown. root
// is the folder that file names begin at.
func factsOfMachine(ctx context.Context, dbs *databaseFlags, root string) *doctor.Machine {
	m := &doctor.Machine{Tool: version, Release: machine.Running(), ProcessStatus: machine.OwnStatus(), ClockError: machine.ClockError()}
	if self, err := os.Executable(); err == nil {
		m.Installed = versionOfProgram(ctx, filepath.Dir(self), "sluiced").Version
	}
	m.Hash, m.HashError = nexthops.Hash(false)
	m.ASIC, m.SONiC, m.Syncd = machine.ASIC(root), machine.Release(root), runs(root, "syncd")
	m.DatabaseError = readDatabases(ctx, dbs, m)
	return m
}

// runs reports whether a process of the name runs.
func runs(root, name string) bool {
	names, _ := filepath.Glob(filepath.Join(root, "proc/[0-9]*/comm"))
	for _, file := range names {
		if comm, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(comm)) == name {
			return true
		}
	}
	return false
}

// readDatabases reads the rows that are judged into m, within [stateTimeout].
func readDatabases(ctx context.Context, flags *databaseFlags, m *doctor.Machine) (err error) {
	dbs, err := flags.open("CONFIG_DB", "STATE_DB")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dbs.close()) }()
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	var all []rows.Row
	for database, tables := range map[string][]string{"CONFIG_DB": {"SLUICE"}, "STATE_DB": {"SLUICE_STATE", "SLUICE_CAPABILITY"}} {
		some, err := dbs.read(ctx, database, tables...)
		if err != nil {
			return err
		}
		all = append(all, some...)
	}
	for _, r := range all {
		switch r.Table {
		case "SLUICE":
			m.Driver = r.Fields["driver"]
		case "SLUICE_STATE":
			m.State, m.Stale = r.Fields, show.Stale(r.Fields, time.Now()).Err()
		case "SLUICE_CAPABILITY":
			m.Capability = r.Fields
		}
	}
	return nil
}

// printVerdicts prints a line for each verdict, and the next step below it.
func printVerdicts(cmd *cobra.Command, all []doctor.Verdict, format output.Format) error {
	out := cmd.OutOrStdout()
	if format.Data() {
		e := format.Encoder(out)
		for _, v := range all {
			if err := e.Encode(v); err != nil {
				return err
			}
		}
		return nil
	}
	for _, v := range all {
		if _, err := fmt.Fprintf(out, "%-7s  %-10s  %s\n", v.Level, v.Check, text.Printable(v.Found)); err != nil {
			return err
		}
		if v.Do != "" {
			fmt.Fprintf(out, "%19s  → %s\n", "", text.Printable(v.Do))
		}
		for _, c := range v.Commands {
			fmt.Fprintf(out, "%19s  $ %s\n", "", text.Printable(c))
		}
	}
	return nil
}
