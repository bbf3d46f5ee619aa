// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
	"sluice/yang/rows"
	"sluice/yang/text"
)

var update = flag.Bool("update", false, "rewrite the golden file")

const patience = 60 * time.Second // the machine may be busy

// site is a Redis with rows, and a server that has them.
type site struct {
	t     *testing.T
	redis *privateredis.Server
	dbs   *sonicdb.Databases
	*Server
	url string
}

func newSite(t *testing.T) *site {
	t.Helper()
	dir, err := os.MkdirTemp("", "metrics") // t.TempDir can be too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &site{t: t}
	s.redis, err = privateredis.Start(dir)
	if errors.Is(err, privateredis.ErrNotInstalled) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.redis.Stop)
	if s.dbs, err = sonicdb.Load(s.redis.Config, ""); err != nil {
		t.Fatal(err)
	}
	return s
}

// write writes a row, fields by name and value in turn.
func (s *site) write(database, table, key string, pairs ...string) {
	s.t.Helper()
	db, err := sonicdb.Open(s.dbs, database, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	fields := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		fields[pairs[i]] = pairs[i+1]
	}
	if err := db.Write(context.Background(), sonicdb.Change{Row: rows.Row{Table: table, Key: key, Fields: fields}}); err != nil {
		s.t.Fatal(err)
	}
}

// serve starts the server, and waits until it listens; what it returns ends it.
func (s *site) serve(c Config) (end func() error) {
	s.t.Helper()
	c.Databases = s.dbs
	if c.Address == "" {
		c.Address = "127.0.0.1:0"
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	var err error
	if s.Server, err = New(c); err != nil {
		s.t.Fatal(err)
	}
	at := make(chan net.Addr, 1)
	s.ready = func(a net.Addr) { at <- a }
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	ended := false
	end = func() error {
		ended = true
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(patience):
			return errors.New("it does not end")
		}
	}
	s.t.Cleanup(func() {
		if !ended {
			if err := end(); err != nil {
				s.t.Error(err)
			}
		}
	})
	select {
	case a := <-at:
		s.url = "http://" + a.String()
	case <-time.After(patience):
		s.t.Fatal("it does not listen")
	}
	return end
}

func (s *site) get(path string) (int, string) {
	s.t.Helper()
	code, body, err := fetch(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	return code, body
}

func fetch(url string) (int, string, error) {
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	return r.StatusCode, string(body), err
}

// await scrapes until the metrics have a line.
func (s *site) await(line string) string {
	s.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		code, body := s.get("/metrics")
		if code != http.StatusOK {
			s.t.Fatalf("status %d: %s", code, body)
		}
		if strings.Contains(body, "\n"+line+"\n") {
			return body
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("no line %s in\n%s", line, body)
		}
	}
}

// fill writes rows of every exported table, and of some that are not.
func (s *site) fill() {
	s.t.Helper()
	s.write("STATE_DB", "SLUICE_STATE", "global", "state", "degraded", "version", "1.2.3", "since", "2026-11-21T12:00:00Z",
		"driver", "sai", "flow_label", "active", "flow_label_method", "rewrite", "objects", "9", "flows", "64", "config_errors", "2",
		"warnings", `ECMP does not hash the flow label; SLUICE_PORT|"Ethernet0": no such port; ECMP does not hash the flow label`,
		"last_error", "hunter2 was refused", "last_error_time", "2026-11-21T12:00:01.5Z")
	s.write("STATE_DB", "SLUICE_CAPABILITY", "switch", "flow_label_method", "rewrite", "flow_label_reason", "hunter2", "flow_label_ipv4", "not spread")
	s.write("STATE_DB", "SLUICE_CONFIG_ERROR", "SLUICE_PORT|Ethernet0", "reason", "no such port")
	s.write("STATE_DB", "SLUICE_ASIC_OBJECT", "oid:0x1", "key", "label", "type", "ACL_ENTRY")
	for i, octets := range []string{"500", "90000", "1000"} {
		s.write("STATE_DB", "SLUICE_FLOW", fmt.Sprintf("2001:db8::1,2001:db8::2,%06x", i), "src", "2001:db8::1", "dst", "2001:db8::2",
			"dest_qp", fmt.Sprint(i), "flow_label", "77", "packets", "5", "bytes", octets, "rate_mbps", "8", "queue_bytes", "4000", "queue", "3", "state", "normal")
	}
	s.write("COUNTERS_DB", "SLUICE_STATS", "global", "label_written", "18446744073709551615", "label_skipped", "17", "label_skipped_percent", "25.5",
		"cpu_copied", "3", "cpu_ring_full", "4", "cpu_policed", "13", "cpu_unfollowed", "14", "cpu_samples_full", "16", "cpu_discarded", "15", "cpu_roce", "6", "cpu_tunnelled", "7", "cpu_not_roce", "8", "cpu_malformed", "9",
		"cpu_queue_full", "10", "cpu_new_flows", "11", "cpu_flows", "12", "flows_without_entry", "5")
	for _, port := range []string{"Ethernet0", "Ethernet4"} {
		s.write("COUNTERS_DB", "SLUICE_PORT_STATS", port, "rx_packets", "1", "rx_bytes", "2", "tx_packets", "3", "tx_bytes", "4")
	}
	s.write("COUNTERS_DB", "SLUICE_NOTIFY_STATS", "pfcm", "sent", "1", "received", "2", "dropped_policed", "3", "dropped_hop_limit", "4",
		"reaction_us_n", "7", "reaction_us_p50", "96.5", "reaction_us_max", "2000.0")
	s.write("COUNTERS_DB", "SLUICE_NOTIFY_STATS", "ppfc", "sent", "5", "dropped_policed", "6")
	s.write("COUNTERS_DB", "SLUICE_IPFIX_STATS", `a "quoted" name`, "connected", "true", "records", "1", "messages", "2", "bytes", "3",
		"waiting", "4", "dropped", "5", "connects", "6", "refused", "7")
	s.write("COUNTERS_DB", "SLUICE_IPFIX_STATS", "lost", "connected", "false", "last_error", "hunter2")
	s.write("COUNTERS_DB", "SLUICE_GNMI_STATS", "global", "sessions", "3", "sets", "4")
	s.write("COUNTERS_DB", "COUNTERS", "oid:0x1", "SAI_QUEUE_STAT_PACKETS", "1")
	s.write("CONFIG_DB", "SLUICE_IPFIX_COLLECTOR", "a", "key_file", "/etc/hunter2")
}

// fromRows are the lines that come from rows: what Go and the kernel say of the
// process is another each time.
func fromRows(body string) string {
	var b strings.Builder
	for line := range strings.Lines(body) {
		if name := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE "); strings.HasPrefix(name, "sluice_") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestMetricsAreThoseRecorded: every table's rows as Prometheus sees them, with no word of what is
// for people or in CONFIG_DB, in a form that promtool finds nothing wrong with.
func TestMetricsAreThoseRecorded(t *testing.T) {
	s := newSite(t)
	s.fill()
	s.serve(Config{Flows: 2})
	code, body := s.get("/metrics")
	if code != http.StatusOK {
		t.Fatalf("status %d: %s", code, body)
	}
	const golden = "testdata/metrics.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(fromRows(body)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), fromRows(body)); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(body, "hunter2") {
		t.Error("words for people, or a path of CONFIG_DB, are in the metrics")
	}
	for _, name := range []string{"process_resident_memory_bytes", "process_cpu_seconds_total", "go_goroutines"} {
		if !strings.Contains(body, "\n"+name+" ") {
			t.Errorf("no %s", name)
		}
	}
	t.Run("promtool", func(t *testing.T) {
		c := exec.Command(promtool(t), "check", "metrics")
		c.Stdin = strings.NewReader(body)
		if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// promtool is Prometheus's own judge.
func promtool(t *testing.T) string {
	t.Helper()
	const made = "../../../../build/promtool"
	if _, err := os.Stat(made); err == nil {
		return made
	}
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("needs promtool: make build/promtool")
	}
	return path
}

// TestFewSeries: no flow has a series unless the operator wants some, and a switch
// of several ASICs says which one everything is of.
func TestFewSeries(t *testing.T) {
	s := newSite(t)
	s.fill()
	s.serve(Config{ASIC: "asic1"})
	_, body := s.get("/metrics")
	if strings.Contains(body, "sluice_flow_packets") || strings.Contains(body, "2001:db8") {
		t.Error("flows have series")
	}
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, `asic="asic1"`) {
			t.Errorf("no ASIC: %s", line)
		}
	}
}

// TestUnknownFieldsAreCounted: what the model does not know is left out and counted, and the rest
// of its row is there.
func TestUnknownFieldsAreCounted(t *testing.T) {
	s := newSite(t)
	s.write("STATE_DB", "SLUICE_STATE", "global", "state", "dancing", "objects", "-1", "flows", "7", "since", "yesterday", "shoe_size", "42")
	s.write("COUNTERS_DB", "SLUICE_STATS", "global", "label_written", "0x10", "label_skipped", "5", "cpu_copied", "")
	s.write("COUNTERS_DB", "SLUICE_STATS", "local", "label_written", "1", "label_skipped", "1")
	s.write("COUNTERS_DB", "SLUICE_PORT_STATS", "Ethernet\xff", "rx_packets", "1")
	s.write("COUNTERS_DB", "SLUICE_PORT_STATS", "Ethernet0", "rx_packets", "NaN", "tx_packets", "8")
	s.write("COUNTERS_DB", "SLUICE_IPFIX_STATS", "c", "connected", "maybe", "records", "1e3", "waiting", "9")
	s.serve(Config{})
	want := map[string]string{
		"sluice_metrics_clients_closed_total": "0", "sluice_redis_up": "1", "sluice_skipped_fields": "12", "sluice_flows": "7", "sluice_label_skipped_total": "5",
		`sluice_port_tx_packets_total{port="Ethernet0"}`: "8", `sluice_ipfix_waiting{collector="c"}`: "9",
		`sluice_info{driver="",flow_label_method="",version=""}`: "1",
	}
	_, body := s.get("/metrics")
	got := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(sluice_.*) (\S+)$`).FindAllStringSubmatch(body, -1) {
		got[m[1]] = m[2]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Names and texts of rows are written by others: no label has what a terminal would obey or
// hide, and two names that differ only in that stay two.
func TestLabelsHaveOnlyWhatATerminalMayShow(t *testing.T) {
	s := newSite(t)
	s.write("STATE_DB", "SLUICE_STATE", "global", "state", "degraded", "version", "1\u200b2", "warnings", "a\u009b31mb\u202ec; plain")
	for _, port := range []string{"Ethernet0", "Ethernet0\u200b", "Ethernet0\u202e"} {
		s.write("COUNTERS_DB", "SLUICE_PORT_STATS", port, "tx_bytes", "7", "oper_status", "up")
	}
	s.serve(Config{})
	_, got := s.get("/metrics")
	if text.Lines(got) != got {
		for line := range strings.Lines(got) {
			if line = strings.TrimSuffix(line, "\n"); text.Printable(line) != line {
				t.Errorf("%q", line)
			}
		}
	}
	for _, want := range []string{`port="Ethernet0"`, `port="Ethernet0\\u200b"`, `port="Ethernet0\\u202e"`, `a\\u009b31mb\\u202ec`, `"plain"`, `1\\u200b2`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in\n%s", want, got)
		}
	}
}
