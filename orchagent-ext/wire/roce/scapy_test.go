// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/bits"
	"os/exec"
	"testing"

	"sluice/orchagent-ext/wire/roce"
)

// python is the interpreter that the distribution's scapy package serves.
const python = "/usr/bin/python3"

// dissect prints a JSON object for each frame that it reads as a line of
// hexadecimal digits: the BTH, and the ICRC of the packet and as scapy computes
// it.
const dissect = `
import json, sys
from scapy.compat import raw
from scapy.layers.l2 import Ether
from scapy.contrib.roce import BTH
names = ["opcode", "solicited", "migreq", "padcount", "version", "pkey", "fecn", "becn", "resv6", "dqpn", "ackreq", "resv7", "psn", "icrc"]
for line in sys.stdin:
    b = Ether(bytes.fromhex(line))[BTH]
    d = {n: int(getattr(b, n)) for n in names}
    b.icrc = None
    d["computed"] = int.from_bytes(raw(b)[-4:], "big")
    print(json.dumps(d))
`

type scapyPacket struct {
	Opcode, Solicited, Migreq, Padcount, Version, Pkey, Fecn, Becn, Resv6, Dqpn, Ackreq, Resv7, Psn uint64
	ICRC, Computed                                                                                  uint32
}

// scapy computes ICRCs, which tshark does not, and knows the CNP; but only over
// IPv4.
func TestScapyAgrees(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command(python, "-c", "import scapy.contrib.roce").CombinedOutput(); err != nil {
		t.Skipf("scapy's contrib.roce is not installed: %v: %s", err, out)
	}
	var frames [][]byte
	for name := range captures {
		for _, frame := range readCapture(t, name) {
			if new(roce.Packet).Parse(frame, len(frame)) == nil {
				frames = append(frames, frame)
			}
		}
	}
	for i, s := range specs {
		for tags := range 3 {
			frames = append(frames, packets(s, shape{tags: tags, hull: plain4}).Example(3*i+tags).frame)
		}
	}
	for i, found := range scapy(t, frames) {
		var p roce.Packet
		if err := p.Parse(frames[i], len(frames[i])); err != nil {
			t.Fatal(err)
		}
		if d := diff(scapyFinds(&p), found); d != "" {
			t.Errorf("%v: we (-), scapy (+):\n%s%x", p.Opcode(), d, frames[i])
		}
	}
}

func scapy(t *testing.T, frames [][]byte) []scapyPacket {
	t.Helper()
	var in, stderr bytes.Buffer
	for _, frame := range frames {
		fmt.Fprintf(&in, "%x\n", frame)
	}
	cmd := exec.Command(python, "-c", dissect)
	cmd.Stdin, cmd.Stderr = &in, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("scapy: %v\n%s", err, &stderr)
	}
	found := make([]scapyPacket, len(frames))
	d := json.NewDecoder(bytes.NewReader(out))
	for i := range found {
		if err := d.Decode(&found[i]); err != nil {
			t.Fatalf("scapy, frame %d: %v", i, err)
		}
	}
	return found
}

func scapyFinds(p *roce.Packet) scapyPacket {
	h := p.BTH()
	got, want, _ := p.ICRC() // scapy shows the octets in the order of the packet
	return scapyPacket{
		Opcode: uint64(h.Opcode), Solicited: number(h.Solicited), Migreq: number(h.MigReq), Padcount: uint64(h.Pad),
		Version: uint64(h.TVer), Pkey: uint64(h.PKey), Fecn: number(h.FECN), Becn: number(h.BECN), Resv6: uint64(h.Resv6),
		Dqpn: uint64(h.DestQP), Ackreq: number(h.AckReq), Resv7: uint64(h.Resv7), Psn: uint64(h.PSN),
		ICRC: bits.ReverseBytes32(got), Computed: bits.ReverseBytes32(want),
	}
}
