// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gopacket/gopacket/pcapgo"

	"sluice/orchagent-ext/wire/roce"
)

// captures are real RoCEv2 packets that this project did not write, with the
// number of them in each file.
var captures = map[string]int{
	"rc-send-ipv4.pcap":             105,
	"cm-rc-write-read-ipv4.pcap":    12,
	"cnp-uc-icrc-vectors-ipv4.pcap": 2,
}

func TestCapturesHaveRightICRCs(t *testing.T) {
	for name, want := range captures {
		right := 0
		for _, frame := range readCapture(t, name) {
			var p roce.Packet
			if err := p.Parse(frame, len(frame)); err != nil {
				continue
			}
			if got, want, ok := p.ICRC(); ok && got == want {
				right++
			} else {
				t.Errorf("%s: %v: ICRC %08x, want %08x", name, p.Opcode(), got, want)
			}
		}
		if right != want {
			t.Errorf("%s: %d packets with a right ICRC, want %d", name, right, want)
		}
	}
}

func readCapture(t testing.TB, name string) [][]byte {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "..", "tests", "captures", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := pcapgo.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var frames [][]byte
	for {
		frame, _, err := r.ReadPacketData()
		if err != nil {
			return frames
		}
		frames = append(frames, frame)
	}
}
