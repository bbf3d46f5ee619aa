// SPDX-License-Identifier: Apache-2.0

package nic

import (
	"math"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice/orchagent-ext/wire/roce"
)

var (
	macA, macB = roce.MAC{2, 0, 0, 0, 0, 1}, roce.MAC{2, 0, 0, 0, 0, 2}
	countsOnly = cmpopts.IgnoreUnexported(Arrived{})
)

// verifiable is a flow as `sluice-lab gen` has it: both ends have the same number.
func verifiable(n int) Flow {
	f := testFlow(n)
	f.SrcQP, f.AckEvery, f.Run = f.DestQP, 8, 7
	return f
}

func packetOf(t *testing.T, f *Flow, n uint64) []byte {
	t.Helper()
	frame, err := f.frame(nil, macA, macB, n, 0)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(frame)
}

func TestVerifierCountsWhatArrives(t *testing.T) {
	f := verifiable(0)
	octets := uint64(f.Octets())
	sequence := func(from, to uint64) (all []uint64) {
		for n := from; n < to; n++ {
			all = append(all, n)
		}
		return all
	}
	for _, tt := range []struct {
		name string
		came []uint64
		want Arrived
	}{
		{"in order", sequence(0, 3000), Arrived{Packets: 3000}},
		{"from the middle on", sequence(500, 600), Arrived{Packets: 100}},
		{"a gap", []uint64{0, 1, 5}, Arrived{Packets: 3, Missing: 3}},
		{"late", []uint64{0, 2, 3, 1}, Arrived{Packets: 4, Reordered: 1}},
		{"twice", []uint64{0, 1, 1, 0, 2, 1}, Arrived{Packets: 3, Duplicates: 3}},
		{"late and twice", []uint64{0, 3, 1, 1}, Arrived{Packets: 3, Missing: 1, Reordered: 1, Duplicates: 1}},
		{"a gap as long as what is remembered, filled", []uint64{0, arrivals, 1, 1}, Arrived{Packets: 3, Missing: arrivals - 2, Reordered: 1, Duplicates: 1}},
		{"a longer gap", []uint64{0, 1, 5 * arrivals, 5*arrivals - 1}, Arrived{Packets: 4, Missing: 5*arrivals - 3, Reordered: 1}},
		{"too late to know", []uint64{0, 2, 2000, 1}, Arrived{Packets: 4, Missing: 1998, Reordered: 1}},
	} {
		v := NewVerifier()
		for _, n := range tt.came {
			v.Receive(packetOf(t, &f, n))
		}
		tt.want.Octets = tt.want.Packets * octets
		want := map[Arrival]*Arrived{{f.Src, f.DestQP, f.Run}: &tt.want}
		if diff := cmp.Diff(want, v.Flows, countsOnly, cmpopts.EquateComparable(Arrival{}.Src)); diff != "" || v.Packets != tt.want.Packets || v.Other+v.BadICRC+v.NoRoom != 0 {
			t.Errorf("%s: %s; %d other, %d wrong", tt.name, diff, v.Other, v.BadICRC)
		}
	}
}

// Over IPv4 packets are as long as is said, are verified, and are acknowledged to the flow
// that sent them.
func TestPacketsOverIPv4AreVerified(t *testing.T) {
	f := verifiable(0)
	f.Src, f.Dst, f.Label = netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), 0
	var p roce.Packet
	frame := packetOf(t, &f, 8)
	if err := p.Parse(frame, len(frame)); err != nil || !p.Is4() || p.Len() != f.Octets() || p.TrafficClass() != f.TrafficClass {
		t.Fatalf("%v: %d octets, want %d: %+v", err, p.Len(), f.Octets(), p)
	}
	c := testConfig(f)
	c.Packets = 100
	s, v := NewSender(c, 0), NewVerifier()
	for now := int64(0); !s.Ended(); {
		flow, at := s.Next(now)
		now = max(now, at)
		n, _ := s.Send(now, flow)
		if answer := v.Receive(packetOf(t, &f, n)); answer != nil {
			s.Receive(now, slices.Clone(answer))
		}
	}
	want := map[Arrival]*Arrived{{f.Src, f.DestQP, f.Run}: {Packets: 100, Octets: 100 * uint64(f.Octets())}}
	if diff := cmp.Diff(want, v.Flows, countsOnly, cmpopts.EquateComparable(Arrival{}.Src)); diff != "" || v.Other+v.BadICRC != 0 {
		t.Errorf("%s; %d other, %d wrong", diff, v.Other, v.BadICRC)
	}
	if n := s.Counters(1); n.Acks != 13 || n.Acknowledged != 97 || n.Arrived != 97 {
		t.Errorf("%+v", n)
	}
}

func TestVerifierTellsOtherPacketsApart(t *testing.T) {
	v, f := NewVerifier(), verifiable(0)
	wrong := packetOf(t, &f, 0)
	wrong[len(wrong)-9] ^= 1
	v.Receive(wrong)
	foreign := verifiable(0)
	foreign.Datagram = true
	v.Receive(packetOf(t, &foreign, 0))
	v.Receive([]byte("no packet"))
	if v.BadICRC != 1 || v.Other != 2 || v.Packets != 0 {
		t.Errorf("%d wrong, %d other, %d packets", v.BadICRC, v.Other, v.Packets)
	}
	again := f
	again.Run++
	v.Receive(packetOf(t, &f, 5000))
	v.Receive(packetOf(t, &again, 0))
	if len(v.Flows) != 2 || v.Packets != 2 {
		t.Errorf("two programs one after the other are %d flows of %d packets", len(v.Flows), v.Packets)
	}
}

// TestSenderLearnsWhatArrived: over a link that loses each 10th packet and each 7th
// acknowledgement, also behind the PSN's turn.
func TestSenderLearnsWhatArrived(t *testing.T) {
	f := verifiable(0)
	f.Rate = 500_000_000
	c := testConfig(f, verifiable(1))
	c.MAC, c.Packets = macA, 4001
	for _, first := range []uint64{0, 1<<24 - 500} {
		s, v := NewSender(c, 0), NewVerifier()
		s.flows[0].n = first
		v.Flows[Arrival{f.Src, f.DestQP, f.Run}] = &Arrived{Packets: first, highest: first} // all of those before
		lost, acks, arrived := uint64(0), 0, uint64(0)
		now := int64(0)
		for i := 0; !s.Ended(); i++ {
			flow, at := s.Next(now)
			now = max(now, at)
			n, _ := s.Send(now, flow)
			if i%10 == 3 {
				lost++
				continue
			}
			arrived++
			if answer := v.Receive(packetOf(t, &c.Flows[flow], n)); answer != nil {
				if acks++; acks%7 != 0 {
					s.Receive(now, answer)
				}
			}
		}
		got := s.Counters(now)
		if got.Packets != 4001 || v.Packets != arrived || arrived+lost != 4001 {
			t.Errorf("sent %d, %d arrived, %d lost; counted %d", got.Packets, arrived, lost, v.Packets)
		}
		missing := got.Acknowledged - got.Arrived
		if got.Acks != uint64(acks-acks/7) || got.Arrived >= got.Acknowledged || missing > lost || missing < lost*9/10 {
			t.Errorf("%d acknowledgements of %d; %d of %d arrived, and %d were lost", got.Acks, acks, got.Arrived, got.Acknowledged, lost)
		}
	}
}

// TestSenderRefusesWrongAcknowledgements: of what was not sent, or changed on the way.
func TestSenderRefusesWrongAcknowledgements(t *testing.T) {
	f := verifiable(0)
	s, v := NewSender(testConfig(f), 0), NewVerifier()
	answer := slices.Clone(v.Receive(packetOf(t, &f, 0)))
	if s.Receive(0, answer); s.Counters(0).Acks != 0 {
		t.Error("acknowledged before it was sent")
	}
	s.Send(0, 0)
	if !s.Waiting() {
		t.Error("the first packet asks for no acknowledgement")
	}
	wrong := slices.Clone(answer)
	wrong[len(wrong)-5] ^= 1
	if s.Receive(0, wrong); s.Counters(0).Acks != 0 || s.Counters(0).Refused != 1 {
		t.Errorf("a wrong ICRC: %+v", s.Counters(0))
	}
	if s.Receive(0, answer); s.Counters(0).Acks != 1 || s.Counters(0).Arrived != 1 || s.Waiting() {
		t.Errorf("%+v", s.Counters(0))
	}
}

// TestSenderPacesByTheClock: 64 queue pairs that offer more than the link has send its
// rate in all, each the same, evenly spaced.
func TestSenderPacesByTheClock(t *testing.T) {
	var flows []Flow
	for i := range 64 {
		f := verifiable(i)
		f.Rate = 1_000_000_000
		flows = append(flows, f)
	}
	s := NewSender(testConfig(flows...), 0)
	space := int64(flows[0].Octets()*8) * second / 1_000_000_000
	var sent []int64
	each := make([]int, len(flows))
	for now := int64(0); ; {
		flow, at := s.Next(now)
		if now = max(now, at); now >= second/10 {
			break
		}
		if flow >= 0 {
			s.Send(now, flow)
			sent = append(sent, now)
			each[flow]++
		}
	}
	for i := 1; i < len(sent); i++ {
		if gap := sent[i] - sent[i-1]; gap != space {
			t.Fatalf("packet %d is %d ns behind the one before, want %d", i, gap, space)
		}
	}
	if got := mbps(len(sent), second/10); math.Abs(got-1000) > 1 {
		t.Errorf("%.1f Mbit/s", got)
	}
	if slices.Max(each)-slices.Min(each) > 1 {
		t.Errorf("queue pairs sent %v", each)
	}
}
