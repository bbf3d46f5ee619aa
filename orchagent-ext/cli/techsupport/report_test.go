// SPDX-License-Identifier: Apache-2.0

package techsupport

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"sluice/orchagent-ext/cli/output"
	"sluice/yang/rows"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// machine is a root of files, and databases of rows.
func machine(t *testing.T, files map[string]string, all map[string][]rows.Row) Config {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Config{
		Version: "1.2", Since: time.Hour, Now: func() time.Time { return now }, Root: root,
		Read: func(_ context.Context, database string, tables ...string) ([]rows.Row, error) {
			if all == nil {
				return nil, errors.New("reach " + database + ": connection refused")
			}
			return slices.DeleteFunc(slices.Clone(all[database]), func(r rows.Row) bool { return !slices.Contains(tables, r.Table) }), nil
		},
	}
}

func row(table, key string, pairs ...string) rows.Row {
	r := rows.Row{Table: table, Key: key, Fields: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		r.Fields[pairs[i]] = pairs[i+1]
	}
	return r
}

// part is what a report says of one subject, as text.
func part(t *testing.T, r *Report, name string) string {
	t.Helper()
	for _, p := range r.Parts {
		if p.Name == name {
			var b bytes.Buffer
			p.text(&b)
			return b.String()
		}
	}
	t.Fatalf("no part %s", name)
	return ""
}

func TestCollectReadsTheMachine(t *testing.T) {
	c := machine(t, map[string]string{
		"proc/sys/kernel/hostname":                       "leaf1\n",
		"proc/sys/kernel/osrelease":                      "6.1.0\n",
		"etc/sonic/sonic_version.yml":                    "build_version: '202511.1'\nasic_type: vs\n",
		"proc/sys/net/ipv6/fib_multipath_hash_policy":    "3\n",
		"sys/fs/cgroup/memory.max":                       "536870912\n",
		"sys/fs/cgroup/memory.events":                    "low 0\noom_kill 2\n",
		"proc/meminfo":                                   "MemTotal:   100 kB\nMapped: 1 kB\n",
		"proc/self/limits":                               "Limit                     Soft Limit           Hard Limit           Units     \nMax open files            1024                 4096                 files     \n",
		"proc/77/comm":                                   "sluiced\n",
		"proc/77/cmdline":                                "sluiced\x00--sai-profile\x00VENDOR_TOKEN=hunter2\x00",
		"proc/77/status":                                 "Name:\tsluiced\nVmRSS:\t  5120 kB\nThreads:\t9\n",
		"proc/77/limits":                                 "",
		"proc/78/comm":                                   "bash\n",
		"var/log/syslog":                                 "2026-11-21T10:59:59+00:00 leaf1 sluiced: too old\n2026-11-21T11:30:00+00:00 leaf1 sluiced: password=hunter2 in time\nNov 21 11:31:00.5 leaf1 INFO sluice#sluiced: as SONiC writes\n2026 Nov 21 09:00:00 leaf1 sluice too old\nNov 21 11:32:00 leaf1 cron: of others\n",
		"proc/sys/net/ipv4/fib_multipath_hash_something": "not asked for",
	}, map[string][]rows.Row{
		configDB: {
			row("SLUICE_IPFIX_COLLECTOR", "c1", "address", "10.0.0.9", "key_file", "/etc/sonic/sluice/key.pem", "password", "hunter2"),
			row("PORT", "Ethernet0", "lanes", "1"), row("PORT", "Ethernet4", "lanes", "2"),
			row("SWITCH_HASH", "GLOBAL", "ecmp_hash@", "SRC_IP,IPV6_FLOW_LABEL"), row("TACPLUS", "global", "passkey", "hunter2"),
		},
		stateDB: {
			row("SLUICE_STATE", "global", "state", "degraded", "last_error", "no library", "last_error_time", "2026-11-21T11:00:00Z"),
			row("SLUICE_CONFIG_ERROR", "SLUICE_PORT|Ethernet9", "reason", "no such port"),
			row("SLUICE_ASIC_OBJECT", "0x1", "key", "acl/edge", "type", "acl-table"),
			row("SLUICE_FLOW", "a", "bytes", "9"), row("SLUICE_FLOW", "b", "bytes", "10"),
			row("WARM_RESTART_TABLE", "sluiced", "state", "reconciled"), row("WARM_RESTART_TABLE", "bgp", "state", "reconciled"),
		},
		countersDB: {row("SLUICE_STATS", "global", "cpu_copied", "7"), row("SLUICE_IPFIX_STATS", "c1", "last_error", "refused")},
	})
	r := Collect(t.Context(), c)
	for name, want := range map[string]string{
		"state":        "SLUICE_STATE|global\n  last_error       no library\n  last_error_time  2026-11-21T11:00:00Z\n  state            degraded\n",
		"errors":       "SLUICE_CONFIG_ERROR|SLUICE_PORT|Ethernet9\n  reason  no such port\nSLUICE_STATE|global\n  last_error       no library\n  last_error_time  2026-11-21T11:00:00Z\nSLUICE_IPFIX_STATS|c1\n  last_error  refused\n",
		"config":       "SLUICE_IPFIX_COLLECTOR|c1\n  address   10.0.0.9\n  key_file  /etc/sonic/sluice/key.pem\n  password  (masked)\nSWITCH_HASH|GLOBAL\n  ecmp_hash@  SRC_IP,IPV6_FLOW_LABEL\nPORT\n  count  2\n  names  Ethernet0 Ethernet4\n",
		"counters":     "SLUICE_STATS|global\n  cpu_copied  7\nSLUICE_IPFIX_STATS|c1\n  last_error  refused\n",
		"flows":        "SLUICE_FLOW|b\n  bytes  10\nSLUICE_FLOW|a\n  bytes  9\n",
		"objects":      "SLUICE_ASIC_OBJECT|0x1\n  key   acl/edge\n  type  acl-table\n",
		"warm-restart": "WARM_RESTART_TABLE|sluiced\n  state  reconciled\n",
		"ecmp":         "ipv4\nipv6\n  fib_multipath_hash_policy  3\n",
		"processes":    "sluiced 77\n  Threads  9\n  VmRSS    5120 kB\n  command  sluiced --sai-profile VENDOR_TOKEN=(masked)\nresource limits of sluiced 77\n",
		"limits":       "control group\n  memory.events  low 0, oom_kill 2\n  memory.max     536870912\nmachine\n  MemTotal  100 kB\nresource limits of this command\n  Max open files  1024 4096 files\n",
		"log":          "/var/log/syslog\n  2026-11-21T11:30:00+00:00 leaf1 sluiced: password=(masked) in time\n  Nov 21 11:31:00.5 leaf1 INFO sluice#sluiced: as SONiC writes\n",
	} {
		if diff := cmp.Diff(want, part(t, r, name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if v := part(t, r, "versions"); r.Host != "leaf1" || !strings.Contains(v, "version   1.2\n") || !strings.Contains(v, "build_version  202511.1\n") {
		t.Errorf("%s: %s", r.Host, v)
	}
	var text, object bytes.Buffer
	if err := errors.Join(r.Text(&text), output.JSON.Encoder(&object).Encode(r)); err != nil {
		t.Fatal(err)
	}
	if all := text.String() + object.String(); strings.Contains(all, "hunter2") {
		t.Errorf("a secret is in it: %s", all)
	}
}

// TestNothingIsThere: each part that fails says why, and the report is whole.
func TestNothingIsThere(t *testing.T) {
	r := Collect(t.Context(), machine(t, nil, nil))
	if len(r.Parts) != len(sources()) {
		t.Fatalf("%d parts, want %d", len(r.Parts), len(sources()))
	}
	for name, want := range map[string]string{
		"state": "! reach STATE_DB: connection refused\n", "config": "! reach CONFIG_DB: connection refused\n",
		"errors":    "! reach COUNTERS_DB: connection refused\n! reach STATE_DB: connection refused\n",
		"processes": "! none of sluiced, sluice-gnmi runs here\n", "log": "! /var/log/syslog is not here: in a container the log is the host's, with systemd alone it is journalctl's\n",
	} {
		if got := part(t, r, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestPartsThatHangOrPanic: the others are there all the same, within the time.
func TestPartsThatHangOrPanic(t *testing.T) {
	c := machine(t, nil, nil)
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		ctx, cancel := context.WithTimeout(t.Context(), Longest)
		defer cancel()
		start := time.Now()
		r := collect(ctx, &c, []source{
			{"hangs", "", func(context.Context, *Config) ([]Item, error) { <-release; return nil, nil }},
			{"waits", "", func(ctx context.Context, _ *Config) ([]Item, error) {
				<-ctx.Done()
				return []Item{{Name: "half"}}, ctx.Err()
			}},
			{"panics", "", func(context.Context, *Config) ([]Item, error) { panic("oh") }},
			{"works", "", func(context.Context, *Config) ([]Item, error) { return []Item{{Name: "item"}}, nil }},
		})
		if took := time.Since(start); took != Longest {
			t.Errorf("it took %v, want %v", took, Longest)
		}
		if r.Parts[0].Error != "not done within 30s" || r.Parts[2].Error != "panic: oh" || r.Parts[3].Error != "" || r.Parts[3].Items[0].Name != "item" {
			t.Errorf("%+v", r.Parts)
		}
	})
}

// TestReportHasABound: whatever the databases and the log hold, the report has its
// bound, as text and as JSON, and says what is left out.
func TestReportHasABound(t *testing.T) {
	long := strings.Repeat("\x1b<\xff", 1<<20)
	all := map[string][]rows.Row{
		configDB: {row("SLUICE_PORT", "Ethernet0", "role", long)}, countersDB: {row("SLUICE_STATS", "global")},
	}
	for i := range 1000 {
		all[stateDB] = append(all[stateDB], row("SLUICE_ASIC_OBJECT", fmt.Sprint(i), "attributes", long[:3000]), row("SLUICE_STATE", fmt.Sprint(i), "last_error", long[:3000]))
		all[countersDB][0].Fields[fmt.Sprint(i, long[:9000])] = "1"
	}
	line := "2026-11-21T11:59:59Z sluiced: " + strings.Repeat("word ", 100) + "\n"
	c := machine(t, map[string]string{"var/log/syslog": strings.Repeat(line, 10000), "var/log/syslog.1": "sluice " + long}, all)
	r := Collect(t.Context(), c)
	var text, object bytes.Buffer
	if err := errors.Join(r.Text(&text), output.JSON.Encoder(&object).Encode(r)); err != nil {
		t.Fatal(err)
	}
	for form, n := range map[string]int{"text": text.Len(), "JSON": object.Len()} {
		if n > Largest || n < 100<<10 {
			t.Errorf("%s has %d octets, want %d at most", form, n, Largest)
		}
	}
	if strings.Contains(text.String(), "\x1b") {
		t.Error("an escape code of a row is in the text")
	}
	for _, want := range []string{"octets)", "further fields found no room", "more found no room: a part has 600 KiB"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text does not say %q", want)
		}
	}
	if got := part(t, r, "log"); !strings.HasSuffix(got, strings.TrimSuffix(line, "\n")+"\n") {
		t.Error("the last lines of the log are not there")
	}
}

// TestArchiveHasAFileAPart: a file a part, that gzip and tar can read.
func TestArchiveHasAFileAPart(t *testing.T) {
	r := Collect(t.Context(), machine(t, map[string]string{"proc/sys/kernel/hostname": "../leaf1"}, nil))
	for format, ending := range map[output.Format]string{output.Plain: ".txt", output.JSON: ".json", output.YAML: ".yaml"} {
		var packed bytes.Buffer
		if err := r.Archive(&packed, format); err != nil {
			t.Fatal(err)
		}
		unzipped, err := gzip.NewReader(&packed)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for files := tar.NewReader(unzipped); ; {
			h, err := files.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(files)
			if err != nil || len(content) == 0 || format.Data() && yaml.Unmarshal(content, new(map[string]any)) != nil || format == output.JSON && !json.Valid(content) {
				t.Errorf("%s: %v: %q", h.Name, err, content)
			}
			names = append(names, h.Name)
		}
		var want []string
		for _, s := range sources() {
			want = append(want, "sluice-techsupport-..-leaf1-20261121-120000/"+s.name+ending)
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Error(diff)
		}
	}
}

func TestLineTime(t *testing.T) {
	january := time.Date(2027, 1, 1, 0, 30, 0, 0, time.UTC)
	for _, tt := range []struct {
		line string
		want time.Time
	}{
		{"2026-11-21T12:34:56.5+01:00 host sluiced: x", time.Date(2026, 11, 21, 11, 34, 56, 5e8, time.UTC)},
		{"2026 Nov  1 02:03:04.000001 host INFO", time.Date(2026, 11, 1, 2, 3, 4, 1000, time.UTC)},
		{"Dec 31 23:59:59 host sluiced: x", time.Date(2026, 12, 31, 23, 59, 59, 0, time.UTC)},
		{"Jan  1 00:29:59 host sluiced: x", time.Date(2027, 1, 1, 0, 29, 59, 0, time.UTC)},
		{"sluiced without a time", time.Time{}},
		{"", time.Time{}},
	} {
		got, ok := lineTime(tt.line, january)
		if !got.Equal(tt.want) || ok == tt.want.IsZero() {
			t.Errorf("%q: %v, want %v", tt.line, got, tt.want)
		}
	}
}
