// SPDX-License-Identifier: Apache-2.0

package health

import (
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/flows/histogram"
	"sluice/orchagent-ext/wire/roce"
)

var update = flag.Bool("update", false, "write the golden files of testdata")

// stream is packets, with the circumstances of each.
type stream struct {
	packets []roce.Packet
	seen    []Seen
}

// add adds a packet that begins with its IP header.
func (s *stream) add(t *testing.T, frame []byte, seen Seen) {
	t.Helper()
	var p roce.Packet
	if err := p.ParseIP(frame, len(frame)); err != nil {
		t.Fatal(err)
	}
	s.packets, s.seen = append(s.packets, p), append(s.seen, seen)
}

// faultStream is connections with every fault, each at a point of its own.
func faultStream(t *testing.T) (all stream) {
	names := slices.Sorted(maps.Keys(faults))
	for seed := range uint64(12) {
		s := newSession(t, seed)
		for range 60 {
			faults[names[s.random.IntN(len(names))]](s)
		}
		for _, c := range s.packets {
			slot := 2 * int(seed)
			if c.forward {
				slot++
			}
			from := flow.Ack
			if seed%5 == 4 {
				from = flow.None
			}
			b := c.frame
			all.add(t, b, Seen{Time: c.at, Point: uint32(seed), SrcQP: uint32(b[ipv6UDP+7]) ^ qpA ^ qpB, From: from, Slot: slot, In: seed, Out: 7})
		}
	}
	return all
}

// kinds are the opcodes of a random stream, the usual ones several times.
var kinds = []roce.Opcode{
	roce.RCSendOnly, roce.RCSendOnly, roce.RCSendOnly, roce.RCSendFirst, roce.RCSendMiddle, roce.RCSendLast, roce.RCSendOnlyImm,
	roce.RCWriteFirst, roce.RCWriteMiddle, roce.RCWriteMiddle, roce.RCWriteLast, roce.RCWriteOnly, roce.RCWriteOnly,
	roce.RCReadRequest, roce.RCReadRequest, roce.RCCompareSwap, roce.RCFetchAdd, roce.RCAck, roce.RCAck, roce.RCAck, roce.RCAtomicAck,
	roce.RCReadResponseFirst, roce.RCReadResponseMiddle, roce.RCReadResponseLast, roce.RCReadResponseOnly, roce.CNP,
	roce.UDSendOnly, roce.RCSendOnly | 0x20, roce.RCWriteOnly | 0xa0, 0x3f,
}

// randomStream is packets of all kinds between a few queue pairs, whose PSNs mostly go on, and whose
// clock mostly goes on.
func randomStream(t *testing.T, seed uint64, packets int) (all stream) {
	random := rand.New(rand.NewPCG(seed, 3))
	one := func(in int) bool { return random.IntN(in) == 0 }
	type connection struct {
		psn    [2]uint32 // requests this way; the newest response
		answer uint32
	}
	const pairs = 12
	var connections [2 * pairs]connection
	for i := range connections {
		connections[i].psn[0] = random.Uint32N(1 << 24)
	}
	now := int64(1e18)
	for range packets {
		now += random.Int64N(40_000)
		switch {
		case one(200):
			now += random.Int64N(8e6)
		case one(500):
			now -= random.Int64N(3e6)
		}
		n := random.IntN(2 * pairs)
		mine, other := &connections[n], &connections[n^1]
		op := kinds[random.IntN(len(kinds))]
		psn := &mine.psn[0]
		if op.IsResponse() {
			psn = &mine.answer
			if one(3) {
				*psn = other.psn[0] - random.Uint32N(3)
			}
		}
		switch {
		case one(20):
			*psn += random.Uint32N(5)
		case one(20):
			*psn -= random.Uint32N(6)
		case one(400):
			*psn = random.Uint32()
		case one(50):
			*psn -= random.Uint32N(100)
		default:
			*psn++
		}
		*psn &= psnMask
		octets := [...]int{64, 256, 1024, 1024, 4096, 0, 13, 700}[random.IntN(8)]
		host := byte(n / 6)
		src, dst, qp := [16]byte{0x20, 15: host}, [16]byte{0x20, 14: 1, 15: host}, uint32(0x100+n)
		if n%2 == 1 {
			src, dst = dst, src
		}
		b := roce.IPv6Header{TrafficClass: uint8(random.IntN(4)), FlowLabel: uint32(n) + random.Uint32N(2), NextHeader: 17, HopLimit: 64, Src: src, Dst: dst}.Append(nil)
		b = roce.UDPHeader{SrcPort: 0xc000 + uint16(random.IntN(2)), DstPort: roce.UDPPort}.Append(b)
		b = roce.BTH{Opcode: op, PKey: 0xffff, DestQP: qp, PSN: *psn, AckReq: one(2)}.Append(b)
		syndrome := byte(0x1f)
		if one(6) {
			syndrome = byte(random.IntN(256))
		}
		// the opcode announces a length, or a syndrome
		rest := make([]byte, 40+octets&^3)
		switch op & operationMask {
		case roce.RCWriteFirst, roce.RCWriteOnly, roce.RCReadRequest:
			b = roce.RETH{Length: [...]uint32{0, 1, 4096, 5000, 1 << 20, 0xffffffff}[random.IntN(6)]}.Append(b)
		case roce.RCAck, roce.RCAtomicAck, roce.RCReadResponseFirst, roce.RCReadResponseLast, roce.RCReadResponseOnly:
			b = roce.AETH{Syndrome: syndrome}.Append(b)
		}
		b, err := roce.Finish(append(b, rest...), 0)
		if err != nil {
			t.Fatal(err)
		}
		seen := Seen{Time: now, Point: random.Uint32N(2), SrcQP: uint32(0x100 + n ^ 1), From: flow.Ack, Slot: n, In: uint64(random.IntN(3)), Out: uint64(n)}
		switch {
		case one(30):
			seen.From = flow.None
		case one(60):
			seen.SrcQP = random.Uint32N(4)
		case one(60):
			seen.Slot = random.IntN(2*pairs+2) - 1
		case one(100):
			seen.Time = flow.NoTime
		}
		seen.Part = n/2 == 3 && one(40)
		all.add(t, b, seen)
	}
	return all
}

// timed returns the stream, in which packets without a time have that of the packet before.
func (s stream) timed() stream {
	for i := range s.seen {
		if s.seen[i].Time == flow.NoTime {
			s.seen[i].Time = s.seen[max(i, 1)-1].Time
		}
	}
	return s
}

// line returns all that a direction tells.
func line(d *Direction) string {
	sum := func(h *histogram.Coarse) string {
		if h == nil {
			return "none"
		}
		return fmt.Sprint(h.Count, h.Sum, h.Min, h.Max, h.Quantile(0.1), h.Quantile(0.5), h.Quantile(0.99))
	}
	rate, ok := d.Goodput()
	text := fmt.Sprintf("%x:%x from %x (%v) counted %v, lost %d, time %d to %d of %d, label %x, port %x, %d to %d, rate %.3f %v, times %s, sizes %s",
		d.Src[15], d.DestQP, d.Source, d.From, d.Counters, d.Lost(), d.First, d.Last, d.End(), d.Label, d.SrcPort, d.In, d.Out, rate, ok, sum(d.RTT()), sum(d.Sizes()))
	if p := d.Peer(); p != nil {
		text += fmt.Sprintf(", peer %x of %d", p.DestQP, p.Packets)
	}
	return text
}

// describe returns all that a table tells, a line for each direction.
func describe(table *Table) string {
	var text strings.Builder
	for d := range table.All() {
		fmt.Fprintln(&text, line(d))
	}
	fmt.Fprintln(&text, "unfollowed", table.Unfollowed())
	return text.String()
}

// TestGoldenResults holds the directions that streams leave in a table, and the events of packets, to golden files:
// packet by packet and in bursts.
func TestGoldenResults(t *testing.T) {
	long := randomStream(t, 1, 40_000)
	for name, tt := range map[string]struct {
		stream stream
		config Config
	}{
		"faults":  {faultStream(t), Config{}},
		"random":  {long, Config{}},
		"untimed": {randomStream(t, 2, 10_000), Config{Untimed: true, Reserve: 64, Capacity: 64}},
		"small":   {randomStream(t, 3, 20_000), Config{Capacity: 9}},
		"keep":    {randomStream(t, 4, 20_000).timed(), Config{Capacity: 20, Keep: 8e6}}, // more than the clock goes back
	} {
		for _, bursts := range []bool{false, true} {
			var gone strings.Builder
			config := tt.config
			removed, packets := 0, uint64(0)
			config.Removed = func(d *Direction) {
				removed, packets = removed+1, packets+d.Packets
				fmt.Fprintln(&gone, d.DestQP, d.Counters, d.First, d.End(), d.Peer() != nil)
			}
			table, events := NewTable(config), fnv.New64a()
			each := func(_ int, e Event, missing uint32) { fmt.Fprintln(events, e, missing) }
			for i, n := 0, 1; i < len(tt.stream.packets); i, n = i+n, n%MaxBurst+1 {
				n = min(n, len(tt.stream.packets)-i)
				packets, seen := tt.stream.packets[i:i+n], tt.stream.seen[i:i+n]
				if bursts {
					table.ObserveBurst(packets, seen, each)
					continue
				}
				for k := range packets {
					e, missing := table.Observe(&packets[k], seen[k])
					each(k, e, missing)
				}
			}
			stayed := uint64(0)
			for d := range table.All() {
				stayed += d.Packets
			}
			if n := stayed + packets + table.Unfollowed(); n != uint64(len(tt.stream.packets)) {
				t.Errorf("%s: %d packets counted, of %d", name, n, len(tt.stream.packets))
			}
			left := fnv.New64a()
			fmt.Fprint(left, gone.String())
			got := fmt.Sprintf("%sremoved %d with %d packets, %x\nevents %x\n", describe(table), removed, packets, left.Sum64(), events.Sum64())
			file := "testdata/" + name + ".txt"
			if *update && !bursts {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s, in bursts %v: golden (-), now (+):\n%s", name, bursts, diff)
			}
		}
	}
}

// keyOf returns the key of a packet's direction.
func keyOf(p *roce.Packet, seen Seen) Key {
	k := Key{Point: seen.Point, Src: p.Src16(), Dst: p.Dst16(), DestQP: p.DestQP()}
	if p.Opcode().Service() == roce.ServiceUD {
		k.SrcQP = seen.SrcQP
	}
	return k
}

// TestCountsOfAnyPacket holds what is independent of PSNs to sums over the packets of each direction.
func TestCountsOfAnyPacket(t *testing.T) {
	all := randomStream(t, 6, 20_000)
	type sums struct {
		Packets, Octets, CE, ECT, CNPs uint64
		First, Last, End               int64
		Source, Label                  uint32
		SrcPort                        uint16
		In, Out                        uint64
	}
	want, got := map[Key]sums{}, map[Key]sums{}
	table := NewTable(Config{})
	for i := range all.packets {
		p, seen := &all.packets[i], all.seen[i]
		s, known := want[keyOf(p, seen)]
		if !known {
			s.First, s.Last, s.End = flow.NoTime, flow.NoTime, flow.NoTime
		}
		s.Packets++
		s.Octets += uint64(p.Len())
		switch p.TrafficClass() & 3 {
		case 3:
			s.CE++
			s.ECT++
		case 1, 2:
			s.ECT++
		}
		if p.Opcode() == roce.CNP {
			s.CNPs++
		}
		if seen.Time != flow.NoTime {
			if s.Last = seen.Time; s.First == flow.NoTime || s.First > seen.Time {
				s.First = seen.Time
			}
			s.End = max(s.End, seen.Time)
		}
		s.Source, s.Label, s.SrcPort, s.In, s.Out = seen.SrcQP, p.FlowLabel(), p.SrcPort(), seen.In, seen.Out
		want[keyOf(p, seen)] = s
		table.Observe(p, seen)
	}
	for d := range table.All() {
		got[d.Key] = sums{d.Packets, d.Octets, d.CE, d.ECT, d.CNPs, d.First, d.Last, d.End(), d.Source, d.Label, d.SrcPort, d.In, d.Out}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sums (-), directions (+):\n%s", diff)
	}
}
