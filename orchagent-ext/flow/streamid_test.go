package flow

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"pgregory.net/rapid"
)

func TestHashStreamID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, label := rapid.Uint32().Draw(t, "seed"), rapid.Uint32Max(1<<20-1).Draw(t, "label")
		src, dst := drawAddress(t, "src"), drawAddress(t, "dst")
		input := binary.BigEndian.AppendUint32(nil, seed)
		input = append(append(input, src[:]...), dst[:]...)
		input = append(input, byte(label>>16), byte(label>>8), byte(label))
		if got, want := HashStreamID(seed, src, dst, label), max(uint16(crc32.ChecksumIEEE(input)), 1); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	})
}

func TestHashStreamIDIsNeverZero(t *testing.T) {
	for seed := range uint32(1 << 20) {
		if HashStreamID(seed, [16]byte{}, [16]byte{}, 0) == 0 {
			t.Fatalf("seed %d: 0 names no stream", seed)
		}
	}
}

func TestLocalStreamIDs(t *testing.T) {
	ctx := context.Background()
	l := NewLocalStreamIDs()
	key := func(n uint32) Key { return Key{DestQP: n} }
	seen := map[uint16]bool{}
	for n := range uint32(65535) {
		id, err := l.Allocate(ctx, key(n))
		if err != nil || id == 0 || seen[id] {
			t.Fatalf("flow %d: id %d, seen %v, %v", n, id, seen[id], err)
		}
		seen[id] = true
	}
	if _, err := l.Allocate(ctx, key(70000)); !errors.Is(err, ErrNoStreamID) {
		t.Errorf("the 65536th: %v", err)
	}
	again, err := l.Allocate(ctx, key(5))
	if err != nil || again != 6 {
		t.Errorf("a flow that has an id: %d %v", again, err)
	}
	first, _ := l.Allocate(ctx, key(20))
	second, _ := l.Allocate(ctx, key(10))
	l.Release(key(20))
	l.Release(key(10))
	l.Release(key(10)) // twice is once
	for n, want := range map[uint32]uint16{80000: first} {
		if got, err := l.Allocate(ctx, key(n)); err != nil || got != want {
			t.Errorf("behind a release: %d %v, want %d, released first", got, err, want)
		}
	}
	if got, err := l.Allocate(ctx, key(80001)); err != nil || got != second {
		t.Errorf("%d %v, want %d", got, err, second)
	}
	if _, err := l.Allocate(ctx, key(80002)); !errors.Is(err, ErrNoStreamID) {
		t.Errorf("an id was released twice: %v", err)
	}
}
