// SPDX-License-Identifier: Apache-2.0

package dissectors

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// sent is a message with values that differ from 0 and from every default, and what a decoder has to read,
// worked out from the draft.
type sent struct {
	name    string
	message notify.Message
	want    map[string]string
}

var (
	near, far         = netip.MustParseAddr("fe80::a1"), netip.MustParseAddr("fe80::b2")
	from6, to6, node6 = netip.MustParseAddr("2001:db8:a::11"), netip.MustParseAddr("2001:db8:b::22"), netip.MustParseAddr("2001:db8:c::33")
	from4, to4, node4 = netip.MustParseAddr("192.0.2.11"), netip.MustParseAddr("198.51.100.22"), netip.MustParseAddr("203.0.113.33")
	gate6, gate4      = netip.MustParseAddr("2001:db8:d::44"), netip.MustParseAddr("203.0.113.44")
)

// with returns fields and more of them.
func with(fields map[string]string, more ...string) map[string]string {
	all := map[string]string{}
	for name, value := range fields {
		all[name] = value
	}
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	return all
}

// allSent are the messages: PFCM in 3 forms, PPFC over each transport and family with each identifier of a flow,
// Rate Advice and CNP over both families.
func allSent() (all []sent) {
	pfcm := map[string]string{"stream_id": "48879", "queue_id": "5", "action": "reduce", "reduction_percent": "37", "time_us": "12345",
		"destination": "2001:db8:b::22", "source": "2001:db8:a::11"}
	for form, name := range map[notify.Encapsulation]string{notify.ICMPv6: "icmpv6", notify.HopByHop: "hop-by-hop", notify.DestinationOptions: "destination-options"} {
		all = append(all, sent{"PFCM, " + name,
			&notify.PFCM{Encapsulation: form, StreamID: 0xbeef, QueueID: 5, Action: notify.Reduce(37), Time: 12345, Destination: to6, Source: from6},
			with(pfcm, "encapsulation", name)})
	}
	for i, form := range []struct {
		id   notify.FlowIdentifier
		pt   notify.PT
		want []string
	}{
		{notify.FlowIdentifier{Form: notify.AllFlows}, notify.Alarm, []string{"pt", "alarm", "flow", "all"}},
		{notify.FlowIdentifier{Form: notify.Ports, Protocol: 6, SrcPort: 50001, DstPort: 443}, notify.Resume,
			[]string{"pt", "resume", "flow", "ports", "flow_protocol", "6", "flow_sport", "50001", "flow_dport", "443"}},
		{notify.FlowIdentifier{Form: notify.QPs, Protocol: 17, SrcPort: 50002, DstPort: 4791, SrcQP: 0xabcdef, DstQP: 0x123456}, notify.Hold,
			[]string{"pt", "hold", "flow", "qps", "flow_protocol", "17", "flow_sport", "50002", "flow_dport", "4791", "flow_src_qp", "11259375", "flow_dst_qp", "1193046"}},
	} {
		for _, over := range []notify.Transport{notify.OverICMP, notify.OverUDP} {
			for _, v4 := range []bool{false, true} {
				m := &notify.PPFC{Transport: over, Flags: 42, PT: form.pt, Priority: 46, CongestionPort: 0x1234, CongestionQID: 0x0102, PauseDuration: 54321,
					Source: from6, Destination: to6, RouterID: node6, Flow: form.id}
				want := with(map[string]string{"flags": "42", "priority": "46", "pause_duration_us": "54321",
					"source": "2001:db8:a::11", "destination": "2001:db8:b::22", "router_id": "2001:db8:c::33"}, form.want...)
				if v4 {
					m.Source, m.Destination, m.RouterID = from4, to4, node4
					want = with(want, "source", "192.0.2.11", "destination", "198.51.100.22", "router_id", "203.0.113.33")
				}
				if over == notify.OverUDP {
					want = with(want, "transport", "udp", "congestion_qid", "258")
				} else {
					want = with(want, "transport", "icmp", "congestion_port", "4660")
				}
				all = append(all, sent{fmt.Sprintf("PPFC %d, %v, IPv4 %v", i, over, v4), m, want})
			}
		}
	}
	for _, family := range []string{"6", "4"} {
		all = append(all,
			sent{"Rate Advice over IPv" + family, &notify.RateAdvice{PKey: 0x8123, DestQP: 0x654321, Rate: 98_765, Version: 1, DestinationQP: 0x654321, SourceQP: 0x13579b},
				map[string]string{"pkey": "33059", "dest_qp": "6636321", "rate_mbps": "98765", "version": "1", "destination_qp": "6636321", "source_qp": "1267611"}},
			sent{"CNP over IPv" + family, &notify.CNP{PKey: 0x9234, DestQP: 0x345678},
				map[string]string{"opcode": "129", "pkey": "37428", "dest_qp": "3430008", "becn": "1"}})
	}
	return all
}

// frame is the message in an Ethernet frame.
func (s *sent) frame(t *testing.T) []byte {
	t.Helper()
	e := notify.DefaultEnvelope(s.message.Kind())
	e.SrcMAC, e.DstMAC = roce.MAC{2, 0, 0, 0, 0, 1}, roce.MAC{2, 0, 0, 0, 0, 2}
	e.Src, e.Dst = node6, gate6
	switch m := s.message.(type) {
	case *notify.PFCM:
		e.Src, e.Dst = near, far
	case *notify.PPFC:
		if m.Source.Is4() {
			e.Src, e.Dst = node4, gate4
		}
	default:
		if e.SrcPort = 51515; strings.HasSuffix(s.name, "4") {
			e.Src, e.Dst = node4, gate4
		}
	}
	b, err := notify.AppendFrame(nil, s.message, &e, notify.DefaultCodePoints())
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	return b
}

// TestThreeDecodersReadEachMessage: tshark with the Lua of docs/dissectors, scapy, and a decoder of the octets
// written here by the figures of the drafts read the same values in each message, and none shares code with
// package notify.
//
//conformance:draft-yang/option draft-yang/percent draft-yang/length draft-yang/reserved draft-xz/icmp draft-xz/udp-fields draft-xz/flow-id draft-xz/flags draft-zz/rate draft-zz/bth
func TestThreeDecodersReadEachMessage(t *testing.T) {
	need(t, "tshark", "--version")
	need(t, python, "-c", "import scapy")
	all, frames := allSent(), [][]byte{}
	for _, s := range all {
		frames = append(frames, s.frame(t))
	}
	file := filepath.Join(t.TempDir(), "messages.pcap")
	writeCapture(t, file, frames)
	byTshark, byScapy := tsharkMessages(t, file), scapyMessages(t, file)
	if len(byTshark) != len(all) || len(byScapy) != len(all) || len(all) != 3+3*4+4 {
		t.Fatalf("%d messages, tshark has %d, scapy %d", len(all), len(byTshark), len(byScapy))
	}
	for i, s := range all {
		byHand := messageByHand(t, s.name, frames[i])
		for decoder, got := range map[string]map[string]string{"by hand": byHand, "tshark": byTshark[i], "scapy": byScapy[i]} {
			want := s.want
			if decoder != "scapy" && want["transport"] == "udp" { // the address is the IP header's, which scapy's reader adds
				want = with(want)
				delete(want, "router_id")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s: sent (-), read (+):\n%s", s.name, decoder, diff)
			}
		}
	}
}

// writeCapture writes frames into a pcap file.
func writeCapture(t *testing.T, name string, frames [][]byte) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := pcapgo.NewWriter(f)
	if err := w.WriteFileHeader(65535, layers.LinkTypeEthernet); err != nil {
		t.Fatal(err)
	}
	for i, b := range frames {
		if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: time.Unix(1_700_000_000, int64(i)), CaptureLength: len(b), Length: len(b)}, b); err != nil {
			t.Fatal(err)
		}
	}
}

// tsharkMessages returns what tshark reads of each packet of a capture: by the protocols in Lua, and of a CNP by
// its own dissector of InfiniBand.
func tsharkMessages(t *testing.T, file string) (all []map[string]string) {
	t.Helper()
	out, err := exec.Command("tshark", "-n", "-X", lua, "-r", file, "-T", "json", "-e", "infiniband.bth.opcode", "-e", "infiniband.bth.p_key",
		"-e", "infiniband.bth.destqp", "-e", "infiniband.reserved").Output()
	if err != nil {
		t.Fatalf("tshark: %v", err)
	}
	type packet struct {
		Source struct {
			Layers map[string]json.RawMessage `json:"layers"`
		} `json:"_source"`
	}
	var own, lines []packet
	if err := json.Unmarshal(out, &own); err != nil {
		t.Fatal(err)
	}
	if out, err = exec.Command("tshark", "-n", "-X", lua, "-r", file, "-T", "json", "-J", "pfcm ppfc rate_advice").Output(); err != nil {
		t.Fatalf("tshark: %v", err)
	}
	if err := json.Unmarshal(out, &lines); err != nil || len(lines) != len(own) {
		t.Fatalf("%d and %d packets: %v", len(lines), len(own), err)
	}
	for i := range lines {
		got := map[string]string{}
		for _, protocol := range protocols {
			fields := map[string]string{}
			if raw := lines[i].Source.Layers[protocol]; raw != nil {
				if err := json.Unmarshal(raw, &fields); err != nil {
					t.Fatalf("%v: %s", err, raw)
				}
			}
			for name, value := range fields {
				if name = strings.TrimSuffix(strings.TrimPrefix(name, protocol+"."), "_v4"); name == "pkey" {
					value = number(t, value)
				}
				got[name] = value
			}
		}
		field := func(name string) string {
			var values []string
			_ = json.Unmarshal(own[i].Source.Layers[name], &values) // none: no InfiniBand
			if len(values) == 0 {
				return ""
			}
			return values[0]
		}
		if opcode := field("infiniband.bth.opcode"); opcode == "129" {
			got = map[string]string{"opcode": opcode, "pkey": field("infiniband.bth.p_key"), "dest_qp": number(t, field("infiniband.bth.destqp"))}
			if field("infiniband.reserved") == "40" { // octet 4 of the BTH: BECN alone
				got["becn"] = "1"
			}
		}
		all = append(all, got)
	}
	return all
}

// number is a number in C's notation as a decimal one.
func number(t *testing.T, text string) string {
	t.Helper()
	var n uint64
	if _, err := fmt.Sscan(text, &n); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return fmt.Sprint(n)
}

// readMessages prints what scapy reads of each packet.
const readMessages = `
import sys
from sluice_scapy import *

for packet in rdpcap(sys.argv[1]):
    fields = message_fields(packet)
    if fields is None and BTH in packet:
        bth = packet[BTH]
        fields = {'opcode': bth.opcode, 'pkey': bth.pkey, 'dest_qp': bth.dqpn}
        if (bth.fecn, bth.becn, bth.resv6) == (0, 1, 0):
            fields['becn'] = 1
    print(json.dumps(fields))
`

// scapyMessages returns what scapy reads of each packet of a capture.
func scapyMessages(t *testing.T, file string) (all []map[string]string) {
	t.Helper()
	cmd := exec.Command(python, "-c", readMessages, file)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+folder, "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("scapy: %v", err)
	}
	return objects(t, string(out))
}

// objects reads an object a line.
func objects(t *testing.T, text string) (all []map[string]string) {
	t.Helper()
	for line := range strings.Lines(text) {
		var fields map[string]any
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&fields); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		one := map[string]string{}
		for name, value := range fields {
			one[name] = fmt.Sprint(value)
		}
		all = append(all, one)
	}
	return all
}

// messageByHand reads a message by the figures of the drafts: IPv6 without or with one extension header, and IPv4
// without options. What has to be 0, lengths and checksums are checked on the way.
func messageByHand(t *testing.T, name string, frame []byte) map[string]string {
	t.Helper()
	must := func(ok bool, what string) {
		t.Helper()
		if !ok {
			t.Errorf("%s: %s: %x", name, what, frame)
		}
	}
	word := func(b []byte) string { return fmt.Sprint(int(b[0])<<8 | int(b[1])) }
	long := func(b []byte) string { return fmt.Sprint(int(b[0])<<24 | int(b[1])<<16 | int(b[2])<<8 | int(b[3])) }
	zero := func(b []byte) bool { return strings.Trim(string(b), "\x00") == "" }
	address := func(b []byte) string { a, _ := netip.AddrFromSlice(b); return a.String() }
	ip := frame[14:]
	size, protocol, hops, payload, pseudo := 16, ip[6], ip[7], ip[40:], append([]byte(nil), ip[8:40]...)
	if frame[12] == 0x08 {
		size, protocol, hops, payload, pseudo = 4, ip[9], ip[8], ip[20:int(ip[2])<<8|int(ip[3])], append([]byte(nil), ip[12:20]...)
		must(onesSum(ip[:20]) == 0xffff, "the header's checksum is wrong")
	} else {
		must(len(payload) == int(ip[4])<<8|int(ip[5]), "the payload is of another length")
	}
	pseudo = append(pseudo, 0, protocol, byte(len(payload)>>8), byte(len(payload)))
	got := map[string]string{}

	// body reads Stream ID, Queue ID, Action and Time, and both addresses.
	body := func(form string, m, addresses []byte) {
		must(hops == 255, "the hop limit is not 255")
		got["encapsulation"], got["stream_id"], got["queue_id"], got["time_us"] = form, word(m), fmt.Sprint(m[2]), word(m[4:])
		got["action"] = []string{"cancel", "pause", "reduce", "reserved"}[m[3]>>6]
		got["reduction_percent"] = fmt.Sprint(m[3] & 0x3f)
		got["destination"], got["source"] = address(addresses[:16]), address(addresses[16:32])
	}
	// ppfc reads all from Flags on.
	ppfc := func(over, place string, m []byte, router bool) {
		got["transport"], got["flags"], got["pt"], got["priority"] = over, fmt.Sprint(m[0]>>2), []string{"stop", "resume", "alarm", "hold"}[m[0]&3], fmt.Sprint(m[1])
		got[place], got["pause_duration_us"] = word(m[2:]), word(m[6:])
		must(zero(m[4:6]), "Reserved is not 0")
		m = m[8:]
		got["source"], got["destination"], m = address(m[:size]), address(m[size:2*size]), m[2*size:]
		if router {
			got["router_id"], m = address(m[:size]), m[size:]
		}
		switch len(m) {
		case 0:
			got["flow"] = "all"
		case 8, 16:
			got["flow"], got["flow_protocol"], got["flow_sport"], got["flow_dport"] = "ports", fmt.Sprint(m[0]), word(m[4:]), word(m[6:])
			must(zero(m[1:4]), "octets 1 to 3 of the identifier are not 0")
			if len(m) == 16 {
				got["flow"], got["flow_src_qp"], got["flow_dst_qp"] = "qps", long(m[8:]), long(m[12:])
			}
		default:
			must(false, "the identifier is of another length")
		}
	}
	switch {
	case protocol == 58 && payload[0] == 200:
		must(onesSum(pseudo, payload) == 0xffff && payload[1] == 0 && zero(payload[4:6]) && len(payload) == 44, "ICMPv6 of PFCM is wrong")
		body("icmpv6", payload[6:], payload[12:])
	case protocol == 0 || protocol == 60:
		must(payload[0] == 59 && payload[1] == 5 && len(payload) == 48, "it is no options header of 48 octets alone")
		must(string(payload[2:8]) == "\x01\x00\x1e\x2a\x00\x00", "PadN, type 0x1e, length 42, Type and Reserved are others")
		must(zero(payload[14:16]), "the second Reserved is not 0")
		body(map[byte]string{0: "hop-by-hop", 60: "destination-options"}[protocol], payload[8:], payload[16:])
	case protocol == 58:
		must(onesSum(pseudo, payload) == 0xffff && payload[0] == 201 && payload[1] == 0, "ICMPv6 of PPFC is wrong")
		ppfc("icmp", "congestion_port", payload[4:], true)
	case protocol == 1:
		must(onesSum(payload) == 0xffff && payload[0] == 253 && payload[1] == 0, "ICMP of PPFC is wrong")
		ppfc("icmp", "congestion_port", payload[4:], true)
	default:
		must(protocol == 17 && onesSum(pseudo, payload) == 0xffff && len(payload) == int(payload[4])<<8|int(payload[5]), "UDP is wrong")
		if m := payload[8:]; payload[2] == 1021>>8 && payload[3] == 1021&0xff {
			ppfc("udp", "congestion_qid", m, false)
		} else {
			must(payload[2] == 4791>>8 && payload[3] == 4791&0xff && len(m) == 12+16+4, "it is no message of RoCEv2")
			got["pkey"], got["dest_qp"] = word(m[2:]), long(append([]byte{0}, m[5:8]...))
			must(m[1] == 0 && zero(m[8:12]), "flags, version or PSN of the BTH are not 0")
			switch m[0] {
			case 0xc5:
				must(m[4] == 0, "FECN, BECN or reserved bits are set")
				got["rate_mbps"], got["version"], got["destination_qp"], got["source_qp"] = long(m[12:]), long(m[16:]), long(m[20:]), long(m[24:])
			case 0x81:
				must(m[4] == 0x40 && zero(m[12:28]), "another bit than BECN is set, or of the 16 octets behind the BTH one is not 0")
				got["opcode"], got["becn"] = "129", "1"
			}
			must(binary.LittleEndian.Uint32(m[28:]) == icrcByHand(ip, size), "the ICRC is wrong")
		}
	}
	return got
}

// onesSum is the sum of ones' complement (RFC 1071) of octets; 0xffff over what has its checksum.
func onesSum(parts ...[]byte) uint32 {
	sum := uint32(0)
	for _, b := range parts {
		for i, octet := range b { // each part begins at an even place
			sum += uint32(octet) << (8 * (1 - i%2))
		}
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return sum
}

// icrcByHand computes the ICRC of a message of RoCEv2 bit by bit (IBTA volume 1, annex A17): CRC-32 over 8 octets of
// ones and the packet less its ICRC, the fields that routers change as ones.
func icrcByHand(ip []byte, size int) uint32 {
	header, ones := 40, []int{0, 1, 2, 3, 7}
	if size == 4 {
		header, ones = 20, []int{1, 8, 10, 11}
		ip = ip[:int(ip[2])<<8|int(ip[3])]
	}
	b := append([]byte(nil), ip[:len(ip)-4]...)
	for _, at := range append(ones, header+6, header+7, header+8+4) {
		b[at] = 0xff
	}
	if size == 16 {
		b[0] = 0x6f // the version stays
	}
	crc := ^uint32(0)
	for _, octet := range append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, b...) {
		crc ^= uint32(octet)
		for range 8 {
			crc = crc>>1 ^ 0xedb88320*(crc&1)
		}
	}
	return ^crc
}
