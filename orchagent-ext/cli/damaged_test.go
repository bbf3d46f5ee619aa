// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pierrec/lz4/v4"

	"sluice/tests/capturegen"
)

// TestDamageIsSaidAndTheRestIsRead: what cannot be read of a file is counted, and an error
// after all that can.
func TestDamageIsSaidAndTheRestIsRead(t *testing.T) {
	frame := frames(t, captures+"rc-send-ipv4.pcap")[14]
	var ng capturegen.Pcapng
	begin := func() *capturegen.Pcapng {
		ng = capturegen.Pcapng{}
		return ng.Section(binary.LittleEndian, 1, 0).Interface(capturegen.Ethernet, 0).Enhanced(0, 1e6, frame, len(frame))
	}
	other := begin().Section(binary.BigEndian, 1, 7).Interface(capturegen.Ethernet, 0).Enhanced(0, 2e6, frame, len(frame)).Enhanced(0, 3e6, frame, len(frame)).
		Section(binary.BigEndian, 1, 2).Interface(capturegen.Ethernet, 0).Enhanced(0, 4e6, frame, len(frame)).Bytes()
	unknown := begin().Enhanced(1, 2e6, frame, len(frame)).Enhanced(0, 3e6, frame, len(frame)).Bytes()
	long := begin().Bytes()
	at := len(long)
	long = ng.Enhanced(0, 2e6, frame, len(frame)).Enhanced(0, 3e6, frame, len(frame)).Bytes()
	binary.LittleEndian.PutUint32(long[at+20:], uint32(len(frame)+40))
	lengths := bytes.Clone(begin().Enhanced(0, 2e6, frame, len(frame)).Bytes())
	binary.LittleEndian.PutUint32(lengths[len(lengths)-4:], 16)
	lengths = append(lengths, begin().Bytes()...)
	cut := begin().Enhanced(0, 2e6, frame, len(frame)).Enhanced(0, 3e6, frame, len(frame)).Bytes()
	for name, tt := range map[string]struct {
		file []byte
		want string
	}{
		"section of another version": {other, "1 section with 2 packets skipped; the first at octet "},
		"no such interface":          {unknown, "1 wrong record left out; the first at octet "},
		"captured length":            {long, "packet with a captured length of "},
		"two lengths":                {lengths, "block whose two lengths are "},
		"cut off":                    {cut[:len(cut)-9], "file cut off after packet 2"},
	} {
		in, out := filepath.Join(t.TempDir(), "in.pcapng"), filepath.Join(t.TempDir(), "out.pcapng")
		if err := os.WriteFile(in, tt.file, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"decode --json IN", "decode --flows IN", "decode --flows --health IN", "observe -w OUT IN", "relabel IN OUT", "lift6 IN OUT", "export IN --file OUT"} {
			args := strings.Fields(strings.NewReplacer("IN", in, "OUT", out).Replace(command))
			if strings.HasSuffix(command, "OUT") || strings.Contains(command, "-w") {
				args = append(args, "--force")
			}
			_, errs, code := sluice(nil, args...)
			if code != 1 || !strings.Contains(errs, tt.want) || !strings.Contains(errs, "2 packets: 2 RoCEv2") {
				t.Errorf("%s, %s: exit code %d, %s; want %q after the summary of 2 packets", name, command, code, errs, tt.want)
			}
			if strings.HasPrefix(command, "relabel") || strings.HasPrefix(command, "observe") {
				if got := len(frames(t, out)); got != 2 {
					t.Errorf("%s, %s: %d packets in the copy, want 2", name, command, got)
				}
				if rows, err := capturegen.Tshark(t, out, "frame.time_epoch"); err != nil || len(rows) != 2 {
					t.Errorf("%s, %s: tshark has %q of the copy, %v", name, command, rows, err)
				}
			}
		}
	}
}

// TestFilesThatAreNoCaptureAreNamed: with what to do.
func TestFilesThatAreNoCaptureAreNamed(t *testing.T) {
	for begin, want := range map[string]string{
		"snoop\x00\x00\x00":                "snoop file: convert it",
		"GMBU":                             "Network Monitor: convert it",
		"\xfd7zXZ\x00":                     "compressed with xz: unpack it",
		"BZh9":                             "compressed with bzip2: unpack it",
		"PK\x03\x04":                       "zip archive: unpack it",
		"\x1c\x00\x01\xac\x00\x02\x00\x04": "IXIA tester",
		"hello, world":                     "begins with the octets 68 65 6c 6c",
		"\xd4\xc3\xb2\xa1\x03\x00\x00\x00": "pcap of version 3.0: 2 is read",
	} {
		_, errs, code := sluice(strings.NewReader(begin+strings.Repeat("\x00", 24)), "decode", "-")
		if code != 1 || !strings.Contains(errs, want) {
			t.Errorf("%q: exit code %d, %s; want %q", begin, code, errs, want)
		}
	}
}

// TestLZ4Files: both frame formats.
func TestLZ4Files(t *testing.T) {
	whole, err := os.ReadFile(captures + "rc-send-ipv4.pcap")
	if err != nil {
		t.Fatal(err)
	}
	for _, legacy := range []bool{false, true} {
		var packed bytes.Buffer
		z := lz4.NewWriter(&packed)
		if err := z.Apply(lz4.LegacyOption(legacy)); err != nil {
			t.Fatal(err)
		}
		if _, err := z.Write(whole); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		_, errs, code := sluice(&packed, "decode", "-")
		if code != 0 || !strings.Contains(errs, "123 packets: 105 RoCEv2") {
			t.Errorf("legacy %v: exit code %d, %s", legacy, code, errs)
		}
	}
}
