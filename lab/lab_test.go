// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/roce"
	"sluice/tests/fabrictest"
)

const patience = time.Minute // for what takes milliseconds on an idle machine

// start builds the lab, with the programs of some leaves; none: of all.
func start(t *testing.T, leaves ...string) *lab {
	t.Helper()
	for _, file := range []string{"sluiced", "sluice-gnmi", "sluice", "libsoftsai.so"} {
		if _, err := os.Stat(filepath.Join("..", programs, file)); err != nil {
			t.Skipf("needs what make build makes: %v", err)
		}
	}
	for _, program := range []string{"redis-server", "openssl", "ip"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s: make deps", program)
		}
	}
	w := namespaces(t)
	for name, n := range w.Topology.Nodes {
		other, _ := n.shares()
		if leaves != nil && (n.Group == "leaf" && !slices.Contains(leaves, name) || n.Group == "redis" && !slices.Contains(leaves, other)) {
			delete(w.Topology.Nodes, name)
		}
	}
	l := &lab{network: w, processes: map[string]*fabric.Process{}}
	work, err := os.MkdirTemp("", "lab") // t.TempDir can be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	l.work = work
	t.Cleanup(func() {
		for _, p := range l.processes {
			p.Kill()
		}
		_ = os.RemoveAll(work)
	})
	if l.bin, err = filepath.Abs(filepath.Join("..", programs)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("./tls.sh", "../build/lab/tls").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	left, err := l.start()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(left, " "); got != "goflow2 grafana prometheus" {
		t.Errorf("not started: %s", got)
	}
	return l
}

// namespaces builds the network of the topology.
func namespaces(t *testing.T) *network {
	t.Helper()
	topology, err := load("sluice.clab.yml")
	if err != nil {
		t.Fatal(err)
	}
	w, err := topology.build(fabrictest.New(t))
	fabrictest.Check(t, err)
	return w
}

// in runs a command in a node and returns its standard output.
func (l *lab) in(t *testing.T, name string, words ...string) string {
	t.Helper()
	var out, stderr strings.Builder
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &stderr
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	p, err := l.node(name).Start(cmd)
	if err == nil {
		err = p.Wait()
	}
	if err != nil {
		t.Fatalf("%s in %s: %v: %s%s", words, name, err, &out, &stderr)
	}
	return out.String()
}

func (l *lab) node(name string) *fabric.Node {
	if name == "management" {
		return l.management
	}
	return l.nodes[name]
}

// hosts are the addresses of the hosts, by name.
func (l *network) hosts(t *testing.T) map[string]netip.Addr {
	t.Helper()
	found := map[string]netip.Addr{}
	for name, n := range l.Topology.Nodes {
		if n.Group == "host" {
			// ip -6 address add ADDRESS/64 dev eth1 nodad
			found[name] = netip.MustParsePrefix(strings.Fields(n.Exec[0])[4]).Addr()
		}
	}
	if len(found) != 8 {
		t.Fatalf("%d hosts", len(found))
	}
	return found
}

func TestEveryHostReachesEveryHost(t *testing.T) {
	w := namespaces(t)
	hosts := w.hosts(t)
	for to, address := range hosts {
		var listener net.PacketConn
		if err := w.nodes[to].Do(func() (err error) {
			listener, err = net.ListenPacket("udp", netip.AddrPortFrom(address, 7).String())
			return err
		}); err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		for from := range hosts {
			if err := w.nodes[from].Do(func() error {
				c, err := net.Dial("udp", netip.AddrPortFrom(address, 7).String())
				if err == nil {
					_, err = c.Write([]byte(from))
					_ = c.Close()
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 16)
			if err := listener.SetReadDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			n, _, err := listener.ReadFrom(b)
			if err != nil || string(b[:n]) != from {
				t.Fatalf("%s got %q from %s: %v", to, b[:n], from, err)
			}
		}
	}
}

// pairs is how many queue pairs an adapter sends on.
const pairs = 16

// traffic sends what an adapter sends until packets of each queue pair have arrived, and
// returns how many had the label of draft-hu, and how many another.
func (l *lab) traffic(t *testing.T, from, to string) (right, other int) {
	t.Helper()
	address := l.hosts(t)[to]
	c, err := l.interfaces[to+":eth1"].Capture()
	if err != nil {
		t.Fatal(err)
	}
	arrived := map[uint32]bool{} // queue pairs
	var p roce.Packet
	for deadline, seen := time.Now().Add(patience), 0; len(arrived) < pairs; {
		l.in(t, from, filepath.Join(l.bin, "sluice-lab"), "gen", "--live", "eth1", "--to", address.String(), "--qps", strconv.Itoa(pairs), "--rate", "1", "--for", "200ms")
		frames := c.Frames()
		for _, f := range frames[seen:] {
			if p.Parse(f.Data, len(f.Data)) != nil {
				continue
			}
			arrived[p.DestQP()] = true
			if p.FlowLabel() == flow.DraftLiteral.Label(0, p.DestQP(), p.Src().As16(), p.Dst().As16()) {
				right++
			} else {
				other++
			}
		}
		seen = len(frames)
		if time.Now().After(deadline) {
			t.Fatalf("packets of %d of %d queue pairs arrived", len(arrived), pairs)
		}
	}
	if _, err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	return right, other
}

// sent is how many packets a leaf has sent to each spine.
func (l *lab) sent(t *testing.T, leaf string) (packets [2]uint64) {
	t.Helper()
	for i, port := range []string{"Ethernet8", "Ethernet12"} {
		c, err := l.interfaces[leaf+":"+port].Counters()
		if err != nil {
			t.Fatal(err)
		}
		packets[i] = c.TxPackets
	}
	return packets
}

// awaitLabels waits until a leaf labels.
func (l *lab) awaitLabels(t *testing.T, leaf string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(startPoll) {
		state := l.in(t, leaf, "redis-cli", "-n", "6", "HGET", "SLUICE_STATE|global", "flow_label")
		if strings.TrimSpace(state) == "active" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not label: %s", leaf, l.in(t, leaf, "redis-cli", "-n", "6", "HGETALL", "SLUICE_STATE|global"))
		}
	}
}

// A leaf labels the traffic of its hosts once it is told to, and both spines then carry it;
// nothing of the programs is left when they have ended.
func TestLeafLabelsTheTrafficOfItsHosts(t *testing.T) {
	l := start(t, "leaf1")
	if right, other := l.traffic(t, "host1", "host8"); right != 0 || other == 0 {
		t.Fatalf("before: %d packets with the right label, %d with another", right, other)
	}
	l.in(t, "leaf1", "redis-cli", "-n", "4", "HSET", "SLUICE_PORT|Ethernet0", "role", "edge")
	l.in(t, "leaf1", "redis-cli", "-n", "4", "HSET", "SLUICE_FLOW_LABEL|global", "admin_state", "enabled", "manage_switch_hash", "true")
	l.awaitLabels(t, "leaf1")
	before := l.sent(t, "leaf1")
	if right, other := l.traffic(t, "host1", "host8"); right == 0 || other != 0 {
		t.Errorf("%d packets with the right label, %d with another", right, other)
	}
	for i, sent := range l.sent(t, "leaf1") {
		if sent == before[i] {
			t.Errorf("spine %d carries nothing of %d queue pairs", i+1, pairs)
		}
	}
	if right, _ := l.traffic(t, "host8", "host1"); right != 0 {
		t.Errorf("leaf4 labels %d packets, and was not told to", right)
	}
	for name, p := range l.processes {
		p.Signal(unix.SIGTERM)
		select {
		case <-p.Done():
		case <-time.After(patience):
			t.Errorf("%s does not end", name)
		}
	}
}
