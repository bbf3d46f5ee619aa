// SPDX-License-Identifier: Apache-2.0

package ecmp

import (
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var hashes = []Hash{Linux{Seed: DefaultSeed}, CRC32{}, CRC16{}}

func TestParseReadsItsOwnText(t *testing.T) {
	for _, want := range hashes {
		got, err := Parse(want.String())
		if err != nil || got != want {
			t.Errorf("Parse(%q) = %v, %v; want %v", want, got, err, want)
		}
	}
	for _, name := range []string{"", "LINUX", "toeplitz"} {
		_, err := Parse(name)
		if err == nil {
			t.Errorf("Parse(%q) succeeded", name)
			continue
		}
		for _, want := range hashes {
			if !strings.Contains(err.Error(), want.String()) {
				t.Errorf("Parse(%q): %v: does not name %v", name, err, want)
			}
		}
	}
}

// The check value of CRC-16-CCITT from register 0xFFFF (also called CCITT-FALSE)
// in the catalogues, and the division bit by bit.
func TestCRC16(t *testing.T) {
	if got := crc16([]byte("123456789")); got != 0x29b1 {
		t.Errorf("check value %#04x, want 0x29b1", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "octets")
		want := uint32(0xffff)
		for _, octet := range b {
			want ^= uint32(octet) << 8
			for range 8 {
				want <<= 1
				if want>>16 != 0 {
					want ^= 0x11021
				}
			}
		}
		if got := crc16(b); got != uint16(want) {
			t.Errorf("got %#04x, want %#04x", got, want)
		}
	})
}

// TestFieldsMatchIndependentCRCs pins what the CRCs run over, through values of an independent CRC
// (zlib's and binascii.crc_hqx of Python) over the octets written out.
func TestFieldsMatchIndependentCRCs(t *testing.T) {
	v6 := Tuple{netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2"), 17, 49152, 4791, 0x6cb3e}
	v4 := Tuple{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), 17, 49152, 4791, 0x6cb3e}
	const n = 1 << 16
	for _, tt := range []struct {
		hash  Hash
		tuple Tuple
		label bool
		want  int
	}{
		{CRC32{}, v6, false, 0x78ae},
		{CRC32{}, v6, true, 0xc12d},
		{CRC32{}, v4, false, 0x66c7},
		{CRC32{}, v4, true, 0x66c7},
		{CRC16{}, v6, false, 0x8cad},
		{CRC16{}, v6, true, 0x8a8a},
		{CRC16{}, v4, false, 0x0d8f},
		{CRC16{}, v4, true, 0x0d8f},
	} {
		if got := tt.hash.Path(tt.tuple, tt.label, n); got != tt.want {
			t.Errorf("%v of %+v, label %v: %#04x, want %#04x", tt.hash, tt.tuple, tt.label, got, tt.want)
		}
	}
}

func TestThresholdInvertsThePath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 1024).Draw(t, "n")
		// Near a bound as often as anywhere.
		near := (rapid.Int64Range(0, int64(n)).Draw(t, "path") << 31) / int64(n)
		hash := rapid.OneOf(rapid.Int64Range(0, 1<<31-1), rapid.Int64Range(near-2, near+2)).Draw(t, "hash")
		hash = min(max(hash, 0), 1<<31-1)
		want := 0
		for hash > ((int64(want)+1)<<31+int64(n)/2)/int64(n)-1 {
			want++
		}
		if got := threshold(uint32(hash), n); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	})
}

func tuples(t *rapid.T) Tuple {
	v6 := rapid.Bool().Draw(t, "IPv6")
	addr := func(name string) netip.Addr {
		b := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, name)
		if !v6 {
			b = b[:4]
		}
		a, _ := netip.AddrFromSlice(b)
		return a
	}
	return Tuple{
		addr("source"), addr("destination"), rapid.Uint8().Draw(t, "protocol"),
		rapid.Uint16().Draw(t, "source port"), rapid.Uint16().Draw(t, "destination port"), rapid.Uint32().Draw(t, "label"),
	}
}

func TestPathStaysInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tuple := tuples(t)
		n := rapid.IntRange(-1, 1024).Draw(t, "n")
		for _, h := range hashes {
			plain, label := h.Path(tuple, false, n), h.Path(tuple, true, n)
			if top := max(n, 1); plain < 0 || plain >= top || label < 0 || label >= top {
				t.Errorf("%v: paths %d and %d of %d", h, plain, label, n)
			}
			other := tuple
			other.FlowLabel ^= rapid.Uint32().Draw(t, "change")
			if got := h.Path(other, false, n); got != plain {
				t.Errorf("%v: without the label, another label moves the path from %d to %d", h, plain, got)
			}
			if got := h.Path(other, true, n); tuple.Src.Is4() && got != label {
				t.Errorf("%v: IPv4 has no label, but one moves the path from %d to %d", h, label, got)
			}
			other.FlowLabel = tuple.FlowLabel ^ 1<<20
			if got := h.Path(other, true, n); got != label {
				t.Errorf("%v: bit 20 is outside the label and moves the path from %d to %d", h, label, got)
			}
		}
		// Linux hashes both directions alike.
		back := tuple
		back.Src, back.Dst, back.SrcPort, back.DstPort = tuple.Dst, tuple.Src, tuple.DstPort, tuple.SrcPort
		for _, seed := range []uint32{0, DefaultSeed, 1<<32 - 1} {
			if h := (Linux{seed}); h.Path(tuple, true, n) != h.Path(back, true, n) {
				t.Errorf("seed %#x: the two directions take different paths", seed)
			}
		}
	})
}

// Addresses that no packet can have, none at all or of two families, do no harm.
func TestPathOddAddresses(t *testing.T) {
	v4, v6 := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("2001:db8::1")
	for _, tuple := range []Tuple{{}, {Src: v4}, {Dst: v6}, {Src: v4, Dst: v6}, {Src: v6, Dst: v4}} {
		for _, h := range hashes {
			if got := h.Path(tuple, true, 8); got < 0 || got > 7 {
				t.Errorf("%v of %+v: path %d", h, tuple, got)
			}
		}
	}
}

func TestPathDoesNotAllocate(t *testing.T) {
	tuple := Tuple{netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2"), 17, 49152, 4791, 1}
	for _, h := range hashes {
		if got := testing.AllocsPerRun(100, func() { tuple.FlowLabel += uint32(h.Path(tuple, true, 8)) }); got != 0 {
			t.Errorf("%v: %v allocations", h, got)
		}
	}
}

// Many labels of one session load all paths alike.
func TestLabelsLoadPathsAlike(t *testing.T) {
	tuple := Tuple{netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2"), 17, 49152, 4791, 0}
	for _, h := range hashes {
		const labels, paths = 1 << 16, 8
		var count [paths]int
		for i := range labels {
			tuple.FlowLabel = uint32(i) * 40503 & 0xfffff
			count[h.Path(tuple, true, paths)]++
		}
		for path, got := range count {
			if got < labels/paths*9/10 || got > labels/paths*11/10 {
				t.Errorf("%v: path %d got %d of %d labels", h, path, got, labels)
			}
		}
	}
}
