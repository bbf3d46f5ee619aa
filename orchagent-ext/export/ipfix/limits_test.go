// SPDX-License-Identifier: Apache-2.0

package ipfix_test

import (
	"encoding/binary"
	"io"
	"math"
	"net"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"sluice/orchagent-ext/export/ipfix"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/testbed/ipfixtest"
	"sluice/orchagent-ext/wire/roce"
	"sluice/tests/racetest"
)

func TestMessagesFitThePathMTU(t *testing.T) {
	const udp = 8
	for _, tt := range []struct {
		transport    ipfix.Transport
		address      string
		mtu, headers int
	}{
		{ipfix.UDP, "127.0.0.1:0", 1280, 20 + udp}, {ipfix.UDP, "[::1]:0", 1280, 40 + udp},
		{ipfix.UDP, "127.0.0.1:0", ipfix.MinPathMTU, 20 + udp}, {ipfix.UDP, "[::1]:0", ipfix.MinPathMTU, 40 + udp}, {ipfix.UDP, "[::1]:0", 9000, 40 + udp},
		{ipfix.DTLS, "[::1]:0", 1280, 40 + udp + 13 + 8 + 16}, {ipfix.DTLS, "[::1]:0", ipfix.MinPathMTU, 40 + udp + 13 + 8 + 16},
	} {
		to := ipfix.Collector{Transport: tt.transport, PathMTU: tt.mtu}
		security := secure(t, &to)
		collector := ipfixtest.Listen(t, tt.transport.String(), tt.address, security)
		to.Address = collector.Addr
		e, _ := start(t, ipfix.Config{Process: ipfix.Process{SamplingRate: 10}, Collectors: []ipfix.Collector{to}})
		records := numbered(150)
		for i := range records {
			records[i] = longest(records[i])
		}
		e.Export(records)
		collector.WaitRecords(t, len(records))
		collector.Look(func(s []*ipfixtest.Decoder) {
			longest := slices.Max(s[0].Lengths)
			if limit := tt.mtu - tt.headers; longest > limit || longest < limit-300 || len(s[0].Gaps) > 0 {
				t.Errorf("%s %s, path MTU %d: messages of up to %d octets, %d are room; gaps %v", tt.transport, tt.address, tt.mtu, longest, limit, s[0].Gaps)
			}
		})
	}
}

// longest makes a record one that has everything: over IPv6, both directions of a tunnel,
// sampled.
func longest(r ipfix.Record) ipfix.Record {
	r.Src, r.Dst = sample(true).Src, sample(true).Dst
	r.SrcQPFrom, r.Ingress, r.Elsewhere, r.Reverse = flow.CM, 1, true, ipfix.Reverse{Packets: 1}
	return r
}

// hear returns a UDP socket and what was heard at it: message by message, nil
// when none comes any more.
func hear(t *testing.T) (address string, next func() []byte) {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() }) //nolint:errcheck // the test is over
	return c.LocalAddr().String(), func() []byte {
		if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 1<<16)
		n, _, err := c.ReadFrom(b)
		if err != nil {
			return nil
		}
		return b[:n]
	}
}

// TestLostTemplateComesAgain: by time, and by count.
func TestLostTemplateComesAgain(t *testing.T) {
	for name, c := range map[string]ipfix.Config{
		"time": {Refresh: 100 * time.Millisecond}, "count": {RefreshMessages: 5},
	} {
		address, next := hear(t)
		c.Collectors = []ipfix.Collector{{Address: address}}
		e, _ := start(t, c)
		r := []ipfix.Record{sample(true)}
		e.Export(r)
		for lost := 0; lost < 3; lost++ { // options, two messages, and the record with its template
			if next() == nil {
				t.Fatal("nothing was sent")
			}
		}
		d := ipfixtest.NewDecoder()
		for n := 0; len(d.Records) == 0; n++ {
			e.Export(r)
			message := next()
			if message == nil || n > 1000 {
				t.Fatalf("%s: the template does not come again", name)
			}
			if err := d.Feed(message); err != nil {
				t.Fatal(err)
			}
		}
		if d.Unknown == 0 || len(d.Options) < 12 {
			t.Errorf("%s: %d sets without template, %d options records", name, d.Unknown, len(d.Options))
		}
	}
}

// TestTemplatesComeAgainOverDTLS: a datagram with a template can be lost there,
// too. What was sent is heard decrypted.
func TestTemplatesComeAgainOverDTLS(t *testing.T) {
	to := ipfix.Collector{Transport: ipfix.DTLS}
	security := secure(t, &to)
	collector := ipfixtest.Listen(t, "dtls", "127.0.0.1:0", security)
	to.Address = collector.Addr
	e, _ := start(t, ipfix.Config{RefreshMessages: 5, Collectors: []ipfix.Collector{to}})
	collector.Wait(t, "templates and options again", func(s []*ipfixtest.Decoder) bool {
		e.Export([]ipfix.Record{sample(true)})
		if len(s) == 0 || len(s[0].Options) < 3*12 {
			return false
		}
		for _, times := range s[0].Templates {
			if times < 3 {
				return false
			}
		}
		return true
	})
}

// TestLastRecordsReachSlowDTLSCollectors: a collector that reads nothing until the session
// has ended, or is renewed, gets all records. A DTLS library hands out the last datagram or
// the end, whichever it picks where both are there: so there are eight.
//
//conformance:draft-lin/encryption
func TestLastRecordsReachSlowDTLSCollectors(t *testing.T) {
	const n = 40 // a few datagrams
	for name, refresh := range map[string]time.Duration{"end": time.Hour, "renewal": 200 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			var collectors []*ipfixtest.Collector
			c := ipfix.Config{Refresh: refresh}
			for i := range 8 {
				to := ipfix.Collector{Name: strconv.Itoa(i), Transport: ipfix.DTLS}
				security := secure(t, &to)
				collectors = append(collectors, ipfixtest.Listen(t, "dtls", "127.0.0.1:0", security))
				to.Address = collectors[i].Addr
				c.Collectors = append(c.Collectors, to)
			}
			e, stop := start(t, c)
			sessions := make([]int, len(collectors))
			for i, collector := range collectors {
				collector.Wait(t, "statistics", func(s []*ipfixtest.Decoder) bool { return len(s) > 0 && len(s[0].Options) >= 12 })
				collector.Pause()
				collector.Look(func(s []*ipfixtest.Decoder) { sessions[i] = len(s) })
			}
			e.Export(numbered(n))
			if name == "end" {
				stop()
			}
			for i, collector := range collectors {
				if name == "renewal" {
					collector.Wait(t, "another session", func(s []*ipfixtest.Decoder) bool { return len(s) > sessions[i] })
				}
				collector.Resume()
			}
			for i, collector := range collectors {
				if got := len(collector.WaitRecords(t, n)); got != n {
					t.Errorf("collector %d: %d records, want %d", i, got, n)
				}
			}
		})
	}
}

// TestDTLSSessionsAreRenewed: a collector that restarted cannot say so.
//
//conformance:draft-lin/encryption
func TestDTLSSessionsAreRenewed(t *testing.T) {
	to := ipfix.Collector{Transport: ipfix.DTLS}
	security := secure(t, &to)
	collector := ipfixtest.Listen(t, "dtls", "127.0.0.1:0", security)
	to.Address = collector.Addr
	e, _ := start(t, ipfix.Config{Refresh: 100 * time.Millisecond, Collectors: []ipfix.Collector{to}})
	collector.Wait(t, "records in three sessions", func(s []*ipfixtest.Decoder) bool {
		e.Export([]ipfix.Record{sample(true)})
		with := 0
		for _, d := range s {
			if len(d.Records) > 0 && d.Unknown == 0 {
				with++
			}
		}
		return with >= 3
	})
	if s := e.Stats()[0]; s.Error != "" || s.Dropped != 0 {
		t.Errorf("%+v", s)
	}
}

// TestClockOfMessages: the export time is the clock's, wherever it jumps, and
// nothing else depends on it.
func TestClockOfMessages(t *testing.T) {
	address, next := hear(t)
	times := []int64{1_000_000, 2_000_000_000, 5}
	n := -1
	e, _ := start(t, ipfix.Config{Process: ipfix.Process{Now: func() time.Time {
		n++
		return time.Unix(times[min(n, len(times)-1)], 0)
	}}, Collectors: []ipfix.Collector{{Address: address}}})
	d := ipfixtest.NewDecoder()
	for i := range times {
		message := next()
		if message == nil {
			t.Fatal("nothing was sent")
		}
		if got := binary.BigEndian.Uint32(message[4:]); got != uint32(times[i]) {
			t.Errorf("message %d has export time %d, want %d", i, got, times[i])
		}
		if err := d.Feed(message); err != nil {
			t.Error(err)
		}
		e.Export([]ipfix.Record{sample(false)})
	}
	if len(d.Gaps) > 0 || d.Unknown > 0 {
		t.Errorf("gaps %v, %d sets without template", d.Gaps, d.Unknown)
	}
}

// TestMillionFlowsExpireAtOnce: the packet path never waits, memory is bounded,
// and every record is either sent or counted as dropped.
func TestMillionFlowsExpireAtOnce(t *testing.T) {
	const queue = 16384
	flows := racetest.Rounds(1_000_000, 100_000)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			io.Copy(io.Discard, c) //nolint:errcheck // until the other side ends it
		}
	}()
	e, stop := start(t, ipfix.Config{Queue: queue, Collectors: []ipfix.Collector{{Address: l.Addr().String(), Transport: ipfix.TCP}}})
	m := ipfix.NewMeter(ipfix.MeterConfig{Capacity: flows}, e.Export)
	table := flow.NewTable(flow.Config{Capacity: flows, Removed: m.Removed})
	m.Follow(table)
	p := packetOf(t, roce.BTH{Opcode: roce.RCSendOnly}, 0, 0)
	for qp := range uint32(flows) {
		binary.BigEndian.PutUint32(p.BTHBytes()[4:], qp)
		m.Observe(p, table.Observe(p, second), 0, 0, second)
	}
	before := heap()
	table.Expire(100*second, 15*second, math.MaxInt)
	m.Tick()
	const bound = 16 << 20
	if grown := heap() - before; grown > bound {
		t.Errorf("memory grew by %d octets, more than %d", grown, bound)
	}
	stop()
	runtime.KeepAlive(table)
	if s := e.Stats()[0]; s.Records+s.Dropped != uint64(flows) || s.Records < queue || s.Waiting != 0 {
		t.Errorf("%+v", s)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
