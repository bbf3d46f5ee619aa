// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

const metricsAddress = "127.0.0.1:9475"

// scrape reads a page of sluiced's in the leaf's namespace.
func (l *leaf) scrape(path string) (code int, body string, err error) {
	client := http.Client{Timeout: patience, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (conn net.Conn, err error) {
			err = l.Leaf.Do(func() error {
				conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
				return err
			})
			return conn, err
		},
	}}
	r, err := client.Get("http://" + metricsAddress + path)
	if err != nil {
		return 0, "", err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	return r.StatusCode, string(b), err
}

// awaitMetric scrapes until there is a line that matches, and returns all.
func (l *leaf) awaitMetric(pattern string) string {
	l.t.Helper()
	re := regexp.MustCompile("(?m)^" + pattern + "$")
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		code, body, err := l.scrape("/metrics")
		if err == nil && code == http.StatusOK && re.MatchString(body) {
			return body
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("no metric %s: %v, status %d\n%s", pattern, err, code, body)
		}
	}
}

// TestMetricsHaveTheNamesOfTheDashboard: Prometheus sees what sluiced does, by the names that the dashboard
// and the alerts ask for.
func TestMetricsHaveTheNamesOfTheDashboard(t *testing.T) {
	l := newLeaf(t)
	l.start("--sai-profile", "SLUICE_HIDE=compute", "--sai-profile", withQueues, "--metrics-flows", "3")
	l.set("SLUICE_FLOW_LABEL", "global", "admin_state", "enabled")
	first := l.awaitMetric(`sluice_warnings\{warnings="ECMP does not hash the flow label: .*"\} 1`)
	l.awaitMetric(`sluice_state\{state="degraded"\} 1`)

	l.set("SLUICE_IPFIX", "global", "admin_state", "enabled")
	l.set("SLUICE_IPFIX_COLLECTOR", "c1", "address", "127.0.0.1", "port", "4739")
	l.enable()
	l.send(l.sessions(2)) // the CPU learns of the flows
	l.awaitFields("SLUICE_STATE", "global", "flows", "64")
	l.send(l.sessions(2))
	// What sluice-gnmi would write, and sluiced on SONiC, whose queues have a watermark.
	err := l.countersDB.Write(t.Context(),
		sonicdb.Change{Row: rows.Row{Table: "SLUICE_GNMI_STATS", Key: "global", Fields: map[string]string{"sessions": "1", "streams": "2"}}},
		sonicdb.Change{Row: rows.Row{Table: "SLUICE_QUEUE_STATS", Key: "Ethernet400|0", Fields: map[string]string{"watermark_bytes": "1"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{
		`sluice_state\{state="running"\} 1`, `sluice_state\{state="degraded"\} 0`, `sluice_flow_label\{flow_label="active"\} 1`,
		`sluice_info\{driver="sai",flow_label_method="rewrite",version=".+"\} 1`, `sluice_flows 64`, `sluice_label_written_total 128`,
		`sluice_port_rx_packets_total\{port="` + l.LeafA.Name + `"\} [1-9]\d*`, `sluice_port_role\{port="` + l.LeafA.Name + `",role="edge"\} 1`,
		`sluice_port_role\{port="` + l.Uplinks[0].Name + `",role="fabric"\} 1`, `sluice_port_role\{port="` + l.Uplinks[0].Name + `",role="edge"\} 0`, `sluice_ipfix_connected\{collector="c1"\} 1`,
		`sluice_flow_packets_total\{flow=".+,000100"\} 2`, `sluice_gnmi_sessions 1`, `sluice_redis_up 1`,
	} {
		l.awaitMetric(pattern)
	}
	_, last, err := l.scrape("/metrics")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(last, "\nsluice_flow_packets_total{"); n != 3 {
		t.Errorf("%d flows have metrics of their own, want 3", n)
	}
	if code, body, err := l.scrape("/healthz"); code != http.StatusOK || body != "running\n" || err != nil {
		t.Errorf("health: %d %q %v", code, body, err)
	}

	l.set("SLUICE_PFCM", "global", "admin_state", "enabled")
	l.awaitMetric(`sluice_notify_received_total\{.*"pfcm".*\} 0`)
	l.set("SLUICE_PLACEMENT", "global", "admin_state", "enabled", "scope", "fabric")
	var notify string
	l.until("metrics of placement, which it has once flows have rates", func() bool {
		l.send(l.sessions(2))
		_, notify, err = l.scrape("/metrics")
		return err == nil && strings.Contains(notify, "\nsluice_placement_group_floor{") &&
			strings.Contains(notify, "\nsluice_placement_group_hash_worst_over_mean{") &&
			strings.Contains(notify, "\nsluice_placement_fabric_leaves ") &&
			strings.Contains(notify, "\nsluice_placement_member_measured_bytes_per_second{")
	})

	exported := map[string]bool{
		"up":                           true, // Prometheus makes it
		"sluice_placement_fabric_plan": true, // TestLeavesShareTheirLoads has a plan
	}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) `).FindAllStringSubmatch(first+last+notify, -1) {
		exported[m[1]] = true
	}
	for _, file := range []string{"sluice-dashboard.json", "sluice-alerts.yaml"} {
		content, err := os.ReadFile("../../sonic-container/grafana/" + file)
		if err != nil {
			t.Fatal(err)
		}
		asked := map[string]bool{}
		for _, name := range regexp.MustCompile(`\b(sluice|process|go)_[a-z_]+\b`).FindAllString(string(content), -1) {
			asked[name] = true
		}
		if len(asked) < 10 {
			t.Errorf("%s asks for %d metrics: are these all?", file, len(asked))
		}
		for _, name := range slices.Sorted(maps.Keys(asked)) {
			if !exported[name] {
				t.Errorf("%s asks for %s, which sluiced does not export", file, name)
			}
		}
	}
	l.stop()
	if _, _, err := l.scrape("/metrics"); err == nil {
		t.Error("/metrics is there without sluiced")
	}
}

// TestMetricsPortTaken: who has the port of /metrics costs the metrics, and nothing
// else; they come when it is free.
func TestMetricsPortTaken(t *testing.T) {
	t.Parallel()
	l := newLeaf(t)
	var other net.Listener
	err := l.Leaf.Do(func() (err error) {
		other, err = net.Listen("tcp", metricsAddress)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	l.start()
	l.enable()
	l.await("SLUICE_STATE", "global", func(f map[string]string) bool {
		return f["state"] == "running" && f["warnings"] == "metrics are not served at "+metricsAddress+": bind: address already in use"
	})
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	l.awaitMetric(`sluice_state\{state="running"\} 1`)
	l.await("SLUICE_STATE", "global", func(f map[string]string) bool { return f["warnings"] == "" })
}
