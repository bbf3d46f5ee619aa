// SPDX-License-Identifier: Apache-2.0

package goipfix

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/vmware/go-ipfix/pkg/entities"
	"github.com/vmware/go-ipfix/pkg/exporter"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"sluice/orchagent-ext/export/ipfix"
	"sluice/orchagent-ext/flows/flow"
)

const (
	batch   = 64
	pathMTU = 1280
	linger  = time.Millisecond // that Sluice's exporter listens at the end, for a port unreachable
)

// records is flows over IPv6 with everything known but the interfaces.
func records() []ipfix.Record {
	all := make([]ipfix.Record, batch)
	for i := range all {
		all[i] = ipfix.Record{
			Src: netip.MustParseAddr("2001:db8::1").As16(), Dst: netip.MustParseAddr("2001:db8::2").As16(), FlowLabel: 0xabcde,
			DestQP: uint32(i), SrcQP: 7, SrcQPFrom: flow.CM, PSN: 9, SrcPort: 49152, PKey: 0xffff, Opcode: 10, Flags1: 0x40, Flags3: 0x80,
			TrafficClass: 2, EndReason: ipfix.ActiveTimeout, Octets: 1 << 30, Packets: 1 << 20, Start: 1_700_000_000e9, End: 1_700_000_060e9,
		}
	}
	return all
}

// sink is a socket without a reader.
func sink(b *testing.B) string {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	return c.LocalAddr().String()
}

// BenchmarkSendUDP is one record: encoded, and sent in messages that fit the same
// path MTU.
func BenchmarkSendUDP(b *testing.B) {
	b.Run("sluice", func(b *testing.B) {
		b.ReportAllocs()
		b.ReportMetric(float64(b.N)/sluice(b, sink(b), b.N).Seconds(), "records/s")
	})
	b.Run("go-ipfix", func(b *testing.B) {
		b.ReportAllocs()
		b.ReportMetric(float64(b.N)/goIPFIX(b, sink(b), b.N).Seconds(), "records/s")
	})
}

// BenchmarkRatio is go-ipfix's CPU time over Sluice's, that of the kernel too, for the same number of
// records, in turns. By the clock it would be that of whatever else runs. Each exporter is made once, and
// sends a turn before the first that counts: the queue of Sluice's has grown by then.
func BenchmarkRatio(b *testing.B) {
	const turns = 8
	mine, endMine := newSluice(b, sink(b))
	other, endOther := newGoIPFIX(b, sink(b))
	defer func() { endMine(); endOther() }()
	n, cpuMine, cpuOther := b.N/turns+1, time.Duration(0), time.Duration(0)
	mine(n)
	other(n)
	for range turns {
		cpuMine += cpuTime(b, func() { mine(n) })
		cpuOther += cpuTime(b, func() { other(n) })
	}
	b.ReportMetric(cpuOther.Seconds()/cpuMine.Seconds(), "ratio")
}

// cpuTime returns the CPU time that the process takes for f.
func cpuTime(b *testing.B, f func()) time.Duration {
	before := usage(b)
	f()
	return usage(b) - before
}

// usage returns the CPU time of the process, in user mode and in the kernel.
func usage(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// newSluice runs an exporter to an address. send returns once about n records have left its queue; end
// returns once the last of them has been sent.
func newSluice(b testing.TB, to string) (send func(n int), end func()) {
	e, err := ipfix.New(ipfix.Config{Collectors: []ipfix.Collector{{Address: to, PathMTU: pathMTU}}, Linger: linger})
	if err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- e.Run(context.Background()) }()
	all := records()
	send = func(n int) {
		for i := 0; i < n; i += batch {
			if err := e.ExportAll(b.Context(), all); err != nil {
				b.Fatal(err)
			}
		}
		for e.Stats()[0].Waiting > 0 {
			time.Sleep(100 * time.Microsecond)
		}
	}
	return send, func() {
		e.Close()
		if err := <-ended; err != nil {
			b.Fatal(err)
		}
	}
}

// sluice sends about n records to an address and returns how long that took.
func sluice(b testing.TB, to string, n int) time.Duration {
	send, end := newSluice(b, to)
	began := time.Now()
	send(n)
	end()
	return time.Since(began) - linger
}

// element is one of go-ipfix, and how it gets a record's value.
type element struct {
	info *entities.InfoElement
	set  func(e entities.InfoElementWithValue, r *ipfix.Record)
}

func elements() []element {
	const pen = ipfix.DocumentationPEN
	u8 := func(name string, id uint16, pen uint32, v func(*ipfix.Record) uint8) element {
		return element{entities.NewInfoElement(name, id, entities.Unsigned8, pen, 1), func(e entities.InfoElementWithValue, r *ipfix.Record) { e.SetUnsigned8Value(v(r)) }}
	}
	u16 := func(name string, id uint16, pen uint32, v func(*ipfix.Record) uint16) element {
		return element{entities.NewInfoElement(name, id, entities.Unsigned16, pen, 2), func(e entities.InfoElementWithValue, r *ipfix.Record) { e.SetUnsigned16Value(v(r)) }}
	}
	u32 := func(name string, id uint16, pen uint32, v func(*ipfix.Record) uint32) element {
		return element{entities.NewInfoElement(name, id, entities.Unsigned32, pen, 4), func(e entities.InfoElementWithValue, r *ipfix.Record) { e.SetUnsigned32Value(v(r)) }}
	}
	u64 := func(name string, id uint16, kind entities.IEDataType, pen uint32, v func(*ipfix.Record) uint64) element {
		return element{entities.NewInfoElement(name, id, kind, pen, 8), func(e entities.InfoElementWithValue, r *ipfix.Record) { e.SetUnsigned64Value(v(r)) }}
	}
	address := func(name string, id uint16, v func(*ipfix.Record) []byte) element {
		return element{entities.NewInfoElement(name, id, entities.Ipv6Address, 0, 16), func(e entities.InfoElementWithValue, r *ipfix.Record) { e.SetIPAddressValue(v(r)) }}
	}
	all := []element{
		address("sourceIPv6Address", 27, func(r *ipfix.Record) []byte { return r.Src[:] }),
		address("destinationIPv6Address", 28, func(r *ipfix.Record) []byte { return r.Dst[:] }),
		u32("flowLabelIPv6", 31, 0, func(r *ipfix.Record) uint32 { return r.FlowLabel }),
		u8("protocolIdentifier", 4, 0, func(*ipfix.Record) uint8 { return 17 }),
		u16("sourceTransportPort", 7, 0, func(r *ipfix.Record) uint16 { return r.SrcPort }),
		u16("destinationTransportPort", 11, 0, func(*ipfix.Record) uint16 { return 4791 }),
		u8("ipClassOfService", 5, 0, func(r *ipfix.Record) uint8 { return r.TrafficClass }),
		u8("rdmaOpCode", 1, pen, func(r *ipfix.Record) uint8 { return r.Opcode }),
		u16("rdmaPartitionKey", 2, pen, func(r *ipfix.Record) uint16 { return r.PKey }),
		u32("rdmaDestinationQP", 3, pen, func(r *ipfix.Record) uint32 { return r.DestQP }),
		u32("rdmaSourceQP", 4, pen, func(r *ipfix.Record) uint32 { return r.SrcQP }),
		u32("rdmaPacketSequenceNumber", 5, pen, func(r *ipfix.Record) uint32 { return r.PSN }),
		u8("rdmaBTHFlags1", 6, pen, func(r *ipfix.Record) uint8 { return r.Flags1 }),
		u8("rdmaBTHFlags2", 7, pen, func(r *ipfix.Record) uint8 { return r.Flags2 }),
		u8("rdmaBTHFlags3", 8, pen, func(r *ipfix.Record) uint8 { return r.Flags3 }),
		u64("octetDeltaCount", 1, entities.Unsigned64, 0, func(r *ipfix.Record) uint64 { return r.Octets }),
		u64("packetDeltaCount", 2, entities.Unsigned64, 0, func(r *ipfix.Record) uint64 { return r.Packets }),
		u64("ceOctetDeltaCount", 9, entities.Unsigned64, pen, func(r *ipfix.Record) uint64 { return r.CEOctets }),
		u64("cePacketDeltaCount", 10, entities.Unsigned64, pen, func(r *ipfix.Record) uint64 { return r.CEPackets }),
		u64("flowStartMilliseconds", 152, entities.DateTimeMilliseconds, 0, func(r *ipfix.Record) uint64 { return uint64(r.Start / 1e6) }),
		u64("flowEndMilliseconds", 153, entities.DateTimeMilliseconds, 0, func(r *ipfix.Record) uint64 { return uint64(r.End / 1e6) }),
		u8("flowEndReason", 136, 0, func(r *ipfix.Record) uint8 { return uint8(r.EndReason) }),
		u8("rdmaSourceQPProvenance", 11, pen, func(r *ipfix.Record) uint8 { return uint8(r.SrcQPFrom) }),
	}
	const firstClass = 13 // in ipfix.RDMA: packets by class
	for c := range len(ipfix.Record{}.Classes) {
		e := ipfix.RDMA[firstClass+c]
		_, id, _ := ipfix.DefaultRegistry.ID(e)
		all = append(all, u32(e.Name, id, pen, func(r *ipfix.Record) uint32 { return r.Classes[c] }))
	}
	return all
}

// form is what a collector sees of an exporter's records.
type form struct {
	Elements, Octets int // of a record, by its template
	Together         int // records in the fullest message

	id int // of the template
}

// TestBothSendTheSameRecords: records of both exporters have as many elements of as many octets, and as
// many are in a message.
func TestBothSendTheSameRecords(t *testing.T) {
	of := func(send func(testing.TB, string, int) time.Duration) (f form) {
		c, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		send(t, c.LocalAddr().String(), batch) // the socket holds as many
		message := make([]byte, 1<<16)
		for n := 0; n < batch; {
			size, _, err := c.ReadFrom(message)
			if err != nil {
				t.Fatal(err)
			}
			records := f.read(message[16:size])
			n, f.Together = n+records, max(f.Together, records)
		}
		return f
	}
	mine, other := of(sluice), of(goIPFIX)
	mine.id, other.id = 0, 0 // each numbers its own
	if mine != other || mine.Elements != len(elements()) {
		t.Errorf("Sluice sends %+v, go-ipfix %+v", mine, other)
	}
}

// read reads the sets of a message and returns how many records of flows it has. The first template
// of a message is theirs.
func (f *form) read(sets []byte) (records int) {
	u16 := func(b []byte) int { return int(binary.BigEndian.Uint16(b)) }
	for ; len(sets) > 0; sets = sets[u16(sets[2:]):] {
		switch id, set := u16(sets), sets[4:u16(sets[2:])]; {
		case id == 2 && f.Elements == 0:
			f.id, f.Elements = u16(set), u16(set[2:])
			for at := set[4:]; len(at) > 0; {
				f.Octets += u16(at[2:])
				length := 4
				if u16(at)>>15 == 1 { // an enterprise number follows
					length = 8
				}
				at = at[length:]
			}
		case id == f.id:
			records += len(set) / f.Octets
		}
	}
	return records
}

// newGoIPFIX does what go-ipfix recommends for speed: a buffered exporter, and one list
// of elements whose values are set again and again.
func newGoIPFIX(b testing.TB, to string) (send func(n int), end func()) {
	klog.LogToStderr(false) // its log would mix with the figures
	klog.SetOutput(io.Discard)
	process, err := exporter.InitExportingProcess(exporter.ExporterInput{
		CollectorAddress: to, CollectorProtocol: "udp", ObservationDomainID: 1, PathMTU: pathMTU,
	})
	if err != nil {
		b.Fatal(err)
	}
	e := exporter.NewBufferedIPFIXExporter(process)
	all, fields := records(), elements()
	values := make([]entities.InfoElementWithValue, len(fields))
	for i, f := range fields {
		if values[i], err = entities.DecodeAndCreateInfoElementWithValue(f.info, nil); err != nil {
			b.Fatal(err)
		}
	}
	id := process.NewTemplateID()
	template := entities.NewTemplateRecordFromElements(id, values, false)
	if err := errors.Join(template.PrepareRecord(), e.AddRecord(template)); err != nil {
		b.Fatal(err)
	}
	send = func(n int) {
		for range (n + batch - 1) / batch {
			for i := range all {
				for j, f := range fields {
					f.set(values[j], &all[i])
				}
				if err := e.AddRecord(entities.NewDataRecordFromElements(id, values, false)); err != nil {
					b.Fatal(err)
				}
			}
		}
		if err := e.Flush(); err != nil {
			b.Fatal(err)
		}
	}
	return send, process.CloseConnToCollector
}

// goIPFIX sends about n records to an address and returns how long that took.
func goIPFIX(b testing.TB, to string, n int) time.Duration {
	send, end := newGoIPFIX(b, to)
	defer end()
	began := time.Now()
	send(n)
	return time.Since(began)
}
