// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"slices"
	"testing"
	"time"

	"sluice/orchagent-ext/wire/roce"
)

// With Seen each flow is reported at its first packet and then from time to time, with the octets
// that its samples since represent; without it at its first, second, fourth, eighth… packet.
func TestFlowsAreReportedAsTheyAreSeen(t *testing.T) {
	f, now := frame(t, 5, 0x777), time.Unix(1000, 0)
	f.From, f.To = 3, 9
	octets := uint64(f.Length - 14)
	var b [][]Frame
	for range 40 { // one each 5 ms
		b = append(b, []Frame{f})
	}
	for seen, want := range map[uint32]int{256: 10, 0: 6} {
		var got []Pair
		at := now
		run(t, Config{Seen: seen, Learned: func(p Pair) { got = append(got, p) }, Now: func() time.Time { at = at.Add(5 * time.Millisecond); return at }}, b...)
		if len(got) != want {
			t.Fatalf("Seen %d: %d reports", seen, len(got))
		}
		for i, p := range got {
			if seen == 0 {
				if p.DestQP != 5 || p.Octets != 0 || p.PathSrc.IsValid() {
					t.Errorf("report %d: %+v", i, p)
				}
				continue
			}
			represents := 4 * 256 * octets
			if i == 0 {
				represents = 256 * octets
			}
			if p.From != 3 || p.To != 9 || p.Label != 0x777 || p.PathSrc != p.Src || p.PathDst != p.Dst || p.SrcQP != 0 || p.DestQP != 5 || p.Octets != represents {
				t.Errorf("report %d: %+v", i, p)
			}
		}
	}
}

// Packets that waited for the CPU and come at once are reported by the times at which the switch
// had them.
func TestFlowsAreReportedByTheTimesOfTheirPackets(t *testing.T) {
	f, now := frame(t, 5, 0x777), time.Unix(1000, 0)
	var burst []Frame
	for i := range 40 { // one each 5 ms
		f.At = now.Add(time.Duration(i) * 5 * time.Millisecond).UnixNano()
		burst = append(burst, f)
	}
	var got []int64
	run(t, Config{Seen: 256, Learned: func(p Pair) { got = append(got, (p.At-now.UnixNano())/1e6) }, Now: func() time.Time { return now.Add(time.Second) }}, burst)
	if want := []int64{0, 20, 40, 60, 80, 100, 120, 140, 160, 180}; !slices.Equal(got, want) {
		t.Errorf("reports of packets of %v ms, want %v", got, want)
	}
}

// Datagrams to one queue pair differ by the source queue pair, which an entry cannot match: they get none,
// and each is counted. Those of RDMA-CM are not.
//
//conformance:draft-hu/qp-pair
func TestDatagramsStayAtTheirLabel(t *testing.T) {
	for qp, want := range map[uint32]uint64{0xabcdef: 8, 1: 0} {
		var b [][]Frame
		for range 8 {
			b = append(b, []Frame{datagram(t, qp, 0x123456)})
		}
		r, news := run(t, Config{Labels: true, ZeroOnly: true}, b...)
		if s := r.Stats(); s.Datagrams != want || s.NewFlows != 0 || len(news) != 0 {
			t.Errorf("to queue pair %#x: %d counted, %d flows are to be labelled", qp, s.Datagrams, s.NewFlows)
		}
	}
}

// datagram is an unlabelled one from a queue pair to another.
func datagram(t *testing.T, to, from uint32) Frame {
	b := roce.Ethernet{EtherType: roce.EtherTypeIPv6}.Append(nil)
	ip := len(b)
	b = roce.IPv6Header{NextHeader: 17, HopLimit: 64, Src: [16]byte{0x20, 15: 1}, Dst: [16]byte{0x20, 15: 2}}.Append(b)
	b = roce.UDPHeader{SrcPort: 49152, DstPort: roce.UDPPort}.Append(b)
	b = roce.BTH{Opcode: roce.UDSendOnly, PKey: 0xffff, DestQP: to}.Append(b)
	b = roce.DETH{QKey: 1, SrcQP: from}.Append(b)
	b, err := roce.Finish(append(b, make([]byte, 64)...), ip)
	if err != nil {
		t.Fatal(err)
	}
	return Frame{Data: b, Length: len(b)}
}
