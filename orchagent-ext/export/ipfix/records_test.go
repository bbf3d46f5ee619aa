// SPDX-License-Identifier: Apache-2.0

package ipfix_test

import (
	"io"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sluice/orchagent-ext/export/ipfix"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/testbed/ipfixtest"
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
		SessionSrc: netip.MustParseAddr("10.9.0.1").As16(), SessionDst: netip.MustParseAddr("2001:db8:9::2").As16(),
	}
	for c := range r.Classes {
		r.Classes[c] = 1<<31 + uint32(c)
	}
	if v6 {
		r.Src, r.Dst, r.FlowLabel = netip.MustParseAddr("2001:db8::1").As16(), netip.MustParseAddr("2001:db8::2").As16(), 0xabcde
	}
	return r
}

// classNames are the elements that count packets by class.
var classNames = []string{
	"rdmaSendPacketDeltaCount", "rdmaWritePacketDeltaCount", "rdmaReadRequestPacketDeltaCount", "rdmaReadResponsePacketDeltaCount",
	"rdmaAcknowledgePacketDeltaCount", "rdmaAtomicPacketDeltaCount", "rdmaNotificationPacketDeltaCount",
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
		w["rdmaSourceQP"], w["rdmaSourceQPProvenance"] = uint64(r.SrcQP), uint64(r.SrcQPFrom)
	}
	if r.Elsewhere {
		w["rdmaSourceAddress"], w["rdmaDestinationAddress"] = netip.AddrFrom16(r.SessionSrc), netip.AddrFrom16(r.SessionDst)
	}
	if r.Ingress != 0 || r.Egress != 0 {
		w["ingressInterface"], w["egressInterface"] = uint64(r.Ingress), uint64(r.Egress)
	}
	if r.Packet {
		w["ipTotalLength"] = r.Octets
		w["observationTimeMicroseconds"] = ntp(r.End)
	} else {
		w["octetDeltaCount"], w["packetDeltaCount"], w["ceOctetDeltaCount"], w["cePacketDeltaCount"] = r.Octets, r.Packets, r.CEOctets, r.CEPackets
		for c, name := range classNames {
			w[name] = uint64(r.Classes[c])
		}
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
		for n := range 32 {
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
			r.Elsewhere = n&16 != 0
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

// TestAnyRecordReadsBack: whatever a record holds, and however many there
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
			r.Elsewhere = rapid.Bool().Draw(t, "elsewhere")
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

func TestOptionsRecordsEncode(t *testing.T) {
	var ignored ipfix.Ignored
	ignored.Add(3, 0, testTime)
	ignored.Add(1, 64, testTime+5e9)
	process := ipfix.Process{Registry: ipfix.Registry{PEN: 4242, First: 100}, Domain: 9, SamplingRate: 64, Ignored: &ignored}
	d := decodeFile(t, process, []ipfix.Record{sample(false)})
	names, later := make([]string, len(ipfix.RDMA)-1), map[uint64]any{}
	for _, o := range d.Options[:len(ipfix.RDMA)] {
		if id := o["informationElementId"].(uint64) - 100; id < uint64(len(names)) {
			names[id] = o["informationElementName"].(string)
		} else {
			later[id] = o["informationElementName"]
		}
	}
	if diff := cmp.Diff(map[uint64]any{40: "rdmaInvalidPacketDeltaCount"}, later); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(slices.Concat([]string{
		"rdmaOpCode", "rdmaPartitionKey", "rdmaDestinationQP", "rdmaSourceQP", "rdmaPacketSequenceNumber",
		"rdmaBTHFlags1", "rdmaBTHFlags2", "rdmaBTHFlags3", "ceOctetDeltaCount", "cePacketDeltaCount",
		"rdmaSourceQPProvenance", "rdmaSourceAddress", "rdmaDestinationAddress",
	}, classNames), names); diff != "" {
		t.Error(diff)
	}
	at := slices.IndexFunc(d.Options, func(o ipfixtest.Record) bool { return o["informationElementName"] == "rdmaDestinationQP" })
	for _, tt := range []struct {
		at   int
		want ipfixtest.Record
	}{
		{at, ipfixtest.Record{
			"privateEnterpriseNumber": uint64(4242), "informationElementId": uint64(102), "informationElementDataType": uint64(3),
			"informationElementSemantics": uint64(4), "informationElementUnits": uint64(0),
			"informationElementRangeBegin": uint64(0), "informationElementRangeEnd": uint64(1<<24 - 1),
			"informationElementName": "rdmaDestinationQP", "informationElementDescription": "RoCEv2 BTH destination queue pair, 24 bits",
		}},
		{len(ipfix.RDMA), ipfixtest.Record{
			"selectorId": uint64(1), "selectorAlgorithm": uint64(4), "samplingProbability": math.Float64bits(1. / 64),
		}},
		{len(ipfix.RDMA) + 2, ipfixtest.Record{
			"observationDomainId": uint64(9), "meteringProcessId": uint64(1), "ignoredPacketTotalCount": uint64(4), "ignoredOctetTotalCount": uint64(64),
			"flowStartMilliseconds": uint64(testTime / 1_000_000), "flowEndMilliseconds": uint64(testTime/1_000_000 + 5000),
		}},
	} {
		if diff := cmp.Diff(tt.want, d.Options[tt.at]); diff != "" {
			t.Errorf("options record %d: %s", tt.at, diff)
		}
	}
	if got := d.Records[0]["selectorId"]; got != uint64(1) {
		t.Errorf("selectorId of a record of sampled packets is %v", got)
	}
	process.Systematic = true
	d = decodeFile(t, process, []ipfix.Record{sample(false)})
	if diff := cmp.Diff(ipfixtest.Record{
		"selectorId": uint64(1), "selectorAlgorithm": uint64(1), "samplingPacketInterval": uint64(1), "samplingPacketSpace": uint64(63),
	}, d.Options[len(ipfix.RDMA)]); diff != "" {
		t.Error(diff)
	}
}

// The flow keys of each template of flows go out with it, as bits of its fields.
func TestFlowKeys(t *testing.T) {
	tunnel, single := sample(true), sample(false)
	tunnel.Elsewhere, single.Packet = true, true
	d := decodeFile(t, ipfix.Process{}, []ipfix.Record{sample(false), tunnel, single, sample(false)})
	var got []ipfixtest.Record
	for _, o := range d.Options {
		if _, ok := o["flowKeyIndicator"]; ok {
			got = append(got, o)
		}
	}
	const (
		// addresses, protocol, ports; class of service, 2 interfaces, opcode; P_Key, DestQP
		v4 = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<4 | 1<<9 | 1<<10
		// the same with the flow label behind the addresses; source QP and provenance; addresses of the session
		v6 = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<4 | 1<<5 | 1<<10 | 1<<11 | 1<<14 | 1<<15
	)
	want := []ipfixtest.Record{
		{"templateId": uint64(256 + 2 + 4), "flowKeyIndicator": uint64(v4)},
		{"templateId": uint64(256 + 1 + 2 + 4 + 64), "flowKeyIndicator": uint64(v6)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(d.Gaps) > 0 || d.Unknown > 0 {
		t.Errorf("gaps %v, %d sets without template", d.Gaps, d.Unknown)
	}
}

// assigned are ids as IANA could assign them: one by one.
var assigned = [8]uint16{600, 534, 602, 32767, 604, 700, 606, 607}

// With PEN 0 the eight elements of draft-lin have the ids that IANA assigned, and
// Sluice's own, which IANA does not know, are left out.
//
//conformance:draft-lin/iana
func TestAssignedElements(t *testing.T) {
	registry := ipfix.Registry{IDs: assigned}
	d := decodeFile(t, ipfix.Process{Registry: registry}, []ipfix.Record{sample(false)})
	if len(d.Options) != 1 { // the flow keys
		t.Errorf("type records of elements that IANA knows: %v", d.Options)
	}
	own := 2 + 1 + len(classNames)
	if got, want := len(d.Records[0]), len(want(sample(false)))-own-7; got != want { // goflow2 calls numbers it does not know all alike
		t.Errorf("%d elements, want %d: %v", got, want, d.Records[0])
	}
	for i, e := range ipfix.RDMA {
		pen, id, ok := registry.ID(e)
		if pen != 0 || ok != (i < 8) || ok && id != assigned[i] {
			t.Errorf("%s: %d/%d %v", e.Name, pen, id, ok)
		}
	}
}

// An enterprise number counts up from a first id. With PEN 0 each id is given, since IANA
// gives them out one by one.
func TestBadRegistriesAreRefused(t *testing.T) {
	few, twice, low := assigned, assigned, assigned
	few[7], twice[7], low[3] = 0, 600, ipfix.LastOfOthers
	for name, tt := range map[string]struct {
		registry ipfix.Registry
		want     string // of the error; "": none
	}{
		"PEN and first id":          {ipfix.Registry{PEN: 4242, First: 503}, ""},
		"the last first id":         {ipfix.Registry{PEN: 4242, First: ipfix.MaxFirst}, ""},
		"PEN, first id too high":    {ipfix.Registry{PEN: 4242, First: ipfix.MaxFirst + 1}, "1 to 32758"},
		"PEN without first id":      {ipfix.Registry{PEN: 4242}, "1 to 32758"},
		"PEN and ids":               {ipfix.Registry{PEN: 4242, First: 1, IDs: assigned}, "go with enterprise number 0"},
		"PEN 0 and ids":             {ipfix.Registry{IDs: assigned}, ""},
		"PEN 0 and a first id":      {ipfix.Registry{First: 503}, "element_ids, --element-ids"},
		"PEN 0, a first id and ids": {ipfix.Registry{First: 600, IDs: assigned}, "element_ids, --element-ids"},
		"PEN 0, seven ids":          {ipfix.Registry{IDs: few}, "rdmaBTHFlags3"},
		"PEN 0, an id of another":   {ipfix.Registry{IDs: low}, "element id 533 of rdmaSourceQP"},
		"PEN 0, an id twice":        {ipfix.Registry{IDs: twice}, "rdmaOpCode and to rdmaBTHFlags3"},
	} {
		_, err := ipfix.NewWriter(io.Discard, ipfix.Process{Registry: tt.registry})
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		seen := map[uint16]string{}
		for _, e := range ipfix.RDMA {
			_, id, ok := tt.registry.ID(e)
			if tt.want != "" || !ok {
				continue
			}
			if seen[id] != "" || id == 0 || id > 32767 {
				t.Errorf("%s: %s has id %d, which %q has", name, e.Name, id, seen[id])
			}
			seen[id] = e.Name
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
