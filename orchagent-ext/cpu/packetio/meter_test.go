// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"context"
	"testing"
	"time"

	"sluice/orchagent-ext/export/ipfix"
	"sluice/orchagent-ext/testbed/ipfixtest"
	"sluice/orchagent-ext/wire/roce"
)

// TestMetersExportFlowsWhenTheReaderEnds: flows are exported when the reader ends, at the latest.
//
//conformance:draft-lin/performance
func TestMetersExportFlowsWhenTheReaderEnds(t *testing.T) {
	var records []ipfix.Record
	a := frame(t, 0x11, 0)
	a.Ingress = 7
	_, news := run(t, Config{Metering: &Metering{Export: func(r []ipfix.Record) { records = append(records, r...) }}}, []Frame{a, a})
	if len(news) > 0 {
		t.Errorf("labels are not wanted, and: %v", news)
	}
	if len(records) != 1 || records[0].DestQP != 0x11 || records[0].Packets != 2 || records[0].Ingress != 7 || records[0].EndReason != ipfix.ForcedEnd {
		t.Errorf("%+v", records)
	}
}

// TestBiflowsJoinBothDirectionsInOneRecord: the two directions of a connection are one record, whether the
// reader ends or the second direction is late.
func TestBiflowsJoinBothDirectionsInOneRecord(t *testing.T) {
	there, back := cm(t, 0x10, 0x77, host1, host2), cm(t, 0x13, 0x11, host2, host1)
	for name, bursts := range map[string][][]Frame{
		"together": {{there, there, back}},
		"late":     {{there, there}, {}, {back}},
	} {
		var records []ipfix.Record
		now := time.Unix(1000, 0)
		c := Config{
			Metering: &Metering{Biflow: true, MeterConfig: ipfix.MeterConfig{Active: time.Minute}, Export: func(r []ipfix.Record) { records = append(records, r...) }},
			Idle:     10 * time.Second, Now: func() time.Time { now = now.Add(20 * time.Second); return now },
		}
		run(t, c, bursts...)
		if len(records) != 1 || records[0].Packets != 2 || records[0].Src != host1 || records[0].Reverse.Packets != 1 {
			t.Errorf("%s: %+v", name, records)
		}
	}
}

// TestBiflowsWaitNoLonger for the other direction than its flow can go without a record.
func TestBiflowsWaitNoLonger(t *testing.T) {
	var records []ipfix.Record
	now := time.Unix(1000, 0)
	r := New(nil, Config{
		Metering: &Metering{Biflow: true, MeterConfig: ipfix.MeterConfig{Active: time.Minute}, Export: func(r []ipfix.Record) { records = append(records, r...) }},
		Idle:     10 * time.Second, Now: func() time.Time { return now },
	})
	r.burst([]Frame{cm(t, 0x10, 0x77, host1, host2)})
	for _, tt := range []struct {
		after   time.Duration
		records int
	}{{10 * time.Second, 0}, {59 * time.Second, 0}, {time.Second, 1}} {
		now = now.Add(tt.after)
		r.burst(nil)
		if len(records) != tt.records {
			t.Errorf("at %v: %d records, want %d", now.Unix(), len(records), tt.records)
		}
	}
}

// lossySource loses packets between its bursts.
type lossySource struct {
	bursts
	lost uint64
}

func (s *lossySource) Receive(ctx context.Context, frames []Frame) (int, error) {
	s.lost += 5
	return s.bursts.Receive(ctx, frames)
}

func (s *lossySource) RingFull() uint64 { return s.lost }

// What should be metered and is not is counted: what the source lost while the reader ran,
// and what could not be parsed, with its octets.
func TestIgnoredPacketsAreCounted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	bad := frame(t, 0x11, 0)
	bad.Data = bad.Data[:60]
	source := &lossySource{bursts{[][]Frame{{frame(t, 1, 0), bad}, {frame(t, 1, 0)}}, cancel}, 1000}
	var ignored ipfix.Ignored
	now := time.Unix(1000, 0)
	r := New(source, Config{Now: func() time.Time { return now }, Metering: &Metering{Ignored: &ignored, Export: func([]ipfix.Record) {}}})
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	d := ipfixtest.NewDecoder()
	w, err := ipfix.NewWriter(file{d}, ipfix.Process{Ignored: &ignored})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	got := d.Options[len(d.Options)-1]
	if got["ignoredPacketTotalCount"] != uint64(10+1) || got["ignoredOctetTotalCount"] != uint64(60) || got["flowStartMilliseconds"] != uint64(1000_000) {
		t.Errorf("%v, want 10 packets that the source lost and a malformed one of 60 octets", got)
	}
}

// file is one whose every write is a message.
type file struct{ d *ipfixtest.Decoder }

func (m file) Write(b []byte) (int, error) { return len(b), m.d.Feed(b) }

// TestCopiesAreNoSamples: where the CPU has every packet of a kind, and one of so
// many of the others, what is exported is one of so many of all.
func TestCopiesAreNoSamples(t *testing.T) {
	const rate = 10
	data, cnp := frame(t, 0x11, 0), frame(t, 0x22, 0)
	cnp.Data[14+40+8] = byte(roce.CNP)
	why := func(f Frame, w Why) Frame {
		f.Why = w
		return f
	}
	for _, tt := range []struct {
		name string
		of   Frame
		sent int
		rate int // of which one counts: each by itself, as the switch samples
	}{
		{"samples", data, 1000, 1},
		{"copies", why(data, Copied), 20000, rate},
		{"data among both", why(data, Either), 1000, 1},
		{"CNPs, of which each was copied and one of ten sampled, too", why(cnp, Either), 22000, rate + 1},
	} {
		for _, perPacket := range []bool{false, true} {
			packets, octets, each := uint64(0), uint64(0), uint64(len(tt.of.Data)-14)
			c := Config{Metering: &Metering{Rate: rate, MeterConfig: ipfix.MeterConfig{PerPacket: perPacket}, Export: func(all []ipfix.Record) {
				for _, r := range all {
					packets += r.Packets
					octets += r.Octets
				}
			}}}
			var all [][]Frame
			for range tt.sent {
				all = append(all, []Frame{tt.of})
			}
			r, _ := run(t, c, all...)
			want, tolerance := tt.sent/tt.rate, 0
			if tt.rate > 1 {
				tolerance = 300 // 7 standard deviations
			}
			if got := int(packets); got < want-tolerance || got > want+tolerance || octets != packets*each {
				t.Errorf("%s, record a packet %v: %d packets of %d octets, want about %d, of %d octets each", tt.name, perPacket, packets, octets, want, each)
			}
			if s := r.Stats(); s.RoCE != uint64(tt.sent) {
				t.Errorf("%s: %+v", tt.name, s)
			}
		}
	}
}
