// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sluice/orchagent-ext/testbed/fabric/child"
)

// collection is the programs of docs/collect.md, with files of lab/collect.
type collection struct {
	*leaf
	folder string
	files  int               // that were written
	to     *strings.Replacer // addresses and files of this machine
}

// file writes a file of lab/collect for this machine.
func (c *collection) file(name string, more ...string) string {
	c.t.Helper()
	content, err := os.ReadFile(filepath.Join("../../lab/collect", name))
	if err != nil {
		c.t.Fatal(err)
	}
	c.files++
	file := filepath.Join(c.folder, fmt.Sprint(c.files, name))
	if err := os.WriteFile(file, []byte(strings.NewReplacer(more...).Replace(c.to.Replace(string(content)))), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return file
}

// run starts a program, which ends with the test, and shows its output where that fails.
func (c *collection) run(program string, args ...string) *logged {
	c.t.Helper()
	log := &logged{}
	cmd := exec.CommandContext(c.t.Context(), program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.folder, log, log
	if err := child.Start(cmd); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if c.t.Failed() {
			c.t.Logf("%s %v:\n%s", filepath.Base(program), args, log)
		}
	})
	return log
}

// line returns the words of the page's command that begins so, less the program, with files of this machine in
// place of those that are named.
func (c *collection) line(begins string, files ...string) []string {
	c.t.Helper()
	page, err := os.ReadFile("../../docs/collect.md")
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, begins) {
			return strings.Fields(strings.NewReplacer(files...).Replace(line))[1:]
		}
	}
	c.t.Fatalf("docs/collect.md has no line that begins with %q", begins)
	return nil
}

// freeAddress returns an address of loopback that no program has.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// series asks a Prometheus, and returns the labels of the series of the answer.
func series(address, query string) (all []map[string]string) {
	r, err := http.Get("http://" + address + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return nil
	}
	defer r.Body.Close()
	var answer struct {
		Data struct {
			Result []struct{ Metric map[string]string }
		}
	}
	if json.NewDecoder(r.Body).Decode(&answer) != nil {
		return nil
	}
	for _, s := range answer.Data.Result {
		all = append(all, s.Metric)
	}
	return all
}

// TestThousandsAreCollectedInParts: with the files of the page, each switch is scraped by one of two agents, whose samples
// are in the Prometheus that is asked; and so are counters that one gnmic publishes on NATS and
// another one reads there.
func TestThousandsAreCollectedInParts(t *testing.T) {
	soakOnly(t) // gnmic has 1400 packages
	prometheus, err := filepath.Abs("../../build/prometheus")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(prometheus); err != nil {
		t.Skip("needs prometheus: make build/prometheus")
	}
	gnmic := gnmicProgram(t)
	nats := filepath.Join(t.TempDir(), "nats-server")
	if out, err := exec.Command("go", "build", "-C", "../../tools/gnmic", "-o", nats, "github.com/nats-io/nats-server/v2").CombinedOutput(); err != nil {
		t.Fatalf("build nats-server: %v\n%s", err, out)
	}
	l := newLeaf(t)
	l.start()
	g := l.serve()
	cert, key, _ := g.ca.Sign(t, "alice")
	bus, asked, offered := freeAddress(t), freeAddress(t), freeAddress(t)
	c := &collection{leaf: l, folder: t.TempDir(), to: strings.NewReplacer(
		"nats:4222", bus, "prometheus:9090", asked, "gnmic:9804", offered, ":9804", offered, "leaf1:50070", g.address, "10s", "1s",
		"/etc/gnmic/tls/ca.pem", g.ca.File, "/etc/gnmic/tls/me.pem", cert, "/etc/gnmic/tls/me.key", key)}

	// the metrics of sluiced, under the addresses of many switches
	const switches = 8
	var targets []string
	for range switches {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			code, body, err := l.scrape("/metrics")
			if err != nil {
				code = http.StatusBadGateway
			}
			w.WriteHeader(code)
			_, _ = fmt.Fprint(w, body)
		}))
		t.Cleanup(s.Close)
		targets = append(targets, "- targets: ["+s.Listener.Addr().String()+"]\n")
	}
	if err := os.WriteFile(filepath.Join(c.folder, "targets.yml"), []byte(strings.Join(targets, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(bus)
	said := c.run(nats, append(c.line("nats-server"), "--addr", host, "--port", port)...)
	l.until("NATS serves", func() bool { return strings.Contains(said.String(), "Server is ready") })
	c.run(prometheus, append(c.line("prometheus --config.file", "prometheus.yml", c.file("prometheus.yml")), "--web.listen-address="+asked)...)
	for _, n := range []string{"0", "1"} {
		agent := c.line("prometheus --enable-feature=agent", "agent.yml", c.file("agent.yml", `"0"`, `"`+n+`"`), "path=agent", "path=agent"+n)
		c.run(prometheus, append(agent, "--web.listen-address="+freeAddress(t))...)
	}
	for _, file := range []string{"bus.yml", "collector.yml"} {
		c.run(gnmic, c.line("gnmic --config "+file, file, c.file(file))...)
	}
	l.until("each switch is scraped", func() bool { return len(series(asked, `up{job="sluice"} == 1`)) == switches })
	of := map[string]int{}
	for _, s := range series(asked, `up{job="sluice"}`) {
		of[s["instance"]]++
		of["by "+s["collector"]]++
	}
	if len(of) > switches+2 || of["by 0"]+of["by 1"] != switches {
		t.Errorf("series by instance and collector: %v", of)
	}
	l.until("counters come by gNMI and NATS", func() bool {
		return len(series(asked, `{__name__=~".*SLUICE_PORT_STATS.*rx_packets", job="gnmi"}`)) > 0
	})
}
