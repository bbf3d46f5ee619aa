// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sluice/orchagent-ext/daemon/process"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry/metrics"
	"sluice/orchagent-ext/host/files"
	"sluice/orchagent-ext/host/flags"
)

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

// parse reads the command line; the environment gives the options that it lacks. It
// returns nil and no error where the version is asked for.
func parse(args []string, getenv func(string) string, stderr io.Writer) (*process.Options, error) {
	o := &process.Options{Version: version, SAI: process.SAI{Profile: map[string]string{}}}
	f := flags.New("sluiced", help, getenv, stderr)
	var dryRun, remove, saiCheck, version bool
	var confine string
	f.StringVar(&o.DBConfig, "db-config", f.Or("SLUICE_DB_CONFIG", ""), sonicdb.ConfigUsage)
	f.StringVar(&o.Namespace, "namespace", f.Or("NAMESPACE_ID_NAME", ""), "`asicN` on a switch of several ASICs")
	f.StringVar(&o.Library, "sai-library", f.Or("SLUICE_SAI_LIBRARY", ""), "`path` of the SAI library (SLUICE_SAI_LIBRARY)")
	f.Var(profile(o.Profile), "sai-profile", "`KEY=VALUE` for the SAI library's profile, or @FILE of such lines; may be given again, and is applied after SLUICE_SAI_PROFILE, which is one of these")
	f.BoolVar(&o.Connect, "sai-connect", getenv("SLUICE_SAI_CONNECT") != "", "connect to a switch that another process initialized (SLUICE_SAI_CONNECT)")
	f.BoolVar(&dryRun, "dry-run", false, "print the objects that would be on the switch, and program nothing")
	f.BoolVar(&remove, "remove", false, "remove all of Sluice's objects from the switch, delete its rows in STATE_DB and COUNTERS_DB, and end")
	f.DurationVar(&o.CallLimit, "sai-call-limit", 10*time.Second, "how long a call of the SAI library may take before /healthz and STATE_DB say that it hangs")
	f.BoolVar(&saiCheck, "sai-check", false, "for sluice sai-check, which starts it: read an order from standard input, try the methods of the SAI library on one port, and write what it answers to standard output")
	f.BoolVar(&o.JSON, "json", false, "print the dry run as JSON")
	f.StringVar(&o.Method, "method", "", "method that the dry run assumes: compute, rewrite, hash, udf-hash; default: the last one that was chosen, else compute; with the driver orchagent, what the switch can")
	f.StringVar(&o.StateFile, "state-file", f.Or("SLUICE_STATE_FILE", ""), "`file`, one for each instance, that outlives a reboot: which hash fields the driver orchagent added; beside it FILE-rows.json has the rows in force, and while labels are chosen FILE-ledger.json the objects on the switch; off: none; default /var/lib/sluice/sluiced.json, with a namespace sluiced-asicN.json (SLUICE_STATE_FILE)")
	f.Var((*folders)(&o.Folders), "file-folder", "`folder` of files that rows may name (certificates and keys; passwords in its folder passwords), besides "+strings.Join(files.Default, " and ")+"; may be given again")
	plaintext, err := strconv.ParseBool(f.Or("SLUICE_ETCD_ALLOW_PLAINTEXT", "false"))
	if err != nil {
		return nil, fmt.Errorf("SLUICE_ETCD_ALLOW_PLAINTEXT=%s: true and false are allowed", getenv("SLUICE_ETCD_ALLOW_PLAINTEXT"))
	}
	f.BoolVar(&o.Plaintext, "etcd-allow-plaintext", plaintext, "send the password to endpoints of etcd without TLS, too: every device on the path can read it, and who writes CONFIG_DB chooses the endpoints (SLUICE_ETCD_ALLOW_PLAINTEXT=true)")
	f.StringVar(&confine, "sandbox", f.Or("SLUICE_SANDBOX", "on"), "`on`: take away system calls that are never needed, fewer with a vendor's library; off: none (SLUICE_SANDBOX)")
	f.StringVar(&o.LockFolder, "lock-folder", f.Or("SLUICE_LOCK_FOLDER", process.LockFolder), "`folder` of the lock that keeps a second sluiced off the same databases, which no other user can write (SLUICE_LOCK_FOLDER)")
	f.TextVar(&o.Level, "log-level", slog.LevelInfo, "`level`: debug, info, warn, error")
	f.BoolVar(&o.Syslog, "syslog", getenv("SLUICE_SYSLOG") != "", "log to syslog instead of standard error (SLUICE_SYSLOG)")
	if err := defineMetrics(f, &o.Metrics); err != nil {
		return nil, err
	}
	if v := getenv("SLUICE_SAI_PROFILE"); v != "" {
		if err := profile(o.Profile).Set(v); err != nil {
			return nil, fmt.Errorf("SLUICE_SAI_PROFILE: %w", err)
		}
	}
	f.BoolVar(&version, "version", false, "print the version")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if o.CallLimit <= 0 {
		return nil, fmt.Errorf("--sai-call-limit %v: it must be more than 0", o.CallLimit)
	}
	if confine != "on" && confine != process.Off {
		return nil, fmt.Errorf("--sandbox %q: on and off are allowed", confine)
	}
	o.Sandbox = confine == "on"
	switch {
	case version:
		return nil, nil
	case saiCheck:
		o.Mode = process.SAICheck
	case dryRun:
		o.Mode = process.DryRun
	case remove:
		o.Mode = process.Remove
	}
	if o.Namespace != "" {
		o.Metrics.ASIC = o.Namespace
	}
	return o, nil
}

// heaviestFlows is how many flows have metrics by default: those that a panel of Grafana shows.
const heaviestFlows = "10"

// defineMetrics defines the flags of the metrics.
func defineMetrics(f *flags.Set, o *process.Metrics) error {
	const variable = "SLUICE_METRICS_FLOWS"
	flows, err := strconv.Atoi(f.Or(variable, heaviestFlows))
	if err != nil {
		return fmt.Errorf("%s=%s: it must be a number of flows, 0 or more", variable, f.Or(variable, ""))
	}
	f.IntVar(&o.Flows, "metrics-flows", flows, "`number` of flows, the heaviest, that have metrics of their own ("+variable+")")
	f.StringVar(&o.Address, "metrics", f.Or("SLUICE_METRICS", metrics.DefaultAddress), "`address` where Prometheus finds /metrics, and others /healthz; off: none (SLUICE_METRICS)")
	if id := f.Or("NAMESPACE_ID", ""); id != "" {
		o.ASIC = "asic" + id
	}
	return nil
}

// profile is the SAI profile: a flag that may be given several times.
type profile map[string]string

// String implements [pflag.Value].
func (p profile) String() string { return "" }

// Type implements [pflag.Value].
func (p profile) Type() string { return "KEY=VALUE" }

// Set implements [pflag.Value]: KEY=VALUE, or @FILE with such a pair in each line, the
// form of SAI's profile files.
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

// add records one pair; a later one of the same key replaces it.
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

// String implements [pflag.Value].
func (f *folders) String() string { return strings.Join(*f, " ") }

// Type implements [pflag.Value].
func (f *folders) Type() string { return "folder" }

// Set implements [pflag.Value]. A relative path is an error: a daemon's working folder is
// arbitrary.
func (f *folders) Set(s string) error {
	if !filepath.IsAbs(s) {
		return fmt.Errorf("%q: the path must be absolute", s)
	}
	*f = append(*f, filepath.Clean(s))
	return nil
}
