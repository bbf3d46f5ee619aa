// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"sluice/orchagent-ext/cli/chart"
)

// Times of TestEndurance, and how much a series may change after the warm-up.
const (
	enduranceTime = 20 * time.Minute
	enduranceWarm = 5 * time.Minute
	enduranceFlat = 0.05
)

// gauge is something that a leak makes grow, in a process or in the kernel.
type gauge struct {
	name string
	read func() float64
}

// sample is the values of all gauges at a time.
type sample struct {
	at     time.Duration
	values []float64
}

// TestEndurance has all features on while configuration, ports, flows, holds, collectors, subscribers, etcd and
// the connections to Redis change: what the programs and the kernel hold stays as it is from minute 5 on.
// build/soak/endurance.csv has the series, endurance.svg draws them.
func TestEndurance(t *testing.T) {
	soakOnly(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	l := newLeaf(t)
	m, endpoints := newManagement(t, l)
	c := newEndured(l, m, random)
	l.set("SLUICE", "global", "stream_id_scope", "global", "etcd_endpoints@", endpoints[0], "stream_id_domain", "pod-7")
	l.set("SLUICE_THRESHOLD", "gold", "high_bytes", "20000")
	l.set("SLUICE_IPFIX_COLLECTOR", "udp", "address", "127.0.0.1", "port", l.collector())
	l.set("SLUICE_IPFIX_COLLECTOR", "tcp", "address", "127.0.0.1", "port", c.listen(), "transport", "tcp")
	l.set("SLUICE_IPFIX", "global", "admin_state", "enabled", "health", "enabled")
	l.place("--sai-profile", "SLUICE_HIDE=compute", "--sai-profile", withQueues)
	l.neighbors("hold_limit_ms", "0") // with a warning: it is one node of a domain, whose neighbors go by hash
	g := l.serve()
	c.gnmi = g

	gauges := l.gauges(g)
	names := make([]string, len(gauges))
	for i, one := range gauges {
		names[i] = one.name
	}
	csv := newCSV(t, "endurance.csv", "seconds,"+strings.Join(names, ","))
	var series []sample
	began := time.Now()
	whole, end := context.WithTimeout(t.Context(), enduranceTime)
	defer end()
	for rounds := 0; whole.Err() == nil; rounds++ {
		c.round(rounds)
		s := sample{at: time.Since(began)}
		line := fmt.Sprintf("%.1f", s.at.Seconds())
		for _, one := range gauges {
			s.values = append(s.values, one.read())
			line += fmt.Sprintf(",%g", s.values[len(s.values)-1])
		}
		series = append(series, s)
		if _, err := fmt.Fprintln(csv, line); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d rounds", len(series))
	drawEndurance(t, names, series)
	for i, name := range names {
		first, last, change := flatness(series, i)
		t.Logf("%-28s %10.0f  %10.0f  %+.1f %%", name, first, last, 100*change)
		if change > enduranceFlat {
			t.Errorf("%s: %.0f in the first third after the warm-up, and %.0f in the last", name, first, last)
		}
	}
}

// flatness returns the medians of the first and the last third of a series after the warm-up, and by how
// much of the first the last is more.
func flatness(series []sample, i int) (first, last, change float64) {
	var all []float64
	for _, s := range series {
		if s.at >= enduranceWarm {
			all = append(all, s.values[i])
		}
	}
	if len(all) < 3 {
		return 0, 0, 1 // too few rounds to judge
	}
	third := len(all) / 3
	middle := func(v []float64) float64 { return slices.Sorted(slices.Values(v))[len(v)/2] }
	first, last = middle(all[:third]), middle(all[len(all)-third:])
	return first, last, (last - first) / max(first, 1)
}

// endured is what changes while a leaf has to endure.
type endured struct {
	*leaf
	etcd   *management
	gnmi   *gnmi
	random *rand.Rand
	qp     uint32

	mu    sync.Mutex
	conns []net.Conn // of the collector by TCP
}

func newEndured(l *leaf, m *management, random *rand.Rand) *endured {
	return &endured{leaf: l, etcd: m, random: random, qp: 0x10000}
}

// listen is a collector by TCP, and returns its port.
func (c *endured) listen() (port string) {
	c.t.Helper()
	err := c.Leaf.Do(func() error {
		socket, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		c.t.Cleanup(func() { _ = socket.Close() })
		_, port, _ = net.SplitHostPort(socket.Addr().String())
		go func() {
			for {
				conn, err := socket.Accept()
				if err != nil {
					return
				}
				c.mu.Lock()
				c.conns = append(c.conns, conn)
				c.mu.Unlock()
				go func() { _, _ = io.Copy(io.Discard, conn) }()
			}
		}()
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return port
}

// round changes everything once, some of it only now and then, and returns when all is as before.
func (c *endured) round(n int) {
	c.t.Helper()
	c.configure()
	c.ports()
	c.holds()
	c.flows()
	c.subscribers()
	c.collectors()
	switch n % 6 {
	case 2:
		c.databases()
	case 5:
		c.domain()
	}
	c.awaitFields("SLUICE_STATE", "global", "flow_label", "active", "pfcm", "active", "placement", "active", "stream_ids", "global", "config_errors", "0")
}

// configure writes rows that are not valid, and valid ones.
func (c *endured) configure() {
	c.t.Helper()
	c.labels("algorithm", "md5")
	c.set("SLUICE_PORT", c.LeafA.Name, "role", "core")
	c.set("SLUICE_THRESHOLD", "gold", "high_bytes", fmt.Sprint(20000+c.random.IntN(20000)))
	c.set("SLUICE_IPFIX", "global", "admin_state", "enabled", "health", []string{"enabled", "disabled"}[c.random.IntN(2)])
	c.await("SLUICE_STATE", "global", func(f map[string]string) bool { return f["config_errors"] == "2" })
	c.labels()
	c.set("SLUICE_PORT", c.LeafA.Name, "role", "edge")
	c.set("SLUICE_IPFIX", "global", "admin_state", "enabled", "health", "enabled")
	c.awaitFields("SLUICE_STATE", "global", "config_errors", "0")
}

// ports has a port come and go.
func (c *endured) ports() {
	c.t.Helper()
	c.set("PORT", "new0", "admin_status", "up")
	c.set("SLUICE_PORT", "new0", "role", "edge")
	c.in("ip", "link", "add", "new0", "up", "type", "veth", "peer", "name", "far0")
	c.awaitPort("new0", true)
	c.in("ip", "link", "del", "new0")
	c.awaitPort("new0", false)
	c.remove("SLUICE_PORT", "new0")
	c.remove("PORT", "new0")
}

// holds has neighbors hold the train, and sends it.
func (c *endured) holds() {
	c.t.Helper()
	release := c.hold(c.Uplinks...)
	c.until("the train is held", func() bool { return len(c.table("SLUICE_HOLD")) > 0 })
	c.put(c.sender(c.A), c.train(20)...)
	release()
	c.until("no hold is left", func() bool { return len(c.table("SLUICE_HOLD")) == 0 })
}

// flows sends packets of flows that are always the same, and of some that are new.
func (c *endured) flows() {
	c.t.Helper()
	s := c.sender(c.A)
	for range 16 {
		f := c.frame(packet{qp: c.qp})
		c.put(s, f, f)
		c.qp = 0x10000 + (c.qp+1)%256
	}
	_ = s.Close()
	c.send(c.sessions(4))
}

// subscribers come and go.
func (c *endured) subscribers() {
	c.t.Helper()
	for range 4 {
		conn, err := grpc.NewClient("unix:"+c.gnmi.socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			c.t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(c.t.Context())
		if _, err := subscribed(ctx, gpb.NewGNMIClient(conn)); err != nil {
			c.t.Fatal(err)
		}
		cancel()
		_ = conn.Close()
	}
}

// collectors close the connections that they have, and one comes and goes.
func (c *endured) collectors() {
	c.t.Helper()
	c.mu.Lock()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.conns = nil
	c.mu.Unlock()
	c.set("SLUICE_IPFIX_COLLECTOR", "more", "address", "127.0.0.1", "port", "9")
	c.await("SLUICE_STATE", "global", func(f map[string]string) bool { return f["state"] != "" })
	c.remove("SLUICE_IPFIX_COLLECTOR", "more")
	c.until("a collector is connected again", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.conns) > 0
	})
}

// databases closes all connections to Redis.
func (c *endured) databases() {
	c.t.Helper()
	for _, kind := range []string{"normal", "pubsub"} {
		if out, err := exec.CommandContext(c.t.Context(), "redis-cli", "-s", c.redis.Socket, "client", "kill", "type", kind).CombinedOutput(); err != nil {
			c.t.Fatalf("%v: %s", err, out)
		}
	}
}

// domain takes etcd away, and gives it back.
func (c *endured) domain() {
	c.t.Helper()
	c.etcd.etcd.Kill()
	c.await("SLUICE_STATE", "global", func(f map[string]string) bool { return f["stream_ids"] != "global" })
	c.etcd.start()
}

// gauges of both programs, and of the kernel in the leaf.
func (l *leaf) gauges(g *gnmi) []gauge {
	inFolder := func(pid int, name string) string { return filepath.Join("/proc", strconv.Itoa(pid), name) }
	descriptors := func(pid int) float64 {
		all, err := os.ReadDir(inFolder(pid, "fd"))
		if err != nil {
			l.t.Fatal(err)
		}
		return float64(len(all))
	}
	bpf := regexp.MustCompile(`(?m)^(prog|map|link|btf)_id:`)
	goroutines := regexp.MustCompile(`(?m)^go_goroutines (\S+)$`)
	return []gauge{
		{"sluiced MiB", func() float64 { return float64(usageOf(l.t, l.sluiced.Pid).resident) }},
		{"sluice-gnmi MiB", func() float64 { return float64(usageOf(l.t, g.pid).resident) }},
		{"sluiced descriptors", func() float64 { return descriptors(l.sluiced.Pid) }},
		{"sluice-gnmi descriptors", func() float64 { return descriptors(g.pid) }},
		{"sluiced goroutines", func() float64 {
			all := goroutines.FindStringSubmatch(l.awaitMetric(`go_goroutines \S+`))
			n, err := strconv.ParseFloat(all[1], 64)
			if err != nil {
				l.t.Fatal(err)
			}
			return n
		}},
		{"BPF objects", func() float64 {
			files, err := os.ReadDir(inFolder(l.sluiced.Pid, "fdinfo"))
			if err != nil {
				l.t.Fatal(err)
			}
			n := 0
			for _, f := range files {
				text, err := os.ReadFile(filepath.Join(inFolder(l.sluiced.Pid, "fdinfo"), f.Name()))
				if err == nil && bpf.Match(text) { // else it was closed meanwhile
					n++
				}
			}
			return float64(n)
		}},
		{"qdiscs", func() float64 { return float64(strings.Count(l.in("tc", "qdisc", "show"), "qdisc ")) }},
		{"objects of the switch", func() float64 { return float64(len(l.objects())) }},
	}
}

// drawEndurance writes build/soak/endurance.svg.
func drawEndurance(t *testing.T, names []string, series []sample) {
	t.Helper()
	course := chart.Course{Title: "All features while all changes", Note: fmt.Sprintf("%d rounds; judged from %v on", len(series), enduranceWarm)}
	for i, name := range names {
		line := chart.Line{Name: name}
		for _, s := range series {
			line.Points = append(line.Points, chart.Point{Seconds: s.at.Seconds(), Value: s.values[i]})
		}
		course.Plots = append(course.Plots, chart.Plot{Title: name, Lines: []chart.Line{line}})
	}
	f, err := os.Create(filepath.Join("..", "..", "build", "soak", "endurance.svg"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := chart.Timelines(f, "Endurance", series[len(series)-1].at.Seconds(), []chart.Course{course}); err != nil {
		t.Fatal(err)
	}
}

// TestFlatness: a leak shows, noise and a fall do not.
func TestFlatness(t *testing.T) {
	var series []sample
	for i := range 200 {
		noise := float64(i % 3)
		series = append(series, sample{at: time.Duration(i) * 6 * time.Second, values: []float64{100 + noise, 100 + float64(i), 300 - float64(i)}})
	}
	for i, leaks := range []bool{false, true, false} {
		if first, last, change := flatness(series, i); change > enduranceFlat != leaks {
			t.Errorf("series %d: %v to %v, %v", i, first, last, change)
		}
	}
	if _, _, change := flatness(series[:50], 0); change <= enduranceFlat {
		t.Error("a series that ends in the warm-up is called flat")
	}
}
