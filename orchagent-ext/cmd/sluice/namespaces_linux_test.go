package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// world is hosts a and b on one link (ab, ba), and both at a router r. IPv6
// neighbours are known from the beginning: nothing waits for discovery.
type world struct {
	t       *testing.T
	program string
}

const worldBatch = `
link add name ab netns %[1]sa address 02:00:00:00:00:01 type veth peer name ba netns %[1]sb address 02:00:00:00:00:02
link add name ar netns %[1]sa address 02:00:00:00:00:03 type veth peer name ra netns %[1]sr address 02:00:00:00:00:04
link add name br netns %[1]sb address 02:00:00:00:00:05 type veth peer name rb netns %[1]sr address 02:00:00:00:00:06
`

var worldHosts = map[string]string{
	"a": `
addr add fe80::1/64 dev ab nodad
addr add 2001:db8:ab::1/64 dev ab nodad
addr add 192.0.2.1/24 dev ab
addr add 2001:db8:a::1/64 dev ar nodad
addr add 198.51.100.1/25 dev ar
link set dev ab up
link set dev ar up
neigh add fe80::2 lladdr 02:00:00:00:00:02 dev ab
neigh add 2001:db8:ab::2 lladdr 02:00:00:00:00:02 dev ab
neigh add 2001:db8:a::ff lladdr 02:00:00:00:00:04 dev ar
route add 2001:db8:b::/64 via 2001:db8:a::ff
route add 198.51.100.128/25 via 198.51.100.126`,
	"b": `
addr add fe80::2/64 dev ba nodad
addr add 2001:db8:ab::2/64 dev ba nodad
addr add 192.0.2.2/24 dev ba
addr add 2001:db8:b::1/64 dev br nodad
addr add 198.51.100.129/25 dev br
link set dev ba up
link set dev br up`,
	"r": `
addr add 2001:db8:a::ff/64 dev ra nodad
addr add 2001:db8:b::ff/64 dev rb nodad
addr add 198.51.100.126/25 dev ra
addr add 198.51.100.254/25 dev rb
link set dev ra up
link set dev rb up
neigh add 2001:db8:b::1 lladdr 02:00:00:00:00:05 dev rb`,
}

func newWorld(t *testing.T) *world {
	if os.Getuid() != 0 {
		t.Skip("needs root for network namespaces")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("needs iproute2:", err)
	}
	w := &world{t: t, program: filepath.Join(t.TempDir(), "sluice")}
	if out, err := exec.Command("go", "build", "-o", w.program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, host := range []string{"a", "b", "r"} {
		name := w.name(host)
		if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
			t.Skipf("needs network namespaces: %v: %s", err, out)
		}
		t.Cleanup(func() {
			if out, err := exec.Command("ip", "netns", "delete", name).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	w.ip(fmt.Sprintf(worldBatch, w.name("")))
	w.host("r", "sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/all/forwarding; echo 1 >/proc/sys/net/ipv4/ip_forward")
	for host, batch := range worldHosts {
		w.ip(batch, "-n", w.name(host))
	}
	return w
}

func (w *world) name(host string) string { return fmt.Sprintf("sluice-%d-%s", os.Getpid(), host) }

func (w *world) ip(batch string, args ...string) {
	w.t.Helper()
	cmd := exec.Command("ip", append(args, "-batch", "-")...)
	cmd.Stdin = strings.NewReader(batch)
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("ip -batch: %v: %s%s", err, out, batch)
	}
}

func (w *world) command(host string, args ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", w.name(host)}, args...)...)
}

func (w *world) host(host string, args ...string) {
	w.t.Helper()
	if out, err := w.command(host, args...).CombinedOutput(); err != nil {
		w.t.Fatalf("%s: %v: %s", args, err, out)
	}
}

// listen starts sluice listen on host b, and returns when it listens. The
// result waits until it has heard count messages and returns them.
func (w *world) listen(count int, args ...string) func() []map[string]any {
	w.t.Helper()
	cmd := w.command("b", append([]string{w.program, "listen", "--json", "--for", "20s", "--count", fmt.Sprint(count)}, args...)...)
	var out bytes.Buffer
	cmd.Stdout = &out
	stderr, err := cmd.StderrPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "listening on") {
		_ = cmd.Process.Kill()
		w.t.Fatalf("listen: %s: %v", lines.Text(), cmd.Wait())
	}
	return func() (heard []map[string]any) {
		w.t.Helper()
		for lines.Scan() {
			w.t.Log(lines.Text())
		}
		if err := cmd.Wait(); err != nil {
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
	w.host("a", append([]string{w.program, "send"}, strings.Fields(args)...)...)
}

// message is what is sent, and what is to be heard of it: message, verdict,
// reason and hop limit.
type message struct {
	args string
	want []any
}

// compare says what was heard and should not have been, and the reverse. The
// order may differ: the first packet to a neighbour waits until it is resolved.
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
	w := newWorld(t)
	messages := []message{
		{"pfcm --dev ab --dst fe80::2", []any{"pfcm", "accepted", nil, 255.0}},
		{"pfcm --dev ab --dst fe80::2 --encapsulation hop-by-hop", []any{"pfcm", "accepted", nil, 255.0}},
		{"pfcm --dev ab --dst fe80::2 --encapsulation destination-options", []any{"pfcm", "accepted", nil, 255.0}},
		{"pfcm --dev ab --dst fe80::2 --eth-dst 02:00:00:00:00:02", []any{"pfcm", "accepted", nil, 255.0}},
		{"ppfc --dev ab --dst 2001:db8:ab::2", []any{"ppfc", "accepted", nil, 64.0}},
		{"ppfc --dev ab --dst 2001:db8:ab::2 --transport udp --flow qps", []any{"ppfc", "accepted", nil, 64.0}},
		{"ppfc --dev ab --dst 192.0.2.2 --flow ports", []any{"ppfc", "accepted", nil, 64.0}},
		{"ppfc --src 192.0.2.1 --dst 192.0.2.2 --transport udp", []any{"ppfc", "accepted", nil, 64.0}},
		{"rate-advice --dev ab --dst 2001:db8:ab::2", []any{"rate-advice", "accepted", nil, 64.0}},
		{"rate-advice --dev ab --dst 192.0.2.2", []any{"rate-advice", "accepted", nil, 64.0}},
		{"cnp --dev ab --dst 2001:db8:ab::2", []any{"cnp", "accepted", nil, 64.0}},
		{"cnp --dev ab --dst 192.0.2.2", []any{"cnp", "accepted", nil, 64.0}},
		{"pfc --dev ab --priority 3 --time 10 --speed 100000", []any{"pfc", "accepted", nil, nil}},
		{"pfcm --dev ab --dst fe80::2 --hop-limit 254", []any{"pfcm", "refused", "hop-limit", 254.0}},
		{"pfcm --dev ab --src fe80::1 --dst 2001:db8:ab::99 --eth-dst 02:00:00:00:00:02", []any{"pfcm", "passing", nil, 255.0}},
	}
	wait := w.listen(len(messages), "--dev", "ba")
	for _, m := range messages {
		w.send(m.args)
	}
	heard := wait()
	compare(t, heard, messages)
	for _, m := range heard {
		if m["dev"] != "ba" {
			t.Errorf("heard on %v: %v", m["dev"], m)
		}
	}
}

// TestThroughARouter: a PFCM that came from further away is refused, whatever
// hop limit it was sent with; the others are for that.
func TestThroughARouter(t *testing.T) {
	w := newWorld(t)
	messages := []message{
		{"pfcm --src 2001:db8:a::1 --dst 2001:db8:b::1", []any{"pfcm", "refused", "hop-limit", 254.0}},
		{"pfcm --src 2001:db8:a::1 --dst 2001:db8:b::1 --encapsulation hop-by-hop", []any{"pfcm", "refused", "hop-limit", 254.0}},
		{"pfcm --src 2001:db8:a::1 --dst 2001:db8:b::1 --encapsulation destination-options", []any{"pfcm", "refused", "hop-limit", 254.0}},
		{"ppfc --src 2001:db8:a::1 --dst 2001:db8:b::1", []any{"ppfc", "accepted", nil, 63.0}},
		{"ppfc --src 198.51.100.1 --dst 198.51.100.129 --transport udp", []any{"ppfc", "accepted", nil, 63.0}},
		{"rate-advice --src 2001:db8:a::1 --dst 2001:db8:b::1", []any{"rate-advice", "accepted", nil, 63.0}},
		{"cnp --src 198.51.100.1 --dst 198.51.100.129", []any{"cnp", "accepted", nil, 63.0}},
	}
	wait := w.listen(len(messages)) // on all devices
	for _, m := range messages {
		w.send(m.args)
	}
	compare(t, wait(), messages)
}

// TestWithoutTheRight: who lacks CAP_NET_RAW is told so.
func TestWithoutTheRight(t *testing.T) {
	w := newWorld(t)
	for _, args := range []string{"send cnp --dev ab --dst 192.0.2.2", "send pfc --dev ab", "listen --dev ab"} {
		line := append([]string{"setpriv", "--bounding-set=-net_raw", w.program}, strings.Fields(args)...)
		out, err := w.command("a", line...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "CAP_NET_RAW") || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%s: %v: %s", args, err, out)
		}
	}
}
