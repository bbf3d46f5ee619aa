// SPDX-License-Identifier: Apache-2.0

package pasttest

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry/metrics"
	"sluice/orchagent-ext/view/frame"
	"sluice/orchagent-ext/view/past"
	"sluice/tests/redistest"
	"sluice/yang/rows"
)

// Scrape is the interval between two scrapes.
const Scrape = time.Second

// patience is how long scrapes and programs may take.
const patience = 3 * time.Minute

// Result is how a past differs from a record.
type Result struct {
	Points int `json:"points"` // values of the past
	Differ int `json:"differ"` // of these: no recorded value within a scrape is the same
}

// A Site is a Prometheus that scrapes the metrics of a Redis.
type Site struct {
	URL      string
	Recorded []*frame.Frame // live, of the time in which it was scraped
	Scrapes  []time.Time    // those that were seen meanwhile, sorted; it goes on after them
	Rows     []rows.Row     // of the last frame
}

// Prometheus is the program, or the test is skipped.
func Prometheus(t testing.TB, root string) string {
	t.Helper()
	made := filepath.Join(root, "build/prometheus")
	if _, err := os.Stat(made); err == nil {
		path, err := filepath.Abs(made)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	path, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("needs prometheus: make build/prometheus")
	}
	return path
}

// Measure runs the whole, for so many scrapes, and compares. root is the root of the tree.
func Measure(t testing.TB, root string, scrapes int) (Result, *Site) {
	t.Helper()
	s := Start(t, root, scrapes)
	source, err := past.New(s.URL, past.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return Compare(t, s.Recorded, source), s
}

// Start starts a Prometheus on the metrics of rows that change, and returns after so many scrapes.
func Start(t testing.TB, root string, scrapes int) *Site {
	t.Helper()
	program := Prometheus(t, root)
	d := redistest.Databases(t)
	l := newLive(t, d)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	t.Cleanup(cancel)

	address := freeAddress(t)
	server, err := metrics.New(metrics.Config{Address: address, Databases: d, Flows: 10, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	running.Go(func() { _ = server.Run(ctx) })
	url := startPrometheus(t, program, address)

	s := &Site{URL: url}
	source, err := past.New(url, past.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ticker := time.NewTicker(Scrape / 4)
	defer ticker.Stop()
	times := map[time.Time]bool{}
	for end := time.Now().Add(patience); len(times) < scrapes+1; <-ticker.C {
		if time.Now().After(end) {
			t.Fatalf("%d scrapes of %d", len(times), scrapes)
		}
		f := l.step(t)
		s.Recorded = append(s.Recorded, f)
		s.Rows = f.Switches[0].Rows
		if is, _, err := source.At(t.Context(), time.Now()); err == nil && is != nil && is.Switches[0].Missing == "" {
			times[is.At] = true
		}
	}
	s.Scrapes = slices.SortedFunc(maps.Keys(times), time.Time.Compare)
	return s
}

// live are the rows of a leaf, which change each second as sluiced writes them.
type live struct {
	state, counters *sonicdb.DB
	n               int
	written         time.Time
}

func newLive(t testing.TB, d *sonicdb.Databases) *live {
	t.Helper()
	return &live{state: redistest.Open(t, d, "STATE_DB"), counters: redistest.Open(t, d, "COUNTERS_DB")}
}

// ports is how many ports the leaf has.
const ports = 8

// rows are those of the n-th second.
func (l *live) rows(n int, now time.Time) (state, counters []rows.Row) {
	row := func(table, key string, fields ...string) rows.Row {
		r := rows.Row{Table: table, Key: key, Fields: map[string]string{}}
		for i := 0; i < len(fields); i += 2 {
			r.Fields[fields[i]] = fields[i+1]
		}
		return r
	}
	stamp := now.UTC().Format(time.RFC3339)
	warnings := "one; two"
	if n%4 == 0 {
		warnings = "three"
	}
	state = append(state,
		row("SLUICE_STATE", "global", "state", []string{"running", "degraded"}[n/3%2], "version", "0.1.0", "flow_label", "active", "placement", "active", "warnings", warnings,
			"objects", fmt.Sprint(100+n%7), "alive", stamp, "since", "2026-11-27T08:00:00Z"),
		row("SLUICE_PLACEMENT_GROUP", "10.0.0.0/8", "state", "active", "flows", fmt.Sprint(n), "worst_over_mean", fmt.Sprintf("1.%d", 1+n%8), "moves", fmt.Sprint(n/2)))
	for f := range 5 {
		state = append(state, row("SLUICE_FLOW", fmt.Sprintf("2001:db8::1,2001:db8::2,%06x", f), "src", "2001:db8::1", "dst", "2001:db8::2", "dest_qp", fmt.Sprint(f),
			"bytes", fmt.Sprint(n*f*4096), "packets", fmt.Sprint(n*f), "rate_mbps", fmt.Sprint(100+n%50)))
	}
	counters = append(counters,
		row("SLUICE_STATS", "global", "read_time", stamp, "label_written", fmt.Sprint(1000*n), "label_skipped_percent", fmt.Sprintf("%d.5", n%50)),
		row("SLUICE_NOTIFY_STATS", "pfcm", "sent", fmt.Sprint(n), "dropped_policed", fmt.Sprint(n/3), "reaction_us_p50", fmt.Sprintf("%d.5", 100+n%9)))
	for p := range ports {
		name := fmt.Sprint("Ethernet", 4*p)
		counters = append(counters, row("SLUICE_PORT_STATS", name, "oper_status", []string{"up", "down"}[n/5*p%2], "role", "fabric",
			"tx_bytes", fmt.Sprint(n*(p+1)*1_000_000_007), "tx_packets", fmt.Sprint(n*(p+1)*244_141), "rx_bytes", fmt.Sprint(n*p), "rx_packets", fmt.Sprint(n)))
		for q := range 2 {
			counters = append(counters, row("SLUICE_QUEUE_STATS", fmt.Sprintf("%s|%d", name, q), "queued_bytes", fmt.Sprint(n*7919%100_000), "watermark_bytes", fmt.Sprint(n*31), "bytes", fmt.Sprint(n*1500), "packets", fmt.Sprint(n), "dropped", "0"))
		}
	}
	return state, counters
}

// step writes the rows of the next second where that has come, and reads all.
func (l *live) step(t testing.TB) *frame.Frame {
	t.Helper()
	if now := time.Now(); now.Sub(l.written) >= time.Second {
		l.n, l.written = l.n+1, now
		state, counters := l.rows(l.n, now)
		redistest.Write(t, l.state, state...)
		redistest.Write(t, l.counters, counters...)
	}
	s := frame.Switch{Name: "leaf1"}
	for _, of := range []struct {
		db   *sonicdb.DB
		name string
	}{{l.state, "STATE_DB"}, {l.counters, "COUNTERS_DB"}} {
		some, err := of.db.Read(t.Context(), frame.Tables[of.name]...)
		if err != nil {
			t.Fatal(err)
		}
		s.Rows = append(s.Rows, some...)
	}
	s.Rows = frame.Sorted(s.Rows)
	s.At = time.Now()
	return &frame.Frame{At: s.At, Switches: []frame.Switch{s}}
}

// freeAddress is an address of loopback that nothing listens at.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// startPrometheus starts the program on a target, and returns its URL.
func startPrometheus(t testing.TB, program, target string) string {
	t.Helper()
	dir := t.TempDir()
	config := fmt.Sprintf("global: {scrape_interval: %v, scrape_timeout: %v}\nscrape_configs: [{job_name: sluice, static_configs: [{targets: ['%s']}]}]\n", Scrape, Scrape, target)
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	out, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	c := exec.Command(program, "--config.file", filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path", filepath.Join(dir, "data"), "--web.listen-address", address)
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill() // what it has is for this test
		_ = c.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(out.Name())
			t.Logf("prometheus: %s", text)
		}
	})
	return "http://" + address
}

// Compare compares the frames of a past with those that were recorded live, of one switch each. The
// value of a scrape is one that the rows had within an interval of it: those that were in force at its
// begin, and those that came until its end.
func Compare(t testing.TB, recorded []*frame.Frame, source frame.Source) (r Result) {
	t.Helper()
	first, last := recorded[0].At.Add(Scrape), recorded[len(recorded)-1].At
	done := map[time.Time]bool{}
	for at := first; at.Before(last); at = at.Add(Scrape / 4) {
		f, _, err := source.At(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		if f == nil || done[f.At] || f.At.Before(first) {
			continue
		}
		done[f.At] = true
		compare(t, within(recorded, f.At), f, &r)
	}
	return r
}

// within returns the frames that were in force within an interval of a time.
func within(recorded []*frame.Frame, at time.Time) []*frame.Frame {
	from := 0
	for i, f := range recorded {
		if !f.At.After(at.Add(-Scrape)) {
			from = i
		}
	}
	to := slices.IndexFunc(recorded, func(f *frame.Frame) bool { return f.At.After(at.Add(Scrape)) })
	if to < 0 {
		to = len(recorded)
	}
	return recorded[from:to]
}

// compare compares a frame of the past with frames around it.
func compare(t testing.TB, around []*frame.Frame, f *frame.Frame, r *Result) {
	t.Helper()
	values := map[string]map[string]bool{} // by row and field
	for _, o := range around {
		for _, row := range o.Switches[0].Rows {
			for field, value := range row.Fields {
				name := row.Name() + " " + field
				if values[name] == nil {
					values[name] = map[string]bool{}
				}
				values[name][plain(value)] = true
			}
		}
	}
	for _, row := range f.Switches[0].Rows {
		for field, value := range row.Fields {
			r.Points++
			if name := row.Name() + " " + field; !values[name][plain(value)] {
				r.Differ++
				t.Logf("at %v: %s is %s, recorded %v", f.At, name, value, values[name])
			}
		}
	}
}

// plain is a value in a form by which equal ones are the same: sentences in their order.
func plain(value string) string {
	if n, err := strconv.ParseFloat(value, 64); err == nil {
		return strconv.FormatFloat(n, 'g', -1, 64)
	}
	all := strings.Split(value, "; ")
	slices.Sort(all)
	return strings.Join(all, "; ")
}
