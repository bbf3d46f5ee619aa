// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

var (
	mac   = net.HardwareAddr{2, 0, 0, 0, 0, 1}
	hosts = map[bool]ends{
		false: {mac, mac, netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")},
		true:  {mac, mac, netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")},
	}
)

// The daemon's parsers, another implementation, read the packets of streams and forgers.
func TestStreamsAreReadByTheDaemon(t *testing.T) {
	for _, s := range mice() {
		s.id = 0x4711
		s.build(hosts[s.four])
		s.next(time.Now())
		frame := s.next(time.Now())
		if id, n, ok := numbersOf(frame); !ok || id != s.id || n != 1 {
			t.Errorf("protocol %d, IPv4 %v: numbers %#x, %d, %v", s.protocol, s.four, id, n, ok)
		}
		if s.protocol != udpProtocol {
			continue
		}
		var p roce.Packet
		if err := p.Parse(frame, len(frame)); err != nil || p.DestQP() != s.id || p.PSN() != 1 {
			t.Errorf("IPv4 %v: queue pair %#x, PSN %d, %v", s.four, p.DestQP(), p.PSN(), err)
		}
	}
}

func TestForgedMessagesAreRefusedForOneReasonEach(t *testing.T) {
	port := &fabric.Interface{MAC: mac, LinkLocal: netip.MustParseAddr("fe80::1")}
	var p notify.Packet
	if err := p.ParseIP(message(port, port, netip.MustParseAddr("fe80::2"), 255, 7)[atIP:], notify.DefaultCodePoints()); err != nil || p.PFCM.StreamID != 7 || p.PFCM.Time != 40_000 {
		t.Fatalf("a message that is right: %+v, %v", p.PFCM, err)
	}
	for reason, frame := range map[notify.Reason][]byte{
		notify.BadHopLimit: message(port, port, netip.MustParseAddr("fe80::2"), 64, 7),
		notify.BadSource:   message(port, port, fabric.HostB.Addr(), 255, 7),
		notify.BadChecksum: damage(message(port, port, netip.MustParseAddr("fe80::2"), 255, 7)),
	} {
		bad, ok := p.ParseIP(frame[atIP:], notify.DefaultCodePoints()).(*notify.Error)
		if !ok || bad.Reason != reason {
			t.Errorf("%v, want %v", bad, reason)
		}
	}
}

func TestAdviceIsReadAsTheDaemonWritesIt(t *testing.T) {
	for four, e := range hosts {
		m := notify.RateAdvice{Rate: 12, Version: 1, DestQP: 0x42, DestinationQP: 0x105, SourceQP: 0x43}
		envelope := notify.DefaultEnvelope(notify.KindRateAdvice)
		envelope.Src, envelope.Dst = e.dst, e.src
		packet, err := m.AppendPacket(nil, &envelope, notify.DefaultCodePoints())
		if err != nil {
			t.Fatal(err)
		}
		s := &stream{protocol: udpProtocol, size: 100}
		s.build(e)
		frame := append(s.frame[:atIP:atIP], packet...)
		if mbps, qp, ok := adviceOf(frame); !ok || mbps != 12 || qp != 0x105 {
			t.Errorf("IPv4 %v: %d Mbit/s to %#x, %v", four, mbps, qp, ok)
		}
		if _, _, ok := adviceOf(s.next(time.Now())); ok {
			t.Errorf("IPv4 %v: a packet of a stream was taken for advice", four)
		}
	}
}

// arrivalsOf are frames of a stream that arrive a millisecond after each other.
func arrivalsOf(s *stream, begin time.Time, numbers ...int) (all []fabric.Frame) {
	copies := map[int][]byte{}
	for i := range 1 + slices.Max(numbers) {
		copies[i] = slices.Clone(s.next(begin))
	}
	for i, n := range numbers {
		all = append(all, fabric.Frame{Data: copies[n], Time: begin.Add(time.Duration(i) * time.Millisecond)})
	}
	return all
}

func TestFatesCountWhatIsMissingAndLate(t *testing.T) {
	begin := time.Unix(1e9, 0)
	held, victim := elephant(1), mouse(protocolTCP, true)
	for i, s := range []*stream{held, victim} {
		s.id = uint32(i + 1)
		s.build(hosts[s.four])
	}
	frames := append(arrivalsOf(held, begin, 0, 1, 3, 2, 5), arrivalsOf(victim, begin, 0, 1, 1, 3)...)
	all := fates([]*stream{held, victim}, frames)
	if f := all[held]; f.arrived != 5 || f.reordered != 1 || !slices.Equal(f.missing, []int{4}) {
		t.Errorf("held: %+v", f)
	}
	if f := all[victim]; f.arrived != 3 || f.reordered != 0 || !slices.Equal(f.missing, []int{2}) {
		t.Errorf("victim: %+v", f)
	}
	r := weigh(all)
	if *r.Lost != 1 || *r.Reordered != 1 || *r.Drops != 2 || *r.Victims != 0.75 {
		t.Errorf("lost %d, reordered %d, drops %d, victims %v", *r.Lost, *r.Reordered, *r.Drops, *r.Victims)
	}
}

// The loss of packets that pass the link again counts from the moment in which it carries
// both directions.
func TestRecoveryBeginsWhenBothDirectionsPass(t *testing.T) {
	down := time.Unix(1e9, 0)
	up := down.Add(flapDown)
	s, back := elephant(1), mouse(udpProtocol, false)
	s.id, back.id = 1, 2
	s.build(hosts[false])
	back.build(hosts[false])
	far := arrivalsOf(s, up.Add(time.Millisecond), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	near := arrivalsOf(back, up.Add(4*time.Millisecond), 0)
	for lastLost, want := range map[int]time.Duration{2: 0, 6: 3 * time.Millisecond, 9: 6 * time.Millisecond} {
		all := map[*stream]*fate{s: {missing: []int{0, lastLost}}}
		passed := 0 // of the two that were lost: those after the link was up
		if lastLost >= 4 {
			passed = 1
		}
		times, after, late := recoveries(all, []time.Time{down}, near, far)
		if len(times) != 1 || times[0] != want || after != passed || late != 0 {
			t.Errorf("packet %d lost: %v, %d after, %d late, want %v, %d", lastLost, times, after, late, want, passed)
		}
	}
	far[9].Time = up.Add(4*time.Millisecond + recoveryBar + time.Millisecond)
	if times, _, late := recoveries(map[*stream]*fate{s: {missing: []int{9}}}, []time.Time{down}, near, far); late != 1 {
		t.Errorf("%v, %d late, want one", times, late)
	}
	if times, _, _ := recoveries(nil, []time.Time{down}, nil, far); len(times) != 0 {
		t.Errorf("a link that carries one direction has recovered: %v", times)
	}
}
