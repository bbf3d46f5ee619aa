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
	"sluice/orchagent-ext/host/machine"
	"sluice/orchagent-ext/spread/nexthops"
	"sluice/orchagent-ext/wire/roce"
	"sluice/yang/rows"
	"sluice/yang/text"
)

// newDoctorCommand returns `sluice doctor`.
func newDoctorCommand() *cobra.Command {
	var devices []string
	var span time.Duration
	cmd := &cobra.Command{
		Use:   "doctor [FILE]",
		Short: "Judge whether Sluice helps here, and whether this machine is ready for it",
		Long: `Judge whether Sluice helps here, and whether this machine is ready for it: a line for each check, with
the next step below it. It changes nothing and sends nothing.

With --dev it watches devices for a while, and with a FILE (pcap or pcapng, - is standard input) it
judges that capture alone: how much is IPv6, whether UDP source ports separate the queue pairs of two
hosts, and whether senders write flow labels. Without a FILE it judges the machine: kernel, its multipath
hash and seed, rights of this user, clock, ASIC, databases, sluiced, and the methods that the switch has.

ok: nothing to do. note: works, with a limit. act: something is to be done. unknown: not to be read.
The exit status is 0 for each of them.`,
		Example: `  sluice doctor
  sluice doctor --dev any --for 10s
  sluice doctor capture.pcap`,
		Args: kit.Between(0, "FILE"),
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&devices, "dev", "i", nil, "device whose packets are judged, too, or any for all of them; again for more")
	flags.DurationVar(&span, "for", 10*time.Second, "how long packets are watched, with --dev")
	format := kit.AddFormat(flags, "one object a line")
	dbs := addDatabases(flags)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > 0 && devices != nil:
			return errors.New("either --dev or a FILE, not both")
		case flags.Changed("for") && devices == nil:
			return errors.New("--for goes with --dev")
		case span <= 0:
			return fmt.Errorf("--for %v: must be more than 0", span)
		}
		f := doctor.Facts{}
		var err error
		if len(args) > 0 {
			f.Traffic, err = trafficOfFile(cmd, args[0])
		} else if devices != nil {
			f.Traffic, err = trafficOfDevices(cmd, devices, span)
		}
		if err != nil {
			return err
		}
		if len(args) == 0 {
			f.Machine = factsOfMachine(cmd.Context(), dbs, "/")
		}
		return printVerdicts(cmd, doctor.Judge(f), *format)
	}
	return cmd
}

// trafficOfFile sums up a capture.
func trafficOfFile(cmd *cobra.Command, name string) (*doctor.Traffic, error) {
	r, err := capture.Open(cmd.Context(), name, cmd.InOrStdin())
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return trafficOf(cmd, r)
}

// trafficOfDevices sums up the packets that pass in a span of time, which Ctrl-C ends.
func trafficOfDevices(cmd *cobra.Command, devices []string, span time.Duration) (*doctor.Traffic, error) {
	ctx, cancel := context.WithTimeout(cmd.Context(), span)
	defer cancel()
	l, err := openLive(ctx, devices)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	fmt.Fprintf(cmd.ErrOrStderr(), "watching %s for %v\n", text.Printable(l.String()), span)
	t, err := trafficOf(cmd, l)
	if ctx.Err() != nil {
		return t, nil
	}
	return t, err
}

// trafficOf sums up frames to their end.
func trafficOf(cmd *cobra.Command, r frameSource) (*doctor.Traffic, error) {
	t := &doctor.Traffic{}
	s, err := scanThrough(cmd, r, func(_ *capture.Frame, p *roce.Packet, err error) error {
		if err == nil {
			t.Add(p)
		}
		return nil
	})
	t.Census = s.Census
	return t, err
}

// factsOfMachine collects what Judge judges. Whatever cannot be read is left unknown. root
// is the folder that file names begin at.
func factsOfMachine(ctx context.Context, dbs *databaseFlags, root string) *doctor.Machine {
	m := &doctor.Machine{Release: machine.Running(), ProcessStatus: machine.OwnStatus(), ClockError: machine.ClockError()}
	m.Hash, m.HashError = nexthops.Hash(false)
	m.ASIC, m.Syncd = machine.ASIC(root), runs(root, "syncd")
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
	}
	return nil
}
