// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"encoding/binary"
	"runtime"
	"slices"
	"testing"
	"time"

	"sluice/orchagent-ext/export/ipfix"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/testbed/ipfixtest"
	"sluice/orchagent-ext/wire/roce"
)

// sends is the packets of SENDs of one packet each, from PSN 0 on, without those that are
// lost.
func sends(t testing.TB, qp uint32, n int, lost ...int) (frames []Frame) {
	t.Helper()
	gone := map[int]bool{}
	for _, psn := range lost {
		gone[psn] = true
	}
	for psn := range n {
		b := roce.Ethernet{EtherType: roce.EtherTypeIPv6}.Append(nil)
		ip := len(b)
		b = roce.IPv6Header{TrafficClass: 3, FlowLabel: 9, NextHeader: 17, HopLimit: 64, Src: host1, Dst: host2}.Append(b)
		b = roce.UDPHeader{SrcPort: 49152, DstPort: roce.UDPPort}.Append(b)
		b = roce.BTH{Opcode: roce.RCSendOnly, PKey: 0xffff, DestQP: qp, PSN: uint32(psn)}.Append(b)
		b, err := roce.Finish(append(b, make([]byte, 64)...), ip)
		if err != nil {
			t.Fatal(err)
		}
		if !gone[psn] {
			frames = append(frames, Frame{Data: b, Length: len(b), From: 7, To: 8})
		}
	}
	return frames
}

// follower is a reader that follows connections, whose clock the test sets.
type follower struct {
	*Reader
	now time.Time
}

func follow(c Config) *follower {
	f := &follower{now: time.Unix(1000, 0)}
	c.Now = func() time.Time { return f.now }
	f.Reader = New(nil, c)
	return f
}

// see gives the reader bursts of the frames, one a millisecond.
func (f *follower) see(frames []Frame) {
	for len(frames) > 0 {
		n := min(len(frames), flow.MaxBurst-1)
		f.burst(frames[:n])
		frames = frames[n:]
		f.now = f.now.Add(time.Millisecond)
	}
}

// fares returns what is reported of the queue pairs, once the reader had time for it.
func (f *follower) fares(t *testing.T) map[uint32]FlowHealth {
	t.Helper()
	f.Report() // asks
	f.now = f.now.Add(2 * time.Second)
	f.burst(nil)
	f.Report() // takes what was asked for earlier, and asks again
	f.now = f.now.Add(2 * time.Second)
	f.burst(nil)
	r := f.Report()
	if r == nil {
		t.Fatal("there is no report")
	}
	flows := map[uint32]FlowHealth{}
	for _, one := range r.Flows {
		flows[one.DestQP] = one
	}
	return flows
}

// TestReportsGapsWhereEveryPacketComes, and how it is with samples: what each packet says
// alone.
func TestReportsGapsWhereEveryPacketComes(t *testing.T) {
	for _, whole := range []bool{true, false} {
		f := follow(Config{Health: &Health{Whole: whole}})
		f.see(sends(t, 0x11, 100, 20, 21, 50))
		f.see(sends(t, 0x22, 10))
		got := f.fares(t)
		one := got[0x11]
		if one.Packets != 97 || one.CE != 97 || one.Src != host1 || one.FlowLabel != 9 || one.SrcPort != 49152 || one.In != 7 || one.Out != 8 || len(got) != 2 {
			t.Errorf("whole %v: %+v of %d", whole, one, len(got))
		}
		gaps, missing, messages, payload := uint64(2), uint64(3), uint64(97), uint64(97*64)
		if !whole {
			gaps, missing, messages, payload = 0, 0, 0, 0
		}
		if one.Gaps != gaps || one.Missing != missing || one.Lost() != missing || one.Messages != messages || one.Payload != payload || (one.Goodput > 0) != whole {
			t.Errorf("whole %v: %+v", whole, one)
		}
		if got[0x22].Gaps != 0 || got[0x22].Packets != 10 {
			t.Errorf("%+v", got[0x22])
		}
	}
}

// TestExportsHealth of each direction, once in the active timeout and at the end: what PSNs
// say where every packet comes, and never times, which are those of reading.
func TestExportsHealth(t *testing.T) {
	for _, whole := range []bool{true, false} {
		d := ipfixtest.NewDecoder()
		w, err := ipfix.NewWriter(file{d}, ipfix.Process{Health: true})
		if err != nil {
			t.Fatal(err)
		}
		f := follow(Config{Health: &Health{Whole: whole}, Metering: &Metering{MeterConfig: ipfix.MeterConfig{Active: 10 * time.Second}, Export: w.Export, Health: w.ExportHealth}})
		f.see(sends(t, 0x11, 100, 20, 21, 50))
		f.now = f.now.Add(10 * time.Second)
		f.see(sends(t, 0x22, 10))
		f.flush()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var got []ipfixtest.Record
		for _, o := range d.Options {
			if _, ok := o["packetTotalCount"]; ok {
				got = append(got, o)
			}
		}
		if len(got) < 2 || len(got) > 4 || got[0]["rdmaDestinationQP"] != uint64(0x11) || got[len(got)-1]["rdmaDestinationQP"] != uint64(0x22) || len(d.Gaps)+d.Unknown > 0 {
			t.Fatalf("whole %v: %v", whole, got)
		}
		_, gaps := got[0]["rdmaGapTotalCount"]
		_, stalls := got[0]["rdmaStallTotalCount"]
		if got[0]["packetTotalCount"] != uint64(97) || got[0]["cePacketTotalCount"] != uint64(97) || gaps != whole || stalls || whole && got[0]["rdmaMissingPacketTotalCount"] != uint64(3) {
			t.Errorf("whole %v: %v", whole, got[0])
		}
	}
}

// counting is a source that says how many packets it has lost.
type counting struct {
	Source
	lost uint64
}

func (c *counting) RingFull() uint64 { return c.lost }

// TestLossesOnTheWayToTheCPUAreNoGaps: not those that the source counts, also not where
// the packets behind them wait yet; not those of a source that polices; and not before
// copies, which are a part.
func TestLossesOnTheWayToTheCPUAreNoGaps(t *testing.T) {
	f := follow(Config{Health: &Health{Whole: true}})
	source := &counting{}
	f.source = source
	frames := sends(t, 0x11, 300, 250)
	f.see(frames[:10])
	source.lost = 5
	f.burst(frames[10:74])                                            // the ring was full, and is not drained
	f.burst(append(slices.Clone(frames[74:100]), frames[105:143]...)) // here are those that were lost
	f.see(frames[143:])
	if one := f.fares(t)[0x11]; one.Gaps != 1 || one.Missing != 1 || one.Resumed != 1 || one.Duplicates+one.Restarts != 0 {
		t.Errorf("the ring was full: %+v", one)
	}

	f = follow(Config{Health: &Health{Whole: true, Rate: 1000, Burst: 100}})
	frames = sends(t, 0x11, 400, 200, 399-20)
	f.see(frames[:300]) // far more than 1000 a second
	f.now = f.now.Add(time.Second)
	f.see(frames[300:301])
	f.now = f.now.Add(time.Second)
	f.see(frames[350:])
	one := f.fares(t)[0x11]
	if one.Gaps != 2 || one.Resumed != 1 || one.Packets != 349 { // frames[301:350] are missing for a fault of the network
		t.Errorf("too many at once: %+v", one)
	}

	f = follow(Config{Health: &Health{Whole: true}})
	frames = sends(t, 0x11, 30)
	for i := range frames {
		frames[i].Why = Copied
	}
	f.see(frames[:5])
	f.see(frames[10:])
	if one := f.fares(t)[0x11]; one.Gaps != 0 || one.Packets != 25 {
		t.Errorf("copies: %+v", one)
	}
}

// TestReportsManyFlows in parts, so that no burst is held up, and those that found no room
// are counted; idle ones are left out.
func TestReportsManyFlows(t *testing.T) {
	f := follow(Config{Health: &Health{Whole: true}, Idle: 10 * time.Second})
	for qp := range uint32(healthFlows + 10) {
		f.burst([]Frame{frame(t, 2+qp, 7)})
	}
	f.Report()
	bursts := 0
	for ; f.Report() == nil; bursts++ {
		f.now = f.now.Add(time.Millisecond)
		f.burst([]Frame{frame(t, 2, 7)})
		if bursts > 2*healthFlows {
			t.Fatal("there is no report")
		}
	}
	if r := f.Report(); len(r.Flows) != healthFlows || f.Stats().Unfollowed != 10 || bursts < healthFlows/healthBudget {
		t.Errorf("%d flows after %d bursts, %d packets of no flow", len(r.Flows), bursts, f.Stats().Unfollowed)
	}
	f.now = f.now.Add(11 * time.Second)
	f.burst([]Frame{frame(t, 2, 7)})
	if got := f.fares(t); len(got) != 1 || got[2].Packets != uint64(bursts)+2 {
		t.Errorf("%d flows: %+v", len(got), got[2])
	}
}

// TestClockThatIsSetBack by an hour, while a full table follows connections: those without a packet since leave for
// new ones, and are not reported as alive. A clock that is set back by less than they stay ends no report.
func TestClockThatIsSetBack(t *testing.T) {
	f := follow(Config{Health: &Health{Whole: true}, Idle: time.Minute})
	f.now = f.now.Add(2 * time.Hour)
	for qp := range uint32(healthFlows) {
		f.burst([]Frame{frame(t, 2+qp, 7)})
	}
	f.now = f.now.Add(-time.Hour)
	const fresh = 2 + healthFlows
	f.burst([]Frame{frame(t, 2, 7), frame(t, fresh, 7)})
	if got := f.fares(t); len(got) != 2 || got[2].Packets != 2 || got[fresh].Packets != 1 || f.Stats().Unfollowed != 0 {
		t.Errorf("%d connections, the live one %+v, the new one %+v, %d packets of none", len(got), got[2].Counters, got[fresh].Counters, f.Stats().Unfollowed)
	}
	f.now = f.now.Add(-30 * time.Second) // less than the idle time
	f.burst(nil)
	if got := f.fares(t); len(got) != 2 {
		t.Errorf("%d connections after half a minute", len(got))
	}
}

func TestFollowingDoesNotAllocate(t *testing.T) {
	records := 0
	f := follow(Config{Health: &Health{Whole: true}, Metering: &Metering{
		MeterConfig: ipfix.MeterConfig{Active: time.Nanosecond}, Export: func([]ipfix.Record) {}, Health: func(h []ipfix.Health) { records += len(h) },
	}})
	burst := sends(t, 0x11, flow.MaxBurst-1)
	f.fares(t)
	if n := testing.AllocsPerRun(100, func() { f.now = f.now.Add(time.Millisecond); f.burst(burst) }); n != 0 {
		t.Errorf("%v allocations a burst", n)
	}
	if records == 0 {
		t.Error("no health was exported")
	}
	qp := uint32(0)
	came := make([]Frame, 1000)
	for i := range came {
		came[i] = frame(t, 0x1000+uint32(i), 0)
	}
	if n := testing.AllocsPerRun(len(came)-1, func() { f.burst(came[qp : qp+1]); qp++ }); n != 0 {
		t.Errorf("%v allocations a new flow", n)
	}
}

// BenchmarkBurstFollowed is BenchmarkBurst where all connections are followed, and every
// packet comes.
func BenchmarkBurstFollowed(b *testing.B) {
	r := New(nil, Config{Labels: true, ZeroOnly: true, Health: &Health{Whole: true}})
	var burst []Frame
	for i := range uint32(flow.MaxBurst) {
		burst = append(burst, frame(b, i, 7))
	}
	const psnAt = 14 + 40 + 8 + 10 // its low octets
	b.ReportAllocs()
	for psn := uint16(0); b.Loop(); psn++ {
		for i := range burst {
			binary.BigEndian.PutUint16(burst[i].Data[psnAt:], psn)
		}
		r.burst(burst)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/flow.MaxBurst, "ns/packet")
}

// BenchmarkMillionFlowsWithHealth fills the tables of a reader that reports health with a million flows,
// and reports what they take of memory. healthFlows of them are followed at once, the others wait.
func BenchmarkMillionFlowsWithHealth(b *testing.B) {
	const flows = 1_000_000
	var burst []Frame
	for i := range uint32(flow.MaxBurst) {
		burst = append(burst, frame(b, i, 7))
	}
	const destQPAt = 14 + 40 + 8 + 4 // with the octet before
	for b.Loop() {
		before := heap()
		r := New(nil, Config{Capacity: flows, Health: &Health{Whole: true}})
		for qp := uint32(0); r.table.Len() < flows; {
			for i := range burst {
				binary.BigEndian.PutUint32(burst[i].Data[destQPAt:], qp%flows)
				qp++
			}
			r.burst(burst)
		}
		b.ReportMetric(float64(heap()-before)/(1<<20), "MiB/Mflow")
		runtime.KeepAlive(r)
	}
}

// heap returns the octets that are in use after a collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
