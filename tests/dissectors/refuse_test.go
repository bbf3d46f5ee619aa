// SPDX-License-Identifier: Apache-2.0

package dissectors

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"sluice/orchagent-ext/wire/notify"
)

const ethernet, ipv6Header, ipv4Header = 14, 40, 20

// changed is a golden packet that was changed.
type changed struct {
	name  string
	frame []byte
}

// longer ends a packet so many octets later, or earlier, with right lengths of IP and UDP.
func longer(frame []byte, octets int) []byte {
	length := len(frame)
	four := frame[ethernet]>>4 == 4
	if four { // it may be padded
		length = ethernet + int(binary.BigEndian.Uint16(frame[ethernet+2:]))
	}
	b := append([]byte(nil), frame[:length+min(octets, 0)]...)
	b = append(b, make([]byte, max(octets, 0))...)
	at, protocol := ethernet+ipv6Header, b[ethernet+6]
	if four {
		at, protocol = ethernet+ipv4Header, b[ethernet+9]
		binary.BigEndian.PutUint16(b[ethernet+2:], uint16(len(b)-ethernet))
	} else {
		binary.BigEndian.PutUint16(b[ethernet+4:], uint16(len(b)-at))
	}
	if protocol == byte(layers.IPProtocolUDP) {
		binary.BigEndian.PutUint16(b[at+4:], uint16(len(b)-at))
	}
	return append(b, make([]byte, max(60-len(b), 0))...)
}

// authenticated puts an authentication header (RFC 4302) behind IPv6's header.
func authenticated(frame []byte) []byte {
	const at = ethernet + ipv6Header
	b := append([]byte(nil), frame[:at]...)
	b[ethernet+6] = byte(layers.IPProtocolAH)
	header := make([]byte, 24) // of an integrity value of 96 bits
	header[0], header[1] = frame[ethernet+6], byte(len(header)/4-2)
	b = append(append(b, header...), frame[at:]...)
	binary.BigEndian.PutUint16(b[ethernet+4:], uint16(len(b)-at))
	return b
}

// changes are the golden packets with other lengths, and behind an authentication header.
func changes(t *testing.T) (all []changed) {
	t.Helper()
	for _, g := range goldens(t) {
		if protocols[g.kind] == "" {
			continue
		}
		f, err := os.Open(g.file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r, err := pcapgo.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		frame, _, err := r.ReadPacketData()
		if err != nil {
			t.Fatal(err)
		}
		for _, octets := range []int{-8, -4, -1, 1, 4, 8} {
			all = append(all, changed{fmt.Sprintf("%s, %+d octets", g.name, octets), longer(frame, octets)})
		}
		switch {
		case g.kind == notify.KindPFCM:
			if g.says["encapsulation"] != "hop-by-hop" { // which is right behind IPv6's header (RFC 8200 section 4.1)
				all = append(all, changed{g.name + " behind AH", authenticated(frame)})
			}
			if g.says["encapsulation"] != "icmpv6" {
				b := append([]byte(nil), frame...)
				b[ethernet+ipv6Header+5]-- // of the option's data
				all = append(all, changed{g.name + ", data of 41 octets", b})
			}
		case g.says["transport"] == "udp":
			b := append([]byte(nil), frame...)
			at := ethernet + ipv6Header
			if b[ethernet]>>4 == 4 {
				at = ethernet + ipv4Header
			}
			b[at+5] -= 8 // of UDP's length
			all = append(all, changed{g.name + ", two lengths", b})
		}
	}
	return all
}

// numbered prints the numbers of the packets that are messages.
const numbered = `
import sys
from sluice_scapy import *

for number, packet in enumerate(rdpcap(sys.argv[1]), 1):
    if message_fields(packet):
        print(number)
`

// TestDissectorsReadTheMessagesThatNotifyReads: no more, where lengths are wrong, and no less,
// where an authentication header is before them.
func TestDissectorsReadTheMessagesThatNotifyReads(t *testing.T) {
	need(t, "tshark", "--version")
	need(t, python, "-c", "import scapy")
	file := filepath.Join(t.TempDir(), "changed.pcap")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := pcapgo.NewWriter(f)
	if err := w.WriteFileHeader(65536, layers.LinkTypeEthernet); err != nil {
		t.Fatal(err)
	}
	all, read := changes(t), map[string]bool{}
	for _, c := range all {
		if err := w.WritePacket(gopacket.CaptureInfo{CaptureLength: len(c.frame), Length: len(c.frame)}, c.frame); err != nil {
			t.Fatal(err)
		}
		var p notify.Packet
		_ = p.Parse(c.frame, notify.DefaultCodePoints())
		read[c.name] = p.Kind != notify.KindNone
	}
	scapy := exec.Command(python, "-c", numbered, file)
	scapy.Env = append(os.Environ(), "PYTHONPATH="+folder, "PYTHONDONTWRITEBYTECODE=1")
	for name, cmd := range map[string]*exec.Cmd{
		"scapy":  scapy,
		"tshark": exec.Command("tshark", "-n", "-X", lua, "-r", file, "-Y", "pfcm || ppfc || rate_advice", "-T", "fields", "-e", "frame.number"),
	} {
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := map[string]bool{}
		for _, c := range all {
			got[c.name] = false
		}
		for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
			var n int
			if err := json.Unmarshal([]byte(strings.TrimSpace(lines.Text())), &n); err != nil || n < 1 || n > len(all) {
				t.Fatalf("%s: %q", name, lines.Text())
			}
			got[all[n-1].name] = true
		}
		if diff := cmp.Diff(read, got); diff != "" {
			t.Errorf("read by notify (-), by %s (+):\n%s", name, diff)
		}
	}
}
