// SPDX-License-Identifier: Apache-2.0

package fabric_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/tests/fabrictest"
)

func TestChainCarriesPacketsBetweenAllHosts(t *testing.T) {
	c, err := fabrictest.New(t).Chain()
	fabrictest.Check(t, err)
	for i, from := range c.Senders {
		for j, to := range c.Receivers {
			udp(t, from, to, fabric.ChainReceivers[j].Addr())
			udp(t, to, from, fabric.ChainSenders[i].Addr())
		}
	}
	for i, n := range c.Switches {
		for _, p := range c.Ports[i] {
			if p.Node != n {
				t.Errorf("port %s of %s is a port of %s", p.Name, n.Name, p.Node.Name)
			}
		}
	}
}

func TestThreadReceiveReachesEveryInterface(t *testing.T) {
	p := fabrictest.Pair(t)
	if err := p.A.Node.ThreadReceive(); err != nil {
		t.Skip("the kernel cannot: ", err)
	}
	threaded := func(n *fabric.Node) string {
		out, err := exec.Command("ip", "netns", "exec", n.Namespace, "cat", "/sys/class/net/eth0/threaded").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if got := threaded(p.A.Node); got != "1" {
		t.Errorf("threaded is %q", got)
	}
	if got := threaded(p.B.Node); got != "0" {
		t.Errorf("threaded of the other node is %q", got)
	}
	udp(t, p.B, p.A, fabric.HostA.Addr())
	// Threads of the same name may be of other tests, which leave them without priority.
	threads, err := filepath.Glob("/proc/[0-9]*/comm")
	fabrictest.Check(t, err)
	first := false
	for _, file := range threads {
		name, err := os.ReadFile(file)
		if err != nil || !strings.HasPrefix(string(name), "napi/eth0-") {
			continue
		}
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		fabrictest.Check(t, err)
		attr, err := unix.SchedGetAttr(id, 0)
		first = first || err == nil && attr.Policy == unix.SCHED_FIFO
	}
	if !first {
		t.Error("no thread has real-time priority")
	}
}

func TestSteerReceiveReachesEveryInterface(t *testing.T) {
	p := fabrictest.Pair(t)
	if err := p.A.Node.SteerReceive(); err != nil {
		t.Fatal(err)
	}
	read := func(n *fabric.Node) string {
		out, err := exec.Command("ip", "netns", "exec", n.Namespace, "cat", "/sys/class/net/eth0/queues/rx-0/rps_cpus").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.TrimLeft(strings.TrimSpace(string(out)), "0,")
	}
	if got := read(p.A.Node); got == "" || (runtime.NumCPU() == 2 && got != "3") {
		t.Errorf("steered to %q of %d CPUs", got, runtime.NumCPU())
	}
	if got := read(p.B.Node); got != "" {
		t.Errorf("the other node is steered to %q", got)
	}
}

func TestWANCarriesPacketsBetweenHostsAndRouters(t *testing.T) {
	w, err := fabrictest.New(t).WAN(time.Millisecond)
	fabrictest.Check(t, err)
	udp(t, w.Sender, w.Receiver, fabric.HostB.Addr())
	udp(t, w.Receiver, w.Sender, fabric.HostA.Addr())
	udp(t, w.Sender, w.Receiver, fabric.HostB4.Addr())
	udp(t, w.Receiver, w.Sender, fabric.HostA4.Addr())
	for i := range fabric.WANRouters {
		udp(t, w.Between[1-i], w.Between[i], fabric.WANRouters[i])
		udp(t, w.Between[1-i], w.Between[i], fabric.WANRouters4[i])
	}
	udp(t, w.Receiver, w.Between[0], fabric.WANRouters[0])
}
