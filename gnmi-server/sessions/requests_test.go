// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"encoding/binary"
	"net"
	"strings"
	"testing"
	"time"
)

// bytesOf is a frame as it is sent.
func bytesOf(kind, flags byte, stream uint32, payload int) []byte {
	b := []byte{byte(payload >> 16), byte(payload >> 8), byte(payload), kind, flags}
	return append(binary.BigEndian.AppendUint32(b, stream), make([]byte, payload)...)
}

// TestRequestsAreCountedUntilTheirRPCEnds, in whatever pieces the frames come.
func TestRequestsAreCountedUntilTheirRPCEnds(t *testing.T) {
	const settings = 4
	sent := []byte(strings.Repeat("x", preface))
	for _, f := range [][]byte{
		bytesOf(settings, 0, 0, 30), bytesOf(typeHeaders, 4, 1, 100), bytesOf(typeData, 0, 1, 1000), bytesOf(typeHeaders, 4, 3, 0),
		bytesOf(typeData, flagEndStream, 1, 20000), bytesOf(typeData, 0, 3, 7), bytesOf(typeData, 0, 9, 5000), bytesOf(typeHeaders, 4, 5, 9), bytesOf(typeReset, 0, 5, 4),
	} {
		sent = append(sent, f...)
	}
	answered := append(bytesOf(settings, 0, 0, 6), bytesOf(typeHeaders, 4, 1, 10)...)
	answered = append(answered, bytesOf(typeData, 0, 1, 300)...)
	last := bytesOf(typeHeaders, 4|flagEndStream, 1, 20)
	for _, piece := range []int{1, 2, 8, 9, 10, 1000, len(sent)} {
		near, far := net.Pipe()
		r := NewRequests(1 << 20)
		c := &Conn{Conn: far, of: Limit(nil, Limits{}, Login, &Stats{}, nil)}
		f := r.follow(far, c).(*requests)
		go func() {
			for at := 0; at < len(sent); at += piece {
				_, _ = near.Write(sent[at:min(at+piece, len(sent))])
			}
		}()
		b := make([]byte, 600)
		for got := 0; got < len(sent); {
			n, err := f.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			got += n
		}
		if want := 2*perRPC + 21000 + 7; r.held != want || len(f.rpcs) != 2 {
			t.Errorf("by %d: %d octets of %d RPCs, want %d of 2", piece, r.held, len(f.rpcs), want)
		}
		go func() { _, _ = near.Read(make([]byte, len(answered)+len(last))) }()
		for at := 0; at < len(answered); at += piece {
			f.out.take(answered[at:min(at+piece, len(answered))], func(h frame) {
				if h.kind == typeHeaders && h.flags&flagEndStream != 0 {
					t.Errorf("by %d: %+v ends an RPC", piece, h)
				}
			})
		}
		if _, err := f.Write(last); err != nil {
			t.Fatal(err)
		}
		if want := perRPC + 7; r.held != want {
			t.Errorf("by %d: %d octets after an answer, want %d", piece, r.held, want)
		}
		f.left()
		if r.held != 0 || len(r.of) != 0 {
			t.Errorf("by %d: %d octets of no connection", piece, r.held)
		}
		_ = near.Close()
		_ = far.Close()
	}
}

// TestWorstConnection: of the address with most, the one that keeps much for long; a
// stream of a short request is never it, however old.
func TestWorstConnection(t *testing.T) {
	now := time.Unix(1000, 0)
	r := NewRequests(0)
	add := func(source byte, octets int, age time.Duration) *requests {
		f := &requests{conn: &Conn{source: from(source)}, all: r, rpcs: map[uint32]*open{1: {octets, now.Add(-age)}}}
		r.of[f] = true
		return f
	}
	add(1, 4<<20, time.Hour)
	add(2, perRPC, 100*24*time.Hour)
	long := add(2, 4<<20, 10*time.Millisecond)
	slow := add(2, 1<<20, 5*time.Second)
	for i, want := range []*requests{slow, long} {
		got := r.worst(now)
		if got != want {
			t.Fatalf("%d: %+v", i, got)
		}
		if i == 0 {
			delete(r.of, slow)
			add(2, 100, 0)
		}
	}
}
