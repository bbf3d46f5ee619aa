// SPDX-License-Identifier: Apache-2.0

package container

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	dashboardFile = "grafana/sluice-dashboard.json"
	alertsFile    = "grafana/sluice-alerts.yaml"
	alertTests    = "grafana/testdata/alerts_test.yaml"
)

// promtool runs Prometheus's own judge.
func promtool(t *testing.T, dir string, args ...string) {
	t.Helper()
	path, err := filepath.Abs("../build/promtool")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		if path, err = exec.LookPath("promtool"); err != nil {
			t.Skip("needs promtool: make build/promtool")
		}
	}
	c := exec.Command(path, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestAlertsFireAsPlayed: each alert says how bad it is, what is wrong and what to do, and is
// played to Prometheus.
func TestAlertsFireAsPlayed(t *testing.T) {
	played := text(t, alertTests)
	rules := strings.Split(text(t, alertsFile), "- alert: ")[1:]
	for _, rule := range rules {
		name, _, _ := strings.Cut(rule, "\n")
		for _, part := range []string{"severity: ", "summary: ", "description: ", "expr: "} {
			if !strings.Contains(rule, part) {
				t.Errorf("%s has no %s", name, part)
			}
		}
		if strings.Contains(rule, "docker") && !strings.Contains(rule, "systemctl") && !strings.Contains(rule, "journalctl") {
			t.Errorf("%s says what to do with Docker, and not with systemd", name)
		}
		if !strings.Contains(played, "\n  - name: "+name+"\n") || !strings.Contains(played, fmt.Sprintf(`alertname="%s", alertstate="firing"`, name)) {
			t.Errorf("%s: no test lets it fire", name)
		}
	}
	if len(rules) == 0 {
		t.Error("no alerts")
	}
	t.Run("promtool check", func(t *testing.T) { promtool(t, ".", "check", "rules", alertsFile) })
	t.Run("promtool test", func(t *testing.T) { promtool(t, filepath.Dir(alertTests), "test", "rules", filepath.Base(alertTests)) })
}

// dashboard is what the test looks at of Grafana's.
type dashboard struct {
	SchemaVersion int `json:"schemaVersion"`
	Templating    struct {
		List []struct{ Name, Type string }
	}
	Panels []struct {
		ID         int
		Type       string
		Title      string
		Datasource struct{ UID string }
		GridPos    struct{ X, Y, W, H int }
		Targets    []struct {
			Expr       string
			Datasource struct{ UID string }
		}
	}
}

// variables are those of the dashboard and of Grafana itself, and the value for
// them in the test.
var variables = strings.NewReplacer("$__rate_interval", "5m", "$instance", ".+", "$uplinks", ".+")

// TestDashboardAsksValidQueries: its panels take their data from the source and the switches that
// are chosen above, lie side by side, and ask what Prometheus understands. What an operator looks at
// first is at its beginning: leaves and their uplinks, marks, drops, holds.
func TestDashboardAsksValidQueries(t *testing.T) {
	var d dashboard
	if err := json.Unmarshal([]byte(text(t, dashboardFile)), &d); err != nil {
		t.Fatal(err)
	}
	if d.SchemaVersion < 38 {
		t.Errorf("schema version %d is older than Grafana 10", d.SchemaVersion)
	}
	var names []string
	for _, v := range d.Templating.List {
		names = append(names, v.Name)
	}
	if want := []string{"datasource", "instance", "uplinks"}; !slices.Equal(names, want) {
		t.Errorf("variables %q, want %q", names, want)
	}
	var first []string
	for _, p := range d.Panels[:min(5, len(d.Panels))] {
		first = append(first, p.Title)
	}
	if want := []string{"Leaves × uplinks, marks, drops, holds", "Leaf × uplink: load ÷ mean of the leaf's uplinks", "Marked CE", "Dropped in queues", "Flows held now"}; !slices.Equal(first, want) {
		t.Errorf("it begins with %q, want %q", first, want)
	}
	type rule struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var rules []rule
	ids := map[int]bool{}
	taken := map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("%s: its id %d is taken", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other, ok := taken[[2]int{x, y}]; ok || x >= 24 {
					t.Fatalf("%s lies over %q or beyond the edge", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if len(p.Targets) == 0 || p.Datasource.UID != "${datasource}" {
			t.Errorf("%s: %d targets, data source %s", p.Title, len(p.Targets), p.Datasource.UID)
		}
		for _, q := range p.Targets {
			if q.Datasource.UID != "${datasource}" {
				t.Errorf("%s: data source %s", p.Title, q.Datasource.UID)
			}
			series := regexp.MustCompile(`[a-z_]+\{[^}]*\}`).FindAllString(q.Expr, -1)
			if len(series) == 0 {
				t.Errorf("%s: no series in %s", p.Title, q.Expr)
			}
			for _, s := range series {
				if !strings.Contains(s, `{instance=~"$instance"`) {
					t.Errorf("%s: %s is of all switches", p.Title, s)
				}
			}
			rules = append(rules, rule{fmt.Sprintf("panel:%d", len(rules)), variables.Replace(q.Expr)})
		}
	}
	t.Run("promtool check", func(t *testing.T) {
		// JSON is YAML, too.
		content, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "panels", "rules": rules}}})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "rules.yaml")
		if err := os.WriteFile(file, content, 0o644); err != nil {
			t.Fatal(err)
		}
		promtool(t, ".", "check", "rules", file)
	})
}
