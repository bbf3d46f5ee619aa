// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"

	"sluice/tests/fabrictest"
)

// attr is an attribute of netlink, padded.
func attr(kind uint16, v []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(v)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, v...)
	return append(b, make([]byte, -len(b)&3)...)
}

func u16(v uint16) []byte { return binary.NativeEndian.AppendUint16(nil, v) }
func u32(v uint32) []byte { return binary.NativeEndian.AppendUint32(nil, v) }

// sample is a message as the kernel's psample makes it: linux/psample.h, with
// attributes that the reader ignores.
func sample(ingress uint16, seq uint32, data []byte, length int) []byte {
	body := bytes.Join([][]byte{
		{commandSample, 1, 0, 0},
		attr(attrIngress, u16(ingress)), attr(attrEgress, u16(9)), attr(attrRate, u32(4096)), attr(attrLength, u32(uint32(length))),
		attr(attrGroup, u32(1)), attr(attrSeq, u32(seq)), attr(13, make([]byte, 8)), attr(attrData, data),
	}, nil)
	b := u32(uint32(16 + len(body)))
	b = append(b, u16(0x1b)...) // the family's number
	b = append(b, make([]byte, 10)...)
	return append(b, body...)
}

// heard is a source in whose namespace sFlow samples: what is written to the
// socket, the kernel would say.
func heard(t *testing.T, s *Netdev) (kernel int) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(pair[1]) })
	s.samples.Store(newSamples(pair[0], 0))
	s.listening.Store(true)
	return pair[1]
}

// TestSamplesArriveWithTheirLengthOnTheWire: samples of our ports come, beside what comes by netdevs, with the
// length that they had on the wire; those that are missing are counted.
func TestSamplesArriveWithTheirLengthOnTheWire(t *testing.T) {
	p := fabrictest.Pair(t)
	s := netdev(t, p.B, "eth0")
	kernel := heard(t, s)
	port := uint16(p.B.Index)
	a, b := frame(t, 1, 0).Data, frame4(t, 2).Data
	say := func(m []byte) {
		t.Helper()
		if _, err := unix.Write(kernel, m); err != nil {
			t.Fatal(err)
		}
	}
	say(sample(port, 7, a[:len(a)-40], len(a)))
	say(sample(port+100, 8, b, len(b))) // another's port
	say([]byte{1, 2, 3})
	broken := sample(port, 9, a, len(a))
	binary.NativeEndian.PutUint16(broken[headers:], 2) // shorter than its header
	say(broken)
	say(sample(port, 12, b, len(b)))
	got := receive(t, s, 2)
	if !bytes.Equal(got[0].Data, a[:len(a)-40]) || got[0].Length != len(a) || !bytes.Equal(got[1].Data, b) || got[0].Ingress != uint32(port) {
		t.Errorf("%+v", got)
	}
	for _, f := range got {
		if f.Egress != 9 || f.From != uint64(port) || f.To != 9 || f.Why != Sampled || s.PortName(f.From) != "eth0" || s.PortName(f.To) != "" {
			t.Errorf("%+v", f)
		}
	}
	if s.SampleRate() != 4096 || s.RingFull() != 3 { // 9 to 11
		t.Errorf("one of %d, %d lost", s.SampleRate(), s.RingFull())
	}
	s.SetWhy(Copied) // what comes by the netdevs, not the samples
	say(sample(port, 13, a, len(a)))
	if got := receive(t, s, 1); got[0].Why != Sampled {
		t.Errorf("%+v", got)
	}
	send(t, sender(t, p.A), a)
	if got := receive(t, s, 1); !bytes.Equal(got[0].Data, a) || got[0].Why != Copied || s.PortName(got[0].From) != "eth0" || got[0].To != 0 {
		t.Errorf("%+v", got)
	}

	for range 10 {
		say(sample(port, 14, a, len(a)))
	}
	var frames [1]Frame
	ctx := context.Background()
	if n := testing.AllocsPerRun(5, func() {
		if n, err := s.Receive(ctx, frames[:]); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}); n > 0 {
		t.Errorf("%v allocations a call", n)
	}
	if s.RingFull() != 3 {
		t.Errorf("%d lost, though numbers were only reset", s.RingFull())
	}
}

// TestSamplesOfTheKernel: a kernel without psample says so; one with it listens.
func TestSamplesOfTheKernel(t *testing.T) {
	p := fabrictest.Pair(t)
	err := p.B.Node.Do(func() error {
		s, err := openSamples()
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(s.fd) }()
		if err := s.listen(true); err != nil {
			return err
		}
		return s.listen(false)
	})
	if err != nil {
		t.Skipf("not tried against a kernel: %v", err)
	}
}

func FuzzSample(f *testing.F) {
	f.Add(sample(1, 2, []byte{1, 2, 3}, 100))
	f.Add(sample(1, 2, nil, 0)[:30])
	s := newSamples(-1, 0)
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, ok := s.parse(b); ok && len(got.Data) > len(b) {
			t.Errorf("%d octets of %d", len(got.Data), len(b))
		}
	})
}
