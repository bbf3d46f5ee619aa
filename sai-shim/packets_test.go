// SPDX-License-Identifier: Apache-2.0

package sai_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
	"sluice/sai-shim/saitest"
)

const patience = 30 * time.Second // for packets that are sure to come

// openPackets opens the recording library; raise lets it give packets to the CPU,
// as many and as long as packets says.
func openPackets(t *testing.T, packets string) (l *sai.Library, raise func()) {
	t.Helper()
	library := saitest.New(t)
	l = open(t, library, library.Profile("PACKETS", packets))
	return l, func() {
		t.Helper()
		if err := l.Set(saiattr.Port, id(port, 2), ref(saiattr.PortIngressACL, sai.Null)); err != nil {
			t.Fatal(err)
		}
	}
}

// read reads n packets, in bursts of burst, and checks that they are the ones
// from number first on, of size octets.
func read(t *testing.T, l *sai.Library, burst, first, n, size int, trap sai.ObjectID) {
	t.Helper()
	for got := 0; got < n; {
		burst := make([]sai.Packet, min(burst, n-got))
		k, err := l.Packets(t.Context(), burst, patience)
		if err != nil || k == 0 {
			t.Fatalf("%d packets and %v after %d", k, err, got)
		}
		for _, p := range burst[:k] {
			number := first + got
			if p.Length != size || len(p.Data) != min(size, sai.PacketRoom) || p.Port != id(port, 2) || p.Trap != trap {
				t.Fatalf("packet %d: %d of %d octets, port %s, trap %s", number, len(p.Data), p.Length, p.Port, p.Trap)
			}
			if v := binary.BigEndian.Uint32(p.Data); v != uint32(number) {
				t.Fatalf("packet %d is where %d should be", v, number)
			}
			for i, octet := range p.Data[4:] {
				if octet != byte(number+4+i) {
					t.Fatalf("packet %d: octet %d is %d", number, 4+i, octet)
				}
			}
			got++
		}
	}
}

// TestPacketsArriveInOrderWithTheirPort: packets come in order, cut to the room for them, and say where
// they came in and which trap marked them.
func TestPacketsArriveInOrderWithTheirPort(t *testing.T) {
	for _, size := range []int{4, 60, 511, 512, 513, 9000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			l, raise := openPackets(t, fmt.Sprint("100 ", size))
			raise()
			read(t, l, 7, 0, 100, size, sai.Null)
			trap := must(createTrap(l))
			raise()
			read(t, l, 64, 100, 100, size, trap)
			if lost := l.PacketsLost(); lost != 0 {
				t.Errorf("%d lost", lost)
			}
		})
	}
}

// TestRingFull: what finds the ring full is counted, what was in it stays, and
// the ring goes on.
func TestRingFull(t *testing.T) {
	const room = 4096
	l, raise := openPackets(t, "5000 60")
	raise()
	for deadline := time.Now().Add(patience); l.PacketsLost() < 5000-room; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d lost", l.PacketsLost())
		}
	}
	read(t, l, 256, 0, room, 60, sai.Null)
	if n, err := l.Packets(t.Context(), make([]sai.Packet, 1), time.Millisecond); n != 0 || err != nil {
		t.Errorf("%d packets of an empty ring, %v", n, err)
	}
	if lost := l.PacketsLost(); lost != 5000-room {
		t.Errorf("%d lost", lost)
	}
	raise()
	for deadline := time.Now().Add(patience); l.PacketsLost() < 2*(5000-room); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d lost", l.PacketsLost())
		}
	}
	read(t, l, 256, 5000, room, 60, sai.Null)
}

// TestPacketsEndWithTheContext: a context that ends wakes who waits, and takes no
// packet with it.
func TestPacketsEndWithTheContext(t *testing.T) {
	l, raise := openPackets(t, "10 60")
	ctx, cancel := context.WithCancel(t.Context())
	type result struct {
		n   int
		err error
	}
	done := make(chan result)
	go func() {
		n, err := l.Packets(ctx, make([]sai.Packet, 4), time.Hour)
		done <- result{n, err}
	}()
	cancel()
	if r := <-done; r.n != 0 || !errors.Is(r.err, context.Canceled) {
		t.Errorf("%d packets, %v", r.n, r.err)
	}
	if n, err := l.Packets(t.Context(), nil, patience); n != 0 || err != nil {
		t.Errorf("%d packets where there is no room for one, %v", n, err)
	}
	for first := 0; first < 100; first += 10 {
		raise()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		// Those that are there already are given all the same; others come later.
		buffer := make([]sai.Packet, 1)
		n, err := l.Packets(ctx, buffer, patience)
		if n == 0 && !errors.Is(err, context.Canceled) || n > 0 && err != nil {
			t.Fatalf("%d packets, %v", n, err)
		}
		if n == 1 && binary.BigEndian.Uint32(buffer[0].Data) != uint32(first) {
			t.Errorf("packet %x is where %d should be", buffer[0].Data, first)
		}
		read(t, l, 3, first+n, 10-n, 60, sai.Null)
	}
}

// TestPacketsAreWaitedFor: no packet is patience over.
func TestPacketsAreWaitedFor(t *testing.T) {
	l, raise := openPackets(t, "1 60")
	begun := time.Now()
	if n, err := l.Packets(t.Context(), make([]sai.Packet, 4), 20*time.Millisecond); n != 0 || err != nil || time.Since(begun) < 20*time.Millisecond {
		t.Errorf("%d packets, %v after %v", n, err, time.Since(begun))
	}
	// One after the other, each of which wakes the reader.
	for i := range 200 {
		raise()
		read(t, l, 8, i, 1, 60, sai.Null)
	}
}

// TestPacketsComeTogether: the first packet is given at once, and those that follow it after a while.
func TestPacketsComeTogether(t *testing.T) {
	l, raise := openPackets(t, "1 60")
	rested := 0
	l.OnRest(func(_ context.Context, d time.Duration) error {
		if d <= 0 || d > 4*time.Millisecond {
			t.Errorf("rests for %v", d)
		}
		rested++
		raise()
		return nil
	})
	raise()
	for n := range 3 {
		if read(t, l, 4, n, 1, 60, sai.Null); rested != n {
			t.Errorf("packet %d: waited %d times for others to come", n, rested)
		}
	}
	l.OnRest(func(context.Context, time.Duration) error { return context.Canceled })
	if n, err := l.Packets(t.Context(), make([]sai.Packet, 1), patience); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d packets, %v", n, err)
	}
}

// TestManyPacketsAreNotGathered: the ring may lack room for those that come meanwhile.
func TestManyPacketsAreNotGathered(t *testing.T) {
	l, raise := openPackets(t, "5000 60")
	l.OnRest(func(context.Context, time.Duration) error {
		t.Error("rested")
		return nil
	})
	raise()
	for deadline := time.Now().Add(patience); l.PacketsLost() < 5000-4096; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d lost", l.PacketsLost())
		}
	}
	read(t, l, 256, 0, 4096, 60, sai.Null)
	if n, err := l.Packets(t.Context(), make([]sai.Packet, 1), time.Millisecond); n != 0 || err != nil {
		t.Errorf("%d packets of an empty ring, %v", n, err)
	}
}
