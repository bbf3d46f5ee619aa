// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// message is an IPFIX message of sets.
func message(sets ...[]byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, ipfixVersion)
	b = binary.BigEndian.AppendUint16(b, uint16(headerLen+len(bytes.Join(sets, nil))))
	b = append(b, make([]byte, headerLen-4)...)
	return append(b, bytes.Join(sets, nil)...)
}

// set is a set of 16-bit words and raw octets.
func set(id uint16, body ...any) []byte {
	var b []byte
	for _, x := range body {
		switch x := x.(type) {
		case int:
			b = binary.BigEndian.AppendUint16(b, uint16(x))
		case []byte:
			b = append(b, x...)
		}
	}
	return append(binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, id), uint16(4+len(b))), b...)
}

// octets is a number of so many octets.
func octets(n int, v uint64) []byte {
	return binary.BigEndian.AppendUint64(nil, v)[8-n:]
}

// file has a template by hand, with microseconds as NTP timestamps, and three records: of RoCEv2, of
// another port, and of acknowledgements.
func file() []byte {
	template := set(2, 300, 8, sourceIPv4, 4, destinationIPv4, 4, sourceTransportPort, 2, destinationPort, 2, octetDeltaCount, 8, packetDeltaCount, 8, 154, 8, 155, 8)
	ntp := func(us uint64) []byte {
		return octets(8, (ntpEpoch+us/1_000_000)<<32|(us%1_000_000)<<32/1_000_000)
	}
	record := func(port int, octetCount, packets uint64) []byte {
		return bytes.Join([][]byte{{10, 0, 0, 1}, {10, 0, 0, 2}, octets(2, 0xc001), octets(2, uint64(port)), octets(8, octetCount), octets(8, packets), ntp(1_500_000), ntp(2_250_000)}, nil)
	}
	return append(message(template), message(set(300, record(4791, 10*(1024+44), 10), record(80, 9000, 9), record(4791, 48*5, 5)))...)
}

func TestRecordsOfIPFIX(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.ipfix")
	if err := os.WriteFile(name, file(), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := Read(t.Context(), name)
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	got := all[0]
	if got.Src != netip.MustParseAddr("10.0.0.1") || got.Dst != netip.MustParseAddr("10.0.0.2") || got.Octets != 10*1024 || got.QP != 0xc001<<32 {
		t.Errorf("%+v", got)
	}
	if near := func(a, b int64) bool { return a-b < 1000 && b-a < 1000 }; !near(got.Start, 1_500_000_000) || !near(got.End, 2_250_000_000) {
		t.Errorf("from %d to %d", got.Start, got.End)
	}
}

// TestFilesThatAreCutOrBroken end in an error, or in the records before.
func TestFilesThatAreCutOrBroken(t *testing.T) {
	whole := file()
	name := filepath.Join(t.TempDir(), "x.ipfix")
	for n := range whole {
		cut := whole[:n]
		broken := bytes.Clone(whole)
		broken[n] ^= 0xff
		for _, b := range [][]byte{cut, broken} {
			if err := os.WriteFile(name, b, 0o600); err != nil {
				t.Fatal(err)
			}
			if all, err := Read(t.Context(), name); err == nil && len(all) > 2 {
				t.Fatalf("octet %d: %+v", n, all)
			}
		}
	}
	if err := os.WriteFile(name, whole[:len(whole)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(t.Context(), name); err == nil || !strings.Contains(err.Error(), "x.ipfix: message 2: unexpected EOF") {
		t.Errorf("a file that is cut: %v", err)
	}
}

// TestMessagesOfACapture: 35 messages of a real one.
func TestMessagesOfACapture(t *testing.T) {
	all, err := Beside(t.Context(), "../../../tests/captures/README.md")("rc-send-ipv4.pcap")
	if err != nil || len(all) != 35 {
		t.Fatalf("%d messages, %v", len(all), err)
	}
	for _, x := range all {
		if x.Octets <= 0 || x.Src == x.Dst || x.QP == 0 || x.Start == 0 {
			t.Errorf("%+v", x)
		}
	}
}
