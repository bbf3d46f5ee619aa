// SPDX-License-Identifier: Apache-2.0

package ipfix_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sluice/orchagent-ext/flow"
	"sluice/orchagent-ext/ipfix"
	"sluice/orchagent-ext/ipfix/ipfixtest"
)

const testTime = 1_700_000_000_123_456_000 // ns, whole microseconds

var comparer = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

// sample is a record that has everything, over IPv4 or IPv6.
func sample(v6 bool) ipfix.Record {
	r := ipfix.Record{
		Src: netip.MustParseAddr("10.0.0.1").As16(), Dst: netip.MustParseAddr("10.0.0.2").As16(),
		DestQP: 0x123456, SrcQP: 0xabcdef, SrcQPFrom: flow.CM, PSN: 0xfffffe, Ingress: 7, Egress: 9, SrcPort: 49152, PKey: 0x8001,
		Opcode: 0x0c, Flags1: 0xe0, Flags2: 0x40, Flags3: 0x80, TrafficClass: 0x6b, EndReason: ipfix.ActiveTimeout,
		Octets: 1 << 40, Packets: 1 << 33, CEOctets: 1 << 39, CEPackets: 1 << 31,
		Start: testTime, End: testTime + 1e9,
	}
	if v6 {
		r.Src, r.Dst, r.FlowLabel = netip.MustParseAddr("2001:db8::1").As16(), netip.MustParseAddr("2001:db8::2").As16(), 0xabcde
	}
	return r
}

// want is what a collector must read of a record.
func want(r ipfix.Record) ipfixtest.Record {
	w := ipfixtest.Record{
		"protocolIdentifier": uint64(17), "sourceTransportPort": uint64(r.SrcPort), "destinationTransportPort": uint64(4791),
		"ipClassOfService": uint64(r.TrafficClass),
		"rdmaOpCode":       uint64(r.Opcode), "rdmaPartitionKey": uint64(r.PKey), "rdmaDestinationQP": uint64(r.DestQP),
		"rdmaPacketSequenceNumber": uint64(r.PSN),
		"rdmaBTHFlags1":            uint64(r.Flags1), "rdmaBTHFlags2": uint64(r.Flags2), "rdmaBTHFlags3": uint64(r.Flags3),
	}
	src, dst := netip.AddrFrom16(r.Src), netip.AddrFrom16(r.Dst)
	if src.Is4In6() {
		w["sourceIPv4Address"], w["destinationIPv4Address"] = src.Unmap(), dst.Unmap()
	} else {
		w["sourceIPv6Address"], w["destinationIPv6Address"], w["flowLabelIPv6"] = src, dst, uint64(r.FlowLabel)
	}
	if r.SrcQPFrom != flow.None {
		w["rdmaSourceQP"] = uint64(r.SrcQP)
	}
	if r.Ingress != 0 || r.Egress != 0 {
		w["ingressInterface"], w["egressInterface"] = uint64(r.Ingress), uint64(r.Egress)
	}
	if r.Packet {
		w["ipTotalLength"] = r.Octets
		w["observationTimeMicroseconds"] = ntp(r.End)
	} else {
		w["octetDeltaCount"], w["packetDeltaCount"], w["ceOctetDeltaCount"], w["cePacketDeltaCount"] = r.Octets, r.Packets, r.CEOctets, r.CEPackets
		w["flowStartMilliseconds"], w["flowEndMilliseconds"], w["flowEndReason"] = uint64(r.Start/1e6), uint64(r.End/1e6), uint64(r.EndReason)
	}
	if v := r.Reverse; v.Packets != 0 {
		w["biflowDirection"], w["reverse sourceTransportPort"] = uint64(1), uint64(v.SrcPort)
		w["reverse octetDeltaCount"], w["reverse packetDeltaCount"] = v.Octets, v.Packets
		w["reverse flowStartMilliseconds"], w["reverse flowEndMilliseconds"] = uint64(v.Start/1e6), uint64(v.End/1e6)
	}
	return w
}

// ntp is a time in NTP's format as RFC 7011 section 6.1.9 wants it: the smallest
// fraction without its low 11 bits that is not before the microsecond.
func ntp(ns int64) uint64 {
	seconds, us := uint64(ns/1e9)+2208988800, uint64(ns%1e9/1e3)
	for fraction := us << 32 / 1e6 &^ 0x7ff; ; fraction += 0x800 {
		if fraction*1e6>>32 >= us {
			return seconds<<32 | fraction
		}
	}
}

// decodeFile writes records into a file and reads it by messages.
func decodeFile(tb interface {
	Helper()
	Fatal(...any)
}, p ipfix.Process, records []ipfix.Record) *ipfixtest.Decoder {
	tb.Helper()
	d := ipfixtest.NewDecoder()
	w, err := ipfix.NewWriter(feeder{d}, p)
	if err != nil {
		tb.Fatal(err)
	}
	w.Export(records)
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return d
}

// feeder is a file whose every write is a message.
type feeder struct{ d *ipfixtest.Decoder }

func (f feeder) Write(b []byte) (int, error) { return len(b), f.d.Feed(b) }

//conformance:draft-lin/opcode draft-lin/pkey draft-lin/dest-qp draft-lin/psn
func TestEveryKindOfRecord(t *testing.T) {
	var records []ipfix.Record
	for _, v6 := range []bool{false, true} {
		for n := range 16 {
			r := sample(v6)
			if n&1 != 0 {
				r.SrcQPFrom = flow.None
			}
			if n&2 != 0 {
				r.Ingress, r.Egress = 0, 0
			}
			if n&4 != 0 {
				r.Packet = true
			}
			if n&8 != 0 && !r.Packet {
				r.Reverse = ipfix.Reverse{Octets: 5, Packets: 4, Start: testTime, End: testTime + 2e9, SrcPort: 1234}
			}
			records = append(records, r)
		}
	}
	d := decodeFile(t, ipfix.Process{}, records)
	if len(d.Records) != len(records) {
		t.Fatalf("%d records, want %d", len(d.Records), len(records))
	}
	for i := range records {
		if diff := cmp.Diff(want(records[i]), d.Records[i], comparer); diff != "" {
			t.Errorf("record %d: %s", i, diff)
		}
	}
	if len(d.Gaps) > 0 || d.Unknown > 0 {
		t.Errorf("gaps %v, %d sets without template", d.Gaps, d.Unknown)
	}
	for id, n := range d.Templates {
		if n != 1 {
			t.Errorf("template %d came %d times", id, n)
		}
	}
}

// TestAnyRecordReadsBack: whatever stands in a record, and however many there
// are, goflow2 reads the same.
//
//conformance:draft-lin/src-qp
func TestAnyRecordReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ipfix.Record {
			r := sample(rapid.Bool().Draw(t, "v6"))
			u24 := rapid.Uint32Range(0, 1<<24-1)
			r.DestQP, r.SrcQP, r.PSN = u24.Draw(t, "destQP"), u24.Draw(t, "srcQP"), u24.Draw(t, "psn")
			r.SrcQPFrom = flow.Provenance(rapid.IntRange(0, 3).Draw(t, "from"))
			r.Ingress = rapid.Uint32().Draw(t, "ingress")
			r.Packet = rapid.Bool().Draw(t, "packet")
			r.Octets = rapid.Uint64().Draw(t, "octets")
			r.End = rapid.Int64Range(0, 2_000_000_000).Draw(t, "end") * 1e6
			return r
		}), 1, 2000).Draw(t, "records")
		d := decodeFile(t, ipfix.Process{}, records)
		if len(d.Records) != len(records) || len(d.Gaps) > 0 {
			t.Fatalf("%d records, want %d; gaps %v", len(d.Records), len(records), d.Gaps)
		}
		for i := range records {
			if diff := cmp.Diff(want(records[i]), d.Records[i], comparer); diff != "" {
				t.Fatalf("record %d: %s", i, diff)
			}
		}
	})
}

func TestOptions(t *testing.T) {
	d := decodeFile(t, ipfix.Process{Registry: ipfix.Registry{PEN: 4242, First: 100}, SamplingRate: 64}, []ipfix.Record{sample(false)})
	var names []string
	for _, o := range d.Options[:10] {
		names = append(names, o["informationElementName"].(string))
	}
	if diff := cmp.Diff([]string{
		"rdmaOpCode", "rdmaPartitionKey", "rdmaDestinationQP", "rdmaSourceQP", "rdmaPacketSequenceNumber",
		"rdmaBTHFlags1", "rdmaBTHFlags2", "rdmaBTHFlags3", "ceOctetDeltaCount", "cePacketDeltaCount",
	}, names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(ipfixtest.Record{
		"privateEnterpriseNumber": uint64(4242), "informationElementId": uint64(102), "informationElementDataType": uint64(3),
		"informationElementSemantics": uint64(4), "informationElementUnits": uint64(0),
		"informationElementRangeBegin": uint64(0), "informationElementRangeEnd": uint64(1<<24 - 1),
		"informationElementName": "rdmaDestinationQP", "informationElementDescription": "RoCEv2 BTH destination queue pair, 24 bits",
	}, d.Options[2]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(ipfixtest.Record{
		"selectorId": uint64(1), "selectorAlgorithm": uint64(1), "samplingPacketInterval": uint64(1), "samplingPacketSpace": uint64(63),
	}, d.Options[10]); diff != "" {
		t.Error(diff)
	}
	if got := d.Records[0]["selectorId"]; got != uint64(1) {
		t.Errorf("selectorId of a record of sampled packets is %v", got)
	}
}

// TestAssignedElements: with PEN 0 the eight elements of draft-lin have IANA's
// form, and ours, which IANA does not know, are left out.
//
//conformance:draft-lin/iana
func TestAssignedElements(t *testing.T) {
	registry := ipfix.Registry{PEN: 0, First: 600}
	d := decodeFile(t, ipfix.Process{Registry: registry}, []ipfix.Record{sample(false)})
	if len(d.Options) != 0 {
		t.Errorf("type records of elements that IANA knows: %v", d.Options)
	}
	if got, want := len(d.Records[0]), len(want(sample(false)))-2-7; got != want { // goflow2 calls numbers it does not know all alike
		t.Errorf("%d elements, want %d: %v", got, want, d.Records[0])
	}
	for i, e := range ipfix.RDMA {
		pen, id, ok := registry.ID(e)
		if pen != 0 || id != 600+uint16(i) || ok != (i < 8) {
			t.Errorf("%s: %d/%d %v", e.Name, pen, id, ok)
		}
	}
}

func TestFileMessagesHaveTheirTime(t *testing.T) {
	var file []byte
	w, err := ipfix.NewWriter(appender{&file}, ipfix.Process{Domain: 77, Now: func() time.Time { return time.Unix(0x01020304, 5) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]byte{0, 10, byte(len(file) >> 8), byte(len(file)), 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 77}, file[:16]); diff != "" {
		t.Error(diff)
	}
}

type appender struct{ to *[]byte }

func (a appender) Write(b []byte) (int, error) {
	*a.to = append(*a.to, b...)
	return len(b), nil
}
