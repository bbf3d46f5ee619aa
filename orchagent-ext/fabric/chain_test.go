// SPDX-License-Identifier: Apache-2.0

package fabric_test

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/fabric"
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
	for i, router := range fabric.WANRouters {
		udp(t, w.Between[1-i], w.Between[i], router)
	}
	udp(t, w.Receiver, w.Between[0], fabric.WANRouters[0])
}
