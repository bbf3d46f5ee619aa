// SPDX-License-Identifier: Apache-2.0

package link

import (
	"testing"

	"sluice/orchagent-ext/wire/roce"
)

// read are all link types that are read.
var read = []Type{
	Null, Ethernet, PPP, RawBSD, RawOpenBSD, PPPHDLC, PPPEther, Raw, CiscoHDLC, WiFi, Loop, SLL, Prism, Radiotap, AVS, PPPPPPD, PPI, ERF,
	PPPWithDir, MPLS, IPNET, IPv4, IPv6, NFLOG, SLL2,
}

// TestFramesWithoutTheirHeader: a frame that ends inside of its header, or is empty, asks for more
// octets than it has.
func TestFramesWithoutTheirHeader(t *testing.T) {
	for _, l := range read {
		switch l {
		case Ethernet, PPP, PPPEther, MPLS: // of which all is for package roce
			continue
		}
		for _, b := range [][]byte{nil, make([]byte, 3)} {
			at, etherType := Start(l, b)
			if l == Raw || l == RawBSD || l == RawOpenBSD || l == IPv4 || l == IPv6 {
				if b != nil {
					continue
				}
			}
			if etherType == None || at <= len(b) {
				t.Errorf("%v: %d octets: at %d, EtherType %#x", l, len(b), at, etherType)
			}
		}
	}
}

// TestOthersHaveNoStart: frames that carry no packet of a network, and link types that are not
// read.
func TestOthersHaveNoStart(t *testing.T) {
	frame := func(first ...byte) []byte { return append(first, make([]byte, 60)...) }
	inPPI := func(dlt byte) []byte { return frame(0, 0, 8, 0, dlt, 0, 0, 0) }
	for name, tt := range map[string]struct {
		link Type
		b    []byte
	}{
		"InfiniBand":           {InfiniBand, frame()},
		"unknown":              {4711, frame()},
		"AppleTalk":            {Null, frame(16, 0, 0, 0)},
		"novell in SLL":        {SLL, frame(0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 0, 1)},
		"beacon":               {WiFi, frame(0x80)},
		"data without data":    {WiFi, frame(0x48)},
		"encrypted":            {WiFi, frame(0x08, 0x41)},
		"several in one":       {WiFi, append(frame(0x88, 1)[:24], frame(0x80)...)},
		"ERF of InfiniBand":    {ERF, frame(0, 0, 0, 0, 0, 0, 0, 0, 21)},
		"PPI in PPI":           {PPI, inPPI(192)},
		"InfiniBand in PPI":    {PPI, inPPI(247)},
		"NFLOG without packet": {NFLOG, []byte{2, 0, 0, 0, 5, 0, 10, 0, 0, 0, 0, 0}},
	} {
		if at, etherType := Start(tt.link, tt.b); etherType != None {
			t.Errorf("%s: at %d, EtherType %#x", name, at, etherType)
		}
	}
}

func TestTypesHaveNumberAndName(t *testing.T) {
	for l, want := range map[Type]string{ERF: "link type 197 (ERF)", Null: "link type 0 (BSD loopback)", 4711: "link type 4711", 150: "link type 150 (of a user)"} {
		if got := l.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, l := range read {
		if names[l] == "" {
			t.Errorf("%v has no name", l)
		}
	}
}

// FuzzStart: wherever a packet begins, parsing it from there is safe.
func FuzzStart(f *testing.F) {
	for _, l := range read {
		f.Add(uint32(l), make([]byte, 64))
	}
	f.Add(uint32(PPI), []byte{0, 0, 8, 0, 105, 0, 0, 0, 0x88, 1, 0, 0, 2, 0, 0, 0, 0, 0xb})
	f.Add(uint32(ERF), append([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0x82, 4, 0, 90, 0, 0, 0, 60, 0x85, 0, 0, 0, 0, 0, 0, 0, 5}, make([]byte, 60)...))
	f.Add(uint32(NFLOG), []byte{2, 0, 0, 0, 0, 5, 0, 10, 0, 0, 0, 0, 0, 9, 0, 9, 0x45, 0, 0, 0})
	f.Fuzz(func(t *testing.T, l uint32, b []byte) {
		at, etherType := Start(Type(l), b)
		if at < 0 || at > len(b)+1<<16+64 {
			t.Fatalf("%v: at %d of %d", Type(l), at, len(b))
		}
		var p roce.Packet
		if etherType != None && p.ParseFrom(roce.LookThrough, b, at, etherType, len(b)) == nil {
			_, _ = p.LinkHeader(), p.VLANs()
		}
	})
}
