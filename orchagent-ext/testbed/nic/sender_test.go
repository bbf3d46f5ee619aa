// SPDX-License-Identifier: Apache-2.0

package nic

import (
	"math"
	"net/netip"
	"testing"
	"time"

	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

const (
	second = int64(time.Second)
	ms     = int64(time.Millisecond)
)

func testFlow(n int) Flow {
	return Flow{
		Src: netip.MustParseAddr("2001:db8:0:1::a"), Dst: netip.MustParseAddr("2001:db8:0:2::b"),
		SrcQP: 0x100 + uint32(n), DestQP: 0x200 + uint32(n), Label: 0x12300 + uint32(n), SrcPort: 0xc000,
		TrafficClass: 26<<2 | 2, Payload: 1024, Rate: 10_000_000,
	}
}

func testConfig(flows ...Flow) Config {
	return Config{
		Flows: flows, LineRate: 1_000_000_000, Priority: 3, Points: notify.DefaultCodePoints(), Lifetime: 30 * time.Millisecond,
		Obey: Obey{PFCM: true, PFC: true, Advice: true, CNP: true},
	}
}

// drive lets the adapter send from one time to another and returns how many packets
// each flow sent.
func drive(s *Sender, from, to int64) []int {
	sent := make([]int, len(s.flows))
	for now := from; ; {
		flow, at := s.Next(now)
		if now = max(now, at); at == math.MaxInt64 || now >= to {
			return sent
		}
		if flow >= 0 {
			s.Send(now, flow)
			sent[flow]++
		}
	}
}

// mbps is the rate of so many packets of a test flow in a time.
func mbps(packets int, d int64) float64 {
	f := testFlow(0)
	return float64(packets*f.Octets()*8) / (float64(d) / float64(second)) / 1e6
}

func frameOf(t *testing.T, m notify.Message, change func(*notify.Envelope)) []byte {
	t.Helper()
	e := notify.DefaultEnvelope(m.Kind())
	e.Src, e.Dst = netip.MustParseAddr("fe80::1"), netip.MustParseAddr("fe80::2")
	if change != nil {
		change(&e)
	}
	b, err := notify.AppendFrame(nil, m, &e, notify.DefaultCodePoints())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func pfcmFor(f Flow, action notify.Action, us uint16) *notify.PFCM {
	return &notify.PFCM{StreamID: f.streamID(0), Action: action, Time: us, Source: f.Src, Destination: f.Dst}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 0.02*want {
		t.Errorf("%s: %.2f Mbit/s, want %.2f", what, got, want)
	}
}

func TestSenderKeepsTheRateOfEachFlow(t *testing.T) {
	slow := testFlow(1)
	slow.Rate = 2_000_000
	sent := drive(NewSender(testConfig(testFlow(0), slow), 0), 0, second)
	near(t, "flow 0", mbps(sent[0], second), 10)
	near(t, "flow 1", mbps(sent[1], second), 2)
}

func TestSenderSharesTheLink(t *testing.T) {
	c := testConfig(testFlow(0), testFlow(1))
	c.LineRate = 10_000_000
	sent := drive(NewSender(c, 0), 0, second)
	near(t, "both flows", mbps(sent[0]+sent[1], second), 10)
}

func TestSenderHoldsTheFlowOfAPFCM(t *testing.T) {
	a, b := testFlow(0), testFlow(1)
	s := NewSender(testConfig(a, b), 0)
	if !s.Receive(0, frameOf(t, pfcmFor(a, notify.Pause, 20_000), nil)) {
		t.Fatal("not taken for a notification")
	}
	sent := drive(s, 0, 20*ms)
	if sent[0] != 0 {
		t.Errorf("the held flow sent %d packets", sent[0])
	}
	near(t, "the other flow", mbps(sent[1], 20*ms), 10)
	near(t, "after the hold", mbps(drive(s, 20*ms, second)[0], second-20*ms), 10)
	if held := s.Counters(second).Held; held != 20*time.Millisecond {
		t.Errorf("held for %v, want 20ms", held)
	}
}

func TestSenderObeysACancel(t *testing.T) {
	a := testFlow(0)
	s := NewSender(testConfig(a), 0)
	s.Receive(0, frameOf(t, pfcmFor(a, notify.Pause, 65_000), nil))
	s.Receive(5*ms, frameOf(t, pfcmFor(a, notify.Cancel, 0), nil))
	near(t, "after the cancel", mbps(drive(s, 5*ms, 105*ms)[0], 100*ms), 10)
}

func TestSenderReducesByThePercentage(t *testing.T) {
	a := testFlow(0)
	s := NewSender(testConfig(a), 0)
	for at := int64(0); at < second; at += 50 * ms {
		s.Receive(at, frameOf(t, pfcmFor(a, notify.Reduce(40), 60_000), nil))
	}
	near(t, "reduced by 40 %", mbps(drive(s, 0, second)[0], second), 6)
}

func TestSenderSendsABacklogLater(t *testing.T) {
	a := testFlow(0)
	a.Backlog = true
	s := NewSender(testConfig(a), 0)
	s.Receive(0, frameOf(t, pfcmFor(a, notify.Pause, 50_000), nil))
	near(t, "held for 50 of 100 ms", mbps(drive(s, 0, 100*ms)[0], 100*ms), 10)
}

func TestSenderPausesThePriorityOfAPFCFrame(t *testing.T) {
	s := NewSender(testConfig(testFlow(0), testFlow(1)), 0)
	pfc := &notify.PFC{Enable: 1 << 3}
	pfc.Quanta[3] = notify.Quanta(10_000, 1000)
	s.Receive(0, frameOf(t, pfc, nil))
	if sent := drive(s, 0, 10*ms); sent[0]+sent[1] != 0 {
		t.Errorf("paused flows sent %v packets", sent)
	}
	s.Receive(11*ms, frameOf(t, pfc, nil))
	pfc.Quanta[3] = 0
	s.Receive(12*ms, frameOf(t, pfc, nil))
	near(t, "resumed", mbps(drive(s, 12*ms, 512*ms)[0], 500*ms), 10)
	pfc.Enable, pfc.Quanta[3] = 1<<2, 0xffff
	s.Receive(512*ms, frameOf(t, pfc, nil))
	near(t, "another priority paused", mbps(drive(s, 512*ms, 1012*ms)[0], 500*ms), 10)
}

func TestSenderTakesTheRateOfAnAdvice(t *testing.T) {
	a := testFlow(0)
	s := NewSender(testConfig(a), 0)
	advice := &notify.RateAdvice{PKey: 0xffff, DestQP: a.SrcQP, Rate: 3, Version: 1, DestinationQP: a.SrcQP, SourceQP: a.DestQP}
	to := func(e *notify.Envelope) { e.Dst, e.Src = a.Src, a.Dst }
	sent := 0
	for at := int64(0); at < second; at += 20 * ms {
		s.Receive(at, frameOf(t, advice, to))
		sent += drive(s, at, at+20*ms)[0]
	}
	near(t, "advised", mbps(sent, second), 3)
	near(t, "the advice ran out", mbps(drive(s, second+30*ms, 2*second)[0], second-30*ms), 10)
}

func TestSenderCutsItsRateAtACNPAndRecovers(t *testing.T) {
	a := testFlow(0)
	s := NewSender(testConfig(a), 0)
	to := func(e *notify.Envelope) { e.Dst, e.Src = a.Src, a.Dst }
	s.Receive(0, frameOf(t, &notify.CNP{PKey: 0xffff, DestQP: a.SrcQP}, to))
	if got := s.limit(0, &s.flows[0]); got != a.Rate/2 {
		t.Errorf("after the first CNP %d bit/s, want half of %d", got, a.Rate)
	}
	if got := s.limit(second, &s.flows[0]); got != math.MaxUint64 {
		t.Errorf("a second later the rate is still limited to %d bit/s", got)
	}
	cnp := frameOf(t, &notify.CNP{PKey: 0xffff, DestQP: a.SrcQP}, to)
	for at := second; at < second+100*ms; at += ms / 20 {
		s.Receive(at, cnp)
	}
	if got := s.limit(second+100*ms, &s.flows[0]); got == 0 || got > a.Rate/10 {
		t.Errorf("after a CNP each 50 us for 100 ms %d bit/s of %d", got, a.Rate)
	}
}

// A flow under a PFCM, an advice and CNPs has the least of their rates, and the rest of them when one
// ends: the PFCM leaves 8 Mbit/s, the advice 6, a CNP half of 10 for a moment.
func TestSenderHasTheLeastRateOfAllNotifications(t *testing.T) {
	a := testFlow(0)
	a.Rate = 10_000_000
	s := NewSender(testConfig(a), 0)
	to := func(e *notify.Envelope) { e.Dst, e.Src = a.Src, a.Dst }
	rate := func(now int64) float64 { s.Next(now); return float64(s.limit(now, &s.flows[0])) / 1e6 }
	s.Receive(0, frameOf(t, pfcmFor(a, notify.Reduce(20), 60_000), nil))
	near(t, "PFCM", rate(0), 8)
	s.Receive(0, frameOf(t, &notify.RateAdvice{PKey: 0xffff, DestQP: a.SrcQP, Rate: 6, Version: 1, DestinationQP: a.SrcQP, SourceQP: a.DestQP}, to))
	near(t, "PFCM and advice", rate(0), 6)
	s.Receive(0, frameOf(t, &notify.CNP{PKey: 0xffff, DestQP: a.SrcQP}, to))
	near(t, "all three", rate(0), 5)
	near(t, "the CNP is over", rate(20*ms), 6)
	near(t, "the advice is over", rate(31*ms), 8)
	rate(61 * ms)
	if got := s.limit(61*ms, &s.flows[0]); got != math.MaxUint64 {
		t.Errorf("in the end the rate is limited to %d bit/s", got)
	}
}

func TestSenderObeysOnlyWhatItIsTold(t *testing.T) {
	a := testFlow(0)
	c := testConfig(a)
	c.Obey = Obey{}
	s := NewSender(c, 0)
	pfc := &notify.PFC{Enable: 0xff, Quanta: [8]uint16{0xffff, 0xffff, 0xffff, 0xffff}}
	to := func(e *notify.Envelope) { e.Dst, e.Src = a.Src, a.Dst }
	s.Receive(0, frameOf(t, pfcmFor(a, notify.Pause, 65_000), nil))
	s.Receive(0, frameOf(t, pfc, nil))
	s.Receive(0, frameOf(t, &notify.CNP{PKey: 0xffff, DestQP: a.SrcQP}, to))
	s.Receive(0, frameOf(t, &notify.RateAdvice{DestQP: a.SrcQP, Rate: 1, Version: 1, DestinationQP: a.SrcQP}, to))
	near(t, "an adapter that obeys nothing", mbps(drive(s, 0, second)[0], second), 10)
	if n := s.Counters(second); n.PFCM != 1 || n.PFC != 1 || n.CNP != 1 || n.Advice != 1 || n.Refused != 0 {
		t.Errorf("counted %+v", n)
	}
}

func TestSenderRefusesWhatIsNotForIt(t *testing.T) {
	a, other := testFlow(0), testFlow(1)
	other.Dst = netip.MustParseAddr("2001:db8:0:2::c")
	s := NewSender(testConfig(a), 0)
	m := pfcmFor(a, notify.Pause, 65_000)
	m.Destination = other.Dst
	s.Receive(0, frameOf(t, m, nil))
	s.Receive(0, frameOf(t, pfcmFor(a, notify.Pause, 65_000), func(e *notify.Envelope) { e.HopLimit = 254 }))
	s.Receive(0, frameOf(t, &notify.CNP{DestQP: 0x999}, func(e *notify.Envelope) { e.Dst = a.Src }))
	near(t, "nothing of it holds", mbps(drive(s, 0, second)[0], second), 10)
	if n := s.Counters(second).Refused; n != 3 {
		t.Errorf("%d refused, want 3", n)
	}
	if frame, _ := a.frame(nil, roce.MAC{}, roce.MAC{}, 0, 0); s.Receive(0, frame) {
		t.Error("a data packet is taken for a notification")
	}
}

func TestReceiverCountsLossOrderAndLatency(t *testing.T) {
	f := testFlow(0)
	r := NewReceiver(1000, 100*time.Nanosecond, f.DestQP)
	for i, n := range []uint64{0, 1, 4, 2, 5} {
		b, err := f.frame(nil, roce.MAC{}, roce.MAC{}, n, 1000)
		if err != nil {
			t.Fatal(err)
		}
		r.Receive(1000+int64(i)*100, b)
	}
	bad, _ := f.frame(nil, roce.MAC{}, roce.MAC{}, 6, 1000)
	bad[len(bad)-1] ^= 1
	r.Receive(1400, bad)
	other, _ := testFlow(7), 0
	b, _ := other.frame(nil, roce.MAC{}, roce.MAC{}, 0, 0)
	r.Receive(1400, b)
	r.Receive(1400, []byte{1, 2, 3})
	got := r.Flows[f.DestQP]
	if got.Packets != 5 || got.Missing != 1 || got.Reordered != 1 || got.Highest != 6 || r.BadICRC != 1 || r.Foreign != 2 {
		t.Errorf("%+v, bad ICRC %d, foreign %d", got, r.BadICRC, r.Foreign)
	}
	if got.Octets != 5*uint64(f.Octets()) || len(got.Bins) != 5 || got.Bins[0] != int64(f.Octets()) || got.Latency[4] != 400 {
		t.Errorf("%+v", got)
	}
}

func TestReceiverConnectsAndAcknowledges(t *testing.T) {
	f := testFlow(0)
	f.SrcQP, f.DestQP = 0x11, 0x22
	r := NewReceiver(0, time.Second, f.DestQP)
	r.Answers = map[uint32]uint32{f.DestQP: f.SrcQP}
	a, b := roce.MAC{2, 1}, roce.MAC{2, 2}
	request, err := f.request(nil, a, b)
	if err != nil {
		t.Fatal(err)
	}
	var p roce.Packet
	reply := r.Receive(0, request)
	if err := p.Parse(reply, len(reply)); err != nil {
		t.Fatal(err)
	}
	if m, ok := p.CM(); !ok || m.Attribute != roce.CMRep || m.LocalQPN != f.DestQP || m.RemoteCommID != commA|f.SrcQP || p.Dst() != f.Src || roce.MAC(reply[:6]) != a {
		t.Errorf("answered %+v to %s", m, p.Dst())
	}
	acks := 0
	for n := range uint64(2 * answerEvery) {
		frame, err := f.frame(nil, a, b, n, 0)
		if err != nil {
			t.Fatal(err)
		}
		if ack := r.Receive(0, frame); ack != nil {
			acks++
			if err := p.Parse(ack, len(ack)); err != nil || p.Opcode() != roce.RCAck || p.DestQP() != f.SrcQP || p.PSN() != uint32(n) {
				t.Errorf("acknowledged %v %#x %d, %v", p.Opcode(), p.DestQP(), p.PSN(), err)
			}
			if got, want, ok := p.ICRC(); !ok || got != want {
				t.Error("ICRC is wrong")
			}
		}
	}
	if acks != 2 || r.Foreign != 0 {
		t.Errorf("%d acknowledgements, %d foreign", acks, r.Foreign)
	}
}
