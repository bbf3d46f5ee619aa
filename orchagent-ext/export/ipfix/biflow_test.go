// SPDX-License-Identifier: Apache-2.0

package ipfix_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/export/ipfix"
	"sluice/orchagent-ext/flows/flow"
)

// directions is the two directions of a connection, the first seen first.
func directions(qp uint32, start int64) (forward, back, joined ipfix.Record) {
	forward = sample(true)
	forward.SrcQP, forward.DestQP, forward.Start, forward.End = qp, qp+1, start, start+2*second
	back = forward
	back.Src, back.Dst, back.SrcQP, back.DestQP = forward.Dst, forward.Src, forward.DestQP, forward.SrcQP
	back.SrcPort, back.Octets, back.Packets, back.Start = 77, 500, 5, start+1
	joined = forward
	joined.Reverse = ipfix.Reverse{Octets: 500, Packets: 5, Start: back.Start, End: back.End, SrcPort: 77}
	return forward, back, joined
}

func TestDirectionsJoin(t *testing.T) {
	f1, b1, j1 := directions(100, 1000*second)
	f2, b2, j2 := directions(200, 1001*second)
	later, _, _ := directions(300, 2000*second)
	unknown := f1
	unknown.SrcQPFrom = flow.None
	packet := f1
	packet.Packet = true
	const capacity = 2
	for name, tt := range map[string]struct{ in, want []ipfix.Record }{
		"joined":                       {[]ipfix.Record{f1, b1}, []ipfix.Record{j1}},
		"joined, the other way round":  {[]ipfix.Record{b1, f1}, []ipfix.Record{j1}},
		"two at a time":                {[]ipfix.Record{f1, f2, b1, b2}, []ipfix.Record{j1, j2}},
		"alone":                        {[]ipfix.Record{f1}, []ipfix.Record{f1}},
		"alone for too long":           {[]ipfix.Record{f1, later, b1}, []ipfix.Record{f1, later, b1}},
		"source queue pair unknown":    {[]ipfix.Record{b1, unknown}, []ipfix.Record{unknown, b1}},
		"a packet":                     {[]ipfix.Record{b1, packet}, []ipfix.Record{packet, b1}},
		"twice the same direction":     {[]ipfix.Record{f1, f1, b1}, []ipfix.Record{f1, j1}},
		"more than there is place for": {[]ipfix.Record{f1, f2, b2, b2, later, b1}, []ipfix.Record{j2, f1, b2, later, b1}},
	} {
		var got []ipfix.Record
		b := ipfix.NewBiflows(capacity, 10*time.Second, func(r []ipfix.Record) { got = append(got, r...) })
		b.Export(tt.in)
		b.Flush()
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestBiflowsTick(t *testing.T) {
	f, _, _ := directions(100, 1000*second)
	var got []ipfix.Record
	b := ipfix.NewBiflows(4, 10*time.Second, func(r []ipfix.Record) { got = append(got, r...) })
	b.Export([]ipfix.Record{f})
	if b.Tick(f.End + 10*second - 1); len(got) != 0 {
		t.Error("it went before its time")
	}
	if b.Tick(f.End + 10*second); len(got) != 1 {
		t.Error("it does not go")
	}
	if n := testing.AllocsPerRun(1000, func() {
		f.DestQP++
		f.End += second
		b.Export([]ipfix.Record{f})
	}); n > 0 {
		t.Errorf("%v allocations a record", n)
	}
}
