// SPDX-License-Identifier: Apache-2.0

package health

import (
	"testing"
	"time"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/roce"
)

// TestTimesThatGoBackOrAreMissing: a direction spans the earliest to the latest time; what has
// no time makes no round trip, no pause and no rate.
func TestTimesThatGoBackOrAreMissing(t *testing.T) {
	for name, tt := range map[string]struct {
		at          func(i int, now int64) int64
		first, last int // packets whose times are the span; -1: there is none
	}{
		"as they came":      {func(_ int, now int64) int64 { return now }, 0, 19},
		"back by a minute":  {func(i int, now int64) int64 { return now - int64(i/10)*60e9 }, 10, 9},
		"before 1970":       {func(_ int, now int64) int64 { return now - 2e18 }, 0, 19},
		"none":              {func(int, int64) int64 { return flow.NoTime }, -1, -1},
		"none of the first": {func(i int, now int64) int64 { return map[bool]int64{true: flow.NoTime, false: now}[i < 5] }, 5, 19},
	} {
		s := newSession(t, 1)
		s.mtu = 1024
		for range 20 {
			s.emit(true, one{op: 4, psn: s.psn, octets: 64, ack: true}) // RC SEND ONLY
			s.psn++
			s.emit(false, one{op: 17, psn: s.psn - 1}) // RC ACKNOWLEDGE
		}
		table := NewTable(Config{Capacity: 4, Stall: int64(1e6)})
		flows := flow.NewTable(flow.Config{Capacity: 4})
		var sent []int64
		for i, c := range s.packets {
			at := tt.at(i/2, c.at)
			if c.forward {
				sent = append(sent, at)
			}
			var p roce.Packet
			if err := p.ParseIP(c.frame, len(c.frame)); err != nil {
				t.Fatal(err)
			}
			of := flows.Observe(&p, at)
			qp, from := flows.SrcQP(of)
			table.Observe(&p, Seen{Time: at, SrcQP: qp, From: from, Slot: of.Slot()})
		}
		for d := range table.All() {
			if d.DestQP != qpB {
				continue
			}
			want := [2]int64{flow.NoTime, flow.NoTime}
			if tt.first >= 0 {
				want = [2]int64{sent[tt.first], sent[tt.last]}
			}
			if got := [2]int64{d.First, d.End()}; got != want {
				t.Errorf("%s: %d, want %d", name, got, want)
			}
			if rate, ok := d.Goodput(); ok && (rate <= 0 || name == "none") || d.Stalled < 0 || d.RTT() != nil && (name == "none" || d.RTT().Max > uint64(21*us)) || d.RTT() == nil && name != "none" {
				t.Errorf("%s: %v bit/s, %v, stalled %d ns, round trips %+v", name, rate, ok, d.Stalled, d.RTT())
			}
		}
	}
}

// TestClockSetBackByMoreThanKeep: directions whose last packet came before that leave for new ones, and those that
// had a packet since stay, as with a clock that goes on.
func TestClockSetBackByMoreThanKeep(t *testing.T) {
	const capacity, keep, hour = evictionSample, int64(time.Minute), int64(time.Hour)
	p, _ := benchPacket(t, 1, 2, roce.BTH{Opcode: roce.RCSendOnly}, make([]byte, 64))()
	for name, tt := range map[string]struct {
		now  int64 // of the new ones
		want int   // how many of them are followed
	}{
		"the clock goes on":                {2 * hour, capacity - 2},
		"within the time that they stay":   {hour + keep - 1, 0},
		"at its end":                       {hour + keep, capacity - 2},
		"set back by as long as they stay": {hour - keep, 0},
		"by a nanosecond more":             {hour - keep - 1, capacity - 2},
		"set back by an hour":              {0, capacity - 2},
	} {
		table := NewTable(Config{Capacity: capacity, Keep: keep})
		for point := range uint32(capacity) {
			table.Observe(&p, Seen{Time: hour, Point: point})
		}
		for point := range uint32(2) { // two live
			table.Observe(&p, Seen{Time: tt.now, Point: point})
		}
		for point := range uint32(capacity) {
			table.Observe(&p, Seen{Time: tt.now, Point: 100 + point})
		}
		followed, live := 0, 0
		for d := range table.All() {
			switch {
			case d.Point >= 100:
				followed++
			case d.Point < 2 && d.Packets == 2:
				live++
			}
		}
		if followed != tt.want || live != 2 || table.Unfollowed() != uint64(capacity-tt.want) {
			t.Errorf("%s: %d new directions, want %d; %d live ones stay; %d packets of others", name, followed, tt.want, live, table.Unfollowed())
		}
	}
}
