// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/cli/show"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/host/machine"
)

// versionOf is a part and its version.
type versionOf struct {
	Part    string `json:"part"`
	Version string `json:"version,omitempty"`
	At      string `json:"at,omitempty"`    // path of a program
	Error   string `json:"error,omitempty"` // why the version is unknown

	stale *show.StaleError // the running sluiced is silent
}

// versionPatience is how long a program, or Redis, may take to report its
// version.
const versionPatience = 5 * time.Second

// newVersionCommand returns `sluice version`.
func newVersionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of all parts of Sluice on this machine",
		Long: `Print the versions of all parts of Sluice on this machine: the programs beside this one, or else
those in PATH, the sluiced that is running, as STATE_DB has it, Go and the kernel. A part that is
not there is said so.`,
		Example: `  sluice version
  sluice version --json`,
		Args: kit.Exactly(),
	}
	dbs := addDatabases(cmd.Flags())
	format := kit.AddFormat(cmd.Flags(), "one object a line")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		folder := ""
		self, err := os.Executable()
		if err == nil {
			folder = filepath.Dir(self)
		}
		parts := []versionOf{{Part: "sluice", Version: version, At: self}}
		for _, name := range []string{"sluiced", "sluice-gnmi"} {
			parts = append(parts, versionOfProgram(cmd.Context(), folder, name))
		}
		daemon := versionOfDaemon(cmd.Context(), dbs)
		parts = append(parts, daemon, versionOf{Part: "go", Version: runtime.Version()}, versionOfKernel())
		out := cmd.OutOrStdout()
		if format.Data() {
			e := format.Encoder(out)
			for _, p := range parts {
				if err := e.Encode(p); err != nil {
					return err
				}
			}
			return daemon.stale.Err()
		}
		w := output.NewTable(out, format.Style(out))
		for _, p := range parts {
			said := p.Version
			if p.Error != "" {
				said = "- (" + p.Error + ")"
			}
			w.Row(p.Part, said, p.At)
		}
		if err := w.End(); err != nil || daemon.stale == nil {
			return err
		}
		return kit.Exited{Status: statusStale} // the table has the reason
	}
	return cmd
}

// versionOfProgram asks the program in a folder, or else in PATH.
func versionOfProgram(ctx context.Context, folder, name string) versionOf {
	v := versionOf{Part: name}
	at := filepath.Join(folder, name)
	if _, err := os.Stat(at); err != nil {
		if at, err = exec.LookPath(name); err != nil {
			v.Error = "not installed"
			return v
		}
	}
	ctx, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	out, err := exec.CommandContext(ctx, at, "--version").Output()
	v.At = at
	if v.Version = strings.TrimSpace(strings.TrimPrefix(string(out), name)); err != nil || v.Version == "" {
		v.Version, v.Error = "", "it does not say"
	}
	return v
}

// versionOfDaemon returns the version that the sluiced that runs, or ran last,
// wrote.
func versionOfDaemon(ctx context.Context, dbs *databaseFlags) versionOf {
	v := versionOf{Part: "sluiced, running"}
	opened, err := dbs.open("STATE_DB")
	defer func() { _ = opened.close() }()
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, versionPatience)
		defer cancel()
		all, readErr := opened.read(ctx, "STATE_DB", telemetry.TableState)
		for _, r := range all {
			v.Version = r.Fields["version"]
			v.stale = show.Stale(r.Fields, time.Now())
		}
		err = readErr
	}
	switch {
	case v.stale != nil:
		v.Error = v.stale.Error()
	case err != nil:
		v.Error = "the databases cannot be read"
	case v.Version == "":
		v.Error = "not running"
	}
	return v
}

// versionOfKernel returns the release of uname(2).
func versionOfKernel() versionOf {
	v := versionOf{Part: "kernel", Version: machine.Running()}
	if v.Version == "" {
		v.Error = "uname fails"
	}
	return v
}
