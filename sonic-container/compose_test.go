// SPDX-License-Identifier: Apache-2.0

package container

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const composeFolder = "compose"

// composed is the part of the schema of Docker Compose that compose.yml uses.
type composed struct {
	Services map[string]struct {
		Image       string
		Command     []string
		Restart     string
		Profiles    []string
		Environment map[string]string
		Volumes     []string
		Ports       []string
	}
}

// parsed reads a YAML file, and refuses fields that v has not.
func parsed(t *testing.T, file string, v any) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(text(t, file)))
	d.KnownFields(true)
	if err := d.Decode(v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// mount copies the files that a service mounts below dir, and returns the words of its command.
func (c *composed) mount(t *testing.T, service, dir string) []string {
	t.Helper()
	s := c.Services[service]
	for _, volume := range s.Volumes {
		from, rest, _ := strings.Cut(volume, ":/")
		to, mode, _ := strings.Cut(rest, ":")
		if mode != "ro" {
			t.Errorf("%s: %s is not read-only", service, volume)
		}
		if strings.HasPrefix(from, "${") {
			continue // a folder of the operator
		}
		b, err := os.ReadFile(filepath.Join(composeFolder, from))
		if err != nil {
			t.Fatalf("%s: %v", service, err)
		}
		file := filepath.Join(dir, to)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return s.Command
}

// TestComposeFileIsValid: Docker Compose takes it, where it is installed. Images have a version, ports
// are those of the loopback address, and every file that is mounted is in the tree.
func TestComposeFileIsValid(t *testing.T) {
	var c composed
	parsed(t, filepath.Join(composeFolder, "compose.yml"), &c)
	want := []string{"gnmic", "grafana", "otelcol", "prometheus"}
	var names []string
	for name, s := range c.Services {
		names = append(names, name)
		_, version, _ := strings.Cut(s.Image, ":")
		if version == "" || version == "latest" {
			t.Errorf("%s: image %s has no version", name, s.Image)
		}
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s: port %s is open to all", name, port)
			}
		}
		c.mount(t, name, t.TempDir())
	}
	if slices.Sort(names); !slices.Equal(names, want) {
		t.Errorf("services %q, want %q", names, want)
	}
	for _, words := range [][]string{{"docker", "compose"}, {"docker-compose"}} {
		if exec.Command(words[0], append(words[1:], "version")...).Run() != nil {
			continue
		}
		words = append(words, "-f", filepath.Join(composeFolder, "compose.yml"), "--profile", "otlp", "config")
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%q: %v\n%s", words, err, out)
		}
		return
	}
	t.Log("Docker Compose is not installed: only its fields and files are judged")
}

// TestComposedPrometheusTakesItsFiles: promtool takes the configuration with the targets and alerts
// beside it, as the service mounts them, and the scrapes of the OpenTelemetry collector.
func TestComposedPrometheusTakesItsFiles(t *testing.T) {
	var c composed
	parsed(t, filepath.Join(composeFolder, "compose.yml"), &c)
	dir := t.TempDir()
	command := c.mount(t, "prometheus", dir)
	file, is := strings.CutPrefix(command[0], "--config.file=")
	if !is {
		t.Fatalf("command %q", command)
	}
	promtool(t, dir, "check", "config", filepath.Join(dir, file))

	c.mount(t, "otelcol", dir)
	var scrapes bytes.Buffer
	if err := yaml.NewEncoder(&scrapes).Encode(otel(t).Receivers["prometheus"]["config"]); err != nil {
		t.Fatal(err)
	}
	inside := strings.ReplaceAll(scrapes.String(), "/etc/otelcol/", filepath.Join(dir, "etc/otelcol")+"/")
	if inside == scrapes.String() {
		t.Errorf("the collector scrapes no mounted file:\n%s", inside)
	}
	file = filepath.Join(dir, "scrapes.yml")
	if err := os.WriteFile(file, []byte(inside), 0o644); err != nil {
		t.Fatal(err)
	}
	promtool(t, dir, "check", "config", file)
}

// collector is a configuration of the OpenTelemetry collector.
type collector struct {
	Receivers, Processors, Exporters map[string]map[string]any
	Service                          struct {
		Pipelines map[string]struct{ Receivers, Processors, Exporters []string }
	}
}

func otel(t *testing.T) (c collector) {
	t.Helper()
	parsed(t, filepath.Join(composeFolder, "otelcol.yml"), &c)
	return c
}

// TestComposedCollectorsNameTheSwitches: gnmic subscribes to each switch that Prometheus scrapes, to
// paths that the model has, and Prometheus scrapes gnmic where that listens.
func TestComposedCollectorsNameTheSwitches(t *testing.T) {
	var lists []struct{ Targets []string }
	parsed(t, filepath.Join(composeFolder, "targets.yml"), &lists)
	var g struct {
		Targets       map[string]any
		Subscriptions map[string]struct{ Paths []string }
		Outputs       map[string]map[string]any
	}
	if err := yaml.Unmarshal([]byte(text(t, filepath.Join(composeFolder, "gnmic.yml"))), &g); err != nil {
		t.Fatal(err)
	}
	var scraped, subscribed []string
	for _, list := range lists {
		for _, target := range list.Targets {
			host, _, err := net.SplitHostPort(target)
			if err != nil {
				t.Errorf("%s: %v", target, err)
			}
			scraped = append(scraped, host)
		}
	}
	for target := range g.Targets {
		host, port, err := net.SplitHostPort(target)
		if err != nil || port != "50070" {
			t.Errorf("%s: port %s: %v", target, port, err)
		}
		subscribed = append(subscribed, host)
	}
	slices.Sort(subscribed)
	if len(scraped) == 0 || !slices.Equal(scraped, subscribed) {
		t.Errorf("Prometheus scrapes %q, gnmic subscribes to %q", scraped, subscribed)
	}
	model := text(t, "../yang/sonic-sluice-state.yang")
	for name, s := range g.Subscriptions {
		for _, path := range s.Paths {
			table, is := strings.CutPrefix(path, "/sonic-sluice-state/")
			if !is || !strings.Contains(model, "container "+table+" {") {
				t.Errorf("%s: the model has no %s", name, path)
			}
		}
	}
	listen, _ := g.Outputs["prometheus"]["listen"].(string)
	if listen == "" || !strings.Contains(text(t, filepath.Join(composeFolder, "prometheus.yml")), `"gnmic`+listen+`"`) {
		t.Errorf("Prometheus does not scrape gnmic at %q", listen)
	}
}

// TestOpenTelemetryCollectorTakesItsFile: the collector's own check takes the file, its receiver for
// Prometheus aside, whose settings promtool judges; and it refuses a pipeline that names another part.
func TestOpenTelemetryCollectorTakesItsFile(t *testing.T) {
	if !soak {
		t.Skip("make soak runs it: the collector is built for it")
	}
	program := filepath.Join(t.TempDir(), "otelcol")
	if out, err := exec.Command("go", "build", "-C", "../tools/otelcol", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("build otelcol: %v\n%s", err, out)
	}
	t.Setenv("OTLP_ENDPOINT", "localhost:4317")
	file := filepath.Join(composeFolder, "otelcol.yml")
	if out, err := exec.Command(program, "validate", "--config", file).CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", file, err, out)
	}
	wrong := filepath.Join(t.TempDir(), "wrong.yml")
	for _, change := range [][2]string{{"exporters: [otlp]", "exporters: [oltp]"}, {"insecure: true", "insecurely: true"}} {
		if err := os.WriteFile(wrong, []byte(strings.Replace(text(t, file), change[0], change[1], 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(program, "validate", "--config", wrong).CombinedOutput(); err == nil {
			t.Errorf("%s is taken:\n%s", change[1], out)
		}
	}
}
