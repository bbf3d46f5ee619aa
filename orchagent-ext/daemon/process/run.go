// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/orchagent-ext/daemon/loop"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry/metrics"
	"sluice/orchagent-ext/host/files"
	"sluice/orchagent-ext/host/logging"
	"sluice/orchagent-ext/host/portlock"
	"sluice/orchagent-ext/host/sandbox"
	"sluice/orchagent-ext/switch/gate"
)

// Off is the value of an option of a file, of the sandbox and of the metrics' address that
// switches it off.
const Off = "off"

// Options are the command line and the environment of sluiced.
type Options struct {
	Version   string // of the program
	DBConfig  string // path of database_config.json; "": SONiC's
	Namespace string // asicN on a switch of several ASICs; "": there is one
	Mode      Mode
	SAI
	DryRunOptions
	Files
	Plaintext bool // passwords may be sent to an etcd without TLS
	Sandbox   bool
	Level     slog.Level
	Syslog    bool
	Metrics   Metrics

	// OpenSamples opens the socket of sFlow's samples ([packetio.Netdev]); nil: the kernel's.
	OpenSamples func() (fd int, err error)
}

// SAI are the options of the SAI library.
type SAI struct {
	Library   string // path of the SAI library, or ""
	Profile   map[string]string
	Connect   bool // to a switch that another process initialized
	CallLimit time.Duration
}

// DryRunOptions are the options of the dry run.
type DryRunOptions struct {
	JSON   bool
	Method string // that is assumed; "": the last one chosen
}

// Files are the options of files and folders.
type Files struct {
	StateFile  string   // "": the default path; Off: none
	Folders    []string // of files that rows name, besides the default ones
	Reserved   []string // paths that other parts of Sluice name: rows may not
	LockFolder string
}

// Mode is the task of the process.
type Mode int

// The tasks of a process of sluiced.
const (
	Daemon   Mode = iota
	DryRun        // print the steps to the configured state
	Remove        // remove all of Sluice's objects and rows
	SAICheck      // try the methods of a SAI library, as ordered on standard input
)

// Metrics are the options of the HTTP server for Prometheus.
type Metrics struct {
	Address string // Off: no server
	Flows   int    // that get metrics of their own
	ASIC    string // label of all metrics; "": there is one ASIC
}

// sandboxProfile is by the library: the calls of a vendor's library are not known.
func (o *Options) sandboxProfile() sandbox.Profile {
	if o.Library != "" && filepath.Base(o.Library) != SoftLibrary {
		return sandbox.Library
	}
	return sandbox.Switch
}

// memory is the path of the state file; "": none.
func (o *Options) memory() string {
	switch {
	case o.StateFile == Off:
		return ""
	case o.StateFile != "":
		return o.StateFile
	case o.Namespace != "":
		return "/var/lib/sluice/sluiced-" + o.Namespace + ".json"
	}
	return "/var/lib/sluice/sluiced.json"
}

// rowsFile is the path of the file of the rows in force; "": none.
func (o *Options) rowsFile() string {
	if o.memory() == "" {
		return ""
	}
	return strings.TrimSuffix(o.memory(), ".json") + "-rows.json"
}

// enterSandbox gives up system calls for the rest of the process's life.
func (o *Options) enterSandbox(log *slog.Logger) {
	if !o.Sandbox {
		return
	}
	if err := sandbox.Enter(o.sandboxProfile()); err != nil {
		log.Warn("cannot enter the sandbox: all system calls stay allowed", "error", err)
	}
}

// Run does the task of the process, until it is done or ctx ends.
func Run(ctx context.Context, o *Options, stdout, stderr io.Writer) error {
	if o.Mode == SAICheck {
		return saiCheck(ctx, o, os.Stdin, stdout, stderr)
	}
	databases, err := sonicdb.Load(o.DBConfig, o.Namespace)
	if err != nil {
		return err
	}
	if o.Mode == DryRun {
		return dryRun(ctx, o, databases, stdout)
	}
	log, err := logging.New(stderr, "sluiced", o.Level, o.Syslog)
	if err != nil {
		return err
	}
	o.enterSandbox(log)
	release, err := claim(o.LockFolder, databases)
	if err != nil {
		return err
	}
	defer release()
	files.RemoveLeftovers(o.memory())
	db, err := databases.Database("CONFIG_DB")
	if err != nil {
		return err
	}
	guard, err := guardLibrary(o, databases, log)
	if err != nil {
		return err
	}
	go guard.EnforceEnd(ctx)
	c := loop.Config{
		Databases: databases, Version: o.Version, Log: log, Now: time.Now, StateFile: o.rowsFile(),
		Open:          (&opener{ctx, o, databases, log, guard, new(gate.Gate), portlock.New(db.Address, log)}).open,
		Files:         files.Reader{Folders: slices.Concat(files.Default, o.Folders), Reserved: o.Reserved},
		EtcdPlaintext: o.Plaintext, Realtime: new(realtime).Set,
	}
	if o.Mode == Remove {
		return loop.Remove(ctx, c)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return guard.Run(ctx) })
	c.Warnings = guard.Warnings
	if o.Metrics.Address != Off {
		served, err := metrics.New(metrics.Config{Address: o.Metrics.Address, Databases: databases, ASIC: o.Metrics.ASIC, Flows: o.Metrics.Flows, Log: log, Hangs: guard.Hangs})
		if err != nil {
			return fmt.Errorf("serve metrics: %w", err)
		}
		c.Warnings = func() []string { return append(guard.Warnings(), served.Warnings()...) }
		g.Go(func() error { return served.Run(ctx) })
	}
	log.Info("sluiced starts", "version", o.Version, "library", o.Library)
	g.Go(func() error { return signOfLife(ctx, databases, time.Now, log) })
	g.Go(func() error { return loop.Run(ctx, c) })
	if err = g.Wait(); err == nil {
		log.Info("sluiced ends")
	}
	return err
}
