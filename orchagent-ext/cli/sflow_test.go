// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/wire/roce"
	"sluice/tests/capturegen"
)

// sampledPacket is an RC write of 1024 octets to a queue pair, in an Ethernet frame.
func sampledPacket(t *testing.T, qp, psn uint32) []byte {
	t.Helper()
	b := roce.Ethernet{EtherType: roce.EtherTypeIPv6}.Append(nil)
	ip := len(b)
	b = roce.IPv6Header{HopLimit: 64, NextHeader: 17, Src: [16]byte{0x20, 1, 15: 1}, Dst: [16]byte{0x20, 1, 15: 2}}.Append(b)
	b = roce.UDPHeader{SrcPort: 49152, DstPort: roce.UDPPort}.Append(b)
	b = roce.BTH{Opcode: roce.RCWriteOnly, PKey: 0xffff, DestQP: qp, PSN: psn}.Append(b)
	b, err := roce.Finish(append(roce.RETH{Length: 1024}.Append(b), make([]byte, 1024)...), ip)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sflowFrame is a frame with a datagram of samples: the first 128 octets of each frame.
func sflowFrame(rate uint32, frames ...[]byte) []byte {
	words := func(v ...uint32) (b []byte) {
		for _, w := range v {
			b = binary.BigEndian.AppendUint32(b, w)
		}
		return b
	}
	d := words(5, 1, 0x0a000001, 0, 1, 1000, uint32(len(frames)))
	for _, f := range frames {
		header := f[:min(len(f), 128)]
		d = slices.Concat(d, words(1, 32+8+16+uint32(len(header)), 1, 7, rate, 1000, 4, 7, 9, 1, 1, 16+uint32(len(header)), 1, uint32(len(f)+4), 4, uint32(len(header))), header)
	}
	udp := slices.Concat([]byte{0xc0, 0, 6343 >> 8, 6343 & 0xff}, binary.BigEndian.AppendUint16(nil, uint16(8+len(d))), []byte{0, 0}, d)
	ip := slices.Concat([]byte{0x45, 0}, binary.BigEndian.AppendUint16(nil, uint16(20+len(udp))), []byte{0, 0, 0, 0, 64, 17, 0, 0, 10, 9, 9, 1, 10, 9, 9, 2}, udp)
	return append([]byte{2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xa, 8, 0}, ip...)
}

// TestSamplesOfSFlowArePackets: each sample has the number of its datagram's frame, its rate and
// ports; gaps between samples are none of the network; balance weighs by the rate.
func TestSamplesOfSFlowArePackets(t *testing.T) {
	file := writeFrames(t, 1,
		sflowFrame(1000, sampledPacket(t, 0x11, 1), sampledPacket(t, 0x12, 50)),
		sflowFrame(1000),
		sflowFrame(1000, sampledPacket(t, 0x11, 700)))
	type seen struct{ Frame, QP, PSN, In, Out, Sample, ICRC, Event any }
	var got []seen
	for _, r := range records(t, file) {
		got = append(got, seen{r["frame"], r["dst_qp"], r["psn"], r["in"], r["out"], fmt.Sprint(r["sample"]), r["icrc_ok"], r["event"]})
	}
	sample := "map[drops:4 rate:1000]"
	want := []seen{{1.0, 17.0, 1.0, "if7", "if9", sample, nil, nil}, {1.0, 18.0, 50.0, "if7", "if9", sample, nil, nil}, {3.0, 17.0, 700.0, "if7", "if9", sample, nil, nil}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	out, errs := good(t, "decode", file)
	if !strings.Contains(out, "SAMPLE:1000") || !strings.Contains(errs, "3 packets, with 3 samples of sFlow: 3 RoCEv2, 1 other (sFlow without packets: 1)\n") {
		t.Error(out, errs)
	}
	for _, r := range jsonLines(t, "decode", "--flows", "--health", "--json", file) {
		if fmt.Sprint(r["lost"], r["gaps"], r["missing"]) != "0 0 0" {
			t.Errorf("health: %v", r)
		}
	}
	flows := jsonLines(t, "decode", "--flows", "--json", file)
	if len(flows) != 2 {
		t.Errorf("flows: %v", flows)
	}
	if out, _ := good(t, "doctor", file); !strings.Contains(out, "data packets: 3, 100 % of them over IPv6; host pairs: 1; queue pairs: 2") {
		t.Error(out)
	}
	balance := jsonLines(t, "balance", "--json", "--weights", "packets", file)
	sum := 0.0
	for _, n := range balance[0]["spreads"].([]any)[0].(map[string]any)["per_path"].([]any) {
		sum += n.(float64)
	}
	if sum != 3000 {
		t.Errorf("balance: %v packets of 3 samples, one of 1000 each", sum)
	}
}

// TestSamplesAreWrittenAsTheirDatagram: observe --write keeps the frames of the file, each once.
func TestSamplesAreWrittenAsTheirDatagram(t *testing.T) {
	file := writeFrames(t, 1, sflowFrame(10, sampledPacket(t, 0x11, 1), sampledPacket(t, 0x12, 50)), sflowFrame(10, sampledPacket(t, 0x13, 7)))
	out := filepath.Join(t.TempDir(), "out.pcap")
	good(t, "observe", file, "--write", out)
	rows, err := capturegen.Tshark(t, out, "frame.number", "infiniband.bth.destqp")
	if diff := cmp.Diff([][]string{{"1", "0x000011,0x000012"}, {"2", "0x000013"}}, rows); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}
