// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"pgregory.net/rapid"
)

//conformance:draft-yang/by-label draft-yang/scope
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

//conformance:draft-yang/allocate
func TestHashStreamIDIsNeverZero(t *testing.T) {
	for seed := range uint32(1 << 20) {
		if HashStreamID(seed, [16]byte{}, [16]byte{}, 0) == 0 {
			t.Fatalf("seed %d: 0 names no stream", seed)
		}
	}
}

// TestTakeLocalStreamIDs: ids of an earlier process stay with their flows, and are
// given to no other.
func TestTakeLocalStreamIDs(t *testing.T) {
	l := NewLocalStreamIDs()
	key := func(n uint32) Key { return Key{DestQP: n} }
	for _, take := range []struct {
		flow uint32
		id   uint16
		want bool
	}{{1, 65535, true}, {2, 3, true}, {3, 3, false}, {2, 4, false}, {2, 3, true}, {4, 0, false}, {5, 9, true}} {
		if got := l.Take(key(take.flow), take.id); got != take.want {
			t.Errorf("flow %d, id %d: %v", take.flow, take.id, got)
		}
	}
	seen := map[uint16]bool{65535: true, 3: true, 9: true}
	for n := range uint32(65532) {
		id, err := l.Allocate(context.Background(), key(100+n))
		if err != nil || id == 0 || seen[id] {
			t.Fatalf("flow %d: id %d, seen %v, %v", n, id, seen[id], err)
		}
		seen[id] = true
	}
	if _, err := l.Allocate(context.Background(), key(99)); !errors.Is(err, ErrNoStreamID) {
		t.Errorf("%v", err)
	}
	l.Release(key(2))
	if id, err := l.Allocate(context.Background(), key(3)); id != 3 || err != nil {
		t.Errorf("behind a release: %d, %v", id, err)
	}
}

//conformance:draft-yang/allocate
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
