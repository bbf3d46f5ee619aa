// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/roce"
)

var (
	host1 = netip.MustParseAddr("2001:db8::1").As16()
	host2 = netip.MustParseAddr("2001:db8::2").As16()
)

// frame is a packet of the queue pair with the flow label.
func frame(t testing.TB, qp, label uint32) Frame {
	t.Helper()
	b := roce.Ethernet{EtherType: roce.EtherTypeIPv6}.Append(nil)
	ip := len(b)
	b = roce.IPv6Header{FlowLabel: label, NextHeader: 17, HopLimit: 64, Src: host1, Dst: host2}.Append(b)
	return finish(t, b, ip, qp)
}

func frame4(t testing.TB, qp uint32) Frame {
	t.Helper()
	b := roce.Ethernet{EtherType: roce.EtherTypeIPv4}.Append(nil)
	ip := len(b)
	b = roce.IPv4Header{TTL: 64, Protocol: 17, Src: [4]byte{192, 0, 2, 1}, Dst: [4]byte{192, 0, 2, 2}}.Append(b)
	return finish(t, b, ip, qp)
}

func finish(t testing.TB, b []byte, ip int, qp uint32) Frame {
	t.Helper()
	b = roce.UDPHeader{SrcPort: 49152, DstPort: roce.UDPPort}.Append(b)
	b = roce.BTH{Opcode: roce.RCSendMiddle, PKey: 0xffff, DestQP: qp}.Append(b)
	b, err := roce.Finish(append(b, make([]byte, 64)...), ip)
	if err != nil {
		t.Fatal(err)
	}
	return Frame{Data: b, Length: len(b)}
}

// tunnel puts the packet into an IPv6 packet.
func tunnel(f Frame) Frame {
	inner := f.Data[14:]
	b := append([]byte{}, f.Data[:14]...)
	b = roce.IPv6Header{NextHeader: 41, HopLimit: 64, PayloadLength: uint16(len(inner)), Src: host2, Dst: host1}.Append(b)
	b = append(b, inner...)
	return Frame{Data: b, Length: len(b)}
}

// bursts is a source of a few bursts, behind which the reader is ended.
type bursts struct {
	bursts [][]Frame
	cancel context.CancelFunc
}

func (s *bursts) Receive(ctx context.Context, frames []Frame) (int, error) {
	if len(s.bursts) == 0 {
		s.cancel()
		return 0, ctx.Err()
	}
	n := copy(frames, s.bursts[0])
	s.bursts = s.bursts[1:]
	return n, nil
}

func run(t *testing.T, c Config, b ...[]Frame) (*Reader, []NewFlow) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := New(&bursts{b, cancel}, c)
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	var news []NewFlow
	for len(r.News()) > 0 {
		news = append(news, <-r.News())
	}
	return r, news
}

func label(qp uint32) uint32 { return flow.DraftLiteral.Label(0, qp, host1, host2) }

func TestTellsOfFlowsThatAreSeenTwice(t *testing.T) {
	a, b := frame(t, 0x11, 0), frame(t, 0x22, 0)
	a.From, b.To = 7, 8
	r, news := run(t, Config{Labels: true, ZeroOnly: true},
		[]Frame{a, b, frame(t, 0x33, 7), frame(t, 0x33, 7), frame4(t, 0x44), frame4(t, 0x44), tunnel(frame(t, 0x55, 0)), frame(t, 0x66, 0)},
		[]Frame{{Data: []byte{1, 2, 3}, Length: 3}, {Data: a.Data[:60], Length: a.Length}, a, b, a, a})
	src, dst := netip.AddrFrom16(host1), netip.AddrFrom16(host2)
	want := []NewFlow{{src, dst, 0x11, label(0x11), 7, 0, 2, 49152}, {src, dst, 0x22, label(0x22), 0, 8, 2, 49152}, {src, dst, 0x11, label(0x11), 7, 0, 4, 49152}}
	if diff := cmp.Diff(want, news, cmp.Comparer(func(x, y netip.Addr) bool { return x == y })); diff != "" {
		t.Error(diff)
	}
	s := r.Stats()
	if diff := cmp.Diff(Stats{RoCE: 12, Tunnelled: 1, Malformed: 2, SeenOnce: 3, NewFlows: 3, FlowsKnown: 6}, s); diff != "" {
		t.Error(diff)
	}
}

// Flows are reported with or without a source queue pair; in a tunnel by their session.
func TestReportsFlowsThatHaveNoSourceQueuePair(t *testing.T) {
	var got []Pair
	run(t, Config{Learned: func(p Pair) { got = append(got, p) }}, []Frame{frame(t, 0x11, 0), tunnel(frame(t, 0x55, 0))})
	src, dst := netip.AddrFrom16(host1), netip.AddrFrom16(host2)
	want := []Pair{{Src: src, Dst: dst, DestQP: 0x11, SrcPort: 49152, PKey: 0xffff}, {Src: src, Dst: dst, DestQP: 0x55, SrcPort: 49152, PKey: 0xffff}}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(x, y netip.Addr) bool { return x == y })); diff != "" {
		t.Error(diff)
	}
}

// Where the switch computes labels, packets come with them. Those with a label of their
// sender's are left alone, and so are datagrams.
func TestTellsOfFlowsWithTheComputedLabel(t *testing.T) {
	own := frame(t, 0x33, 7)
	for zeroOnly, want := range map[bool][]uint32{true: {0x11, 0x22}, false: {0x11, 0x22, 0x33}} {
		_, news := run(t, Config{Labels: true, Computed: true, ZeroOnly: zeroOnly},
			[]Frame{frame(t, 0x11, label(0x11)), frame(t, 0x22, 0), own}, []Frame{frame(t, 0x11, label(0x11)), frame(t, 0x22, 0), own})
		var got []uint32
		for _, n := range news {
			got = append(got, n.DestQP)
			if n.Label != label(n.DestQP) || n.SrcPort != 49152 {
				t.Errorf("%+v, want label %#x", n, label(n.DestQP))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("zero-only %v: told of %#x, want %#x", zeroOnly, got, want)
		}
	}
}

func TestAlwaysTellsOfLabelledFlowsToo(t *testing.T) {
	_, news := run(t, Config{Labels: true}, []Frame{frame(t, 0x33, 7), frame(t, 0x33, 7)})
	if len(news) != 1 || news[0].Label != label(0x33) {
		t.Errorf("%v", news)
	}
}

// TestZeroSrcQP: a queue pair that is known by RDMA-CM counts as 0 where the
// operator wants that.
func TestZeroSrcQP(t *testing.T) {
	for _, zero := range []bool{false, true} {
		r := New(nil, Config{Labels: true, ZeroSrcQP: zero})
		r.burst([]Frame{cm(t, 0x10, 0x77, host1, host2), cm(t, 0x13, 0x11, host2, host1), frame(t, 0x11, 0), frame(t, 0x11, 0)})
		told := false
		for len(r.news) > 0 {
			n := <-r.news
			want := flow.DraftLiteral.Label(0x77, 0x11, host1, host2)
			if zero {
				want = label(0x11)
			}
			told = told || n.DestQP == 0x11
			if n.DestQP == 0x11 && n.Label != want {
				t.Errorf("zero %v: label %#x, want %#x", zero, n.Label, want)
			}
		}
		if !told {
			t.Errorf("zero %v: no news", zero)
		}
	}
}

// cm is a REQ (0x10) or REP (0x13) of RDMA-CM with the sender's queue pair.
func cm(t *testing.T, attribute byte, qp uint32, src, dst [16]byte) Frame {
	t.Helper()
	b := roce.Ethernet{EtherType: roce.EtherTypeIPv6}.Append(nil)
	ip := len(b)
	b = roce.IPv6Header{NextHeader: 17, HopLimit: 64, Src: src, Dst: dst}.Append(b)
	b = roce.UDPHeader{SrcPort: 49152, DstPort: roce.UDPPort}.Append(b)
	bth := len(b)
	b = roce.BTH{Opcode: roce.UDSendOnly, PKey: 0xffff, DestQP: 1}.Append(b)
	b = roce.DETH{QKey: 0x80010000, SrcQP: 1}.Append(b)
	b = append(b, make([]byte, 256)...)
	m := b[bth:]
	m[20], m[21], m[22], m[23] = 1, 7, 2, 3 // base version, class CM, class version 2, Send
	m[20+17] = attribute
	m[44+3] = 5 // local communication id
	at := 76
	if attribute == 0x13 {
		m[44+3], m[48+3] = 6, 5
		at = 56
	}
	m[at], m[at+1], m[at+2] = byte(qp>>16), byte(qp>>8), byte(qp)
	b, err := roce.Finish(b, ip)
	if err != nil {
		t.Fatal(err)
	}
	return Frame{Data: b, Length: len(b)}
}

// TestAFullQueueLosesNothingForGood: what was dropped is counted, and told again.
func TestAFullQueueLosesNothingForGood(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	a, b := frame(t, 0x11, 0), frame(t, 0x22, 0)
	r := New(&bursts{[][]Frame{{a, b, a, b}}, cancel}, Config{Labels: true, Queue: 1})
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if s := r.Stats(); s.NewFlows != 1 || s.QueueFull != 1 {
		t.Errorf("%+v", s)
	}
	<-r.News()
	ctx, cancel = context.WithCancel(context.Background())
	r.source = &bursts{[][]Frame{{b, b}}, cancel}
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if n := <-r.News(); n.DestQP != 0x22 {
		t.Errorf("%+v", n)
	}
}

// TestTellsOfMoves: a flow that comes in by another port is told of again, also
// where the first time was lost.
func TestTellsOfMoves(t *testing.T) {
	r := New(nil, Config{Labels: true, Queue: 1})
	f := frame(t, 0x11, 0)
	for i, tt := range []struct{ from, to, wantFrom, wantTo uint64 }{
		{7, 0, 0, 0}, {7, 0, 7, 0}, {7, 0, 0, 0}, // the third packet says nothing new
		{7, 0, 7, 0}, {8, 0, 8, 0}, {0, 0, 0, 0}, {8, 3, 8, 3}, {8, 3, 8, 3}, {8, 0, 0, 0},
	} {
		f.From, f.To = tt.from, tt.to
		r.burst([]Frame{f})
		var got NewFlow
		if len(r.news) > 0 {
			got = <-r.news
		}
		if got.From != tt.wantFrom || got.To != tt.wantTo {
			t.Errorf("packet %d by %d to %d: told of %d and %d", i+1, tt.from, tt.to, got.From, got.To)
		}
	}
	f.From = 9
	r.burst([]Frame{f, frame(t, 0x22, 0), frame(t, 0x22, 0), f}) // the queue has room for one
	if got := <-r.news; got.From != 9 || len(r.news) > 0 {
		t.Errorf("%+v", got)
	}
	r.burst([]Frame{f, frame(t, 0x33, 0), frame(t, 0x33, 0)})
	f.From = 10
	r.burst([]Frame{f})
	if got := <-r.news; got.DestQP != 0x33 {
		t.Errorf("%+v", got)
	}
	r.burst([]Frame{f})
	if got := <-r.news; got.From != 10 {
		t.Errorf("%+v", got)
	}
}

func TestForgetsIdleFlows(t *testing.T) {
	now := time.Unix(1000, 0)
	r, _ := run(t, Config{Idle: time.Minute, Now: func() time.Time { now = now.Add(50 * time.Second); return now }},
		[]Frame{frame(t, 0x11, 0)}, []Frame{frame(t, 0x22, 0)}, []Frame{frame(t, 0x22, 0)})
	if s := r.Stats(); s.FlowsKnown != 1 {
		t.Errorf("%d flows are known", s.FlowsKnown)
	}
}

func TestErrorsEndTheRun(t *testing.T) {
	broken := errors.New("broken")
	r := New(failing{broken}, Config{})
	if err := r.Run(context.Background()); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

type failing struct{ err error }

func (f failing) Receive(context.Context, []Frame) (int, error) { return 0, f.err }

func TestNoAllocations(t *testing.T) {
	r := New(nil, Config{Labels: true})
	var burst []Frame
	for i := range uint32(flow.MaxBurst) {
		burst = append(burst, frame(t, i, 0))
	}
	if n := testing.AllocsPerRun(100, func() { r.burst(burst) }); n != 0 {
		t.Errorf("%v allocations a burst", n)
	}
}

func BenchmarkBurst(b *testing.B) {
	r := New(nil, Config{Labels: true, ZeroOnly: true})
	var burst []Frame
	for i := range uint32(flow.MaxBurst) {
		burst = append(burst, frame(b, i, 7))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r.burst(burst)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/flow.MaxBurst, "ns/packet")
}
