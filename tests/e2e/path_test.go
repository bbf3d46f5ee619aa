// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/testbed/ipfixtest"
	"sluice/orchagent-ext/wire/roce"
	"sluice/tests/fabrictest"
)

// traced is what sluice path --trace --json says.
type traced struct {
	Trace struct {
		Hops []struct {
			Switch, Port, Neighbor string
			OneOf                  []string `json:"one_of"`
		}
		Arrives bool
		Reason  string
	}
}

// tell starts what tells the next hops of a switch, with a certificate of the name. It can
// be reached at the address, or everywhere.
func (l *leaf) tell(ca *ipfixtest.Authority, name string) {
	l.t.Helper()
	l.set("SLUICE", "global", "publish_next_hops", "enabled")
	l.start()
	dir, err := os.MkdirTemp("", "gnmi") // TempDir can be too long for a socket
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	cert, key, _ := ca.Sign(l.t, name)
	log := &logged{}
	cmd := exec.Command(bin+"sluice-gnmi", "--db-config", l.redis.Config, "--socket", filepath.Join(dir, "gnmi.sock"), "--state-file", "",
		"--cert", cert, "--key", key, "--ca", ca.File)
	cmd.Stdout, cmd.Stderr = log, log
	server, err := l.Leaf.Start(cmd)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		if err := server.Stop(patience); err != nil {
			l.t.Errorf("sluice-gnmi: %v: %s", err, log)
		}
	})
	for deadline := time.Now().Add(patience); !strings.Contains(log.String(), "sluice-gnmi starts"); time.Sleep(poll) {
		if time.Now().After(deadline) {
			l.t.Fatalf("sluice-gnmi does not start: %s", log)
		}
	}
}

// trace asks in the leaf for the way of a flow with a label and a source port.
func (l *leaf) trace(ca *ipfixtest.Authority, label, port int, more ...string) (a traced) {
	l.t.Helper()
	cert, key := filepath.Join(filepath.Dir(ca.File), "me.pem"), filepath.Join(filepath.Dir(ca.File), "me.key")
	out := l.in(append([]string{bin + "sluice", "path", "--db-config", l.redis.Config, "--src", fabric.HostA.Addr().String(), "--dst", fabric.HostB.Addr().String(),
		"--dst-qp", "0x11", "--sport", fmt.Sprint(port), "--flow-label", fmt.Sprint(label), "--trace", "--json", "--gnmi-ca", ca.File, "--gnmi-cert", cert, "--gnmi-key", key}, more...)...)
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		l.t.Fatalf("%v: %s", err, out)
	}
	return a
}

// burst sends packets of a flow from the host.
func burst(t *testing.T, from *fabric.Interface, label, port, packets int) {
	t.Helper()
	sender, err := from.Sender()
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	for psn := range packets {
		b := roce.Ethernet{Dst: roce.MAC(from.Peer().MAC), Src: roce.MAC(from.MAC), EtherType: roce.EtherTypeIPv6}.Append(nil)
		ip := len(b)
		b = roce.IPv6Header{NextHeader: 17, HopLimit: 64, FlowLabel: uint32(label), Src: fabric.HostA.Addr().As16(), Dst: fabric.HostB.Addr().As16()}.Append(b)
		b = roce.UDPHeader{SrcPort: uint16(port), DstPort: roce.UDPPort}.Append(b)
		b = roce.BTH{Opcode: roce.RCSendOnly, PKey: 0xffff, DestQP: 0x11, PSN: uint32(psn)}.Append(b)
		if b, err = roce.Finish(b, ip); err == nil {
			err = sender.Send(b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// sent are the packets that ports have sent.
func sent(t *testing.T, ports ...*fabric.Interface) (all []uint64) {
	t.Helper()
	for _, p := range ports {
		c, err := p.Counters()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c.TxPackets)
	}
	return all
}

// wayOf sends a flow, and returns by which ports its packets left.
func wayOf(t *testing.T, from *fabric.Interface, label, port int, ports ...*fabric.Interface) (took []string) {
	t.Helper()
	const packets = 200 // the kernel's own are a few
	before := sent(t, ports...)
	burst(t, from, label, port, packets)
	last := len(ports) - 1 // all of them leave there
	for deadline := time.Now().Add(patience); sent(t, ports[last])[0] < before[last]+packets; time.Sleep(poll) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d packets arrived", sent(t, ports[last])[0]-before[last], packets)
		}
	}
	for i, now := range sent(t, ports...) {
		if now-before[i] >= packets {
			took = append(took, ports[i].Node.Name+" "+ports[i].Name)
		}
	}
	return took
}

// said is the way that a trace names.
func (a *traced) said() (ports []string) {
	for _, h := range a.Trace.Hops {
		ports = append(ports, h.Switch+" "+h.Port)
	}
	return ports
}

// Through two leaves and two spines every hop of a trace is the port by which the packets
// leave, whatever the label. Where a switch does not tell, the trace ends there.
func TestTraceNamesThePortsThatPacketsTake(t *testing.T) {
	soakOnly(t)
	if _, err := os.Stat(seedSetting); err != nil {
		t.Skip("needs Linux 6.11: ", err)
	}
	needsPrograms(t)
	c := fabrictest.Clos(t)
	here := newSwitch(t, &fabric.LeafSpine{A: c.Hosts[0], LeafA: c.Edges[0], Leaf: c.Leaves[0], Uplinks: c.Uplinks[0][:]})
	far := newSwitch(t, &fabric.LeafSpine{A: c.Hosts[1], LeafA: c.Edges[1], Leaf: c.Leaves[1], Uplinks: c.Uplinks[1][:]})
	ca := ipfixtest.NewAuthority(t)
	ca.Sign(t, "me")
	f := fabrictest.New(t)
	management, err := f.Router("management")
	fabrictest.Check(t, err)
	all := map[string]*leaf{"leaf-0": here, "leaf-1": far}
	for s, spine := range c.Spines {
		l := newSwitch(t, &fabric.LeafSpine{LeafA: c.Uplinks[0][s].Peer(), Leaf: spine, Uplinks: []*fabric.Interface{c.Uplinks[1][s].Peer()}})
		l.set("SLUICE_PORT", "Ethernet0", "role", "fabric")
		for i := range c.Leaves {
			l.set("DEVICE_NEIGHBOR", fmt.Sprint("Ethernet", 4*i), "name", fmt.Sprint("leaf-", i), "port", c.Uplinks[i][s].Name)
			all[fmt.Sprint("leaf-", i)].set("DEVICE_NEIGHBOR", c.Uplinks[i][s].Name, "name", fmt.Sprint("spine-", s))
		}
		all[fmt.Sprint("spine-", s)] = l
	}
	address := map[string]string{}
	for _, name := range []string{"leaf-0", "leaf-1", "spine-0", "spine-1"} {
		at, there, err := f.Link(management, name, all[name].Leaf, "mgmt")
		if err != nil {
			t.Fatal(err)
		}
		net4 := netip.AddrFrom4([4]byte{192, 0, 2, byte(2 * len(address))})
		if err = at.Address(netip.PrefixFrom(net4, 31)); err == nil {
			err = there.Address(netip.PrefixFrom(net4.Next(), 31))
		}
		if err == nil {
			err = all[name].Leaf.Route(netip.MustParsePrefix("192.0.2.0/24"), fabric.Hop{Via: net4, Out: there})
		}
		if err != nil {
			t.Fatal(err)
		}
		address[name] = net4.Next().String()
	}
	for name, l := range all {
		l.set("DEVICE_METADATA", "localhost", "hostname", name)
		for other, at := range address {
			l.set("DEVICE_NEIGHBOR_METADATA", other, "mgmt_addr", at+"/31")
		}
		if l != here {
			l.tell(ca, name)
			l.await("SLUICE_NEXT_HOP", fabric.HostB.Masked().String()+"|0", func(f map[string]string) bool { return f["port"] != "" })
		}
	}
	for name, value := range map[string]string{"net.ipv4.fib_multipath_hash_seed": "7", "net.ipv6.fib_multipath_hash_policy": "3", "net.ipv6.fib_multipath_hash_fields": "63"} {
		if err := here.Leaf.Sysctl(name, value); err != nil {
			t.Fatal(err)
		}
	}
	ports := []*fabric.Interface{c.Uplinks[0][0], c.Uplinks[0][1], c.Uplinks[1][0].Peer(), c.Uplinks[1][1].Peer(), c.Edges[1]}
	met := map[string]int{}
	for i := range 16 {
		label, port := 1+4999*i, 49152+i
		a := here.trace(ca, label, port)
		took, says := strings.Join(wayOf(t, c.Hosts[0], label, port, ports...), ", "), strings.Join(a.said(), ", ")
		if took != says || !a.Trace.Arrives {
			t.Fatalf("label %d: packets left by %s, and the trace says %s %s", label, took, says, a.Trace.Reason)
		}
		met[took]++
	}
	if len(met) != 2 {
		t.Errorf("all flows took %v", met)
	}
	far.set("SLUICE", "global", "publish_next_hops", "disabled")
	far.await("SLUICE_HASH", "ipv6", func(f map[string]string) bool { return len(f) == 0 })
	if a := here.trace(ca, 1, 49152); a.Trace.Arrives || len(a.Trace.Hops) != 2 || a.Trace.Reason != "leaf-1: it publishes no next hops: set SLUICE|global publish_next_hops=enabled there" {
		t.Errorf("%+v", a.Trace)
	}
}

// What a switch tells of its next hops is enough to know which one its kernel takes: of four
// with weights, and after a link goes down.
func TestToldNextHopsAreTheKernels(t *testing.T) {
	if _, err := os.Stat(seedSetting); err != nil {
		t.Skip("needs Linux 6.11: ", err)
	}
	t.Parallel()
	l := newLeaf(t)
	if err := l.Weigh(1, 2, 3, 2); err != nil {
		t.Fatal(err)
	}
	ca := ipfixtest.NewAuthority(t)
	ca.Sign(t, "me")
	for name, value := range map[string]string{"net.ipv4.fib_multipath_hash_seed": "7", "net.ipv6.fib_multipath_hash_policy": "3", "net.ipv6.fib_multipath_hash_fields": "63"} {
		if err := l.Leaf.Sysctl(name, value); err != nil {
			t.Fatal(err)
		}
	}
	l.tell(ca, "leaf")
	key := fabric.HostB.Masked().String() + "|"
	l.awaitFields("SLUICE_NEXT_HOP", key+"2", "port", l.Uplinks[2].Name, "weight", "3", "state", "up")
	l.awaitFields("SLUICE_HASH", "ipv6", "policy", "3", "fields", "63", "seed", "7")
	// The host asks: it has one next hop, the leaf.
	host := newSwitch(t, &fabric.LeafSpine{LeafA: l.A, Leaf: l.A.Node})
	host.set("SLUICE_PORT", l.A.Name, "role", "fabric")
	host.set("DEVICE_METADATA", "localhost", "hostname", "host")
	host.set("DEVICE_NEIGHBOR", l.A.Name, "name", "leaf")
	at := "leaf=" + net.JoinHostPort(l.LeafA.LinkLocal.String()+"%"+l.A.Name, "50070")
	ports := append(append([]*fabric.Interface{}, l.Uplinks...), l.SpineB)
	flows := func(n int) map[string]int {
		met := map[string]int{}
		for i := range n {
			label, port := 1+4999*i, 49152+i
			a := host.trace(ca, label, port, "--switch", at)
			took := wayOf(t, l.A, label, port, ports...)
			if says := a.said(); len(says) != 2 || says[0] != "host eth0" || len(took) != 2 || says[1] != took[0] {
				t.Fatalf("label %d: packets left by %v, and the trace says %v %s", label, took, says, a.Trace.Reason)
			}
			met[took[0]]++
		}
		return met
	}
	if met := flows(6); len(met) < 3 {
		t.Errorf("the flows took %v", met)
	}
	if err := l.Uplinks[1].Set(false); err != nil {
		t.Fatal(err)
	}
	l.await("SLUICE_NEXT_HOP", key+"1", func(f map[string]string) bool { return f["port"] != l.Uplinks[1].Name || f["state"] == "dead" })
	if met := flows(4); len(met) < 2 {
		t.Errorf("the flows took %v", met)
	}
}
