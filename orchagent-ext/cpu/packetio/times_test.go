// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"testing"
	"time"

	"sluice/orchagent-ext/flows/rtt"
	"sluice/orchagent-ext/wire/roce"
)

// tell returns the report that the next burst makes.
func (r *Reader) tell(now time.Time) *RoundTrips {
	r.RoundTrips()
	r.config.Now = func() time.Time { return now.Add(time.Duration(reportEvery)) }
	r.burst(nil)
	return r.RoundTrips()
}

// A request and its answer show the time to the host by the kernel's times of both, not by those at
// which they are read; a packet without such a time shows nothing.
func TestReaderMeasuresRoundTrips(t *testing.T) {
	now := time.Unix(1e9, 0)
	after := func(f Frame, d time.Duration) Frame {
		f.At = now.Add(d).UnixNano()
		return f
	}
	from2 := func(op roce.Opcode, qp uint32) Frame {
		b := roce.Ethernet{EtherType: roce.EtherTypeIPv6}.Append(nil)
		ip := len(b)
		src, dst := host1, host2
		if op == roce.RCAck {
			src, dst = dst, src
		}
		b = roce.IPv6Header{NextHeader: 17, HopLimit: 64, Src: src, Dst: dst}.Append(b)
		b = roce.UDPHeader{SrcPort: 49152, DstPort: roce.UDPPort}.Append(b)
		b = roce.BTH{Opcode: op, PKey: 0xffff, DestQP: qp, PSN: 9, AckReq: op != roce.RCAck}.Append(b)
		if op == roce.RCAck {
			b = roce.AETH{}.Append(b)
		}
		b, err := roce.Finish(b, ip)
		if err != nil {
			t.Fatal(err)
		}
		return Frame{Data: b, Length: len(b)}
	}
	ms := time.Millisecond
	for name, timed := range map[string]bool{"kernel's times": true, "no times": false} {
		r := New(nil, Config{RoundTrips: true, Now: func() time.Time { return now }})
		all := []Frame{
			after(cm(t, 0x10, 0x77, host1, host2), 0), after(cm(t, 0x13, 0x11, host2, host1), 70*ms),
			after(from2(roce.RCSendOnly, 0x11), 100*ms), after(from2(roce.RCAck, 0x77), 120*ms),
		}
		for i := range all {
			if !timed {
				all[i].At = 0
			}
		}
		r.burst(all)
		got := r.tell(now)
		switch {
		case !timed && len(got.Hosts) == 0:
		case timed && len(got.Hosts) == 1 && got.Hosts[0].Time == 20*ms && got.Hosts[0].From == rtt.Answer && got.Taken == 2:
		default:
			t.Errorf("%s: %+v", name, got)
		}
	}
	if r := New(nil, Config{}); r.RoundTrips() != nil {
		t.Error("a reader that measures nothing reports")
	}
}
