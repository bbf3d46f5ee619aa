// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/prototext"

	"sluice/orchagent-ext/testbed/fabric/child"
	"sluice/orchagent-ext/testbed/ipfixtest"
	"sluice/tests/programs"
)

// gnmi is a running sluice-gnmi on the leaf's databases.
type gnmi struct {
	*leaf
	socket, address string
	ca              *ipfixtest.Authority
	program         string // gnmi_cli, once it is built
	pid             int
}

// serve starts sluice-gnmi, with TLS on loopback and on a unix socket.
func (l *leaf) serve() *gnmi {
	l.t.Helper()
	dir, err := os.MkdirTemp("", "gnmi") // TempDir can be too long for a socket
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	g := &gnmi{leaf: l, socket: filepath.Join(dir, "gnmi.sock"), ca: ipfixtest.NewAuthority(l.t)}
	cert, key, _ := g.ca.Sign(l.t, "server")
	log := &logged{}
	cmd := exec.Command(bin+"sluice-gnmi", "--db-config", l.redis.Config, "--socket", g.socket, "--state-file", "",
		"--listen", "127.0.0.1:0", "--cert", cert, "--key", key, "--ca", g.ca.File)
	cmd.Stdout, cmd.Stderr = log, log
	if err := child.Start(cmd); err != nil {
		l.t.Fatal(err)
	}
	g.pid = cmd.Process.Pid
	l.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		if err := cmd.Wait(); err != nil {
			l.t.Errorf("sluice-gnmi: %v: %s", err, log)
		}
	})
	const said = `msg="listening with TLS" address=`
	for deadline := time.Now().Add(patience); g.address == ""; time.Sleep(poll) {
		if _, after, ok := strings.Cut(log.String(), said); ok && strings.Contains(after, "sluice-gnmi starts") {
			g.address, _, _ = strings.Cut(after, "\n")
		} else if time.Now().After(deadline) {
			l.t.Fatalf("sluice-gnmi does not start: %s", log)
		}
	}
	return g
}

// cli runs gnmi_cli, OpenConfig's client, as alice, who has a certificate.
func (g *gnmi) cli(args ...string) string {
	g.t.Helper()
	if g.program == "" {
		clients, err := programs.Build("-modfile=tools/go.mod", "github.com/openconfig/gnmi/cmd/gnmi_cli")
		if err != nil {
			g.t.Fatal(err)
		}
		g.program = filepath.Join(clients, "gnmi_cli")
	}
	cert, key, _ := g.ca.Sign(g.t, "alice")
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	args = append([]string{"-address", g.address, "-ca_crt", g.ca.File, "-client_crt", cert, "-client_key", key}, args...)
	out, err := exec.CommandContext(ctx, g.program, args...).CombinedOutput()
	if err != nil {
		g.t.Fatalf("gnmi_cli: %v: %s", err, out)
	}
	return string(out)
}

// flowLabel is the Set that switches flow labels on or off.
func flowLabel(state string) *gpb.SetRequest {
	return &gpb.SetRequest{Replace: []*gpb.Update{{
		Path: &gpb.Path{Elem: []*gpb.PathElem{{Name: "sonic-sluice"}, {Name: "SLUICE_FLOW_LABEL"}, {Name: "global"}}},
		Val:  &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(`{"admin_state":"` + state + `","manage_switch_hash":true}`)}},
	}}}
}

// watch opens a STREAM of what became of flow labels, and sends each value.
func (g *gnmi) watch() <-chan string {
	g.t.Helper()
	conn, err := grpc.NewClient("unix:"+g.socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = conn.Close() })
	rpc, err := gpb.NewGNMIClient(conn).Subscribe(g.t.Context())
	if err != nil {
		g.t.Fatal(err)
	}
	err = rpc.Send(&gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: &gpb.SubscriptionList{
		Mode: gpb.SubscriptionList_STREAM, Encoding: gpb.Encoding_PROTO,
		Subscription: []*gpb.Subscription{{
			Path: &gpb.Path{Elem: []*gpb.PathElem{{Name: "sonic-sluice-state"}, {Name: "SLUICE_STATE"}, {Name: "global"}, {Name: "flow_label"}}},
			Mode: gpb.SubscriptionMode_ON_CHANGE,
		}},
	}}})
	if err != nil {
		g.t.Fatal(err)
	}
	values := make(chan string, 64)
	go func() {
		defer close(values)
		for {
			m, err := rpc.Recv()
			if err != nil {
				return
			}
			for _, u := range m.GetUpdate().GetUpdate() {
				values <- u.GetVal().GetStringVal()
			}
		}
	}()
	return values
}

// next waits until the STREAM shows a value.
func (g *gnmi) next(values <-chan string, want string) {
	g.t.Helper()
	for deadline := time.After(patience); ; {
		select {
		case v, ok := <-values:
			if v == want {
				return
			}
			if !ok {
				g.t.Fatal("the stream ended")
			}
		case <-deadline:
			g.t.Fatalf("the stream does not show flow_label %s", want)
		}
	}
}

// spread sends one host pair's sessions and returns the uplinks' max ÷ mean. The
// kernel's hash is another one on each boot: with 256 sessions over 4 links a fair
// one passes 1.5 less than once in 100,000 boots.
func (l *leaf) spread() float64 {
	l.t.Helper()
	sent := func() (all []uint64) {
		for _, p := range l.Uplinks {
			c, err := p.Counters()
			if err != nil {
				l.t.Fatal(err)
			}
			all = append(all, c.TxPackets)
		}
		return all
	}
	before := sent()
	var frames [][]byte
	for qp := range uint32(256) {
		for psn := range uint32(4) {
			frames = append(frames, l.frame(packet{qp: 0x100 + qp, psn: psn}))
		}
	}
	l.send(frames)
	var sum, worst float64
	for i, n := range sent() {
		n := float64(n - before[i])
		sum, worst = sum+n, max(worst, n)
	}
	return worst / (sum / float64(len(before)))
}

// TestSpreadByGNMI: an orchestrator's Set makes ECMP tell the sessions apart, and
// its STREAM says so.
func TestSpreadByGNMI(t *testing.T) {
	t.Parallel()
	l := newLeaf(t)
	l.start()
	g := l.serve()
	values := g.watch()
	g.next(values, "inactive")
	if before := l.spread(); before < 3.9 {
		t.Errorf("before: max ÷ mean %.2f, though nothing tells the sessions apart", before)
	}
	request := prototext.MarshalOptions{}.Format(flowLabel("enabled"))
	// The text of a message has one space or two there, by the build of the program.
	if out := g.cli("-set", "-proto", request); !strings.Contains(strings.ReplaceAll(out, ":  ", ": "), "op: REPLACE") {
		t.Errorf("gnmi_cli -set: %s", out)
	}
	g.next(values, "active")
	if after := l.spread(); after > 1.5 {
		t.Errorf("after: max ÷ mean %.2f of 256 sessions over 4 links", after)
	}
	out := g.cli("-query", "/sonic-sluice-state/SLUICE_STATE/global/flow_label_method", "-query_type", "once")
	if !strings.Contains(out, "compute") {
		t.Errorf("gnmi_cli -query: %s", out)
	}
	g.cli("-set", "-proto", prototext.MarshalOptions{}.Format(flowLabel("disabled")))
	g.next(values, "inactive")
	l.noneLabelled()
}

// BenchmarkSetToSwitch is the time from a Set until a STREAM shows that the
// switch has what was set.
func BenchmarkSetToSwitch(b *testing.B) {
	l := newLeaf(b)
	l.start()
	g := l.serve()
	values := g.watch()
	g.next(values, "inactive")
	conn, err := grpc.NewClient("unix:"+g.socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	client := gpb.NewGNMIClient(conn)
	var took []float64
	for b.Loop() {
		for range 25 {
			for _, to := range [][2]string{{"enabled", "active"}, {"disabled", "inactive"}} {
				start := time.Now()
				if _, err := client.Set(b.Context(), flowLabel(to[0])); err != nil {
					b.Fatal(err)
				}
				g.next(values, to[1])
				took = append(took, float64(time.Since(start).Microseconds())/1000)
			}
		}
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2], "ms-p50")
	b.ReportMetric(took[len(took)*99/100], "ms-p99")
}

// gnmicProgram builds gnmic, and lets it run with this release of Go.
func gnmicProgram(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "gnmic")
	if out, err := exec.Command("go", "build", "-C", "../../tools/gnmic", "-o", program, "github.com/openconfig/gnmic").CombinedOutput(); err != nil {
		t.Fatalf("build gnmic: %v\n%s", err, out)
	}
	release, _, _ := strings.Cut(strings.TrimPrefix(runtime.Version(), "go1."), ".")
	t.Setenv("ASSUME_NO_MOVING_GC_UNSAFE_RISK_IT_WITH", "go1."+release) // a library of its asks for that word
	return program
}

// TestGnmicTakesTheComposedFile: with the file of the compose file, but the address of this switch,
// gnmic writes what changes, and serves the counters of ports to Prometheus.
func TestGnmicTakesTheComposedFile(t *testing.T) {
	soakOnly(t) // gnmic has 1400 packages
	program := gnmicProgram(t)
	l := newLeaf(t)
	l.start()
	g := l.serve()
	cert, key, _ := g.ca.Sign(t, "alice")
	text, err := os.ReadFile("../../sonic-container/compose/gnmic.yml")
	if err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	here := strings.NewReplacer("  leaf1:50070:", "  "+g.address+":", "  leaf2:50070:\n", "", "/etc/gnmic/tls/ca.pem", g.ca.File,
		"/etc/gnmic/tls/me.pem", cert, "/etc/gnmic/tls/me.key", key, ":9804", address).Replace(string(text))
	file := filepath.Join(t.TempDir(), "gnmic.yml")
	if err := os.WriteFile(file, []byte(here), 0o600); err != nil {
		t.Fatal(err)
	}
	var out logged
	watch := exec.CommandContext(t.Context(), program, "--config", file, "subscribe")
	watch.Stdout, watch.Stderr = &out, &out
	if err := child.Start(watch); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = watch.Process.Kill()
		_ = watch.Wait()
		if t.Failed() {
			t.Logf("gnmic wrote:\n%s", out.String())
		}
	}()
	l.until("the state is written", func() bool { return strings.Contains(out.String(), "SLUICE_STATE") })
	before := strings.Count(out.String(), "flow_label")
	l.enable()
	l.until("a change of the state is written", func() bool { return strings.Count(out.String(), "flow_label") > before })
	l.until("counters of ports are served", func() bool {
		a, err := http.Get("http://" + address + "/metrics")
		if err != nil {
			return false
		}
		defer a.Body.Close()
		b, err := io.ReadAll(a.Body)
		return err == nil && strings.Contains(string(b), "SLUICE_PORT_STATS")
	})
}

// TestFirstHourGnmicRunsThePagesCommands: the lines of docs/gnmi.md with gnmic, as they stand there,
// read a row and see a change.
func TestFirstHourGnmicRunsThePagesCommands(t *testing.T) {
	soakOnly(t) // gnmic has 1400 packages
	page, err := os.ReadFile("../../docs/gnmi.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, ok := strings.Cut(string(page), "```sh norun\ngnmic ")
	block, _, ended := strings.Cut(block, "```")
	lines := strings.Split(strings.ReplaceAll("gnmic "+block, "\\\n", ""), "\n")
	if !ok || !ended || len(lines) != 3 {
		t.Fatalf("the page has %q", lines)
	}
	program := gnmicProgram(t)
	l := newLeaf(t)
	l.start()
	g := l.serve()
	cert, key, _ := g.ca.Sign(t, "alice")
	line := func(i int) *exec.Cmd {
		words := strings.Fields(strings.NewReplacer("SWITCH:50070", g.address, "clients-ca.pem", g.ca.File, "ca.pem", g.ca.File, "me.pem", cert, "me.key", key).Replace(lines[i]))
		return exec.CommandContext(t.Context(), program, words[1:]...)
	}
	l.enable()
	if out, err := line(0).CombinedOutput(); err != nil || !strings.Contains(string(out), `"admin_state": "enabled"`) {
		t.Errorf("%s: %v\n%s", lines[0], err, out)
	}
	var out logged
	watch := line(1)
	watch.Stdout, watch.Stderr = &out, &out
	if err := child.Start(watch); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = watch.Process.Kill(); _ = watch.Wait() }() // it never ends by itself
	changes := func() int { return strings.Count(out.String(), "flow_label") }
	l.until("the state is shown", func() bool { return changes() > 0 })
	before := changes()
	l.remove("SLUICE_FLOW_LABEL", "global")
	l.until("a change of the state is shown", func() bool { return changes() > before })
}
