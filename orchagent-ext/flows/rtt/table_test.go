// SPDX-License-Identifier: Apache-2.0

package rtt

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"sluice/orchagent-ext/wire/roce"
)

const (
	begin = int64(1e18)
	ms    = int64(time.Millisecond)
	qpA   = 0xa1
	qpB   = 0xb2
)

var hostA, hostB = netip.MustParseAddr("2001:db8::a"), netip.MustParseAddr("2001:db8::b")

// pass shows a packet between A and B, of the queue pair that the other one has.
func (t *Table) pass(tb testing.TB, forward bool, op roce.Opcode, psn uint32, ask bool, now int64) {
	tb.Helper()
	src, dst, from, to := hostA, hostB, uint32(qpA), uint32(qpB)
	if !forward {
		src, dst, from, to = dst, src, to, from
	}
	b := roce.BTH{Opcode: op, PKey: 0xffff, DestQP: to, PSN: psn, AckReq: ask}.Append(header(src, dst))
	switch op {
	case roce.RCReadRequest:
		b = roce.RETH{Length: 4096}.Append(b)
	case roce.RCAck, roce.RCReadResponseFirst, roce.RCReadResponseLast:
		b = roce.AETH{}.Append(b)
	}
	t.packet(tb, b, src, dst, from, now)
}

// manage shows a message of RDMA-CM.
func (t *Table) manage(tb testing.TB, forward bool, m roce.CM, now int64) {
	tb.Helper()
	src, dst := hostA, hostB
	if !forward {
		src, dst = dst, src
	}
	b := roce.BTH{Opcode: roce.UDSendOnly, PKey: 0xffff, DestQP: 1}.Append(header(src, dst))
	t.packet(tb, m.Append(b), src, dst, 0, now)
}

func header(src, dst netip.Addr) []byte {
	b := roce.IPv6Header{NextHeader: 17, HopLimit: 64, Src: src.As16(), Dst: dst.As16()}.Append(nil)
	return roce.UDPHeader{SrcPort: 0xc000, DstPort: roce.UDPPort}.Append(b)
}

func (t *Table) packet(tb testing.TB, b []byte, src, dst netip.Addr, srcQP uint32, now int64) {
	tb.Helper()
	b, err := roce.Finish(b, 0)
	if err != nil {
		tb.Fatal(err)
	}
	var p roce.Packet
	if err := p.ParseIP(b, len(b)); err != nil {
		tb.Fatal(err)
	}
	t.Packet(&p, src.As16(), dst.As16(), srcQP, now)
}

func (t *Table) of(tb testing.TB, addr netip.Addr) Host {
	tb.Helper()
	for _, h := range t.AppendHosts(nil) {
		if h.Addr == addr {
			return h
		}
	}
	tb.Fatalf("no time of %s: %+v", addr, t.AppendHosts(nil))
	return Host{}
}

// Each exchange takes longer than the path by a random time; the least ones are the path's.
func TestTimesOfExchanges(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, tt := range []struct {
		name   string
		from   Source
		play   func(tab *Table, psn uint32, now, took int64)
		host   netip.Addr
		others int
	}{
		{"a write and its acknowledgement", Answer, func(tab *Table, psn uint32, now, took int64) {
			tab.pass(t, true, roce.RCWriteMiddle, psn-1, false, now-ms)
			tab.pass(t, true, roce.RCSendLast, psn, true, now)
			tab.pass(t, false, roce.RCAck, psn-1, false, now+1000)
			tab.pass(t, false, roce.RCAck, psn, false, now+took)
		}, hostB, 0},
		{"a read and its response", Answer, func(tab *Table, psn uint32, now, took int64) {
			tab.pass(t, false, roce.RCReadRequest, psn, false, now)
			tab.pass(t, true, roce.RCReadResponseFirst, psn, false, now+took)
			tab.pass(t, true, roce.RCReadResponseLast, psn+3, false, now+took+ms)
		}, hostA, 0},
		{"a connection", CM, func(tab *Table, id uint32, now, took int64) {
			tab.manage(t, true, roce.CM{Attribute: roce.CMReq, LocalCommID: id, LocalQPN: qpA}, now)
			tab.manage(t, false, roce.CM{Attribute: roce.CMRep, LocalCommID: id + 7, RemoteCommID: id, LocalQPN: qpB}, now+2*took)
			tab.manage(t, true, roce.CM{Attribute: roce.CMRtu, LocalCommID: id, RemoteCommID: id + 7}, now+3*took)
		}, hostA, 1},
	} {
		tab, now := New(), begin
		for i := range uint32(200) {
			now += 30 * ms
			tt.play(tab, 1000+40*i, now, 2*ms+random.Int64N(10*ms))
		}
		h := tab.of(t, tt.host)
		if len(tab.AppendHosts(nil)) != 1+tt.others || h.From != tt.from || h.Samples != 200 || h.Time < 2*time.Millisecond || h.Time > 2400*time.Microsecond {
			t.Errorf("%s: %+v", tt.name, tab.AppendHosts(nil))
		}
	}
}

// One sample that is too low moves nothing; a path that gets longer or shorter shows within a window
// and a half.
func TestTimeFollowsThePath(t *testing.T) {
	tab := New()
	now := begin
	for _, tt := range []struct {
		path, seconds int64
		want          time.Duration
	}{{5 * ms, 20, 5 * time.Millisecond}, {20 * ms, 16, 20 * time.Millisecond}, {1 * ms, 1, time.Millisecond}} {
		for i := range tt.seconds * 100 {
			now += 10 * ms
			sample := tt.path + i%7*ms
			if i%600 == 300 {
				sample = 1000 // forged, or read late
			}
			tab.Add(hostA, sample, Answer, now)
		}
		if h := tab.of(t, hostA); h.Time != tt.want || !h.Fresh(now) || h.Fresh(now+int64(Stale)) {
			t.Errorf("path of %d ms: %+v", tt.path/ms, h)
		}
	}
}

// Answers replace what was measured otherwise; that counts where answers have ended.
func TestExactSourcesReplaceOthers(t *testing.T) {
	tab := New()
	tab.Add(hostA, 40*ms, Advice, begin)
	tab.Add(hostA, 9*ms, CM, begin+1)
	tab.Add(hostA, 2*ms, Answer, begin+2)
	tab.Add(hostA, 1*ms, CM, begin+3)
	if h := tab.of(t, hostA); h.Time != 2*time.Millisecond || h.From != Answer || h.Samples != 1 || h.Fresh(begin+3) {
		t.Errorf("%+v", h)
	}
	tab.Add(hostA, 30*ms, Advice, begin+2+int64(Stale))
	if h := tab.of(t, hostA); h.Time != 30*time.Millisecond || h.From != Advice {
		t.Errorf("%+v", h)
	}
}

// TestClockThatIsSetBack by an hour: times from before are not used, a less exact source may come, and new hosts have
// room; within [Stale] all stays.
func TestClockThatIsSetBack(t *testing.T) {
	const hour = int64(time.Hour)
	for back, old := range map[int64]bool{hour: true, int64(Stale): true, int64(Stale) - 1: false} {
		now := begin - back
		tab := New()
		for i := range MostHosts {
			addr := netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)})
			tab.Add(addr, ms, Answer, begin)
			tab.Add(addr, ms, Answer, begin)
		}
		h := tab.AppendHosts(nil)[0]
		if h.Fresh(now) == old {
			t.Errorf("back by %d ns: fresh is %v", back, old)
		}
		tab.Add(h.Addr, 2*ms, CM, now)
		if got := tab.of(t, h.Addr); (got.From == CM) != old {
			t.Errorf("back by %d ns: %+v", back, got)
		}
		tab.Add(hostA, ms, Answer, now)
		if full := tab.Counters().Full == 1; full == old {
			t.Errorf("back by %d ns: full is %v", back, full)
		}
	}
}

// What no path does is refused, and counted; memory is bounded for any sender.
func TestHostileInputIsBounded(t *testing.T) {
	tab := New()
	tab.Add(hostA, -ms, Answer, begin)
	tab.Add(hostA, int64(Least)-1, Answer, begin)
	tab.Add(hostA, int64(Most)+1, Answer, begin)
	if n := tab.AppendHosts(nil); len(n) != 0 || tab.Counters() != (Counters{Short: 2, Long: 1}) {
		t.Errorf("%+v, %+v", n, tab.Counters())
	}
	tab.pass(t, true, roce.RCSendOnly, 5, true, begin)
	tab.pass(t, true, roce.RCSendOnly, 5, true, begin+ms) // again
	tab.pass(t, true, roce.RCSendOnly, 5, true, begin+2*ms)
	tab.pass(t, false, roce.RCAck, 5, false, begin+3*ms)
	tab.pass(t, false, roce.RCAck, 6, false, begin+3*ms) // nothing asked for it
	if n := tab.AppendHosts(nil); len(n) != 0 || tab.Counters().Repeated != 2 {
		t.Errorf("%+v, %+v", n, tab.Counters())
	}
	spoofed := hostA.As16()
	allocs := testing.AllocsPerRun(1, func() {
		for i := range uint32(50_000) {
			spoofed[4], spoofed[5], spoofed[6] = byte(i>>16), byte(i>>8), byte(i)
			tab.Add(netip.AddrFrom16(spoofed), ms, Answer, begin+int64(i))
		}
	})
	if n := len(tab.AppendHosts(nil)); n != MostHosts || tab.Counters().Full == 0 {
		t.Errorf("%d hosts, %+v, %v allocations", n, tab.Counters(), allocs)
	}
	later := begin + 2*int64(Stale)
	if tab.Add(hostB, ms, Answer, later); tab.of(t, hostB).At != later || len(tab.AppendHosts(nil)) != MostHosts {
		t.Error("a silent host keeps its place")
	}
}

// A sender that obeys shows its round trip, to an interval; one that pauses, or does not obey, shows
// nothing.
func TestReactionShowsTheRoundTrip(t *testing.T) {
	const interval = 10 * ms
	for name, tt := range map[string]struct {
		rate func(at int64) uint32 // since the advice
		want time.Duration         // 0: none
	}{
		"obeys after 45 ms":          {func(at int64) uint32 { return map[bool]uint32{true: 1000, false: 400}[at < 45*ms] }, 45 * time.Millisecond},
		"obeys within an interval":   {func(at int64) uint32 { return 400 }, 0},
		"pauses":                     {func(at int64) uint32 { return map[bool]uint32{true: 1000, false: 0}[at < 45*ms] }, 0},
		"does not obey":              {func(int64) uint32 { return 1000 }, 0},
		"falls to half of the way":   {func(at int64) uint32 { return map[bool]uint32{true: 1000, false: 700}[at < 45*ms] }, 0},
		"obeys, and paused meantime": {func(at int64) uint32 { return map[bool]uint32{true: 0, false: 400}[at < 45*ms] }, 0},
	} {
		var r Reaction
		r.Advised(begin, 1000, 900) // too little to be seen
		r.Advised(begin, 1000, 400)
		var got int64
		for now := begin + interval; now < begin+500*ms; now += interval {
			sum := uint32(0) // of the interval, by ms
			for at := now - interval; at < now; at += ms {
				sum += tt.rate(at-begin) / 10
			}
			if took, ok := r.Came(now, interval, sum); ok {
				got = took
			}
		}
		if off := time.Duration(got) - tt.want; (tt.want == 0) != (got == 0) || off.Abs() > time.Duration(interval) {
			t.Errorf("%s: %v, want %v", name, time.Duration(got), tt.want)
		}
	}
}
