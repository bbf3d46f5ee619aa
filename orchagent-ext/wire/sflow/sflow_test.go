// SPDX-License-Identifier: Apache-2.0

package sflow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func words(v ...uint32) (b []byte) {
	for _, w := range v {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// sized is a format, a length and its octets.
func sized(format uint32, parts ...[]byte) []byte {
	body := bytes.Join(parts, nil)
	return append(words(format, uint32(len(body))), body...)
}

// raw is the record of a packet header.
func raw(protocol, length, stripped uint32, header []byte) []byte {
	return sized(1, words(protocol, length, stripped, uint32(len(header))), header, make([]byte, -len(header)&3))
}

// datagram is a datagram of an agent with an IPv4 address.
func datagram(samples ...[]byte) []byte {
	return append(words(5, 1, 0x0a000001, 0, 1, 1000, uint32(len(samples))), bytes.Join(samples, nil)...)
}

// all reads every sample.
func all(t testing.TB, b []byte) (samples []Sample, err error) {
	t.Helper()
	d, err := Parse(b)
	if err != nil {
		return nil, err
	}
	var s Sample
	for d.Next(&s) {
		samples = append(samples, s)
	}
	return samples, d.Err()
}

var header = []byte("the first octets of a packet, 61 of them, not a multiple of 4")

func TestSamplesHaveRateDropsAndPorts(t *testing.T) {
	other := sized(1001, words(1, 2, 3, 4)) // extended switch data
	b := datagram(
		sized(2, words(1, 3, 0)), // counters
		sized(1, words(7, 3, 1000, 99, 5, 3, 12, 2), other, raw(1, 1518, 4, header)),
		sized(3, words(7, 0, 4, 500, 99, 6, 0, 4, 1, 257, 1), raw(11, 1500, 0, header)),
		sized(0x1000+1, words(1, 2, 3)), // of a vendor
		sized(1, words(7, 3, 1000, 99, 5, 0x3fffffff, 0x80000002, 1), raw(12, 40, 0, header)),
	)
	got, err := all(t, b)
	want := []Sample{
		{Header: header, Protocol: Ethernet, Length: 1514, Rate: 1000, Drops: 5, Source: 3, In: 3, Out: 12},
		{Header: header, Protocol: IPv4, Length: 1500, Rate: 500, Drops: 6, Source: 4, In: 4, Out: 1<<30 | 257},
		{Header: header[:40], Protocol: IPv6, Length: 40, Rate: 1000, Drops: 5, Source: 3, In: 0x3fffffff, Out: 2<<30 | 2},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	var ports []string
	for _, s := range got {
		ports = append(ports, s.In.String(), s.Out.String())
	}
	if diff := cmp.Diff([]string{"if3", "if12", "if4", "dropped (reason 257)", "", "2 ports"}, ports); diff != "" {
		t.Error(diff)
	}
	if n := testing.AllocsPerRun(10, func() {
		d, _ := Parse(b)
		var s Sample
		for d.Next(&s) {
			continue
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestCutDatagramsHaveWhatIsThere: each prefix has the samples before its end, the last one
// with the octets that are left of it, and an error for the rest.
func TestCutDatagramsHaveWhatIsThere(t *testing.T) {
	six := append(words(5, 2, 0, 0, 0, 1, 0, 1, 1000, 2), sized(1, words(7, 3, 1000, 99, 5, 3, 12, 1), raw(1, 1518, 4, header))...)
	for _, whole := range [][]byte{datagram(sized(1, words(7, 3, 1000, 99, 5, 3, 12, 1), raw(1, 1518, 4, header))), six} {
		from := len(whole) - len(header) - 3 // padding
		head := from - 24 - 8*4 - 8          // of the datagram: record, sample, its format and length
		for n := range whole {
			samples, err := all(t, whole[:n])
			switch {
			case n < from:
				if len(samples) != 0 || err == nil && n != head {
					t.Errorf("%d octets: %v %v", n, samples, err)
				}
			case len(samples) != 1 || samples[0].Length != 1514 || !bytes.Equal(samples[0].Header, header[:min(n-from, len(header))]):
				t.Errorf("%d octets: %v %v", n, samples, err)
			}
		}
	}
}

func TestOthersAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		b    []byte
		want error
	}{
		"empty":             {nil, ErrLength},
		"version 4":         {words(4, 1, 0, 0, 0, 0, 0), ErrVersion},
		"address type 3":    {words(5, 3, 0, 0, 0, 0, 0), ErrLength},
		"no samples":        {datagram(), nil},
		"stripped too much": {datagram(sized(1, words(7, 3, 1000, 99, 5, 3, 12, 1), raw(1, 4, 8, header))), ErrLength},
		"many records":      {datagram(sized(1, words(7, 3, 1000, 99, 5, 3, 12, 1<<31))), ErrLength},
	} {
		if samples, err := all(t, tt.b); !errors.Is(err, tt.want) || len(samples) != 0 {
			t.Errorf("%s: %v, %v, want %v", name, samples, err, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(datagram(sized(1, words(7, 3, 1000, 99, 5, 3, 12, 1), raw(1, 1518, 4, header))))
	f.Add(datagram(sized(3, words(7, 0, 4, 500, 99, 6, 0, 4, 1, 257, 2), raw(11, 1500, 0, header), raw(7, 99, 0, header))))
	f.Add(datagram(sized(2, words(1, 3, 0)), sized(1, words(7, 3, 1, 99, 5, 3, 12, 9), sized(1001, nil))))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := Parse(b)
		if err != nil {
			return
		}
		var s Sample
		n, octets := 0, 0
		for d.Next(&s) {
			n++
			octets += len(s.Header)
			if len(s.Header) > s.Length {
				t.Fatalf("%d octets of a packet of %d", len(s.Header), s.Length)
			}
			_, _ = s.In.String(), s.Out.String()
		}
		if n > len(b)/24 || octets > len(b) {
			t.Fatalf("%d samples, %d octets of %d", n, octets, len(b))
		}
		if d.Next(&s) {
			t.Fatal("a sample after the last")
		}
	})
}
