// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"sluice/orchagent-ext/wire/roce"
)

// A made packet of each opcode in each shape, and the CM messages, field by
// field.
func TestTsharkAgreesOnMadePackets(t *testing.T) {
	t.Parallel()
	needTshark(t)
	var frames [][]byte
	for i, s := range specs {
		for j, sh := range shapes {
			if sh.first {
				continue // it waits for the other fragments
			}
			m := packets(s, sh).Filter(likeReal).Example(i*len(shapes) + j)
			frames = append(frames, fromQuietPort(t, m))
		}
	}
	for _, m := range cmMessages {
		frames = append(frames, frameUD(t, roce.BTH{Opcode: roce.UDSendOnly, DestQP: 1}, m.Append(nil)))
	}
	for i, found := range tshark(t, writeCapture(t, frames)) {
		var p roce.Packet
		if err := p.Parse(frames[i], len(frames[i])); err != nil {
			t.Fatal(err)
		}
		if d := diff(tsharkFinds(&p), found); d != "" {
			t.Errorf("frame %d, %v: we (-), tshark (+):\n%s%x", i+1, p.Opcode(), d, frames[i])
		}
	}
}

// likeReal leaves out what no real sender sends, and where tshark looks in the wrong
// place: payload and padding that are no multiple of 4 octets, and the reserved
// queue pairs 0 and 1, to and from which every packet is a MAD for it.
func likeReal(m made) bool {
	w := m.want
	return (len(w.Payload)+int(w.BTH.Pad))%4 == 0 && w.BTH.DestQP > 1 && (w.Extended.DETH == nil || w.Extended.DETH.SrcQP > 1)
}

// fromQuietPort sends the packet from a UDP port that no protocol owns.
func fromQuietPort(t *testing.T, m made) []byte {
	t.Helper()
	frame, err := roce.Finish(with16(m.frame[:len(m.frame)-roce.ICRCLen], m.udp, 0xc000), m.ip)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

func writeCapture(t *testing.T, frames [][]byte) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "made.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	w := pcapgo.NewWriter(f)
	if err := w.WriteFileHeader(65535, layers.LinkTypeEthernet); err != nil {
		t.Fatal(err)
	}
	for _, frame := range frames {
		info := gopacket.CaptureInfo{Timestamp: time.Unix(0, 0), CaptureLength: len(frame), Length: len(frame)}
		if err := w.WritePacket(info, frame); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// Opcodes that tshark 4.0 has no name for: it names 0x80 CNP, where the
// specification has 0x81.
var unnamedByTshark = []roce.Opcode{roce.CNP, roce.RCFlush, roce.RCAtomicWrite, roce.XRCFlush, roce.XRCAtomicWrite}

func TestTsharkAgreesOnOpcodeNames(t *testing.T) {
	t.Parallel()
	needTshark(t)
	out, err := exec.Command("tshark", "-G", "values").Output()
	if err != nil {
		t.Fatal(err)
	}
	names := map[roce.Opcode]string{}
	for line := range strings.Lines(string(out)) {
		value, ok := strings.CutPrefix(strings.TrimSpace(line), "V\tinfiniband.bth.opcode\t")
		if !ok {
			continue
		}
		number, name, _ := strings.Cut(value, "\t")
		code, err := strconv.ParseUint(number, 0, 8)
		if err != nil {
			t.Fatal(err)
		}
		names[roce.Opcode(code)] = specName(name)
	}
	for _, s := range specs {
		name, named := names[s.code]
		if unnamed := slices.Contains(unnamedByTshark, s.code); named == unnamed {
			t.Errorf("%v: tshark names it %q, expected a name: %v", s.code, name, !unnamed)
		} else if named && name != s.code.String() {
			t.Errorf("%v is %q for tshark", s.code, name)
		}
	}
}

// specName turns tshark's "Reliable Connection (RC) - SEND First" into the name
// of the specification, RC_SEND_FIRST.
func specName(s string) string {
	_, s, _ = strings.Cut(s, "(")
	s = strings.NewReplacer(") - ", "_", " ", "_").Replace(strings.ToUpper(s))
	return strings.NewReplacer("CMPSWAP", "COMPARE_SWAP", "FETCHADD", "FETCH_ADD").Replace(s)
}
