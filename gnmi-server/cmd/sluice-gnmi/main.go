// SPDX-License-Identifier: Apache-2.0

// Command sluice-gnmi serves gNMI: it shows and changes Sluice's tables in SONiC's
// databases, and knows no switch. It needs no rights but to reach Redis. This
// file parses, builds and runs.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"sluice/gnmi-server/auth"
	"sluice/gnmi-server/paths"
	"sluice/gnmi-server/server"
	"sluice/gnmi-server/sessions"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/host/flags"
	"sluice/orchagent-ext/host/garbage"
	"sluice/orchagent-ext/host/logging"
	"sluice/orchagent-ext/host/login"
	"sluice/orchagent-ext/host/sandbox"
	"sluice/yang/text"
)

// version is set at build time.
var version = "dev"

// main exits with 1 after an error.
func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	garbage.Limit(ctx)
	if err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "sluice-gnmi: %s\n", text.Lines(err.Error()))
		os.Exit(1)
	}
}

const help = `sluice-gnmi serves gNMI 0.10.0: Capabilities, Get, Set and Subscribe on Sluice's tables.

  sluice-gnmi                                            on the unix socket alone
  sluice-gnmi --cert C --key K --ca CA                   and with TLS; clients need a certificate of the CA
  sluice-gnmi --cert C --key K --users FILE              and with TLS; clients need a password;
                                                         htpasswd -B -C 10 makes a line of FILE
  sluice-gnmi --insecure-loopback 127.0.0.1:50070        and in plain text on loopback

Files are read again when they change; streams of users who may no longer have them end.

A connection has 5 s for TLS and 10 s for a first RPC with a user. The unix socket and each port have
connections of their own; an eighth of the sessions of a port is left to other addresses than the one that
has most. After 10 wrong passwords of a user or an address one more is looked at each 10 s; who has logged in
from an address before is not held up by others. A session without an RPC ends after 5 min.

Flags:
`

// options are the command line and the environment.
type options struct {
	dbConfig, namespace      string
	listen, socket, plain    string
	cert, key, ca            string
	users, policy            string
	stateFile                string
	reflection, syslog       bool
	health, version          bool
	maxMessage, maxSessions  int
	maxStreams, maxQueue     int
	maxOperations, maxLeaves int
	stall                    time.Duration
	level                    slog.Level
}

// parse reads the command line. getenv gives flags their defaults.
func parse(args []string, getenv func(string) string, stderr io.Writer) (*options, error) {
	o := &options{}
	f := flags.New("sluice-gnmi", help, getenv, stderr)
	f.StringVar(&o.dbConfig, "db-config", f.Or("SLUICE_DB_CONFIG", ""), sonicdb.ConfigUsage)
	f.StringVar(&o.namespace, "namespace", "", "`asicN` on a switch of several ASICs")
	f.StringVar(&o.listen, "listen", ":50070", "`address` for TLS, used if there is a certificate")
	f.StringVar(&o.socket, "socket", "/var/run/sluice/gnmi.sock", "`path` of the unix socket, for its owner and group; empty: none")
	f.StringVar(&o.plain, "insecure-loopback", "", "`address` on loopback for plain text: every local process may connect")
	f.StringVar(&o.cert, "cert", f.Or("SLUICE_GNMI_CERT", ""), "PEM `file` of the server's certificate (SLUICE_GNMI_CERT)")
	f.StringVar(&o.key, "key", f.Or("SLUICE_GNMI_KEY", ""), "PEM `file` of its key (SLUICE_GNMI_KEY)")
	f.StringVar(&o.ca, "ca", f.Or("SLUICE_GNMI_CA", ""), "PEM `file` of the CA that clients' certificates must be of (SLUICE_GNMI_CA)")
	f.StringVar(&o.users, "users", f.Or("SLUICE_GNMI_USERS", ""), fmt.Sprintf("`file` of NAME:HASH with hashes of bcrypt of cost %d to %d, as htpasswd -B -C %d makes it (SLUICE_GNMI_USERS)", login.MinCost, login.MaxCost, login.MinCost))
	f.StringVar(&o.policy, "policy", f.Or("SLUICE_GNMI_POLICY", ""), "JSON `file` of who may read and write which paths; empty: every user all (SLUICE_GNMI_POLICY)")
	f.StringVar(&o.stateFile, "state-file", "/var/lib/sluice/gnmi-commit.json", "`file` for what an unconfirmed commit takes back; empty: no such commits")
	f.BoolVar(&o.reflection, "reflection", false, "serve gRPC's reflection")
	f.IntVar(&o.maxMessage, "max-message", 4<<20, "largest request, in `octets`; those of all RPCs that are open have 8 times that, or 32 MiB where that is more")
	f.IntVar(&o.maxSessions, "max-sessions", 128, "`sessions` at once on the unix socket and on each port")
	f.IntVar(&o.maxOperations, "max-operations", 4096, "`operations` of a Set: deletes, replaces and updates")
	f.IntVar(&o.maxLeaves, "max-leaves", 50000, "`leaves` a second that a client (a user at an address) may have sampled and read; one that asks for more waits")
	f.IntVar(&o.maxStreams, "max-streams", 256, "Subscribe `RPCs` at once")
	f.IntVar(&o.maxQueue, "max-queue", 65536, "`leaves` that may wait for a stream; with more its client has not kept up")
	f.DurationVar(&o.stall, "max-stall", 30*time.Second, "`time` for which a client of a stream may take nothing")
	f.TextVar(&o.level, "log-level", slog.LevelInfo, "`level`: debug, info, warn, error")
	f.BoolVar(&o.syslog, "syslog", getenv("SLUICE_SYSLOG") != "", "log to syslog instead of standard error (SLUICE_SYSLOG)")
	f.BoolVar(&o.health, "health", false, "ask the server that listens on the socket whether it serves, and end")
	f.BoolVar(&o.version, "version", false, "print the version")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	return o, o.check()
}

// check returns the error of flags that exclude each other.
func (o *options) check() error {
	switch {
	case (o.cert == "") != (o.key == ""):
		return errors.New("--cert and --key go together")
	case o.ca != "" && o.cert == "":
		return errors.New("--ca needs --cert and --key")
	case o.cert != "" && o.ca == "" && o.users == "":
		return errors.New("TLS without --ca and without --users would let every client in; give one of them, or both")
	case o.cert == "" && o.socket == "" && o.plain == "":
		return errors.New("there is nothing to listen on: give --cert and --key, or --socket")
	case o.maxMessage <= 0 || o.maxSessions <= 0 || o.maxStreams <= 0 || o.maxQueue <= 0 || o.maxOperations <= 0 || o.maxLeaves <= 0 || o.stall <= 0:
		return errors.New("limits must be greater than 0")
	}
	return nil
}

// run serves until ctx ends, or a listener fails.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	o, err := parse(args, getenv, stderr)
	if errors.Is(err, flags.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if o.version {
		fmt.Fprintln(stdout, "sluice-gnmi", version)
		return nil
	}
	if o.health {
		return checkHealth(ctx, o.socket)
	}
	log, err := logging.New(stderr, "sluice-gnmi", o.level, o.syslog)
	if err != nil {
		return err
	}
	if err := sandbox.Enter(sandbox.Server); err != nil {
		log.Warn("cannot enter the sandbox: all system calls stay allowed", "error", err)
	}
	c := server.Config{
		StateFile: o.stateFile, Log: log,
		QueueLimit: o.maxQueue, Stall: o.stall, Streams: o.maxStreams,
		Operations: o.maxOperations, Leaves: o.maxLeaves,
		Databases: make(map[string]*sonicdb.DB),
	}
	where, err := sonicdb.Load(o.dbConfig, o.namespace)
	if err != nil {
		return err
	}
	for _, name := range paths.Databases {
		db, err := sonicdb.Open(where, name, log)
		if err != nil {
			return err
		}
		defer db.Close()
		c.Databases[name] = db
	}
	who := &auth.Authenticator{}
	if o.users != "" {
		if who.Users, err = login.OpenUsers(o.users, log); err != nil {
			return err
		}
	}
	if o.cert != "" {
		if who.Certificates, err = auth.OpenCertificates(o.cert, o.key, o.ca, log); err != nil {
			return err
		}
	}
	c.Who = who
	if o.policy != "" {
		if c.Policy, err = auth.OpenPolicy(o.policy, log); err != nil {
			return err
		}
	}
	s := server.New(c)
	sessions.AcceptGzip()
	listeners, err := open(o, s, log)
	if err != nil {
		return err
	}
	log.Info("sluice-gnmi starts", "version", version)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.Run(ctx) })
	group.Go(func() error { return listeners.serve(ctx) })
	if err := group.Wait(); err != nil {
		return err
	}
	log.Info("sluice-gnmi ends")
	return nil
}
