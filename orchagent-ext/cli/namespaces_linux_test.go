// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/tests/fabrictest"
)

// world is host a, a router where there is one, and host b. Its program is the test binary,
// which is the tool there.
type world struct {
	fabrictest.Hosts
	t *testing.T
}

func newWorld(t *testing.T, a, b *fabric.Interface) *world {
	t.Helper()
	return &world{fabrictest.NewHosts(t, a, b), t}
}

// listen starts sluice listen on host b, and returns when it listens. The
// result waits until it has heard count messages and returns them.
func (w *world) listen(count int, args ...string) func() []map[string]any {
	w.t.Helper()
	cmd := exec.Command(w.Program, append([]string{"listen", "--json", "--for", "3m", "--count", fmt.Sprint(count)}, args...)...)
	var out bytes.Buffer
	cmd.Stdout = &out
	stderr, end, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = stderr.Close() })
	cmd.Stderr = end
	p, err := w.B.Node.Start(cmd)
	_ = end.Close()
	if err != nil {
		w.t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "listening on") {
		p.Kill()
		w.t.Fatalf("listen: %s: %v", lines.Text(), p.Wait())
	}
	return func() (heard []map[string]any) {
		w.t.Helper()
		for lines.Scan() {
			w.t.Log(lines.Text())
		}
		if err := p.Wait(); err != nil {
			w.t.Fatal(err)
		}
		decoder := json.NewDecoder(&out)
		for decoder.More() {
			var m map[string]any
			if err := decoder.Decode(&m); err != nil {
				w.t.Fatal(err)
			}
			heard = append(heard, m)
		}
		if len(heard) != count {
			w.t.Fatalf("heard %d messages, want %d", len(heard), count)
		}
		return heard
	}
}

func (w *world) send(args string) {
	w.t.Helper()
	if out, err := w.Run(w.A, append([]string{w.Program, "send"}, strings.Fields(args)...)...); err != nil {
		w.t.Fatalf("send %s: %v: %s", args, err, out)
	}
}

// message is what is sent, and what is to be heard of it: message, verdict,
// reason and hop limit.
type message struct {
	args string
	want []any
}

// compare says what was heard and should not have been, and the reverse. The
// order may differ: the first packet to a neighbor waits until it is resolved.
func compare(t *testing.T, heard []map[string]any, sent []message) {
	t.Helper()
	var got, want []string
	for _, m := range heard {
		fields := m["fields"].(map[string]any)
		got = append(got, fmt.Sprint(fields["message"], m["verdict"], m["reason"], fields["hop_limit"]))
	}
	for _, m := range sent {
		want = append(want, fmt.Sprint(m.want...))
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sent and not heard (-), heard and not sent (+):\n%s", diff)
	}
}

// TestSendAndListen sends every message over one link.
func TestSendAndListen(t *testing.T) {
	p := fabrictest.Pair(t)
	w := newWorld(t, p.A, p.B)
	link, mac := p.B.LinkLocal.String(), p.B.MAC.String()
	b6, b4, a4 := fabric.HostB.Addr().String(), fabric.HostB4.Addr().String(), fabric.HostA4.Addr().String()
	messages := []message{
		{"pfcm --dev eth0 --dst " + link, []any{"pfcm", "accepted", nil, 255.0}},
		{"pfcm --dev eth0 --encapsulation hop-by-hop --dst " + link, []any{"pfcm", "accepted", nil, 255.0}},
		{"pfcm --dev eth0 --encapsulation destination-options --dst " + link, []any{"pfcm", "accepted", nil, 255.0}},
		{"pfcm --dev eth0 --dst " + link + " --eth-dst " + mac, []any{"pfcm", "accepted", nil, 255.0}},
		{"ppfc --dev eth0 --dst " + b6, []any{"ppfc", "accepted", nil, 64.0}},
		{"ppfc --dev eth0 --transport udp --flow qps --dst " + b6, []any{"ppfc", "accepted", nil, 64.0}},
		{"ppfc --dev eth0 --flow ports --dst " + b4, []any{"ppfc", "accepted", nil, 64.0}},
		{"ppfc --transport udp --src " + a4 + " --dst " + b4, []any{"ppfc", "accepted", nil, 64.0}},
		{"rate-advice --dev eth0 --dst " + b6, []any{"rate-advice", "accepted", nil, 64.0}},
		{"rate-advice --dev eth0 --dst " + b4, []any{"rate-advice", "accepted", nil, 64.0}},
		{"cnp --dev eth0 --dst " + b6, []any{"cnp", "accepted", nil, 64.0}},
		{"cnp --dev eth0 --dst " + b4, []any{"cnp", "accepted", nil, 64.0}},
		{"pfc --dev eth0 --priority 3 --time 10 --speed 100000", []any{"pfc", "accepted", nil, nil}},
		{"pfcm --dev eth0 --hop-limit 254 --dst " + link, []any{"pfcm", "refused", "hop-limit", 254.0}},
		{"pfcm --dev eth0 --dst 2001:db8:99::99 --eth-dst " + mac, []any{"pfcm", "passing", nil, 255.0}},
	}
	wait := w.listen(len(messages), "--dev", "eth0")
	for _, m := range messages {
		w.send(m.args)
	}
	heard := wait()
	compare(t, heard, messages)
	for _, m := range heard {
		if m["dev"] != "eth0" {
			t.Errorf("heard on %v: %v", m["dev"], m)
		}
	}
}

// TestThroughARouter: a PFCM that came from further away is refused, whatever
// hop limit it was sent with; the others are for that.
//
//conformance:draft-yang/hop-limit
func TestThroughARouter(t *testing.T) {
	r := fabrictest.Routed(t)
	w := newWorld(t, r.A, r.B)
	v6 := fmt.Sprintf(" --src %s --dst %s", fabric.HostA.Addr(), fabric.HostB.Addr())
	v4 := fmt.Sprintf(" --src %s --dst %s", fabric.HostA4.Addr(), fabric.HostB4.Addr())
	messages := []message{
		{"pfcm" + v6, []any{"pfcm", "refused", "hop-limit", 254.0}},
		{"pfcm --encapsulation hop-by-hop" + v6, []any{"pfcm", "refused", "hop-limit", 254.0}},
		{"pfcm --encapsulation destination-options" + v6, []any{"pfcm", "refused", "hop-limit", 254.0}},
		{"ppfc" + v6, []any{"ppfc", "accepted", nil, 63.0}},
		{"ppfc --transport udp" + v4, []any{"ppfc", "accepted", nil, 63.0}},
		{"rate-advice" + v6, []any{"rate-advice", "accepted", nil, 63.0}},
		{"cnp" + v4, []any{"cnp", "accepted", nil, 63.0}},
	}
	wait := w.listen(len(messages)) // on all devices
	for _, m := range messages {
		w.send(m.args)
	}
	compare(t, wait(), messages)
}

// TestWithoutTheRight: who lacks CAP_NET_RAW is told so.
func TestWithoutTheRight(t *testing.T) {
	p := fabrictest.Pair(t)
	w := newWorld(t, p.A, p.B)
	for _, args := range []string{"send cnp --dev eth0 --dst " + fabric.HostB4.Addr().String(), "send pfc --dev eth0", "listen --dev eth0", "observe --dev eth0",
		"verify --dev eth0", "gen --dev eth0 --dst " + fabric.HostB.Addr().String()} {
		out, err := w.Run(w.A, append([]string{"setpriv", "--bounding-set=-net_raw", w.Program}, strings.Fields(args)...)...)
		if err == nil || !strings.Contains(out, "CAP_NET_RAW") || strings.Count(out, "\n") != 1 {
			t.Errorf("%s: %v: %s", args, err, out)
		}
	}
}
