// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/cli"
	"sluice/orchagent-ext/cli/show"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

// tool runs a command line of sluice.
func tool(t *testing.T, args ...string) (out, errs string, status int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = cli.Run(limited(t), "test", args, nil, &stdout, &stderr)
	return stdout.String(), stderr.String(), status
}

// fill writes two rows of each table of the schema, with a value in every field, a row without
// fields, and the ports that they are about.
func (s *server) fill() {
	s.t.Helper()
	changes := map[*sonicdb.DB][]sonicdb.Change{}
	for name, db := range map[string]*sonicdb.DB{"CONFIG_DB": s.config, "STATE_DB": s.state, "COUNTERS_DB": s.counter} {
		for _, table := range rows.Tables(name) {
			d, _ := rows.Describe(table)
			for i, port := range []string{"Ethernet0", "Ethernet16"} {
				r := rows.Row{Table: table, Key: d.Only, Fields: map[string]string{}}
				for _, l := range d.Leaves {
					value := fmt.Sprint("a text ", i)
					switch {
					case l.List:
						value = fmt.Sprintf("%d,%d", i, i+1)
					case l.Counter, l.Number:
						value = fmt.Sprint(7 + 10*i)
					case len(l.Values) > 0:
						value = l.Values[0]
					}
					r.Fields[l.Column] = value
				}
				var key []string
				for k := range d.Keys {
					key = append(key, []string{port, "3", "4"}[k])
				}
				if d.Only == "" {
					r.Key = strings.Join(key, "|")
				}
				changes[db] = append(changes[db], sonicdb.Change{Row: r})
			}
		}
	}
	for db, c := range changes {
		if err := db.Write(s.t.Context(), c...); err != nil {
			s.t.Fatal(err)
		}
	}
	s.write(s.config, "SLUICE_PPFC_PEER|10.0.0.0/8")
	s.write(s.counter, "SLUICE_PORT_STATS|Ethernet4", "rx_packets", "1")
	for _, port := range []string{"Ethernet0", "Ethernet4", "Ethernet16"} {
		s.write(s.config, "PORT|"+port, "admin_status", "up")
	}
	s.write(s.state, "SLUICE_STATE|global", "state", "running", "alive", time.Now().Add(time.Hour).UTC().Format(time.RFC3339), "warnings", "one; two", "pfcm", "active")
}

// TestShowByGNMIIsThatOfTheDatabases: every command of show prints the same by --target as on the
// switch itself, for people and for programs.
func TestShowByGNMIIsThatOfTheDatabases(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	s, ca, _ := mutual(t)
	s.fill()
	remote := []string{"--target", s.address(), "--gnmi-ca", ca.file("ca.pem"), "--gnmi-cert", ca.file("alice.pem"), "--gnmi-key", ca.file("alice.key"), "--target-timeout", patience.String()}
	shown := 0
	for _, v := range show.Verbs {
		lines := [][]string{nil, {"--json"}, {"-o", "yaml"}}
		for _, f := range v.Flags {
			switch f {
			case "top":
				lines = append(lines, []string{"--top", "1"})
			case "port":
				lines = append(lines, []string{"--port", "Ethernet16"}, []string{"--port", "Ethernet9"})
			case "qp":
				lines = append(lines, []string{"--qp", "7"})
			default:
				lines = append(lines, []string{"--" + f})
			}
		}
		for _, line := range lines {
			line = append([]string{"show", v.Name}, line...)
			want, wantErrs, wantStatus := tool(t, append(slices.Clone(line), "--db-config", s.redis.Config)...)
			got, errs, status := tool(t, append(slices.Clone(line), remote...)...)
			if diff := cmp.Diff([]any{want, wantErrs, wantStatus}, []any{got, errs, status}); diff != "" {
				t.Errorf("%s (-on the switch +by gNMI):\n%s", strings.Join(line, " "), diff)
			}
			shown += strings.Count(got, "\n")
		}
	}
	if shown < 500 {
		t.Errorf("%d lines in all: most tables are empty", shown)
	}
}

// TestTargetsAreAskedWithTheirUsers: by a certificate, by a user with a password, by the unix
// socket; and what a server refuses is said, without the password.
func TestTargetsAreAskedWithTheirUsers(t *testing.T) {
	t.Setenv("SLUICE_TARGETS", "")
	s, ca := secure(t)
	ca.write("secret", []byte("ecila\n"))
	ca.write("wrong", []byte("hunter2\n"))
	newAuthority(t, ca.dir, "other")
	trusted := []string{"--gnmi-ca", ca.file("ca.pem")}
	for name, tt := range map[string]struct {
		args, env []string
		status    int
		want      string
	}{
		"a user with a file":              {args: append([]string{"--gnmi-user", "alice", "--gnmi-password-file", ca.file("secret")}, trusted...), status: 3, want: "not running"},
		"a user with the environment":     {args: append([]string{"--gnmi-user", "alice"}, trusted...), env: []string{"SLUICE_TARGET_PASSWORD", "ecila"}, status: 3, want: "not running"},
		"all of the environment":          {env: []string{"SLUICE_TARGET_USER", "alice", "SLUICE_TARGET_PASSWORD_FILE", ca.file("secret"), "SLUICE_TARGET_CA", ca.file("ca.pem")}, status: 3, want: "not running"},
		"a wrong password":                {args: append([]string{"--gnmi-user", "alice", "--gnmi-password-file", ca.file("wrong")}, trusted...), status: 5, want: "did not answer: " + s.address()},
		"no user":                         {args: trusted, status: 5, want: "did not answer: " + s.address()},
		"a user without a password":       {args: append([]string{"--gnmi-user", "alice"}, trusted...), status: 1, want: "--gnmi-user and --gnmi-password-file go together"},
		"a server of an unknown CA":       {args: []string{"--gnmi-ca", ca.file("other.pem")}, status: 5, want: "certificate signed by unknown authority"},
		"a server of no CA here":          {status: 5, want: "certificate signed by unknown authority"},
		"plain text to a server with TLS": {args: []string{"--gnmi-insecure"}, status: 5, want: "did not answer: " + s.address()},
	} {
		t.Run(name, func(t *testing.T) {
			for i := 0; i+1 < len(tt.env); i += 2 {
				t.Setenv(tt.env[i], tt.env[i+1])
			}
			out, errs, status := tool(t, append([]string{"show", "status", "--target", s.address(), "--target-timeout", patience.String()}, tt.args...)...)
			if status != tt.status || !strings.Contains(out+errs, tt.want) {
				t.Errorf("status %d, want %d with %q: %s%s", status, tt.status, tt.want, out, errs)
			}
			if strings.Contains(out+errs, "ecila") || strings.Contains(out+errs, "hunter2") {
				t.Errorf("a password is shown: %s%s", out, errs)
			}
		})
	}
	if out, errs, status := tool(t, "show", "status", "--target", "unix:"+s.socket(), "--target-timeout", patience.String()); status != 3 || !strings.Contains(out+errs, "not running") {
		t.Errorf("the unix socket: status %d: %s%s", status, out, errs)
	}
	for _, flags := range [][]string{{"--db-config", "x"}, {"--namespace", "asic0"}} {
		if out, errs, status := tool(t, append([]string{"show", "status", "--target", "x"}, flags...)...); status != 1 || !strings.Contains(errs, "is about this machine") {
			t.Errorf("%v: status %d: %s%s", flags, status, out, errs)
		}
	}
}

// TestShowOfManySwitches: a column of the switch, those that did not answer at the end, and a
// status of its own.
func TestShowOfManySwitches(t *testing.T) {
	s, ca, _ := mutual(t)
	s.write(s.state, "SLUICE_STATE|global", "state", "running", "alive", time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	s.write(s.config, "SLUICE_PORT|Ethernet0", "role", "edge")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := l.Addr().String()
	_ = l.Close()
	ca.write("switches", []byte("leaf1 "+s.address()+"\nleaf2 unix:"+s.socket()+"\nleaf\x1b[2J "+gone+"\n"))
	t.Setenv("SLUICE_TARGETS", ca.file("switches"))
	t.Setenv("SLUICE_TARGET_CA", ca.file("ca.pem"))
	t.Setenv("SLUICE_TARGET_CERT", ca.file("alice.pem"))
	t.Setenv("SLUICE_TARGET_KEY", ca.file("alice.key"))
	of := func(args ...string) []string { return append(args, "--target-timeout", patience.String()) }
	const table = `Switch    Port       Link    Role    Labels    Threshold    Rx packets    Rx bytes    Tx packets    Tx bytes
--------  ---------  ------  ------  --------  -----------  ------------  ----------  ------------  ----------
leaf1     Ethernet0  -       edge    yes       -            -             -           -             -
leaf2     Ethernet0  -       edge    yes       -            -             -           -             -
`
	out, errs, status := tool(t, of("show", "ports", "--target", "leaf1,leaf2")...)
	if status != 0 || errs != "" || out != table {
		t.Errorf("two switches: status %d: %s%s", status, out, errs)
	}
	out, errs, status = tool(t, of("show", "ports", "--target", "all")...)
	if want := table + "\ndid not answer: leaf·[2J (" + gone + "): dial tcp " + gone + ": connect: connection refused\n"; status != 5 || errs != "" || out != want {
		t.Errorf("one of three is gone: status %d: %s%s", status, out, errs)
	}
	out, errs, status = tool(t, of("show", "ports", "--target", "@"+ca.file("switches"), "--json")...)
	var answers []struct {
		Switch, Address, Error string
		Answer                 map[string]struct {
			Config map[string]string
		}
	}
	if err := json.Unmarshal([]byte(out), &answers); err != nil || status != 5 || errs != "" || len(answers) != 3 {
		t.Fatalf("JSON: status %d, %v: %s%s", status, err, out, errs)
	}
	if answers[0].Switch != "leaf1" || answers[0].Answer["Ethernet0"].Config["role"] != "edge" || answers[2].Switch != "leaf\x1b[2J" || answers[2].Address != gone || answers[2].Error == "" {
		t.Errorf("%+v", answers)
	}
	out, errs, status = tool(t, of("show", "status", "--target", "leaf1,"+gone)...)
	if status != 5 || !strings.HasPrefix(out, "Switch    State\n--------  -------\nleaf1     running\n") {
		t.Errorf("status: status %d: %s%s", status, out, errs)
	}
	s.remove(s.state, "SLUICE_STATE|global")
	for _, form := range []string{"table", "json"} {
		if out, errs, status = tool(t, of("show", "status", "--target", "leaf1,leaf2", "-o", form)...); status != 3 || errs != "" || form == "table" && !strings.HasPrefix(out, "leaf1, leaf2: not running") {
			t.Errorf("sluiced runs nowhere: status %d: %s%s", status, out, errs)
		}
	}
}

// TestDoctorOfManySwitches: a line for each fault, one that sums up, and the exit statuses.
func TestDoctorOfManySwitches(t *testing.T) {
	s := start(t)
	good := []string{"state", "running", "alive", time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}
	s.write(s.state, "SLUICE_STATE|global", good...)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := l.Addr().String()
	_ = l.Close()
	file := filepath.Join(t.TempDir(), "switches")
	if err := os.WriteFile(file, []byte("leaf1 unix:"+s.socket()+"\nleaf2 unix:"+s.socket()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SLUICE_TARGETS", file)
	doctor := func(args ...string) (string, string, int) {
		return tool(t, append([]string{"doctor", "--target-timeout", patience.String()}, args...)...)
	}
	if out, errs, status := doctor("--target", "all", "--fail-on", "note"); status != 0 || errs != "" || out != "no fault on 2 switches\n" {
		t.Errorf("all is well: status %d: %s%s", status, out, errs)
	}
	s.write(s.state, "SLUICE_STATE|global", append(good, "drift", "qdisc\x1b[2J of eth1")...)
	const do = " → another program changes what Sluice made: find it, or let it leave these parts alone\n"
	if out, errs, status := doctor("--target", "leaf1"); status != 0 || errs != "" || out != "note  leaf1  drift  qdisc·[2J of eth1"+do+"1 fault on 1 of 1 switch\n" {
		t.Errorf("drift: status %d: %s%s", status, out, errs)
	}
	out, errs, status := doctor("--target", "all,"+gone)
	want := "unknown  " + gone + "  answer  did not answer: dial tcp " + gone + ": connect: connection refused\n" +
		"note     leaf1            drift   qdisc·[2J of eth1" + do + "note     leaf2            drift   qdisc·[2J of eth1" + do + "3 faults on 3 of 3 switches\n"
	want = strings.ReplaceAll(want, "leaf1            ", "leaf1"+strings.Repeat(" ", len(gone)-3))
	want = strings.ReplaceAll(want, "leaf2            ", "leaf2"+strings.Repeat(" ", len(gone)-3))
	if diff := cmp.Diff(want, out); diff != "" || status != 5 || errs != "" {
		t.Errorf("one is gone: status %d, %s (-want +got):\n%s", status, errs, diff)
	}
	if out, errs, status := doctor("--target", "all,"+gone, "--fail-on", "note", "--json"); status != 4 || errs != "" || strings.Count(out, "\n") != 3 || !strings.HasPrefix(out, `{"switch":"`+gone+`","check":"answer","level":"unknown","found":"did not answer`) {
		t.Errorf("JSON: status %d: %s%s", status, out, errs)
	}
	s.remove(s.state, "SLUICE_STATE|global")
	if out, errs, status := doctor("--target", "leaf1", "--fail-on", "act", "--for", "1ms"); status != 4 || errs != "" || !strings.HasPrefix(out, "act  leaf1  sluiced  sluiced is not running") {
		t.Errorf("not running: status %d: %s%s", status, out, errs)
	}
	for _, args := range [][]string{{"x.pcap"}, {"--dev", "eth0"}, {"--switch", "linux"}, {"--paths", "4"}, {"--db-config", "x"}} {
		if out, errs, status := doctor(append(args, "--target", "leaf1")...); status != 1 || out != "" || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: status %d: %s%s", args, status, out, errs)
		}
	}
}

// TestDiffOfManySwitches: each one's differences from a file, those without, and those that did not
// answer.
func TestDiffOfManySwitches(t *testing.T) {
	s := start(t)
	s.write(s.config, "PORT|Ethernet0", "admin_status", "up")
	s.write(s.config, "SLUICE_PORT|Ethernet0", "role", "edge")
	s.write(s.config, "SLUICE_THRESHOLD|gold", "queues@", "3,4")
	dir := t.TempDir()
	file := func(name, content string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	socket := "unix:" + s.socket()
	t.Setenv("SLUICE_TARGET_JOURNAL", dir)
	t.Setenv("SLUICE_TARGETS", file("switches", "leaf1 "+socket+"\nleaf2 "+socket+"\nleaf3 unix:"+filepath.Join(dir, "none")+"\n"))
	same := file("same.json", `{"PORT": {"Ethernet0": {"admin_status": "up"}}, "SLUICE_PORT": {"Ethernet0": {"role": "edge"}}, "SLUICE_THRESHOLD": {"gold": {"queues": ["3", "4"]}}}`)
	other := file("other.json", `{"SLUICE_PORT": {"Ethernet0": {"role": "fabric"}}, "SLUICE_THRESHOLD": {"gold": {"queues": ["3", "4"]}}}`)
	gone := "did not answer: leaf3 (unix:" + filepath.Join(dir, "none") + "): dial unix " + filepath.Join(dir, "none") + ": connect: no such file or directory\n"
	const table = "Switch  Row                      Field  Value\n" +
		"leaf1   - SLUICE_PORT|Ethernet0  role   fabric\nleaf1   + SLUICE_PORT|Ethernet0  role   edge\n" +
		"leaf2   - SLUICE_PORT|Ethernet0  role   fabric\nleaf2   + SLUICE_PORT|Ethernet0  role   edge\n"
	for _, tt := range []struct {
		args   []string
		out    string
		errs   string
		status int
	}{
		{[]string{"diff", same, "--target", "all"}, "No difference from " + same + ": leaf1, leaf2\n" + gone, "", 5},
		{[]string{"diff", other, "--target", "leaf1,leaf2"}, table, "", 0},
		{[]string{"diff", other, "--target", "leaf3"}, "", "sluice: " + gone, 5},
		{[]string{"diff", "--target", "leaf1"}, "", "sluice: leaf1: no change by sluice config is known: only changes with --target from this machine are; give a FILE to compare with\n", 1},
	} {
		if out, errs, status := tool(t, tt.args...); out != tt.out || errs != tt.errs || status != tt.status {
			t.Errorf("%v: status %d, want %d:\n%s%swant\n%s%s", tt.args, status, tt.status, out, errs, tt.out, tt.errs)
		}
	}
	for _, form := range []string{"table", "json"} { // one switch says the same as on itself
		want, _, _ := tool(t, "diff", other, "--db-config", s.redis.Config, "-o", form)
		want = strings.ReplaceAll(want, "+ PORT|Ethernet0         admin_status  up\n", "")
		got, errs, status := tool(t, "diff", other, "--target", "leaf1", "--target-timeout", patience.String(), "-o", form)
		if form == "table" {
			want = strings.ReplaceAll(want, "  role          ", "  role  ")
		}
		if form == "table" && want != got || status != 0 || errs != "" || !strings.Contains(got, "fabric") {
			t.Errorf("%s: status %d, %s\n%swant\n%s", form, status, errs, got, want)
		}
	}
	out, errs, status := tool(t, "diff", other, "--target", "all", "--json")
	var answers []struct {
		Switch, Error string
		Answer        []struct{ Table, Key string }
	}
	if err := json.Unmarshal([]byte(out), &answers); err != nil || status != 5 || len(answers) != 3 || answers[1].Switch != "leaf2" || len(answers[1].Answer) != 1 || answers[1].Answer[0].Key != "Ethernet0" || answers[2].Error == "" {
		t.Errorf("JSON: status %d, %v: %s%s", status, err, out, errs)
	}
}

// TestTopWatchesAnotherSwitch: the frames are those of the switch, by its own clock.
func TestTopWatchesAnotherSwitch(t *testing.T) {
	s := start(t)
	s.write(s.state, "SLUICE_STATE|global", "state", "running", "alive", time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	s.write(s.config, "SLUICE_PORT|Ethernet0", "role", "edge")
	s.write(s.counter, "SLUICE_PORT_STATS|Ethernet0", "rx_packets", "7", "rx_bytes", "7", "tx_packets", "7", "tx_bytes", "7", "oper_status", "up")
	s.write(s.counter, "SLUICE_STATS|global", "read_time", time.Now().UTC().Format(time.RFC3339Nano))
	t.Setenv("SLUICE_TARGETS", "")
	for _, args := range [][]string{{"--json", "--count", "1"}, {"--once"}, {"--once", "--port", "Ethernet0"}} {
		out, errs, status := tool(t, append([]string{"top", "--target", "unix:" + s.socket(), "--target-timeout", patience.String(), "--interval", "100ms"}, args...)...)
		if status != 0 || errs != "" || !strings.Contains(out, "Ethernet0") || !strings.Contains(out, "unix:"+s.socket()) || !strings.Contains(out, "running") {
			t.Errorf("%v: status %d: %s%s", args, status, out, errs)
		}
	}
	for want, args := range map[string][]string{
		"--port Ethernet9: there is no such port": {"--target", "unix:" + s.socket(), "--port", "Ethernet9"},
		"--db-config is about this machine":       {"--target", "a", "--db-config", "x"},
	} {
		if out, errs, status := tool(t, append([]string{"top", "--once"}, args...)...); status != 1 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%v: status %d: %s%s", args, status, out, errs)
		}
	}
	if out, errs, status := tool(t, "top", "--once", "--target", "unix:/nowhere/at/all", "--interval", "100ms"); status != 5 || out != "" || !strings.Contains(errs, "did not answer: unix:/nowhere/at/all") {
		t.Errorf("nowhere: status %d: %s%s", status, out, errs)
	}
}

// TestTopWatchesManySwitches: a line each, the worst first; one that does not answer costs its line.
func TestTopWatchesManySwitches(t *testing.T) {
	first, second := start(t), start(t)
	for i, s := range []*server{first, second} {
		s.write(s.state, "SLUICE_STATE|global", "state", "running", "alive", time.Now().Add(time.Hour).UTC().Format(time.RFC3339), "flows", fmt.Sprint(i+1))
		s.write(s.config, "SLUICE_PORT|Ethernet0", "role", "edge")
		s.write(s.counter, "SLUICE_PORT_STATS|Ethernet0", "rx_packets", "7", "rx_bytes", "7", "tx_packets", "7", "tx_bytes", "7", "oper_status", "up")
		s.write(s.counter, "SLUICE_STATS|global", "read_time", time.Now().UTC().Format(time.RFC3339Nano))
		s.write(s.counter, "SLUICE_QUEUE_STATS|Ethernet0|3", "watermark_bytes", fmt.Sprint(1000*(i+1)))
	}
	second.write(second.state, "SLUICE_HOLD|a", "port", "Ethernet0")
	file := filepath.Join(t.TempDir(), "switches")
	if err := os.WriteFile(file, []byte("leaf1 unix:"+first.socket()+"\nleaf2 unix:"+second.socket()+"\nleaf3 unix:/nowhere/at/all\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SLUICE_TARGETS", file)
	out, errs, status := tool(t, "top", "--once", "--target", "all", "--target-timeout", patience.String(), "--interval", "100ms")
	_, after, _ := strings.Cut(out, " UTC")
	const want = `  1 no answer
! leaf3: dial unix /nowhere/at/all: connect: no such file or directory

SWITCH  STATE      MAX/MEAN  DROP/S  HELD                       QUEUE  RX-BIT/S  TX-BIT/S  FLOWS
leaf3   no answer         -       -     -                           -         -         -      -
leaf2   running           -       -     1          2.00k Ethernet0 q3         -         -      2
leaf1   running           -       -     0          1.00k Ethernet0 q3         -         -      1
`
	squeezed := func(s string) string { return strings.Join(strings.Fields(strings.ReplaceAll(s, "÷", "/")), " ") }
	if diff := cmp.Diff(squeezed(want), squeezed(after)); diff != "" || status != 5 || errs != "" || !strings.HasPrefix(out, "3 switches  ") {
		t.Errorf("status %d, %s%s (-want +got):\n%s", status, errs, out, diff)
	}
	out, errs, status = tool(t, "top", "--json", "--count", "2", "--target", "leaf1,leaf2", "--target-timeout", patience.String(), "--interval", "100ms")
	var frame struct {
		Switches []struct {
			Switch, State string
			Holds         int
		}
	}
	if lines := strings.Split(strings.TrimSpace(out), "\n"); status != 0 || errs != "" || len(lines) != 2 || json.Unmarshal([]byte(lines[1]), &frame) != nil || len(frame.Switches) != 2 || frame.Switches[0].Switch != "leaf2" || frame.Switches[0].Holds != 1 || frame.Switches[1].State != "running" {
		t.Errorf("JSON: status %d: %s%s", status, out, errs)
	}
}

// TestPathOfManySwitches: by which uplink each forwards a flow, by its rows, and the reasons of others.
func TestPathOfManySwitches(t *testing.T) {
	first, second := start(t), start(t)
	hash := []string{"policy", "3", "fields", "63", "seed", "7"}
	for i, port := range []string{"Ethernet4", "Ethernet8"} {
		first.write(first.state, fmt.Sprintf("SLUICE_NEXT_HOP|2001:db8:2::/48|%d", i), "port", port, "gateway", "fe80::1", "weight", "1", "state", "up")
	}
	first.write(first.state, "SLUICE_HASH|ipv6", hash...)
	first.write(first.state, "SLUICE_FLOW|a", "src", "2001:db8:1::1", "dst", "2001:db8:2::1", "dest_qp", "18", "flow_label", "7", "path", "1")
	file := filepath.Join(t.TempDir(), "switches")
	if err := os.WriteFile(file, []byte("leaf1 unix:"+first.socket()+"\nleaf2 unix:"+second.socket()+"\nleaf3 unix:/nowhere/at/all\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SLUICE_TARGETS", file)
	path := func(args ...string) (string, string, int) {
		return tool(t, append([]string{"path", "--src", "2001:db8:1::1", "--dst", "2001:db8:2::1", "--src-qp", "17", "--dst-qp", "18", "--target-timeout", patience.String(), "--target"}, args...)...)
	}
	out, errs, status := path("leaf1")
	if status != 0 || !strings.Contains(out, "\nnow     0x00007  Ethernet") || !strings.Contains(out, "\nplaced  0x00007  Ethernet") || !strings.HasPrefix(errs, "2 next hops: Ethernet4 Ethernet8; hash policy 3, fields 0x3f; UDP source port ") {
		t.Errorf("one: status %d: %s%s", status, out, errs)
	}
	all, errs, status := path("all")
	if status != 5 || !strings.HasPrefix(all, "SWITCH          LABEL    PORT       VIA\nleaf1   now     0x00007  Ethernet") || strings.Count(all, "leaf1") != 3 || !strings.Contains(all, "leaf2   -       -        -          -\n") ||
		!strings.HasSuffix(all, "did not answer: leaf3 (unix:/nowhere/at/all): dial unix /nowhere/at/all: connect: no such file or directory\n") ||
		errs != "leaf1: 2 next hops: Ethernet4 Ethernet8; hash policy 3, fields 0x3f\nleaf2: it publishes no next hops: set SLUICE|global publish_next_hops=enabled there\n" {
		t.Errorf("all: status %d: %s%s", status, all, errs)
	}
	out, errs, status = path("all", "--json")
	var answer struct {
		Switch string
		Answer struct {
			Now  struct{ Port string }
			Hops []struct{ Weight int } `json:"next_hops"`
		}
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 3 || json.Unmarshal([]byte(lines[0]), &answer) != nil || answer.Switch != "leaf1" || !strings.HasPrefix(answer.Answer.Now.Port, "Ethernet") || answer.Answer.Hops[1].Weight != 1 ||
		!strings.Contains(lines[1], `"error":"it publishes no next hops`) || status != 5 || errs != "" {
		t.Errorf("JSON: status %d: %s%s", status, out, errs)
	}
	first.remove(first.state, "SLUICE_HASH|ipv6")
	if out, errs, status := path("leaf1"); status != 1 || out != "" || errs != "sluice: the choice among 2 next hops cannot be known: its hash is not published\n" {
		t.Errorf("without a hash: status %d: %s%s", status, out, errs)
	}
}

// watched ends a command after so many lines.
type watched struct {
	bytes.Buffer
	lines int
	end   context.CancelFunc
}

// Write implements [io.Writer].
func (w *watched) Write(b []byte) (int, error) {
	n, err := w.Buffer.Write(b)
	if bytes.Count(w.Bytes(), []byte("\n")) >= w.lines {
		w.end()
	}
	return n, err
}

// TestShowWatchesManySwitches: with --watch an object a line for each switch, again and again, on
// the connections of the first time.
func TestShowWatchesManySwitches(t *testing.T) {
	s := start(t)
	s.write(s.state, "SLUICE_STATE|global", "state", "running")
	file := filepath.Join(t.TempDir(), "switches")
	if err := os.WriteFile(file, []byte("leaf1 unix:"+s.socket()+"\nleaf2 unix:"+s.socket()+"\nleaf3 unix:/nowhere/at/all\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(limited(t))
	defer cancel()
	out, errs := &watched{lines: 6, end: cancel}, &bytes.Buffer{}
	status := cli.Run(ctx, "test", []string{"show", "status", "--target", "@" + file, "--target-timeout", patience.String(), "--json", "--watch", "--interval", "100ms"}, nil, out, errs)
	if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); status != 0 || errs.Len() > 0 || len(lines) < 6 ||
		!strings.HasPrefix(lines[0], `{"switch":"leaf1","answer":{`) || !strings.HasPrefix(lines[4], `{"switch":"leaf2","answer":{`) || !strings.HasPrefix(lines[5], `{"switch":"leaf3","address":"unix:/nowhere/at/all","error":`) {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
}
