// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"encoding"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

//conformance:draft-yang/pfc-quanta
func TestQuantaFollowTimeAndSpeed(t *testing.T) {
	for _, tt := range []struct {
		us, mbps uint32
		want     uint16
	}{
		{10, 10_000, 196}, {10, 25_000, 489}, {10, 100_000, 1954}, {10, 400_000, 7813}, {10, 800_000, 15625},
		{0, 100_000, 0}, {10, 0, 0}, {1, 1, 1}, {1, 512, 1}, {1, 513, 2},
		{335, 100_000, 65430}, {336, 100_000, MaxQuanta}, {84, 400_000, MaxQuanta},
		{65535, 800_000, MaxQuanta}, {1<<32 - 1, 1<<32 - 1, MaxQuanta},
	} {
		if got := Quanta(tt.us, tt.mbps); got != tt.want {
			t.Errorf("%d µs at %d Mbit/s: %d quanta, want %d", tt.us, tt.mbps, got, tt.want)
		}
	}
	// The longest single pause.
	for mbps, want := range map[uint32]time.Duration{0: 0, 100_000: 335539 * time.Nanosecond, 400_000: 83884 * time.Nanosecond} {
		if got := QuantaDuration(MaxQuanta, mbps); got != want {
			t.Errorf("longest pause at %d Mbit/s: %v, want %v", mbps, got, want)
		}
	}
}

// TestQuantaPauseLongEnough: a pause in quanta is never shorter than asked, and
// not longer by a whole one.
//
//conformance:draft-yang/pfc-quanta
func TestQuantaPauseLongEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		us, mbps := rapid.Uint32Max(65535).Draw(t, "us"), rapid.Uint32Range(1, 800_000).Draw(t, "mbps")
		q := Quanta(us, mbps)
		if q == MaxQuanta {
			return
		}
		bits, asked := uint64(q)*512, uint64(us)*uint64(mbps)
		if bits < asked || bits-asked >= 512 {
			t.Fatalf("%d µs at %d Mbit/s: %d quanta", us, mbps, q)
		}
		if d := QuantaDuration(q, mbps); d < time.Duration(us)*time.Microsecond {
			t.Fatalf("%d µs at %d Mbit/s: %d quanta last %v", us, mbps, q, d)
		}
	})
}

//conformance:draft-yang/action draft-yang/percent
func TestActionKeepsTheReductionOf6Bits(t *testing.T) {
	for _, tt := range []struct {
		percent int
		want    Action
		text    string
	}{
		{-1, 0x80, "reduce 0%"}, {0, 0x80, "reduce 0%"}, {1, 0x81, "reduce 1%"}, {50, 0xb2, "reduce 50%"},
		{63, 0xbf, "reduce 63%"}, {64, 0xbf, "reduce 63%"}, {99, 0xbf, "reduce 63%"}, {100, 0x40, "pause"}, {1000, 0x40, "pause"},
	} {
		if got := Reduce(tt.percent); got != tt.want || got.String() != tt.text {
			t.Errorf("by %d %%: %#02x %q, want %#02x %q", tt.percent, uint8(got), got, uint8(tt.want), tt.text)
		}
	}
	for a, want := range map[Action]struct {
		typ     ActionType
		percent int
	}{
		Cancel: {NoBackpressure, 0}, 0x3f: {NoBackpressure, 0}, Pause: {PauseFlow, 100}, 0x7f: {PauseFlow, 100},
		0xbf: {ReduceRate, 63}, 0xc0: {ReservedActionType, 0},
	} {
		if a.Type() != want.typ || a.Percent() != want.percent {
			t.Errorf("%#02x: %v %d, want %v %d", uint8(a), a.Type(), a.Percent(), want.typ, want.percent)
		}
	}
	for _, m := range []PFCM{{Action: Cancel, Time: 9}, {Action: Pause}, {Action: Reduce(50)}} {
		if !m.Cancels() {
			t.Errorf("%v for %d µs does not cancel", m.Action, m.Time)
		}
	}
	for _, m := range []PFCM{{Action: Pause, Time: 1}, {Action: Reduce(0), Time: 1}} {
		if m.Cancels() {
			t.Errorf("%v for %d µs cancels", m.Action, m.Time)
		}
	}
}

//conformance:draft-xz/pt
func TestNamesAreReadAndWritten(t *testing.T) {
	type named interface {
		encoding.TextMarshaler
		encoding.TextUnmarshaler
	}
	for want, v := range map[string]named{
		"icmpv6": new(Encapsulation), "hop-by-hop": new(Encapsulation), "destination-options": new(Encapsulation),
		"icmp": new(Transport), "udp": new(Transport), "all": new(FlowForm), "ports": new(FlowForm), "qps": new(FlowForm),
		"stop": new(PT), "resume": new(PT), "alarm": new(PT), "hold": new(PT),
	} {
		if err := v.UnmarshalText([]byte(want)); err != nil {
			t.Errorf("%q: %v", want, err)
		}
		if got, _ := v.MarshalText(); string(got) != want {
			t.Errorf("%q became %q", want, got)
		}
		if err := v.UnmarshalText([]byte("nonsense")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v does not name the choice", want, err)
		}
	}
	for bits, want := range []string{"stop", "resume", "alarm", "hold"} { // draft-xz section 4.1: 00, 01, 10, 11
		if got := PT(bits).String(); got != want {
			t.Errorf("PT %02b is %q, want %q", bits, got, want)
		}
	}
}

func TestErrorsHaveOneLabelEach(t *testing.T) {
	labels := map[string]bool{}
	for r := range numReasons {
		if r.String() == "" || r.Label() == "" || labels[r.Label()] || strings.ContainsAny(r.Label(), " _") {
			t.Errorf("reason %d: %q, label %q", r, r, r.Label())
		}
		labels[r.Label()] = true
	}
	err := fail(KindPFCM, BadHopLimit)
	if err.Error() != "pfcm: hop limit is not 255" {
		t.Errorf("%v", err)
	}
	if err := fail(KindNone, Short); err.Error() != "packet: ends too early" {
		t.Errorf("%v", err)
	}
	if fail(KindPFCM, Accepted) != nil || errors.Is(err, ErrNotNotification) {
		t.Error("accepted is an error, or an error is no notification")
	}
}

func TestFieldsOfMessagesAreShown(t *testing.T) {
	for name, want := range map[string]string{
		"pfcm-icmpv6-reduce": "message=pfcm eth_dst=00:00:5e:00:53:02 eth_src=00:00:5e:00:53:01 dscp=48 ecn=0 flow_label=0 hop_limit=255" +
			" src=fe80::200:5eff:fe00:5301 dst=fe80::200:5eff:fe00:5302 encapsulation=icmpv6 stream_id=4660 queue_id=3" +
			" action=reduce reduction_percent=50 time_us=1000 destination=2001:db8:b::22 source=2001:db8:a::11",
		"ppfc-udp4-ports": "message=ppfc eth_dst=00:00:5e:00:53:02 eth_src=00:00:5e:00:53:01 dscp=48 ecn=0 hop_limit=64" +
			" src=203.0.113.1 dst=203.0.113.2 sport=49152 transport=udp flags=0 pt=stop priority=26 congestion_qid=3 pause_duration_us=1000" +
			" source=192.0.2.11 destination=198.51.100.22 router_id=203.0.113.1 flow=ports flow_protocol=17 flow_sport=49153 flow_dport=4791",
		"pfc-pause": "message=pfc eth_dst=01:80:c2:00:00:01 eth_src=00:00:5e:00:53:01 priorities=[3] quanta=[0 0 0 1954 0 0 0 0]",
	} {
		var p Packet
		if err := p.Parse(frameOf(t, sampleOf(t, name)), DefaultCodePoints()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, p.Fields().String()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	f := Fields{}.add("z", 1).add("a", []int{2}).add("addr", node4)
	if b, err := json.Marshal(f); err != nil || string(b) != `{"z":1,"a":[2],"addr":"203.0.113.1"}` {
		t.Errorf("%s, %v", b, err)
	}
}

// TestNoAllocation covers building, reading, and reading what is refused.
func TestNoAllocation(t *testing.T) {
	c := DefaultCodePoints()
	var p Packet
	buf := make([]byte, 0, 256)
	for _, s := range samples() {
		frame := frameOf(t, s)
		var err error
		if n := testing.AllocsPerRun(10, func() { _, err = AppendFrame(buf, s.message, &s.envelope, c) }); n != 0 || err != nil {
			t.Errorf("%s: building: %v allocations, %v", s.name, n, err)
		}
		if n := testing.AllocsPerRun(10, func() { err = p.Parse(frame, c) }); n != 0 || err != nil {
			t.Errorf("%s: reading: %v allocations, %v", s.name, n, err)
		}
		for i := range frame {
			frame[i] ^= 0xff
			if n := testing.AllocsPerRun(1, func() { _ = p.Parse(frame, c) }); n != 0 {
				t.Errorf("%s: reading with octet %d changed: %v allocations", s.name, i, n)
			}
			if n := testing.AllocsPerRun(1, func() { _ = p.Parse(frame[:i], c) }); n != 0 {
				t.Errorf("%s: reading %d octets: %v allocations", s.name, i, n)
			}
			frame[i] ^= 0xff
		}
	}
}
