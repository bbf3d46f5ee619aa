// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/tests/fabrictest"
)

// TestGenIsVerified: `sluice-lab gen --dev` finds out the next hop's address by neighbor
// discovery or ARP, sends so many packets, and learns that all of them arrived; `sluice-lab
// verify` says the same.
func TestGenIsVerified(t *testing.T) {
	p := fabrictest.Pair(t)
	w := fabrictest.NewHosts(t, p.A, p.B)
	for _, host := range []*fabric.Interface{p.A, p.B} { // links of the fabric know each other without
		if out, err := w.Run(host, "ip", "link", "set", "eth0", "arp", "on", "multicast", "on", "allmulticast", "on"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	// Packets of a sender that moves to another CPU would overtake each other.
	if err := p.B.Node.ThreadReceive(); err != nil && !errors.Is(err, fabric.ErrNoThreads) {
		t.Fatal(err)
	}
	// Octets of an IP packet: with 1024 of payload there are UDP's 8, 28 of BTH and RETH, and the ICRC.
	genIsVerified(t, p, w, fabric.HostB.Addr().String(), 40+8+28+1024+4)
	genIsVerified(t, p, w, fabric.HostB4.Addr().String(), 20+8+28+1024+4)
}

func genIsVerified(t *testing.T, p *fabric.Pair, w fabrictest.Hosts, b string, octets uint64) {
	t.Helper()
	if out, err := w.Run(p.A, "ip", "neigh", "show", b); err != nil || out != "" {
		t.Fatalf("%v: there is a neighbor entry already: %s", err, out)
	}
	const packets = "2000"
	heard, end := startTool(t, w, "verify --dev eth0 --json --for 3m --count "+packets)
	out, err := w.Run(w.A, append([]string{w.Program}, strings.Fields("gen --dev eth0 --dst "+b+" --qps 64 --rate 20Mbps --line-rate 100Mbps --for 3m --json --count "+packets)...)...)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var sent struct{ Packets, Acknowledgements, Acknowledged, Arrived uint64 }
	if err := json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &sent); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := end(); err != nil {
		t.Fatalf("%v: %s", err, heard)
	}
	var got verified
	if text := heard.String(); json.Unmarshal([]byte(text[strings.Index(text, "{"):]), &got) != nil {
		t.Fatal(text)
	}
	if sent.Packets != 2000 || sent.Arrived != sent.Acknowledged || sent.Acknowledged < 64 || sent.Acknowledgements < 64 {
		t.Errorf("to %s: %+v", b, sent)
	}
	got.Other, got.Octets = 0, got.Octets/2000 // the kernel's packets; octets of a packet
	if want := (verified{QueuePairs: 64, Packets: 2000, Octets: octets}); got != want {
		t.Errorf("to %s: %+v, want %+v", b, got, want)
	}
}

// startTool starts the tool on host b, and returns when it says that it listens.
func startTool(t *testing.T, w fabrictest.Hosts, args string) (output *strings.Builder, end func() error) {
	t.Helper()
	output = &strings.Builder{}
	listens := make(chan struct{})
	cmd := exec.Command(w.Program, strings.Fields(args)...)
	cmd.Stdout, cmd.Stderr = output, &onFirstLine{said: listens}
	p, err := w.B.Node.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-listens:
	case <-p.Done():
		t.Fatalf("sluice-lab %s: %v: %s", args, p.Wait(), output)
	}
	return output, p.Wait
}

// onFirstLine closes a channel when something is written.
type onFirstLine struct {
	said chan struct{}
	done bool
}

func (o *onFirstLine) Write(b []byte) (int, error) {
	if !o.done {
		o.done = true
		close(o.said)
	}
	return len(b), nil
}

// TestGenToNoNeighbor: where no neighbor answers, it says so and what helps.
func TestGenToNoNeighbor(t *testing.T) {
	p := fabrictest.Pair(t)
	w := fabrictest.NewHosts(t, p.A, p.B)
	for _, line := range []string{"ip link set eth0 arp on multicast on", "sysctl -w net.ipv6.neigh.eth0.retrans_time_ms=50"} {
		if out, err := w.Run(p.A, strings.Fields(line)...); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	out, err := w.Run(w.A, append([]string{w.Program}, strings.Fields("gen --dev eth0 --dst 2001:db8:0:1::99 --for 1s")...)...)
	if err == nil || !strings.Contains(out, "does not say its Ethernet address") || !strings.Contains(out, "--next-hop-mac") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestVerifyOfNothingFails: what never came is no success.
func TestVerifyOfNothingFails(t *testing.T) {
	p := fabrictest.Pair(t)
	w := fabrictest.NewHosts(t, p.A, p.B)
	out, err := w.Run(w.B, w.Program, "verify", "--dev", "eth0", "--for", "10ms")
	if err == nil || !strings.Contains(out, "no packet of `sluice-lab gen --dev` came") {
		t.Errorf("%v: %s", err, out)
	}
}
