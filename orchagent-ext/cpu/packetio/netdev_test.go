// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/tests/fabrictest"
)

const patience = time.Minute // the machine may be busy

// netdev is a source in host B's namespace.
func netdev(t *testing.T, at *fabric.Interface, ports ...string) *Netdev {
	t.Helper()
	var s *Netdev
	err := at.Node.Do(func() (err error) {
		if s, err = OpenNetdev(); err != nil {
			return err
		}
		return s.SetPorts(ports)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func sender(t *testing.T, from *fabric.Interface) *fabric.Sender {
	t.Helper()
	s, err := from.Sender()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func send(t *testing.T, s *fabric.Sender, frames ...[]byte) {
	t.Helper()
	for _, b := range frames {
		if err := s.Send(b); err != nil {
			t.Fatal(err)
		}
	}
}

// receive receives until there are n frames, and copies them.
func receive(t *testing.T, s *Netdev, n int) (all []Frame) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var frames [flow.MaxBurst]Frame
	for len(all) < n {
		got, err := s.Receive(ctx, frames[:])
		if err != nil {
			t.Fatalf("%d of %d frames: %v", len(all), n, err)
		}
		for _, f := range frames[:got] {
			f.Data = bytes.Clone(f.Data)
			all = append(all, f)
		}
	}
	return all
}

// TestNetdevReceivesRoCEv2OfItsPortsInOrder: RoCEv2 that comes in by a port is received whole and in order, and
// nothing else: not what others send there, not what the CPU sends itself, not
// what comes by netdevs that are no ports.
func TestNetdevReceivesRoCEv2OfItsPortsInOrder(t *testing.T) {
	f := fabrictest.New(t)
	node := func(name string) *fabric.Node {
		n, err := f.Node(name)
		fabrictest.Check(t, err)
		return n
	}
	host, sw := node("host"), node("switch")
	a, port, err := f.Link(host, "eth0", sw, "Ethernet0")
	fabrictest.Check(t, err)
	b, _, err := f.Link(host, "eth1", sw, "PortChannel1")
	fabrictest.Check(t, err)

	s := netdev(t, port, "Ethernet0", "Ethernet4") // one is not there yet
	in, other, own := sender(t, a), sender(t, b), sender(t, port)
	const n = 2000 // several blocks of the ring
	want := make([][]byte, n)
	for i := range want {
		want[i] = frame(t, uint32(i), 0).Data
		if i%2 == 1 {
			want[i] = frame4(t, uint32(i)).Data
		}
	}
	var got []Frame
	for i := 0; i < n; i += 100 {
		send(t, other, want[i])
		send(t, own, want[i])
		send(t, in, changed(Frame{Data: want[i]}, 12, 0x08, 0x06))
		send(t, in, want[i:i+100]...)
		got = append(got, receive(t, s, 100)...)
	}
	for i, g := range got {
		if !bytes.Equal(g.Data, want[i]) || g.Ingress != uint32(port.Index) || g.Length < len(g.Data) {
			t.Fatalf("frame %d: %d octets of port %d, want %d of %d", i, len(g.Data), g.Ingress, len(want[i]), port.Index)
		}
	}
	if len(got) != n || s.RingFull() != 0 {
		t.Errorf("%d frames, %d lost", len(got), s.RingFull())
	}
}

// TestNetdevLoses: what finds the ring full is counted, and what was in it comes.
func TestNetdevLoses(t *testing.T) {
	p := fabrictest.Pair(t)
	s := netdev(t, p.B, "eth0")
	out := sender(t, p.A)
	big := frame(t, 7, 0)
	data := append(big.Data, make([]byte, 1400-len(big.Data))...)
	const room = blockSize * blocks
	sent := 0
	for s.RingFull() == 0 {
		for range 100 {
			send(t, out, data)
			sent++
		}
		if sent*len(data) > 100*room {
			t.Fatalf("%d frames of %d octets, and the ring of %d is not full", sent, len(data), room)
		}
	}
	got := receive(t, s, room/2/len(data))
	if len(got) == 0 || !bytes.Equal(got[0].Data, data) {
		t.Errorf("%d frames", len(got))
	}
}

// TestNetdevIsPoliced: what is more than the rate is dropped and counted; another rate
// is in force at once.
//
//conformance:draft-lin/dos
func TestNetdevIsPoliced(t *testing.T) {
	p := fabrictest.Pair(t)
	s := netdev(t, p.B, "eth0")
	out := sender(t, p.A)
	data := frame(t, 7, 0).Data
	var frames [flow.MaxBurst]Frame
	const sent, burst = 200, 20
	pass := func() (got int) {
		t.Helper()
		before := int(s.Policed())
		for range sent {
			send(t, out, data)
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		for got+int(s.Policed())-before < sent {
			n, err := s.Receive(ctx, frames[:])
			if err != nil {
				t.Fatalf("%d received, %d policed: %v", got, int(s.Policed())-before, err)
			}
			got += n
		}
		return got
	}
	s.SetRate(1, burst)
	began := time.Now()
	if got := pass(); got < burst || got > burst+int(time.Since(began).Seconds())+1 {
		t.Errorf("%d of %d packets passed, want %d and one a second", got, sent, burst)
	}
	s.SetRate(10_000_000, 1_000_000)
	if got := pass(); got < sent-1 { // the bucket was empty
		t.Errorf("%d of %d packets passed", got, sent)
	}
}

// TestNetdevEnds: the end of the context ends a wait, and the next context begins
// a new one.
func TestNetdevEnds(t *testing.T) {
	p := fabrictest.Pair(t)
	s := netdev(t, p.B, "eth0")
	var frames [8]Frame
	for range 3 {
		ctx, cancel := context.WithCancel(context.Background())
		if n, err := s.Receive(ctx, frames[:]); n != 0 || err != nil {
			t.Fatal(n, err)
		}
		done := make(chan error, 1)
		go func() {
			for {
				if _, err := s.Receive(ctx, frames[:]); err != nil {
					done <- err
					return
				}
			}
		}()
		cancel()
		select {
		case err := <-done:
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		case <-time.After(patience):
			t.Fatal("Receive goes on")
		}
	}
	out := sender(t, p.A)
	send(t, out, frame(t, 1, 0).Data)
	receive(t, s, 1)
}

func TestNetdevDoesNotAllocate(t *testing.T) {
	p := fabrictest.Pair(t)
	s := netdev(t, p.B, "eth0")
	out := sender(t, p.A)
	data := frame(t, 1, 0).Data
	for range 500 {
		send(t, out, data)
	}
	var frames [8]Frame
	ctx := context.Background()
	receive(t, s, 1)
	got := 0
	if n := testing.AllocsPerRun(20, func() {
		n, err := s.Receive(ctx, frames[:])
		if err != nil {
			t.Fatal(err)
		}
		got += n
	}); n > 0 || got == 0 {
		t.Errorf("%v allocations a call, %d frames", n, got)
	}
}
