// SPDX-License-Identifier: Apache-2.0

package fabric_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/tests/fabrictest"
)

const patience = time.Minute // the machine may be busy

// udp sends a datagram from a to b, which answers it.
func udp(t *testing.T, a, b *fabric.Interface, to netip.Addr) {
	t.Helper()
	var server, client net.PacketConn
	listen := func(conn *net.PacketConn, address string) func() error {
		return func() (err error) {
			*conn, err = net.ListenPacket("udp", address)
			return err
		}
	}
	at := to
	if to.IsLinkLocalUnicast() {
		at, to = to.WithZone(strconv.Itoa(b.Index)), to.WithZone(strconv.Itoa(a.Index))
	}
	if err := b.Node.Do(listen(&server, net.JoinHostPort(at.String(), "0"))); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	any := "[::]:0"
	if to.Is4() {
		any = "0.0.0.0:0"
	}
	if err := a.Node.Do(listen(&client, any)); err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, c := range []net.PacketConn{server, client} {
		if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
	}
	port := server.LocalAddr().(*net.UDPAddr).AddrPort().Port()
	if _, err := client.WriteTo([]byte("question"), net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, port))); err != nil {
		t.Fatalf("to %s: %v", to, err)
	}
	buf := make([]byte, 100)
	n, from, err := server.ReadFrom(buf)
	if err != nil {
		t.Fatalf("at %s: %v", to, err)
	}
	if _, err := server.WriteTo(bytes.ToUpper(buf[:n]), from); err != nil {
		t.Fatal(err)
	}
	if n, _, err = client.ReadFrom(buf); err != nil || string(buf[:n]) != "QUESTION" {
		t.Fatalf("answer of %s: %q, %v", to, buf[:n], err)
	}
}

func TestShapesPassPackets(t *testing.T) {
	for name, build := range map[string]func(testing.TB) (a, b *fabric.Interface){
		"pair": func(tb testing.TB) (a, b *fabric.Interface) {
			s := fabrictest.Pair(tb)
			return s.A, s.B
		},
		"routed": func(tb testing.TB) (a, b *fabric.Interface) {
			s := fabrictest.Routed(tb)
			return s.A, s.B
		},
		"leaf and spine": func(tb testing.TB) (a, b *fabric.Interface) {
			s := fabrictest.LeafSpine(tb, 4)
			return s.A, s.B
		},
		"one uplink": func(tb testing.TB) (a, b *fabric.Interface) {
			s := fabrictest.LeafSpine(tb, 1)
			return s.A, s.B
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := build(t)
			for _, to := range []netip.Prefix{fabric.HostB, fabric.HostB4} {
				udp(t, a, b, to.Addr())
			}
			for _, to := range []netip.Prefix{fabric.HostA, fabric.HostA4} {
				udp(t, b, a, to.Addr())
			}
		})
	}
}

// Datagrams that the kernel sends arrive with their UDP checksum, and at the
// link-local address, too.
func TestLinkLocalAndChecksum(t *testing.T) {
	p := fabrictest.Pair(t)
	c, err := p.B.Capture()
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	udp(t, p.A, p.B, p.B.LinkLocal)
	udp(t, p.A, p.B, fabric.HostB4.Addr())
	frames, err := c.Stop() // with what has arrived and was not read yet
	if err != nil {
		t.Fatal(err)
	}
	if len(frames) != 2 {
		t.Fatalf("%d frames arrived, want 2", len(frames))
	}
	for _, f := range frames {
		if f.Time.Before(start.Add(-time.Second)) || f.Time.After(time.Now()) {
			t.Errorf("captured at %v, which is not now", f.Time)
		}
		packet := gopacket.NewPacket(f.Data, layers.LayerTypeEthernet, gopacket.Default)
		u, ok := packet.Layer(layers.LayerTypeUDP).(*layers.UDP)
		if !ok {
			t.Fatalf("not UDP: %v", packet)
		}
		if err := u.SetNetworkLayerForChecksum(packet.NetworkLayer()); err != nil {
			t.Fatal(err)
		}
		if _, result := u.VerifyChecksum(); !result.Valid {
			t.Errorf("UDP checksum %#04x, want %#04x", result.Actual, result.Correct)
		}
	}
}

// frame makes a UDP packet of host A to host B with a payload of 4 octets.
func frame(t *testing.T, src, dst *fabric.Interface, sport uint16, label uint32) []byte {
	t.Helper()
	ip := &layers.IPv6{
		Version: 6, FlowLabel: label, NextHeader: layers.IPProtocolUDP, HopLimit: 64,
		SrcIP: fabric.HostA.Addr().AsSlice(), DstIP: fabric.HostB.Addr().Next().AsSlice(),
	}
	u := &layers.UDP{SrcPort: layers.UDPPort(sport), DstPort: 4791}
	if err := u.SetNetworkLayerForChecksum(ip); err != nil {
		t.Fatal(err)
	}
	buf := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		&layers.Ethernet{SrcMAC: src.MAC, DstMAC: dst.MAC, EthernetType: layers.EthernetTypeIPv6}, ip, u, gopacket.Payload("mark"))
	if err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func sent(t *testing.T, uplinks []*fabric.Interface) (packets []uint64) {
	t.Helper()
	for _, u := range uplinks {
		c, err := u.Counters()
		if err != nil {
			t.Fatal(err)
		}
		packets = append(packets, c.TxPackets)
	}
	return packets
}

// An ordinary switch: the source port decides the uplink, the flow label does
// not, and nothing but what was sent is on the links.
func TestECMP(t *testing.T) {
	s := fabrictest.LeafSpine(t, 4)
	const flows = 64
	for name, tt := range map[string]struct {
		frame func(i int) []byte
		paths int
	}{
		"labels": {func(i int) []byte { return frame(t, s.A, s.LeafA, 49152, uint32(i)) }, 1},
		"ports":  {func(i int) []byte { return frame(t, s.A, s.LeafA, uint16(49152+i), 0) }, 4},
	} {
		t.Run(name, func(t *testing.T) {
			before := sent(t, s.Uplinks)
			c, err := s.B.Capture()
			if err != nil {
				t.Fatal(err)
			}
			sender, err := s.A.Sender()
			if err != nil {
				t.Fatal(err)
			}
			defer sender.Close()
			want := make([][]byte, flows)
			for i := range want {
				want[i] = tt.frame(i)
				if err := sender.Send(want[i]); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := c.Wait(ctx, flows); err != nil {
				t.Fatal(err)
			}
			frames, err := c.Stop()
			if err != nil {
				t.Fatal(err)
			}
			if len(frames) != flows || sender.Sent != flows {
				t.Errorf("%d frames sent, %d arrived, want %d", sender.Sent, len(frames), flows)
			}
			paths, sum := 0, uint64(0)
			for i, n := range sent(t, s.Uplinks) {
				if n -= before[i]; n > 0 {
					paths++
				}
				sum += n
			}
			if paths != tt.paths || sum != flows {
				t.Errorf("%d packets over %d uplinks, want %d over %d", sum, paths, flows, tt.paths)
			}
		})
	}
}

// The hash policy is the namespace's own and can be set to hash the label.
func TestSysctlIsTheNamespaces(t *testing.T) {
	s := fabrictest.LeafSpine(t, 2)
	if err := s.Leaf.Sysctl("net.ipv6.fib_multipath_hash_policy", "3"); err != nil {
		t.Fatal(err)
	}
	read := func() (value []byte, err error) {
		return os.ReadFile("/proc/sys/net/ipv6/fib_multipath_hash_policy")
	}
	for node, want := range map[*fabric.Node]string{s.Leaf: "3\n", s.Spine: "1\n"} {
		if err := node.Do(func() error {
			value, err := read()
			if string(value) != want {
				t.Errorf("%s has %q, want %q", node.Name, value, want)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Leaf.Sysctl("net.ipv6.no_such_setting", "1"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a setting that is not there: %v", err)
	}
}

// Do brings the thread back, whatever its function does.
func TestDoReturns(t *testing.T) {
	p := fabrictest.Pair(t)
	names := func() string {
		links, err := net.Interfaces()
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, l := range links {
			text += fmt.Sprintln(l.Index, l.Name, l.HardwareAddr)
		}
		return text
	}
	home := names()
	failure := errors.New("failure")
	if err := p.A.Node.Do(func() error {
		if names() == home {
			t.Error("Do did not enter the namespace")
		}
		return failure
	}); err != failure {
		t.Errorf("got error %v", err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = p.A.Node.Do(func() error { panic("as a test may") })
	}()
	for range 100 {
		if names() != home {
			t.Fatal("a thread was left in the namespace")
		}
	}
}

// A capture tells when what it waits for does not come.
func TestCaptureWaitEnds(t *testing.T) {
	p := fabrictest.Pair(t)
	c, err := p.B.Capture()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	if err := c.Wait(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if frames, err := c.Stop(); err != nil || len(frames) != 0 {
		t.Errorf("%d frames on a silent link, %v", len(frames), err)
	}
}
