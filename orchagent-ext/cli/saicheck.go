// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/switch/saicheck"
	"sluice/yang/text"
)

// errNoMethod is the error of a check that was made, and found every method for
// flow labels broken.
var errNoMethod = errors.New("no method of the flow label works")

// newSAICheckCommand returns `sluice sai-check`. The library runs in a process of sluiced
// rather than in this one, since a library may end its process.
func newSAICheckCommand() *cobra.Command {
	var port, sluiced, lockFolder, sandbox string
	var profile []string
	var connect, all, verbose bool
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "sai-check LIBRARY",
		Short: "Find out what a SAI library can do for Sluice, call by call",
		Long: `Find out what a SAI library can do for Sluice: make each call that sluiced would make, on one
port, by each method, and say which methods work, and what was refused, with names, ids and codes.
What it creates it removes.

It initializes the switch, which takes an ASIC out of service; --connect uses one that another
process initialized. The library is loaded by a sluiced of its own: where it ends that process, or
does not answer, this is the result of the method that was tried. It refuses to run beside another
sluiced in this network namespace, or where one has left objects on the switch.

It exits with 0 where flow labels have a method that works, with 2 where none does, and with 1
where the check could not be made or something is left on the switch.`,
		Example: `  sluice sai-check bin/libsoftsai.so --port eth0
  sluice sai-check /usr/lib/libsai.so --profile @/etc/sonic/sluice/sai.profile --port Ethernet0:0,1,2,3
  sluice sai-check bin/libsoftsai.so --port eth0 --json | jq '.methods["flow-label"].compute.works'`,
		Args: kit.Exactly("LIBRARY"),
	}
	flags := cmd.Flags()
	dbs := addDatabases(flags)
	flags.StringVar(&port, "port", "", "the port: its name, as CONFIG_DB or a network device has it, or NAME:LANE,LANE; default: the first one")
	flags.StringArrayVar(&profile, "profile", nil, "KEY=VALUE for the library's profile, or @FILE of such lines; may be given again")
	flags.BoolVar(&connect, "connect", false, "connect to a switch that another process initialized")
	flags.DurationVar(&limit, "limit", 30*time.Second, "how long a call may take")
	flags.BoolVar(&all, "all", false, "print each call, not only those that were refused")
	flags.BoolVar(&verbose, "verbose", false, "copy what the library and sluiced write to standard error")
	format := kit.AddFormat(flags, "one object, with each call")
	flags.StringVar(&sluiced, "sluiced", "", "program sluiced; default: beside this one, or in PATH")
	flags.StringVar(&lockFolder, "lock-folder", "", "folder of sluiced's lock, where it is not the usual one")
	flags.StringVar(&sandbox, "sandbox", "", "on or off, as sluiced takes it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c := saicheck.Config{Sluiced: sluiced, Library: args[0], Limit: limit, Log: io.Discard}
		if verbose {
			c.Log = cmd.ErrOrStderr()
		} else {
			c.Args = []string{"--log-level", "error"}
		}
		var err error
		if c.Order.Port, c.Order.Lanes, err = parsePort(port); err != nil {
			return err
		}
		if limit <= 0 {
			return errors.New("--limit must be more than 0")
		}
		if c.Sluiced == "" {
			if c.Sluiced, err = sibling("sluiced"); err != nil {
				return err
			}
		}
		for _, pair := range profile {
			c.Args = append(c.Args, "--sai-profile", pair)
		}
		for name, value := range map[string]string{"--db-config": dbs.config, "--namespace": dbs.namespace, "--lock-folder": lockFolder, "--sandbox": sandbox} {
			if value != "" {
				c.Args = append(c.Args, name, value)
			}
		}
		if connect {
			c.Args = append(c.Args, "--sai-connect")
		}
		report, failed := saicheck.Run(cmd.Context(), c)
		if format.Data() {
			failed = errors.Join(failed, format.Write(cmd.OutOrStdout(), report))
		} else {
			var b strings.Builder
			failed = errors.Join(failed, report.Text(&b, all))
			fmt.Fprint(cmd.OutOrStdout(), text.Lines(b.String()))
		}
		if failed == nil && !report.Works("flow-label") {
			return errNoMethod
		}
		return kit.Interrupted(cmd, failed)
	}
	return cmd
}

// parsePort reads NAME or NAME:LANE,LANE.
func parsePort(s string) (name string, lanes []uint32, err error) {
	name, list, has := strings.Cut(s, ":")
	if !has {
		return name, nil, nil
	}
	for _, word := range strings.Split(list, ",") {
		lane, err := strconv.ParseUint(word, 10, 32)
		if err != nil || name == "" {
			return "", nil, fmt.Errorf("--port %q is not NAME or NAME:LANE,LANE", s)
		}
		lanes = append(lanes, uint32(lane))
	}
	return name, lanes, nil
}

// sibling is the path of a program beside this one, or else in PATH.
func sibling(name string) (string, error) {
	if self, err := os.Executable(); err == nil {
		at := filepath.Join(filepath.Dir(self), name)
		if _, err := os.Stat(at); err == nil {
			return at, nil
		}
	}
	return exec.LookPath(name)
}
