// SPDX-License-Identifier: Apache-2.0

package ipfix_test

import (
	"encoding/binary"
	"net"
	"testing"
	"time"

	"sluice/orchagent-ext/export/ipfix"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/roce"
)

// BenchmarkEncode is one record into messages, that go nowhere.
func BenchmarkEncode(b *testing.B) {
	for _, v6 := range []bool{false, true} {
		b.Run(map[bool]string{false: "ipv4", true: "ipv6"}[v6], func(b *testing.B) {
			w, err := ipfix.NewWriter(discard{}, ipfix.Process{})
			if err != nil {
				b.Fatal(err)
			}
			records := make([]ipfix.Record, 64)
			for i := range records {
				records[i] = sample(v6)
			}
			b.ReportAllocs()
			for n := 0; n < b.N; n += len(records) {
				w.Export(records)
			}
		})
	}
}

// BenchmarkSendUDP is one record through the whole exporter (queue, messages of
// 1280 octets, system calls, the kernel's loopback) to a socket that no process
// reads, so that it is the sending that is measured.
func BenchmarkSendUDP(b *testing.B) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	e, stop := start(b, ipfix.Config{Collectors: []ipfix.Collector{{Address: c.LocalAddr().String()}}, Linger: 50 * time.Millisecond})
	records := make([]ipfix.Record, 64)
	for i := range records {
		records[i] = sample(true)
	}
	b.ReportAllocs()
	b.ResetTimer()
	n := 0
	for ; n < b.N; n += len(records) {
		if err := e.ExportAll(b.Context(), records); err != nil {
			b.Fatal(err)
		}
	}
	stop()
	b.StopTimer()
	if s := e.Stats()[0]; s.Records != uint64(n) {
		b.Errorf("%d records: %+v", n, s)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkMeter64kFlows parses, observes and accounts for packets of 65,536
// flows in an order without pattern, in bursts as the packet path does.
func BenchmarkMeter64kFlows(b *testing.B) {
	const flows, burst, shuffle = 65536, 32, 40503
	m := ipfix.NewMeter(ipfix.MeterConfig{Capacity: flows}, func([]ipfix.Record) {})
	table := flow.NewTable(flow.Config{Capacity: flows, Removed: m.Removed})
	m.Follow(table)
	var packets [burst]roce.Packet
	var frames [burst][]byte
	for i := range frames {
		frames[i] = frameOf(b, roce.BTH{Opcode: roce.RCSendOnly}, 2, 64)
	}
	now := int64(1)
	each := func(i int, f *flow.Flow) { m.Observe(&packets[i], f, 1, 2, now) }
	step := func(n int) {
		for i := range packets {
			const destQP = 20 + 8 + 4
			binary.BigEndian.PutUint32(frames[i][destQP:], uint32(n+i)*shuffle%flows)
			if err := packets[i].ParseIP(frames[i], len(frames[i])); err != nil {
				b.Fatal(err)
			}
		}
		table.ObserveBurst(packets[:], now, each)
		m.Tick()
		now++
	}
	for n := 0; n < flows; n += burst {
		step(n)
	}
	if table.Len() != flows {
		b.Fatalf("%d flows", table.Len())
	}
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += burst {
		step(n)
	}
}
