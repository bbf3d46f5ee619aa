// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/cli/show"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry/metrics"
	"sluice/orchagent-ext/view/frame"
	"sluice/orchagent-ext/view/framefile"
	"sluice/yang/rows"
)

// variedRows are rows of all tables with values that depend on n, for three ports.
func variedRows(n int) (all []rows.Row) {
	ports := []string{"Ethernet0", "Ethernet4", "Ethernet16"}
	for _, database := range []string{"CONFIG_DB", "STATE_DB", "COUNTERS_DB"} {
		for _, table := range rows.Tables(database) {
			d, _ := rows.Describe(table)
			for i, port := range ports[:2+n%2] {
				r := rows.Row{Table: table, Key: d.Only, Fields: map[string]string{}}
				for _, l := range d.Leaves {
					value := fmt.Sprint("a text ", i, n)
					switch {
					case l.List:
						value = fmt.Sprintf("%d,%d", i, n)
					case l.Counter, l.Number:
						value = fmt.Sprint(7 + 10*i + 100*n)
					case len(l.Values) > 0:
						value = l.Values[(i+n)%len(l.Values)]
					}
					r.Fields[l.Column] = value
				}
				if d.Only == "" {
					var key []string
					for k := range d.Keys {
						key = append(key, []string{port, "3", "4"}[k])
					}
					r.Key = strings.Join(key, "|")
				}
				all = append(all, r)
			}
		}
	}
	for _, port := range ports {
		all = append(all, rows.Row{Table: "PORT", Key: port, Fields: map[string]string{"admin_status": "up", "mtu": fmt.Sprint(9000 + n)}})
	}
	return append(all,
		rows.Row{Table: "PORTCHANNEL", Key: "PortChannel1", Fields: map[string]string{"mtu": "9100"}},
		rows.Row{Table: "PORTCHANNEL_MEMBER", Key: "PortChannel1|Ethernet4"},
		rows.Row{Table: "SLUICE_STATE", Key: "global", Fields: map[string]string{"state": "running", "pfcm": "active", "warnings": fmt.Sprint("warning ", n), "alive": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}})
}

// showAll returns the answers of each command of show, by the command line.
func showAll(t *testing.T, more ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, v := range show.Verbs {
		lines := [][]string{nil, {"--json"}}
		for _, f := range v.Flags {
			switch f {
			case "top":
				lines = append(lines, []string{"--top", "1"})
			case "port":
				lines = append(lines, []string{"--port", "PortChannel1"}, []string{"--port", "Ethernet9"})
			case "qp":
				lines = append(lines, []string{"--qp", "7"})
			default:
				lines = append(lines, []string{"--" + f})
			}
		}
		for _, line := range lines {
			line = append([]string{"show", v.Name}, line...)
			out, errs, code := sluice(nil, append(slices.Clone(line), more...)...)
			if len(more) > 0 {
				errs = strings.Join(slices.DeleteFunc(strings.SplitAfter(errs, "\n"), func(s string) bool { return strings.HasPrefix(s, "as of ") }), "")
			}
			all[strings.Join(line, " ")] = fmt.Sprintf("%d\n%s\n%s", code, out, errs)
		}
	}
	return all
}

// end is the time of the last frame of a record.
func end(t *testing.T, name string) time.Time {
	t.Helper()
	f, err := framefile.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, last, ok := f.Span()
	if !ok || f.Note() != "" {
		t.Fatalf("%s: %t, %s", name, ok, f.Note())
	}
	if !last.Equal(last.Truncate(time.Millisecond)) {
		t.Errorf("%v is no time that a page can ask for", last)
	}
	return last
}

// recordedBy records the rows of databases, and returns the time of the last frame.
func recordedBy(t *testing.T, name, config string) time.Time {
	t.Helper()
	out, _ := good(t, "record", name, "--every", "100ms", "--for", "300ms", "--db-config", config)
	if !strings.Contains(out, " frame") || !strings.Contains(out, "; 1 of 1 switches answer\n") {
		t.Errorf("it says %q", out)
	}
	return end(t, name)
}

// TestShowAtIsWhatShowPrintedThen: every command of show prints the same from a record as it did
// when the rows were those.
func TestShowAtIsWhatShowPrintedThen(t *testing.T) {
	dbs := databasesOf(t, variedRows(1)...)
	name := filepath.Join(t.TempDir(), "leaf.record")
	var want []map[string]string
	var at []time.Time
	for n := 1; n <= 3; n++ {
		for _, database := range []string{"CONFIG_DB", "STATE_DB", "COUNTERS_DB"} {
			there, err := dbs.read(t.Context(), database, frame.Tables[database]...)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range there {
				if err := dbs[database].Write(t.Context(), sonicdb.Change{Row: rows.Row{Table: r.Table, Key: r.Key}, Deleted: true}); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, r := range variedRows(n) {
			d, known := rows.Describe(r.Table)
			if !known {
				d.Database = "CONFIG_DB"
			}
			if err := dbs[d.Database].Write(t.Context(), sonicdb.Change{Row: r}); err != nil {
				t.Fatal(err)
			}
		}
		at = append(at, recordedBy(t, name, os.Getenv("SLUICE_DB_CONFIG")))
		want = append(want, showAll(t))
	}
	lines := 0
	for i := range at {
		got := showAll(t, "--at", at[i].Format(time.RFC3339Nano), "--from", name)
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Errorf("frame %d (-show then +show --at now):\n%s", i, diff)
		}
		for _, text := range slices.Collect(maps.Values(got)) {
			lines += strings.Count(text, "\n")
		}
	}
	if lines < 1500 || cmp.Equal(want[0], want[2]) {
		t.Errorf("%d lines in all", lines)
	}
}

// fabricRecord writes a record of two switches, the second of which does not answer at the end.
func fabricRecord(t *testing.T) (name string, start time.Time) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "fabric.record")
	w, err := framefile.Create(name, framefile.Options{Size: framefile.Smallest})
	if err != nil {
		t.Fatal(err)
	}
	start = time.Date(2026, 11, 27, 14, 0, 0, 0, time.UTC)
	for n := range 60 {
		f := &frame.Frame{At: start.Add(time.Duration(n) * time.Second)}
		for i, leaf := range []string{"leaf1", "leaf2"} {
			s := frame.Switch{Name: leaf, Address: fmt.Sprintf("192.0.2.%d:8080", i+1), At: f.At, Rows: []rows.Row{
				{Table: "SLUICE_PORT_STATS", Key: "Ethernet0", Fields: map[string]string{"oper_status": "up", "tx_bytes": fmt.Sprint(1000*n + i)}},
				{Table: "SLUICE_STATE", Key: "global", Fields: map[string]string{"state": "running", "alive": f.At.Format(time.RFC3339)}},
			}}
			s.Rows = append([]rows.Row{{Table: "PORT", Key: "Ethernet0"}}, s.Rows...)
			if i == 1 && n == 59 {
				s.Rows, s.Missing = nil, "deadline exceeded after 1.5 s"
			}
			f.Switches = append(f.Switches, s)
		}
		if err := w.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return name, start
}

func TestShowAtOfAFabric(t *testing.T) {
	t.Setenv("SLUICE_TARGETS", "")
	name, start := fabricRecord(t)
	ports := func(code int, args ...string) (out, errs string) {
		t.Helper()
		out, errs, got := sluice(nil, append([]string{"show", "ports", "--from", name}, args...)...)
		if got != code {
			t.Fatalf("%q: exit code %d: %s%s", args, got, out, errs)
		}
		return out, errs
	}
	for _, tt := range []struct {
		at   string
		want string // that leaf1 sent
		then int    // seconds after the start
	}{
		{"2026-11-27T14:00:07Z", "7000", 7},
		{"2026-11-27T14:00:07.9Z", "7000", 7},
		{start.Add(20 * time.Second).In(time.Local).Format("15:04:05"), "20000", 20},
		{start.In(time.Local).Format("15:04"), "0", 0},
		{"-4s", "55000", 55},
		{"-0s", "59000", 59},
		{"2027-01-01T00:00:00Z", "59000", 59},
	} {
		code := 0
		if tt.then == 59 {
			code = statusUnanswered
		}
		out, errs := ports(code, "--at", tt.at, "--json")
		var all []struct {
			Switch string
			Error  string
			Answer struct {
				Ports []map[string]any
			}
		}
		if err := json.Unmarshal([]byte(out), &all); err != nil || len(all) != 2 {
			t.Fatalf("%s: %v: %s", tt.at, err, out)
		}
		if !strings.Contains(out, `"tx_bytes": `+tt.want+"\n") && !strings.Contains(out, `"tx_bytes": `+tt.want+",") {
			t.Errorf("%s: not %s: %s", tt.at, tt.want, out)
		}
		if want := fmt.Sprintf("as of %s, by %s\n", start.Add(time.Duration(tt.then)*time.Second).Format(time.RFC3339), name); errs != want {
			t.Errorf("%s: %q, not %q", tt.at, errs, want)
		}
		if (all[1].Error != "") != (code != 0) {
			t.Errorf("%s: %s", tt.at, out)
		}
	}
	// one of them answers as it does itself, by its name, address, or an inventory
	one, _ := ports(0, "--at", "-5s", "--target", "leaf2")
	if strings.Contains(one, "leaf") || !strings.Contains(one, "54") {
		t.Errorf("leaf2: %s", one)
	}
	hosts := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(hosts, []byte("leaf2 192.0.2.2:8080\nleaf3 192.0.2.3:8080\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _ := ports(0, "--at", "-5s", "--target", "192.0.2.2:8080"); out != one {
		t.Errorf("by address: %s", out)
	}
	out, _ := ports(statusUnanswered, "--at", "-5s", "--target", "@"+hosts)
	if !strings.Contains(out, "leaf2 ") || strings.Contains(out, "leaf1") || !strings.Contains(out, "did not answer: leaf3 (192.0.2.3:8080): ") {
		t.Errorf("by an inventory: %s", out)
	}
	if all, _ := ports(0, "--at", "-5s", "--target", "all"); !strings.Contains(all, "leaf1 ") || !strings.Contains(all, "leaf2 ") {
		t.Errorf("all: %s", all)
	}
	if _, errs := ports(statusUnanswered, "--at", "-0s", "--target", "leaf2"); !strings.Contains(errs, "did not answer: leaf2 (192.0.2.2:8080): deadline exceeded after 1.5 s") {
		t.Errorf("one that did not answer: %s", errs)
	}
	if _, errs := ports(1, "--at", "2026-11-27T13:59:59Z"); !strings.Contains(errs, "has nothing at 2026-11-27T13:59:59Z: it begins at 2026-11-27T14:00:00Z") {
		t.Errorf("before it: %s", errs)
	}
}

func TestShowAtRefusesWhatItCannotAnswer(t *testing.T) {
	name, _ := fabricRecord(t)
	folder := t.TempDir()
	none := filepath.Join(folder, "none.record")
	w, err := framefile.Create(none, framefile.Options{Size: framefile.Smallest})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string]string{
		"--at needs a source: --from FILE, which sluice record wrote, or --prometheus URL": "--at 14:05",
		"--from goes with --at":                 "--from " + name,
		"--prometheus goes with --at":           "--prometheus http://127.0.0.1:1",
		"either --from or --prometheus":         "--at 14:05 --from x --prometheus http://127.0.0.1:1",
		"leave it out with --at":                "--at 14:05 --watch --from " + name,
		"about this machine now":                "--at 14:05 --namespace asic0 --from " + name,
		`--at "10m" is no time, such as 14:05`:  "--at 10m --from " + name,
		`--at "25:00" is no time`:               "--at 25:00 --from " + name,
		"no such file":                          "--at 14:05 --from " + folder + "/missing",
		"is no record of sluice":                "--at 14:05 --from " + folder,
		"has no frame":                          "--at 14:05 --from " + none,
		`"localhost" is no URL of a Prometheus`: "--at 14:05 --prometheus localhost",
		"connection refused":                    "--at 14:05 --prometheus http://127.0.0.1:1",
	} {
		out, errs, code := sluice(nil, append([]string{"show", "ports"}, strings.Fields(args)...)...)
		if code != 1 || out != "" || !strings.Contains(errs, want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit code %d, %q, %q, not %q", args, code, out, errs, want)
		}
	}
}

// TestShowAtFindsSwitchesOfAnInventoryInPrometheus by their hosts: their addresses have the port of sluice-gnmi.
func TestShowAtFindsSwitchesOfAnInventoryInPrometheus(t *testing.T) {
	t.Setenv("SLUICE_TARGETS", "")
	asked := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.PostFormValue("query")
		var all []string
		for i, instance := range []string{"192.0.2.1:9475", "leaf2:9475", "[2001:db8::3]:9475"} {
			name, value := metrics.Scraped, "1"
			if !strings.Contains(asked, metrics.Scraped) {
				name, value = "sluice_port_tx_bytes_total", fmt.Sprint(700+i)
			}
			all = append(all, fmt.Sprintf(`{"metric": {"__name__": %q, "instance": %q, "port": "Ethernet0"}, "values": [[%s, %q]]}`, name, instance, r.PostFormValue("time"), value))
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"status": "success", "data": {"resultType": "matrix", "result": [%s]}}`, strings.Join(all, ","))
	}))
	defer server.Close()
	hosts := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(hosts, []byte("leaf1 192.0.2.1:50070\nleaf2 198.51.100.2:50070\nleaf3 [2001:db8::3]:50070\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, code := sluice(nil, "show", "ports", "--at", "-1m", "--prometheus", server.URL, "--target", "@"+hosts)
	if code != statusStale { // this server does not have when sluiced was alive
		t.Fatalf("exit code %d: %s", code, errs)
	}
	for i, leaf := range []string{"leaf1", "leaf2", "leaf3"} {
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^%s +Ethernet0 .* %d$`, leaf, 700+i)).MatchString(out) {
			t.Errorf("%s: %s", leaf, out)
		}
	}
	_, instances, _ := strings.Cut(asked, `instance=~"`)
	instances = strings.ReplaceAll(strings.SplitN(instances, `"`, 2)[0], `\\`, `\`)
	for _, instance := range []string{"192.0.2.1:9475", "leaf2:9475", "[2001:db8::3]:9475", "leaf1"} {
		if !regexp.MustCompile("^(?:" + instances + ")$").MatchString(instance) {
			t.Errorf("%s is not asked for: %s", instance, asked)
		}
	}
	if regexp.MustCompile("^(?:" + instances + ")$").MatchString("leaf22:9475") {
		t.Errorf("another one is asked for: %s", asked)
	}
}

func TestTimesOfTheDayAreTheLastBeforeTheEnd(t *testing.T) {
	end := time.Date(2026, 11, 27, 14, 5, 10, 0, time.Local)
	for text, want := range map[string]time.Time{
		"14:05":                time.Date(2026, 11, 27, 14, 5, 0, 0, time.Local),
		"14:05:10":             end,
		"14:05:11":             time.Date(2026, 11, 26, 14, 5, 11, 0, time.Local),
		"23:59":                time.Date(2026, 11, 26, 23, 59, 0, 0, time.Local),
		"-10m":                 end.Add(-10 * time.Minute),
		"2026-11-27T14:05:00Z": time.Date(2026, 11, 27, 14, 5, 0, 0, time.UTC),
	} {
		if got, err := parseAt(text, end); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v, not %v", text, got, err, want)
		}
	}
}

func TestRecordSaysWhatItRefuses(t *testing.T) {
	databasesOf(t, variedRows(1)...)
	folder := t.TempDir()
	other := filepath.Join(folder, "other")
	if err := os.WriteFile(other, []byte("no record, but a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string]string{
		"is no record: --force overwrites it": other,
		"--every 1ms: from 100ms":             other + " --every 1ms",
		"--for must be 0 or more":             other + " --for -1s",
		"is not a size":                       other + " --size big",
		"are too few":                         other + " --size 10kB",
		"FILE is missing":                     "",
		"about this machine":                  other + " --target leaf1 --namespace asic0",
	} {
		if _, errs, code := sluice(nil, append([]string{"record"}, strings.Fields(args)...)...); code != 1 || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d, %q, not %q", args, code, errs, want)
		}
	}
	out, _ := good(t, "record", other, "--force", "--every", "100ms", "--for", "250ms", "--size", "2MiB", "--json")
	var sum map[string]any
	if err := json.Unmarshal([]byte(out), &sum); err != nil || sum["file"] != other || sum["switches"] != 1.0 || sum["frames"].(float64) < 1 || sum["octets"].(float64) < 100 {
		t.Errorf("%v: %s", err, out)
	}
	end(t, other)
	t.Setenv("SLUICE_DB_CONFIG", filepath.Join(folder, "missing.json"))
	missing := filepath.Join(folder, "new.record")
	if _, errs, code := sluice(nil, "record", missing, "--for", "1s"); code != 1 || !strings.Contains(errs, "missing.json") {
		t.Errorf("without databases: exit code %d, %q", code, errs)
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("a file was made without a frame")
	}
}

// TestRecordOfSwitchesThatDoNotAnswer has them with the reason, and says so.
func TestRecordOfSwitchesThatDoNotAnswer(t *testing.T) {
	t.Setenv("SLUICE_TARGETS", "")
	name := filepath.Join(t.TempDir(), "a.record")
	out, _, code := sluice(nil, "record", name, "--every", "100ms", "--for", "500ms", "--target", "127.0.0.1:1", "--gnmi-insecure")
	if code != statusUnanswered || !strings.Contains(out, "; 0 of 1 switches answer") {
		t.Errorf("exit code %d: %s", code, out)
	}
	_, errs, code := sluice(nil, "show", "ports", "--at", "-0s", "--from", name)
	if code != statusUnanswered || !strings.Contains(errs, "did not answer: 127.0.0.1:1: ") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

func TestOctetsHaveThreeDigits(t *testing.T) {
	for n, want := range map[int64]string{0: "0B", 999: "999B", 1000: "1kB", 1234567: "1.23MB", 999_499: "999kB", 999_600: "1MB", 1e9: "1GB", 999_950_000: "1GB", 25e14: "2.5e+03TB"} {
		if got := octetsText(n); got != want {
			t.Errorf("%d: %s, not %s", n, got, want)
		}
	}
}
