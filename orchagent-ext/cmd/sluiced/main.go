// SPDX-License-Identifier: Apache-2.0

// Command sluiced is the daemon: it watches CONFIG_DB, programs the switch
// through a SAI library or through orchagent, and writes its state to STATE_DB.
// This file parses, builds and runs; it is the only place that knows every part.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/orchagent-ext/leaffile"
	"sluice/orchagent-ext/logging"
	"sluice/orchagent-ext/orch"
	"sluice/orchagent-ext/sandbox"
	"sluice/orchagent-ext/sonicdb"
	"sluice/yang/text"
)

// version is set at build time.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "sluiced: %s\n", text.Lines(err.Error()))
		os.Exit(1)
	}
}

// options are the command line and the environment.
type options struct {
	dbConfig, namespace string
	library             string
	profile             profile
	connect             bool
	dryRun, json        bool
	remove              bool
	saiCheck            bool
	callLimit           time.Duration
	method              string
	stateFile           string
	files               folders
	lockFolder          string
	sandbox             string
	level               slog.Level
	syslog              bool
	metrics             metricsOptions
	version             bool
}

const help = `sluiced programs a switch so that ECMP tells RDMA sessions apart.

It takes its configuration from CONFIG_DB (tables SLUICE_*) and writes its state to STATE_DB.

  sluiced --sai-library bin/libsoftsai.so          the software switch: this namespace's netdevs
  sluiced --sai-library /usr/lib/libsai.so         an ASIC, which sluiced initializes
  sluiced --sai-library ... --sai-connect          one that another process initialized
  sluiced                                          one that syncd owns: SLUICE|global driver=orchagent
  sluiced --dry-run [--json]                       print the objects that would be on the switch
  sluiced --sai-library ... --remove               take off what a killed sluiced left there; without a library, rows

Flags:
`

// parse reads the command line. What it does not name comes from the environment.
func parse(args []string, getenv func(string) string, stderr io.Writer) (*options, error) {
	o := &options{profile: profile{}}
	f := flag.NewFlagSet("sluiced", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprint(stderr, help)
		f.PrintDefaults()
	}
	or := func(name, fallback string) string {
		if v := getenv(name); v != "" {
			return v
		}
		return fallback
	}
	f.StringVar(&o.dbConfig, "db-config", or("SLUICE_DB_CONFIG", ""), sonicdb.ConfigUsage)
	f.StringVar(&o.namespace, "namespace", or("NAMESPACE_ID_NAME", ""), "`asicN` on a switch of several ASICs")
	f.StringVar(&o.library, "sai-library", or("SLUICE_SAI_LIBRARY", ""), "`path` of the SAI library (SLUICE_SAI_LIBRARY)")
	f.Var(o.profile, "sai-profile", "`KEY=VALUE` for the SAI library's profile, or @FILE of such lines; may be given again, and is applied after SLUICE_SAI_PROFILE, which is one of these")
	f.BoolVar(&o.connect, "sai-connect", getenv("SLUICE_SAI_CONNECT") != "", "connect to a switch that another process initialized (SLUICE_SAI_CONNECT)")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the objects that would be on the switch, and program nothing")
	f.BoolVar(&o.remove, "remove", false, "remove all of Sluice's objects from the switch, delete its rows in STATE_DB and COUNTERS_DB, and end")
	f.DurationVar(&o.callLimit, "sai-call-limit", 10*time.Second, "how long a call of the SAI library may take before /healthz and STATE_DB say that it hangs")
	f.BoolVar(&o.saiCheck, "sai-check", false, "what `sluice sai-check` starts: read an order from standard input, try the methods of the SAI library on one port, and write what it answers to standard output")
	f.BoolVar(&o.json, "json", false, "print the dry run as JSON")
	f.StringVar(&o.method, "method", "", "method that the dry run assumes: compute, rewrite, hash, udf-hash; default: the last one that was chosen, else compute; with the driver orchagent, what the switch can")
	f.StringVar(&o.stateFile, "state-file", or("SLUICE_STATE_FILE", ""), "`file`, one for each instance, that outlives a reboot: which hash fields the driver orchagent added; beside it FILE-rows.json has the rows in force, and while labels are chosen FILE-ledger.json the objects on the switch; off: none; default /var/lib/sluice/sluiced.json, with a namespace sluiced-asicN.json (SLUICE_STATE_FILE)")
	f.Var(&o.files, "file-folder", "`folder` of files that rows may name (certificates, keys, passwords), besides "+strings.Join(leaffile.Default, " and ")+"; may be given again")
	f.StringVar(&o.sandbox, "sandbox", or("SLUICE_SANDBOX", "on"), "`on`: take away system calls that are never needed, fewer with a vendor's library; off: none (SLUICE_SANDBOX)")
	f.StringVar(&o.lockFolder, "lock-folder", or("SLUICE_LOCK_FOLDER", lockFolder), "`folder` of the lock that keeps a second sluiced off the same databases, which no other user can write (SLUICE_LOCK_FOLDER)")
	f.TextVar(&o.level, "log-level", slog.LevelInfo, "`level`: debug, info, warn, error")
	f.BoolVar(&o.syslog, "syslog", getenv("SLUICE_SYSLOG") != "", "log to syslog instead of standard error (SLUICE_SYSLOG)")
	if err := o.metrics.define(f, or); err != nil {
		return nil, err
	}
	if v := getenv("SLUICE_SAI_PROFILE"); v != "" {
		if err := o.profile.Set(v); err != nil {
			return nil, fmt.Errorf("SLUICE_SAI_PROFILE: %w", err)
		}
	}
	f.BoolVar(&o.version, "version", false, "print the version")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if o.callLimit <= 0 {
		return nil, fmt.Errorf("--sai-call-limit %v: it must be more than 0", o.callLimit)
	}
	if o.sandbox != "on" && o.sandbox != "off" {
		return nil, fmt.Errorf("--sandbox %q: on and off are allowed", o.sandbox)
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected %q: everything is a flag, see --help", f.Arg(0))
	}
	return o, nil
}

// profileOfSandbox is by the library: what a vendor's one needs is not known.
func (o *options) profileOfSandbox() sandbox.Profile {
	if o.library != "" && filepath.Base(o.library) != softLibrary {
		return sandbox.Library
	}
	return sandbox.Switch
}

// memory is the path of the state file; "": none.
func (o *options) memory() string {
	switch {
	case o.stateFile == "off":
		return ""
	case o.stateFile != "":
		return o.stateFile
	case o.namespace != "":
		return "/var/lib/sluice/sluiced-" + o.namespace + ".json"
	}
	return "/var/lib/sluice/sluiced.json"
}

// rowsFile is the path of the file of the rows in force; "": none.
func (o *options) rowsFile() string {
	if o.memory() == "" {
		return ""
	}
	return strings.TrimSuffix(o.memory(), ".json") + "-rows.json"
}

func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	o, err := parse(args, getenv, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if o.version {
		fmt.Fprintln(stdout, "sluiced", version)
		return nil
	}
	if o.saiCheck {
		return saiCheck(ctx, o, os.Stdin, stdout, stderr)
	}
	databases, err := sonicdb.Load(o.dbConfig, o.namespace)
	if err != nil {
		return err
	}
	if o.dryRun {
		return dryRun(ctx, o, databases, stdout)
	}
	log, err := logging.New(stderr, "sluiced", o.level, o.syslog)
	if err != nil {
		return err
	}
	if o.sandbox != "off" {
		if err := sandbox.Enter(o.profileOfSandbox()); err != nil {
			log.Warn("system calls that are never needed stay allowed", "error", err)
		}
	}
	release, err := claim(o.lockFolder, databases)
	if err != nil {
		return err
	}
	defer release()
	watch, err := watchLibrary(o, databases, log)
	if err != nil {
		return err
	}
	go watch.enforceEnd(ctx)
	c := orch.Config{
		Databases: databases, Version: version, Log: log, Now: time.Now, StateFile: o.rowsFile(),
		Open: (&opener{ctx, o, databases, log, watch}).open, Files: slices.Concat(leaffile.Default, leaffile.Folders(o.files)),
	}
	if o.remove {
		return orch.Remove(ctx, c)
	}
	g, ctx := errgroup.WithContext(ctx)
	served, err := o.metrics.server(databases, o.namespace, log, watch.Hangs)
	if err != nil {
		return err
	}
	g.Go(func() error { return watch.Run(ctx) })
	c.Warnings = watch.Warnings
	if served != nil {
		c.Warnings = func() []string { return append(watch.Warnings(), served.Warnings()...) }
		g.Go(func() error { return served.Run(ctx) })
	}
	log.Info("sluiced starts", "version", version, "library", o.library)
	g.Go(func() error { return orch.Run(ctx, c) })
	if err = g.Wait(); err == nil {
		log.Info("sluiced ends")
	}
	return err
}

// profile is the SAI profile: a flag that may be given several times.
type profile map[string]string

func (p profile) String() string { return "" }

func (p profile) Set(s string) error {
	if file, ok := strings.CutPrefix(s, "@"); ok {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
				continue
			}
			if err := p.add(line); err != nil {
				return err
			}
		}
		return nil
	}
	return p.add(s)
}

func (p profile) add(pair string) error {
	key, value, ok := strings.Cut(pair, "=")
	if !ok || key == "" {
		return fmt.Errorf("%q is not KEY=VALUE", pair)
	}
	p[key] = value
	return nil
}

// folders is a flag that may be given several times.
type folders []string

func (f *folders) String() string { return strings.Join(*f, " ") }

func (f *folders) Set(s string) error {
	if !filepath.IsAbs(s) {
		return fmt.Errorf("%q: the path must be absolute", s)
	}
	*f = append(*f, filepath.Clean(s))
	return nil
}
