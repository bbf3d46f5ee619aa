// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// judged is one direction of a connection as tshark's fields say.
type judged struct {
	Packets, CE, Acks, Gaps, Duplicates, Payload uint64
}

// TestHealthOfRealCaptures compares with what tshark's fields of the same captures say,
// PSN by PSN.
func TestHealthOfRealCaptures(t *testing.T) {
	for _, file := range []string{"rc-send-ipv4.pcap", "cm-rc-write-read-ipv4.pcap"} {
		want := map[string]*judged{}
		seen := map[string]bool{}
		newest := map[string]uint64{}
		number := func(s string) uint64 {
			n, err := strconv.ParseUint(s, 0, 64)
			if err != nil && s != "" {
				t.Fatalf("%q: %v", s, err)
			}
			return n
		}
		for _, v := range tshark(t, captures+file, "ip.src", "ip.dst", "infiniband.bth.destqp", "infiniband.bth.opcode", "infiniband.bth.psn",
			"infiniband.aeth.syndrome", "ip.dsfield.ecn", "udp.length", "infiniband.bth.padcnt") {
			if v[2] == "" {
				continue
			}
			opcode, psn := number(v[3]), number(v[4])
			key := fmt.Sprintf("%s %s %d", v[0], v[1], number(v[2]))
			if want[key] == nil {
				want[key] = &judged{}
			}
			w := want[key]
			w.Packets++
			if v[6] == "3" {
				w.CE++
			}
			headers := map[uint64]uint64{0x64: 8, 0x05: 4, 0x03: 4, 0x0a: 16, 0x0c: 16, 0x0d: 4, 0x0f: 4, 0x10: 4, 0x11: 4}[opcode]
			payload := number(v[7]) - 8 - 12 - 4 - headers - number(v[8])
			switch {
			case opcode == 0x11:
				if number(v[5])>>5 == 0 {
					w.Acks++
				}
				continue
			case opcode < 0x20:
				kind := fmt.Sprint(key, opcode >= 0x0d && opcode <= 0x10)
				if seen[fmt.Sprint(kind, psn)] {
					w.Duplicates++
					continue
				}
				seen[fmt.Sprint(kind, psn)] = true
				if last, ok := newest[kind]; ok && psn > last+1 {
					w.Gaps++
				}
				newest[kind] = psn
			}
			w.Payload += payload
		}

		text, _ := good(t, "decode", "--flows", "--health", "--json", captures+file)
		got := map[string]*judged{}
		for line := range strings.Lines(text) {
			var r healthRecord
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			got[fmt.Sprintf("%v %v %d", r.Src, r.Dst, r.DstQP)] = &judged{Packets: r.Packets, CE: r.CE, Acks: r.Sent.Acks, Gaps: r.Gaps, Duplicates: r.Duplicates, Payload: r.Payload}
			if r.Sent.NAKs == nil || len(r.Sent.NAKs) > 0 || r.Lost+r.Reordered+r.Recovered > 0 {
				t.Errorf("%s: %s", file, line)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: tshark (-), sluice (+):\n%s", file, diff)
		}
	}
}
