package notify

import (
	"errors"
	"net/netip"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var compareAddr = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

// frameOf builds the sample's frame.
func frameOf(tb testing.TB, s sample) []byte {
	tb.Helper()
	b, err := AppendFrame(nil, s.message, &s.envelope, DefaultCodePoints())
	if err != nil {
		tb.Fatalf("%s: %v", s.name, err)
	}
	return b
}

func TestSamplesRoundTrip(t *testing.T) {
	var p Packet
	for _, s := range samples() {
		if err := p.Parse(frameOf(t, s), DefaultCodePoints()); err != nil {
			t.Errorf("%s: %v", s.name, err)
			continue
		}
		want := s.message
		if m, ok := want.(*PPFC); ok && m.Transport == OverUDP {
			copied := *m // the UDP form is named by its source address
			copied.RouterID = s.envelope.Src
			want = &copied
		}
		if diff := cmp.Diff(want, p.Message(), compareAddr); diff != "" {
			t.Errorf("%s: %s", s.name, diff)
		}
		if p.Envelope.Src != s.envelope.Src || p.Envelope.Dst != s.envelope.Dst || p.Envelope.HopLimit != s.envelope.HopLimit {
			t.Errorf("%s: envelope %+v, want %+v", s.name, p.Envelope, s.envelope)
		}
	}
}

// TestSizes: octets from the ICMP, UDP or options header on.
func TestSizes(t *testing.T) {
	want := map[string]int{
		"pfcm-icmpv6-pause": 44, "pfcm-hop-by-hop": 48, "pfcm-destination-options": 48,
		"ppfc-icmpv6-all": 60, "ppfc-icmpv6-ports": 68, "ppfc-icmpv6-qps": 76,
		"ppfc-icmpv4-all": 24, "ppfc-icmpv4-ports": 32, "ppfc-icmpv4-qps": 40,
		"ppfc-udp6-all": 48, "ppfc-udp6-ports": 56, "ppfc-udp6-qps": 64,
		"ppfc-udp4-all": 24, "ppfc-udp4-ports": 32, "ppfc-udp4-qps": 40,
		"rate-advice-v6": 8 + 32, "rate-advice-v4": 8 + 32, "cnp-v6": 8 + 32, "cnp-v4": 8 + 32,
	}
	for _, s := range samples() {
		if s.message.Kind() == KindPFC {
			continue
		}
		b, err := s.message.AppendPacket(nil, &s.envelope, DefaultCodePoints())
		if err != nil {
			t.Fatal(err)
		}
		header := ipv6Len
		if b[0]>>4 == 4 {
			header = ipv4Len
		}
		if n, ok := want[s.name]; ok && len(b)-header != n {
			t.Errorf("%s: %d octets, want %d", s.name, len(b)-header, n)
		}
		delete(want, s.name)
	}
	if len(want) > 0 {
		t.Errorf("no samples %v", want)
	}
}

// TestCutSamplesAreRefused: no prefix of a message is taken for it, none is
// read with memory of its own, and none makes the parser panic.
func TestCutSamplesAreRefused(t *testing.T) {
	var p Packet
	for _, s := range samples() {
		b, err := s.message.AppendPacket(nil, &s.envelope, DefaultCodePoints())
		if err != nil {
			t.Fatal(err)
		}
		if s.message.Kind() == KindPFC {
			continue
		}
		for n := range b {
			allocations := testing.AllocsPerRun(1, func() { err = p.ParseIP(b[:n], DefaultCodePoints()) })
			var refused *Error
			if !errors.As(err, &refused) || allocations != 0 {
				t.Errorf("%s: %d of %d octets: %v, %v allocations", s.name, n, len(b), err, allocations)
			}
		}
	}
}

func TestQuanta(t *testing.T) {
	for _, tt := range []struct {
		us, mbps uint32
		want     uint16
	}{
		{10, 10_000, 196}, {10, 25_000, 489}, {10, 100_000, 1954}, {10, 400_000, 7813}, {10, 800_000, 15625},
		{65535, 100_000, MaxQuanta}, {0, 100_000, 0}, {10, 0, 0}, {1, 1, 1},
	} {
		if got := Quanta(tt.us, tt.mbps); got != tt.want {
			t.Errorf("%d µs at %d Mbit/s: %d quanta, want %d", tt.us, tt.mbps, got, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range samples() {
		f.Add(frameOf(f, s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var p, again Packet
		if err := p.Parse(b, DefaultCodePoints()); err != nil {
			return
		}
		// What is to be obeyed can be said again, and means the same.
		m := reflect.ValueOf(p.Message()).Elem().Interface().(Message)
		said, err := AppendFrame(nil, m, &p.Envelope, DefaultCodePoints())
		if err != nil {
			t.Fatalf("%+v: %v", m, err)
		}
		if err := again.Parse(said, DefaultCodePoints()); err != nil {
			t.Fatalf("%+v: %v", m, err)
		}
		if diff := cmp.Diff(p.Message(), again.Message(), compareAddr); diff != "" {
			t.Fatal(diff)
		}
	})
}
